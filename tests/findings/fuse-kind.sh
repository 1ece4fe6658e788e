#!/usr/bin/env bash
# davfs2 1.6.1, bindfs 1.14.7: /proc/self/mountinfo has the kind `fuse` for both, without a name behind a dot.
#
# The one is on a server, the other one on a disk of this computer: the kind doesn't tell. What fstab names `davfs` and
# `fuse.davfs2` is neither there.
. "$(dirname "$0")/shared.sh"
fuse
debian davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1 rclone=1.60.1+dfsg-2+b5 \
    bindfs=1.14.7-1 libfuse3-3=3.14.0-4 sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10

mkdir below
mount_davfs davfs2
mount_sshfs sshfs
mount_by bindfs bindfs -f "$FOLDER/below" bindfs

kinds() {
    for mount in davfs2 bindfs sshfs; do
        echo "$mount: $(findmnt -no FSTYPE "$FOLDER/$mount")"
    done
}

expect kinds <<'END'
davfs2: fuse
bindfs: fuse
sshfs: fuse.sshfs
END
