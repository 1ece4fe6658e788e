"""filedrop at work on a share, with people and another client on it, and what goes wrong there meanwhile.

    with mounted(kind, base) as share, World(base) as world, Drive(world, share, seed) as drive:
        for misfortune in MISFORTUNES:
            drive.meet(misfortune)
        assert not drive.problems()

A misfortune drops documents, has something happen, and waits until all are delivered. In the end, `problems` counts
each document, on a mount that has cached nothing: none is lost, sent twice, hidden, or waiting while `status` says that
everything is working.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from support import promises
from support.documents import BUYER, SELLER, invoice, with_attachments
from support.guest import INSIDE
from support.matrix import is_full
from support.strace import strace
from support.world import whole_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.shares import Share
    from support.world import World

PATIENCE = (180.0 if is_full() else 90.0) * (5 if INSIDE in os.environ else 1)  # s: bounds only what has gone wrong
DOCUMENTS, MESSAGES = (102, 50) if is_full() else (15, 5)  # where nothing else happens
FEW, FEW_MESSAGES = 6, 2  # else
AWAY = 60.0 if is_full() else 5.0  # seconds that a server is away
PAUSE = 1.0  # seconds between the halves of a document that is written in place
KILLS = 8 if is_full() else 2
CALLS = ("rename", "renameat2", "link", "unlink", "fsync", "openat", "mkdir", "write")
PDF = b"%PDF-1.4\n%%EOF\n"


class Drive:
    """A daemon on a share, which has made its folders. It is killed at the end. `found` is what was wrong so far."""

    def __init__(self, world: World, share: Share, seed: int) -> None:
        self.world = world
        self.share = share
        self.chance = random.Random(seed)  # noqa: S311 - it is to be repeated, not secret
        self.here = world.outbound
        self.there = share.there / "acme" / "outbound"
        self.found: list[str] = []
        self._daemon: subprocess.Popen[bytes] | None = None
        self._number = 0

    def __enter__(self) -> Self:
        self.start()
        self.until((self.here / "failed").is_dir, "filedrop makes its folders")
        self.until(self.there.is_dir, "the other client sees the folders")
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def meet(self, misfortune: str) -> None:
        """Let this misfortune happen, and say how long it took."""
        began = time.monotonic()
        MISFORTUNES[misfortune](self)
        print(f"{self.share.kind.name}: {misfortune}, {time.monotonic() - began:.0f} s")  # noqa: T201 - pytest shows it

    def start(self, *under: str) -> None:
        """Start the daemon; `under` as `World.daemon` has it."""
        with (self.world.base / "daemon.log").open("ab") as log:
            command = [*under, *self.world._command("run")]
            self._daemon = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.world.base)

    def kill(self) -> None:
        """Kill the daemon, if it runs."""
        if self._daemon:
            with suppress(ProcessLookupError):
                self._daemon.kill()
            self._daemon.wait()

    def has_ended(self) -> bool:
        """Whether the daemon has ended or was killed."""
        return self._daemon is None or self._daemon.poll() is not None

    def count_logged(self, event: str) -> int:
        """How often the daemon has logged this event so far."""
        return sum(f'"{event}"' in line for line in whole_lines(self.world.base / "daemon.log"))

    def status(self) -> str:
        """What `filedrop status --check` prints; "" where it can't."""
        with suppress(OSError):
            return self.world.filedrop("status", "--check").stdout.strip()
        return ""

    def document(self) -> bytes:
        """A new document of some ten kilobytes; every other one is small, and has an attachment."""
        self._number += 1
        number = f"S-{self._number}"
        attachment = ("a.pdf", "application/pdf", PDF)
        return invoice(number, size=9000) if self._number % 2 else with_attachments(invoice(number), attachment)

    def drop(self, count: int = FEW) -> list[str]:
        """Drop so many documents: slowly and in place, by rename, and slowly by the other client. Returns the names."""
        contents = {f"invoice-{self._number}.xml": self.document() for _ in range(count)}
        self.world.dropped |= contents
        names = list(contents)
        slow = [(self.here, name) for name in names[::3]] + [(self.there, name) for name in names[2::3]]
        writers = [
            threading.Thread(target=_write_slowly, args=(folder / name, contents[name])) for folder, name in slow
        ]
        for writer in writers:
            writer.start()
        for name in names[1::3]:
            put(self.here / name, contents[name])
        for writer in writers:
            writer.join()
        return names

    def receive(self, count: int = FEW_MESSAGES) -> None:
        """Have so many messages in the inbox, each with two attachments."""
        for _ in range(count):
            self._number += 1
            attachments = [(f"{name}.pdf", "application/pdf", PDF + name.encode()) for name in ("one", "two")]
            plain = invoice(f"R-{self._number}", sender=BUYER, receiver=SELLER)
            self.world.receive(with_attachments(plain, *attachments))

    def sent(self) -> set[str]:
        """The documents that the access point has accepted, as `meaning` shows them."""
        store = self.world.sandbox.store
        return {promises.meaning(store.content(message.msg_no)) for message in store.sent("acme")}

    def settle(self, what: str) -> None:
        """Wait until each document is delivered and each message is received. If not, that is a problem."""
        deadline = time.monotonic() + PATIENCE
        while not self.is_settled():
            if self.has_ended():
                self.found.append(f"{what}: the daemon has ended; {self._rest()}")
                return
            if time.monotonic() > deadline:
                self.found.append(f"{what}: not all was delivered within {PATIENCE:.0f} s; {self._rest()}")
                return
            time.sleep(0.5)

    def is_settled(self) -> bool:
        """Whether each document is delivered and each message is received, as far as the share can be read."""
        sent = self.sent()  # first: reading the share all the time would keep filedrop from working
        if not all(promises.meaning(content) in sent for content in self.world.dropped.values()):
            return False
        with suppress(OSError):
            return self.world.settled()
        return False

    def problems(self) -> list[str]:
        """What is wrong with the documents, as sentences. The daemon is stopped, and the share is mounted again."""
        if self._daemon and not self.has_ended():
            deadline = time.monotonic() + PATIENCE
            while "Everything is working" not in (status := self.status()):  # the daemon may just have been started
                if time.monotonic() > deadline:
                    self.found.append(f"at the end, status says: {status}")
                    break
                time.sleep(0.5)
            self.world.stop(self._daemon)
        self.share.remount()
        return [*self.found, *promises.broken(self.world), *promises.leftovers(self.world)]

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition holds, also while the share raises errors. AssertionError shows the rest."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError):
                if condition():
                    return
            assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}; {self._rest()}"
            time.sleep(0.1)

    def _rest(self) -> str:
        """What isn't delivered, what `status` says of it, and the end of the log."""
        unread = len(self.world.sandbox.store.inbox("acme"))
        log = "\n".join(whole_lines(self.world.base / "daemon.log")[-6:])
        try:
            places = {name: self.world.places().get(name, "nowhere") for name in self.world.dropped}
        except OSError as error:
            return f"the share can't be read: {error}; {unread} unread\n{log}"
        rest = [f"{name} in {place}" for name, place in places.items() if not place.startswith("archive")]
        return f"{len(rest)} documents: {', '.join(rest[:6])}; {unread} unread; status: {self.status()}\n{log}"


def put(path: Path, content: bytes) -> None:
    """Write a file under another name, and rename it."""
    draft = path.with_name(f"{path.name}.tmp")

    def write() -> None:
        draft.write_bytes(content)
        draft.rename(path)

    _patiently(write)


def _write_slowly(path: Path, content: bytes) -> None:
    def write() -> None:
        with path.open("wb", buffering=0) as file:
            file.write(content[:4000])
            time.sleep(PAUSE)
            file.write(content[4000:])

    _patiently(write)


def _patiently(call: Callable[[], object]) -> None:
    """What a person does at an error of a share: wait a second, and try it again."""
    for _ in range(60):
        with suppress(OSError):
            call()
            return
        time.sleep(1)
    call()


def nothing(drive: Drive) -> None:
    """Documents are dropped in three ways, and others are received."""
    drive.drop(DOCUMENTS)
    drive.receive(MESSAGES)
    drive.settle("nothing happens")


def taken_names(drive: Drive) -> None:
    """Documents have the names of others that are already sent, and get numbers."""
    names = drive.drop()
    drive.settle("before the names are taken")
    for name in names:
        content = drive.world.dropped[f"another {name}"] = drive.document()
        put(drive.there / name, content)
    drive.settle("taken names")


def held(drive: Drive) -> None:
    """The other client holds the folder: what is dropped from then on isn't sent until it removes HOLD."""
    began = time.monotonic()
    _patiently((drive.there / "HOLD").touch)
    drive.until(lambda: any(path.name == "HOLD" for path in drive.here.iterdir()), "filedrop's mount lists HOLD")
    if (seconds := time.monotonic() - began) > drive.share.kind.delay:
        drive.found.append(f"HOLD is listed after {seconds:.0f} s, not {drive.share.kind.delay:.0f}")
    before = len(drive.world.sandbox.store.sent("acme"))
    drive.drop()
    drive.until(lambda: len(list((drive.here / "sending").glob("*.xml"))) == FEW, "the documents are claimed")
    time.sleep(2)  # what is sent nevertheless would be sent by now
    if sent := len(drive.world.sandbox.store.sent("acme")) - before:
        drive.found.append(f"{sent} documents were sent although another client's HOLD was there")
    _patiently((drive.there / "HOLD").unlink)
    drive.settle("HOLD is removed")


def moved_by_two(drive: Drive) -> None:
    """The other client moves files away at the moment when filedrop claims them: each is sent or taken, none both."""
    taken_to = drive.there.parent / "taken"
    taken_to.mkdir()
    contents = {f"wanted-{drive._number}.xml": drive.document() for _ in range(DOCUMENTS)}
    for name, content in contents.items():
        put(drive.here / name, content)
    drive.until(lambda: not all((drive.here / name).exists() for name in contents), "the first of them is claimed")
    taken = set()
    for name in reversed(contents):
        with suppress(FileNotFoundError):  # filedrop was first
            (drive.there / name).rename(taken_to / name)
            taken.add(name)
    drive.world.dropped |= {name: content for name, content in contents.items() if name not in taken}
    drive.settle(f"{len(taken)} of {len(contents)} files were taken")
    sent = drive.sent()
    for name in taken:
        if promises.meaning(contents[name]) in sent:
            drive.found.append(f"{name} was sent, and the other client has it")
        if not (taken_to / name).exists():
            drive.found.append(f"{name} was taken, and is lost")
        (taken_to / name).unlink(missing_ok=True)
    taken_to.rmdir()


def replaced(drive: Drive) -> None:
    """The other client replaces files by rename at the moment when filedrop claims them: the newest are sent."""
    versions = {f"export-{drive._number}.xml": [drive.document()] for _ in range(DOCUMENTS)}
    for name, contents in versions.items():
        put(drive.there / name, contents[0])
    drive.until(lambda: not all((drive.there / name).exists() for name in versions), "the first of them is claimed")
    for name, contents in versions.items():
        if (drive.there / name).exists():
            contents.append(drive.document())
            put(drive.there / name, contents[-1])
    drive.world.dropped |= {name: contents[-1] for name, contents in versions.items()}
    drive.settle("files were replaced")
    sent = drive.sent()
    for name, contents in versions.items():  # what was claimed before it was replaced is a document of its own
        if len(contents) > 1 and promises.meaning(contents[0]) in sent:
            drive.world.dropped[f"former {name}"] = contents[0]


def killed(drive: Drive) -> None:
    """The daemon is killed at drawn calls by which it makes, moves and writes files, and is started again."""
    drive.kill()
    for _ in range(KILLS):
        drive.drop()
        drive.receive()
        call, number = drive.chance.choice(CALLS), drive.chance.randint(1, 12)
        drive.start(*strace(drive.world.base / "trace", "-e", f"inject={call}:signal=KILL:when={number}"))
        drive.until(lambda: drive.has_ended() or drive.is_settled(), f"killed at {call} {number}, or all is delivered")
        drive.kill()
    drive.start()
    drive.settle("the daemon was killed")


def mount_killed(drive: Drive) -> None:
    """Filedrop's mount dies while filedrop works, and comes back."""
    if drive.share.kind.forgets and drive.share.kind.server is None:
        return
    drive.drop()
    drive.receive()
    before = drive.count_logged("folder.unavailable")
    drive.share.kill_mount()
    drive.until(lambda: drive.count_logged("folder.unavailable") > before, "filedrop reports it")
    drive.share.mount()
    drive.settle("the mount was killed")


def server_away(drive: Drive) -> None:
    """The server doesn't answer for a while, with documents on their way."""
    drive.drop()
    drive.receive()
    drive.share.stop_server()
    time.sleep(AWAY)
    drive.share.start_server()
    drive.drop()
    drive.settle("the server was away")


def full(drive: Drive) -> None:
    """The disk is full, and then isn't."""
    if not drive.share.kind.fills:
        return
    drive.kill()
    drive.drop()
    drive.receive()
    drive.share.fill()
    drive.start()
    drive.until(lambda: "Everything is working" not in (drive.status() or "Everything is working"), "status reports it")
    drive.share.make_room()
    drive.settle("the disk was full")


MISFORTUNES = {
    misfortune.__name__: misfortune
    for misfortune in (nothing, taken_names, held, moved_by_two, replaced, killed, mount_killed, server_away, full)
}
