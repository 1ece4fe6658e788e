"""The wire breaks at any byte of a request or of its answer: still each document and each message arrives once.

A break is a cut (FIN) or a reset (RST), which both sides see. Many documents or messages share a world, each with a
break of its own. Of each exchange some bytes are broken, evenly spaced from a first one that is another each time; with
FILEDROP_MATRIX=full, all of them.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support import promises
from support.documents import invoice
from support.wire import Break, Wire
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.wire import Way

FULL = os.environ.get("FILEDROP_MATRIX") == "full"
SEED = int(os.environ.get("FILEDROP_SEED", time.time_ns() % 10**6))
SHARES = 16 if FULL else 1  # of the bytes of each exchange, so that several processes can take them
UPLOADS, MESSAGES, LISTS = 40, 24, 12  # breaks in one world; of a sample, all. There are 25 messages on a page
DIFFERENCE = 8  # bytes by which exchanges of a kind differ: there are numbers and links in them

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if FULL else 120)]
matrix = pytest.mark.parametrize(
    ("how", "share"), [(how, share) for how in ("cut", "reset") for share in range(SHARES)]
)
either_dialect = pytest.mark.parametrize("quirks", [False, True], ids=["as documented", "as in the field"])


@matrix
@either_dialect
def test_an_upload(tmp_path: Path, quirks: bool, how: str, share: int) -> None:  # noqa: FBT001 - a parameter
    """Wherever the upload of a document or the answer to it breaks, it is accepted once and arrives once."""
    quick = {"doubt": "1s", "retry": "{first: 10ms, longest: 20ms}", "rescan": "200ms"}
    for breaks in batches("POST /outbox", UPLOADS, quirks, how, share):
        with broken_world(tmp_path, "POST /outbox", breaks, quirks=quirks, outbound=quick) as (world, wire):
            wire.next("POST /outbox", *breaks)
            for number in range(len(breaks)):
                world.drop(f"invoice-{number}.xml", invoice(f"{number:04}"))
            world.settle(100, ends=("archive",))
            store = world.sandbox.store
            arrived = Counter(promises.meaning(store.content(message.msg_no)) for message in store.inbox("buyer"))
            assert arrived == Counter(map(promises.meaning, world.dropped.values()))
            assert world.accepted() == dict.fromkeys(world.dropped, 1)


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
def test_a_message(tmp_path: Path, line: str, quirks: bool, how: str, share: int) -> None:  # noqa: FBT001 - a parameter
    """Wherever the download or the mark-read of a message breaks, it is delivered once, and read."""
    # All at once: so none is broken at each of its three attempts, which would put it off for a minute.
    together = {"workers": str(MESSAGES)}
    for breaks in batches(line, MESSAGES, quirks, how, share):
        with broken_world(tmp_path, line, breaks, quirks=quirks, outbound=together) as (world, wire):
            wire.next(line, *breaks)
            for number in range(len(breaks)):
                world.receive(invoice(f"{number:04}"))
            world.settle(100)


@matrix
@either_dialect
def test_the_inbox(tmp_path: Path, quirks: bool, how: str, share: int) -> None:  # noqa: FBT001 - a parameter
    """Wherever the list breaks that shows a message, the message is delivered once, and read."""
    for breaks in batches("GET /inbox ", LISTS, quirks, how, share):
        with broken_world(tmp_path, "GET /inbox ", breaks, quirks=quirks) as (world, wire):
            for number, one in enumerate(breaks):
                wire.next("GET /inbox ", one)
                world.receive(invoice(f"{number:04}"))
                world.run_once()
                world.invariants()


@contextmanager
def wired_world(
    tmp_path: Path, *, quirks: bool, outbound: dict[str, str] | None = None
) -> Iterator[tuple[World, Wire]]:
    """A world whose access point is at the other end of a wire."""
    with (
        TemporaryDirectory(dir=tmp_path) as base,
        World(Path(base), quirks=quirks, outbound=outbound) as world,
        world.sandbox,
        Wire(world.sandbox.base_url) as wire,
    ):
        world.front.url = wire.url
        yield world, wire


@contextmanager
def broken_world(
    tmp_path: Path, line: str, breaks: list[Break], *, quirks: bool, outbound: dict[str, str] | None = None
) -> Iterator[tuple[World, Wire]]:
    """Such a world; at its end all these breaks of `line` have happened, and all promises are kept."""
    with wired_world(tmp_path, quirks=quirks, outbound=outbound) as (world, wire):
        yield world, wire
        world.invariants()
        ends = lengths(line, quirks)
        for missed in set(breaks) - set(wire.broken()):
            assert missed.at > ends[missed.way] - DIFFERENCE


@cache
def lengths(line: str, quirks: bool) -> dict[Way, int]:  # noqa: FBT001 - a cache's key
    """How many bytes an exchange has in a world with one document and one message."""
    with TemporaryDirectory() as base, wired_world(Path(base), quirks=quirks) as (world, wire):
        world.receive(invoice("0000"))
        world.drop("invoice.xml", invoice("0000"))
        world.run_once()
    return next(exchange.passed for exchange in wire.exchanges if exchange.line.startswith(line))


def batches(line: str, at_once: int, quirks: bool, how: str, share: int) -> Iterator[list[Break]]:  # noqa: FBT001 - as it comes
    """This share of all breaks of an exchange, so many at a time; or of a sample of them."""
    breaks = [Break(way, at, how) for way, length in lengths(line, quirks).items() for at in range(length + 1)]
    if not FULL:
        print(f"FILEDROP_SEED={SEED}")  # noqa: T201 - pytest shows it where a test fails
        step = -(-len(breaks) // at_once)
        breaks = breaks[SEED % step :: step]
    breaks = breaks[share::SHARES]
    for start in range(0, len(breaks), at_once):
        yield breaks[start : start + at_once]
