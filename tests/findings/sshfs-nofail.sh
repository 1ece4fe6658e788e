#!/usr/bin/env bash
# sshfs 3.7.3: it refuses the option `nofail` of a line in fstab, which util-linux 2.38.1 passes on to it.
#
# systemd removes the option, so the line works at boot. `mount MOUNT-POINT` fails with the same line. sshfs ignores
# other options that are meant for fstab, such as `_netdev`. With `sshfs#` and the kind `fuse`, libfuse's mount.fuse
# starts it, and removes `nofail`.
. "$(dirname "$0")/shared.sh"
fuse
debian mount=2.38.1-5+deb12u3 libmount1=2.38.1-5+deb12u3 sshfs=3.7.3-1.2~deb12u1 \
    openssh-sftp-server=1:9.2p1-2+deb12u10 fuse3=3.14.0-4 libfuse3-3=3.14.0-4
serve_sftp
echo invoice >server/1.xml
mkdir sbin share
ln -s "$FOLDER/debian/usr/bin/sshfs" sbin/mount.fuse.sshfs
cp debian/sbin/mount.fuse3 sbin/mount.fuse

mount_lines() {
    while read -r device kind options; do
        echo "$device $FOLDER/share $kind ssh_command=$FOLDER/ssh,$options 0 0" >fstab
        echo "$kind $options: $(mount -T fstab share 2>&1 && cat share/1.xml && umount -l share)"
    done <<END
server:$FOLDER/server fuse.sshfs _netdev,noauto
server:$FOLDER/server fuse.sshfs _netdev,nofail
sshfs#server:$FOLDER/server fuse _netdev,nofail
END
}

in_own_namespace() { # where mount finds its helpers in `sbin`, and sshfs ends with the script
    export FOLDER
    export -f mount_lines
    unshare --mount --pid --fork --kill-child bash -euc 'mount --bind sbin /sbin && mount_lines'
}

expect in_own_namespace <<'END'
fuse.sshfs _netdev,noauto: invoice
fuse.sshfs _netdev,nofail: fuse: unknown option(s): `-o nofail'
fuse _netdev,nofail: invoice
END
