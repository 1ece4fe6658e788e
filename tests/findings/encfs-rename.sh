#!/usr/bin/env bash
# encfs 1.9.5: a rename cuts the fraction off a file's modification time.
#
# In its standard mode, encfs renames and then sets the time again, in whole seconds. So size and time of a file differ
# before and after its move. Other file systems leave the time as it is.
. "$(dirname "$0")/shared.sh"
fuse
debian encfs=1.9.5-2 libfuse2=2.9.9-6+b1 libtinyxml2-9=9.0.0+dfsg-3.1

mkdir below
mount_by mount encfs -f --standard --extpass='echo secret' "$FOLDER/below" "$FOLDER/mount"

rename() {
    echo invoice >mount/1.xml
    touch -d '2026-11-27 12:00:00.25 UTC' mount/1.xml
    date -u -r mount/1.xml +'before %T.%2N'
    mv mount/{1,2}.xml
    date -u -r mount/2.xml +'after  %T.%2N'
}

expect rename <<'END'
before 12:00:00.25
after  12:00:00.00
END
