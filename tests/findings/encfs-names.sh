#!/usr/bin/env bash
# encfs 1.9.5: statvfs promises names of 189 bytes on a disk that takes 255, and a name of 176 is too long.
. "$(dirname "$0")/shared.sh"
fuse
debian encfs=1.9.5-2 libfuse2=2.9.9-6+b1 libtinyxml2-9=9.0.0+dfsg-3.1

mkdir below
mount_by mount encfs -f --standard --extpass='echo secret' "$FOLDER/below" "$FOLDER/mount"

names() {
    echo "statvfs: below $(stat -f -c %l below), on the mount $(stat -f -c %l mount)"
    for length in 175 176; do
        name=$(printf "%0${length}d" 0)
        answer=$(touch "mount/$name" 2>&1) && answer=created
        echo "$length: ${answer##*: }"
    done
}

expect names <<'END'
statvfs: below 255, on the mount 189
175: created
176: File name too long
END
