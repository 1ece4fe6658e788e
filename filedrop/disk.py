"""The disk that a folder lies on: what kind of file system, whose, and whether it has room.

Like `files` a room of operating-system differences.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs",
     "glusterfs", "lustre", "gpfs", "beegfs", "davfs", "fuse.davfs2", "fuse.s3fs", "fuse.rclone", "prl_fs", "vboxsf"}
)  # fmt: skip

A_FILE = 64 * 1024  # bytes that must be free for a sidecar or two


@dataclass(frozen=True, slots=True)
class FileSystem:
    """Where a folder lies: the kernel's name for the kind (`ext4`, `cifs`; "" where unknown), and on whose disk."""

    kind: str
    network: bool


def is_local(path: Path) -> bool:
    """Does it lie on a disk of this computer, as far as Linux tells?

    Then file times there are by our own clock, and no server keeps us waiting.
    """
    return sys.platform == "linux" and not file_system(path).network


if sys.platform == "win32":
    import ctypes
    import shutil

    def file_system(path: Path) -> FileSystem:
        """What a folder lies on: a mapped or UNC path is a network's."""
        drive_remote = 4  # DRIVE_REMOTE of GetDriveTypeW
        root = path.resolve().anchor
        network = root.startswith("\\\\") or ctypes.windll.kernel32.GetDriveTypeW(root) == drive_remote
        return FileSystem("network" if network else "local", network)

    def shortage(path: Path) -> str:
        """Why nothing more can be written there, in a sentence's second half; "" where it can. Raises OSError."""
        return "its disk is full" if shutil.disk_usage(path).free < A_FILE else ""

else:

    def file_system(path: Path) -> FileSystem:
        """What a folder lies on, by the longest mount point above it (/proc/self/mountinfo, proc(5))."""
        kind, longest = "", -1
        real = os.path.realpath(path)
        try:
            lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:  # no /proc: nothing is known, and scanning always works
            return FileSystem("", network=True)
        for line in lines:
            before, _, after = line.partition(" - ")
            mount = before.split(" ")[4].replace("\\040", " ").replace("\\134", "\\")
            inside = real == mount or real.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= longest:
                kind, longest = after.split(" ")[0], len(mount)
        return FileSystem(kind, kind in NETWORK_FILE_SYSTEMS)

    def shortage(path: Path) -> str:
        """Why nothing more can be written there, in a sentence's second half; "" where it can. Raises OSError."""
        disk = os.statvfs(path)
        if disk.f_flag & os.ST_RDONLY:
            return "its disk is read-only"
        if disk.f_bavail * disk.f_frsize < A_FILE:
            return "its disk is full"
        return "its disk has no names left for more files (inodes)" if disk.f_files and not disk.f_favail else ""
