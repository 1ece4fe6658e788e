"""The disk of a folder: its kind of file system, whether that is a network's, and whether it has room."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Sequence

NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs",
     "glusterfs", "lustre", "gpfs", "beegfs", "davfs", "fuse.davfs2", "fuse.s3fs", "fuse.rclone", "prl_fs", "vboxsf",
     "virtiofs", "fuse.vmhgfs-fuse"}
)  # fmt: skip

# Of a disk of this computer, or of its memory; `overlay` if its upper folder is. What lies on top of other folders
# (bindfs, mergerfs, gocryptfs) isn't: those may be a server's, or be used by others besides.
_LOCAL_FILE_SYSTEMS = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "nilfs2", "reiserfs", "tmpfs", "ramfs",
     "vfat", "exfat", "ntfs3", "fuseblk", "hfsplus", "udf", "iso9660", "squashfs", "erofs", "overlay"}
)  # fmt: skip

A_FILE = 64 * 1024  # bytes that must be free for a sidecar or two
FOR_THE_SERVICE = "; if only the service sees it so, the unit doesn't name this folder: run filedrop service install"


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A folder's file system: the kernel's name for its kind (`ext4`, `cifs`; "" if unknown).

    `network`: it certainly is a server's. `local`: it certainly is on a disk of this computer, so that file times are
    by our own clock, and calls can't hang. Neither is certain of a file system on top of other folders.
    """

    kind: str
    network: bool
    local: bool = False


def is_local(path: Path) -> bool:
    """Whether it is certainly on a disk of this computer. Always False on systems other than Linux and Windows."""
    return file_system(path).local


def is_share(root: str) -> bool:
    r"""Whether the root of a Windows path is a share (`\\server\share\`); what begins with `\\?\` mostly is none."""
    return root.startswith("\\\\") and (root[2:4] not in ("?\\", ".\\") or root[4:8].upper() == "UNC\\")


def unescaped(word: str) -> str:
    """A path as proc(5) and fstab(5) mean it: a blank and the like are written in octal there."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word)


def _too_little(free: int | None) -> str:
    if free is None or free >= A_FILE:
        return ""
    left = f"has only {size(free)} left" if free else "is full"
    return f"its disk {left}: make room there"


if sys.platform == "win32":
    import ctypes
    import shutil

    from filedrop.files.directory import literal

    def file_system(path: Path) -> FileSystem:
        """The file system of a folder: a mapped or UNC path is a network's."""
        try:
            root = path.resolve().anchor
        except OSError:  # a share that lets nobody in, say
            root = path.anchor
        network = is_share(root) or _is_mapped(root)
        return FileSystem("network" if network else "local", network, local=not network)

    def mount_point(path: Path) -> Path:
        """Where the file system of a folder is mounted: its root."""
        return Path(path.anchor)

    def mapped_drive(path: Path) -> str:
        r"""The letter of the drive that a path is on, if whoever is logged on has mapped that to a share; "" if not."""
        return path.drive if not is_share(path.anchor) and _is_mapped(path.anchor) else ""

    def _is_mapped(root: str) -> bool:
        drive_remote = 4  # DRIVE_REMOTE of GetDriveTypeW
        return bool(ctypes.windll.kernel32.GetDriveTypeW(root.removeprefix("\\\\?\\")) == drive_remote)

    def free_space(path: Path) -> int | None:
        """The number of free bytes; None where the system doesn't say. Raises OSError."""
        return shutil.disk_usage(literal(path)).free

    def shortage(path: Path) -> str:
        """Why no file can be written there, as the second half of a sentence; "" where one can. Raises OSError."""
        return _too_little(free_space(path))

else:

    def file_system(path: Path) -> FileSystem:
        """The file system of a folder, by the longest mount point above it."""
        kind, options = (mount := _mounted(path)).kind, mount.options
        local = kind in _LOCAL_FILE_SYSTEMS
        if kind == "overlay":
            upper = next((word.removeprefix("upperdir=") for word in options if word.startswith("upperdir=")), "/")
            local = _mounted(Path(unescaped(upper))).kind in _LOCAL_FILE_SYSTEMS  # of a container's, nobody else knows
        # No /proc: taken for a network's, which is scanned; that always works.
        return FileSystem(kind or "", kind is None or kind in NETWORK_FILE_SYSTEMS, local)

    def mount_point(path: Path) -> Path:
        """Where the file system of a folder is mounted."""
        return Path(_mounted(path).point)

    class _Mount(NamedTuple):
        """Where a file system is mounted, its kind (None without /proc), and its options."""

        point: str
        kind: str | None
        options: Sequence[str] = ()

    def _mounted(path: Path) -> _Mount:
        """The longest mount point above a path, and what is mounted there (proc(5))."""
        real = os.path.realpath(path)
        try:
            text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return _Mount("/", None)
        above = [mount for mount in _mounts(text) if f"{real}/".startswith(mount.point.rstrip("/") + "/")]
        return max(reversed(above), key=lambda mount: len(mount.point), default=_Mount("/", ""))

    @lru_cache(maxsize=1)  # for each of a thousand folders it is the same
    def _mounts(text: str) -> list[_Mount]:
        mounts = []
        for line in text.splitlines():
            before, _, after = line.partition(" - ")
            kind, *_, options = after.split(" ")
            mounts.append(_Mount(unescaped(before.split(" ")[4]), kind, options.split(",")))
        return mounts

    def mapped_drive(path: Path) -> str:  # noqa: ARG001 - Windows alone has drives
        """The letter of a drive: none."""
        return ""

    def free_space(path: Path) -> int | None:
        """The number of free bytes; None where the system doesn't say. Raises OSError."""
        return _free(os.statvfs(path))

    def _free(disk: os.statvfs_result) -> int | None:
        # No blocks at all means no limit, or a server that doesn't report (FUSE).
        return disk.f_bavail * disk.f_frsize if disk.f_blocks else None

    def shortage(path: Path) -> str:
        """Why no file can be written there, as the second half of a sentence; "" where one can. Raises OSError."""
        disk = os.statvfs(path)
        if disk.f_flag & os.ST_RDONLY:
            return f"its disk is read-only{FOR_THE_SERVICE}"
        if short := _too_little(_free(disk)):
            return short
        # Only a disk counts its names (tests/findings/rclone-statvfs.sh).
        no_names = disk.f_files and not disk.f_favail and is_local(path)
        return "its disk has no names left for more files (inodes): remove some files there" if no_names else ""
