"""What each answer to a request makes of its document, to the word and to the second: what is then recorded."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice
from support.drops import NOON, drop
from support.faults import answered, cut_after, instead
from support.notes import whole
from support.stepping import Clock, Life

from filedrop.model.document import Document, State
from filedrop.outbound.context import NUMBERS_KEPT, NewNumbers
from filedrop.outbound.sender import duplicate, rejected, send
from filedrop.outbound.upload import IN_MEMORY, OpenedDocument, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Exchange
    from support.faults import Fault as Answering
    from support.world import World

    from filedrop.journal import Outcome
    from filedrop.outbound.context import Context

STRANGER = "0192:123456785"
WORDS = "Wrong recipientId value: 0192:810418052"
RETRY = "{first: 5s, longest: 15m}"


@dataclass
class Account:
    """An account that says itself whether documents may be posted."""

    is_ready: bool
    name: str = "acme"

    def ready(self) -> bool:
        return self.is_ready


@dataclass
class Desk:
    """A sender's: one document that is about to be posted, at noon, and what it works with."""

    world: World
    life: Life
    shared: Context
    document: Document
    path: Path
    answers: list[Answering] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.front.always("POST /outbox", self._answer)

    def _answer(self, exchange: Exchange) -> None:
        self.answers[-1](exchange)

    def send(self, answer: Answering = answered, **context: object) -> Outcome | None:
        """Post the document; this becomes of the request."""
        self.answers.append(answer)
        opened = OpenedDocument.open(self.path)
        opened.read(10**9)
        try:
            return send(replace(self.shared, **context), self.document, opened, self.life.pipeline.desk.folder)
        finally:
            opened.close()

    def becomes(self, answer: Answering = answered, **context: object) -> Document:
        """What the document is after it."""
        said = self.send(answer, **context)
        assert said is not None
        return said.document

    @property
    def uploads(self) -> int:
        """How often the access point was asked to send something."""
        return len(self.world.front.asked("POST /outbox"))


@pytest.fixture
def make_desk(make_world: Callable[..., World], tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    lives = []

    def make(**outbound: str) -> Desk:
        world = make_world(outbound={"retry": RETRY, "track": "1m"} | outbound)
        life = Life(world, Clock())
        lives.append(life)
        life.turn()
        life.do_all()
        path = tmp_path / "invoice.xml"
        path.write_bytes(invoice())
        shared = replace(life.pipeline.desk.shared, now=lambda: NOON)
        document = drop(folder=life.pipeline.desk.folder.id).sending(
            NOON, identity=shared.access_point.identity, clock=NOON
        )
        return Desk(world, life, shared, document, path)

    yield make
    for life in lives:
        life.stop()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()


def test_accepted(desk: Desk) -> None:
    """An accepted document has the message's number and times, is asked after in `track`, and has a way back."""
    answer = desk.send()
    assert answer is not None
    assert answer.message is not None
    sent = answer.document
    assert (sent.state, sent.msg_no, sent.due) == (State.SENT, answer.message.msg_no, NOON + timedelta(minutes=1))
    assert (sent.received, sent.uuid, sent.accepted) == (answer.message.received, answer.message.uuid, NOON)
    assert sent.received is not None
    assert answer.otherwise is not None
    assert (answer.otherwise.state, answer.otherwise.history[-1].at) == (State.DOUBT, NOON)
    assert answer.otherwise.why_in_doubt == (
        f"the answer was another document's: message {sent.msg_no} is known; tell the operator"
    )


def test_a_person_holds_the_folder(desk: Desk) -> None:
    """A folder that is held while its document waits for a sender isn't posted from, and it waits without a date."""
    (desk.world.outbound / "HOLD").touch()
    kept = desk.becomes()
    assert (kept.state, kept.due, kept.attempts, desk.uploads) == (State.WAITING, None, 1, 0)
    assert (kept.history[-1].at, kept.history[-1].facts) == (
        NOON,
        {"why": "sending was stopped, or was put on hold, before its turn came"},
    )


@pytest.mark.parametrize("name", ["HOLD.txt", "hold", "hold.txt"])
def test_hold_that_comes_just_before_the_request(desk: Desk, name: str) -> None:
    """A hold file in a usual spelling keeps back the next post, even a moment after the folder was listed."""
    assert desk.life.pipeline.folder.held_by(desk.shared.steady()) == ""
    (desk.world.outbound / name).touch()
    kept = desk.becomes()
    assert (kept.state, desk.uploads) == (State.WAITING, 0)


def test_its_turn_does_not_come(desk: Desk) -> None:
    """When all posting ends while a document waits for a sender, it is not posted."""
    kept = desk.becomes(account=Account(is_ready=False))
    assert (kept.state, kept.due, desk.uploads) == (State.WAITING, None, 0)


def test_a_folder_that_is_away(desk: Desk) -> None:
    """Where nobody can say whether the folder is held, nothing is posted, and it is tried again."""
    desk.world.outbound.rename(desk.world.base / "elsewhere")
    desk.world.outbound.write_bytes(b"")  # not even a folder
    kept = desk.becomes()
    desk.world.outbound.unlink()
    (desk.world.base / "elsewhere").rename(desk.world.outbound)
    assert (kept.state, kept.due, desk.uploads) == (State.WAITING, NOON + timedelta(seconds=5), 0)
    assert kept.history[-1].at == NOON
    assert kept.history[-1].facts == {"why": f"{desk.world.outbound} can't be looked into: Not a directory"}


def test_a_file_that_changes_under_the_request(desk: Desk) -> None:
    """A request that is broken off because its file changes has never arrived; the document is looked at at once."""
    opened = OpenedDocument.open(desk.path)
    opened.read(10**9)
    with desk.path.open("ab") as writer:
        writer.write(b"<!-- more -->")
    document = send(desk.shared, desk.document, opened, desk.life.pipeline.desk.folder).document
    opened.close()
    assert (document.state, document.due, document.history[-1].event) == (State.WAITING, None, "never arrived")
    assert document.history[-1].at == NOON
    assert "the document changed" in document.history[-1].facts["why"]


@pytest.mark.skipif(sys.platform == "win32", reason="elsewhere, a folder can be opened in a file's place")
def test_a_file_that_fails_under_the_request(desk: Desk) -> None:
    """A request that is broken off because its file can no longer be read never arrived; it is tried again later."""
    desk.path.write_bytes(invoice(note="long " * IN_MEMORY))
    opened = OpenedDocument.open(desk.path)
    opened.read(10**9)
    folder = os.open(desk.path.parent, os.O_RDONLY)
    os.dup2(folder, opened.file.fileno())  # what is read of a folder fails
    os.close(folder)
    document = send(desk.shared, desk.document, opened, desk.life.pipeline.desk.folder).document
    opened.close()
    assert (document.state, document.due) == (State.WAITING, NOON + timedelta(seconds=5))
    assert (document.history[-1].at, desk.world.sandbox.store.sent("acme")) == (NOON, [])
    assert "could not be read to its end" in document.history[-1].facts["why"]


def test_an_id_that_cannot_be_one(desk: Desk) -> None:
    """An id that can't be written into a request fails the document, with what to do; nothing is posted."""
    desk.document = replace(desk.document, receiver=f"{SELLER}\n")
    failed = desk.becomes()
    assert (failed.state, failed.history[-1].at, desk.uploads) == (State.FAILED, NOON, 0)
    assert failed.error is not None
    assert failed.error.code == "receiver-unknown" or "RecipientID has a line break" in failed.error.administrator


def test_refused(desk: Desk) -> None:
    """A document that is refused fails in the access point's words."""
    failed = desk.becomes(instead(400, WORDS))
    assert (failed.state, failed.history[-1].at) == (State.FAILED, NOON)
    assert failed.error == rejected(WORDS, 400, drop())
    assert failed.error.message == f'The access point refused the document: "{WORDS}".'


@pytest.mark.parametrize(
    ("answer", "condition"), [(instead(401), "refused"), (instead(404), "wrong address"), (instead(429), "away")]
)
def test_held_back(desk: Desk, answer: Answering, condition: str) -> None:
    """What certainly didn't arrive is tried again, after `first` and then after twice as long; the account pauses."""
    desk.world.front.always("GET /", answer)
    kept = desk.becomes(answer)
    assert (kept.state, kept.attempts, kept.due) == (State.WAITING, 1, NOON + timedelta(seconds=5))
    report = desk.shared.breaker.report
    assert (report.condition, kept.history[-1].at) == (condition, NOON)
    assert kept.history[-1].facts == {"why": report.why}
    desk.document = replace(desk.document, attempts=1)
    assert desk.becomes(answer, account=Account(is_ready=True)).due == NOON + timedelta(seconds=10)


def test_no_clear_answer(desk: Desk) -> None:
    """A document whose answer is lost is in doubt, and why; unexplained is only what was answered and not explained."""
    doubted = desk.becomes(cut_after)
    assert (doubted.state, doubted.unclear, doubted.unexplained) == (State.DOUBT, 1, 0)
    assert doubted.history[-1].at == NOON
    assert doubted.why_in_doubt
    unexplained = desk.becomes(instead(400, "could not execute statement: insert into message values (?)"))
    assert (unexplained.state, unexplained.unclear, unexplained.unexplained) == (State.DOUBT, 1, 1)


@pytest.mark.parametrize("clear", [answered, instead(400, WORDS)], ids=["accepted", "refused"])
def test_doubts_in_a_row_pause_the_account(desk: Desk, clear: Answering) -> None:
    """Several documents without a clear answer, one after the other, are an outage; a clear answer ends the row."""

    def ask(name: str, answer: Answering) -> Document:
        desk.document = replace(desk.document, id=name)
        return desk.becomes(answer)

    ask("1", cut_after)
    ask("2", cut_after)
    ask("3", clear)
    ask("4", cut_after)
    ask("5", cut_after)
    assert desk.shared.breaker.ready
    doubted = ask("6", cut_after)
    report = desk.shared.breaker.report
    assert (report.condition, report.why) == ("away", doubted.why_in_doubt)


def test_an_outage_of_uploads_alone(desk: Desk) -> None:
    """That the access point answers a question doesn't show that it takes documents: the pauses grow all the same."""
    pauses = []
    for _ in range(2):
        for name in "123":
            desk.document = replace(desk.document, id=name)
            desk.becomes(instead(429), account=Account(is_ready=True))
        pauses.append(desk.shared.breaker.wait())
        desk.life._clock.pass_on(pauses[-1])
        assert desk.shared.breaker.allows()
    assert [round(pause) for pause in pauses] == [5, 10]


def accepted_as(header: str, number: int = 4711) -> Answering:
    """A 201 that says this of its message."""

    def answer(exchange: Exchange) -> None:
        body = (
            f'<outbox-post-response version="1.0"><message><message-meta-data><msg-no>{number}</msg-no>{header}'
            "</message-meta-data></message></outbox-post-response>"
        )
        exchange.answer(201, body, [("Content-Type", "application/xml")])

    return answer


RECEIVED = "<received>2026-11-20T12:00:01.000+00:00</received>"


def test_an_answer_about_another_document(make_desk: Callable[..., Desk]) -> None:
    """A message whose status says otherwise of what was posted leaves the document in doubt, and says what is so."""
    desk = make_desk(directory="off")
    desk.world.send_from_elsewhere(invoice("another"))
    (anothers,) = desk.world.sandbox.store.sent("acme")
    desk.document = replace(desk.document, receiver=STRANGER)

    def anothers_number(exchange: Exchange) -> None:
        exchange.answer(201, b"", [("Location", f"{desk.world.front.url}/messages/{anothers.msg_no}")])

    doubted = desk.becomes(anothers_number)
    assert (doubted.state, doubted.msg_no) == (State.DOUBT, None)
    assert doubted.why_in_doubt == (
        f"the answer was about another document, message {anothers.msg_no}: its receiver is {BUYER}, not {STRANGER}; "
        "tell the operator"
    )


def test_numbers_that_are_new() -> None:
    """A number above all that the journal had is new, once, in whatever order they come; the journal is asked once."""
    numbers, asked = NewNumbers(), list[int]()

    def highest() -> int:
        asked.append(5)
        return 5

    assert [numbers.use(number, highest) for number in (7, 6, 7, 5, 3, 8)] == [True, True, False, False, False, True]
    assert all(numbers.use(number, highest) for number in range(9, 3 * NUMBERS_KEPT))
    assert not any(numbers.use(number, highest) for number in range(3 * NUMBERS_KEPT))
    assert asked == [5]


def test_another_documents_answer_while_that_is_under_way(desk: Desk) -> None:
    """Of two that are told the same number one after the other, the second is in doubt; its connection is given up."""
    connections = []

    def ask(name: str, number: int) -> Document:
        def answer(exchange: Exchange) -> None:
            connections.append(exchange.connection)
            accepted_as(RECEIVED, number)(exchange)

        desk.document = replace(desk.document, id=name)
        return desk.becomes(answer)

    assert ask("first", 4711).state is State.SENT
    second = ask("second", 4711)
    assert second.state is State.DOUBT
    assert second.why_in_doubt == "the answer was another document's: message 4711 is known; tell the operator"
    assert ask("third", 4712).state is State.SENT
    first, second_, third = connections
    assert first is second_
    assert second_ is not third


def test_an_answer_that_a_recorded_document_had(desk: Desk) -> None:
    """A number that the journal has for another document of the company is that one's."""
    first = desk.becomes(accepted_as(RECEIVED))
    desk.shared.journal.documents.restore([first])
    desk.shared.window.release(first.id)
    desk.document = replace(desk.document, id="second", number="2", meaning="another", sha256="another")
    assert desk.becomes(accepted_as(RECEIVED)).state is State.DOUBT


def test_an_answer_that_says_only_a_number(desk: Desk) -> None:
    """When and as what it was received is asked for; where nobody says so, the document is accepted all the same."""

    def only_a_location(exchange: Exchange) -> None:
        exchange.answer(201, b"", [("Location", next(v for n, v in exchange.arrive().headers if n == "Location"))])

    sent = desk.becomes(only_a_location)
    assert (sent.state, sent.received is None, sent.uuid is None) == (State.SENT, False, False)

    def nor_a_status(exchange: Exchange) -> None:
        desk.world.front.always("GET /outbox", instead(500))
        only_a_location(exchange)

    desk.document = replace(desk.document, id="second")
    sent = desk.becomes(nor_a_status)
    numbers = {message.msg_no for message in desk.world.sandbox.store.sent("acme")}
    assert (sent.state, sent.msg_no in numbers, sent.received) == (State.SENT, True, None)


@pytest.mark.parametrize(("directory", "asked"), [("off", False), ("warn", True), ("refuse", True)])
def test_what_the_directory_objects(make_desk: Callable[..., Desk], directory: str, asked: bool) -> None:  # noqa: FBT001 - a column
    """A receiver that nobody knows isn't asked after, is warned of, or isn't sent to, as the configuration has it."""
    desk = make_desk(directory=directory)
    desk.document = replace(desk.document, receiver=STRANGER)
    document = desk.becomes()
    assert bool(desk.world.front.asked("GET /directory")) is asked
    if directory == "refuse":
        assert (document.state, document.history[-1].at, desk.uploads) == (State.FAILED, NOON, 0)
        assert document.error is not None
        assert document.error.code == "receiver-unknown"
    else:
        assert (len(document.warnings), desk.uploads) == (asked, 1)
        assert all(STRANGER in warning for warning in document.warnings)


def test_what_a_refusal_says() -> None:
    """The access point's words stand in the note; where it had none, that is said."""
    assert rejected("No", 400, drop()).message == 'The access point refused the document: "No".'
    assert rejected("", 415, drop()).message == "The access point refused the document, and gave no reason."
    assert [rejected("No", status, drop()).administrator.partition(".")[0] for status in (400, 415)] == [
        "HTTP status 400", "HTTP status 415",
    ]  # fmt: skip
    assert rejected("", 413, drop()).message == "The document is larger than the access point allows."


def test_what_is_said_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Why, and who has to be given which right."""
    path = tmp_path / "invoice.xml"
    fault = unreadable(path, PermissionError(13, "Permission denied"))
    assert (fault.code, fault.message) == ("unreadable", "filedrop is not allowed to read the file.")
    assert "The file can't be read: Permission denied. See who owns it" in whole(fault)
    assert f"give the service the right to read {tmp_path} " in whole(fault)
    assert "The file can't be read: odd." in whole(unreadable(path, OSError("odd")))


def test_what_is_said_of_a_duplicate() -> None:
    """What was dropped before, from whom to whom, under which name and when: nothing that changes later."""
    first = replace(drop(number="1001", claimed=NOON), state=State.DOUBT)
    fault = duplicate(first)
    assert fault.code == "duplicate"
    here = NOON.astimezone()
    assert fault.message == (
        f"The same Invoice 1001 may have been sent before, as invoice-1.xml, on {here.day} {here:%B %Y, %H:%M}."
    )
    assert fault.hint.startswith("Is this the same document again? See what became of invoice-1.xml. If it was sent, ")
    assert fault.administrator == (
        f"The first one, invoice-1.xml, was dropped on {here.day} {here:%B %Y, %H:%M}, from "
        f"{first.sender} to {first.receiver}. To see what became of it: filedrop history {first.id}"
    )
    accepted = duplicate(replace(first, msg_no=7, state=State.SENT))
    assert (accepted.code, accepted.message) == (
        "duplicate",
        f"The same Invoice 1001 was sent before, as invoice-1.xml, on {here.day} {here:%B %Y, %H:%M}.",
    )
    assert accepted.administrator.startswith("The first one, invoice-1.xml (message number 7), was dropped")
    assert accepted.hint.startswith("Is this the same document again? Then delete the file")
    together = duplicate(replace(first, state=State.SENDING))
    assert together.message.endswith(f"{here:%B %Y, %H:%M}, and filedrop had begun to send it.")
    assert together.hint == fault.hint
    assert duplicate(replace(first, number=None)).message.startswith("The same Invoice may ")
    assert duplicate(replace(first, type=None, number=None)).message.startswith("The same document may ")
