#!/usr/bin/env bash
# mergerfs 2.33.5: renaming a file into a subfolder of its folder can fail with EXDEV, although st_dev is the same.
#
# By default, a new folder is created on the one branch with the most room, and a file is only renamed where its target
# folder already exists. So if a subfolder was created on one disk, and files later arrive on another one, no file can
# be renamed or linked into it. `-o ignorepponrename=true` creates the folder on the file's branch instead.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 mergerfs=2.33.5-1

mkdir small large
mount -t tmpfs -o size=8m tmpfs small
mount -t tmpfs -o size=9m tmpfs large
mkdir {small,large}/outbound
for ignore in false true; do
    options=minfreespace=1M,ignorepponrename=$ignore
    mount_by "pool-$ignore" mergerfs -f -o $options "$FOLDER/small:$FOLDER/large" "pool-$ignore"
done

rename() {
    mkdir pool-false/outbound/sending # on `large`
    head -c 4M /dev/zero >large/other # from now on, `small` has the most room
    echo invoice >pool-false/outbound/invoice.xml
    stat -c '%d' pool-false/outbound/{invoice.xml,sending} | uniq | wc -l | sed 's/^/devices: /'
    for pool in pool-false pool-true; do
        python3 - $pool <<'END'
import errno, os, sys

def answer(call, name):
    try:
        call(f"{sys.argv[1]}/outbound/invoice.xml", f"{sys.argv[1]}/outbound/sending/{name}")
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

print(f"{sys.argv[1]}: link: {answer(os.link, 'linked.xml')}, rename: {answer(os.rename, 'invoice.xml')}")
END
    done
}

expect rename <<'END'
devices: 1
pool-false: link: EXDEV, rename: EXDEV
pool-true: link: done, rename: done
END
