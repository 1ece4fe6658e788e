"""The disk of a folder: its kind of file system, whether that is a network's, and whether it has room."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from filedrop.text import size

NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs",
     "glusterfs", "lustre", "gpfs", "beegfs", "davfs", "fuse.davfs2", "fuse.s3fs", "fuse.rclone", "prl_fs", "vboxsf",
     "virtiofs", "fuse.vmhgfs-fuse"}
)  # fmt: skip

A_FILE = 64 * 1024  # bytes that must be free for a sidecar or two
FOR_THE_SERVICE = "; if only the service sees it so, the unit doesn't name this folder: run filedrop service install"


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A folder's file system: the kernel's name for its kind (`ext4`, `cifs`; "" if unknown); whether it is remote."""

    kind: str
    network: bool


def is_local(path: Path) -> bool:
    """Whether it is on a disk of this computer. Always False where the system is neither Linux nor Windows.

    Where it is, file times are by our own clock, and calls can't hang.
    """
    return sys.platform in ("linux", "win32") and not file_system(path).network


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
        return FileSystem("network" if network else "local", network)

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
        kind = _mounted(path)[1]
        # No /proc: taken for a network's, which is scanned; that always works.
        return FileSystem(kind or "", kind is None or kind in NETWORK_FILE_SYSTEMS)

    def mount_point(path: Path) -> Path:
        """Where the file system of a folder is mounted."""
        return Path(_mounted(path)[0])

    def _mounted(path: Path) -> tuple[str, str | None]:
        """The longest mount point above a path, and the kind of what lies there (proc(5)): None without /proc."""
        kind, longest = "", "/"
        real = os.path.realpath(path)
        try:
            lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            return "/", None
        for line in lines:
            before, _, after = line.partition(" - ")
            mount = unescaped(before.split(" ")[4])
            inside = real == mount or real.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(longest):
                kind, longest = after.split(" ")[0], mount
        return longest, kind

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
        no_names = disk.f_files and not disk.f_favail
        return "its disk has no names left for more files (inodes): remove some files there" if no_names else ""
