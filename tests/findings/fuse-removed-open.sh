#!/usr/bin/env bash
# libfuse 3.14.0: a file that is removed while it is open gets a hidden name, and keeps that for ever if the mount dies.
#
# The name, `.fuse_hidden` and a number, is listed, and its folder can't be removed. It goes when the last reader
# closes the file. If the process behind the mount was killed before that, it stays in the folder below: nobody removes
# it after the next mount. Seen with bindfs 1.14.7; gocryptfs and mergerfs handle removed files themselves.
. "$(dirname "$0")/shared.sh"
fuse
debian libfuse3-3=3.14.0-4 bindfs=1.14.7-1

mkdir -p below/invoices
mount_by mount bindfs -f "$FOLDER/below" mount

remove_open() {
    for ends in closed killed; do
        echo invoice >mount/invoices/1.xml
        exec 7<mount/invoices/1.xml
        rm mount/invoices/1.xml
        rmdir mount/invoices 2>/dev/null || echo "folder not removed; hidden files: $(hidden mount)"
        [ $ends = closed ] || { kill -9 "${STARTED[-1]}" && wait "${STARTED[-1]}" 2>/dev/null || :; }
        exec 7<&-
        until_true settled $ends
        echo "$ends: hidden files: $(hidden below)"
    done
    umount -l mount
    mount_by mount bindfs -f "$FOLDER/below" mount
    echo "mounted again: hidden files: $(hidden mount)"
}
hidden() { find "$1/invoices" -name '.fuse_hidden*' | wc -l; }
settled() { [ "$1" = killed ] || [ "$(hidden below)" = 0 ]; } # it learns of the last close later

expect remove_open <<'END'
folder not removed; hidden files: 1
closed: hidden files: 0
folder not removed; hidden files: 1
killed: hidden files: 1
mounted again: hidden files: 1
END
