#!/usr/bin/env bash
# rclone 1.60.1, davfs2 1.6.1: two computers can both create one file with O_EXCL; the second replaces the first.
#
# Each mount decides by its own list of the folder, which with rclone can be minutes old. davfs2 asks the server, which
# learns of a file ten seconds after its close; `use_locks 1`, the default, prevents this where the server has locks.
# Over sshfs 3.7.3, the second computer gets EEXIST.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5 davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1 \
    sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4

for computer in 1 2; do
    mount_davfs davfs2-$computer 'buf_size 64' 'use_locks 0'
    mount_davfs davfs2-locks-$computer 'buf_size 64'
    mount_sshfs sshfs-$computer
    mount_by rclone-$computer rclone mount --config /dev/null "$FOLDER/server" rclone-$computer
done

create() {
    python3 - <<'END'
import errno, os, time

def create(path, text):
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except OSError as error:
        return errno.errorcode[error.errno]
    os.write(file, text)
    os.close(file)
    return "created"

def stored(name, wanted):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            with open(f"server/{name}", "rb") as file:
                if (content := file.read()) == wanted:
                    break
        except FileNotFoundError:
            content = b""
        time.sleep(0.1)
    return content.decode()

for kind in ("sshfs", "rclone", "davfs2", "davfs2-locks"):
    for computer in (1, 2):
        os.listdir(f"{kind}-{computer}")
    first = create(f"{kind}-1/{kind}.xml", b"first")
    second = create(f"{kind}-2/{kind}.xml", b"second")
    left = stored(f"{kind}.xml", b"second" if second == "created" else b"first")
    print(f"{kind}: first {first}, second {second}; on the server: {left}")
END
}

expect create <<'END'
sshfs: first created, second EEXIST; on the server: first
rclone: first created, second created; on the server: second
davfs2: first created, second created; on the server: second
davfs2-locks: first created, second EACCES; on the server: first
END
