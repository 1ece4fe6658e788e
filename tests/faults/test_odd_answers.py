"""Answers that are odd on the wire: lengths, chunks, packings, pages and drips. Still everything arrives once."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, ORDER_ID, SELLER, credit_note, envelope, invoice
from support.faults import EARLY_HINTS, Answer, Front, cut_after, instead, reset_before
from support.matrix import quick
from support.stepping import RULES, Clock, Life
from support.wire import Break, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
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


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\n\r\n"
WITH_A_BODY = as_bytes(Answer(102, [], b"HTTP/1.1 201 Created\r\nLocation: /outbox/99\r\n\r\n"))
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"
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
    "a chunk of less than nothing": said(lambda answer: as_bytes(answer, b"-5\r\n" + answer.body, **CHUNKED)),
    "packed": said(lambda answer: as_bytes(answer, gzip.compress(answer.body), content_encoding="gzip")),
    "packed and cut": said(lambda answer: as_bytes(answer, gzip.compress(answer.body)[:-9], content_encoding="gzip")),
    "packed where it says so only": said(lambda answer: as_bytes(answer, content_encoding="gzip"), then_cut=False),
    "a bogus encoding": said(lambda answer: as_bytes(answer, content_encoding="UTF-8"), then_cut=False),
    "twice": said(lambda answer: as_bytes(answer) * 2, then_cut=False),
    "announced": said(lambda answer: EARLY_HINTS + as_bytes(answer), then_cut=False),
    "announced in three ways": said(lambda answer: PROCESSING + EARLY_HINTS + CONTINUE + as_bytes(answer)),
    "announced, and no more": said(lambda _answer: EARLY_HINTS),
    "announced with a body": said(lambda answer: WITH_A_BODY + as_bytes(answer), then_cut=False),
    "in another protocol": said(lambda answer: SWITCHING + as_bytes(answer), then_cut=False),
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
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert len(world.front.asked("POST /outbox")) == len(ODD)


UNTAKEABLE = {name: ODD[name] for name in ("more than it says", "a chunk of less than nothing", "endless")}


def test_downloads(world: World) -> None:
    """However oddly a document comes, it is delivered once and whole."""
    for number, odd in enumerate(odd for name, odd in ODD.items() if name not in UNTAKEABLE):
        world.front.next(f"GET /messages/{world.receive(invoice(f'{number:04}'))}/", odd)
    world.settle()
    world.invariants()


@pytest.mark.parametrize("odd", UNTAKEABLE)
def test_a_download_that_looks_whole(make_world: Callable[..., World], odd: str) -> None:
    """What is cut by the length that it says, has none, or never ends, is no document: it is stuck, and unread."""
    world = make_world(inbound={"max_size": "1MB"})
    number = world.receive(invoice("1"))
    world.front.always(f"GET /messages/{number}/", ODD[odd])
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.stuck == {"acme": 1})
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]
    assert [path.name for path in world.inbound.iterdir()] == [".filedrop"]


@pytest.mark.parametrize("odd", quick(ODD, 7))
def test_lists_and_marks(world: World, odd: str) -> None:
    """However oddly the inbox is listed, and a message marked as read, it is delivered once, and read."""
    world.receive(invoice("1"))
    world.front.next("GET /inbox", ODD[odd])
    world.front.next("POST /inbox/", ODD[odd])
    world.settle()
    world.invariants()


@pytest.mark.parametrize("page", [PAGE, XHTML], ids=["HTML", "XHTML"])
def test_a_page_for_a_document(world: World, page: bytes) -> None:
    """A web page in the place of a document, though it be good XML, isn't delivered, and the message stays unread."""
    odd, good = world.receive(invoice("1")), world.receive(invoice("2"))
    world.front.always(f"GET /messages/{odd}/", instead(200, page))
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.stuck == {"acme": 1})
        world.until(lambda: [message.msg_no for message in world.sandbox.store.inbox("acme")] == [odd])
    assert [path.read_bytes() for path in world.delivered()] == [world.received[good]]


OTHERS = {
    "an error": b"<error><message>backend timeout</message></error>",
    "a fault": b"<s:Fault xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><faultstring>no</faultstring></s:Fault>",
    "a list": b'<inbox-query-response version="1.0"><messages/></inbox-query-response>',
    "another document": credit_note(),
    "its name only": b"<Invoice/>",
    "an empty envelope": envelope(b"?>", document_id=None),
    "an empty envelope that says which": envelope(b"?>"),
    "an error in an envelope": envelope(b"?><error><message>backend timeout</message></error>"),
    "an error before it in an envelope": envelope(invoice()).replace(b"<Invoice ", b"<error/><Invoice "),
}


@pytest.mark.parametrize("other", quick(OTHERS))
def test_something_else_for_a_document(world: World, other: str) -> None:
    """What isn't the document that the list names isn't delivered, however well-formed, and leaves nothing behind.

    The message stays unread until its own document comes, and what is shown of it says what came, and what to do.
    """
    number, good = world.receive(invoice("1")), world.receive(invoice("2"))
    world.front.always(f"GET /messages/{number}/", instead(200, OTHERS[other]))
    world.run_once()
    assert [path.read_bytes() for path in world.delivered()] == [world.received[good]]
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]
    (said,) = json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["messages"]
    assert said["msg_no"] == number
    assert 'listed as "Invoice"' in said["why"]
    assert f"filedrop read {number}" in said["why"]
    world.front.heal()
    assert world.filedrop("download", str(number), "--deliver", "--again").returncode == 0
    world.settle()
    world.invariants()


def test_command_for_a_document_among_several_accounts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are several accounts, the commands for something else in a document's place name its account."""
    second = f'accounts:\n  second: {{base_url: "{world.front.url}", username: me, password_env: NOTHING}}'
    text = world.config_text().replace("accounts:", second).replace("acme: {", "acme: {account: main, ")
    monkeypatch.setattr(world, "config_text", lambda: text)
    number = world.receive(invoice("1"))
    world.front.always(f"GET /messages/{number}/", instead(200, credit_note()))
    world.run_once()
    (said,) = json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["messages"]
    assert all(f"filedrop {word} --account main {number}" in said["why"] for word in ("download", "read"))


@pytest.mark.parametrize("other", quick([other for other in OTHERS if other != "another document"], 2))
def test_something_else_for_a_document_of_no_kind(world: World, other: str) -> None:
    """Where the list doesn't say what kind of document it is, one that doesn't say so itself isn't believed."""
    world.front.always("GET /inbox", listed_without_ids)
    number, good = world.receive(invoice("1")), world.receive(invoice("2"))
    world.front.always(f"GET /messages/{number}/", instead(200, OTHERS[other]))
    world.run_once()
    assert [path.read_bytes() for path in world.delivered()] == [world.received[good]]
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]


def listed_without_ids(exchange: Exchange) -> None:
    """The access point's list says of no message what kind of document it is."""
    answer = exchange.arrive()
    exchange.answer(answer.status, re.sub(rb"<document-id>[^<]*</document-id>", b"", answer.body))


NOT_XML = "urn:peppol:doctype:edifact:ORDERS##eb2b::0"
IN_BASE64 = b'?><BinaryContent xmlns="http://peppol.eu/xsd/ticc/envelope/1.0" mimeType="a/b">VU5C</BinaryContent>'
KINDS = {
    "in an envelope": (INVOICE_ID, envelope(invoice())),
    "in an envelope that says no id": (INVOICE_ID, envelope(invoice(), document_id=None)),
    "not XML, in an envelope": (ORDER_ID, envelope(IN_BASE64, document_id=ORDER_ID)),
    "no kind of XML at all": (NOT_XML, envelope(IN_BASE64, document_id=NOT_XML)),
    "with its scheme": (f"busdox-docid-qns::{INVOICE_ID}", invoice()),
    "another version": (f"{INVOICE_ID.rpartition('##')[0]}##urn:ours::2.3", invoice()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_documents(world: World, kind: str) -> None:
    """A document is delivered as what the list says that it is, with an envelope around it or without."""
    document_id, content = KINDS[kind]
    number = world.sandbox.store.receive(
        sender=BUYER, receiver=SELLER, document_id=document_id, process_id=BILLING_PROCESS, content=content
    )
    world.received[number] = content
    world.settle()
    world.invariants()


PAGES = {"HTML": PAGE, "XHTML": XHTML}


@pytest.mark.parametrize("page", quick([*PAGES.values(), *OTHERS.values()], 4), ids=[*PAGES, *OTHERS])
def test_a_page_for_a_document_in_doubt(make_world: Callable[..., World], page: bytes) -> None:
    """Something else in the place of what may be the document in doubt says nothing: the document isn't sent again."""
    world = make_world(deliver_after=3600, outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages/1/", instead(200, page))
    world.drop("invoice.xml", invoice("1"))
    with world.service() as service:
        world.until(service.accounts[0].follower.resolver.needs_a_person)
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
        world.settle()
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


@pytest.mark.parametrize(
    "announcement", quick([EARLY_HINTS, PROCESSING, EARLY_HINTS + CONTINUE]), ids=["103", "102", "both"]
)
def test_announced_answers(world: World, announcement: bytes) -> None:
    """A server that announces each answer is heard as one that doesn't: each answer is its own question's."""
    world.front.always("", said(lambda answer: announcement + as_bytes(answer), then_cut=False))
    for number in range(6):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert len(world.front.asked("POST /outbox")) == len(world.dropped)


class Behind:
    """A connection's answers to uploads, each of which is that of the one before."""

    def __init__(self) -> None:
        self._before: dict[object, bytes] = {}

    def __call__(self, exchange: Exchange) -> None:
        answer = as_bytes(exchange.arrive())
        exchange.say(self._before.get(exchange.connection, answer))
        self._before[exchange.connection] = answer


def assert_each_has_its_own(world: World) -> None:
    """Each document went once, and has the number of its own message."""
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    numbers = {name: world.sidecar(name)["msg_no"] for name in world.dropped}
    assert {name: world.sandbox.store.content(number) for name, number in numbers.items()} == world.dropped


def test_a_connection_that_falls_behind(make_world: Callable[..., World]) -> None:
    """Where a connection gives each upload the answer of the one before, none of them gets another's number."""
    world = make_world(deliver_after=3600, outbound={"workers": "1", "doubt": "100ms"})
    world.front.always("POST /outbox", Behind())
    for number in range(4):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
    world.settle(50, ends=("sent",))
    assert_each_has_its_own(world)


def test_a_connection_that_falls_behind_before_anything_is_recorded(make_world: Callable[..., World]) -> None:
    """The same, where four answers are heard one after the other and the journal knows of none of them yet."""
    clock = Clock()
    world = make_world(deliver_after=10**6, outbound=RULES | {"workers": "2"}, inbound={"poll": "5m"}, clock=clock.true)
    world.front.always("POST /outbox", Behind())
    life = Life(world, clock)
    life.go_on(10)
    for number in range(4):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
    life.touch()
    while life.jobs.count("send") < len(world.dropped):
        clock.pass_on(max(life.turn(), 0.01))
        life.do_each("step")
    life.do_each("send")
    life.go_on(3600)
    life.drop()
    assert_each_has_its_own(world)


@pytest.mark.parametrize("stray", [b"<inbox-query-response/>", PAGE], ids=["a list", "a web page"])
def test_a_download_that_is_anothers_answer(make_world: Callable[..., World], stray: bytes) -> None:
    """Where one answer too many came before a document, no message gets the document of the one before."""
    world = make_world(outbound={"workers": "1"})
    late = dict[object, list[bytes]]()

    def behind(exchange: Exchange) -> None:
        answer = as_bytes(exchange.arrive())
        if not late:
            late[exchange.connection] = [as_bytes(Answer(200, [], stray))]
        if exchange.connection in late:
            late[exchange.connection].append(answer)
            answer = late[exchange.connection].pop(0)
        exchange.say(answer)

    world.front.always("GET /messages/", behind)
    numbers = [world.receive(invoice(f"{number}")) for number in range(4)]
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.stuck == {"acme": 1})
        world.until(lambda: [message.msg_no for message in world.sandbox.store.inbox("acme")] == numbers[:1])
    delivered = {json.loads(Path(f"{path}.json").read_bytes())["msg_no"]: path for path in world.delivered()}
    assert {number: path.read_bytes() for number, path in delivered.items()} == {
        number: world.received[number] for number in numbers[1:]
    }


STRANGERS = {"sender": "0192:991825827", "receiver": "0192:991825827", "document-id": "urn:x::Order##urn:y::2.1"}


@pytest.mark.parametrize("says", STRANGERS)
def test_an_answer_about_another_document(make_world: Callable[..., World], says: str) -> None:
    """A 201 that says of its message what isn't so of the document is another's: the document is looked for."""
    world = make_world(deliver_after=3600, outbound={"doubt": "100ms"})

    def another(exchange: Exchange) -> None:
        body = (
            '<outbox-post-response version="1.0"><message><message-meta-data><msg-no>4711</msg-no><peppol-header>'
            f"<{says}>{STRANGERS[says]}</{says}></peppol-header></message-meta-data></message></outbox-post-response>"
        )
        exchange.answer(201, body, [("Content-Type", "application/xml")])

    world.front.next("POST /outbox", another)
    world.drop("invoice.xml", invoice("1"))
    world.settle(ends=("sent",))
    world.invariants()
    assert world.accepted() == {"invoice.xml": 1}
    in_doubt = next(event for event in world.sidecar("invoice.xml")["history"] if event["event"] == "in doubt")
    assert STRANGERS[says] in in_doubt["why"]


def test_an_id_that_is_written_otherwise(make_world: Callable[..., World]) -> None:
    """A 201 that writes the same ids with their schemes, or in capitals, is this document's."""
    world = make_world(deliver_after=3600)

    def otherwise(exchange: Exchange) -> None:
        answer = exchange.arrive()
        body = answer.body.replace(b">0192:", b">iso6523-actorid-upis::0192:")
        body = body.replace(b"<document-id>urn:", b"<document-id>busdox-docid-qns::URN:")
        exchange.answer(answer.status, body, [("Content-Type", "application/xml")])

    world.front.always("POST /outbox", otherwise)
    world.drop("invoice.xml", invoice("1"))
    world.settle(ends=("sent",))
    assert [event["event"] for event in world.sidecar("invoice.xml")["history"]] == ["claimed", "sending", "accepted"]


def in_seconds(exchange: Exchange) -> None:
    """The access point writes its moments without milliseconds."""
    answer = exchange.arrive()
    exchange.answer(answer.status, re.sub(rb"(:[0-9]{2})[.][0-9]{3}([+Z])", rb"\1\2", answer.body))


@pytest.mark.parametrize("lost", [reset_before, cut_after])
def test_moments_in_two_forms(make_world: Callable[..., World], lost: Fault) -> None:
    """With milliseconds in the 201 and without in the lists, a message is still known to be another document's."""
    world = make_world(deliver_after=3600, outbound={"doubt": "100ms", "duplicates": "allow"})
    world.front.always("GET /", in_seconds)
    for name in ("first.xml", "second.xml"):
        world.put(world.outbound / name, invoice("1"))
        with world.service():
            world.until((world.outbound / "sent" / name).exists)
        world.front.next("POST /outbox", lost)
    sidecars = [json.loads(path.read_bytes()) for path in sorted((world.outbound / "sent").glob("*.json"))]
    assert [one["msg_no"] for one in sidecars] == [1, 2] == [one.msg_no for one in world.sandbox.store.sent("acme")]


def test_moments_in_two_forms_on_their_way(make_world: Callable[..., World]) -> None:
    """With milliseconds in the 201 and without in the lists, a document's delivery is heard of."""
    world = make_world(deliver_after=1)
    world.front.always("GET /", in_seconds)
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    world.invariants()


@pytest.mark.parametrize("status", quick([301, 302, 303, 307, 308], 2))
def test_redirects(world: World, status: int) -> None:
    """No document, login or mark goes where a redirect points to; here everything arrives once, when it is over."""
    elsewhere = Front(world.sandbox.app, date=world.front.date)
    for line in ("POST /outbox", "GET /inbox", "POST /inbox/"):
        world.front.next(line, lambda exchange: moved(exchange, status, elsewhere.url))
    world.drop("invoice.xml", invoice("out"))
    world.receive(invoice("in"))
    world.settle()
    world.invariants()
    assert elsewhere.requests == []
    elsewhere.close()


def moved(exchange: Exchange, status: int, url: str) -> None:
    exchange.answer(status, "", [("Location", url + exchange.request.target)])
