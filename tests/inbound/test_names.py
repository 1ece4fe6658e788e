"""Received documents get the names that an importing system wants (`inbound.name`), whatever their senders wrote."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sys
from typing import TYPE_CHECKING

import pytest
from support.disks import mounted
from support.documents import BUYER, invoice, with_attachments
from support.matrix import draw_seed, is_full
from support.plug import tapped
from support.rights import as_anyone
from support.systems import modes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.landing import Landing
    from support.matrix import Sample
    from support.world import World

    from filedrop.inbound.context import InboundContext

BY_SENDER = "{sender}/{number}"
FOLDER = "0192_810418052"
MEANT = {"accepted", "rejected", "queried", "hold"}  # first folders with a meaning of their own
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
PATTERNS = ("{number}", "{sender}/{number}", "{sender_name}/{type}/{number}", "{number}/{sender_name}-{msg_no}",
            "in_{number}.{sender_name}")  # fmt: skip
PIECES = (
    "/", "\\", "..", ".", " ", "\t", "\n", "\r", ":", "*", "?", "|", "\u202e", "\u200b", "\u009b", "Å", "ß", "\u0131",
    "İ", "中", "\u0300", "a", "A", "1", "-", "_", "~", "$", "%", "{number}", "{0}", "../../", "C:", "con", "NUL",
    "com1", "CoM1.x", "accepted", "REJECTED", "Queried", "hold", "HOLD", ".json", ".xml", ".tmp", ".why.txt", ".part",
    ".filedrop", "Thumbs.db", "x" * 300, "-2", "\ud7ff", "\U0001f600",
)  # fmt: skip
HOSTILE = 10_000
EMBEDDED = (("a.csv", "text/csv", b"a;b\r\n"), ("b.pdf", "application/pdf", b"%PDF-b"), ("c.pdf", "", b"%PDF-c"))


@pytest.fixture
def named(make_landing: Callable[..., Landing]) -> Callable[..., Landing]:
    """Makes an inbound folder whose documents are named by a pattern."""
    return lambda pattern, **changes: make_landing(name=f'"{pattern}"', **changes)


def documents(landing: Landing) -> dict[str, bytes]:
    """The received documents, by their paths in the inbound folder."""
    return {path.relative_to(landing.world.inbound).as_posix(): path.read_bytes() for path in landing.world.delivered()}


def arrive(landing: Landing, *contents: bytes) -> None:
    """Have messages with these documents come, and take them as far as they go."""
    for content in contents:
        landing.world.receive(content)
    landing.bring()
    landing.all()


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{number}", "F-1001.xml"),
        ("{number}.xml", "F-1001.xml"),
        ("{date}_{type}_{msg_no}", "20200601_Invoice_1.xml"),
        ("{sender}/{type}/{number}", "0192_810418052/Invoice/F-1001.xml"),
        ("{sender_name}/in_{msg_no}", "Blabaer_og_Baer_AS/in_1.xml"),
    ],
)
def test_pattern(named: Callable[..., Landing], pattern: str, name: str) -> None:
    """A document gets the name of the pattern, in folders of their own; its sidecar lies beside it and names it."""
    landing = named(pattern)
    arrive(landing, invoice("F-1001"))
    assert landing.lying() == [name, f"{name}.json"]
    assert [(row.state, row.file) for row in landing.rows()] == [("read", name)]
    said = json.loads((landing.world.inbound / f"{name}.json").read_bytes())
    assert said["file"] == name.rpartition("/")[2]
    landing.world.invariants()


def test_names_that_are_taken(named: Callable[..., Landing]) -> None:
    """Documents of one name get a number, as files elsewhere do; what somebody has put there stays."""
    landing = named("{type}/{number}")
    theirs = landing.world.inbound / "Invoice" / "7.xml"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"theirs")
    contents = [invoice("7", note=f"{number}") for number in range(3)]
    arrive(landing, *contents[:2])
    arrive(landing, contents[2])
    found = documents(landing)
    assert found.pop("Invoice/7.xml") == b"theirs"
    assert found.keys() == {f"Invoice/7-{number}.xml" for number in (2, 3, 4)}
    assert sorted(found.values()) == sorted(contents)


def test_names_that_differ_only_in_case(named: Callable[..., Landing]) -> None:
    """Each document has a name of its own, also where the file system takes a and A for one letter."""
    landing = named(BY_SENDER)
    contents = [invoice(number) for number in ("a1", "A1", "a1-2", "A1-2")]
    arrive(landing, *contents)
    assert sorted(documents(landing).values()) == sorted(contents)
    assert len({name.lower() for name in documents(landing)}) in (2, 4)
    landing.world.invariants()


@pytest.fixture
def landing(named: Callable[..., Landing]) -> Landing:
    """An inbound folder whose documents are named by their message numbers."""
    return named("{msg_no}")


def test_equal_message_numbers(landing: Landing, other: InboundContext) -> None:
    """Messages of two accounts with the same number lie side by side, each with its own sidecar."""
    landing.receive("1")
    for context in (landing.context, other):
        landing.bring(context=context)
    landing.all()
    assert landing.lying() == ["1-2.xml", "1-2.xml.json", "1.xml", "1.xml.json"]
    said = [json.loads(path.read_bytes()) for path in landing.world.inbound.glob("*.json")]
    assert sorted((one["account"], one["msg_no"]) for one in said) == [("main", 1), ("other", 1)]


def test_document_without_a_number(named: Callable[..., Landing]) -> None:
    """A document without a number gets a name, too."""
    landing = named("{number}")
    arrive(landing, invoice("", note="1"), invoice("", note="2"))
    assert documents(landing).keys() == {"unknown.xml", "unknown-2.xml"}
    landing.world.invariants()


@pytest.mark.parametrize("planted", ["link", "file", "link to a folder further down"])
def test_folder_whose_place_is_taken(named: Callable[..., Landing], tmp_path: Path, planted: str) -> None:
    """Where a link or a file has the name of a folder, the document comes into the inbound folder itself."""
    landing = named("{type}/{sender}/{number}")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    landing.step()
    where = landing.world.inbound / "Invoice"
    if planted == "file":
        where.write_bytes(b"theirs")
    elif planted == "link":
        where.symlink_to(elsewhere)
    else:
        where.mkdir()
        (where / FOLDER).symlink_to(elsewhere)
    arrive(landing, invoice("1"))
    assert [name for name in landing.lying() if name != "Invoice"] == ["1.xml", "1.xml.json"]
    assert list(elsewhere.iterdir()) == []
    assert landing.rows()[0].file == "1.xml"


@modes
def test_folder_that_may_not_be_written_into(named: Callable[..., Landing]) -> None:
    """Where filedrop may not write into a folder, the document comes into the inbound folder itself."""
    landing = named(BY_SENDER)
    landing.step()
    theirs = landing.world.inbound / FOLDER
    theirs.mkdir()
    theirs.chmod(0o555)
    landing.receive("1")
    landing.bring()
    with as_anyone():
        landing.all()
    assert landing.lying() == ["1.xml", "1.xml.json"]
    assert landing.ended() == [(1, "", True)]


def test_folder_on_another_disk(named: Callable[..., Landing]) -> None:
    """Where another disk is mounted in a folder's place, the document comes into the inbound folder itself."""
    landing = named(BY_SENDER)
    landing.step()
    with mounted(landing.world.inbound / FOLDER):
        arrive(landing, invoice("1"))
        assert landing.lying() == ["1.xml", "1.xml.json"]


def test_folder_that_was_taken(named: Callable[..., Landing]) -> None:
    """A folder that an importer has removed is made again for the next document."""
    landing = named(BY_SENDER)
    arrive(landing, invoice("1"))
    for path in (landing.world.inbound / FOLDER).iterdir():
        path.unlink()
    (landing.world.inbound / FOLDER).rmdir()
    arrive(landing, invoice("2"))
    assert documents(landing) == {f"{FOLDER}/2.xml": invoice("2")}


def test_folder_that_is_taken_at_once(named: Callable[..., Landing]) -> None:
    """An importer may take a document, and remove its folder, as soon as it lies there: all messages are read."""
    landing = named(BY_SENDER)
    there, taken = landing.world.inbound / FOLDER, set()

    def take(_: str) -> None:
        for path in list(there.glob("*.xml")):
            path.with_name(f"{path.name}.json").unlink()
            path.unlink()
            taken.add(path.name)
        if taken and not any(there.glob("*")):
            there.rmdir()

    landing.fetched("1", "2")
    with tapped(take):
        landing.step()
    landing.read()
    assert taken == {"1.xml", "2.xml"}
    assert landing.lying() == []
    assert landing.ended() == [(1, "", True), (2, "", True)]
    assert [row.file for row in landing.rows()] == [f"{FOLDER}/1.xml", f"{FOLDER}/2.xml"]


def test_pattern_that_changes(named: Callable[..., Landing]) -> None:
    """What was begun under one pattern keeps the name that its row says; the next message gets one of the new."""
    landing = named(BY_SENDER)

    def full(what: str) -> None:
        if what == "place":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    landing.fetched("1")
    with tapped(full):
        landing.step()
    assert [(row.state, row.wanted) for row in landing.rows()] == [("named", f"{FOLDER}/1.xml")]
    landing.receive("2")
    landing.delivery.folder.pattern = "{number}"
    landing.bring()
    landing.all()
    assert documents(landing).keys() == {f"{FOLDER}/1.xml", "2.xml"}
    landing.world.invariants()


def test_page_in_a_folder(named: Callable[..., Landing]) -> None:
    """The page of a document lies beside it, in whichever folder that is."""
    landing = named(BY_SENDER, readable="html")
    arrive(landing, invoice("1"))
    assert landing.make_pages() == 1
    assert landing.lying() == [f"{FOLDER}/1.html", f"{FOLDER}/1.xml", f"{FOLDER}/1.xml.json"]
    landing.world.invariants()


def test_names_of_attachments(named: Callable[..., Landing]) -> None:
    """Page and first PDF have the name of the document, further attachments a number; the page links to them."""
    landing = named(BY_SENDER, readable="html", attachments="beside")
    arrive(landing, with_attachments(invoice("1"), *EMBEDDED))
    landing.make_pages()
    files = ["1-1-a.csv", "1-3-c.pdf", "1.html", "1.pdf", "1.xml", "1.xml.json"]
    assert landing.lying() == [f"{FOLDER}/{name}" for name in files]
    there = landing.world.inbound / FOLDER
    said = json.loads((there / "1.xml.json").read_bytes())
    assert [attachment["file"] for attachment in said["attachments"]] == ["1-1-a.csv", "1.pdf", "1-3-c.pdf"]
    assert (there / "1.pdf").read_bytes() == b"%PDF-b"
    page = (there / "1.html").read_text("utf-8")
    assert all(f'href="./{name}"' in page for name in ("1-1-a.csv", "1.pdf", "1-3-c.pdf"))
    landing.world.invariants()


@pytest.mark.parametrize("when", ["before", "after its name was reserved"])
def test_name_of_an_attachment_that_is_taken(named: Callable[..., Landing], when: str) -> None:
    """Where somebody's file has the name of the PDF, it stays, and document and attachments get a number."""
    landing = named("{number}", attachments="beside")
    landing.step()
    theirs = landing.world.inbound / "1.pdf"

    def take(what: str) -> None:
        if what == "place" and (when == "before" or (landing.world.inbound / "1.xml.json").exists()):
            theirs.write_bytes(b"theirs")

    landing.world.receive(with_attachments(invoice("1"), *EMBEDDED))
    if when == "before":
        theirs.write_bytes(b"theirs")
    landing.fetched()
    with tapped(take):
        landing.step()
    landing.read()
    assert theirs.read_bytes() == b"theirs"
    names = ["1-2-1-a.csv", "1-2-3-c.pdf", "1-2.pdf", "1-2.xml", "1-2.xml.json", "1.pdf"]
    assert landing.lying() == names
    assert landing.ended() == [(1, "", True)]


def test_status_and_history(make_world: Callable[..., World]) -> None:
    """`status` counts what is in folders as deep as the pattern leads, and `history` finds a document by its name."""
    world = make_world(inbound={"name": f'"{BY_SENDER}"'})
    first, second = world.receive(invoice("1")), world.receive(invoice("2"))
    world.run_once()
    deeper = world.inbound / FOLDER / "done"
    deeper.mkdir()
    (world.inbound / FOLDER / "2.xml").rename(deeper / "2.xml")
    assert json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["received"] == 1
    for name, number, is_there in (("1.xml", first, True), (f"{FOLDER}/2.xml", second, False)):
        told = json.loads(world.filedrop("history", name, "--json").stdout)
        assert (told["msg_no"], told["there"]) == (number, is_there)
        assert told["path"] == str(world.inbound / FOLDER / f"{number}.xml")


def test_delivered_again(make_world: Callable[..., World]) -> None:
    """`download --deliver` names a document by the pattern, too."""
    world = make_world(inbound={"name": f'"{BY_SENDER}"'})
    number = world.receive(invoice("1"))
    world.run_once()
    done = world.filedrop("download", str(number), "--deliver", "--again")
    assert done.stdout.strip() == str(world.inbound / FOLDER / "1-2.xml")
    assert (world.inbound / FOLDER / "1-2.xml").read_bytes() == invoice("1")


def test_command_for_a_document(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A command gets the path of the document, in whichever folder that is."""
    told, program = tmp_path / "told", tmp_path / "program.py"
    program.write_text(f"import os; open({str(told)!r}, 'a').write(os.environ['FILEDROP_FILE'])")
    more = f"commands: {{after_received: ['{sys.executable}', '{program}']}}"
    world = make_world(inbound={"name": f'"{BY_SENDER}"'}, more=more)
    world.receive(invoice("1"))
    with world.service():
        world.until(lambda: told.exists() and told.read_text() == str(world.inbound / FOLDER / "1.xml"))


def written(chance: random.Random) -> str:
    """What a stranger may write into a number or a name."""
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(0, 4)))


def fits_an_xml(text: str) -> str:
    return "".join(letter for letter in text if letter in "\t\n" or letter.isprintable() or letter == "\u202e")


@pytest.mark.timeout(3600 if is_full() else 300)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_hostile_names(named: Callable[..., Landing], sample: Sample, pattern: str) -> None:
    """Whatever strangers write: each document comes once, under a safe name, and nothing is overwritten or escapes."""
    landing = named(pattern)
    landing.step()
    theirs = {landing.world.inbound / name: name.encode() for name in ("1.xml", "con_.xml", "unknown.xml", "a")}
    for path, content in theirs.items():
        path.write_bytes(content)
    before = set(landing.world.base.iterdir())
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    messages = [(written(chance), written(chance), written(chance)) for _ in range(HOSTILE // len(PATTERNS))]
    few = 15  # one batch
    drawn = sample(messages, few)
    for first in range(0, len(drawn), few):
        for number, name, sender in drawn[first : first + few]:
            content = invoice(fits_an_xml(number)).replace(b"Bl\xc3\xa5b\xc3\xa6r", fits_an_xml(name).encode())
            landing.world.receive(content, sender=sender or BUYER)
        landing.bring()
        landing.all()
        landing.endings.clear()
    assert {path: path.read_bytes() for path in theirs} == theirs
    assert set(landing.world.base.iterdir()) == before
    assert [path.name for path in landing.world.root.iterdir()] == ["acme"]
    found = documents(landing).keys() - {path.name for path in theirs}
    assert sorted(row.file for row in landing.rows()) == sorted(found)
    for name in found:
        assert_safe(name, pattern)
    for path in theirs:
        path.unlink()
    landing.world.invariants()


def assert_safe(name: str, pattern: str) -> None:
    """Only safe letters; as deep as the pattern; no device, and no first folder with a meaning of its own."""
    parts = name.removesuffix(".xml").split("/")
    assert len(parts) in (1, pattern.count("/") + 1)  # 1: a file was in the place of its folder
    for part in parts:
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", part)
        assert not part.endswith(".")
        assert len(part) <= 160
        assert part.partition(".")[0].lower() not in DEVICES
    if len(parts) > 1:
        assert parts[0].partition(".")[0].lower() not in MEANT
