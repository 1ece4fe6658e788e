"""Files written whole or not at all, and moved without overwriting: a room of operating-system differences.

A name never appears before its content is complete and on the disk, and no move replaces what is already there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class InUse(PermissionError):
    """Somebody has the file open, and Windows moves no open file: it can be moved when they are done."""


@dataclass(frozen=True, slots=True)
class Seal:
    """What tells one content of a file from another without reading it (times in nanoseconds)."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Seal:
        """The seal of what `fstat` said."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


def open_regular(path: Path) -> FileIO:
    """Open a regular file for reading, never through a symbolic link, never waiting for a pipe.

    Raises OSError (`ELOOP` for a link, `EINVAL` for what is no regular file).
    """
    descriptor = _open(path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return FileIO(descriptor)


def may_use(path: Path) -> bool:
    """May whoever we act as read and write there? False where nothing is there."""
    return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_missing(path: Path) -> bool:
    """Is certainly nothing there? False where we may not look."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def seal(path: Path) -> Seal | None:
    """The seal of what lies there, or None."""
    try:
        return Seal.of(path.lstat())
    except FileNotFoundError:
        return None


def create_whole(path: Path, content: bytes, *, draft: Path) -> None:
    """Write a new file that appears whole and on the disk under a name that nothing else has.

    `draft` is where it is written first: on the same file system, a name that nobody else uses. Raises FileExistsError
    when the name is taken, and OSError (disk full, no rights); then nothing is left behind.
    """
    try:
        _write(draft, content)
        place(draft, path)
    except OSError:
        discard(draft)
        raise


def replace_whole(path: Path, content: bytes, *, draft: Path) -> None:
    """Write a file that replaces an older one of its name in one moment.

    Raises OSError (InUse: somebody reads the older one); then the older one stays.
    """
    try:
        _write(draft, content)
        _replace(draft, path)
    except OSError:
        discard(draft)
        raise


def create_temporary(path: Path) -> BinaryIO:
    """Open a new file for writing, with its folder's group and mode; a left-over one of the name is replaced."""
    return os.fdopen(_create(path), "w+b")


def _create(path: Path) -> int:
    try:
        descriptor = os.open(path, _NEW, 0o666)
    except FileExistsError:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, _NEW, 0o666)
    try:
        _inherit(descriptor, path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_folder(path: Path) -> None:
    """Make a folder in one that exists, with its parent's group and mode. No harm where it is there already.

    It has its name only when it has its rights: nobody would give them to one that a process which was killed has made.
    """
    draft = path.with_name(f".{path.name}.tmp")
    try:
        _make(draft, path)
    except FileNotFoundError:  # another thread has placed what both were making
        if not path.is_dir():
            raise
    sync_folder(path.parent)


def _make(draft: Path, path: Path) -> None:
    if path.is_dir():
        return
    draft.mkdir(exist_ok=True)
    if sys.platform != "win32":
        parent = path.parent.stat()
        with contextlib.suppress(PermissionError):
            os.chown(draft, -1, parent.st_gid)
        with contextlib.suppress(PermissionError):
            draft.chmod(stat.S_IMODE(parent.st_mode))
    try:
        place(draft, path)
    except FileExistsError:
        draft.rmdir()


def _write(draft: Path, content: bytes) -> None:
    # By hand: a file object would ask the system six times what it is and where it stands.
    descriptor = _create(draft)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import _winapi
    import msvcrt

    _SHARED = 0x7  # FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE

    def place(source: Path, target: Path) -> None:
        """Rename within one file system without overwriting. Raises FileExistsError when the name is taken, InUse."""
        try:
            source.rename(target)  # Windows refuses to overwrite
        except PermissionError as error:
            raise _in_use(error) from error

    def discard(path: Path) -> None:
        """Remove a file that may be gone. One that somebody has open stays: it is in nobody's way."""
        with contextlib.suppress(PermissionError):
            path.unlink(missing_ok=True)

    def _replace(source: Path, target: Path) -> None:
        try:
            source.replace(target)
        except PermissionError as error:
            raise _in_use(error) from error

    def _in_use(error: PermissionError) -> InUse:
        return InUse(error.errno, error.strerror, error.filename, error.winerror, error.filename2)

    def _open(path: Path) -> int:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "a symbolic link", str(path))
        try:
            # Shared for moving and deleting, too: else nobody, we included, could do that while we read.
            handle = _winapi.CreateFile(
                str(path), _winapi.GENERIC_READ, _SHARED, _winapi.NULL, _winapi.OPEN_EXISTING, 0, _winapi.NULL
            )
        except OSError as error:
            error.filename = str(path)
            raise
        return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)

    def sync_folder(path: Path) -> None:
        """Nothing to do: NTFS keeps its own journal of names, and a folder can't be flushed."""

    @contextlib.contextmanager
    def kept(path: Path) -> Iterator[Path]:
        """A folder by a name that goes on meaning it, should another take its place; here it has but the one."""
        yield path

    def _inherit(descriptor: int, folder: Path) -> None:
        """Nothing to do: a new file has its folder's access list."""

else:
    _AT_FDCWD = -100
    _RENAME_NOREPLACE = 1
    _renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    # What a kernel or a file system answers that has no rename without replacing (NFS, CIFS, old FUSE).
    _UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})

    def place(source: Path, target: Path) -> None:
        """Rename within one file system without overwriting. Raises FileExistsError when the name is taken."""
        if _renameat2 is not None:
            names = os.fsencode(source), os.fsencode(target)
            if _renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_NOREPLACE) == 0:
                return
            code = ctypes.get_errno()
            if code not in _UNSUPPORTED:
                raise OSError(code, os.strerror(code), str(source), None, str(target))
        _place_after_check(source, target)

    def discard(path: Path) -> None:
        """Remove a file that may be gone. What is no file, or has no possible name, stays: it is none of ours."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.ENAMETOOLONG):
                raise

    def _replace(source: Path, target: Path) -> None:
        source.replace(target)

    def _open(path: Path) -> int:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)

    def _place_after_check(source: Path, target: Path) -> None:
        # Only in folders that filedrop alone writes names into, so nobody comes between the check and the rename.
        before = source.lstat()
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(source), None, str(target))
        try:
            source.rename(target)
        except OSError as error:
            # NFS may report a failure of a rename that worked, when the answer was lost and the call repeated.
            if error.errno not in (errno.ENOENT, errno.EEXIST) or not _arrived(before, target):
                raise

    def _arrived(before: os.stat_result, target: Path) -> bool:
        try:
            return os.path.samestat(before, target.lstat())
        except FileNotFoundError:
            return False

    def sync_folder(path: Path) -> None:
        """Bring the names in a folder to the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # CIFS has no fsync for folders; its server keeps the names
                raise
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def kept(path: Path) -> Iterator[Path]:
        """A folder by a name that goes on meaning it, should another be mounted in its place. Raises OSError."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Path("/proc/self/fd", str(descriptor))
        finally:
            os.close(descriptor)

    def _inherit(descriptor: int, folder: Path) -> None:
        # Whoever owns the share must be able to take what is written into it.
        parent, new = folder.stat(), os.fstat(descriptor)
        mode = stat.S_IMODE(parent.st_mode) & 0o666
        with contextlib.suppress(PermissionError):
            if new.st_gid != parent.st_gid:
                os.fchown(descriptor, -1, parent.st_gid)
        with contextlib.suppress(PermissionError):
            if stat.S_IMODE(new.st_mode) != mode:
                os.fchmod(descriptor, mode)
