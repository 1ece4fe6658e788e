#!/usr/bin/env bash
# rclone 1.60.1: statvfs of a mount reports a billion file names, none of them free, while files can be created.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5

mkdir below
mount_by mount rclone mount --config /dev/null "$FOLDER/below" mount

names() {
    echo "names: $(stat -f -c '%c, free: %d' mount)"
    echo invoice >mount/1.xml && echo "a file was created"
}

expect names <<'END'
names: 1000000000, free: 0
a file was created
END
