"""Receivers who can't be reached over Peppol (`outbound.unreachable`): their documents are put aside, not posted."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice
from support.faults import instead, reset_before
from support.matrix import quick
from support.pdfs import pdf
from support.plug import tapped
from support.stepping import RULES, Clock, Life
from support.world import World

from filedrop.model.document import State
from filedrop.status.survey import DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Fault
    from support.matrix import Sample

    from filedrop.status.model import Status

ASIDE = "not-on-peppol"
STRANGER, ANOTHER = "0192:974760673", "0192:983974724"
RULES = RULES | {"unreachable": "aside", "overdue": "1h"}
AFTER = 600.0  # seconds between the two questions, by default
BESIDE = {"prepare": "{pdf: beside}"}


@pytest.fixture
def make(make_world: Callable[..., World], clock: Clock) -> Iterator[Callable[..., tuple[World, Life]]]:
    """Makes a world with these settings of `outbound`, and a filedrop that has made its folders."""
    lives = list[Life]()

    def made(**outbound: str) -> tuple[World, Life]:
        world = make_world(outbound=RULES | outbound, inbound={"poll": "5m"}, clock=clock.true)
        lives.append(Life(world, clock))
        lives[-1].go_on(10)
        return world, lives[-1]

    yield made
    for one in lives:
        one.drop()


def go_on(life: Life, seconds: float) -> None:
    """Let so much time pass after a file event."""
    life.touch()
    life.go_on(seconds)


def asked(world: World) -> Counter[str]:
    """The ids that the directory was asked for, each with how often."""
    paths = (request.path.split("/") for request in world.front.asked("GET /directory"))
    return Counter(parts[2] for parts in paths if len(parts) == 3)


def note(world: World, name: str) -> str:
    """The note beside a document that was put aside."""
    return (world.outbound / ASIDE / f"{name}.why.txt").read_text()


def place(world: World, name: str) -> str | None:
    """Where a dropped document is."""
    return world.places().get(name)


def always(world: World, fault: Fault) -> None:
    """Have each question to the directory meet with this fault from now on."""
    world.front.always("GET /directory", fault)


def test_document_is_put_aside_after_two_answers(make: Callable[..., tuple[World, Life]]) -> None:
    """After one no it waits, after two it is put aside with its PDF, a sidecar and a note. It is never posted."""
    world, life = make(**BESIDE)
    world.drop("7002.xml", invoice(receiver=STRANGER), pdf=pdf("7002"))
    go_on(life, AFTER - 60)
    assert place(world, "7002.xml") == "sending"
    assert asked(world) == {STRANGER: 1}
    assert "only then sends the document or puts it into not-on-peppol/" in " ".join(
        (world.outbound / "sending" / "7002.xml.why.txt").read_text().split()
    )
    go_on(life, 120)
    assert place(world, "7002.xml") == ASIDE
    assert asked(world)[STRANGER] == 2
    assert sorted(path.name for path in (world.outbound / ASIDE).iterdir()) == [
        "7002.pdf", "7002.xml", "7002.xml.json", "7002.xml.why.txt",
    ]  # fmt: skip
    said = world.sidecar("7002.xml")
    assert (said["state"], said["error"]["code"], said["msg_no"]) == ("unreachable", "not-on-peppol", None)
    assert [event["event"] for event in said["history"]] == ["claimed", "not in the directory", "unreachable"]
    assert note(world, "7002.xml").splitlines()[0] == "7002.xml was not sent."
    assert "The receiver Kjøper Kommune can't be reached over Peppol. filedrop has not sent the document." in note(
        world, "7002.xml"
    )
    assert "for example by mail with 7002.pdf. When you have, move the files away." in note(world, "7002.xml")
    assert "failed/" not in note(world, "7002.xml")
    assert not world.front.asked("POST /outbox")
    world.pdfs.clear()  # the promises of PDFs are about those that are put into their documents
    world.invariants()


def test_nothing_is_sent_from_there_by_itself(make: Callable[..., tuple[World, Life]]) -> None:
    """A receiver who registers later gets nothing that a person may have mailed, whatever happens to filedrop."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER + 60)
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", STRANGER: "buyer"})
    go_on(life, 7200)
    assert place(world, "7002.xml") == ASIDE
    assert not world.front.asked("POST /outbox")


def test_yes_in_between(make: Callable[..., tuple[World, Life]]) -> None:
    """A receiver whom the directory has by then gets the document, once."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER / 2)
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", STRANGER: "buyer"})
    go_on(life, AFTER)
    assert (place(world, "7002.xml") or "").startswith("archive/")
    world.invariants()


@pytest.mark.parametrize("unreachable", ["directory", "aside", "send"])
def test_receiver_in_the_directory(make: Callable[..., tuple[World, Life]], unreachable: str) -> None:
    """Whatever is set, its document costs one question, and the steps of before."""
    world, life = make(unreachable=unreachable)
    world.drop("1.xml", invoice("1"))
    go_on(life, 120)
    said = world.sidecar("1.xml")
    assert [event["event"] for event in said["history"]] == ["claimed", "sending", "accepted", "delivered"]
    assert said["warnings"] == []
    assert len(world.front.asked("GET /directory")) == 1


@pytest.mark.parametrize("fault", quick([instead(503), instead(400), instead(404), reset_before], 2))
def test_directory_that_does_not_answer(make: Callable[..., tuple[World, Life]], fault: Fault) -> None:
    """While nothing is known, everything is sent, as without the setting; also at the second question."""
    world, life = make()
    world.drop("7001.xml", invoice("7001", receiver=STRANGER))
    go_on(life, AFTER / 2)
    always(world, fault)
    world.drop("7002.xml", invoice("7002", receiver=ANOTHER))
    go_on(life, AFTER)
    assert world.accepted() == {"7001.xml": 1, "7002.xml": 1}
    world.invariants()


def test_directory_that_has_nobody(make: Callable[..., tuple[World, Life]]) -> None:
    """A directory that says no to everybody puts nothing aside: documents are sent, and status says why."""
    world, life = make()
    world.drop("before.xml", invoice("1"))
    go_on(life, 120)
    assert world.accepted() == {"before.xml": 1}
    world.sandbox.store.connect({})
    go_on(life, 3600)
    world.drop("7002.xml", invoice("2", receiver=STRANGER))
    world.drop("7003.xml", invoice("3"))
    go_on(life, 2 * AFTER)
    assert world.accepted()["7002.xml"] == world.accepted()["7003.xml"] == 1
    (why,) = life.service.guard.troubles.values()
    assert why.startswith(f"the directory of account main has none of {SELLER}")
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
    world.drop("7004.xml", invoice("4", receiver=ANOTHER))
    go_on(life, 2 * AFTER)
    assert place(world, "7004.xml") == ASIDE
    assert not life.service.guard.troubles


@pytest.mark.parametrize("number", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_questions_for_many_documents(make: Callable[..., tuple[World, Life]], number: int) -> None:
    """A batch to three receivers asks three questions a round, however many documents are in it."""
    receivers = [STRANGER, ANOTHER, "0192:995525828"]
    world, life = make()
    for nth in range(number):
        world.drop(f"{nth}.xml", invoice(str(nth), receiver=receivers[nth % 3]))
    go_on(life, AFTER / 2)
    assert asked(world) == dict.fromkeys(receivers, 1)
    go_on(life, AFTER)
    assert world.places() == {f"{nth}.xml": ASIDE for nth in range(number)}
    assert asked(world) - Counter({SELLER: 1}) == dict.fromkeys(receivers, 2)
    assert not world.accepted()


@pytest.mark.parametrize("end", [Life.stop, Life.drop], ids=["stopped", "killed"])
def test_restart_between_the_questions(
    make: Callable[..., tuple[World, Life]], clock: Clock, end: Callable[[Life], None]
) -> None:
    """It doesn't begin again, and asks the second question no earlier."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER - 100)
    end(life)
    again = Life(world, clock)
    go_on(again, 60)
    assert place(world, "7002.xml") == "sending"
    assert asked(world)[STRANGER] == 1
    go_on(again, 120)
    assert place(world, "7002.xml") == ASIDE
    assert asked(world)[STRANGER] == 2
    again.drop()


@pytest.mark.parametrize("days", [-2, 2])
def test_clock_set_between_the_questions(make: Callable[..., tuple[World, Life]], clock: Clock, days: int) -> None:
    """A clock that is set makes no answer count twice, and no document wait for ever."""
    world, life = make()
    world.drop("7002.xml", invoice("1", receiver=STRANGER))
    go_on(life, 60)
    clock.skew = timedelta(days=days)
    world.drop("7003.xml", invoice("2", receiver=STRANGER))
    go_on(life, 2 * AFTER)
    assert {place(world, name) for name in world.dropped} == {ASIDE}
    assert asked(world)[STRANGER] >= 2
    world.invariants()


@pytest.mark.parametrize("with_notes", [True, False])
def test_moved_back_after_the_receiver_has_registered(
    make: Callable[..., tuple[World, Life]],
    with_notes: bool,  # noqa: FBT001 - a column
) -> None:
    """It asks again, and is delivered once with its PDF, though only the document was moved; nothing is left."""
    world, life = make(unreachable_after="20s", **BESIDE)
    world.drop("7002.xml", invoice(receiver=STRANGER), pdf=pdf("7002"))
    go_on(life, 60)
    assert place(world, "7002.xml") == ASIDE
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", STRANGER: "buyer"})
    for path in (world.outbound / ASIDE).iterdir():
        if path.suffix == ".xml" or with_notes:
            path.rename(world.outbound / path.name)
    life.touch()
    go_on(life, 400)
    where = place(world, "7002.xml") or ""
    assert where.startswith("archive/"), world
    assert (world.outbound / where / "7002.pdf").exists()
    assert not list((world.outbound / ASIDE).iterdir())
    assert not list(world.outbound.glob("7002*"))
    world.pdfs.clear()
    assert world.accepted() == {"7002.xml": 1}


def test_moved_back_too_early(make: Callable[..., tuple[World, Life]]) -> None:
    """A document that a person moves back is asked for twice again, and takes its name again."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER + 60)
    (world.outbound / ASIDE / "7002.xml").rename(world.outbound / "7002.xml")
    life.touch()
    go_on(life, AFTER - 60)
    assert place(world, "7002.xml") == "sending"
    go_on(life, AFTER)
    assert sorted(path.name for path in (world.outbound / ASIDE).iterdir()) == [
        "7002.xml", "7002.xml.json", "7002.xml.why.txt",
    ]  # fmt: skip
    assert asked(world)[STRANGER] == 4
    world.invariants()


def test_let_through(make: Callable[..., tuple[World, Life]]) -> None:
    """What a person lets through is sent without a question of `unreachable`."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER + 60)
    life.stop()
    listed = world.filedrop("retry", "acme").stdout.splitlines()
    assert listed[:3] == ["Nothing has failed.", "", "In not-on-peppol/, to be sent another way:"]
    assert world.filedrop("retry", "--anyway", "acme", "7002.xml").returncode == 0
    again = Life(world, life._clock)
    go_on(again, 60)
    assert world.accepted() == {"7002.xml": 1}
    again.drop()


def test_held_folder_asks_nothing(make: Callable[..., tuple[World, Life]]) -> None:
    """While a folder is held, nothing is asked for its documents."""
    world, life = make()
    (world.outbound / "HOLD").touch()
    life.touch()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, 2 * AFTER)
    assert place(world, "7002.xml") == "sending"
    assert not asked(world)


def test_what_is_shown(make: Callable[..., tuple[World, Life]], clock: Clock) -> None:
    """Status counts what is put aside without needing attention; after 7 days it needs some, once for all of it."""
    world, life = make(**BESIDE)
    world.drop("7002.xml", invoice("1", receiver=STRANGER))
    world.drop("7003.xml", invoice("2", receiver=ANOTHER))
    go_on(life, AFTER + 60)
    survey = Survey(life.service.config, life.journal)

    def status(days: float) -> Status:
        return survey.look(DaemonPart(), running=True, now=clock.true() + timedelta(days=days))

    now = status(0)
    assert (now["companies"]["acme"]["unreachable"], now["companies"]["acme"]["failed"]) == (2, 0)
    assert "another way" in now["companies"]["acme"]["reasons"]["unreachable"]
    assert "unreachable" not in [matter["kind"] for matter in now["matters"]]
    for days, number in ((-1, 0), (8, 2)):
        for path in (world.outbound / ASIDE).glob("*.json"):
            os.utime(path, (clock.true().timestamp(),) * 2)
        kinds = {matter["kind"]: matter["number"] for matter in status(days)["matters"]}
        assert kinds.get("unreachable", 0) == number
    for path in (world.outbound / ASIDE).iterdir():
        path.unlink()
    assert status(8)["companies"]["acme"]["unreachable"] == 0


@pytest.mark.parametrize("unreachable", ["send", "directory"])
def test_note_on_a_document_that_may_not_arrive(make: Callable[..., tuple[World, Life]], unreachable: str) -> None:
    """What is sent although the directory doesn't have its receiver has a note in `sent/` at once, and only there."""
    world, life = make(unreachable=unreachable)
    world.drop("7002.xml", invoice("1", receiver=STRANGER))
    world.drop("7001.xml", invoice("2"))
    go_on(life, 5)
    assert [path.name for path in (world.outbound / "sent").glob("*.why.txt")] == ["7002.xml.why.txt"]
    said = " ".join((world.outbound / "sent" / "7002.xml.why.txt").read_text().split())
    assert "The directory doesn't have the receiver Kjøper Kommune. filedrop sent the document all the same." in said
    go_on(life, 7200)
    assert not list((world.outbound / "sent").iterdir())


def test_taken_away(make: Callable[..., tuple[World, Life]]) -> None:
    """Of a document that a person has taken, sidecar and note go, and nothing is asked or sent any more."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER + 60)
    (world.outbound / ASIDE / "7002.xml").unlink()
    go_on(life, 400)
    assert not list((world.outbound / ASIDE).iterdir())
    assert asked(world)[STRANGER] == 2
    assert not world.front.asked("POST /outbox")


def test_reload_between_the_questions(make: Callable[..., tuple[World, Life]], clock: Clock) -> None:
    """If the setting is taken away between the questions, the document is sent."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER - 60)
    life.stop()
    world._keys["outbound"]["unreachable"] = "directory"
    again = Life(world, clock)
    go_on(again, 120)
    assert world.accepted() == {"7002.xml": 1}
    again.drop()


MAIL = """
mapping:
  - {file: '(?P<number>[0-9]+)[.]xml', receiver: {table: mail, key: '{number}'}}
tables: {mail: MAIL_CSV}
"""


def by_mail(number: str, address: str) -> bytes:
    """An invoice to a receiver of whom it states only a mail address."""
    return invoice(number, receiver="EM:buyer").replace(b'schemeID="EM">buyer', f'schemeID="EM">{address}'.encode())


@pytest.mark.parametrize(("unreachable", "ends"), [("aside", ASIDE), ("send", ASIDE), ("directory", "failed")])
@pytest.mark.parametrize("has_rule", [True, False])
def test_mail_address_in_place_of_an_id(
    make: Callable[..., tuple[World, Life]],
    unreachable: str,
    ends: str,
    has_rule: bool,  # noqa: FBT001 - a column
) -> None:
    """It is put aside at once, without a question, if a mapping rule has none for it; without such a rule, it fails."""
    world, life = make(unreachable=unreachable, settle="0s")  # a table settles by the computer's own clock
    life.drop()
    world.more = MAIL.replace("MAIL_CSV", f"'{world.base / 'mail.csv'}'") if has_rule else ""
    (world.base / "mail.csv").write_text(f"number,participant\n7005,{BUYER}\n")
    life = Life(world, life._clock)
    world.drop("7003.xml", by_mail("7003", "faktura@kunde.example"))
    world.drop("7005.xml", by_mail("7005", "post@fjord.example"))
    go_on(life, 400)
    assert place(world, "7003.xml") == (ends if has_rule else "failed")
    assert (place(world, "7005.xml") or "").startswith("archive/" if has_rule else "failed")
    if has_rule and ends == ASIDE:
        assert "names only the mail address faktura@kunde.example" in note(world, "7003.xml")
    life.drop()


@pytest.mark.parametrize("unreachable", ["send", "aside", "directory"])
def test_accepted_and_not_delivered(make: Callable[..., tuple[World, Life]], unreachable: str) -> None:
    """With `send` it is posted; if it isn't delivered, it goes to `not-on-peppol/`, and its note is to be kept."""
    world, life = make(unreachable="send" if unreachable == "aside" else unreachable)
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, 7200)
    assert world.accepted() == {"7002.xml": 1}
    if unreachable == "directory":
        assert world.error("7002.xml") == "not-delivered"
        return
    assert place(world, "7002.xml") == ASIDE
    assert "Keep this note with the document." in note(world, "7002.xml")
    assert "(message " in note(world, "7002.xml")
    assert note(world, "7002.xml").splitlines()[0] == "7002.xml was not delivered."
    world.invariants()


def test_receiver_in_the_directory_that_was_not_reached(make: Callable[..., tuple[World, Life]]) -> None:
    """What isn't delivered to a receiver whom the directory has fails, with `send`, too."""
    world, life = make(unreachable="send")
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, 120)
    world.front.always("GET /directory", lambda exchange: exchange.answer(200))
    go_on(life, 7200)
    assert world.error("7002.xml") == "not-delivered"


def test_directory_refuses_other_documents_only(make: Callable[..., tuple[World, Life]]) -> None:
    """`unreachable` decides about receivers that the directory doesn't have, `directory` about all else."""
    world, life = make(unreachable="send", directory="refuse")
    world.drop("1.xml", invoice("1", receiver=STRANGER))
    world.drop("2.xml", invoice("2", process="urn:fdc:peppol.eu:poacc:bis:other:3"))
    go_on(life, 120)
    assert world.accepted() == {"1.xml": 1}
    assert world.error("2.xml") == "not-accepted"


def test_wrong_number_and_twin_come_first(make: Callable[..., tuple[World, Life]]) -> None:
    """The note begins with what is wrong with the number, or with the other id of the same company."""
    world, life = make()
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", "9925:BE0202239951": "buyer"})
    world.drop("7004.xml", invoice("1", receiver="0192:910000007"))
    world.drop("7006.xml", invoice("2", receiver="0208:0202239951"))
    go_on(life, AFTER + 120)
    assert world.sidecar("7004.xml")["error"]["message"].startswith("The number 910000007 can't be right: its check")
    assert world.sidecar("7006.xml")["error"]["message"].startswith("The directory has the same company under another")


def test_journal_lost(make: Callable[..., tuple[World, Life]], clock: Clock) -> None:
    """A new journal takes what was put aside from its sidecar: it stays where it is, and nothing is posted."""
    world, life = make()
    world.drop("7002.xml", invoice(receiver=STRANGER))
    go_on(life, AFTER + 60)
    life.stop()
    for path in world.state.glob("journal.sqlite*"):
        path.unlink()
    assert world.filedrop("check", "--take-over").returncode == 0
    again = Life(world, clock)
    go_on(again, 3600)
    (row,) = again.journal.documents.by_ids([world.sidecar("7002.xml")["id"]])
    assert row.state is State.UNREACHABLE
    assert place(world, "7002.xml") == ASIDE
    assert not world.front.asked("POST /outbox")
    again.drop()


class Killed(BaseException):
    """filedrop was killed: nothing that it does after that has any effect."""


def test_killed_between_claim_and_aside(tmp_path: Path, sample: Sample) -> None:
    """Killed before any of its side effects, the document and its PDF end aside, once, never posted."""

    def killed_at(nth: int) -> int:
        """How many side effects there were, where it is killed before the n-th."""

        def kill(_: str) -> None:
            if len(tap.steps) >= nth > 0:
                raise Killed

        base, clock = tmp_path / str(nth), Clock()
        base.mkdir()
        with World(base, outbound=RULES | BESIDE, inbound={"poll": "5m"}, clock=clock.true) as world:
            life = Life(world, clock)
            life.go_on(10)
            world.drop("7002.xml", invoice(receiver=STRANGER), pdf=pdf("7002"))
            with suppress(Killed), tapped(kill) as tap:
                go_on(life, AFTER + 60)
            life.drop()
            again = Life(world, clock)
            go_on(again, 2 * AFTER)
            assert place(world, "7002.xml") == ASIDE, nth
            left = {path.name for path in world.outbound.rglob("7002*")}
            assert left == {"7002.pdf", "7002.xml", "7002.xml.json", "7002.xml.why.txt"}, nth
            assert not world.front.asked("POST /outbox")
            again.drop()
        return len(tap.steps)

    for nth in sample(range(1, killed_at(0) + 1), 5):
        killed_at(nth)


@pytest.mark.parametrize("with_notes", [True, False])
def test_moved_into_another_company(
    make_world: Callable[..., World],
    clock: Clock,
    with_notes: bool,  # noqa: FBT001 - a column
) -> None:
    """What a person moves into another company's `not-on-peppol/` stays there; moved on, it is sent once from there."""
    world = make_world(
        outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, companies={"fjord": "{participants: []}"}
    )
    fjord = world.root / "fjord" / "outbound"
    life = Life(world, clock)
    life.go_on(10)
    for name in ("7002.xml", "7003.xml"):
        world.drop(name, invoice(name, receiver=STRANGER))
    world.put(fjord / "7002.xml", invoice("fjord", receiver=STRANGER))
    life.go_on(AFTER + 400)
    moved = list((world.outbound / ASIDE).glob("7003*" if with_notes else "7003.xml"))
    for path in moved:
        path.rename(fjord / ASIDE / path.name)
    life.go_on(1200)
    assert {path.name for path in moved} <= {path.name for path in (fjord / ASIDE).iterdir()}
    assert {path.name for path in (world.outbound / ASIDE).glob("*.xml")} == {"7002.xml"}
    assert not list((world.outbound / ASIDE).glob("7003*"))
    assert not world.front.asked("POST /outbox")
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", STRANGER: "buyer"})
    (fjord / ASIDE / "7003.xml").rename(fjord / "7003.xml")
    life.go_on(1200)
    assert [path.name for path in fjord.glob("archive/*/*.xml")] == ["7003.xml"]
    assert {path.name for path in (fjord / ASIDE).glob("*.xml")} == {"7002.xml"}
    assert len(world.front.asked("POST /outbox")) == 1
    life.drop()


def test_folder_is_made_when_needed(make: Callable[..., tuple[World, Life]]) -> None:
    """Nobody has a `not-on-peppol/` before a document is put there."""
    world, life = make()
    world.drop("7001.xml", invoice("7001"))
    go_on(life, 120)
    assert not (world.outbound / ASIDE).exists()
    world.drop("7002.xml", invoice("7002", receiver=STRANGER))
    go_on(life, AFTER + 60)
    assert place(world, "7002.xml") == ASIDE
