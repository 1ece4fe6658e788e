"""An access point whose answers and lists have no end: what came of them is used, the rest is left, and it is told."""

from __future__ import annotations

import gzip
import itertools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from support.commands import ask
from support.documents import BUYER, INVOICE_ID, invoice
from support.faults import cut_after
from support.matrix import quick
from support.systems import stop_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
    from support.world import World

NOBODY = "0192:999999999"
A_FEW_MEGABYTES = 40_000_000
MEMORY = 150_000_000  # bytes of the daemon, of which it has half when it does nothing
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"
BLOCK = b"x" * 65536
ENDLESS = {
    "body": (HEAD + b"\r\n", BLOCK),
    "after a gzip's end": (HEAD + b"\r\n" + gzip.compress(b"<Invoice/>"), BLOCK),
    "a gzip's name": (HEAD + b"\r\n\x1f\x8b\x08\x08\0\0\0\0\0\0", BLOCK),
    "empty gzips": (HEAD + b"\r\n", gzip.compress(b"") * 1000),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + BLOCK + b"\r\n"),
    "about its chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
    "behind its chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: " + b"x" * 60_000 + b"\r\n"),
    "headers": (HEAD, b"X: " + b"x" * 60_000 + b"\r\n"),
    "announcements": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: " + b"x" * 60_000 + b"\r\n\r\n"),
}


class Endless:
    """An answer without an end; `said` are the bytes of each that were taken."""

    def __init__(self, head: bytes, block: bytes) -> None:
        self.said: list[int] = []
        self._head, self._block = head, block

    def __call__(self, exchange: Exchange) -> None:
        self.said.append(0)
        exchange.say(self._head)
        while True:
            exchange.say(self._block)
            self.said[-1] += len(self._block)


@pytest.mark.parametrize("kind", quick(ENDLESS, 3))
def test_answers(make_world: Callable[..., World], kind: str) -> None:
    """However an answer goes on without an end, no more than a few megabytes of it are taken; the others are heard."""
    world = make_world(inbound={"max_size": "8MB"}, outbound={"track": "100ms"})
    answers = [Endless(*ENDLESS[kind]) for _ in range(4)]
    odd, good = world.receive(invoice("in 1")), world.receive(invoice("in 2"))
    world.front.always(f"GET /messages/{odd}/", answers[0])
    for line, answer in zip(("POST /outbox", "GET /inbox", "GET /outbox"), answers[1:], strict=True):
        world.front.next(line, answer)
    world.drop("invoice.xml", invoice("out"))
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.stuck == {"acme": 1})
        world.until(lambda: [message.msg_no for message in world.sandbox.store.inbox("acme")] == [odd])
        world.until(lambda: world.places().get("invoice.xml", "").startswith("archive/"))
    assert [path.read_bytes() for path in world.delivered()] == [world.received[good]]
    assert world.accepted() == {"invoice.xml": 1}
    assert all(answer.said for answer in answers)
    assert max(itertools.chain(*(answer.said for answer in answers))) < A_FEW_MEGABYTES


def message(number: int, direction: str) -> str:
    header = f"<sender>{BUYER}</sender><receiver>{NOBODY}</receiver><document-id>{INVOICE_ID}</document-id>"
    data = f"<msg-no>{number}</msg-no><direction>{direction}</direction><received>2026-11-20T12:00:00Z</received>"
    return f"<message><message-meta-data>{data}<peppol-header>{header}</peppol-header></message-meta-data></message>"


def listed(name: str, numbers: Callable[[int], range]) -> Fault:
    """The list as it is, as the first page, with one for nobody; then pages of these numbers, each with a next one."""
    direction = "IN" if name == "inbox" else "OUT"

    def fault(exchange: Exchange) -> None:
        index = int(parse_qs(urlsplit(exchange.request.target).query).get("index", ["1"])[0])
        following = f"<navigation><next>/{name}?index={index + 1}</next></navigation>"
        if index == 1:
            found = re.findall(r"<message>.*?</message>", exchange.arrive().body.decode(), re.DOTALL)
            found.append(message(999, direction))
        else:
            found = [message(number, direction) for number in numbers(index)]
        kind = f"{name}-query-response"
        exchange.answer(200, f"<{kind}>{following}<messages>{''.join(found)}</messages></{kind}>")

    return fault


NUMBERS: dict[str, Callable[[int], range]] = {
    "on and on": lambda index: range(index * 1000, index * 1000 + 25),
    "the same again": lambda _index: range(1000, 1025),
    "in a circle": lambda index: range(1000 + index % 3 * 25, 1025 + index % 3 * 25),
    "falling": lambda index: range(10**9 - index * 25, 10**9 - index * 25 + 25),
    "nothing": lambda _index: range(0),
}


@pytest.mark.slow
@pytest.mark.parametrize("numbers", NUMBERS)
def test_an_inbox(world: World, numbers: str) -> None:
    """What was read of an inbox that doesn't end is delivered and marked read; `status` says what is wrong with it."""
    world.front.always("GET /inbox", listed("inbox", NUMBERS[numbers]))
    for number in range(3):
        world.receive(invoice(f"{number}"))
    with world.daemon() as daemon:
        world.until(lambda: len(world.delivered()) == len(world.received))
        world.until(lambda: not world.sandbox.store.inbox("acme"))
        world.until(lambda: "main: the list /inbox is incomplete: " in ask(world, "status").says)
        if sys.platform == "linux":
            assert highest_memory(daemon.pid) < MEMORY
        world.front.heal()
        world.until(lambda: "/inbox" not in ask(world, "status").says)
        world.stop(daemon)
    world.invariants()


@stop_signals
@pytest.mark.parametrize("name", quick(["inbox", "outbox"]))
def test_a_stop(make_world: Callable[..., World], name: str) -> None:
    """A stop isn't held up by a list that goes on and on."""
    world = make_world(deliver_after=3600)
    world.front.always(f"GET /{name}", listed(name, NUMBERS["on and on"]))
    world.drop("invoice.xml", invoice("1"))
    with world.daemon() as daemon:
        world.until(lambda: len(world.front.asked(f"GET /{name}")) > 100)
        world.stop(daemon)


def test_an_archive_in_doubt(make_world: Callable[..., World]) -> None:
    """Where the archive leads back, a look decides nothing: what is in doubt is neither sent again nor given up."""
    world = make_world(outbound={"doubt": "100ms", "retry": "{first: 100ms, longest: 200ms}"})
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", listed("messages", NUMBERS["the same again"]))
    world.drop("invoice.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: len([entry for entry in world.log() if entry["event"] == "errand.failed"]) > 2)
        assert world.places() == {"invoice.xml": "sending"}
        assert "lead back" in service.accounts[0].access_point.cut_short["messages"]
        world.front.heal()
        world.until(world.settled)
    world.invariants()
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize("name", ["outbox", "messages"])
def test_tracking(world: World, name: str) -> None:
    """Where outbox or archive lead back, what has been delivered is known all the same."""
    world.front.always(f"GET /{name}", listed(name, NUMBERS["the same again"]))
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    world.invariants()


def highest_memory(process: int) -> int:
    """In bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def test_the_archive_on_the_command_line(world: World) -> None:
    """`messages` shows what it could read of an archive that leads back, and then says so, with exit status 3."""
    world.front.always("GET /messages", listed("messages", NUMBERS["the same again"]))
    said = ask(world, "messages")
    assert said.status == 3
    assert re.search(r"1024 OUT .* 1000 OUT .* 999 OUT .*the pages of messages lead back", said.says)
