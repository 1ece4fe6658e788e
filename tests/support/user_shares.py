"""File systems of Debian's packages and of this machine's kernel, as `support.shares` mounts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.machine import SYSTEMS
from support.shares import SIZE, Kind, Place, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

S3_SERVER = SYSTEMS / "s3" / "bin" / "moto_server"
S3_BUCKET = "filedrop"
NOT_EXCLUSIVE = "neither links nor an exclusive rename"
_DISKS = "ext4, xfs, btrfs, tmpfs"
_MERGERFS = "ignorepponrename=true"
_SSHFS = "reconnect,ServerAliveInterval=15,ServerAliveCountMax=3,dir_cache=no"
_RCLONE = ("rclone", "--config", "/dev/null")


def _folder(place: Place, name: str) -> Path:
    folder = place.store / name
    folder.mkdir(exist_ok=True)
    return folder


def _image(*make: str) -> Callable[[Place], None]:
    """Prepare an image with such a file system."""

    def prepare(place: Place) -> None:
        run("truncate", "-s", "400M", place.own / "image")
        run(*make, place.own / "image")

    return prepare


def _loop(place: Place) -> list[object]:
    return ["mount", "-o", "loop", place.own / "image", place.at]


def _exfat(place: Place) -> list[object]:
    """It opens a device alone, no image. The device is freed with the last process that has it open."""
    attach = 'device=$(losetup --find --show "$0") && exec 3<"$device" && losetup --detach "$device"'
    return ["sh", "-c", f'{attach} && exec mount.exfat-fuse -d "$device" "$1"', place.own / "image", place.at]


def _overlay(place: Place) -> list[object]:
    lower, upper, work = (_folder(place, name) for name in ("lower", "upper", "work"))
    return ["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", place.at]


def _mergerfs(place: Place) -> list[object]:
    branches = ":".join(str(_folder(place, name)) for name in ("one", "two"))
    return ["mergerfs", "-f", "-o", f"{_MERGERFS},minfreespace=1M", branches, place.at]


def _unionfs(place: Place) -> list[object]:
    writable, below = (_folder(place, name) for name in ("writable", "below"))
    return ["unionfs", "-f", "-o", "cow", f"{writable}=RW:{below}=RO", place.at]


def _gocryptfs_prepare(place: Place) -> None:
    run("gocryptfs", "-init", "-q", "-scryptn", "10", "-extpass", "echo secret", _folder(place, "cipher"))


def _gocryptfs(place: Place) -> list[object]:
    return ["gocryptfs", "-fg", "-q", "-sharedstorage", "-extpass", "echo secret", place.store / "cipher", place.at]


def _encfs(place: Place) -> list[object]:
    return ["encfs", "-f", "--standard", "--extpass=echo secret", _folder(place, "cipher"), place.at]


def _ssh_prepare(place: Place) -> None:
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place.own / name)
    (place.own / "sshd_config").write_text(
        f"Port {place.port}\nListenAddress 127.0.0.1\nHostKey {place.own}/host\nPidFile none\nStrictModes no\n"
        f"AuthorizedKeysFile {place.own}/user.pub\nPermitRootLogin yes\nUsePAM no\nSubsystem sftp internal-sftp\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    _folder(place, "files")


def _sshd(place: Place) -> list[object]:
    return ["/usr/sbin/sshd", "-D", "-e", "-f", place.own / "sshd_config"]


def _sshfs(place: Place) -> list[object]:
    return [*_sshfs_by_default(place), "-o", _SSHFS]


def _sshfs_by_default(place: Place) -> list[object]:
    login = f"port={place.port},IdentityFile={place.own}/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null"
    return ["sshfs", "-f", f"root@127.0.0.1:{place.store}/files", place.at, "-o", login]


def _webdav(place: Place) -> list[object]:
    address = f"127.0.0.1:{place.port}"
    return [*_RCLONE, "serve", "webdav", _folder(place, "files"), "--addr", address, "--dir-cache-time", "0s"]


def _davfs2(place: Place) -> list[object]:
    settings = place.own / f"davfs2-{place.at.name}.conf"
    settings.write_text("ask_auth 0\nuse_locks 0\nbuf_size 64\n")  # kernel 6.16: tests/findings/davfs2-listing.sh
    return ["mount.davfs", "-o", f"conf={settings}", f"http://127.0.0.1:{place.port}/", place.at]


def _s3(place: Place) -> list[object]:
    return [S3_SERVER, "-H", "127.0.0.1", "-p", place.port]


def _s3fs(place: Place) -> list[object]:
    keys = place.own / "keys"
    keys.write_text("key:secret\n")
    keys.chmod(0o600)
    options = (f"passwd_file={keys}", f"url=http://127.0.0.1:{place.port}", "use_path_request_style", "sigv4")
    make = (*_RCLONE, "mkdir", f"{_s3_remote(place)}{S3_BUCKET}")
    run(*make)
    return ["s3fs", S3_BUCKET, place.at, "-f", *(word for option in options for word in ("-o", option))]


def _s3_remote(place: Place) -> str:
    endpoint = f"endpoint='http://127.0.0.1:{place.port}'"
    return f":s3,provider=Other,access_key_id=key,secret_access_key=secret,{endpoint}:"


def _rclone(remote: Callable[[Place], str], mode: str, *more: str) -> Callable[[Place], list[object]]:
    def mount(place: Place) -> list[object]:
        options = ("--vfs-cache-mode", mode, "--cache-dir", place.cache(), *more)
        return [*_RCLONE, "mount", remote(place), place.at, *options]

    return mount


def _rclone_kinds() -> Iterator[Kind]:
    storages: dict[str, dict[str, Any]] = {
        "local": {"remote": lambda place: str(_folder(place, "files"))},
        "sftp": {"remote": _sftp_remote, "server": _sshd, "prepare": _ssh_prepare, "needs": "/usr/sbin/sshd"},
        "webdav": {"remote": _webdav_remote, "server": _webdav},
        "s3": {"remote": _s3_bucket, "server": _s3, "needs": str(S3_SERVER), "forgets": True, "fills": ""},
    }
    for storage, keys in storages.items():
        remote, needs = keys.pop("remote"), keys.pop("needs", "rclone")
        for mode in ("off", "minimal", "writes", "full"):
            mount = _rclone(remote, mode)
            name = f"rclone-{storage}-{mode}"
            yield Kind(name, ("rclone", needs), mount, row="rclone mount", refused=NOT_EXCLUSIVE, **keys)


def _s3_bucket(place: Place) -> str:
    run(*_RCLONE, "mkdir", f"{_s3_remote(place)}{S3_BUCKET}")
    return f"{_s3_remote(place)}{S3_BUCKET}"


def _sftp_remote(place: Place) -> str:
    return f":sftp,host=127.0.0.1,port={place.port},user=root,key_file='{place.own}/user':{place.store}/files"


def _webdav_remote(place: Place) -> str:
    return f":webdav,vendor=other,url='http://127.0.0.1:{place.port}':"


def _disk_kind(name: str, make: str, *options: str) -> Kind:
    prepare = _image(make, *options)
    return Kind(name, (make,), _loop, prepare=prepare, stays=False, is_shared=False, fills="itself", row=_DISKS)


USER_KINDS = {
    kind.name: kind
    for kind in (
        _disk_kind("ext4", "mkfs.ext4", "-q"),
        _disk_kind("xfs", "mkfs.xfs", "-q"),
        _disk_kind("btrfs", "mkfs.btrfs", "-q"),
        Kind(
            "tmpfs", (), lambda place: ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place.at],
            stays=False, is_shared=False, forgets=True, fills="itself", row=_DISKS,
        ),
        Kind("overlay", (), _overlay, stays=False, is_shared=False, row="overlay"),
        Kind("bindfs", ("bindfs",), lambda place: ["bindfs", "-f", _folder(place, "files"), place.at], row="bindfs"),
        Kind("mergerfs", ("mergerfs",), _mergerfs, row="mergerfs", options=_MERGERFS),
        Kind("unionfs-fuse", ("unionfs",), _unionfs, row="unionfs-fuse"),
        Kind(
            "gocryptfs", ("gocryptfs",), _gocryptfs, prepare=_gocryptfs_prepare, row="gocryptfs",
            options="sharedstorage",
        ),
        Kind("encfs", ("encfs",), _encfs, is_shared=False, row="encfs"),
        Kind(
            "ntfs-3g", ("ntfs-3g", "mkntfs"),
            lambda place: ["ntfs-3g", "-o", "no_detach", place.own / "image", place.at],
            prepare=_image("mkntfs", "-F", "-q", "-Q"), is_shared=False, fills="itself", row="ntfs-3g",
        ),
        Kind(
            "exfat", ("mount.exfat-fuse", "mkfs.exfat", "losetup"), _exfat, prepare=_image("mkfs.exfat"),
            is_shared=False, fills="itself", row="exfat-fuse", refused=NOT_EXCLUSIVE,
        ),
        Kind("sshfs", ("sshfs", "/usr/sbin/sshd"), _sshfs, _sshd, _ssh_prepare, row="sshfs", options=_SSHFS),
        Kind("davfs2", ("mount.davfs", "rclone"), _davfs2, _webdav, stays=False, row="davfs2", refused=NOT_EXCLUSIVE),
        Kind(
            "s3fs", ("s3fs", "rclone", str(S3_SERVER)), _s3fs, _s3, forgets=True, fills="", row="s3fs",
            refused=NOT_EXCLUSIVE,
        ),
        *_rclone_kinds(),
    )
}  # fmt: skip
CACHING = replace(USER_KINDS["sshfs"], mount=_sshfs_by_default)  # it shows sizes and times of up to 20 seconds ago
