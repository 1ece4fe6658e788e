"""What an answer to POST /outbox means: every row of contract 6's table, over a real socket."""

from __future__ import annotations

import base64
import re
import socket
import sys
import threading
from datetime import timedelta
from email import message_from_bytes
from email.policy import HTTP
from typing import TYPE_CHECKING

import pytest
from support.backoffs import HOURLY
from support.scripted import Exchange, Script, Scripted, answer, cut, drip, early, endless, reply, reset, silence

from filedrop.accesspoint import AccessPoint, BrokenOff
from filedrop.errors import (
    AccessPointError,
    DocumentError,
    NoClearAnswer,
    Rejected,
    Unauthorized,
    Unavailable,
    Unexplained,
    WrongAddress,
)
from filedrop.model.document import Ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

IDS = Ids("0192:987654321", "0192:810418052", "urn:x::Invoice##urn:y::2.1", "urn:process", "invoices")
ACCEPTED = """<outbox-post-response version="1.0"><message><self>https://host/outbox/97</self>
<xml-document>https://host/messages/97/xml-document</xml-document><message-meta-data><msg-no>97</msg-no>
<direction>OUT</direction><received>2016-11-04T08:51:51.778+01:00</received><peppol-header>
<sender>0192:987654321</sender><receiver>0192:810418052</receiver><channel/></peppol-header></message-meta-data>
</message></outbox-post-response>"""
STATISTICS = '<statistics><account name="a"/></statistics>'
LOCATION = ("Location", "https://elsewhere/outbox/4300000017")


class Document:
    def __init__(self, *chunks: bytes, size: int | None = None, unchanged: bool = True) -> None:
        self.parts, self.still = chunks, unchanged
        self.size = sum(map(len, chunks)) if size is None else size

    def chunks(self) -> Iterator[bytes]:
        yield from self.parts

    def unchanged(self) -> bool:
        return self.still


INVOICE = Document(b"<Invoice>", b"\xc3\xb8" * 100_000, b"</Invoice>")


def test_accepted(server: Scripted, access_point: AccessPoint) -> None:
    """201 with a message in it is accepted, and the message is given back."""
    server.on("POST", "/outbox", reply(201, ACCEPTED))
    message = access_point.send(IDS, INVOICE)
    assert (message.msg_no, message.direction, message.received) == (97, "OUT", "2016-11-04T08:51:51.778+01:00")
    assert (message.channel, message.uuid) == (None, None)


@pytest.mark.parametrize(
    "script",
    [
        reply(201, "", LOCATION),
        reply(201, "<html>", LOCATION),
        reply(201, "<outbox-post-response/>", LOCATION),
        reply(201, ACCEPTED.replace(">97<", ">x<"), LOCATION),
        cut(answer(201, "", [("Content-Length", "900"), LOCATION]) + b"<outbox-post"),
    ],
    ids=["empty", "html", "no message", "unreadable number", "cut"],
)
def test_accepted_by_location(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """201 whose body can't be read is accepted if Location has the number."""
    server.on("POST", "/outbox", script)
    assert access_point.send(IDS, INVOICE).msg_no == 4300000017


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (reply(429), Unavailable),
        (reply(429, "", ("Retry-After", "7")), Unavailable),
        (reply(503, "", ("Retry-After", "120")), Unavailable),
        (reply(400, "DocumentId required"), Rejected),
        (reply(400, "Wrong documentId value: urn:x", ("Content-Encoding", "UTF-8")), Rejected),
        (reply(400, "The documentId value is wrong: urn:x"), Rejected),
        (reply(400, "Wrong processId value: X"), Rejected),
        (reply(400, "Wrong senderId value: X"), Rejected),
        (reply(400, "Wrong recipientId value: X"), Rejected),
        (reply(400, "Unable to parse the XML document"), Rejected),
        (reply(413), Rejected),
        (reply(415), Rejected),
        (reply(422, "no"), Rejected),
        (reply(400), Unexplained),
        (reply(400, "could not execute statement: insert into message (document_id) values (?)"), Unexplained),
        (reply(400, "java.lang.NullPointerException: Wrong documentId value: X"), Unexplained),
        (reply(404), WrongAddress),
        (reply(405), WrongAddress),
        (reply(301, "", ("Location", "/outbox/")), WrongAddress),
        (reply(302, "", ("Location", "https://login.example.com")), WrongAddress),
        (reply(307, "", ("Location", "/outbox")), WrongAddress),
        (reply(308, "", ("Location", "/outbox")), WrongAddress),
        (reply(303, "", ("Location", "/outbox/97")), NoClearAnswer),
        (reply(503), NoClearAnswer),
        (reply(503, "", ("Retry-After", "soon")), NoClearAnswer),
        (reply(503, "", ("Retry-After", "Fri, 20 Nov 99999999999 12:00:00 GMT")), NoClearAnswer),
        (reply(500, "Unknown server error occurred."), NoClearAnswer),
        (reply(502), NoClearAnswer),
        (reply(504), NoClearAnswer),
        (reply(200, ACCEPTED), NoClearAnswer),
        (reply(202), NoClearAnswer),
        (reply(204), NoClearAnswer),
        (reply(418), NoClearAnswer),
        (reply(201), NoClearAnswer),
        (reply(201, "<html/>"), NoClearAnswer),
        (reply(201, "", ("Location", "/outbox/")), NoClearAnswer),
        (reply(201, "", ("Location", "https://[oops/outbox/5")), NoClearAnswer),
        (cut(), NoClearAnswer),
        (cut(b"HTTP/1.1 20"), NoClearAnswer),
        (cut(b"this is not HTTP\r\n\r\n"), NoClearAnswer),
        (cut(b"HTTP/1.1 201 Created\r\nLocation: /outbox/43"), NoClearAnswer),
        (cut(b"HTTP/1.1 201 Created\r\nLocation: /outbox/43\r\n"), NoClearAnswer),
        (cut(answer(201, ACCEPTED)[:-200]), NoClearAnswer),
        (reset, NoClearAnswer),
    ],
)
def test_the_table_of_answers(server: Scripted, access_point: AccessPoint, script: Script, expected: type) -> None:
    """Each answer means what contract 6 says, and none that may have been an acceptance is asked for twice."""
    server.on("POST", "/outbox", script)
    with pytest.raises(AccessPointError) as caught:
        access_point.send(IDS, INVOICE)
    assert type(caught.value) is expected
    tries = 3 if expected is Unavailable and not getattr(caught.value, "retry_after", None) else 1
    assert len(server.requests) == tries


@pytest.mark.parametrize("login", [401, 403])
class TestLogin:
    def test_refused_everywhere(self, server: Scripted, access_point: AccessPoint, login: int) -> None:
        """A login that is refused for other questions too is no document's fault."""
        server.on("POST", "/outbox", reply(login, "<html>go away</html>"))
        server.on("GET", "/statistics", reply(login))
        with pytest.raises(Unauthorized):
            access_point.send(IDS, INVOICE)

    def test_refused_for_the_document(self, server: Scripted, access_point: AccessPoint, login: int) -> None:
        """A login that is good for other questions means that the document was refused."""
        server.on("POST", "/outbox", reply(login, "not\x1b[31m yours"))
        server.on("GET", "/statistics", reply(200, STATISTICS))
        with pytest.raises(Rejected) as caught:
            access_point.send(IDS, INVOICE)
        assert (caught.value.status, caught.value.text) == (login, "not yours")

    def test_login_that_is_good_again(self, server: Scripted, access_point: AccessPoint, login: int) -> None:
        """A document is accepted whose login was refused just before it became good again."""
        answers = iter([reply(login, "<html>go away</html>"), reply(201, ACCEPTED)])
        server.on("POST", "/outbox", lambda exchange: next(answers)(exchange))  # noqa: PLW0108 - each time the next
        server.on("GET", "/statistics", reply(200, STATISTICS))
        assert access_point.send(IDS, INVOICE).msg_no == 97

    def test_no_statistics(self, server: Scripted, access_point: AccessPoint, login: int) -> None:
        """Where there are no statistics, the inbox is asked for."""
        server.on("POST", "/outbox", reply(login))
        server.on("GET", "/inbox", reply(200, "<inbox-query-response><messages/></inbox-query-response>"))
        with pytest.raises(Rejected):
            access_point.send(IDS, INVOICE)
        server.on("GET", "/inbox", reply(401))
        with pytest.raises(Unauthorized):
            access_point.send(IDS, INVOICE)

    @pytest.mark.parametrize(
        ("script", "expected"), [(reply(500), Unavailable), (reset, Unavailable), (reply(200, "<html/>"), Unauthorized)]
    )
    def test_undecided(
        self, server: Scripted, access_point: AccessPoint, login: int, script: Script, expected: type
    ) -> None:
        """If that can't be asked, nothing is known of the document except that it wasn't accepted: never a doubt."""
        server.on("POST", "/outbox", reply(login))
        server.on("GET", "/statistics", script)
        with pytest.raises(expected):
            access_point.send(IDS, INVOICE)


def test_new_password(server: Scripted, connect: Callable[..., AccessPoint], password_file: Path) -> None:
    """A password changed under a running daemon is used at once: the document is sent, not refused."""

    def guarded(exchange: Exchange) -> bool:
        new = exchange.request.headers["authorization"] == "Basic " + base64.b64encode("acmé:new".encode()).decode()
        return reply(201, ACCEPTED)(exchange) if new else reply(401)(exchange)

    server.on("POST", "/outbox", guarded)
    server.on("GET", "/statistics", reply(401))
    access_point = connect(server.url, password_file=password_file)
    with pytest.raises(Unauthorized):
        access_point.send(IDS, INVOICE)
    password_file.write_text("new", "utf-8")
    assert access_point.send(IDS, INVOICE).msg_no == 97


def test_new_password_meanwhile(server: Scripted, connect: Callable[..., AccessPoint], password_file: Path) -> None:
    """A password changed just after the old one was refused: that the new one is good says nothing of the document."""

    def guarded(exchange: Exchange) -> bool:
        password_file.write_text("new", "utf-8")
        new = exchange.request.headers["authorization"] == "Basic " + base64.b64encode("acmé:new".encode()).decode()
        return reply(200, STATISTICS)(exchange) if new else reply(401)(exchange)

    server.on("POST", "/outbox", reply(401))
    server.on("GET", "/statistics", guarded)
    access_point = connect(server.url, password_file=password_file)
    with pytest.raises(Unauthorized):
        access_point.send(IDS, INVOICE)
    assert access_point.login_changed()
    with pytest.raises(Rejected):
        access_point.send(IDS, INVOICE)


def test_no_password(server: Scripted, connect: Callable[..., AccessPoint], password_file: Path) -> None:
    """Without a password to be read nothing is sent, and the account is at fault, not the document."""
    access_point = connect(server.url, password_file=password_file)
    password_file.unlink()
    with pytest.raises(Unauthorized, match="password_file"):
        access_point.send(IDS, INVOICE)
    assert server.requests == []


def test_no_connection(connect: Callable[..., AccessPoint]) -> None:
    """Where nothing listens, nothing arrived."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unavailable, match="nothing listens there"):
        connect(f"http://127.0.0.1:{port}").send(IDS, INVOICE)


def test_unknown_name(connect: Callable[..., AccessPoint]) -> None:
    """A name that isn't known is said to be so."""
    with pytest.raises(Unavailable, match="the name is unknown"):
        connect("https://ap.invalid").send(IDS, INVOICE)


def test_silence(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """No answer within read_timeout leaves the document in doubt."""
    server.on("POST", "/outbox", silence)
    with pytest.raises(NoClearAnswer, match="no answer came in time"):
        connect(server.url, read_timeout=timedelta(milliseconds=200)).send(IDS, INVOICE)


@pytest.mark.parametrize("at_once", [0, len(answer(201, ACCEPTED)) - 500], ids=["head", "body"])
def test_dripping(server: Scripted, connect: Callable[..., AccessPoint], at_once: int) -> None:
    """An answer that drips, head or body, doesn't hold a sender for longer than two silences: then it is in doubt."""
    server.on("POST", "/outbox", drip(answer(201, ACCEPTED), at_once=at_once))
    with pytest.raises(NoClearAnswer):
        connect(server.url, read_timeout=timedelta(milliseconds=300)).send(IDS, INVOICE)


@pytest.mark.parametrize("status", [201, 302, 400, 500])
def test_endless_body(server: Scripted, access_point: AccessPoint, status: int) -> None:
    """An answer without an end is not read to it: neither memory nor time is used up."""
    server.on("POST", "/outbox", endless(b"HTTP/1.1 %d X\r\n\r\n" % status, b"x" * 65536))
    with pytest.raises(AccessPointError):
        access_point.send(IDS, INVOICE)


def test_early_refusal(server: Scripted, access_point: AccessPoint) -> None:
    """A refusal that comes before the document has been read is heard all the same."""
    server.on("POST", "/outbox", early(413, "too big"))
    with pytest.raises(Rejected, match="too big"):
        access_point.send(IDS, Document(*[b"x" * 65536] * 100))


def test_busy_then_accepted(server: Scripted, access_point: AccessPoint) -> None:
    """After a 429 the whole document is sent again, and accepted once."""
    server.on("POST", "/outbox", reply(429), reply(503, "", ("Retry-After", "0")), reply(201, ACCEPTED))
    assert access_point.send(IDS, INVOICE).msg_no == 97
    bodies = {re.sub(rb"[0-9a-f]{32}", b"", request.body) for request in server.requests}
    assert (len(server.requests), len(bodies)) == (3, 1)


def test_refused_after_busy(server: Scripted, access_point: AccessPoint) -> None:
    """A doubt is about the last attempt: that an earlier one left us is no reason for it."""

    def busy_and_gone(exchange: Exchange) -> bool:
        exchange.take_body()
        if sys.platform != "win32":  # where closing alone doesn't end the listening
            server._listener.shutdown(socket.SHUT_RDWR)
        server._listener.close()
        exchange.sock.sendall(answer(429, "", [("Connection", "close")]))
        return False

    server.on("POST", "/outbox", busy_and_gone)
    with pytest.raises(Unavailable, match="nothing listens"):
        access_point.send(IDS, INVOICE)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([("Retry-After", "90")], 90),
        ([("Retry-After", "999999")], 3600),
        ([("Retry-After", "Fri, 20 Nov 2026 12:02:00 GMT"), ("Date", "Fri, 20 Nov 2026 12:00:00 GMT")], 120),
        ([("Retry-After", "Fri, 20 Nov 2026 11:02:00 GMT"), ("Date", "Fri, 20 Nov 2026 12:00:00 GMT")], 0),
    ],
)
def test_retry_after(server: Scripted, access_point: AccessPoint, headers: list[tuple[str, str]], seconds: int) -> None:
    """Retry-After is heard as seconds or as a date by the access point's clock, up to an hour."""
    server.on("POST", "/outbox", reply(503, "", *headers))
    with pytest.raises(Unavailable) as caught:
        access_point.send(IDS, INVOICE)
    assert caught.value.retry_after == timedelta(seconds=seconds)


def test_stop(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """When we are to stop, a document that the access point has no time for is not sent again."""
    stopped = threading.Event()

    def busy(exchange: Exchange) -> bool:
        reply(429)(exchange)
        stopped.set()
        return True

    server.on("POST", "/outbox", busy)
    with pytest.raises(Unavailable):
        connect(server.url, stopped=stopped, retry=HOURLY).send(IDS, INVOICE)
    assert len(server.requests) == 1


def test_the_request(server: Scripted, access_point: AccessPoint) -> None:
    """The form has the interface's fields, the document's very bytes, its exact length and a login in UTF-8."""
    server.on("POST", "/outbox", reply(201, ACCEPTED))
    access_point.send(IDS, INVOICE)
    request = server.requests[0]
    assert request.headers["authorization"] == "Basic " + base64.b64encode("acmé:pæss:wörd-Zq7".encode()).decode()
    assert request.headers["accept"] == "application/xml"
    assert int(request.headers["content-length"]) == len(request.body)
    assert "transfer-encoding" not in request.headers
    form = message_from_bytes(
        b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + request.body, policy=HTTP
    )
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    assert {name: part.get_content().strip() for name, part in parts.items() if name != "file"} == {
        "SenderID": IDS.sender,
        "RecipientID": IDS.receiver,
        "ChannelID": IDS.channel,
        "DocumentID": IDS.document_id,
        "ProcessID": IDS.process_id,
    }
    assert parts["file"].get_content_type() == "application/xml"
    assert b"".join(INVOICE.parts) in request.body


@pytest.mark.parametrize(
    "document",
    [
        Document(b"<a/>", unchanged=False),
        Document(b"<a/>", size=5),
        Document(b"<a/>", b"more", size=4),
        Document(b"<a/>", *[b"x" * 65536] * 20, size=4),
        Document(size=1),
    ],
    ids=["changed", "shrunk", "grown", "grown a lot", "empty"],
)
def test_changed_before_it_left(server: Scripted, access_point: AccessPoint, document: Document) -> None:
    """A document that has changed before its first bytes leave isn't even begun."""
    server.on("GET", "/outbox/1", reply(204))
    with pytest.raises(BrokenOff):
        access_point.send(IDS, document)
    assert access_point.status(1) is None  # what had left before would be there by now
    assert [request.method for request in server.requests] == ["GET"]


@pytest.mark.parametrize(
    "document",
    [Document(*[b"x" * 65536] * 20, unchanged=False), Document(*[b"x" * 65536] * 20, size=65536 * 3)],
    ids=["changed", "grown"],
)
def test_changed_document(server: Scripted, access_point: AccessPoint, document: Document) -> None:
    """A document that changes meanwhile is broken off before its last bytes: no server can have it whole."""
    gone = threading.Event()

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        gone.set()
        return False

    server.on("POST", "/outbox", script)
    with pytest.raises(BrokenOff):
        access_point.send(IDS, document)
    assert gone.wait(60)
    request = server.requests[0]
    assert len(request.body) < int(request.headers["content-length"])


def test_unreadable_document(server: Scripted, access_point: AccessPoint) -> None:
    """A document that can't be read to its end is broken off, and never in doubt."""

    class Torn(Document):
        def chunks(self) -> Iterator[bytes]:
            yield b"<a>"
            raise OSError(5, "Input/output error")

    server.on("POST", "/outbox", reply(201, ACCEPTED))
    with pytest.raises(BrokenOff, match="could not be read"):
        access_point.send(IDS, Torn(size=99))


@pytest.mark.parametrize("field", ["sender", "receiver", "document_id", "process_id", "channel"])
def test_forged_part(server: Scripted, access_point: AccessPoint, field: str) -> None:
    """An id with a line break in it is refused before anything is sent."""
    forged = 'x\r\n--b\r\nContent-Disposition: form-data; name="SenderID"\r\n\r\n0192:1'
    ids = Ids(**{name: getattr(IDS, name) for name in Ids.__slots__} | {field: forged})
    with pytest.raises(DocumentError):
        access_point.send(ids, INVOICE)
    assert server.requests == []


def test_idle_connection(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """A connection is used again while it is warm; one idle for some seconds is not trusted with a document."""
    now = [1000.0]
    access_point = connect(server.url, monotonic=lambda: now[0])
    server.on("POST", "/outbox", reply(201, ACCEPTED))
    for pause in (0, 1, 1, 10):
        now[0] += pause
        access_point.send(IDS, INVOICE)
    assert [request.connection for request in server.requests] == [1, 1, 1, 2]


def test_slow_reader(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """While the access point takes a document it may be silent for read_timeout; connect_timeout has no part in it."""

    def script(exchange: Exchange) -> bool:
        server.closing.wait(0.6)
        return reply(201, ACCEPTED)(exchange)

    server.on("POST", "/outbox", script)
    access_point = connect(server.url, connect_timeout=timedelta(milliseconds=200))
    assert access_point.send(IDS, Document(*[b"x" * 1_000_000] * 8)).msg_no == 97


def test_threads(server: Scripted, access_point: AccessPoint) -> None:
    """Several threads send at once, each over a connection of its own."""
    server.on("POST", "/outbox", reply(201, ACCEPTED))
    gate = threading.Barrier(4)

    def work() -> None:
        gate.wait(60)
        for _ in range(5):
            access_point.send(IDS, INVOICE)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(server.requests), server.connections) == (20, 4)
