"""What the porter reads and posts is what we would have read and posted, and means the same."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from support.disks import mounted
from support.documents import BUYER, SELLER, invoice
from support.scripted import Exchange, Scripted, answer, cut, reply

from filedrop import identify, porter
from filedrop.accesspoint import AccessPoint, BrokenOff, Message
from filedrop.accesspoint import Gone as NothingThere
from filedrop.config import Account
from filedrop.document import Ids
from filedrop.errors import DocumentError, Interrupted, NoClearAnswer, Rejected, Unauthorized, Unavailable, WrongAddress
from filedrop.files import create_temporary
from filedrop.porter import Carried, Porter
from filedrop.porter.line import Gone, Line, hear, say
from filedrop.upload import IN_MEMORY, Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.login import Login

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows hands over no open files: no porter there")

IDS = Ids(SELLER, BUYER, "urn:x::Invoice##urn:y::2.1", "urn:process", "")
ACCEPTED = reply(201, "", ("Location", "https://elsewhere/outbox/97"), ("Date", "Sat, 21 Nov 2026 12:00:00 GMT"))


@pytest.fixture
def access_point(server: Scripted) -> Iterator[AccessPoint]:
    access_point = AccessPoint(_login(server), stopped=threading.Event(), pauses=(0, 0))
    yield access_point
    access_point.close()


@pytest.fixture
def log() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def called(
    server: Scripted, access_point: AccessPoint, log: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Porter]:
    """A porter that was called, and is waited for."""
    monkeypatch.setattr("filedrop.porter.line._AT_ONCE", 0)
    wrapped = structlog.wrap_logger(None, processors=[lambda _log, _name, event: log.append(dict(event)) or ""])
    called = Porter(_login(server), access_point, wrapped)
    called.see(porter.MANY, 0.0)
    yield called
    called.close()


def _login(server: Scripted) -> Login:
    account = Account(name="main", base_url=server.url, username="acme", password="pæss:wörd-Zq7")  # type: ignore[arg-type] # as YAML has it
    return account.login


def carried(called: Porter, path: Path, content: bytes) -> Opened:
    path.write_bytes(content)
    opened = called.open(path, local=True)
    assert isinstance(opened, Carried)
    return opened


def test_each_is_posted_as_itself(called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path) -> None:
    """Several are read before any is posted: each is posted with its own bytes, in whatever order."""
    server.on("POST", "/outbox", ACCEPTED)
    contents = [invoice(f"{number}") for number in range(3)]
    opened = [carried(called, tmp_path / f"{number}.xml", content) for number, content in enumerate(contents)]
    assert [one.read(10**6).sha256 for one in opened] == [
        Opened.open(tmp_path / f"{number}.xml").read(10**6).sha256 for number in range(3)
    ]
    opened[0].close()
    for nth in (2, 1):
        assert opened[nth].post(access_point, IDS, contextlib.nullcontext).msg_no == 97
        assert contents[nth] in server.requests[-1].body
        opened[nth].close()
    assert len(server.requests) == 2
    assert access_point.clock() is not None


def test_it_reads_as_we_do(called: Porter, tmp_path: Path, log: list[dict[str, Any]]) -> None:
    """Readings, and what is wrong with a document, are the same, and one that can't be read keeps no other from it."""
    for content in (invoice("1"), b"<not", b"<!DOCTYPE a><a/>", invoice("1").decode().encode("utf-16"), b"", b"<a/>"):
        opened = carried(called, tmp_path / "one.xml", content)
        ours = Opened.open(tmp_path / "one.xml")
        assert _said_of(opened) == _said_of(ours)
        opened.close()
        ours.close()
    carried(called, tmp_path / "unread.xml", b"<a/>").close()
    assert [event["event"] for event in log] == ["porter.called"]


def _said_of(opened: Opened) -> object:
    try:
        return opened.read(10**6, ["/Invoice/ID"])
    except DocumentError as error:
        return type(error), vars(error)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (reply(400, "Wrong recipientId value: 0192:1"), Rejected),
        (reply(401), Unauthorized),
        (reply(404), WrongAddress),
        (reply(503, "", ("Retry-After", "60")), Unavailable),
        (reply(500), NoClearAnswer),
        (cut(), NoClearAnswer),
    ],
)
def test_answers(  # noqa: PLR0917 - pytest calls it by name
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path, script: Any, kind: type[Exception]
) -> None:
    """An answer means the same, in the same words."""
    server.on("POST", "/outbox", script)
    server.on("GET", "/statistics", reply(401))
    heard = []
    for opened in (carried(called, tmp_path / "one.xml", invoice("1")), Opened.open(tmp_path / "one.xml")):
        opened.read(10**6)
        with pytest.raises(kind) as error:
            opened.post(access_point, IDS, contextlib.nullcontext)
        heard.append((str(error.value), vars(error.value)))
        opened.close()
    assert heard[0] == heard[1]


def several(called: Porter, folder: Path, *contents: bytes) -> list[Opened]:
    """Opened files with this content, read together."""
    opened = [carried(called, folder / f"{number}.xml", content) for number, content in enumerate(contents)]
    called.read_ahead(opened, 10**6)
    return opened


def test_several_are_read_together(called: Porter, tmp_path: Path) -> None:
    """One that is no document, and one that changes, leave the others as they are."""
    fine, broken, changed, last = several(called, tmp_path, invoice("1"), b"<not", invoice("3"), invoice("4"))
    with (tmp_path / "2.xml").open("ab") as writer:
        writer.write(b"<!-- more -->")
    assert [fine.read(10**6).number, last.read(10**6).number] == ["1", "4"]
    with pytest.raises(DocumentError):
        broken.read(10**6)
    with pytest.raises(Changing):
        changed.read(10**6)


def test_several_are_posted_together(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path
) -> None:
    """Each has its own answer; after one that is none, and was none when asked for alone, the others' turn comes."""
    server.on(
        "POST", "/outbox", ACCEPTED, reply(400, "Wrong recipientId value: 0192:1"), ACCEPTED, reply(500), ACCEPTED
    )
    contents = [invoice(f"{number}") for number in range(5)]
    opened = several(called, tmp_path, *contents)
    for one in opened:
        one.read(10**6)
    assert called.post_ahead([(one, IDS) for one in opened], seconds=60, holds=[]) == 4
    assert [one.is_posted for one in opened] == [True, True, True, True, False]
    assert len(server.requests) == 4
    for one, kind in zip(opened, (None, Rejected, None, NoClearAnswer, None), strict=True):
        with pytest.raises(kind) if kind else contextlib.nullcontext():
            assert one.post(access_point, IDS, contextlib.nullcontext).msg_no == 97
    assert all(content in request.body for content, request in zip(contents, server.requests, strict=True))
    assert not any(one.is_posted for one in opened)


def test_time_is_up(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """The first is posted in any case."""
    server.on("POST", "/outbox", ACCEPTED)
    opened = several(called, tmp_path, invoice("1"), invoice("2"))
    for one in opened:
        one.read(10**6)
    assert called.post_ahead([(one, IDS) for one in opened], seconds=0, holds=[]) == 1
    assert [one.is_posted for one in opened] == [True, False]


def test_several_are_held(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """HOLD is heeded between any two of them."""
    hold = tmp_path / "HOLD"

    def touch(exchange: Exchange) -> bool:
        hold.touch()
        return ACCEPTED(exchange)

    server.on("POST", "/outbox", ACCEPTED, touch, ACCEPTED)
    opened = several(called, tmp_path, *(invoice(f"{number}") for number in range(4)))
    for one in opened:
        one.read(10**6)
    assert called.post_ahead([(one, IDS) for one in opened], seconds=60, holds=[hold]) == 2
    assert [one.is_posted for one in opened] == [True, True, False, False]
    assert len(server.requests) == 2


def test_hold_cannot_be_looked_for(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """Then nothing more is posted, and what has an answer keeps it."""
    server.on("POST", "/outbox", ACCEPTED)
    opened = several(called, tmp_path, invoice("1"), invoice("2"))
    for one in opened:
        one.read(10**6)
    assert called.post_ahead([(one, IDS) for one in opened], seconds=60, holds=[tmp_path / ("x" * 300)]) == 1
    assert [one.is_posted for one in opened] == [True, False]


def test_it_ends_while_it_posts_several(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path
) -> None:
    """Whatever it was asked to post may have arrived; what it was never asked is posted by us."""

    def end(exchange: Exchange) -> bool:
        exchange.take_body()
        called.close()
        return False

    server.on("POST", "/outbox", ACCEPTED, end, ACCEPTED)
    *opened, later = several(called, tmp_path, *(invoice(f"{number}") for number in range(4)))
    for one in (*opened, later):
        one.read(10**6)
    called.post_ahead([(one, IDS) for one in opened], seconds=60, holds=[])
    assert called.post_ahead([(later, IDS)], seconds=60, holds=[]) == 0
    for one in opened:
        assert one.is_posted
        with pytest.raises(Interrupted):
            one.post(access_point, IDS, contextlib.nullcontext)
    assert len(server.requests) == 2
    assert not later.is_posted
    assert later.post(access_point, IDS, contextlib.nullcontext).msg_no == 97


def test_what_never_arrived_is_tried_again(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path
) -> None:
    """A request that certainly never arrived is made a few times, as it is without a porter."""
    server.on("POST", "/outbox", reply(429), reply(429), ACCEPTED)
    opened = carried(called, tmp_path / "one.xml", invoice("1"))
    opened.read(10**6)
    assert opened.post(access_point, IDS, contextlib.nullcontext).msg_no == 97
    opened.close()


def test_it_fetches(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """A document is in its file, whole, and is read as we do, however often it had to be asked for."""
    document = invoice("7")
    said = ("Content-Length", str(len(document)))
    server.on("GET", "/messages/7/xml-document", cut(answer(200, document[:100], [said])), reply(200, document, said))
    with create_temporary(tmp_path / "received.xml") as file:
        assert called.fetch(Message(7), file, max_size=10**6) == identify.read(io.BytesIO(document), doctype="keep")
    assert (tmp_path / "received.xml").read_bytes() == document
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (reply(404), NothingThere),
        (reply(200, b"<html/>"), DocumentError),
        (reply(200, b"<a>" + b" " * 1000), NoClearAnswer),
        (reply(503, "", ("Retry-After", "60")), Unavailable),
        (reply(401), Unauthorized),
    ],
)
def test_there_is_nothing_to_fetch(
    called: Porter, server: Scripted, tmp_path: Path, script: Any, kind: type[Exception]
) -> None:
    """What keeps a document from being fetched means what it means without a porter."""
    server.on("GET", "/messages/7/xml-document", script)
    with create_temporary(tmp_path / "received.xml") as file, pytest.raises(kind):
        called.fetch(Message(7), file, max_size=1000)


@pytest.mark.parametrize("status", [401, 404, 503])
def test_it_fetches_no_further(called: Porter, server: Scripted, tmp_path: Path, status: int) -> None:
    """After a failure no further document is asked for, whoever's fault it is."""
    for number in range(3):
        server.on("GET", f"/messages/{number}/xml-document", reply(status))
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(create_temporary(tmp_path / f"{number}.xml")) for number in range(3)]
        documents = [(Message(number), file) for number, file in enumerate(files)]
        assert len(called.fetch_ahead(documents, max_size=10**6, seconds=60)) == 1
    assert len(server.requests) == 1


def test_there_is_no_room_for_one(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """What was fetched before the disk was full has been fetched."""
    for number, document in enumerate([invoice("7"), b"<a>" + b" " * 3_000_000 + b"</a>"]):
        server.on("GET", f"/messages/{number}/xml-document", reply(200, document))
    with mounted(tmp_path / "disk", size="1m"), contextlib.ExitStack() as stack:
        files = [stack.enter_context(create_temporary(tmp_path / "disk" / f"{number}.xml")) for number in range(2)]
        documents = [(Message(number), file) for number, file in enumerate(files)]
        first, second = called.fetch_ahead(documents, max_size=10**8, seconds=60)
    assert isinstance(first, identify.Reading)
    assert isinstance(second, OSError)


def test_marking_several_as_read(called: Porter, server: Scripted) -> None:
    """They are marked one after the other, up to a failure; what is to be asked again is, for the one."""
    for number, answer_ in enumerate([reply(200), reply(503), reply(200)]):
        server.on("POST", f"/inbox/{number}/read", answer_, reply(200))
    first, second = called.mark_read_ahead(range(3), seconds=60)
    assert first is True
    assert isinstance(second, Unavailable)
    assert called.mark_read(1, ahead=second) is True
    assert [request.path for request in server.requests] == [f"/inbox/{number}/read" for number in (0, 1, 1)]


def test_it_is_gone_while_it_fetches(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """What it wrote is forgotten, and we begin anew."""

    def end(exchange: Exchange) -> bool:
        exchange.sock.sendall(answer(200, invoice("7")[:100], [("Content-Length", "20000")]))
        called.close()
        return False

    server.on("GET", "/messages/7/xml-document", end)
    with create_temporary(tmp_path / "received.xml") as file:
        assert called.fetch(Message(7), file, max_size=10**6) is None
        assert called.fetch(Message(7), file, max_size=10**6) is None
    assert len(server.requests) == 1


def test_marking_as_read(called: Porter, server: Scripted, log: list[dict[str, Any]]) -> None:
    """With a porter or without, and when it has ended: a message is marked, or was unknown."""
    server.on("POST", "/inbox/7/read", reply(503, "", ("Retry-After", "0")), reply(200), reply(204), reply(200))
    assert called.mark_read(7) is True
    assert called.mark_read(7) is False
    called.close()
    assert called.mark_read(7) is True
    assert [event["event"] for event in log] == ["porter.called"]


def test_a_writer_writes_on(called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path) -> None:
    """A file that changes is broken off, whether that is seen while it is read or only then."""
    server.on("POST", "/outbox", ACCEPTED)
    early, late = (carried(called, tmp_path / name, invoice(name)) for name in ("early.xml", "late.xml"))
    late.read(10**6)
    for name in ("early.xml", "late.xml"):
        with (tmp_path / name).open("ab") as writer:
            writer.write(b"<!-- more -->")
    with pytest.raises(Changing):
        early.read(10**6)
    with pytest.raises(BrokenOff):
        late.post(access_point, IDS, contextlib.nullcontext)
    assert not server.requests


def test_it_is_gone(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path, log: list[dict[str, Any]]
) -> None:
    """Without it, what was not read is read by us, and what was not being posted yet is posted by us."""
    server.on("POST", "/outbox", ACCEPTED)
    read, unread = (carried(called, tmp_path / name, invoice(name)) for name in ("read.xml", "unread.xml"))
    read.read(10**6)
    called.close()
    assert read.post(access_point, IDS, contextlib.nullcontext).msg_no == 97
    assert unread.read(10**6).root_name == "Invoice"
    assert unread.post(access_point, IDS, contextlib.nullcontext).msg_no == 97
    assert not isinstance(called.open(tmp_path / "read.xml", local=True), Carried)
    assert [event["event"] for event in log] == ["porter.called"]


def test_it_is_gone_and_so_is_the_document(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path
) -> None:
    """A file that has changed since the porter read it is broken off, too."""
    server.on("POST", "/outbox", ACCEPTED)
    read = carried(called, tmp_path / "one.xml", invoice("1"))
    read.read(10**6)
    called.close()
    (tmp_path / "one.xml").write_bytes(invoice("2"))
    with pytest.raises(BrokenOff):
        read.post(access_point, IDS, contextlib.nullcontext)
    assert not server.requests


def test_it_ends_while_it_posts(called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path) -> None:
    """What it was posting when it ended may have arrived."""

    def end(exchange: Exchange) -> bool:
        exchange.take_body()
        called.close()
        return False

    server.on("POST", "/outbox", end)
    opened = carried(called, tmp_path / "one.xml", invoice("1"))
    opened.read(10**6)
    with pytest.raises(Interrupted):
        opened.post(access_point, IDS, contextlib.nullcontext)
    assert len(server.requests) == 1


def test_it_is_not_sent_away_while_it_works(
    called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path
) -> None:
    """However slow an answer is: nothing waits any more, but one is being posted."""

    def look(exchange: Exchange) -> bool:
        exchange.take_body()
        called.see(0, 1e9)
        return ACCEPTED(exchange)

    server.on("POST", "/outbox", look)
    opened = carried(called, tmp_path / "one.xml", invoice("1"))
    opened.read(10**6)
    assert opened.post(access_point, IDS, contextlib.nullcontext).msg_no == 97


def test_one_line_ends(called: Porter, server: Scripted, access_point: AccessPoint, tmp_path: Path) -> None:
    """An errand that fails as none should ends its line, and nothing is posted; the other threads' go on."""
    server.on("POST", "/outbox", ACCEPTED)
    opened = carried(called, tmp_path / "one.xml", invoice("1"))
    sha256 = opened.read(10**6).sha256
    for wrong in ({"sha256": "another's"}, {"key": 97}):
        with ThreadPoolExecutor(1) as other:
            failing = other.submit(_fail, called, tmp_path / "two.xml", wrong)
            assert isinstance(failing.exception(), Gone)
    assert not server.requests
    assert opened.post(access_point, IDS, contextlib.nullcontext).msg_no == 97
    assert isinstance(opened, Carried)
    assert opened.line, "the porter has posted it"
    with pytest.raises(Gone):
        called.ask(opened.line, "post", documents=[(97, sha256, IDS)], seconds=0.0, holds=[])
    again = carried(called, tmp_path / "one.xml", invoice("1"))
    again.read(10**6)
    assert isinstance(again, Carried)
    assert again.line, "the porter has read it, on a new line"


def _fail(called: Porter, path: Path, wrong: dict[str, Any]) -> None:
    opened = carried(called, path, invoice("2"))
    sha256 = opened.read(10**6).sha256
    assert isinstance(opened, Carried)
    assert opened.line
    key, sha256 = wrong.get("key", opened.key), wrong.get("sha256", sha256)
    called.ask(opened.line, "post", documents=[(key, sha256, IDS)], seconds=0.0, holds=[])


def test_it_keeps_no_files(called: Porter, server: Scripted, tmp_path: Path) -> None:
    """However many documents go by it: what was closed here, it closes too, and neither side has more open files."""
    server.on("GET", "/messages/7/xml-document", reply(200, invoice("7")))
    assert called._process
    processes = (os.getpid(), called._process._process.pid)
    counts = []
    for _ in range(2):
        for number in range(20):
            opened = carried(called, tmp_path / "one.xml", invoice(f"{number}"))
            opened.read(10**6)
            opened.close()
        with create_temporary(tmp_path / "received.xml") as file:
            called.fetch(Message(7), file, max_size=10**6)
        counts.append([len(list(Path(f"/proc/{process}/fd").iterdir())) for process in processes])
    assert counts[0] == counts[1]


def test_it_was_stopped(called: Porter) -> None:
    """One that is stopped is sent away all the same."""
    assert called._process
    os.kill(called._process._process.pid, signal.SIGSTOP)
    called.close()


def test_it_cannot_be_called(access_point: AccessPoint, server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, that is said now and then, and we do what there is to do."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    log: list[dict[str, Any]] = []
    wrapped = structlog.wrap_logger(None, processors=[lambda _log, _name, event: log.append(dict(event)) or ""])
    called = Porter(_login(server), access_point, wrapped)
    for now in (0.0, 1.0, 2.0, porter.REST):
        called.see(porter.MANY, now)
    assert [event["event"] for event in log] == ["porter.not_called"] * 2


def test_what_it_heard_before(access_point: AccessPoint) -> None:
    """The access point's time is the one that was heard last, whoever heard it."""
    for heard in (("one", 1.0), ("three", 3.0), ("two", 2.0), None):
        access_point.hear(heard)
    assert access_point.heard == ("three", 3.0)


def test_what_is_said_in_pieces(tmp_path: Path) -> None:
    """However little of it comes at once: as when we are stopped amidst it, and go on."""
    ours, theirs = socket.socketpair()
    with ThreadPoolExecutor(1) as other, ours, theirs, (tmp_path / "file").open("wb") as file:
        ours.settimeout(60)  # MSG_WAITALL counts for nothing then
        said = other.submit(say, theirs, "x" * 10**7, [file.fileno()])
        heard, (handed_over,) = hear(ours)
        os.close(handed_over)
        assert (heard, said.result()) == ("x" * 10**7, None)


def test_a_question_is_broken_off(called: Porter) -> None:
    """What is answered to a question that was broken off isn't taken for the answer to the next."""

    class BreakOff(BaseException):
        pass

    def break_off(*_: object) -> None:
        raise BreakOff

    ours, theirs = socket.socketpair()
    process = called._process  # a line needs one
    assert process
    before = signal.signal(signal.SIGUSR1, break_off)
    try:
        with theirs, ThreadPoolExecutor(1) as other:
            line = Line(process, ours)

            def answer() -> None:
                hear(theirs)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

            answering = other.submit(answer)
            with pytest.raises(BreakOff):
                line.ask("read", {}, [])
            answering.result()
            with contextlib.suppress(OSError):
                say(theirs, "the first answer")
            with pytest.raises(Gone):
                line.ask("read", {}, [])
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_much_is_found(called: Porter, tmp_path: Path) -> None:
    """What an XPath of the mapping finds may be most of the document."""
    opened = carried(called, tmp_path / "one.xml", invoice("1", size=IN_MEMORY - 5000))
    about = ["/Invoice", "/Invoice/AdditionalDocumentReference", "/"]
    assert opened.read(10**7, about) == Opened.open(tmp_path / "one.xml").read(10**7, about)


def test_what_it_is_not_given(called: Porter, tmp_path: Path) -> None:
    """Large documents, and those on other computers' disks, are read in our own sight."""
    path = tmp_path / "one.xml"
    path.write_bytes(invoice("1"))
    assert not isinstance(called.open(path, local=False), Carried)
    path.write_bytes(invoice("1", size=2 * IN_MEMORY))
    assert not isinstance(called.open(path, local=True), Carried)
