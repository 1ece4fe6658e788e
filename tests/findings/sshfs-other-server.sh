#!/usr/bin/env bash
# sshfs 3.7.3 with rclone's SFTP server 1.60.1: link answers ENOENT for a file that exists, statvfs ENOTSUP.
#
# What sshfs can do depends on the server's extensions of SFTP, and the errors are the server's: ENOENT says nothing
# about the file. With OpenSSH's server, both work.
. "$(dirname "$0")/shared.sh"
fuse
debian sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4 rclone=1.60.1+dfsg-2+b5

mkdir other-server
printf '#!/bin/sh\nexec rclone serve sftp --stdio --config /dev/null "%s"\n' "$FOLDER/other-server" >other-ssh
chmod +x other-ssh
mount_sshfs openssh
mount_by rclone sshfs -f -o "ssh_command=$FOLDER/other-ssh" server:/ rclone

ask() {
    python3 - <<'END'
import errno, os

def answer(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

for mount in ("openssh", "rclone"):
    open(f"{mount}/1.xml", "w").close()
    linked = answer(os.link, f"{mount}/1.xml", f"{mount}/2.xml")
    exists = os.path.exists(f"{mount}/1.xml")
    print(f"{mount}: link: {linked}, statvfs: {answer(os.statvfs, mount)}, the file exists: {exists}")
END
}

expect ask <<'END'
openssh: link: done, statvfs: done, the file exists: True
rclone: link: ENOENT, statvfs: ENOTSUP, the file exists: True
END
