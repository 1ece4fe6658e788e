"""Answers that are odd on the wire: lengths, chunks, packings, pages and drips. Still everything arrives once."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import Front, cut_after, instead
from support.wire import Break, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Answer, Exchange, Fault
    from support.world import World

PAGE = b"<!DOCTYPE html><html><head><meta charset='utf-8'></head><body><h1>Maintenance</h1></body></html>"
XHTML = (
    b"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>Log in</title></head><body><h1>Hello</h1></body></html>"
)


def as_bytes(answer: Answer, body: bytes | None = None, **changes: object) -> bytes:
    """An answer as it goes on the wire; `changes` are headers, by names with `_` for `-`, or None for none."""
    body = answer.body if body is None else body
    headers = {name: value for name, value in answer.headers if name.lower() not in ("content-length", "connection")}
    headers |= {"Content-Length": len(body)}
    headers |= {name.title().replace("_", "-"): value for name, value in changes.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    return f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode("latin-1") + body


def said(odd: Callable[[Answer], bytes], *, then_cut: bool = True) -> Fault:
    """The access point has done what was asked, and says it so."""

    def fault(exchange: Exchange) -> None:
        exchange.say(odd(exchange.arrive()))
        if then_cut:
            exchange.cut()

    return fault


def endless(exchange: Exchange) -> None:
    """The access point has done what was asked, and its answer never ends."""
    exchange.say(as_bytes(exchange.arrive(), content_length=None))
    while True:
        exchange.say(b" " * 65536)


def chunked(body: bytes, last: bytes = b"0\r\n\r\n") -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body) + last


CHUNKED = {"content_length": None, "transfer_encoding": "chunked"}
ODD: dict[str, Fault] = {
    "less than it says": said(lambda answer: as_bytes(answer, content_length=len(answer.body) + 20)),
    "more than it says": said(lambda answer: as_bytes(answer, content_length=len(answer.body) - 20), then_cut=False),
    "no number for its length": said(lambda answer: as_bytes(answer, content_length="some")),
    "two lengths": said(lambda answer: as_bytes(answer, content_length=f"{len(answer.body)}, 7")),
    "no length": said(lambda answer: as_bytes(answer, content_length=None)),
    "chunks": said(lambda answer: as_bytes(answer, chunked(answer.body), **CHUNKED)),
    "no last chunk": said(lambda answer: as_bytes(answer, chunked(answer.body, b""), **CHUNKED)),
    "no chunks where it says so": said(lambda answer: as_bytes(answer, **CHUNKED)),
    "a chunk too long": said(lambda answer: as_bytes(answer, b"ffffffffffffffff\r\n" + answer.body, **CHUNKED)),
    "packed": said(lambda answer: as_bytes(answer, gzip.compress(answer.body), content_encoding="gzip")),
    "packed and cut": said(lambda answer: as_bytes(answer, gzip.compress(answer.body)[:-9], content_encoding="gzip")),
    "packed where it says so only": said(lambda answer: as_bytes(answer, content_encoding="gzip"), then_cut=False),
    "a bogus encoding": said(lambda answer: as_bytes(answer, content_encoding="UTF-8"), then_cut=False),
    "twice": said(lambda answer: as_bytes(answer) * 2, then_cut=False),
    "endless": endless,
}


def about(number: int, line: str) -> Callable[..., bool]:
    return lambda request: request.line == line and f"<cbc:ID>{number:04}</cbc:ID>".encode() in request.body


def test_uploads(either_world: World) -> None:
    """However oddly it is said that a document was accepted, it is accepted once, and known by its number."""
    world = either_world
    for number, (name, odd) in enumerate(ODD.items()):
        world.front.next(about(number, "POST /outbox"), odd)
        world.drop(f"{name}.xml", invoice(f"{number:04}"))
    world.settle(50)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert len(world.front.asked("POST /outbox")) == len(ODD)


UNTAKEABLE = {"more than it says": ODD["more than it says"], "endless": endless}


def test_downloads(world: World) -> None:
    """However oddly a document comes, it is delivered once and whole."""
    for number, odd in enumerate(odd for name, odd in ODD.items() if name not in UNTAKEABLE):
        world.front.next(f"GET /messages/{world.receive(invoice(f'{number:04}'))}/", odd)
    world.settle(50)
    world.invariants()


@pytest.mark.parametrize("odd", UNTAKEABLE)
def test_a_download_that_looks_whole(make_world: Callable[..., World], odd: str) -> None:
    """What is cut by the length that it says, or never ends, is no document: it stays unread, and leaves nothing."""
    world = make_world(inbound={"max_size": "1MB"})
    number = world.receive(invoice("1"))
    world.front.always(f"GET /messages/{number}/", ODD[odd])
    with world.service() as service:
        world.until(lambda: service.accounts[0].way_in.summary.stuck == {"acme": 1})
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]
    assert [path.name for path in world.inbound.iterdir()] == [".filedrop"]


@pytest.mark.parametrize("odd", ODD)
def test_lists_and_marks(world: World, odd: str) -> None:
    """However oddly the inbox is listed, and a message marked as read, it is delivered once, and read."""
    world.receive(invoice("1"))
    world.front.next("GET /inbox", ODD[odd])
    world.front.next("POST /inbox/", ODD[odd])
    world.settle(50)
    world.invariants()


@pytest.mark.parametrize("page", [PAGE, XHTML], ids=["HTML", "XHTML"])
def test_a_page_for_a_document(world: World, page: bytes) -> None:
    """A web page in the place of a document, though it be good XML, isn't delivered, and the message stays unread."""
    odd, good = world.receive(invoice("1")), world.receive(invoice("2"))
    world.front.always(f"GET /messages/{odd}/", instead(200, page))
    with world.service() as service:
        world.until(lambda: service.accounts[0].way_in.summary.stuck == {"acme": 1})
        world.until(lambda: [message.msg_no for message in world.sandbox.store.inbox("acme")] == [odd])
    assert [path.read_bytes() for path in world.delivered()] == [world.received[good]]


@pytest.mark.parametrize("page", [PAGE, XHTML], ids=["HTML", "XHTML"])
def test_a_page_for_a_document_in_doubt(make_world: Callable[..., World], page: bytes) -> None:
    """A web page in the place of what may be the document in doubt says nothing: the document is not sent again."""
    world = make_world(deliver_after=3600, outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages/1/", instead(200, page))
    world.drop("invoice.xml", invoice("1"))
    with world.service() as service:
        world.until(service.accounts[0].looks.needs_a_person)
    world.front.heal()
    world.settle(ends=("sent",))
    world.invariants()
    assert len(world.front.asked("POST /outbox")) == 1


def test_a_page_for_a_mark(world: World) -> None:
    """A web page in answer to a mark-read doesn't make it one: what the inbox still shows is marked again."""
    world.front.next("POST /inbox/", instead(200, XHTML))
    world.receive(invoice("1"))
    world.settle()
    world.invariants()


def test_drips(make_world: Callable[..., World]) -> None:
    """An answer that comes a byte every 100 ms isn't waited for to its end; still everything arrives once."""
    world = make_world(read_timeout="500ms")
    with world.sandbox, Wire(world.sandbox.base_url) as wire:
        world.front.url = wire.url
        lines = ("POST /outbox", "GET /inbox", "GET /messages/1/", "POST /inbox/1/", "GET /outbox")
        for line in lines:
            wire.next(line, Break("answer", 20, "drip", 0.1))
        world.receive(invoice("in"))
        world.drop("invoice.xml", invoice("out"))
        world.settle(50)
        world.invariants()
        assert len(wire.broken()) == len(lines)


def test_pauses(world: World) -> None:
    """A pause that is shorter than `read_timeout` is none, wherever it is made."""
    with world.sandbox, Wire(world.sandbox.base_url) as wire:
        world.front.url = wire.url
        pauses = [Break(way, at, "delay", 0.1) for way in ("request", "answer") for at in (0, 1, 150, 400, 900)]
        wire.next("POST /outbox", *pauses)
        for number in range(len(pauses)):
            world.drop(f"invoice-{number}.xml", invoice(str(number)))
        world.settle()
        world.invariants()
        assert sum(exchange.line.startswith("POST /outbox") for exchange in wire.exchanges) == len(pauses)


def test_anothers_answer(make_world: Callable[..., World]) -> None:
    """An answer that comes twice isn't also the next document's: a message number belongs to one document for ever."""
    world, heard = make_world(deliver_after=3600, outbound={"doubt": "100ms"}), list[bytes]()

    def remembered(exchange: Exchange) -> None:
        heard.append(as_bytes(exchange.arrive()))
        exchange.say(heard[0])

    world.front.next("POST /outbox", remembered, lambda exchange: exchange.say(heard[0]))
    for number in range(2):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
        world.settle(ends=("sent",))
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(world: World, status: int) -> None:
    """No document, login or mark goes where a redirect points to; here everything arrives once, when it is over."""
    elsewhere = Front(world.sandbox.app, date=world.front.date)
    for line in ("POST /outbox", "GET /inbox", "POST /inbox/"):
        world.front.next(line, lambda exchange: moved(exchange, status, elsewhere.url))
    world.drop("invoice.xml", invoice("out"))
    world.receive(invoice("in"))
    world.settle(50)
    world.invariants()
    assert elsewhere.requests == []
    elsewhere.close()


def moved(exchange: Exchange, status: int, url: str) -> None:
    exchange.answer(status, "", [("Location", url + exchange.request.target)])
