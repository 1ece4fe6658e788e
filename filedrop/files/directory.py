"""An open folder, and its entries by name.

Every user of a folder can put a link into it, also in place of a file that was checked a moment ago. So all access goes
through the folder's descriptor, which stays valid when the path leads elsewhere; links are never followed, and a name
can't lead out of the folder. On Windows, where folders have no descriptors, paths are used, as `literal` spells them.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.files.abilities import ORDINARY, Abilities
from filedrop.files.certainty import CERTAINTY
from filedrop.files.refusals import means_no_file, meant, outlasting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OLD = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# `owner`: whose the draft is, where several write into one folder. .json, .why: of earlier versions.
DRAFT = re.compile(r"\.(?P<id>[0-9A-HJKMNP-TV-Z]{26})(\.(?P<owner>[0-9a-f]{8}))?(\.[0-9]{1,3})?\.(json|why|part|tmp)")
# A file on its way to `name`, on a file system that can't rename without replacing (`system.place`).
MOVING = re.compile(r"\.(?P<name>.+)\.[0-9A-F]{26}\.moving")
SILLY = re.compile(r"\.(nfs[0-9a-f]{24}|fuse_hidden[0-9a-f]{16,})")  # what an open file is named that was removed
_SEPARATORS = frozenset("/\\:\0") if sys.platform == "win32" else frozenset("/\0")
_NOT_FOLLOWED = "it is no folder, but a link or a file: links are not followed here"


class Directory:
    """A folder, opened by `path`; `identity` is its device and inode. Closed with its last reference. Thread-safe.

    `abilities`: what can be done in it, and in each folder below it.
    """

    __slots__ = ("abilities", "descriptor", "identity", "path")

    def __init__(
        self, path: Path, descriptor: int | None, identity: tuple[int, int], abilities: Abilities = ORDINARY
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
        self.abilities = abilities

    @classmethod
    def open(cls, path: Path, abilities: Callable[[], Abilities] = lambda: ORDINARY) -> Directory:
        """Open a folder that the administrator has named, and follow links in its path. Raises OSError."""
        folder = cls(path, *_opened(path))
        folder.abilities = abilities()  # asked of a folder that could be opened: they may be those of its file system
        return folder

    def folder(self, name: str) -> Directory:
        """Open a folder in this one. Raises OSError (NotADirectoryError for a link)."""
        entry = self / name
        try:
            descriptor, identity = _opened_within(entry)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise NotADirectoryError(errno.ENOTDIR, _NOT_FOLLOWED, str(entry)) from error
            raise meant(error, entry) from None
        return Directory(entry.path, descriptor, identity, self.abilities)

    def below(self, path: str) -> Directory:
        """Open a folder below this one, or this one where the path is "". Raises as `folder` does."""
        there = self
        for name in path.split("/") if path else ():
            there = there.folder(name)
        return there

    def entry(self, path: str) -> Entry:
        """The entry at a path below this folder, `2026/11/1001.xml`; only the last name need not exist.

        Raises as `folder` does, and OSError for an impossible name.
        """
        place, _, name = path.rpartition("/")
        return self.below(place) / name

    def __truediv__(self, name: str) -> Entry:
        """The entry with this name, which need not exist. Raises OSError for an impossible name."""
        if name in ("", ".", "..") or not _SEPARATORS.isdisjoint(name):
            raise OSError(errno.ENXIO, "no name of a file", name)
        return Entry(self, name)

    def __repr__(self) -> str:
        return f"Directory({str(self.path)!r})"

    def whereabouts(self) -> tuple[tuple[int, int], str]:
        """The folder's identity and present path: both stay equal unless it was moved or mounted anew."""
        return self.identity, self._lies_at()

    def draft(self) -> Entry:
        """A random name, which can't be guessed, for a file that isn't complete yet."""
        return Entry(self, f".{secrets.token_hex(13).upper()}.tmp")

    def moving(self, name: str) -> Entry:
        """A name that nobody else will use, for a file on its way to `name` (`MOVING`)."""
        return Entry(self, f".{name}.{secrets.token_hex(13).upper()}.moving")

    def scan(self) -> Iterator[os.DirEntry[str]]:
        """The entries of the folder, lazily: there may be many. Raises OSError."""
        try:
            yield from _scanned(self)
        except OSError as error:
            raise meant(error, self.path) from None

    def names(self) -> Iterator[str]:
        """The names of all entries, lazily. Raises OSError."""
        return (entry.name for entry in self.scan())

    if sys.platform == "win32":

        def status(self) -> os.stat_result:
            """The folder's status. Raises OSError."""
            return os.stat(literal(self.path))  # noqa: PTH116 - a text for the system

        def _lies_at(self) -> str:
            return str(self.path)

        def sync(self) -> None:
            """Nothing to do: NTFS keeps its own journal of names, and a folder can't be flushed."""

    else:

        def status(self) -> os.stat_result:
            """The folder's status. Raises OSError."""
            return os.fstat(self.fileno())

        def sync(self) -> None:
            """Write the names in it to the disk. Raises OSError."""
            try:
                os.fsync(self.fileno())
            except OSError as error:
                if error.errno != errno.EINVAL:  # CIFS has no fsync for folders; its server keeps the names
                    error.filename = str(self.path)
                    raise

        def fileno(self) -> int:
            """The folder's descriptor."""
            if self.descriptor is None:
                raise ValueError("closed")
            return self.descriptor

        def _lies_at(self) -> str:
            try:
                return os.readlink(f"/proc/self/fd/{self.fileno()}")  # noqa: PTH115 - a text to compare, no path
            except OSError:  # no /proc
                return ""

        def __del__(self) -> None:
            if self.descriptor is not None:
                os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder, and the file there, if any."""

    directory: Directory
    name: str

    @property
    def path(self) -> Path:
        """The path, for messages only: another file may be there by now."""
        return self.directory.path / self.name

    if sys.platform == "win32":

        @property
        def address(self) -> str:
            """The name for system calls."""
            return f"{literal(self.directory.path)}\\{self.name}"

    else:

        @property
        def address(self) -> str:
            """The name for system calls, to be used with `descriptor`."""
            return self.name

    @property
    def descriptor(self) -> int | None:
        """The folder's descriptor."""
        return self.directory.descriptor

    def __str__(self) -> str:
        return f"{self.directory.path}{os.sep}{self.name}"  # a Path takes several times as long

    def with_name(self, name: str) -> Entry:
        """The entry with another name in the same folder. Raises OSError for an impossible name."""
        return self.directory / name

    def beside(self, suffix: str) -> Entry:
        """The entry with the same name and this suffix: a sidecar or a note."""
        return Entry(self.directory, self.name + suffix)

    def lstat(self) -> os.stat_result:
        """The status of the file there, or of a link itself. Raises OSError."""
        try:
            return outlasting(self._lstat, self.directory.abilities)
        except OSError as error:
            raise meant(error, self) from None

    def _lstat(self) -> os.stat_result:
        return os.stat(self.address, dir_fd=self.descriptor, follow_symlinks=False)

    def exists(self) -> bool:
        """Whether anything is there. Raises OSError if that is unknown."""
        try:
            outlasting(self._lstat, self.directory.abilities)
        except OSError as error:
            if means_no_file(error):  # most often; the error for a caller takes as long as the system's call
                return False
            raise meant(error, self) from None
        return True

    def is_folder(self) -> bool:
        """Whether a folder is there, rather than a link to one. Raises OSError if that is unknown."""
        try:
            return stat.S_ISDIR(self.lstat().st_mode)
        except FileNotFoundError:
            return False

    def is_file(self) -> bool:
        """Whether a regular file is there, rather than a link to one. Raises OSError if that is unknown."""
        try:
            return stat.S_ISREG(self.lstat().st_mode)
        except FileNotFoundError:
            return False

    def create(self) -> int:
        """Create a file, and open it to read and write. Returns its descriptor. Raises OSError."""
        CERTAINTY.wait()
        return os.open(self.address, _NEW, 0o666, dir_fd=self.descriptor)

    def open_to_write(self) -> int:
        """Open a file to read and write. Returns its descriptor. Raises OSError."""
        return os.open(self.address, _OLD, dir_fd=self.descriptor)

    def mkdir(self) -> None:
        """Create a folder for this user alone. Raises OSError."""
        CERTAINTY.wait()
        os.mkdir(self.address, 0o700, dir_fd=self.descriptor)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove a file. Raises OSError."""
        CERTAINTY.wait()
        try:
            outlasting(lambda: _unlink(self), self.directory.abilities)
        except OSError as error:
            if not (missing_ok and means_no_file(error)):
                raise meant(error, self) from None

    def rmdir(self) -> None:
        """Remove an empty folder. Raises OSError."""
        CERTAINTY.wait()
        os.rmdir(self.address, dir_fd=self.descriptor)


Where = Path | Entry

if sys.platform == "win32":
    _LINKS = (stat.IO_REPARSE_TAG_SYMLINK, stat.IO_REPARSE_TAG_MOUNT_POINT)

    def literal(path: Path) -> str:
        r"""The path as Windows takes it at its word: `\\?\C:\...`, however long.

        Without that, `con.xml` is the console, and `a.xml.` is `a.xml`: names that other systems give to files here.
        """
        full = os.path.normpath(path) if path.is_absolute() else os.path.abspath(path)  # noqa: PTH100 - a text
        if full.startswith(("\\\\?\\", "\\\\.\\")):
            return full
        return f"\\\\?\\UNC{full[1:]}" if full.startswith("\\\\") else f"\\\\?\\{full}"

    def make_writable(entry: Entry) -> bool:
        """Take the read-only attribute from a file, so that Windows replaces it. Returns whether it had one."""
        status = entry.lstat()
        read_only = status.st_file_attributes & stat.FILE_ATTRIBUTE_READONLY and stat.S_ISREG(status.st_mode)
        if read_only:
            os.chmod(entry.address, stat.S_IWRITE)  # noqa: PTH101 - no Path
        return bool(read_only)

    def _unlink(entry: Entry) -> None:
        try:
            os.unlink(entry.address)  # noqa: PTH108 - no Path
        except PermissionError:
            if not make_writable(entry):
                raise
            os.unlink(entry.address)  # noqa: PTH108 - no Path

    def _opened(path: Path) -> tuple[None, tuple[int, int]]:
        try:
            status = os.stat(literal(path))  # noqa: PTH116 - a text for the system
        except OSError as error:
            raise meant(error, path) from None
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return None, (status.st_dev, status.st_ino)

    def _opened_within(entry: Entry) -> tuple[None, tuple[int, int]]:
        status = entry.lstat()
        if status.st_reparse_tag in _LINKS or not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, _NOT_FOLLOWED, str(entry))
        return None, (status.st_dev, status.st_ino)

    def _scanned(directory: Directory) -> Iterator[os.DirEntry[str]]:
        with os.scandir(literal(directory.path)) as entries:
            yield from entries

else:
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY

    def literal(path: Path) -> str:
        """The path as the system takes it."""
        return os.fspath(path)

    def _unlink(entry: Entry) -> None:
        os.unlink(entry.address, dir_fd=entry.descriptor)

    def _opened(path: Path) -> tuple[int, tuple[int, int]]:
        return _known(os.open(path, _FOLDER))

    def _opened_within(entry: Entry) -> tuple[int, tuple[int, int]]:
        return _known(os.open(entry.address, _FOLDER | os.O_NOFOLLOW, dir_fd=entry.descriptor))

    def _known(descriptor: int) -> tuple[int, tuple[int, int]]:
        try:
            status = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor, (status.st_dev, status.st_ino)

    def _scanned(directory: Directory) -> Iterator[os.DirEntry[str]]:
        # A new descriptor, because each listing needs its own read position.
        descriptor = os.open(".", _FOLDER, dir_fd=directory.fileno())
        try:
            with os.scandir(descriptor) as entries:
                yield from entries
        finally:
            os.close(descriptor)
