#!/usr/bin/env bash
# bindfs 1.14.7, mergerfs 2.33.5: inotify on the mount reports nothing of files that arrive in the folder below it.
#
# The files are listed at once, and all of this is on one computer: a watched folder is only as local as its mount.
. "$(dirname "$0")/shared.sh"
fuse
debian bindfs=1.14.7-1 libfuse3-3=3.14.0-4 mergerfs=2.33.5-1 inotify-tools=3.22.6.0-4 libinotifytools0=3.22.6.0-4

mkdir below
mount_by bindfs bindfs -f "$FOLDER/below" bindfs
mount_by mergerfs mergerfs -f "$FOLDER/below" mergerfs

watch() {
    for mount in bindfs mergerfs; do
        for through in below $mount; do
            start inotifywait -m -q -e close_write --format %f -o seen.$mount.$through $mount
            until_true grep -q inotify /proc/"${STARTED[-1]}"/fdinfo/3
            echo invoice >$through/$mount.$through.xml
            listed=$(ls $mount/$mount.$through.xml)
            [ $through = below ] && sleep 1 || until_true test -s seen.$mount.$through
            echo "$mount, written through $through: listed ${listed#*/}, events: $(cat seen.$mount.$through)"
        done
    done
}

expect watch <<'END'
bindfs, written through below: listed bindfs.below.xml, events: 
bindfs, written through bindfs: listed bindfs.bindfs.xml, events: bindfs.bindfs.xml
mergerfs, written through below: listed mergerfs.below.xml, events: 
mergerfs, written through mergerfs: listed mergerfs.mergerfs.xml, events: mergerfs.mergerfs.xml
END
