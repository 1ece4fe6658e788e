#!/usr/bin/env bash
# davfs2 1.6.1 on Linux 6.16 and later: each listing of a folder fails with EINVAL, while files open and are written.
#
# The kernel asks for as much of a folder as the program wants, 32 KiB for ls. davfs2's buffer is 16 KiB by default,
# and it refuses a request that is larger. `buf_size 64` in its configuration cures that.
. "$(dirname "$0")/shared.sh"
fuse
[ "$(printf '%s\n' 6.16 "$(uname -r)" | sort -V | head -1)" = 6.16 ] || not_tried "this is Linux $(uname -r)"
debian davfs2=1.6.1-1 libneon27-gnutls=0.32.5-1 rclone=1.60.1+dfsg-2+b5

mount_davfs default
mount_davfs buf_size 'buf_size 64'

list() {
    echo invoice >default/1.xml && echo "default: $(cat default/1.xml), listing: $(ls default 2>&1 | sed 's/.*: //')"
    until_true test -s server/1.xml
    echo "buf_size 64: listing: $(ls buf_size 2>&1 | grep xml)"
}

expect list <<'END'
default: invoice, listing: Invalid argument
buf_size 64: listing: 1.xml
END
