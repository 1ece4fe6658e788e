#!/usr/bin/env bash
# rclone 1.60.1: a file that is removed while it is open reads as empty, or answers EIO.
#
# Which of them depends on whether the file was uploaded: before that, the reader gets no byte and no error. Other
# file systems let it read on.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5

mkdir below
mount_by mount rclone mount --config /dev/null --vfs-cache-mode writes --vfs-write-back 3s \
    --cache-dir "$FOLDER/cache" "$FOLDER/below" mount

read_removed() {
    echo invoice >mount/1.xml
    exec 7<mount/1.xml
    rm mount/1.xml
    echo "not uploaded: $(cat <&7 2>&1 | wc -c) of 8 bytes, exit status ${PIPESTATUS[0]}"
    echo invoice >mount/2.xml
    until_true test -s below/2.xml
    exec 7<mount/2.xml
    rm mount/2.xml
    (cat <&7 2>&1 || :) | sed 's/.*: /uploaded: /'
}

expect read_removed <<'END'
not uploaded: 0 of 8 bytes, exit status 0
uploaded: Input/output error
END
