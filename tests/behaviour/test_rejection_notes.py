"""A rejected document has a note beside it, in archive/ and in sent/, until its receiver answers otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import SELLER, invoice
from support.matrix import quick
from support.responses import message_level, response, tie_responses
from support.stepping import RULES, Life

from filedrop.files import replace_whole
from filedrop.outbound import responses
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

NOTE = "invoice.xml.rejected.txt"


def notes(world: World) -> list[Path]:
    """All notes of rejections below outbound/."""
    return sorted(world.outbound.rglob("*.rejected.txt"))


def answer(world: World, *codes: str) -> int:
    """Let the receiver answer invoice 1001 with these codes, one after the other. Returns the last message's number."""
    number = 0
    for code in codes:
        number = world.receive(
            response("1001", code, f"Because of {len(world.received)}.", id_=f"R-{len(world.received)}")
        )
        tie_responses(world)
    return number


@pytest.mark.parametrize(
    ("codes", "is_rejected"),
    quick([(["RE"], True), (["RE", "AP"], False), (["AP", "RE"], True), (["RE", "UQ"], False), (["UQ"], False)], 3),
)
def test_note_by_the_last_answer(world: World, codes: list[str], is_rejected: bool) -> None:  # noqa: FBT001 - of a table
    """The note is there, and status reports it, if the last answer is a rejection; document and place stay."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    tie_responses(world)
    place = world.places()["invoice.xml"]
    number = answer(world, *codes)
    assert [note.name for note in notes(world)] == ([NOTE] if is_rejected else [])
    assert world.places()["invoice.xml"] == place
    assert ("1 rejected by the receiver" in world.filedrop("status").stdout) == is_rejected
    if is_rejected:
        (note,) = notes(world)
        text = note.read_bytes().decode()
        assert text.startswith("invoice.xml was rejected.\r\nInvoice 1001, Kjøper Kommune\r\n\r\n")
        assert "Kjøper Kommune rejected the document on " in text
        assert "Because of " in text
        assert f"The answer of the receiver is message {number} in inbound/." in text
    world.invariants()


def test_note_of_an_access_point(world: World) -> None:
    """A status by which an access point rejects a document has its own words; one that confirms it changes nothing."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    world.receive_for_access_point(message_level("mls", message.uuid, "The number is too long."))
    tie_responses(world)
    (note,) = notes(world)
    text = note.read_bytes()
    assert b"did not reach Kj\xc3\xb8per Kommune. The receiver's access point rejected it on " in text
    assert b"Reason: The number is too long." in text
    assert b"inbound/" not in text
    world.receive_for_access_point(message_level("mls", message.uuid, "").replace(b">RE<", b">AB<"))
    tie_responses(world)
    assert note.read_bytes() == text


def test_note_in_sent(make_world: Callable[..., World], clock: Clock) -> None:
    """A document that is rejected before it is delivered has its note in sent/, which moves to archive/ with it."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, deliver_after=1800)
    world.drop("invoice.xml", invoice("1001"))
    life = Life(world, clock)
    life.go_on(120)
    world.receive(response("1001"))
    life.go_on(600, until=lambda: notes(world))
    assert [note.parent.name for note in notes(world)] == ["sent"]
    life.go_on(3600, until=lambda: world.places()["invoice.xml"].startswith("archive"))
    life.go_on(300)
    assert [note.parent.parent.name for note in notes(world)] == ["archive"]
    life.stop()


def test_rejected_document_that_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """If a rejected document isn't delivered at last, the note in failed/ is the only one."""
    world = make_world(outbound=RULES | {"overdue": "1h"}, inbound={"poll": "1m"}, clock=clock.true)
    world.sandbox.store.connect({SELLER: "acme"})
    world.drop("invoice.xml", invoice("1001"))
    life = Life(world, clock)
    life.go_on(120)
    (message,) = world.sandbox.store.sent("acme")
    world.receive_for_access_point(message_level("mls", message.uuid, "The number is too long."))
    life.go_on(600, until=lambda: notes(world))
    life.go_on(2 * 3600, until=lambda: world.places()["invoice.xml"] == "failed")
    life.go_on(900, until=lambda: not notes(world))
    assert sorted(path.name for path in (world.outbound / "failed").iterdir()) == [
        "invoice.xml",
        "invoice.xml.json",
        "invoice.xml.why.txt",
    ]
    assert notes(world) == []
    life.stop()


def test_page_of_a_response(make_world: Callable[..., World]) -> None:
    """It names the file that the response answers."""
    world = make_world(inbound={"readable": "html"})
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    world.receive(response("1001", "AP", ""))
    world.receive(response("2002", "AP", "", id_="R-2"))
    world.run_once()
    pages = [page.read_text("utf-8") for page in sorted(world.inbound.glob("*.html"))]
    assert ["This is an answer to invoice.xml, which you sent." in page for page in pages] == [True, False]


def test_deleted_note(world: World) -> None:
    """A person who deletes the note gets it again only by another rejection."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    answer(world, "RE")
    notes(world)[0].unlink()
    (message,) = world.sandbox.store.sent("acme")
    world.receive_for_access_point(message_level("mls", message.uuid, "").replace(b">RE<", b">AP<"))
    tie_responses(world)
    assert notes(world) == []
    answer(world, "RE")
    assert [note.name for note in notes(world)] == [NOTE]


def test_name_of_the_note_is_taken(world: World) -> None:
    """A person's file with the note's name stays as it is, and the log names it; so it does with no rejection."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    tie_responses(world)
    own = world.outbound / world.places()["invoice.xml"] / NOTE
    own.write_text("my own words")
    answer(world, "RE", "AP")
    assert own.read_text() == "my own words"
    assert [line for line in world.log() if line["event"] == "note.not_written"]
    assert [event["code"] for event in world.sidecar("invoice.xml")["responses"]] == ["RE", "AP"]


def test_note_counts_for_free_names(world: World) -> None:
    """A document doesn't get the name of a file whose note is still in the archive."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    answer(world, "RE")
    (note,) = notes(world)
    for name in ("invoice.xml", "invoice.xml.json"):
        note.with_name(name).unlink()
    del world.dropped["invoice.xml"]
    world.drop("invoice.xml", invoice("2002"))
    tie_responses(world)
    assert note.with_name("invoice-2.xml").exists()
    assert not note.with_name("invoice-2.xml.rejected.txt").exists()


def test_folder_of_the_month_was_moved(world: World) -> None:
    """If somebody has moved the month, nothing is written, and nothing fails."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    tie_responses(world)
    month = world.outbound / world.places()["invoice.xml"]
    month.rename(world.base / "elsewhere")
    world.receive(response("1001"))
    tie_responses(world)
    assert notes(world) == []
    assert not list((world.base / "elsewhere").glob("*.txt"))
    assert not [line for line in world.log() if line["level"] == "error"]


def test_note_that_cannot_be_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that can't be written stops nothing, and the next start writes it."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    tie_responses(world)
    world.receive(response("1001"))

    def fail(entry: object, content: bytes, **more: object) -> None:
        if str(entry).endswith(".txt"):
            raise OSError(28, "No space left on device")
        replace_whole(entry, content, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(responses, "replace_whole", fail)
        while "responses" not in world.sidecar("invoice.xml"):
            world.run_once()
        assert "1 rejected by the receiver" in world.filedrop("status").stdout
    assert notes(world) == []
    tie_responses(world)
    assert [note.name for note in notes(world)] == [NOTE]


@pytest.mark.parametrize("language", quick([*LANGUAGES], 2))
def test_note_in_each_language(make_world: Callable[..., World], language: str) -> None:
    """The note is in the company's language; its first line is in English, too."""
    world = make_world(companies={"acme": f'{{participants: ["{SELLER}"], language: {language}}}'})
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    answer(world, "RE")
    (note,) = notes(world)
    lines = note.read_text("utf-8").splitlines()
    assert lines[0] == "invoice.xml was rejected."
    assert (lines[1].startswith("invoice.xml") or "invoice.xml" in lines[1]) == (language != "en")
    assert ("rejected the document" in note.read_text("utf-8")) == (language == "en")
