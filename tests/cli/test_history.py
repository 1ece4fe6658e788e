"""`filedrop history`: what the journal tells of a document or a message."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice, order
from support.faults import cut_after

from filedrop.journal import JOURNAL

if TYPE_CHECKING:
    from cli.conftest import Filedrop
    from support.world import World


def test_a_delivered_document(filedrop: Filedrop, world: World) -> None:
    """Each step with its answer, by its name, its message number or its id; and where the file lies."""
    world.front.next("POST /outbox", cut_after)
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    told = filedrop("history", "invoice.xml").stdout
    known = json.loads(filedrop("history", "invoice.xml", "--json").stdout)
    (file,) = (world.outbound / "archive").rglob("invoice.xml")
    assert told.startswith(f"invoice.xml of acme: delivered, message {known['msg_no']} [{known['id']}]\n")
    steps = ["claimed", "sending", "in doubt", "found", "delivered"]
    assert [step["event"] for step in known["history"]] == steps
    for step in known["history"]:
        assert f"{step['event']}{': ' + step['why'] if 'why' in step else ''}" in told
    assert (known["path"], known["there"]) == (str(file), True)
    assert f"is in {file}" in told
    assert "Invoice 1001" in told
    assert f"from {known['sender']} to {known['receiver']}" in told
    for name in (known["msg_no"], known["id"]):
        assert json.loads(filedrop("history", name, "--json").stdout.splitlines()[0]) == known
    file.unlink()
    assert f"was last in {file}" in filedrop("history", "invoice.xml").stdout


def test_a_name_that_was_dropped_twice(filedrop: Filedrop, world: World) -> None:
    """All documents of a name, the newest first; one that filedrop has numbered by that name, too."""
    for number in ("1", "2"):
        world.put(world.outbound / "nobody.xml", invoice(number, receiver=None))
        world.run_once()
    told = [json.loads(line) for line in filedrop("history", "nobody.xml", "--json").stdout.splitlines()]
    assert [(one["file"], one["document"]["number"]) for one in told] == [("nobody-2.xml", "2"), ("nobody.xml", "1")]
    (second,) = filedrop("history", "nobody-2.xml", "--json").stdout.splitlines()
    assert json.loads(second) == told[0]
    shown, error = filedrop("history", "nobody-2.xml").stdout.splitlines(), told[0]["error"]
    assert f"  no-receiver: {error['message']}" in shown
    advice = [*error["hint"].splitlines(), *error["administrator"].splitlines()]
    assert [f"    {line}" for line in advice] == [line for line in shown if line.startswith("    ")]


def test_messages(filedrop: Filedrop, world: World) -> None:
    """A received message by its number or its file's name, when it was placed; why one is stuck, and its next try."""
    received = world.receive(order("4", receiver=SELLER))
    stuck = world.receive(b"no XML at all")
    world.run_once()
    (file,) = world.delivered()
    done = filedrop("history", file.name, "--json")
    assert not done.stderr
    known = json.loads(done.stdout)
    assert (known["state"], known["msg_no"], known["path"], known["there"]) == ("received", received, str(file), True)
    assert known["read"]
    told = filedrop("history", received).stdout
    assert f"message {received}" in told
    placed = datetime.fromisoformat(known["placed"]).isoformat(sep=" ", timespec="seconds")
    assert f"  {placed}  placed, then marked as read\n" in told
    told = filedrop("history", stuck).stdout
    assert "stuck" in told
    assert "failed attempts: " in told
    assert "next attempt at " in told


def test_a_message_that_was_answered(filedrop: Filedrop, world: World) -> None:
    """A received document that a person moved into a folder of answers is there."""
    received = world.receive(order("4", receiver=SELLER))
    world.run_once()
    (file,) = world.delivered()
    (file.parent / "queried").mkdir()
    moved = file.rename(file.parent / "queried" / file.name)
    assert f"is in {moved}\n" in filedrop("history", received).stdout
    moved.unlink()
    assert f"was last in {file}\n" in filedrop("history", received).stdout


def test_largest_number(filedrop: Filedrop, world: World) -> None:
    """A message number may have nineteen digits; a larger number is no message's."""
    world.receive(order("4", receiver=SELLER))
    world.run_once()
    number = 2**63 - 1
    with sqlite3.connect(world.state / JOURNAL) as journal:
        journal.execute("UPDATE messages SET msg_no = ?", [number])
    assert f"message {number}" in filedrop("history", number).stdout
    assert filedrop("history", 2**63).returncode == 1
    assert filedrop("resolve", "a.xml", "--sent", 2**63).returncode == 2


def test_of_nobody(filedrop: Filedrop, world: World) -> None:
    """A name that the journal doesn't know is an error that says where else to look."""
    world.run_once()
    done = filedrop("history", "never.xml")
    assert done.returncode == 1
    assert "the journal has no document or message never.xml; filedrop messages lists" in done.stderr


def test_very_many(filedrop: Filedrop, world: World) -> None:
    """The newest twenty, and how many more there are."""
    with world.service(watch=True):
        for number in range(23):
            world.put(world.outbound / "again.xml", invoice(str(number), receiver=None))
            world.until(lambda: not (world.outbound / "again.xml").exists())
    done = filedrop("history", "again.xml", "--json")
    assert len(done.stdout.splitlines()) == 20
    assert json.loads(done.stdout.splitlines()[0])["document"]["number"] == "22"
    assert "and 3 older ones" in done.stderr


@pytest.mark.parametrize(
    ("dropped", "typed"), [("M\u00fcller.xml", "Mu\u0308ller.xml"), ("Mu\u0308ller.xml", "M\u00fcller.xml")]
)
def test_name_in_the_other_form_of_letters(filedrop: Filedrop, world: World, dropped: str, typed: str) -> None:
    """A document is found by its name in composed letters and in decomposed ones; its own name stays as it was."""
    world.put(world.outbound / dropped, invoice("1", receiver=None))
    world.run_once()
    assert json.loads(filedrop("history", typed, "--json").stdout)["file"] == dropped


@pytest.fixture
def known(world: World) -> World:
    """A world that has received a document, and then sent two."""
    world.receive(order("1001", receiver=SELLER))
    world.run_once()
    world.drop("invoice.xml", invoice("1001"))
    world.drop("to-nobody.xml", invoice("1002", receiver=None))
    world.run_once()
    return world


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--number", "1001"], [("OUT", "Invoice", "1001"), ("IN", "Order", "1001")]),
        (["--number", "1002"], [("OUT", "Invoice", "1002")]),
        (["--party", SELLER, "--number", "1002"], [("OUT", "Invoice", "1002")]),
        (["--party", f"iso6523-actorid-upis::{SELLER}", "--number", "1002"], [("OUT", "Invoice", "1002")]),
        (["--until", "2026-01-01"], []),
        (["--since", "2999-01-01"], []),
        (["--number", "100"], []),
    ],
)
def test_what_a_person_knows(
    filedrop: Filedrop, known: World, words: list[str], found: list[tuple[str, str, str]]
) -> None:
    """Documents are found by what they say and by when they came, sent ones and received ones."""
    assert known.root.exists()
    done = filedrop("history", *words, "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["direction"], line["document"]["type"], line["document"]["number"]) for line in told] == found
    assert done.returncode == (0 if found else 1)


def test_order_of_time(filedrop: Filedrop, known: World) -> None:
    """Sent and received documents are in one order, the newest first."""
    known.receive(order("1003", receiver=SELLER))
    known.run_once()
    found = filedrop("history", "--party", SELLER, "--json").stdout.splitlines()
    assert [json.loads(line)["direction"] for line in found] == ["IN", "OUT", "OUT", "IN"]


def test_a_part_of_the_name(filedrop: Filedrop, known: World) -> None:
    """The other side's name is found by a part of it, in whatever case; today's documents are those of today."""
    today = datetime.now().astimezone().date().isoformat()
    shown = filedrop("history", "--since", today, "--until", today, "--json").stdout.splitlines()
    assert len(shown) == 3
    with sqlite3.connect(known.state / JOURNAL) as journal:
        (name,) = journal.execute("SELECT receiver_name FROM documents WHERE number = '1001'").fetchone()
    told = filedrop("history", "--party", name.split()[-1].upper(), "--number", "1001", "--json").stdout.splitlines()
    assert {json.loads(line)["document"]["number"] for line in told} == {"1001"}


def test_too_many(filedrop: Filedrop, world: World) -> None:
    """The newest twenty, and that there are more."""
    with world.service(watch=True):
        for number in range(21):
            world.put(world.outbound / "again.xml", invoice(str(number), receiver=None))
            world.until(lambda: not (world.outbound / "again.xml").exists())
    done = filedrop("history", "--since", "2026-01-01", "--json")
    assert len(done.stdout.splitlines()) == 20
    assert "and older ones" in done.stderr


@pytest.mark.parametrize("words", [[], ["a.xml", "--number", "1"], ["--since", "yesterday"]])
def test_nothing_to_find(filedrop: Filedrop, world: World, words: list[str]) -> None:
    """A name or what is known of it, and days as days: otherwise the command says how it is used."""
    world.run_once()
    assert filedrop("history", *words).returncode == 2


def test_several_have_a_line_each(filedrop: Filedrop, known: World) -> None:
    """A line has when, whose, what, to or from whom, the state, and what to write for all of it; --long shows that."""
    sent, received = filedrop("history", "--number", "1001").stdout.splitlines()
    (outbound,) = (json.loads(filedrop("history", "invoice.xml", "--json").stdout),)
    claimed = datetime.fromisoformat(outbound["history"][0]["at"]).astimezone()
    assert sent == (
        f"{claimed:%Y-%m-%d %H:%M}  acme: invoice.xml: Invoice 1001 to {BUYER}: {outbound['state']} [{outbound['id']}]"
    )
    assert received.endswith(f": Order 1001 from {BUYER}: received [1]")
    assert filedrop("history", outbound["id"]).stdout in filedrop("history", "--number", "1001", "--long").stdout
    assert known.delivered()
