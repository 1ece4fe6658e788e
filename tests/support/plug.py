"""Pulling the plug: a filedrop in a process of its own that dies at its n-th side effect.

A side effect is whatever outlives the process: a name made, moved or removed, a file or folder brought to the disk, a
commit of the journal, a request. The process counts them and ends, at once and for good, just before the n-th; with
`forgets`, the disk then loses what was never brought to it, as a real one may when its power is cut: names that no
`fsync` of their folder followed, contents that no `fsync` of their file followed. The journal's commits are kept.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import shutil
import stat
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from support.world import World

PULLED = 77  # the exit status of a process whose plug was pulled
_PATIENCE = 90.0  # seconds until a process that doesn't end has failed the test, as of a world (support.world)

# A process that has imported everything and forks: as quick as a call, and as final as a process.
if sys.platform == "win32":
    _fork = multiprocessing.get_context("spawn")
else:
    _fork = multiprocessing.get_context("forkserver")
    heavy = ["filedrop.daemon.daemon", "filedrop.config", "filedrop.accesspoint.transport", "pytest"]
    _fork.set_forkserver_preload([*heavy, "lxml.etree", "stdnum.no.mva", "structlog"])


def live(
    world: World,
    *,
    finished: int,
    received: int,
    pull_at: int = 0,
    forgets: bool = False,
    by_links: bool = False,
) -> list[str] | None:
    """Run filedrop in a process of its own until so many documents are finished and received, and nothing is left.

    `by_links`: the file system can't rename without replacing, as NFS.

    Returns the side effects it had, in order; None when its plug was pulled before the `pull_at`-th.
    """
    ours, theirs = _fork.Pipe(duplex=False)
    keys = {"finished": finished, "received": received, "pull_at": pull_at, "forgets": forgets}
    keys["by_links"] = by_links
    process = _fork.Process(target=_live, args=(theirs, str(world.base), world.config_text()), kwargs=keys)
    process.start()
    theirs.close()
    try:
        process.join(_PATIENCE)
        if process.is_alive():
            raise AssertionError(f"it hasn't come to an end in {_PATIENCE:.0f} s\n{world}")
    finally:  # whatever ends the test, too
        process.kill()
    if process.exitcode == PULLED:
        return None
    assert process.exitcode == 0, f"it ended with {process.exitcode}\n{world}"
    steps: list[str] = ours.recv()
    return steps


def _live(
    pipe: Connection,
    base: str,
    text: str,
    *,
    finished: int,
    received: int,
    pull_at: int,
    forgets: bool,
    by_links: bool,
) -> None:
    import structlog  # noqa: PLC0415 - only the child needs it

    from filedrop import config, files  # noqa: PLC0415 - likewise
    from filedrop.daemon.daemon import Daemon  # noqa: PLC0415 - likewise
    from filedrop.process.lock import locked_state  # noqa: PLC0415 - likewise

    if by_links:
        files.system._renameat2 = None
    settings = config.parse(text)
    stopped = threading.Event()
    disk = Disk(Path(base) / "lost") if forgets else None

    def pull(_what: str) -> None:
        if len(tap.steps) == pull_at:
            if disk is not None:
                disk.forget()
            os._exit(PULLED)

    tap = Tap(pull, disk)
    tap.put_in()
    log = structlog.wrap_logger(
        structlog.WriteLogger(Path(base, "log").open("a", buffering=1)),  # noqa: SIM115 - it is the process's until its end
        processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info,
                    structlog.processors.JSONRenderer(default=str)],
    )  # fmt: skip
    outbound = settings.companies["acme"].outbound[0]
    inbound = settings.companies["acme"].inbound
    with locked_state(settings.state) as journal:
        service = Daemon(settings, journal, stopped=stopped, log=log, watch=False)
        service.start()
        while not stopped.wait(0.005):
            # os.walk goes by a folder that has just got its name; glob doesn't.
            walk = [entry for end in ("archive", "failed") for entry in os.walk(outbound / end)]
            ends = [name for _, _, names in walk for name in names if name.endswith(".xml")]
            there = (
                len(ends) >= finished
                and sum(name.endswith(".xml") for *_, names in os.walk(inbound) for name in names) >= received
            )
            service.tick()
            if there and service.is_done():
                break
        service.close()
    pipe.send(tap.steps)


class Tap:
    """Where all side effects of a process pass by: `before` is told what comes, and the n-th of all is `steps[n - 1]`.

    What `before` raises comes instead of the side effect; what it does itself passes by untold. `thread`: only what
    this thread does. `disk` is told of what has happened.
    """

    def __init__(self, before: Callable[[str], object], disk: Disk | None = None, *, thread: int | None = None) -> None:
        self.disk = disk
        self.steps: list[str] = []
        self._before = before
        self._thread = thread
        self._teller: int | None = None
        self._lock = threading.RLock()
        self._patch = pytest.MonkeyPatch()

    def put_in(self) -> None:
        """From now on, side effects pass by here."""
        from filedrop import files  # noqa: PLC0415 - a child needs it, and whoever taps
        from filedrop.accesspoint import AccessPoint  # noqa: PLC0415 - likewise
        from filedrop.journal.sqlite import Sqlite  # noqa: PLC0415 - likewise

        for name in ("rename", "link", "replace", "unlink", "remove", "mkdir", "fsync"):
            places = sys.platform == "win32" and name == "rename"  # which doesn't overwrite there
            self._patch.setattr(os, name, self._counted("place" if places else name, getattr(os, name)))
        self._patch.setattr(os, "open", self._counted_open(os.open))
        if sys.platform != "win32" and files.system._renameat2 is not None:
            self._patch.setattr(files.system, "_renameat2", self._counted("place", files.system._renameat2))
        for verb in ("send", "download", "mark_read"):
            self._patch.setattr(AccessPoint, verb, self._counted(verb, getattr(AccessPoint, verb)))

        say = Sqlite._say

        def told(engine: Sqlite, word: str) -> None:
            if word == "COMMIT" and self._tells():
                self._step("commit")
            say(engine, word)

        self._patch.setattr(Sqlite, "_say", told)

    def take_out(self) -> None:
        """From now on, they don't."""
        self._patch.undo()

    def _tells(self) -> bool:
        me = threading.get_ident()
        return self._teller != me and self._thread in (None, me)

    def _step(self, what: str) -> None:
        with self._lock:
            self.steps.append(what)
            self._teller = threading.get_ident()
            try:
                self._before(what)
            finally:
                self._teller = None

    def _counted(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **keys: Any) -> Any:
            if not self._tells():
                return call(*args, **keys)
            with self._lock:
                self._step(what)
                if self.disk is not None and what not in ("send", "download", "mark_read"):
                    return self.disk.does(what, call, args, keys)
            return call(*args, **keys)

        return counted

    def _counted_open(self, call: Callable[..., int]) -> Callable[..., int]:
        def counted(path: Any, flags: int, *args: Any, **keys: Any) -> int:
            if not (flags & os.O_CREAT and self._tells()):
                return call(path, flags, *args, **keys)
            with self._lock:
                self._step("create")
                descriptor = call(path, flags, *args, **keys)
                if self.disk is not None:
                    self.disk.created(path_of(path, **keys), descriptor)
                return descriptor

        return counted


@contextlib.contextmanager
def tapped(before: Callable[[str], object]) -> Iterator[Tap]:
    """A tap for what this thread does, while this lasts."""
    tap = Tap(before, thread=threading.get_ident())
    tap.put_in()
    try:
        yield tap
    finally:
        tap.take_out()


@dataclass
class _Change:
    """A change of names that isn't on the disk yet: how it is undone, and the folder whose sync brings it there.

    Of a rename from one folder to another that is the new one: real file systems write both sides at once.
    """

    undo: Callable[[], object]
    folder: Path


class Disk:
    """Remembers what was never brought to the disk, and forgets it. `attic` keeps what was removed."""

    def __init__(self, attic: Path) -> None:
        self._attic = attic
        self._changes: list[_Change] = []
        self._unwritten: dict[int, Path] = {}
        self._numbers = itertools.count()
        self._link, self._rename, self._unlink, self._rmdir = os.link, os.rename, os.unlink, os.rmdir
        attic.mkdir(exist_ok=True)

    def does(self, what: str, call: Callable[..., Any], args: Sequence[Any], keys: dict[str, Any]) -> Any:
        """Make a call, and remember how to undo it."""
        match what:
            case "fsync":
                result = call(*args, **keys)
                self._synced(args[0])
                return result
            case "place" if isinstance(args[0], int):
                source, target = (path_of(args[index + 1], args[index]) for index in (0, 2))
            case "place" | "rename" | "replace":
                source, target = path_of(args[0], keys.get("src_dir_fd")), path_of(args[1], keys.get("dst_dir_fd"))
            case "mkdir":
                result, made = call(*args, **keys), path_of(args[0], **keys)
                self._changes.append(_Change(lambda: self._rmdir(made), made.parent))
                return result
            case "link":
                result, made = call(*args, **keys), path_of(args[1], keys.get("dst_dir_fd"))
                self._changes.append(_Change(lambda: self._unlink(made), made.parent))
                return result
            case _:
                return self._unlinked(path_of(args[0], **keys), lambda: call(*args, **keys))
        kept = self._keep(target) if what == "replace" else None
        result = call(*args, **keys)
        if not result:
            self._changes.append(_Change(lambda: self._back(source, target, kept), target.parent))
        return result

    def created(self, path: Path, descriptor: int) -> None:
        """A new file, empty yet."""
        self._unwritten[os.fstat(descriptor).st_ino] = path
        self._changes.append(_Change(lambda: self._unlink(path), path.parent))

    def forget(self) -> None:
        """Lose what was never brought to the disk, the latest first."""
        # A folder or a file may just be moved by another thread: os.walk goes by it, rglob doesn't.
        for path in [Path(folder, name) for folder, _, names in os.walk(self._attic.parent) for name in names]:
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_ino in self._unwritten:
                    os.truncate(path, 0)
        for change in reversed(self._changes):
            try:
                change.undo()
            except OSError:  # what it is about was itself undone
                continue
        shutil.rmtree(self._attic)

    def _synced(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISDIR(status.st_mode):
            self._unwritten.pop(status.st_ino, None)
            return
        self._changes = [change for change in self._changes if change.folder.stat().st_ino != status.st_ino]

    def _unlinked(self, path: Path, call: Callable[[], Any]) -> Any:
        kept = self._keep(path)
        result = call()
        if kept is not None:
            self._changes.append(_Change(lambda: self._rename(kept, path), path.parent))
        return result

    def _keep(self, path: Path) -> Path | None:
        if not path.is_file():
            return None
        kept = self._attic / str(next(self._numbers))
        self._link(path, kept)
        return kept

    def _back(self, source: Path, target: Path, kept: Path | None) -> None:
        self._rename(target, source)
        if kept is not None:
            self._rename(kept, target)


def path_of(name: str | bytes | os.PathLike[str], dir_fd: int | None = None) -> Path:
    """What a name means, in the folder of this descriptor (Linux)."""
    folder = Path() if dir_fd is None else Path(os.readlink(f"/proc/self/fd/{dir_fd}"))  # noqa: PTH115 - a descriptor
    return folder / os.fsdecode(name)
