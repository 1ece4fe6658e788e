#!/usr/bin/env bash
# mergerfs 2.33.5: each new file fails with ENOSPC while statvfs reports gigabytes free.
#
# By default, no file is created on a disk with less than 4 GB free (minfreespace), however small that disk is. Files
# that exist can grow. statvfs adds up all disks.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 mergerfs=2.33.5-1

mkdir a b
mount -t tmpfs -o size=3g tmpfs a
mount -t tmpfs -o size=3g tmpfs b
echo invoice >a/old.xml
mount_by default mergerfs -f "$FOLDER/a:$FOLDER/b" default
mount_by minfreespace mergerfs -f -o minfreespace=1M "$FOLDER/a:$FOLDER/b" minfreespace

create() {
    for mount in default minfreespace; do
        free=$(($(stat -f -c '%a * %S / 1048576' $mount)))
        echo >>$mount/old.xml && grown=grown
        answer=$(touch $mount/$mount.xml 2>&1 && echo created) || :
        echo "$mount: $free MB free, old file: $grown, new file: ${answer##*: }"
    done
}

expect create <<'END'
default: 6143 MB free, old file: grown, new file: No space left on device
minfreespace: 6143 MB free, old file: grown, new file: created
END
