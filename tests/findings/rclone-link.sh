#!/usr/bin/env bash
# rclone 1.60.1: link(2) on a mount answers EIO, the error of a broken disk.
#
# Other file systems without links answer EPERM, ENOTSUP or ENOSYS, as POSIX wants it (here davfs2 1.6.1).
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5 davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1

mkdir below
mount_by rclone rclone mount --config /dev/null "$FOLDER/below" rclone
mount_davfs davfs2 'use_locks 0'

link() {
    for mount in rclone davfs2; do
        echo invoice >$mount/1.xml
        echo "$mount: $(ln $mount/1.xml $mount/2.xml 2>&1 | sed 's/.*: //')"
    done
}

expect link <<'END'
rclone: Input/output error
davfs2: Operation not permitted
END
