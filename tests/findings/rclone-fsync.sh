#!/usr/bin/env bash
# rclone 1.60.1: with --vfs-cache-mode writes or full, fsync and close succeed five seconds before the upload begins.
#
# fsync(2) is answered and does nothing, in each mode. After close, the file is only in the cache of this computer
# until --vfs-write-back has passed (default 5s). In the modes off and minimal, close returns after the upload.
. "$(dirname "$0")/shared.sh"
fuse
debian rclone=1.60.1+dfsg-2+b5

write() {
    for mode in off minimal writes full; do
        mkdir below-$mode
        mount_by $mode rclone mount --config /dev/null --vfs-cache-mode $mode --cache-dir "$FOLDER/cache-$mode" \
            "$FOLDER/below-$mode" $mode
        python3 - $mode <<'END'
import os, sys

mode = sys.argv[1]
file = os.open(f"{mode}/invoice.xml", os.O_CREAT | os.O_WRONLY)
os.write(file, b"<Invoice/>")
os.fsync(file)
os.close(file)
print(f"{mode}: after fsync and close, the file is {'there' if os.listdir(f'below-{mode}') else 'missing'}")
END
    done
    until_true test -s below-writes/invoice.xml
    echo "writes: the file came later"
}

expect write <<'END'
off: after fsync and close, the file is there
minimal: after fsync and close, the file is there
writes: after fsync and close, the file is missing
full: after fsync and close, the file is missing
writes: the file came later
END
