"""A share whose calls fail now and then: before they have done anything, or after they have done all of it."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pytest
from support.plug import path_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Call(NamedTuple):
    """A call of the system: its name, and the paths that it is about."""

    name: str
    paths: tuple[Path, ...]


class Fate(NamedTuple):
    """What becomes of a call: this error, though it may have been `done`."""

    code: int
    done: bool = False


class Flaky:
    """While its `with` lasts, `judge` is asked of each call about something below `root`: None lets it pass.

    Not of those of the thread that has it so, which is the test's. For Linux.
    """

    def __init__(self, root: Path, judge: Callable[[Call], Fate | None]) -> None:
        self._root = root
        self._judge = judge
        self._lock = threading.Lock()
        self._mine = threading.get_ident()
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        from filedrop.files import system  # noqa: PLC0415 - whoever only collects tests needs none

        for name in ("open", "stat", "unlink", "mkdir", "rmdir"):
            self._put(os, name, lambda args, keys: [_opened(args[0], keys.get("dir_fd"))])
        for name in ("rename", "replace"):
            self._put(
                os,
                name,
                lambda args, keys: [
                    path_of(args[n], keys.get(f"{end}_dir_fd")) for n, end in enumerate(("src", "dst"))
                ],
            )
        for name in ("fsync", "write", "scandir"):
            self._put(os, name, lambda args, _: [_opened(args[0])])
        self._put(system, "_renameat2", lambda args, _: [path_of(args[n + 1], args[n]) for n in (0, 2)], by_errno=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def _put(self, where: Any, name: str, about: Callable[[Any, Any], list[Path]], *, by_errno: bool = False) -> None:
        call = getattr(where, name)

        def judged(*args: Any, **keys: Any) -> Any:
            if threading.get_ident() == self._mine:
                return call(*args, **keys)
            paths = tuple(about(args, keys))
            fate = None
            if any(path.is_relative_to(self._root) for path in paths):
                with self._lock:
                    fate = self._judge(Call(name.removeprefix("_"), paths))
            if fate is None:
                return call(*args, **keys)
            result = call(*args, **keys) if fate.done else 0
            if name == "open" and fate.done:
                os.close(result)
            if not by_errno:
                raise OSError(fate.code, os.strerror(fate.code), str(paths[0]))
            if result == 0:
                ctypes.set_errno(fate.code)
            return -1

        self._patch.setattr(where, name, judged)


def _opened(what: Any, dir_fd: int | None = None) -> Path:
    """What a descriptor is open to, or what a name means."""
    return path_of("", what) if isinstance(what, int) else path_of(what, dir_fd)
