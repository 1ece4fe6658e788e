"""An old system uses the same names for each export, and writes the next one as soon as the last document is gone.

Each invoice is sent once, and the export never stands still, whatever filedrop just does and wherever it is killed.
"""

from __future__ import annotations

import itertools
import os
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.exports import NAME, Exports, number_of, pdf_of, pdfs_in
from support.faults import instead
from support.matrix import is_full
from support.plug import tapped
from support.prepared import Steps
from support.several import take_over
from support.stepping import Clock, Life
from support.world import World

from filedrop.files import Directory, FileStamp, discard_seen, finish_move, on_their_way

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.matrix import Sample

pytestmark = pytest.mark.timeout(3600 if is_full() else 300)
READY = ".ready"
EXPORTS = 4
MANY = 100  # looks, within which all is sent


class Killed(BaseException):
    """filedrop was killed: nothing that it does after that has any effect."""


def go_on(steps: Steps, exports: Exports, *, is_held: bool = False) -> None:
    """Let the system export, and filedrop send, until all is sent; where it `is_held`, until all is claimed."""
    outbound = steps.world.outbound
    for _ in range(MANY):
        exports.take_all()
        if is_held and exports.written == exports.number and not any(outbound.glob("*.[xX][mM][lL]")):
            return
        if len(steps.sent()) >= exports.number:
            break
        steps.go_on(150)
    steps.go_on(3600)


def check(steps: Steps, exports: Exports, *, has_pdf: bool, may_be_left: frozenset[str] = frozenset()) -> None:
    """Each export was written and sent once, with its own PDF, and nothing else is left."""
    assert exports.written == exports.number, f"the export stands still\n{steps.world}"
    sent = {number_of(content): pdfs_in(content) for content in steps.sent()}
    assert len(steps.sent()) == exports.number, steps.world
    assert sent == {number: [pdf_of(number)] * has_pdf for number in range(1, exports.number + 1)}
    assert {name for name in steps.lying() if not name.startswith("archive/")} <= may_be_left


@pytest.mark.parametrize("waits_for", [NAME, f"{NAME}{READY}"])
@pytest.mark.parametrize("by_rename", [False, True], ids=["in place", "by rename"])
@pytest.mark.parametrize("has_pdf", [False, True], ids=["alone", "with PDF"])
def test_next_export_at_each_moment(
    make_world: Callable[..., World], clock: Clock, waits_for: str, *, by_rename: bool, has_pdf: bool
) -> None:
    """The next export's files are written as early as can be: none of them is taken for one of the last export."""
    steps = Steps(make_world, clock, ready_suffix=READY, prepare='{pdf: "%s"}' % ("require" if has_pdf else "off"))
    exports = Exports(
        steps.world.outbound, EXPORTS, ready=READY, has_pdf=has_pdf, by_rename=by_rename, waits_for=waits_for
    )
    with tapped(lambda _: exports.take_all()):
        go_on(steps, exports)
    check(steps, exports, has_pdf=has_pdf)


@pytest.mark.parametrize("mode", ["embed", "require"])
@pytest.mark.parametrize("step", ["take_all", "take_step"])
def test_next_pdf_at_each_moment(make_world: Callable[..., World], clock: Clock, mode: str, step: str) -> None:
    """Without ready files: the next PDF goes into its own invoice, whether its document is there at once or later."""
    steps = Steps(make_world, clock, prepare=f"{{pdf: {mode}}}")
    exports = Exports(steps.world.outbound, EXPORTS, has_pdf=True)
    with tapped(lambda _: getattr(exports, step)()):
        go_on(steps, exports)
    check(steps, exports, has_pdf=True)


def killed_at(
    base: Path, nth: int, ready: str, *, hold: bool, is_upper: bool = False, is_taken_over: bool = False
) -> int:
    """Kill filedrop before its n-th change, while a system exports on. Returns how many changes there were.

    `hold`: what is claimed stays in `sending/` until then, so that the next export gets a number there. It is started
    again, or another one with a journal of its own takes over the folders.
    """

    def act(_: str) -> None:
        if len(tap.steps) >= nth:
            raise Killed
        exports.take_all()

    with ExitStack() as stack:
        keys = {"prepare": "{pdf: embed}"} | ({"ready_suffix": ready} if ready else {})
        steps = Steps(lambda **changes: stack.enter_context(World(base, **changes)), Clock(), **keys)
        exports = Exports(steps.world.outbound, 3, ready=ready, has_pdf=True, is_upper=is_upper)
        held = steps.world.outbound / "HOLD"
        if hold:
            held.touch()
        with suppress(Killed), tapped(act) as tap:
            go_on(steps, exports, is_held=hold)
        if is_taken_over:
            steps.life.drop()
            steps.world.state = base / "other state"
            take_over(steps.world)
            steps.life = Life(steps.world, steps.clock)
            steps.begin()
        else:
            steps.again()
        held.unlink(missing_ok=True)
        go_on(steps, exports)
        # What a kill has left behind its document: another filedrop doesn't know whose it is (docs/design/record.md).
        ends = (".pdf", ".posted", READY) if is_taken_over else ()
        left = frozenset(name for name in steps.lying() if name.endswith(ends))
        check(steps, exports, has_pdf=True, may_be_left=left)
        for path in steps.world.outbound.glob("archive/*/*.[xX][mM][lL]"):
            pdf = path.with_suffix(".PDF" if is_upper else ".pdf")
            if not is_taken_over or pdf.exists():
                assert pdf.read_bytes() == pdf_of(number_of(path.read_bytes()))
        return len(tap.steps)


@pytest.mark.parametrize("ready", ["", READY], ids=["settled", "with ready files"])
@pytest.mark.parametrize("hold", [False, True], ids=["sent", "held"])
def test_killed_at_each_moment(tmp_path: Path, sample: Sample, ready: str, *, hold: bool) -> None:
    """Killed before any of its changes: each export is sent once, with its own PDF, and the next one goes on."""
    number = killed_at(tmp_path / "whole", sys.maxsize, ready, hold=hold)
    for nth in sample(range(1, number + 1), 2):
        killed_at(tmp_path / f"{nth}", nth, ready, hold=hold)


@pytest.mark.parametrize("hold", [False, True], ids=["sent", "held"])
def test_killed_with_names_in_upper_case(tmp_path: Path, sample: Sample, *, hold: bool) -> None:
    """The same with EXPORT.XML, EXPORT.PDF and EXPORT.XML.READY."""
    number = killed_at(tmp_path / "whole", sys.maxsize, READY, hold=hold, is_upper=True)
    for nth in sample(range(1, number + 1), 1):
        killed_at(tmp_path / f"{nth}", nth, READY, hold=hold, is_upper=True)


@pytest.mark.parametrize("hold", [False, True], ids=["sent", "held"])
def test_killed_and_taken_over(tmp_path: Path, sample: Sample, *, hold: bool) -> None:
    """Another filedrop goes on where the first was killed: it sends each export once, with its own PDF."""
    number = killed_at(tmp_path / "whole", sys.maxsize, READY, hold=hold)
    for nth in sample(range(1, number + 1), 1):
        killed_at(tmp_path / f"{nth}", nth, READY, hold=hold, is_taken_over=True)


def killed_on_the_way_back(base: Path, nth: int, ready: str) -> int:
    """Kill filedrop before its n-th change after a claimed file was changed, while a system exports on."""

    def act(_: str) -> None:
        if len(tap.steps) >= nth:
            raise Killed
        exports.take_all()

    with ExitStack() as stack:
        keys = {"prepare": "{pdf: embed}"} | ({"ready_suffix": ready} if ready else {})
        steps = Steps(lambda **changes: stack.enter_context(World(base, **changes)), Clock(), **keys)
        exports = Exports(steps.world.outbound, 3, ready=ready, has_pdf=True)
        held, claimed = steps.world.outbound / "HOLD", steps.world.outbound / "sending" / NAME
        held.touch()
        exports.take_all()
        steps.go_on(150)
        claimed.write_bytes(invoice("1", note="Changed in sending/"))
        held.unlink()
        with suppress(Killed), tapped(act) as tap:
            go_on(steps, exports)
        steps.again()
        go_on(steps, exports)
        check(steps, exports, has_pdf=True, may_be_left=frozenset({f"export-2.xml{READY}"}))  # it speaks for none
        assert sum(b"Changed in sending/" in content for content in steps.sent()) == 1
        return len(tap.steps)


@pytest.mark.parametrize("ready", ["", READY], ids=["settled", "with ready files"])
def test_killed_on_the_way_back(tmp_path: Path, sample: Sample, ready: str) -> None:
    """A file that goes back to outbound/ goes back with its PDF, and can be claimed, wherever filedrop is killed."""
    number = killed_on_the_way_back(tmp_path / "whole", sys.maxsize, ready)
    for nth in sample(range(1, number + 1), 2):
        killed_on_the_way_back(tmp_path / f"{nth}", nth, ready)


def retry_killed(base: Path, nth: int, mode: str) -> int:
    """Kill `filedrop retry` before its n-th change, and run it again."""

    def act(_: str) -> None:
        if len(tap.steps) >= nth:
            raise Killed

    with ExitStack() as stack:
        steps = Steps(
            lambda **changes: stack.enter_context(World(base, **changes)), Clock(), prepare=f"{{pdf: {mode}}}"
        )
        steps.drop("a.xml", invoice("1"), instead(422, "no"), pdf=pdf_of(1))
        with suppress(Killed), tapped(act) as tap:
            assert steps.world.filedrop("retry", "acme", "a.xml").returncode == 0
        steps.go_on(600)
        if (steps.world.outbound / "failed" / "a.xml").exists():
            assert steps.world.filedrop("retry", "acme", "a.xml").returncode == 0
        steps.again()
        steps.go_on(3600)
        assert [pdfs_in(content) for content in steps.sent()] == [[pdf_of(1)]]
        left = {name for name in steps.lying() if not name.startswith("archive/")}
        assert left <= {"failed/a.xml.posted"}  # which is reported
        return len(tap.steps)


@pytest.mark.parametrize("mode", ["embed", "require"])
def test_retry_killed(tmp_path: Path, sample: Sample, mode: str) -> None:
    """A document that is retried has its PDF, and is sent once, wherever `filedrop retry` was killed."""
    number = retry_killed(tmp_path / "whole", sys.maxsize, mode)
    for nth in sample(range(1, number + 1), 2):
        retry_killed(tmp_path / f"{nth}", nth, mode)


@pytest.fixture
def folder(tmp_path: Path) -> Directory:
    return Directory.open(tmp_path)


def test_discard_seen(folder: Directory, tmp_path: Path) -> None:
    """The file that was seen is removed; one that has its name by then stays, also if it is as large."""
    entry, path = folder / "a.ready", tmp_path / "a.ready"
    path.write_bytes(b"1")
    seen = FileStamp.of(entry.lstat())
    discard_seen(entry, seen)
    discard_seen(entry, seen)
    assert not list(tmp_path.iterdir())
    path.write_bytes(b"2")
    os.utime(path, ns=(seen.modified + 1, seen.modified + 1))
    discard_seen(entry, seen)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.ready": b"2"}


@pytest.mark.parametrize("by_links", [False, True])
def test_discard_seen_while_others_write(
    folder: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_links: bool
) -> None:
    """Killed at any moment, with a newer file written at any moment: the newer one is there in the end, and alone."""
    if by_links:
        monkeypatch.setattr("filedrop.files.system._renameat2", None)
    path = tmp_path / "a.ready"

    def discard(written_at: int, killed_at: int) -> bool:
        """Remove it, while another is written before the n-th call. Returns whether that was written."""

        def act(_: str) -> None:
            if len(tap.steps) == written_at:
                path.unlink(missing_ok=True)
                path.write_bytes(b"new")
            if len(tap.steps) >= killed_at:
                raise Killed

        path.write_bytes(b"old")
        seen = FileStamp.of((folder / "a.ready").lstat())
        with suppress(Killed), tapped(act) as tap:
            discard_seen(folder / "a.ready", seen)
        return written_at <= min(killed_at, len(tap.steps))

    for written_at, killed_at in itertools.product(range(1, 8), repeat=2):
        is_written = discard(written_at, killed_at)
        for moving, name in on_their_way(folder):
            finish_move(moving, [name, "second"])
        lying = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
        assert lying.pop("second", b"old") == b"old"
        assert (lying.pop("a.ready", b"") == b"new") or not is_written
        assert not lying
        for each in tmp_path.iterdir():
            each.unlink()
