# What all scripts share: a temporary folder, pinned packages in it, mounts and processes that end with the script, and
# the comparison with the recorded output. A script sources this file first.

set -euo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

FOLDER=$(mktemp -d -t finding-XXXXXX)
cd "$FOLDER"
STARTED=() # process ids
trap 'end' EXIT

end() { # also after an error
    cd /
    while read -r point; do umount -il "$point" || :; done < <(mount_points | tac)
    [ ${#STARTED[@]} -eq 0 ] || kill "${STARTED[@]}" 2>/dev/null || :
    wait
    rm -rf --one-file-system "$FOLDER"
}

not_tried() { # WHY: ends the script, with the status that `run` knows
    echo "not tried: $*"
    exit 77
}

python() { # PACKAGE==VERSION...: installs them, and nothing else, for the script's `python3`
    python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --only-binary :all: --no-deps \
        --target "$FOLDER/python" "$@" 2>"$FOLDER/pip.log" || not_tried "pip: $(tail -1 "$FOLDER/pip.log")"
    export PYTHONPATH=$FOLDER/python
}

debian() { # PACKAGE=VERSION...: unpacks them for the script's commands, and installs nothing
    mkdir -p "$FOLDER/debs"
    (cd "$FOLDER/debs" && apt-get -q download "$@") >"$FOLDER/apt.log" 2>&1 ||
        not_tried "apt: $(tail -1 "$FOLDER/apt.log")"
    for package in "$FOLDER"/debs/*.deb; do dpkg -x "$package" "$FOLDER/debian"; done
    local unpacked=$FOLDER/debian
    export PATH=$unpacked/usr/bin:$unpacked/usr/sbin:$unpacked/bin:$unpacked/sbin:$PATH
    LD_LIBRARY_PATH=$(find "$unpacked" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
    export LD_LIBRARY_PATH
}

fuse() { # ends the script where it can't mount
    [ -r /dev/fuse ] && [ -w /dev/fuse ] && [ "$(id -u)" = 0 ] || not_tried "mounting needs root and /dev/fuse"
}

mount_points() { # those of the script
    awk -v below="$FOLDER/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo
}

start() { # COMMAND...: starts it in the background
    "$@" >>"$FOLDER/started.log" 2>&1 </dev/null &
    STARTED+=($!)
}

mount_by() { # MOUNT-POINT COMMAND...: starts the command, and waits for the mount
    mkdir -p "$1"
    start "${@:2}"
    until_true mountpoint -q "$1"
}

serve_sftp() { # the folder `server`, to an sshfs that gets the script's `ssh` as its ssh_command
    mkdir -p server
    printf '#!/bin/sh\nexec %s\n' "$FOLDER/debian/usr/lib/openssh/sftp-server" >ssh
    chmod +x ssh
}

mount_sshfs() { # MOUNT-POINT [OPTIONS]: the folder `server`, through a server of ours
    serve_sftp
    mount_by "$1" sshfs -f -o "ssh_command=$FOLDER/ssh${2:+,$2}" "server:$FOLDER/server" "$1"
}

mount_davfs() { # MOUNT-POINT [LINE-OF-CONFIGURATION...]: the folder `server`, through a server of ours
    if [ -z "${DAV:-}" ]; then
        mkdir -p server
        DAV=http://127.0.0.1:$(free_port)/
        start rclone serve webdav server --addr "${DAV:7:-1}" --dir-cache-time 0s --config /dev/null
        until_true python3 -c "import urllib.request; urllib.request.urlopen('$DAV')"
        chmod 711 .
    fi
    mkdir -p "$1" "$1.cache"
    chmod 1777 "$1.cache" # mount.davfs becomes another user
    printf '%s\n' 'ask_auth 0' "cache_dir $FOLDER/$1.cache" "${@:2}" >"$1.conf"
    mount.davfs "$DAV" "$FOLDER/$1" -o "conf=$FOLDER/$1.conf" </dev/null >>started.log 2>&1 ||
        not_tried "$(cat started.log)"
}

start_postgres() { # a server with its socket in the folder `socket`, for any user
    local programs=$FOLDER/debian/usr/lib/postgresql/15/bin run=(setpriv --reuid nobody --clear-groups)
    mkdir data socket
    chown nobody data socket
    chmod 711 .
    "${run[@]}" "$programs/initdb" -D data -U postgres -A trust -N \
        -L "$FOLDER/debian/usr/share/postgresql/15" >initdb.log
    start "${run[@]}" "$programs/postgres" -D data -k "$FOLDER/socket" -c listen_addresses= -c fsync=off
    until_true grep -q ready data/postmaster.pid
}

free_port() {
    python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

until_true() { # COMMAND...: waits until it succeeds, for 20 seconds at most
    local tries=200
    until "$@" 2>/dev/null; do
        if [ $((tries -= 1)) -eq 0 ]; then
            tail -5 "$FOLDER/started.log" >&2
            not_tried "this never came true: $*"
        fi
        sleep 0.1
    done
}

expect() { # COMMAND...: its output must be what stdin has
    cat >"$FOLDER/recorded"
    "$@" >"$FOLDER/seen" 2>&1 || echo "exit status $?" >>"$FOLDER/seen"
    diff -u --label recorded --label "seen now" "$FOLDER/recorded" "$FOLDER/seen" || exit 1
}
