#!/usr/bin/env bash
# sshfs 3.7.3: two computers both get the exclusive lock of one file.
#
# SFTP has no locks. The kernel grants flock and fcntl locks for its own mount alone, without an error.
. "$(dirname "$0")/shared.sh"
fuse
debian sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4

mount_sshfs computer-1
mount_sshfs computer-2

lock() {
    touch server/lock
    python3 - <<'END'
import fcntl

for call in (fcntl.flock, fcntl.lockf):
    names = ("computer-1/lock", "computer-2/lock", "computer-1/lock")
    with open(names[0], "r+") as first, open(names[1], "r+") as second, open(names[2], "r+") as same:
        call(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        call(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print(f"{call.__name__}: both computers have it")
        if call is fcntl.flock:
            try:
                call(same, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("flock: on one computer, the second is refused")
END
}

expect lock <<'END'
flock: both computers have it
flock: on one computer, the second is refused
lockf: both computers have it
END
