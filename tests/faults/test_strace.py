"""The real filedrop under strace: killed just before any of its calls that change the world, or told an error by them.

What such a call is, and how one of several threads is struck, says `support.strace`. Each test counts the calls in a
dry run and strikes at a sample of them, each time in a new world; FILEDROP_MATRIX=full strikes at every one. After
each, one `filedrop run --once`, by itself, settles everything.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from support import promises
from support.documents import BUYER, SELLER, invoice
from support.matrix import is_full
from support.prepared import BY_RULE, PDF, PREPARE, WITH_PDFS, posted, stated
from support.stepping import Clock, Life
from support.strace import Place, calls, ended, missing, places, strace
from support.world import World

from filedrop.inbound.answers import LIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from support.matrix import Sample
    from support.strace import Call

    Prepare = Callable[[World], None]

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"{missing()}: nothing is killed or failed at its calls"),
    pytest.mark.slow,
    pytest.mark.timeout(3600 if is_full() else 600),  # each process in it has a limit of its own
]
SHARES = 12 if is_full() else 1  # of each matrix, so that several processes can take them
KILLED = (0, -getattr(signal, "SIGKILL", 9))  # 0: this time, no thread has come there; Windows has no such signal
ENDS = ("sent", "archive", "failed")  # `run --once` doesn't wait for delivery
NOBODY = "nobody.xml"  # a document that says nowhere who receives it
ERRORS = {
    "fsync": ["EIO"], "fdatasync": ["EIO"], "rename": ["EIO"], "renameat2": ["EIO"], "write": ["ENOSPC", "EIO"],
    "pwrite64": ["ENOSPC", "EIO"], "openat": ["EMFILE"], "unlink": ["EACCES"], "mkdir": ["ENOSPC"],
    "connect": ["EHOSTUNREACH"], "sendto": ["ETIMEDOUT"],
}  # fmt: skip # After a send's ECONNRESET, urllib3 waits for an answer: without a real reset, for the whole time-out.


def documents(world: World) -> None:
    """Documents to be sent, and one that fails, in folders that filedrop has served before."""
    world.run_once()
    _drop(world)


def messages(world: World) -> None:
    """Messages to be received, in folders that filedrop has served before."""
    world.run_once()
    for number in range(2):
        world.receive(invoice(f"in {number}"))


def first_start(world: World) -> None:
    """Both, where filedrop has never been; what it makes is to have the rights of what was made for it.

    All that is received is to get one name, in a folder that isn't there yet.
    """
    for path in (world.root, world.root / "acme", world.outbound):
        path.chmod(0o770)
    _drop(world)
    for number in range(2):
        world.receive(invoice("in", note=f"{number}"))


def prepared(world: World, pdf: bytes | None = None) -> None:
    """Documents that get other ids before they are posted, in folders that filedrop has served before."""
    world.run_once()
    for number in range(2):
        world.drop(f"invoice-{number}.xml", stated(f"out {number}"), pdf=pdf)


def with_pdfs(world: World) -> None:
    """The same documents, each with its PDF."""
    prepared(world, PDF)


def answers(world: World) -> None:
    """An answer to a received document that was decided on and is still to be sent, and a document that is dropped."""
    clock = Clock()
    world.receive(invoice("in answered", sender=BUYER, receiver=SELLER))
    life = Life(world, clock)
    life.go_on(10)
    (path,) = world.delivered()
    for moved in (path, path.with_name(f"{path.name}.json")):
        moved.rename(world.inbound / "accepted" / moved.name)
    (served,) = life.service.accounts[0].answers
    life.serve(served)
    clock.pass_on(LIES)
    life.serve(served)
    (answer,) = life.journal.answers.owed("acme")
    world.dropped[answer.file] = answer.content
    life.drop()
    world.drop(NOBODY, invoice("out nobody", receiver=None))


def _drop(world: World) -> None:
    for number in range(2):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
    world.drop(NOBODY, invoice("out nobody", receiver=None))


INBOUND = {first_start: {"name": '"{sender}/{number}"'}, answers: {"answers": "move"}}
WAYS = (documents, prepared, with_pdfs, messages, first_start, *((answers,) if is_full() else ()))
any_way = pytest.mark.parametrize(("prepare", "share"), [(way, share) for share in range(SHARES) for way in WAYS])


@pytest.mark.parametrize("journal", [True, False], ids=["writing the journal", "at all else"])
@any_way
def test_killed(tmp_path: Path, sample: Sample, prepare: Prepare, share: int, *, journal: bool) -> None:
    """A daemon that is killed just before a call loses nothing, does nothing twice and leaves nothing behind."""
    with new_world(tmp_path, prepare) as world:
        found = places(world, live(world))
        assert not list(unkept(world))
    chosen = [place for place, call in found.items() if call.changes and (place.name == "pwrite64") == journal]

    def kill(world: World, place: Place) -> None:
        live(world, *place.struck(world, "signal=KILL"))

    strike(tmp_path, prepare, sample(of_share(share, chosen), 1), kill)


@any_way
def test_an_error(tmp_path: Path, sample: Sample, prepare: Prepare, share: int) -> None:
    """A call that fails, once or from then on, is said in a sentence; and when the fault is gone, all is done."""
    with new_world(tmp_path, prepare) as world:
        found = places(world, once(world))
        assert not list(unkept(world))
    faults = [
        (place, error, lasting)
        for place, call in found.items()
        for error in ERRORS.get(place.name, [])
        for lasting in (False, True)
        if (call.changes or place.path)  # what a start opens of libraries aside
        and (lasting or place.name != "pwrite64")  # a disk that is full stays so for a while
    ]

    def fail(world: World, fault: tuple[Place, str, bool]) -> None:
        place, error, lasting = fault
        once(world, *place.struck(world, f"error={error}", lasting=lasting))

    strike(tmp_path, prepare, sample(of_share(share, faults), 1), fail)


@pytest.mark.parametrize("prepare", [documents, prepared, messages])
@pytest.mark.parametrize("name", ["pwrite64", "fdatasync"])
def test_a_journal_that_takes_nothing(tmp_path: Path, prepare: Prepare, name: str) -> None:
    """While the journal can't be written, nothing is posted and nothing is marked read."""

    def fail(world: World, place: Place) -> None:
        once(world, *place.struck(world, f"error={ERRORS[name][0]}", lasting=True))
        assert not world.front.asked("POST")

    strike(tmp_path, prepare, [Place(name, "state/journal.sqlite-wal", 1)], fail)


def test_a_folder_that_can_not_be_listed(tmp_path: Path) -> None:
    """`run --once` goes by a folder that it may not list, and says so."""

    def fail(world: World, place: Place) -> None:
        assert "outbound can't be listed: Permission denied" in said(
            world, *place.struck(world, "error=EACCES", lasting=True)
        )

    strike(tmp_path, documents, [Place("openat", "root/acme/outbound", 1)], fail)


def test_claimed_files_that_can_not_be_put_away(tmp_path: Path) -> None:
    """`run --once` comes to its end while nothing more can be opened beside claimed files, and says why.

    A file that waits and can't be opened: tests/outbound/test_pipeline.py.
    """

    def fail(world: World, place: Place) -> None:
        assert "files can't be moved or written here: Too many open files" in said(
            world, *place.struck(world, "error=EMFILE", lasting=True)
        )

    strike(tmp_path, documents, [Place("openat", "root/acme/outbound/sending", 6)], fail)


def test_a_marker_that_was_not_brought_to_the_disk(tmp_path: Path) -> None:
    """The journal knows a folder only when its marker is on the disk, also one that a killed daemon had renamed in."""
    with new_world(tmp_path, first_start) as world:
        inbound = Place("fsync", "root/acme/inbound", 1)
        live(world, *inbound.struck(world, "signal=KILL"))
        after = once(world)
        brought = next(call for call in after if call.name == inbound.name and str(world.inbound) in call.paths)
        begun = next(number for number, call in enumerate(after) if str(world.inbound) in call.paths)
        of_its_thread = [call.name for call in after[begun:] if call.thread == brought.thread]
        assert of_its_thread.index("fsync") < of_its_thread.index("fdatasync")
        assert not list(unkept(world))


def of_share(share: int, marks: Sequence[Any]) -> list[Any]:
    """This share of the marks: by what they are, because each share has a dry run of its own."""
    return [mark for mark in marks if crc32(str(mark).encode()) % SHARES == share]


def live(world: World, *struck: str) -> list[Call]:
    """Run a daemon under strace until it is killed, or all is done and it is stopped; its calls."""
    trace = world.base / "trace"
    with world.daemon(under=strace(trace, *struck)) as daemon:
        world.until(lambda: daemon.poll() is not None or world.settled(), what="its end, or everything settles")
        daemon.terminate()
        assert daemon.wait() in KILLED
    world.until(lambda: ended(trace, daemon.pid), what="strace has ended, too")
    return calls(trace)


def once(world: World, *struck: str) -> list[Call]:
    """Let `run --once` come to its end under strace; its calls."""
    said(world, *struck)
    return calls(world.base / "trace")


def said(world: World, *struck: str) -> str:
    """What `run --once` says under strace, which may be about faults, but in sentences."""
    # Of the calls that aren't traced, strace is not told. (With this, strace 6.1 loses signals.)
    done = world.process("run", "--once", under=strace(world.base / "trace", "--seccomp-bpf", *struck))
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def strike(tmp_path: Path, prepare: Prepare, marks: Sequence[Any], how: Callable[[World, Any], None]) -> None:
    """Strike at each mark in turn, in a new world each time. AssertionError tells after which a promise wasn't kept."""
    problems = []
    for mark in marks:
        with new_world(tmp_path, prepare) as world:
            try:
                how(world, mark)
                broken = list(unkept(world))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                broken = [str(error)]
            if broken:
                problems.append("\n".join([f"== {mark}", *broken, str(world)]))
    assert not problems, f"{len(problems)} of {len(marks)}:\n\n" + "\n\n".join(problems)


@contextmanager
def new_world(tmp_path: Path, prepare: Prepare) -> Iterator[World]:
    """A world, prepared; its folder is gone in the end, because a matrix makes hundreds."""
    base = tmp_path / "world"
    base.mkdir()
    outbound = {"workers": "1", "doubt": "200ms", "track": "20ms"}
    keys: dict[str, Any] = {"outbound": outbound, "inbound": INBOUND.get(prepare)}
    if prepare in (prepared, with_pdfs):
        prepares = PREPARE if prepare is prepared else WITH_PDFS
        keys = {"outbound": outbound | prepares, "more": BY_RULE, "posted": posted}
    with World(base, **keys) as world:
        prepare(world)
        yield world
    shutil.rmtree(base)


def unkept(world: World) -> Iterator[str]:
    """What isn't as promised after one `run --once`."""
    done = world.process("run", "--once")
    if done.returncode not in (0, 1) or not world.settled(ENDS):
        yield f"`run --once` ({done.returncode}) hasn't settled everything: {done.stdout}{done.stderr}"
    yield from promises.broken(world)
    yield from promises.leftovers(world)
    if world.accepted() != dict.fromkeys(world.dropped.keys() - {NOBODY}, 1):
        yield "not every document was accepted once"
    if NOBODY in world.dropped and world.error(NOBODY) != "no-receiver":
        yield f"{NOBODY} failed as {world.error(NOBODY)}"
    hidden = {path.name for path in world.root.rglob(".*")} - {".filedrop"}
    if left := hidden | {path.name for path in world.state.iterdir()} - {
        "journal.sqlite",
        "journal.sqlite-closed",
        "lock",
        "daemon.json",
    }:
        yield f"left behind: {', '.join(sorted(left))}"
    for folder in world.root.rglob("*/"):
        if folder.stat().st_mode != world.root.stat().st_mode:
            yield f"{folder} hasn't the rights of the folder that it is in"
