"""The wire breaks at any byte of a request or of its answer: still each document and each message arrives once.

A break is a cut (FIN) or a reset (RST), which both sides see. Many documents or messages share a world, each with a
break of its own. Of each exchange a sample of the bytes is broken, another one each time; with FILEDROP_MATRIX=full,
all of them.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support import promises
from support.backoffs import ONCE
from support.documents import invoice
from support.matrix import is_full
from support.wire import Break, Wire
from support.world import World

from filedrop import config
from filedrop.accesspoint import AccessPoint
from filedrop.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.matrix import Sample
    from support.wire import Way

    from filedrop.model.message import Message

SHARES = 16 if is_full() else 1  # of the bytes of each exchange, so that several processes can take them
# How many breaks share a world; a sample is of one world. No more messages than there are on a page.
UPLOADS, MESSAGES, LISTS, LISTS_ALONE = 40, 24, 12, 200
DIFFERENCE = 8  # bytes by which exchanges of a kind differ: there are numbers and links in them

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if is_full() else 120)]
matrix = pytest.mark.parametrize(
    ("how", "share"), [(how, share) for how in ("cut", "reset") for share in range(SHARES)]
)
either_dialect = pytest.mark.parametrize("quirks", [False, True], ids=["as documented", "as in the field"])


@matrix
@either_dialect
def test_an_upload(tmp_path: Path, sample: Sample, *, quirks: bool, how: str, share: int) -> None:
    """Wherever the upload of a document or the answer to it breaks, it is accepted once and arrives once."""
    line = "POST /outbox"
    quick = {"doubt": "1s", "retry": "{first: 10ms, longest: 20ms}", "rescan": "200ms"}
    for breaks in batches(sample, lengths(quirks)[line], how, share, UPLOADS):
        with wired_world(tmp_path, quirks=quirks, outbound=quick) as (world, wire):
            wire.next(line, *breaks)
            for number in range(len(breaks)):
                world.drop(f"invoice-{number}.xml", invoice(f"{number:04}"))
            world.settle(100, ends=("archive",))
            world.invariants()
            store = world.sandbox.store
            arrived = Counter(promises.meaning(store.content(message.msg_no)) for message in store.inbox("buyer"))
            assert arrived == Counter(map(promises.meaning, world.dropped.values()))
            assert world.accepted() == dict.fromkeys(world.dropped, 1)
            assert_broken(wire, breaks, lengths(quirks)[line])


@matrix
@pytest.mark.parametrize(
    ("line", "quirks"),
    [
        ("GET /messages/", False),
        ("POST /inbox/", False),
        ("GET /messages/", True),
        ("GET /blobs/", True),
        ("POST /inbox/", True),
    ],
    ids=["download", "mark read", "download in the field", "download from elsewhere", "mark read in the field"],
)
def test_a_message(tmp_path: Path, sample: Sample, *, line: str, quirks: bool, how: str, share: int) -> None:
    """Wherever the download or the mark-read of a message breaks, it is delivered once, and read."""
    # All at once: so none is broken at each of its three attempts, which would put it off for a minute.
    together = {"workers": str(MESSAGES)}
    for breaks in batches(sample, lengths(quirks)[line], how, share, MESSAGES):
        with wired_world(tmp_path, quirks=quirks, outbound=together) as (world, wire):
            wire.next(line, *breaks)
            for number in range(len(breaks)):
                world.receive(invoice(f"{number:04}"))
            world.settle(100)
            world.invariants()
            assert_broken(wire, breaks, lengths(quirks)[line])


@matrix
@either_dialect
def test_the_inbox(tmp_path: Path, sample: Sample, *, quirks: bool, how: str, share: int) -> None:
    """Wherever the list breaks that shows a message, the message is delivered once, and read."""
    line = "GET /inbox "
    for breaks in batches(sample, lengths(quirks)[line], how, share, LISTS):
        with wired_world(tmp_path, quirks=quirks) as (world, wire):
            for number, one in enumerate(breaks):
                wire.next(line, one)
                world.receive(invoice(f"{number:04}"))
                world.run_once()
                world.invariants()
            assert_broken(wire, breaks, lengths(quirks)[line])


@matrix
@either_dialect
@pytest.mark.parametrize("name", ["inbox", "outbox", "messages"])
def test_a_list(tmp_path: Path, sample: Sample, *, name: str, quirks: bool, how: str, share: int) -> None:
    """A list that breaks is an error, and never a shorter list: what isn't in a list is believed not to be there."""
    with wired_world(tmp_path, quirks=quirks, deliver_after=3600) as (world, wire):
        world.drop("invoice.xml", invoice("out"))
        world.run_once()
        world.receive(invoice("in"))
        account = config.parse(world.config_text()).accounts["main"]
        access_point = AccessPoint(account, stopped=threading.Event(), retry=ONCE)

        def ask() -> list[Message]:
            return list(access_point.messages() if name == "messages" else getattr(access_point, name)().messages)

        whole = ask()
        ends = wire.exchanges[-1].came
        for breaks in batches(sample, ends, how, share, LISTS_ALONE):
            for one in breaks:
                wire.next(f"GET /{name}", one)
                with suppress(Unavailable):
                    assert ask() == whole
            assert_broken(wire, breaks, ends)
        access_point.close()


@contextmanager
def wired_world(
    tmp_path: Path, *, quirks: bool, deliver_after: float = 0.0, outbound: dict[str, str] | None = None
) -> Iterator[tuple[World, Wire]]:
    """A world whose access point is at the other end of a wire; in the field, its documents are elsewhere."""
    oddities = ["document-elsewhere"] if quirks else []
    with (
        TemporaryDirectory(dir=tmp_path) as base,
        World(Path(base), quirks=quirks, oddities=oddities, deliver_after=deliver_after, outbound=outbound) as world,
        world.sandbox,
        Wire(world.sandbox.base_url) as wire,
    ):
        world.front.url = wire.url
        yield world, wire
    gc.collect()  # what errors hold on to, sockets too, would add up: waitress waits by select(2), for 1,024 at most


@cache
def lengths(quirks: bool) -> dict[str, dict[Way, int]]:  # noqa: FBT001 - a cache's key
    """How many bytes each exchange has in a world with one document and one message."""
    with TemporaryDirectory() as base, wired_world(Path(base), quirks=quirks) as (world, wire):
        world.receive(invoice("0000"))
        world.drop("invoice.xml", invoice("0000"))
        world.run_once()
    lines = ("POST /outbox", "GET /messages/", "GET /blobs/", "POST /inbox/", "GET /inbox ")
    return {
        line: exchange.came for line in lines for exchange in wire.exchanges[::-1] if exchange.line.startswith(line)
    }


def batches(sample: Sample, ends: dict[Way, int], how: str, share: int, at_once: int) -> Iterator[list[Break]]:
    """This share of all breaks of an exchange that is so long, so many at a time; or of a sample of them."""
    breaks = [Break(way, at, how) for way, end in ends.items() for at in range(end + 1)]
    drawn = sample(breaks[share::SHARES], at_once)
    for start in range(0, len(drawn), at_once):
        yield drawn[start : start + at_once]


def assert_broken(wire: Wire, breaks: list[Break], ends: dict[Way, int]) -> None:
    """All of these have happened, but for those beyond the end of an exchange that was shorter than it was measured."""
    assert all(missed.at > ends[missed.way] - DIFFERENCE for missed in set(breaks) - set(wire.broken()))
