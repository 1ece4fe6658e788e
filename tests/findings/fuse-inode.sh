#!/usr/bin/env bash
# libfuse 3.14.0: a file's inode number belongs to its name, unless the file system was mounted with use_ino.
#
# A second name of the same file, made by link(2), has another number. The number also depends on the order of look-ups:
# two mounts of one folder disagree. A listing has 4294967295 for every file, or a number that stat never has. mergerfs
# 2.33.5 and unionfs-fuse 1.0 behave so by default, and give the file's own number with `-o use_ino`. sshfs 3.7.3
# doesn't know that option.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 mergerfs=2.33.5-1 unionfs-fuse=1.0-1+b1 \
    sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10

mkdir a b
mount_sshfs sshfs
mount_by mergerfs mergerfs -f "$FOLDER/a:$FOLDER/b" mergerfs
mount_by mergerfs-use_ino mergerfs -f -o use_ino "$FOLDER/a:$FOLDER/b" mergerfs-use_ino
mount_by unionfs unionfs -f -o cow "$FOLDER/a=RW:$FOLDER/b=RO" unionfs
mount_by unionfs-use_ino unionfs -f -o cow,use_ino "$FOLDER/a=RW:$FOLDER/b=RO" unionfs-use_ino
mount_sshfs sshfs-2

numbers() {
    python3 - <<'END'
import os

for mount in ("sshfs", "mergerfs", "mergerfs-use_ino", "unionfs", "unionfs-use_ino"):
    names = [f"{mount}.{number}" for number in (1, 2)]
    open(f"{mount}/{names[0]}", "w").close()
    os.link(f"{mount}/{names[0]}", f"{mount}/{names[1]}")
    by_stat = {os.stat(f"{mount}/{name}").st_ino for name in names}
    listed = {file.inode() for file in os.scandir(mount) if file.name in names}
    print(f"{mount}: by stat: {len(by_stat)} for one file, listed: {len(listed)}", end="")
    print(" (4294967295)" if listed == {0xFFFFFFFF} else ", the same" if listed == by_stat else ", another")
for name in ("x", "y"):
    open(f"server/{name}", "w").close()
print("sshfs, numbers of x and y:", *(os.stat(f"sshfs/{name}").st_ino for name in ("x", "y")))
print("another mount, y and x:   ", *(os.stat(f"sshfs-2/{name}").st_ino for name in ("y", "x")))
END
}

expect numbers <<'END'
sshfs: by stat: 2 for one file, listed: 1 (4294967295)
mergerfs: by stat: 2 for one file, listed: 1, another
mergerfs-use_ino: by stat: 1 for one file, listed: 1, the same
unionfs: by stat: 2 for one file, listed: 1 (4294967295)
unionfs-use_ino: by stat: 1 for one file, listed: 1, the same
sshfs, numbers of x and y: 4 5
another mount, y and x:    2 3
END
