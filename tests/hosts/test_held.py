"""A host stands still before a call, is replaced, and the call is carried out late: files, rows, requests.

    FILEDROP_HELD=100 pytest tests/hosts/test_held.py

for so many points; FILEDROP_MATRIX=full holds each mutating call of a host. FILEDROP_TEST_SEED=N chooses them. Each
point has one of the successor's acts: it goes on, or the accounting systems also drop the same names again, and these
files wait or are on the wire when the late call is made.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from support.faults import Slow
from support.held import Held, Watched, hold, points, threads
from support.hosts import PREPARES, RECEIVERS, SharedTree
from support.postgres import programs
from support.prepared import STATED
from support.strace import missing

from filedrop.daemon.hosting import REPLACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.held import Point
    from support.matrix import Sample
    from support.postgres import Servers

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

NUMBER = int(os.environ.get("FILEDROP_HELD", "3"))
ON_THE_WIRE = "same names, on the wire"
ACTS = ("goes on", "same names, held", ON_THE_WIRE)
TAKEOVER = 3.0  # seconds
NAMED = "invoice"
EACH = 2  # documents of each account


@pytest.fixture
def tree(servers: Servers, tmp_path: Path) -> Iterator[SharedTree]:
    server = servers[next(iter(programs()))]
    address = server.address(server.database())
    with SharedTree(tmp_path, [address] * 2, takeover=TAKEOVER) as tree:
        yield tree


class Story:
    """Two hosts, of which `a` serves all until it stands still. `prepares`: the documents get other ids."""

    def __init__(self, tree: SharedTree, *, prepares: bool) -> None:
        self.tree = tree
        self.trace = tree.base / "trace"
        self._prepares = prepares
        self._start("b")
        tree.until(lambda: tree.are_served("b"), what="b serves all")

    def _start(self, host: str) -> None:
        if self._prepares:
            self.tree.start(host, RECEIVERS, instead=PREPARES)
        else:
            self.tree.start(host)

    def drop(self) -> None:
        """Drop documents of the same names again."""
        self.tree.drop(EACH, named=NAMED, states=STATED if self._prepares else "")

    def begin(self) -> int:
        """Have a new process of `a` serve all, and all its threads run. Returns its id."""
        tree = self.tree
        assert tree.drain("b")
        self._start("a")
        tree.until(self._serves, what="a serves all")
        assert tree.resume("b")
        self.drop()
        self.settle()
        return tree.daemons["a"].pid

    def _serves(self) -> bool:
        """Whether `a` serves all. It is started again where the database took too long, as a service manager does."""
        if self.tree.daemons["a"].poll() is not None:
            self._start("a")
        return self.tree.are_served("a")

    def settle(self) -> None:
        """Wait until all is delivered and archived, and take it."""
        self.tree.until(self.tree.is_settled, 300, what="all is delivered and archived")
        self.tree.take()

    def dry_run(self) -> list[Point]:
        """The points of `a`."""
        process = self.begin()
        kinds = threads(process)
        watched = [thread for thread, kind in kinds.items() if kind != "python"]  # that one does the chores
        with Watched(self.trace, watched):
            self.drop()
            self.settle()
        self.tree.stop("a")
        found = [
            point
            for point, call in points(self.trace, kinds)
            if not self._prepares or point.kind == "validate" or ".posted" in call.said
        ]  # of prepared documents, only what others have not
        return [point for point in found if point.kind != "hosting" or point.number == 1]

    def strike(self, point: Point, act: str) -> str:
        """Hold `a` at a point, and see that all is well. Returns the call that was held, "" if there was none."""
        tree, process = self.tree, self.begin()
        held = hold(process, point, self.trace, self.drop, tree.is_settled)
        if held is None:
            self.settle()
            tree.stop("a")
            return ""
        tree.until(lambda: tree.are_served("b"), what=f"b serves all after {held.call}")
        with self._acting(held, act):
            held.carry_out()
            held.go_on()
            assert tree.daemons.pop("a").wait() == REPLACED, tree.log_of("a")[-3000:]
        if act == ON_THE_WIRE and held.is_a_move_after_sending:  # docs/hosts.md, Limits: the other document was moved
            tree.until(lambda: set(tree.dropped) <= set(tree.delivered()), what="all is delivered")
            tree.until(lambda: not list(tree.root.glob("c*/outbound/sending/*.xml")), what="all was sent")
            tree.take(sent=True)
        self.settle()
        assert not tree.wrong(), (act, held.call)
        assert not tree.unlike(), (act, held.call)
        return held.call

    @contextmanager
    def _acting(self, held: Held, act: str) -> Iterator[None]:
        """The successor's acts before the late call, and their end after it.

        An upload is late while its document is in doubt: docs/hosts.md, Limits.
        """
        tree = self.tree
        if held.is_an_upload:
            yield
            return
        self.settle()
        if act == "same names, held":
            holds = [tree.root / f"c{nth}" / "outbound" / "HOLD" for nth in range(len(tree.names))]
            for path in holds:
                path.touch()
            self.drop()
            yield
            for path in holds:
                path.unlink()
        elif act == ON_THE_WIRE:
            slow = [Slow() for _ in range(EACH * len(tree.names))]
            for fault in slow:
                tree.front.next("POST /outbox", fault)
            self.drop()
            self.tree.until(lambda: all(fault.came.is_set() for fault in slow))
            yield
            for fault in slow:
                fault.release.set()
        else:
            yield


@pytest.mark.slow
@pytest.mark.timeout(0)  # a full run takes hours; each wait has an end
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("prepares", [False, True], ids=["as dropped", "prepared"])
def test_late_calls(
    tree: SharedTree, sample: Sample, record_property: Callable[[str, object], None], *, prepares: bool
) -> None:
    """Whatever a host still does late, each document is sent, delivered and filed once, with its own sidecar."""
    story = Story(tree, prepares=prepares)
    matrix = [(point, act) for point in story.dry_run() for act in ACTS]
    drawn = sample(matrix, NUMBER)
    held = []
    for point, act in drawn:
        call = story.strike(point, act)
        held += [f"{point}, {act}: {call}"] if call else []
        record_property("held", held[-1] if call else f"{point}: never reached")
        print(f"{point}, {act}: {call or 'never reached'}")  # noqa: T201 - which points a failed run had before
    assert held
