"""A received invoice that a person moves into `accepted/`, `rejected/` or `queried/` is answered, once."""

from __future__ import annotations

import errno
import io
import json
import os
from typing import TYPE_CHECKING

import pytest
from support import promises
from support.corpus import needs_corpus
from support.documents import BUYER, SELLER, credit_note, envelope, invoice, order
from support.faults import cut_after, instead, reset_before
from support.plug import tapped
from support.reused import Shelf
from support.rights import as_anyone
from support.rules import published_rules
from support.schemas import wrong
from support.stepping import RULES, Life
from support.systems import modes
from support.unwritable import refuse_writes
from support.world import World

from filedrop.config import Validation
from filedrop.inbound.answers import LIES
from filedrop.inbound.moved import kept_back
from filedrop.readable.response import Reply, replies_in
from filedrop.validation import Kind, validator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Fault
    from support.matrix import Sample
    from support.stepping import Clock

    from filedrop.sandbox import Message

SHELF = Shelf(None)
STRANGER = "0192:123456785"
EVENTS = ["answer recorded", "answer sent", "answer accepted", "answer delivered"]
CII = """<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
    xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
  <rsm:ExchangedDocument><ram:ID>C-1</ram:ID><ram:TypeCode>381</ram:TypeCode>
    <ram:IssueDateTime><udt:DateTimeString format="102">20261120</udt:DateTimeString></ram:IssueDateTime>
  </rsm:ExchangedDocument>
  <rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
    <ram:SellerTradeParty><ram:Name>Fisch &amp; Söhne</ram:Name></ram:SellerTradeParty>
    <ram:BuyerTradeParty><ram:Name>Blåbær og Bær AS</ram:Name></ram:BuyerTradeParty>
  </ram:ApplicableHeaderTradeAgreement></rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>""".encode()


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world in which moving answers."""
    return make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true)


@pytest.fixture
def life(world: World, clock: Clock) -> Iterator[Life]:
    """A filedrop that has made its folders."""
    one = Life(world, clock)
    one.go_on(10)
    yield one
    one.drop()


def receive(world: World, life: Life, content: bytes | None = None) -> Path:
    """A received document in `inbound/`: an invoice, if none is given."""
    before = set(world.delivered())
    world.receive(from_buyer() if content is None else content)
    life.go_on(600, until=lambda: set(world.delivered()) - before)
    (path,) = set(world.delivered()) - before
    return path


def from_buyer(number: str = "1001", *, note: str = "") -> bytes:
    """An invoice of the buyer's to the seller: here the buyer is the one who sends invoices."""
    return invoice(number, sender=BUYER, receiver=SELLER, note=note)


def move(path: Path, folder: str) -> Path:
    """Move a document, and nothing else, into one of the folders."""
    inbound = path.parent if path.parent.name == "inbound" else path.parent.parent
    return path.rename(inbound / folder / path.name)


def wait(life: Life) -> None:
    """So long that what was moved is answered, sent and delivered."""
    life.go_on(LIES + 600)


def sent(world: World) -> list[Message]:
    """What acme has sent."""
    return sorted(world.sandbox.store.sent("acme"), key=lambda message: message.msg_no)


def answers(world: World) -> list[Reply]:
    """What acme has answered, in its order."""
    contents = (world.sandbox.store.content(message.msg_no) for message in sent(world))
    return [answer for content in contents for answer in replies_in(io.BytesIO(content))]


def note(path: Path) -> str:
    """The first and the third line of the note beside a moved file."""
    lines = path.with_name(f"{path.name}.why.txt").read_text().splitlines()
    return f"{lines[0]} {lines[2]}"


def test_an_answer_by_each_folder(world: World, life: Life) -> None:
    """A moved invoice is answered with the folder's code, once, by the ids of its message; the answer is followed."""
    folders = ["accepted", "rejected", "queried"]
    for folder in folders:
        move(receive(world, life, from_buyer(folder)), folder)
    wait(life)
    wait(life)
    assert {(message.sender, message.receiver) for message in sent(world)} == {(SELLER, BUYER)}
    assert {message.process_id for message in sent(world)} == {"urn:fdc:peppol.eu:poacc:bis:invoice_response:3"}
    (document_id,) = {message.document_id for message in sent(world)}
    assert document_id.endswith("##urn:fdc:peppol.eu:poacc:trns:invoice_response:3::2.1")
    said = [(one.number, one.code, one.type_code, one.issue_date, bool(one.reason)) for one in answers(world)]
    assert sorted(said) == [
        ("accepted", "AP", "380", "2026-11-20", False),
        ("queried", "UQ", "380", "2026-11-20", True),
        ("rejected", "RE", "380", "2026-11-20", True),
    ]
    for folder in folders:
        (archived,) = (world.outbound / "archive").glob(f"*/{folder}-{folder}.xml")
        beside = json.loads(archived.with_name(f"{archived.name}.json").read_text())
        assert set(beside["sources"].values()) == {"answer"}
    assert not list(world.inbound.glob("*/*.why.txt"))


@needs_corpus
def test_answers_are_valid(world: World, life: Life, tmp_path: Path) -> None:
    """Each answer, also with odd texts in it, keeps the network's rules for Invoice Responses."""
    odd = invoice("1 & <2>", sender=BUYER, receiver=SELLER).replace("Kjøper".encode(), b"K&amp;K &lt;Ltd&gt;")
    for folder, content in (
        ("accepted", None), ("rejected", odd), ("queried", envelope(credit_note())), ("rejected", CII),
    ):  # fmt: skip
        path = move(receive(world, life, content), folder)
        path.with_name(f"{path.name}.reason.txt").write_bytes("Née\x01 < & > \ufffe\U0001f40d\r\n\r\nzwei".encode())
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP", "RE", "UQ", "RE"]
    rules = Validation(rules=published_rules(tmp_path / "rules"))
    validator = validator_of(rules, passed=())
    assert validator
    try:
        for message in sent(world):
            kind = Kind("ApplicationResponse", "urn:fdc:peppol.eu:poacc:trns:invoice_response:3", "acme")
            verdict = validator.judge(kind, iter([world.sandbox.store.content(message.msg_no)]))
            assert verdict.rules
            assert not verdict.findings
    finally:
        validator.close()


def test_answers_to_other_documents(world: World, life: Life) -> None:
    """A credit note, one in an envelope and a CII are answered, too, with their own type code and their parties."""
    for content in (credit_note(), envelope(credit_note("2002")), CII):
        move(receive(world, life, content), "accepted")
    wait(life)
    said = sorted((answer.number, answer.type_code, answer.issue_date) for answer in answers(world))
    assert said == [("2001", "381", "2026-11-20"), ("2002", "381", "2026-11-20"), ("C-1", "381", "2026-11-20")]
    written = "".join(world.sandbox.store.content(message.msg_no).decode() for message in sent(world))
    assert "<cbc:RegistrationName>Fisch &amp; Söhne<" in written
    assert written.count("<cbc:RegistrationName>Blåbær og Bær AS<") == 3


REASONS = [  # the name of its file, its encoding, what a person has written, and what is sent
    ("{name}.xml.reason.txt", "utf-8", "Die Nummer fehlt.\r\nÜ", "Die Nummer fehlt. Ü"),
    ("{name}.reason.txt", "utf-8-sig", "Ü", "Ü"),
    ("{name}.reason.txt", "utf-16", "Ü", "Ü"),
    ("{name}.reason.txt", "cp1252", "Ü", "Ü"),
    ("{name}.xml.reason.txt", "utf-8", "x" * 5000, "x" * 500),  # as a reader here cuts it
    ("{name}.reason.txt", "utf-8", "x" + "ü" * 8000, "x" + "ü" * 499),  # cut within a letter
    ("{name}.Reason.TXT", "utf-8", "Ü", "Ü"),
    ("{name}.reason.txt.txt", "utf-8", "Ü", "Ü"),  # an Explorer that hides endings writes another one
    ("{name}.xml.reason.txt", "utf-8", " \r\n", "The receiver rejects this document and has given no reason."),
]


def test_reasons(world: World, life: Life) -> None:
    """The text of the reason's file is sent, in whichever encoding an editor has written it; it gets no note."""
    for nth, (name, encoding, written, _) in enumerate(REASONS):
        path = move(receive(world, life, from_buyer(str(nth))), "rejected")
        path.with_name(name.format(name=path.stem)).write_text(written, encoding=encoding, newline="")
    wait(life)
    assert {answer.number: answer.reason for answer in answers(world)} == {
        str(nth): expected for nth, (*_, expected) in enumerate(REASONS)
    }
    assert not list(world.inbound.glob("*/*.why.txt"))


@pytest.mark.parametrize("back", [True, False], ids=["moved back", "deleted"])
def test_a_move_that_is_undone(world: World, life: Life, *, back: bool) -> None:
    """What is moved back or deleted within five minutes is not answered; moved again, its time begins again."""
    path = receive(world, life)
    moved = move(path, "accepted")
    life.go_on(LIES - 130)
    moved.rename(path) if back else moved.unlink()
    wait(life)
    assert not sent(world)
    if back:
        move(path, "rejected")
        life.go_on(LIES - 130)
        assert not sent(world)
        wait(life)
        assert [answer.code for answer in answers(world)] == ["RE"]


def test_a_move_to_another_folder(world: World, life: Life) -> None:
    """Of several folders within five minutes, the last one counts, for which the time begins again."""
    path = move(receive(world, life), "accepted")
    life.go_on(LIES - 130)
    path = move(path, "rejected")
    life.go_on(LIES - 130)
    assert not sent(world)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["RE"]


def test_many_moved_files(world: World, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files lie in the folders: while filedrop decides on them, it doesn't list them again each time."""
    path = move(receive(world, life), "accepted")
    content = path.read_bytes()
    for nth in range(100):
        path.with_name(f"copy {nth}.xml").write_bytes(content)
    path.with_name("other.xml").write_bytes(b"")
    (answering,) = life.service.accounts[0].answers
    life.go_on(200)
    listed: list[object] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda where: listed.append(where) or scan(where))
    life._clock.pass_on(LIES)
    for _ in range(20):
        answering.step()
    assert path.with_name("other.xml.why.txt").exists()
    assert len(listed) <= 3  # each folder once


def test_a_move_that_is_undone_at_the_last_moment(world: World, life: Life) -> None:
    """Moved back when filedrop is about to decide, and in again soon after, a file is answered."""
    path = receive(world, life)
    moved = move(path, "accepted")
    life.go_on(600, until=lambda: life.service.accounts[0].answers[0]._moved)
    life._clock.later(LIES - 5, lambda: moved.rename(path))
    life._clock.later(LIES + 5, lambda: move(path, "accepted"))
    life.go_on(LIES + 20)
    assert not sent(world)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]


@modes
def test_a_file_that_cannot_be_read(world: World, life: Life) -> None:
    """A file without the right to read is logged once, and answered when it has that."""
    path = move(receive(world, life), "accepted")
    path.chmod(0)
    with as_anyone():
        wait(life)
    assert not sent(world)
    assert len([line for line in world.log() if line["event"] == "answers.failed"]) == 1
    path.chmod(0o644)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]


@pytest.mark.parametrize(("last", "code"), [("accepted", "AP"), ("rejected", "RE")])
def test_an_answer_after_a_question(world: World, life: Life, last: str, code: str) -> None:
    """A question may be followed by one answer; what comes then is not answered, and a note says so."""
    path = move(receive(world, life), "queried")
    wait(life)
    path = move(path, last)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["UQ", code]
    assert not list(world.inbound.glob("*/*.why.txt"))
    for folder in ("queried", "accepted" if last == "rejected" else "rejected"):
        path = move(path, folder)
        wait(life)
        assert note(path) == f"{path.name} was not answered. Your company has answered this document before."
    assert len(sent(world)) == 2
    move(path, last)
    wait(life)
    assert not list(world.inbound.glob("*/*.why.txt"))  # where it was answered, it is as it should be


def test_a_trace_of_an_answer(world: World, life: Life) -> None:
    """A note beside the file says when the answer will be sent, and then that it was; `history` shows it, too."""
    path = move(receive(world, life), "accepted")
    told = path.with_name(f"{path.name}.answer.txt")
    life.go_on(130)
    first = told.read_text(encoding="utf-8")
    assert first.startswith("Your answer will be sent on ")
    assert "unless you move the file back" in first
    life.go_on(130)
    assert told.read_text(encoding="utf-8") == first
    wait(life)
    assert told.read_text(encoding="utf-8").startswith("Your answer was sent on ")
    for shown in (world.filedrop("history", path.name).stdout, world.filedrop("history", "--number", "1001").stdout):
        assert "answered with AP: delivered, message 2" in shown
    (answer,) = json.loads(world.filedrop("history", path.name, "--json").stdout)["answers"]
    assert (answer["code"], answer["state"], answer["file"]) == ("AP", "delivered", "accepted-1001.xml")
    events = json.loads((world.inbound / f"{path.name}.json").read_text())["history"]  # it stayed there
    assert [event["event"] for event in events] == EVENTS
    assert {event["code"] for event in events} == {"AP"}
    assert events[2]["msg_no"] == 2
    path.rename(world.inbound / path.name)
    life.go_on(130)
    assert not told.exists()


def test_a_trace_of_answers_that_were_not_sent(make_world: Callable[..., World], clock: Clock) -> None:
    """What failed and what isn't answered say so, in the language of the company."""
    companies = {"acme": f'{{participants: ["{SELLER}"], language: de}}'}
    inbound = {"poll": "5m", "answers": "move"}
    world = make_world(outbound=RULES, inbound=inbound, clock=clock.true, companies=companies)
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice(sender=STRANGER, receiver=SELLER), sender=STRANGER)
    life.go_on(600)
    path = move(next(iter(world.delivered())), "accepted")
    path.with_name(f"{path.name}.json").write_bytes((world.inbound / f"{path.name}.json").read_bytes())
    (world.inbound / f"{path.name}.json").unlink()
    other = path.with_name("own.xml")
    other.write_bytes(invoice("2"))
    wait(life)
    wait(life)
    said = path.with_name(f"{path.name}.answer.txt").read_text(encoding="utf-8")
    assert said.startswith("Ihre Antwort konnte nicht gesendet werden.")
    assert "accepted-1001.xml" in said
    assert not other.with_name("own.xml.answer.txt").exists()
    assert other.with_name("own.xml.why.txt").exists()
    assert "answered with AP: failed" in world.filedrop("history", path.name).stdout
    events = json.loads(path.with_name(f"{path.name}.json").read_text())["history"]
    assert [event["event"] for event in events] == ["answer recorded", "answer sent", "answer failed"]
    assert events[2]["why"] == f"By the directory, {STRANGER} can't receive answers to invoices."
    assert not list(wrong("sidecar", json.loads(path.with_name(f"{path.name}.json").read_text())))
    life.drop()


def test_note_about_any_file_name() -> None:
    """A note names a file as people can read it, whatever bytes its name has."""
    assert "x_?.xml" in kept_back("x_\udcfc.xml", "en").content.decode()


def test_a_folder_that_is_moved(world: World, life: Life) -> None:
    """A folder that is moved as a whole is answered file by file, if all in it can be answered."""
    folder = world.inbound / "november"
    (folder / "late").mkdir(parents=True)
    for number, name in (("1", "a.xml"), ("2", "b.xml"), ("3", "late/c.xml")):
        receive(world, life, from_buyer(number)).rename(folder / name)
    (folder / "a.html").write_text("its page")
    (folder / "b.reason.txt").write_text("Wrong order number")
    folder.rename(world.inbound / "rejected" / "november")
    wait(life)
    assert sorted((answer.number, answer.code) for answer in answers(world)) == [("1", "RE"), ("2", "RE"), ("3", "RE")]
    assert "Wrong order number" in [answer.reason for answer in answers(world)]
    wait(life)
    said = (world.inbound / "rejected" / "november" / "late" / "c.xml.answer.txt").read_text()
    assert said.startswith("Your answer was sent on ")
    assert not [report for report in life.service.report().accounts[0].inbound if report.warnings]


def test_a_folder_with_something_else(world: World, life: Life) -> None:
    """Nothing in a folder is answered while something in it can't be. That is reported, and a note names it."""
    folder = world.inbound / "november"
    folder.mkdir()
    receive(world, life).rename(folder / "a.xml")
    letter = world.inbound / "accepted" / "november" / "letter.pdf"
    (folder / letter.name).write_bytes(b"%PDF-1.7")
    folder.rename(letter.parent)
    wait(life)
    assert not sent(world)
    (report,) = [report for report in life.service.report().accounts[0].inbound if report.warnings]
    why = "nothing in accepted/november is answered, because accepted/november/letter.pdf can't be"
    assert report.warnings == (f"{why}: move it elsewhere",)
    assert note(letter).startswith("letter.pdf was not answered. Your company has not received")
    said = letter.with_name("a.xml.answer.txt")
    assert said.read_text().startswith("Your answer is not sent yet, because accepted/november/letter.pdf ")
    letter.rename(world.inbound / letter.name)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]
    assert not [report for report in life.service.report().accounts[0].inbound if report.warnings]
    wait(life)
    assert said.read_text().startswith("Your answer was sent on ")
    assert not letter.with_name("letter.pdf.why.txt").exists()


def change_mind(world: World, life: Life) -> None:
    """Ask about an invoice, and accept it when the question's request was made."""
    path = move(receive(world, life), "queried")
    life.go_on(LIES + 600, until=lambda: world.front.asked("POST /outbox"))
    move(path, "accepted")


def test_an_answer_while_the_former_is_in_doubt(world: World, life: Life) -> None:
    """The answer after a question waits until it is clear whether the question has arrived."""
    path = move(receive(world, life), "queried")
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", instead(500))
    life.go_on(LIES + 600, until=lambda: world.front.asked("POST /outbox"))
    move(path, "accepted")
    life.go_on(LIES + 900)
    assert [answer.code for answer in answers(world)] == ["UQ"]
    world.front.heal()
    life.go_on(3600)
    assert [answer.code for answer in answers(world)] == ["UQ", "AP"]


def test_an_answer_while_the_former_is_on_its_way(make_world: Callable[..., World], clock: Clock) -> None:
    """What was accepted by the access point may still be on its way to the receiver: the next answer waits for it."""
    inbound = {"poll": "5m", "answers": "move"}
    world = make_world(outbound=RULES, inbound=inbound, clock=clock.true, deliver_after=2400)
    life = Life(world, clock)
    change_mind(world, life)
    life.go_on(LIES + 600)
    assert [answer.code for answer in answers(world)] == ["UQ"]
    life.go_on(3600)
    assert [answer.code for answer in answers(world)] == ["UQ", "AP"]
    life.drop()


@pytest.mark.parametrize(
    "fault", [instead(503, "", ("Retry-After", "1800")), reset_before], ids=["an outage", "never there"]
)
def test_an_answer_before_the_former_has_left(world: World, life: Life, fault: Fault) -> None:
    """An answer that certainly never left is dropped for the one after it; its file goes, and `history` says why."""
    world.front.always("POST /outbox", fault)
    change_mind(world, life)
    life.go_on(LIES + 300)
    world.front.heal()
    life.go_on(2 * 3600)
    assert [answer.code for answer in answers(world)] == ["AP"]
    assert not list((world.outbound / "sending").iterdir())
    assert not list((world.outbound / "failed").iterdir())
    assert "replaced by a later answer" in world.filedrop("history", "queried-1001.xml").stdout
    (answered,) = (world.inbound / "accepted").glob("*.xml")
    assert "answered with UQ: replaced, " in world.filedrop("history", answered.name).stdout


def test_an_answer_before_the_former_is_placed(world: World, life: Life) -> None:
    """Of two answers that find their folder unavailable, only the later one is sent."""
    path = move(receive(world, life), "queried")
    away = world.outbound.rename(world.outbound.with_name("elsewhere"))
    wait(life)
    move(path, "accepted")
    wait(life)
    away.rename(world.outbound)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (order(sender=BUYER, receiver=SELLER), "Only invoices and credit notes can be answered."),
        (
            from_buyer().replace(b"<cbc:ID>1001</cbc:ID>", b""),
            "The document has no number, or its sender is not known.",
        ),
    ],
    ids=["an order", "without a number"],
)
def test_a_document_that_cannot_be_answered(world: World, life: Life, content: bytes, why: str) -> None:
    """A note says why a received document is not answered; it goes as soon as the document is moved back."""
    path = receive(world, life, content)
    moved = move(path, "accepted")
    wait(life)
    assert note(moved) == f"{path.name} was not answered. {why}"
    moved.rename(path)
    life.go_on(130)
    assert not list((world.inbound / "accepted").glob("*.txt"))
    assert not sent(world)


def test_a_file_that_was_never_received(world: World, life: Life) -> None:
    """A file of the person's own, one that was changed, and an attachment alone are not answered; notes say so."""
    accepted = world.inbound / "accepted"
    path = receive(world, life)
    changed = accepted / "changed.xml"
    changed.write_bytes(path.read_bytes().replace(b"Purchasing", b"Sales"))
    (accepted / "scan.pdf").write_bytes(b"%PDF-1.7")
    wait(life)
    why = "Your company has not received a document with exactly this content."
    assert note(changed) == f"changed.xml was not answered. {why}"
    assert note(accepted / "scan.pdf") == f"scan.pdf was not answered. {why}"
    assert not sent(world)


def test_what_is_moved_with_a_document(make_world: Callable[..., World], clock: Clock) -> None:
    """Sidecar, page and attachments may go with a document: they get no notes, and nobody's work is in the way."""
    world = make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true)
    life = Life(world, clock)
    path = receive(world, life)
    (path.parent / f"{path.stem}.html").write_text("page")
    (path.parent / f"{path.stem}-1-timesheet.pdf").write_bytes(b"%PDF-1.7")
    (path.parent / f"{path.stem}.pdf").write_bytes(b"%PDF-1.7")
    for beside in path.parent.glob(f"{path.stem}*"):
        move(beside, "accepted")
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]
    assert not list((world.inbound / "accepted").glob("*.why.txt"))
    life.drop()


def test_an_answer_to_a_document_in_a_folder(make_world: Callable[..., World], clock: Clock) -> None:
    """Documents whose names lead into folders are answered like others, and then `status` counts them no more."""
    keys = {"poll": "5m", "answers": "move", "name": '"{sender}/{number}"'}
    world = make_world(outbound=RULES, inbound=keys, clock=clock.true)
    life = Life(world, clock)
    world.receive(from_buyer())
    life.go_on(600)
    path = world.inbound / "0192_810418052" / "1001.xml"
    assert json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["received"] == 1
    path.rename(world.inbound / "queried" / "1001.xml")
    wait(life)
    assert [answer.code for answer in answers(world)] == ["UQ"]
    assert json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["received"] == 0
    life.drop()


def test_an_answer_has_its_own_ids(make_world: Callable[..., World], clock: Clock) -> None:
    """No mapping rule changes an answer's ids."""
    rule = 'mapping:\n  - {receiver: "0192:123456785", process_id: "urn:wrong", channel: wrong}'
    world = make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true, more=rule)
    life = Life(world, clock)
    move(receive(world, life), "accepted")
    wait(life)
    (message,) = sent(world)
    assert (message.sender, message.receiver) == (SELLER, BUYER)
    life.drop()


def test_a_sender_that_takes_no_answers(world: World, life: Life) -> None:
    """If the directory says that the sender takes no Invoice Response, nothing is sent, and a note says so."""
    world.receive(invoice(sender=STRANGER, receiver=SELLER), sender=STRANGER)
    life.go_on(600)
    (path,) = world.delivered()
    move(path, "accepted")
    wait(life)
    assert not sent(world)
    failed = world.outbound / "failed" / "accepted-1001.xml"
    assert json.loads(failed.with_name(f"{failed.name}.json").read_text())["error"]["code"] == "not-accepted"
    said = failed.with_name(f"{failed.name}.why.txt").read_text()
    assert f"By the directory, {STRANGER} can't receive answers to invoices." in said


def test_a_directory_that_says_nothing(world: World, life: Life) -> None:
    """Where the directory doesn't answer, an answer is sent."""
    world.front.always("GET /directory", instead(503))
    move(receive(world, life), "accepted")
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]


@pytest.mark.parametrize("is_folder", [True, False], ids=["a folder", "a file"])
def test_a_folder_of_somebody_else(make_world: Callable[..., World], clock: Clock, *, is_folder: bool) -> None:
    """Nothing in an `accepted/` that was there before is answered: check, status and log say so; the others work."""
    world = make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true)
    before = world.inbound / "accepted"
    before.parent.mkdir()
    before.mkdir() if is_folder else before.write_text("a list")
    life = Life(world, clock)
    first, second = receive(world, life), receive(world, life, from_buyer("2"))
    if is_folder:
        move(first, "accepted")
    move(second, "rejected")
    wait(life)
    assert [(answer.number, answer.code) for answer in answers(world)] == [("2", "RE")]
    assert not (before / ".filedrop").exists()
    (report,) = [folder for folder in life.service.report().accounts[0].inbound if folder.warnings]
    assert str(before) in str(report.warnings)
    logged = [line for line in world.log() if line["event"] == "answers.refused"]
    assert len(logged) == 1
    life.drop()
    (line,) = [line for line in world.filedrop("check").stdout.splitlines() if str(before) in line]
    assert line.startswith("warning")
    before.rename(before.with_name("ours"))
    life = Life(world, clock)
    life.go_on(10)
    assert (before / ".filedrop").exists()
    life.drop()


def test_folders_of_answers_that_are_off(make_world: Callable[..., World], clock: Clock) -> None:
    """By default no folder is made, and nothing in one of these names is answered."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    path = receive(world, life)
    assert not (world.inbound / "accepted").exists()
    (world.inbound / "accepted").mkdir()
    move(path, "accepted")
    wait(life)
    assert not sent(world)
    assert not list(world.inbound.glob("*/*.txt"))
    life.drop()


def test_an_answer_after_a_start(world: World, life: Life, clock: Clock) -> None:
    """After a start, the five minutes begin again; what was answered before stays answered."""
    first = move(receive(world, life), "accepted")
    wait(life)
    second = move(receive(world, life, from_buyer("2")), "queried")
    life.go_on(LIES - 130)
    life.drop()
    life = Life(world, clock)
    life.go_on(LIES - 130)
    assert len(sent(world)) == 1
    wait(life)
    assert [(answer.number, answer.code) for answer in answers(world)] == [("1001", "AP"), ("2", "UQ")]
    assert not list(world.inbound.glob("*/*.why.txt"))
    assert first.exists()
    assert second.exists()
    life.drop()


def test_an_answer_while_the_folder_is_held(world: World, life: Life) -> None:
    """HOLD holds answers as it holds every document."""
    (world.outbound / "HOLD").touch()
    move(receive(world, life), "accepted")
    wait(life)
    assert not sent(world)
    assert (world.outbound / "sending" / "accepted-1001.xml").exists()
    (world.outbound / "HOLD").unlink()
    wait(life)
    assert len(answers(world)) == 1


def test_an_answer_whose_name_is_taken(world: World, life: Life) -> None:
    """Two documents with one number, from whatever sender, are both answered, under names of their own."""
    for note_ in ("one", "two"):
        move(receive(world, life, from_buyer(note=note_)), "accepted")
    wait(life)
    assert len(answers(world)) == 2
    assert len(list((world.outbound / "archive").glob("*/accepted-1001*.xml"))) == 2


def test_an_answer_that_cannot_be_placed(world: World, life: Life) -> None:
    """While the disk is full, an answer without its file isn't one that somebody has taken: it is sent later, once."""
    move(receive(world, life), "accepted")

    def full(step: str) -> None:
        if step == "create":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with tapped(full):
        life.go_on(LIES + 900)
    assert not sent(world)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]


def test_an_answer_that_cannot_be_recorded(world: World, life: Life) -> None:
    """While the journal can't be written, nothing is decided; then the answer is sent, once."""
    move(receive(world, life), "accepted")
    refuse_writes(life.journal)
    wait(life)
    assert not sent(world)
    refuse_writes(life.journal, refuses=False)
    wait(life)
    assert [answer.code for answer in answers(world)] == ["AP"]
    assert not list(world.inbound.glob("*/*.why.txt"))


def test_an_older_journal_answers_nothing_again(world: World, life: Life, clock: Clock) -> None:
    """An older copy of the journal that is put back doesn't know the answer; its sidecar does, and it is sent once."""
    path = receive(world, life)
    life.stop()
    copy = world.copy_of_journal()
    life = Life(world, clock)
    move(path, "accepted")
    wait(life)
    life.stop()
    world.put_back(copy)
    life = Life(world, clock)
    wait(life)
    assert len(sent(world)) == 1
    assert not list((world.outbound / "sending").iterdir())
    life.drop()


def test_a_response_at_the_other_side(make_world: Callable[..., World], clock: Clock) -> None:
    """Who has sent the invoice gets the answer, and sees it beside that invoice."""
    companies = {"acme": f'{{participants: ["{SELLER}"], account: main}}'}
    companies["buyer"] = f'{{participants: ["{BUYER}"], account: other}}'
    world = make_world(
        outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true, companies=companies
    )  # fmt: skip
    another = f"other: {{base_url: '{world.front.url}', username: buyer, password_file: '{world.password_file}'}}"
    text = world.config_text().replace("root:", f"  {another}\nroot:", 1)
    world.config_text = lambda: text  # type: ignore[method-assign] # this world's own accounts
    life = Life(world, clock)
    life.go_on(10)
    other_side = world.root / "buyer"
    world.put(other_side / "outbound" / "invoice.xml", invoice("77", sender=BUYER, receiver=SELLER))
    life.go_on(900)
    (path,) = world.delivered()
    move(path, "rejected").with_suffix(".reason.txt").write_text("Too late.")
    wait(life)
    life.go_on(900)
    (beside,) = other_side.glob("outbound/archive/*/invoice.xml.json")
    (response,) = json.loads(beside.read_text())["responses"]
    assert (response["code"], response["reason"]) == ("RE", "Too late.")
    life.drop()


def live(world: World, life: Life, *, until: Callable[[], object] = lambda: False) -> None:
    """Receive what is in the inbox, accept it as soon as that is possible, and go on for long enough."""
    accepted = world.inbound / "accepted"
    life.go_on(600, until=lambda: accepted.is_dir() and (world.delivered() or [*accepted.glob("*.xml")]))
    for path in world.delivered():
        move(path, "accepted")
    life.go_on(LIES + 900, until=until)


class Killed(BaseException):
    """The process ends here: nothing that follows is done."""


def test_a_kill_at_any_moment(tmp_path: Path, clock: Clock, sample: Sample) -> None:
    """Killed just before any of its side effects, from the making of the folders on, filedrop answers once."""

    def answered_when_killed(nth: int) -> int:
        """How many side effects there were, where it is killed before the n-th."""
        base = tmp_path / str(nth)
        base.mkdir()
        inbound = {"poll": "5m", "answers": "move"}
        with World(base, outbound=RULES, inbound=inbound, clock=clock.true, sandbox=SHELF.take) as world:
            world.receive(from_buyer())

            def kill(_step: str) -> None:
                if len(tap.steps) == nth:
                    raise Killed

            life = Life(world, clock)
            with tapped(kill) as tap:
                try:
                    live(world, life, until=lambda: [*world.outbound.glob("archive/*/*.json")])
                except Killed:
                    assert nth
            life.drop()
            life = Life(world, clock)
            live(world, life)
            life.stop()
            assert [answer.code for answer in answers(world)] == ["AP"], nth
            assert len(list((world.outbound / "archive").glob("*/*.xml"))) == 1
            assert [left for left in promises.leftovers(world) if "/inbound/2" not in left] == []
            SHELF.put_back(world.servers)
        return len(tap.steps)

    for nth in sample(range(1, answered_when_killed(0) + 1), 3):
        answered_when_killed(nth)
