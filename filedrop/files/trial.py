"""Finds out what can be done in a folder, before it is used: a few hidden files are made, moved and removed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from filedrop.files import system
from filedrop.files.abilities import Abilities
from filedrop.files.disk import file_system
from filedrop.files.drafts import create_temporary

if TYPE_CHECKING:
    from pathlib import Path

    import structlog

    from filedrop.files.directory import Directory, Entry

_REMEDIES = {  # by the kind of the file system
    "fuse.rclone": "let rclone copy the files, or mount the storage by SMB, NFS or sshfs",
    "fuse.s3fs": "let a program copy the files between the bucket and a folder",
    "fuse.sshfs": "let the server be OpenSSH's, which has links, or mount its folder by SMB or NFS",
    "fuse.exfat": "mount the disk with the kernel's own exfat driver",
}
_REMEDY = "use a folder on a disk, or on a share by SMB, NFS or sshfs"


class Trial:
    """What can be done in the folder at `path`: presumed until `make` finds it out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._abilities: Abilities | None = None
        self._device: int | None = None  # where it was made
        self._logged: Abilities | None = None

    @property
    def abilities(self) -> Abilities:
        """What can be done there."""
        if self._abilities is None:
            self._abilities = presumed(self._path)
        return self._abilities

    @property
    def found(self) -> str:
        """What is known so far, in words; "" for nothing. The folder isn't looked at: it may hang."""
        return str(self._abilities or "")

    def is_due(self, here: Directory) -> bool:
        """Whether nothing was tried yet in this folder, which is the one at the path now."""
        return self._device != here.identity[0]

    def make(self, here: Directory) -> str:
        """Find out what can be done in this folder. Returns why it can't be used, "" where it can."""
        try:
            here.abilities = self._abilities = try_folder(here)
        except OSError:  # no file can be made there now: the first that is to be made reports it
            return ""
        if not self._abilities.refusal:
            self._device = here.identity[0]
        return self._abilities.refusal

    def forget(self) -> None:
        """Have the trial made again: another file system may be mounted there by now."""
        self._device = None

    def look(self, log: structlog.stdlib.BoundLogger) -> None:
        """See which file system is there now; another one is to be tried. Log what can be done, if that is new."""
        now = presumed(self._path)
        if (now.kind, now.local) != (self.abilities.kind, self.abilities.local):
            self._abilities = now
            self.forget()
        if self._logged != self.abilities:
            self._logged = self.abilities
            log.info("folder.tried", found=str(self._logged))


def presumed(path: Path) -> Abilities:
    """What can be done in a folder that wasn't tried, by the kind of its file system."""
    disk = file_system(path)
    is_trusted = disk.local or sys.platform == "win32"  # Windows asks the server, which refuses a name that is taken
    return Abilities(disk.kind, disk.local, renames=is_trusted, inodes=is_trusted)


def try_folder(here: Directory) -> Abilities:
    """What can be done in this folder. Nothing stays there. Raises OSError where no file can be made in it now."""
    found = presumed(here.path)
    file, name = here.draft(), here.draft()
    try:
        create_temporary(file).close()
        if found.renames and not _renames(file, name):
            found = replace(found, renames=False)
        links, inodes = _links(file, name)
        found = replace(found, links=links, inodes=found.inodes and inodes)
    finally:
        system.discard(file)
        system.discard(name)
    if found.renames or found.links:
        return found
    why = f"{found.kind or 'its file system'} has neither links nor an exclusive rename, so files could replace others"
    return replace(found, refusal=f"{why}: {_REMEDIES.get(found.kind, _REMEDY)}")


def _renames(file: Entry, name: Entry) -> bool:
    """Whether this file can be renamed there and back without replacing, and keeps its inode."""
    inode = file.lstat().st_ino
    try:
        system.rename(file, name)
        is_same = name.lstat().st_ino == inode
        system.rename(name, file)
    except OSError:
        return False
    return is_same


def _links(file: Entry, name: Entry) -> tuple[bool, bool]:
    """Whether this file gets a second name by a link, which replaces nothing; and whether that has the same inode."""
    try:
        system.link(file, name)
    except OSError:
        return False, True
    inodes = name.lstat().st_ino == file.lstat().st_ino
    try:
        system.link(file, name)
    except FileExistsError:
        return True, inodes
    except OSError:
        pass
    return False, inodes
