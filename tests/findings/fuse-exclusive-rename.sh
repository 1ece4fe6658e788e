#!/usr/bin/env bash
# bindfs 1.14.7, mergerfs 2.33.5, rclone 1.60.1: renameat2(RENAME_NOREPLACE) answers EINVAL.
#
# The disk below can do it, and FUSE has it: gocryptfs 2.3 passes it on.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 bindfs=1.14.7-1 mergerfs=2.33.5-1 rclone=1.60.1+dfsg-2+b5 gocryptfs=2.3-1+b4

mkdir a b c d
mount_by bindfs bindfs -f "$FOLDER/a" bindfs
mount_by mergerfs mergerfs -f "$FOLDER/b" mergerfs
mount_by rclone rclone mount --config /dev/null "$FOLDER/c" rclone
gocryptfs -init -q -extpass 'echo secret' d
mount_by gocryptfs gocryptfs -f -q -extpass 'echo secret' d gocryptfs

rename() {
    python3 - <<'END'
import ctypes, errno, os

renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
for mount in (".", "bindfs", "mergerfs", "rclone", "gocryptfs"):
    open(f"{mount}/invoice.tmp", "w").close()
    names = os.fsencode(f"{mount}/invoice.tmp"), os.fsencode(f"{mount}/invoice.xml")
    answer = renameat2(-100, names[0], -100, names[1], 1)
    print(f"{mount}: {'done' if answer == 0 else errno.errorcode[ctypes.get_errno()]}")
END
}

expect rename <<'END'
.: done
bindfs: EINVAL
mergerfs: EINVAL
rclone: EINVAL
gocryptfs: done
END
