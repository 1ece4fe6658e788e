"""SMB and NFS by the kernel's clients, from smbd and nfsd in the same guest (`support.guest`), which has root's rights.

The other client is another mount, without a cache or a connection in common. Of NFS 4, a server sees both mounts of a
machine as one client: there, the other client speaks NFS 3.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from support.guest import PASSWORD
from support.shares import Kind, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.shares import Place

PEOPLE = 990  # the server's user and group
_NFSD = "exportfs -ra && rpc.nfsd -G 10 -L 10 8 && sleep infinity"


def _export(place: Place, name: str) -> None:
    folder = place.store / "files"
    folder.mkdir()
    os.chown(folder, PEOPLE, PEOPLE)
    exported = Path("/exports", name)
    exported.mkdir(parents=True)
    run("mount", "--bind", folder, exported)


def _prepare_smb(place: Place) -> None:
    run("useradd", "-M", "filedrop")
    _export(place, "smb")


def _prepare_nfs(place: Place) -> None:
    _export(place, "nfs")
    Path("/etc/exports").write_text("/exports/nfs 127.0.0.1(rw,sync,insecure,no_subtree_check,no_root_squash,fsid=1)\n")
    run("modprobe", "nfsd")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    Path("/run/sendsigs.omit.d").mkdir(exist_ok=True)
    for service in (("rpcbind", "-w"), ("rpc.statd", "--no-notify"), ("rpc.mountd",)):
        run(*service)


def _is_other(place: Place) -> bool:
    return place.at.name == "other"


def _smb(options: str) -> Callable[[Place], list[object]]:
    def mount(place: Place) -> list[object]:
        login = f"username=people,password={PASSWORD},vers=3.1.1,nosharesock"
        return ["mount", "-t", "cifs", "//127.0.0.1/share", place.at, "-o", f"{login}{options and ','}{options}"]

    return mount


def _nfs(options: str) -> Callable[[Place], list[object]]:
    def mount(place: Place) -> list[object]:
        wanted = "vers=3" if _is_other(place) else options
        return ["mount", "-t", "nfs", "127.0.0.1:/exports/nfs", place.at, "-o", f"nosharecache,{wanted}"]

    return mount


def _smb_kind(name: str, options: str) -> Kind:
    def server(_: Place) -> list[object]:
        return ["smbd", "-F", "--no-process-group"]

    return Kind(
        name, ("smbd", "mount.cifs"), _smb(options), server, _prepare_smb, stays=False, port=445, row="SMB 3.1.1",
        options=options, delay=2.0,
    )  # fmt: skip


def _nfs_kind(name: str, options: str) -> Kind:
    def server(_: Place) -> list[object]:
        return ["sh", "-c", _NFSD]

    version = options.partition(",")[0]
    return Kind(
        name, ("rpc.nfsd", "mount.nfs"), _nfs(options), server, _prepare_nfs, stays=False, port=2049,
        stop=("rpc.nfsd", "0"), row=f"NFS {version[5:]} (`{version}`)", options=options, delay=2.0,
    )  # fmt: skip


KERNEL_KINDS = {
    kind.name: kind
    for kind in (
        _smb_kind("smb", ""),
        _smb_kind("smb-noserverino", "noserverino"),
        _smb_kind("smb-cache-none", "cache=none"),
        _smb_kind("smb-nobrl", "nobrl"),
        _smb_kind("smb-rights", "uid=filedrop,gid=filedrop,file_mode=0660,dir_mode=0770"),
        _nfs_kind("nfs-3", "vers=3"),
        _nfs_kind("nfs-4.0", "vers=4.0"),
        _nfs_kind("nfs-4.2", "vers=4.2"),
        _nfs_kind("nfs-4.2-noac", "vers=4.2,noac,lookupcache=none"),
    )
}
