"""Differences between operating systems: opening, moving and removing files, and the rights of new ones."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from functools import partial
from typing import TYPE_CHECKING

from filedrop.files.certainty import CERTAINTY
from filedrop.files.directory import DRAFT, MOVING, Entry
from filedrop.files.identity import are_same
from filedrop.files.refusals import PASSING_FOR_MOVES, meant, outlasting

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.files.directory import Directory, Where


class InUse(PermissionError):
    """A program has the file open, and Windows lets nobody else at it: retry later."""


if sys.platform == "win32":
    import _winapi
    import msvcrt

    from filedrop.files.directory import literal, make_writable

    _SHARED = 0x7  # FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE
    _SHARED_WITH_READERS = 0x5  # FILE_SHARE_READ | FILE_SHARE_DELETE
    _IN_USE = (32, 33)  # ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION

    def discard(entry: Entry) -> None:
        """Remove a file that may be gone. An open file stays, harmlessly; a name that is too long is ignored."""
        try:
            entry.unlink(missing_ok=True)
        except PermissionError:
            pass
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise

    def rename(source: Entry, target: Entry) -> None:
        """Rename within one file system without overwriting. Raises FileExistsError where the name is taken, InUse."""
        try:
            os.rename(source.address, target.address)  # noqa: PTH104 - no Path; Windows refuses to overwrite
        except PermissionError as error:
            raise _in_use(error, source) from error

    place = rename

    def link(own: Entry, target: Entry) -> None:
        """Refused, as a rename is all that is needed here. Raises OSError."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(own), None, str(target))

    def replace(source: Entry, target: Entry) -> None:
        """Rename within one file system, over an older file of the name. Raises OSError; then that one stays."""
        CERTAINTY.wait()
        try:
            os.replace(source.address, target.address)  # noqa: PTH105 - no Path
        except PermissionError as error:
            if not (target.exists() and make_writable(target)):
                raise _in_use(error, target) from error
            replace(source, target)

    def _in_use(error: OSError, where: Where) -> InUse:
        return InUse(error.errno, error.strerror, str(where), error.winerror)

    def open_file(where: Where) -> int:
        """A descriptor to read the file there; a link is refused. Raises OSError."""
        if os.path.islink(_address(where)):  # noqa: PTH114 - no Path
            raise OSError(errno.ELOOP, "a symbolic link", str(where))
        try:  # shared for moving and deleting, too: else a file that we read can't be moved, not even by us
            handle = _handle(where, _SHARED)
        except PermissionError as error:
            if os.path.isdir(_address(where)):  # noqa: PTH112 - no Path
                raise OSError(errno.ENXIO, "a folder", str(where)) from error
            raise
        return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)

    def is_closed(where: Where) -> bool:
        """Whether certainly nobody has the file open for writing. Raises InUse if somebody certainly has."""
        try:
            _winapi.CloseHandle(_handle(where, _SHARED_WITH_READERS))
        except InUse:
            raise
        except OSError:
            return False
        return True

    def changed_at(status: os.stat_result) -> float:
        """When a file was last changed or put there, in seconds since 1970."""
        return max(status.st_ctime, status.st_mtime)  # ctime is when it was made

    def _handle(where: Where, shared: int) -> int:
        address = _address(where)
        try:
            return _winapi.CreateFile(
                address, _winapi.GENERIC_READ, shared, _winapi.NULL, _winapi.OPEN_EXISTING, 0, _winapi.NULL
            )
        except OSError as error:
            if error.winerror in _IN_USE:
                raise _in_use(error, where) from error
            raise meant(error, where) from None

    def _address(where: Where) -> str:
        return where.address if isinstance(where, Entry) else literal(where)

    def begin_flush(descriptor: int) -> None:
        """Nothing to do: Windows can't be told to begin."""

    def inherit(descriptor: int, new: os.stat_result, directory: Directory) -> None:
        """Nothing to do: a new file inherits its folder's access list."""

    def inherit_folder(made: Entry) -> None:
        """Nothing to do: a new folder inherits the access list of the one that it is in."""

else:
    _RENAME_NOREPLACE = 1
    _renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    # The errors of kernels and file systems that can't rename without replacing
    # (tests/findings/fuse-exclusive-rename.sh).
    _UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})

    def discard(entry: Entry) -> None:
        """Remove a file that may be gone. A folder stays: it isn't ours. A name that is too long is ignored."""
        try:
            entry.unlink(missing_ok=True)
        except OSError as error:
            if error.errno != errno.EISDIR:
                raise

    def place(source: Entry, target: Entry) -> None:
        """Rename within one file system without overwriting. Raises FileExistsError where the name is taken."""
        if target.directory.abilities.renames:
            try:
                return rename(source, target)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
        return _place_by_link(source, target)

    def rename(source: Entry, target: Entry) -> None:
        """Rename without overwriting. Raises OSError, also where the kernel or the file system has no such rename."""
        CERTAINTY.wait()
        if _renameat2 is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(source))
        names = os.fsencode(source.name), os.fsencode(target.name)
        if _renameat2(source.descriptor, names[0], target.descriptor, names[1], _RENAME_NOREPLACE) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(source), None, str(target))

    def replace(source: Entry, target: Entry) -> None:
        """Rename within one file system, over an older file of the name. Raises OSError; then that one stays."""
        CERTAINTY.wait()
        try:
            _on_both(os.replace, source, target)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(target)) from error

    def open_file(where: Where) -> int:
        """A descriptor to read the file there; a link is refused. Raises OSError."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            if isinstance(where, Entry):
                name, folder = where.name, where.descriptor
                return outlasting(lambda: os.open(name, flags, dir_fd=folder), where.directory.abilities)
            return os.open(where, flags)
        except OSError as error:
            raise meant(error, where) from None

    def is_closed(where: Where) -> bool:  # noqa: ARG001 - Windows alone tells
        """Whether certainly nobody has the file open for writing: unknown on this system."""
        return False

    def changed_at(status: os.stat_result) -> float:
        """When a file was last changed or put there, in seconds since 1970."""
        return status.st_ctime

    def begin_flush(descriptor: int) -> None:
        """Have the system begin to write a file to the disk, so that the flushes of several files wait only once."""
        if hasattr(os, "posix_fadvise"):  # not on macOS
            with contextlib.suppress(OSError):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def _place_by_link(source: Entry, target: Entry) -> None:
        """Place by a link, which replaces nothing, where the file system can't rename without replacing.

        A name that others may use is never removed: a share may carry that out late, when another file has the name.
        So the file first gets a name that nobody else uses. What a killed process leaves under it, `finish_move` ends.
        """
        if target.exists():
            raise _taken(source, target)
        if DRAFT.fullmatch(target.name) or MOVING.fullmatch(target.name):
            _rename(source, target)
            return
        own = source
        if not (DRAFT.fullmatch(source.name) or MOVING.fullmatch(source.name)):
            own = target.directory.moving(target.name)
            try:
                _rename(source, own)
            except OSError:
                if not own.exists():  # a share may report an error for what it has done, here and below
                    raise
        try:
            _move_by_link(own, target)
        except OSError:
            if own is source or not _bring_back(own, source, target):
                raise

    def _bring_back(own: Entry, source: Entry, target: Entry) -> bool:
        """Undo a move after an error, unless the file has its new name all the same. Returns whether it has.

        Where the share is away, the file keeps the name of its own until `finish_move`.
        """
        with contextlib.suppress(OSError):
            if are_same(own, target):
                own.unlink()
                return True
        try:
            _move_by_link(own, source)
        except OSError:
            with contextlib.suppress(OSError):
                if not source.exists():
                    _rename(own, source)
        return False

    def link(file: Entry, name: Entry) -> None:
        """Give a file a second name. Raises OSError (FileExistsError: that is taken)."""
        CERTAINTY.wait()
        _on_both(partial(os.link, follow_symlinks=False), file, name)

    def _on_both(call: Callable[..., None], source: Entry, target: Entry) -> None:
        """Make a call about two names. Raises OSError, after a while for an error that may pass."""
        folders = {"src_dir_fd": source.descriptor, "dst_dir_fd": target.descriptor}
        outlasting(lambda: call(source.name, target.name, **folders), target.directory.abilities, PASSING_FOR_MOVES)

    def _move_by_link(own: Entry, target: Entry) -> None:
        """Move a file from a name of its own to one that others may use. Raises FileExistsError: that one is taken."""
        try:
            link(own, target)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise OSError(error.errno, error.strerror, str(own), None, str(target)) from error
            # A folder; or another user's file, where the kernel protects such from links.
            if target.exists():
                raise _taken(own, target) from None
            _rename(own, target)
        else:
            try:
                own.unlink()
            except OSError:
                own.unlink(missing_ok=True)

    def _rename(source: Entry, target: Entry) -> None:
        CERTAINTY.wait()
        _on_both(os.rename, source, target)

    def _taken(source: Entry, target: Entry) -> FileExistsError:
        return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(source), None, str(target))

    def inherit(descriptor: int, new: os.stat_result, directory: Directory) -> None:
        """Give a new file the group and mode of its folder, without the right to execute it."""
        # The users of the share must be able to take what is written into it.
        parent = directory.status()
        mode = stat.S_IMODE(parent.st_mode) & 0o666
        with contextlib.suppress(PermissionError):
            if new.st_gid != parent.st_gid:
                os.fchown(descriptor, -1, parent.st_gid)
        with contextlib.suppress(PermissionError):
            if stat.S_IMODE(new.st_mode) != mode:
                os.fchmod(descriptor, mode)

    def inherit_folder(made: Entry) -> None:
        """Give a new folder the group and mode of its parent. Raises OSError."""
        folder, parent = made.directory.folder(made.name), made.directory.status()
        if any(folder.names()):  # another folder was put in its place: it must not get these rights
            raise OSError(errno.ENOTEMPTY, "somebody has put another folder in its place", str(made))
        with contextlib.suppress(PermissionError):
            os.fchown(folder.fileno(), -1, parent.st_gid)
        with contextlib.suppress(PermissionError):
            os.fchmod(folder.fileno(), stat.S_IMODE(parent.st_mode))
