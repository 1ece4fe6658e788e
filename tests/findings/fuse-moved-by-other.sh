#!/usr/bin/env bash
# rclone 1.60.1, davfs2 1.6.1: a rename of a file that another computer has moved answers EIO, not ENOENT.
#
# The mount still knows the name. rclone also lists the file under its new name afterwards, although there is none.
# sshfs 3.7.3 answers ENOENT.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5 davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1 \
    sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4

mkdir server
touch server/{sshfs,rclone,davfs2}.xml
mount_sshfs sshfs
mount_by rclone rclone mount --config /dev/null "$FOLDER/server" rclone
mount_davfs davfs2 'buf_size 64' 'use_locks 0'

rename() {
    python3 - <<'END'
import errno, os

for mount in ("sshfs", "rclone", "davfs2"):
    os.stat(f"{mount}/{mount}.xml")
    os.rename(f"server/{mount}.xml", f"server/{mount}.by-other")
    try:
        os.rename(f"{mount}/{mount}.xml", f"{mount}/{mount}.by-us")
        answer = "moved"
    except OSError as error:
        answer = errno.errorcode[error.errno]
    listed = sorted(name for name in os.listdir(mount) if name.startswith(mount))
    there = sorted(name for name in os.listdir("server") if name.startswith(mount))
    print(f"{mount}: {answer}, lists {listed}; on the server: {there}")
END
}

expect rename <<'END'
sshfs: ENOENT, lists ['sshfs.by-other']; on the server: ['sshfs.by-other']
rclone: EIO, lists ['rclone.by-us']; on the server: ['rclone.by-other']
davfs2: EIO, lists ['davfs2.xml']; on the server: ['davfs2.by-other']
END
