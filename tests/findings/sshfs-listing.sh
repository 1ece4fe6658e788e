#!/usr/bin/env bash
# sshfs 3.7.3: another computer's new file opens by its name at once, and is missing in the listing for 20 seconds.
#
# Listings are cached (dcache_dir_timeout), names that don't exist aren't. So a program that lists a folder finds a
# file later than one that looks for its name.
. "$(dirname "$0")/shared.sh"
fuse
debian sshfs=3.7.3-1.2~deb12u1 openssh-sftp-server=1:9.2p1-2+deb12u10 libfuse3-3=3.14.0-4

mount_sshfs default
mount_sshfs short dcache_dir_timeout=1

list() {
    mkdir default/f
    ls default/f short/f >/dev/null
    echo invoice >server/f/1.xml
    echo "by name: $(cat default/f/1.xml), listed: $(ls default/f | wc -l)"
    sleep 3
    echo "after 3 s: listed: $(ls default/f | wc -l); with dcache_dir_timeout=1: $(ls short/f | wc -l)"
}

expect list <<'END'
by name: invoice, listed: 0
after 3 s: listed: 0; with dcache_dir_timeout=1: 1
END
