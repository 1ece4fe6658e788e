#!/usr/bin/env bash
# libfuse 3.14.0: a file's inode number belongs to its name, unless the file system was mounted with use_ino.
#
# A second name of the same file, made by link(2), has another number. The number also depends on the order of look-ups:
# two mounts of one folder disagree. mergerfs 2.33.5 and unionfs-fuse 1.0 behave so by default,
# and give the file's own number with `-o use_ino`. sshfs 3.7.3 doesn't know that option.
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

links() {
    for mount in sshfs mergerfs mergerfs-use_ino unionfs unionfs-use_ino; do
        echo invoice >"$mount/$mount.1"
        ln "$mount/$mount.1" "$mount/$mount.2"
        [ "$(stat -c %i "$mount/$mount.1")" = "$(stat -c %i "$mount/$mount.2")" ] && same=same || same=other
        echo "$mount: a linked name has the $same inode number"
    done
    touch server/{x,y}
    echo "sshfs, numbers of x and y: $(stat -c %i sshfs/{x,y} | paste -sd' ')"
    echo "another mount, y and x:    $(stat -c %i sshfs-2/{y,x} | paste -sd' ')"
}

expect links <<'END'
sshfs: a linked name has the other inode number
mergerfs: a linked name has the other inode number
mergerfs-use_ino: a linked name has the same inode number
unionfs: a linked name has the other inode number
unionfs-use_ino: a linked name has the same inode number
sshfs, numbers of x and y: 4 5
another mount, y and x:    2 3
END
