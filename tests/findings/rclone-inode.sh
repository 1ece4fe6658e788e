#!/usr/bin/env bash
# rclone 1.60.1: a renamed file has its old inode number for a second, and then another one.
#
# The kernel answers from its cache until that is too old (--attr-timeout, 1s). So a trial that compares at once finds
# the number kept. A file that isn't renamed keeps its number, at least until rclone forgets the folder.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5

mkdir below
mount_by mount rclone mount --config /dev/null "$FOLDER/below" mount

rename() {
    python3 - <<'END'
import os, time

for name in ("1.xml", "2.xml"):
    open(f"mount/{name}", "w").close()
numbers = [os.stat(f"mount/{name}").st_ino for name in ("1.xml", "2.xml")]
os.rename("mount/1.xml", "mount/3.xml")
for moment in ("at once", "after 3 s"):
    same = [os.stat(f"mount/{name}").st_ino == number for name, number in zip(("3.xml", "2.xml"), numbers)]
    print(f"{moment}: renamed: {'same' if same[0] else 'other'}, not renamed: {'same' if same[1] else 'other'}")
    time.sleep(3)
END
}

expect rename <<'END'
at once: renamed: same, not renamed: same
after 3 s: renamed: other, not renamed: same
END
