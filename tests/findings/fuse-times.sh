#!/usr/bin/env bash
# sshfs 3.7.3, rclone 1.60.1: st_ctime follows what a program sets st_mtime to.
#
# Where the file system has no time of change to report, st_ctime is the modification time. A file that was
# copied with its original's date looks as if nobody had touched it for years. Kernels' own file systems let nobody set
# st_ctime.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 \
    rclone=1.60.1+dfsg-2+b5 davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1

mkdir r
mount_davfs davfs2 'buf_size 64' 'use_locks 0'
mount_sshfs sshfs
mount_by rclone rclone mount --config /dev/null "$FOLDER/r" rclone

changed() {
    for mount in . sshfs rclone davfs2; do
        echo invoice >"$mount/$mount.xml"
        python3 -c "import os; os.utime('$mount/$mount.xml', (1000000000, 1000000000))"
        echo "$mount: changed: $(date -u -d "@$(stat -c %Z "$mount/$mount.xml")" +%Y | sed "s/$(date -u +%Y)/now/")"
    done
}

expect changed <<'END'
.: changed: now
sshfs: changed: 2001
rclone: changed: 2001
davfs2: changed: now
END
