"""The last move, and the same move after it was cut off anywhere: one file, one sidecar, under one name."""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.drops import NOON, accepted, drop, posted
from support.plug import Disk, Tap
from support.rights import as_anyone
from support.systems import folders_flushed, modes

from filedrop.files import Drafts, stamp
from filedrop.journal import Journal
from filedrop.model.document import State, new_id
from filedrop.model.fault import Fault
from filedrop.outbound.filing import FileGone, Move, begin, lies_at, put_back
from filedrop.outbound.leftovers import put_back_changed
from filedrop.outbound.moves import bring_to_disk
from filedrop.storage import sidecar
from filedrop.storage.company_folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.bench import Bench

    from filedrop.model.document import Document

FAULT = Fault("rejected", "the access point refused it")


@pytest.fixture
def folder(tmp_path: Path) -> OutboundFolder:
    folder = OutboundFolder(tmp_path / "outbound", company="acme", below=tmp_path, patterns=["*"])
    journal = Journal.at(tmp_path / "journal.sqlite")
    folder.take_up(journal)
    journal.close()
    return folder


def lying(folder: OutboundFolder) -> set[str]:
    """All files below the folder but its marker."""
    files = (path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*") if path.is_file())
    return {name for name in files if name != ".filedrop"}


def claimed(folder: OutboundFolder, name: str = "invoice.xml", **changes: object) -> Document:
    """A document whose file lies in `sending/`."""
    content = b"<invoice/>"
    facts = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    document = drop(**({"file": name, "dropped_as": name} | facts | changes))
    (folder.path / "sending" / document.file).write_bytes(content)
    return document


def complete(
    move: Move, drafts: Drafts, is_spoken_for: Callable[[str, str], bool] = lambda _place, _file: False
) -> Document | None:
    """The second half of a move: its sidecar gets its name, and then the file."""
    return move.complete(is_spoken_for=is_spoken_for(*move.target)) if move.reserve(drafts) else None


def put_away(
    folder: OutboundFolder,
    document: Document,
    *,
    is_spoken_for: Callable[[str, str], bool] = lambda _place, _file: False,
    resumed: bool = False,
) -> Document:
    """Put one document away, as a batch of one."""
    move = begin(folder, document, resumed=resumed)
    after = None if isinstance(move, Move) else move
    with Drafts(folder.at("sending")) as drafts:
        while after is None:
            move.write(drafts, set())
            drafts.flush()
            after = complete(move, drafts, is_spoken_for)
    return after


def test_sent(folder: OutboundFolder) -> None:
    """An accepted document lies in sent/ with its sidecar, its bytes unchanged."""
    document = put_away(folder, accepted(claimed(folder)))
    assert (document.place, document.file) == ("sent", "invoice.xml")
    assert lying(folder) == {"sent/invoice.xml", "sent/invoice.xml.json"}
    assert (folder.path / "sent" / "invoice.xml").read_bytes() == b"<invoice/>"
    said = sidecar.read(folder.path / "sent" / "invoice.xml.json")
    assert said is not None
    assert (said["id"], said["file"]) == (document.id, "invoice.xml")


def test_delivered(folder: OutboundFolder) -> None:
    """A delivered document lies in the archive of its month; nothing of it stays in sent/."""
    sent = put_away(folder, accepted(claimed(folder)))
    put_away(folder, sent.delivered_at(NOON, "2027-01-01T00:00:00+01:00", None))
    assert lying(folder) == {"archive/2027-01/invoice.xml", "archive/2027-01/invoice.xml.json"}


@pytest.mark.parametrize("place", ["sent", "archive"])
def test_a_place_that_is_not_there(folder: OutboundFolder, place: str) -> None:
    """Whose share has just gone away is told that it can't be put away, and the empty mount point stays empty."""
    document = accepted(claimed(folder))
    if place == "archive":
        document = put_away(folder, document).delivered_at(NOON, "2027-01-01T00:00:00+01:00", None)
    before = lying(folder)
    (folder.path / place).rename(folder.path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        put_away(folder, document)
    assert not (folder.path / place).exists()
    (folder.path / "elsewhere").rename(folder.path / place)
    assert lying(folder) == before


def test_a_name_that_was_reserved_before(folder: OutboundFolder) -> None:
    """Whose own name was another's, and whose move was cut off, finds the name that it got then, and no second one."""
    put_away(folder, accepted(claimed(folder)))
    document = accepted(claimed(folder, id="01JD0000000000000000000002"), 8)
    moved = put_away(folder, document)
    before = lying(folder)
    (folder.path / "sent" / moved.file).rename(folder.path / "sending" / document.file)
    assert put_away(folder, document, resumed=True) == moved
    assert lying(folder) == before
    assert len(before) == 4


def test_failed(folder: OutboundFolder) -> None:
    """A failed document has a note beside it that says why; the note of its waiting is gone."""
    document = claimed(folder)
    (folder.path / "sending" / "invoice.xml.why.txt").write_bytes(b"it is in doubt")
    put_away(folder, document.failed(NOON, FAULT))
    assert lying(folder) == {"failed/invoice.xml", "failed/invoice.xml.json", "failed/invoice.xml.why.txt"}
    assert b"refused" in (folder.path / "failed" / "invoice.xml.why.txt").read_bytes()


@pytest.mark.parametrize("taken", ["invoice.xml", "invoice.xml.json", "invoice.xml.why.txt"])
def test_a_taken_name(folder: OutboundFolder, taken: str) -> None:
    """Nothing that lies there is overwritten: the document gets a number, whichever of the three names is taken."""
    (folder.path / "failed" / taken).write_bytes(b"a person's")
    document = put_away(folder, claimed(folder).failed(NOON, FAULT))
    assert document.file == "invoice-2.xml"
    assert (folder.path / "failed" / taken).read_bytes() == b"a person's"


@pytest.mark.parametrize(
    ("taken", "fails"),
    [
        *((["invoice.xml", *beside], fails) for beside in ([], ["invoice.xml.why.txt"]) for fails in (True, False)),
        (["invoice.xml.json"], True),
        (["invoice.xml.why.txt"], True),
    ],
)
def test_a_name_that_is_taken_at_the_last_moment(folder: OutboundFolder, taken: list[str], *, fails: bool) -> None:
    """What a person puts there after the name was chosen stays as it is, and the document gets a number."""
    document = claimed(folder)
    document = document.failed(NOON, FAULT) if fails else accepted(document)
    there = [folder.path / document.home / name for name in taken]
    move = begin(folder, document, resumed=False)
    assert isinstance(move, Move)
    with Drafts(folder.at("sending")) as drafts:
        move.write(drafts, set())
        for path in there:
            path.write_bytes(b"a person's")
        drafts.flush()
        assert complete(move, drafts) is None
        move.write(drafts, set())
        drafts.flush()
        after = complete(move, drafts)
    assert after is not None
    assert after.file == "invoice-2.xml"
    assert [path.read_bytes() for path in there] == [b"a person's"] * len(there)
    ours = {f"{document.home}/invoice-2.xml{end}" for end in ("", ".json", *([".why.txt"] if fails else []))}
    assert lying(folder) == ours | {f"{document.home}/{name}" for name in taken}


def test_it_gets_its_own_name_back(folder: OutboundFolder) -> None:
    """A file that had to be numbered in sending/ has its own name again where that is free."""
    document = claimed(folder, file="invoice-2.xml", dropped_as="invoice.xml")
    assert put_away(folder, accepted(document)).file == "invoice.xml"


NAMES = ["invoice.xml", "inv[1].xml" if sys.platform == "win32" else "inv[1]*?.xml", "invoice", "a" * 251 + ".xml"]


@pytest.mark.parametrize("name", NAMES, ids=["plain", "wildcards", "no suffix", "shortened"])
def test_cut_off_before_the_move(folder: OutboundFolder, name: str) -> None:
    """With the sidecar in place and the file not yet moved, the move is done under one name."""
    document = accepted(claimed(folder, file=name[:200], dropped_as=name))
    first = put_away(folder, document)
    (folder.path / "sent" / first.file).rename(folder.path / "sending" / document.file)
    again = put_away(folder, document, resumed=True)
    assert again == first
    assert lying(folder) == {f"sent/{first.file}", f"sent/{first.file}.json"}


@pytest.mark.parametrize("name", NAMES, ids=["plain", "wildcards", "no suffix", "shortened"])
def test_cut_off_after_the_move(folder: OutboundFolder, name: str) -> None:
    """With the file moved and the journal not told, it is found where it belongs, and its old notes are cleared."""
    document = accepted(claimed(folder, file=name[:200], dropped_as=name))
    first = put_away(folder, document)
    (folder.path / "sending" / f"{document.file}.why.txt").write_bytes(b"it is in doubt")
    assert put_away(folder, document, resumed=True) == first
    assert lying(folder) == {f"sent/{first.file}", f"sent/{first.file}.json"}


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_move_that_the_journal_does_not_know(folder: OutboundFolder, *, is_moved: bool) -> None:
    """What was in doubt may have been put away before, as the folder says, though nobody knows of a crash."""
    document = posted(claimed(folder)).doubted(NOON, "no answer").sent(NOON, 7, received=None, uuid=None)
    first = put_away(folder, document)
    if not is_moved:
        (folder.path / "sent" / first.file).rename(folder.path / "sending" / document.file)
    assert put_away(folder, document) == first
    assert lying(folder) == {"sent/invoice.xml", "sent/invoice.xml.json"}


def test_moved_already(folder: OutboundFolder) -> None:
    """A document whose file lies where it belongs, under its name, is put away."""
    document = accepted(claimed(folder))
    assert put_away(folder, document) == put_away(folder, document)


def test_a_copy_that_a_person_has_laid_there(folder: OutboundFolder) -> None:
    """A copy of the document with its sidecar isn't the document: both lie there then, and nothing stays in sent/."""
    sent = put_away(folder, accepted(claimed(folder)))
    for name in ("invoice.xml", "invoice.xml.json"):
        (folder.path / "failed" / name).write_bytes((folder.path / "sent" / name).read_bytes())
    assert put_away(folder, sent.failed(NOON, FAULT)).file == "invoice-2.xml"
    own = {"failed/invoice-2.xml", "failed/invoice-2.xml.json", "failed/invoice-2.xml.why.txt"}
    assert lying(folder) == {"failed/invoice.xml", "failed/invoice.xml.json"} | own


@pytest.mark.parametrize("how", ["was in doubt", "resumed", "exchanged", "overwritten"])
def test_another_lies_in_sending(folder: OutboundFolder, how: str) -> None:
    """What lies there is compared before it is called the document, unless it is the very file that was just posted."""
    document = posted(claimed(folder))
    document = document.doubted(NOON, "no answer") if how == "was in doubt" else document
    document = document.sent(NOON, 7, received=None, uuid=None)
    file = folder.path / "sending" / "invoice.xml"
    stamp_posted = stamp(folder.at("sending") / "invoice.xml")
    if how == "exchanged":
        file.rename(folder.path.parent / "the posted one")
    file.write_bytes(b"<another/>")
    os.utime(file, (0, 0))
    with pytest.raises(FileGone):
        begin(folder, document, resumed=how == "resumed", posted=stamp_posted)
    assert lying(folder) == {"sending/invoice.xml"}


def test_exchanged_after_the_look(folder: OutboundFolder) -> None:
    """What is put there after the look, which tells stamp and identity at once, isn't moved as the document."""
    document, file = accepted(claimed(folder)), folder.path / "sending" / "invoice.xml"
    move = begin(folder, document, resumed=False, posted=stamp(folder.at("sending") / "invoice.xml"))
    assert isinstance(move, Move)
    file.rename(folder.path.parent / "the posted one")
    file.write_bytes(b"<another/>")
    with Drafts(folder.at("sending")) as drafts:
        move.write(drafts, set())
        drafts.flush()
        with pytest.raises(FileGone):
            complete(move, drafts)
    assert lying(folder) == {"sending/invoice.xml"}


def test_what_was_just_posted_is_not_read_again(folder: OutboundFolder) -> None:
    document = accepted(claimed(folder, sha256="another digest"))
    assert isinstance(begin(folder, document, resumed=False, posted=stamp(folder.at("sending") / "invoice.xml")), Move)


@pytest.mark.parametrize("compared", [9, 10])
def test_large_files_are_compared_by_their_size(
    folder: OutboundFolder, monkeypatch: pytest.MonkeyPatch, compared: int
) -> None:
    document = accepted(claimed(folder))
    monkeypatch.setattr("filedrop.outbound.filing.COMPARED", compared)
    (folder.path / "sending" / "invoice.xml").write_bytes(b"<another/>")
    assert len(b"<another/>") == document.size == 10
    assert lies_at(folder, document) is (compared < 10)


def test_a_document_of_which_no_digest_is_known(folder: OutboundFolder) -> None:
    """Of one that couldn't be read, only the size can be compared, if that is known."""
    assert lies_at(folder, claimed(folder, sha256=""))
    assert not lies_at(folder, claimed(folder, sha256="", size=11))


def test_a_folder_in_a_documents_place(folder: OutboundFolder) -> None:
    document = accepted(claimed(folder))
    (folder.path / "sending" / "invoice.xml").unlink()
    (folder.path / "sending" / "invoice.xml").mkdir()
    assert not lies_at(folder, document)
    with pytest.raises(FileGone):
        put_away(folder, document, resumed=True)


@modes
@pytest.mark.parametrize("digest", [True, False])
def test_a_file_that_may_not_be_read_any_more(folder: OutboundFolder, *, digest: bool) -> None:
    """It is put away as the document: only its rights have changed, as far as can be seen."""
    document = claimed(folder) if digest else claimed(folder, sha256="", size=0)
    (folder.path / "sending" / "invoice.xml").chmod(0)
    with as_anyone():
        assert lies_at(folder, document)
        assert put_away(folder, document.failed(NOON, FAULT), resumed=True).place == "failed"


def test_where_it_lies(folder: OutboundFolder) -> None:
    """A document lies where the journal has it, or where a move that was cut off has brought it."""
    document = accepted(claimed(folder))
    assert lies_at(folder, document)
    sent = put_away(folder, document)
    assert lies_at(folder, document)
    assert lies_at(folder, sent)
    (folder.path / "sent" / "invoice.xml").write_bytes(b"<another/>")
    assert not lies_at(folder, sent)
    (folder.path / "sent" / "invoice.xml").unlink()
    assert not lies_at(folder, document)
    assert not lies_at(folder, sent.at("archive/2020-01", "invoice.xml"))


def test_a_name_that_another_may_have(folder: OutboundFolder) -> None:
    """It isn't used, though no file lies there, and nothing is left beside it."""
    document = put_away(folder, accepted(claimed(folder)), is_spoken_for=lambda *name: name == ("sent", "invoice.xml"))
    assert document.file == "invoice-2.xml"
    assert lying(folder) == {"sent/invoice-2.xml", "sent/invoice-2.xml.json"}


def test_put_back(folder: OutboundFolder) -> None:
    """A claimed file gets its name back; where that is taken, a number, and a sidecar that says its own."""
    for name in ("invoice.xml", "invoice-2.xml"):
        claimed(folder, name)
        (folder.path / "sending" / f"{name}.why.txt").write_bytes(b"it waits")
        put_back(folder, name, "invoice.xml")
    assert lying(folder) == {"invoice.xml", "invoice-2.xml", "invoice-2.xml.json"}
    said = sidecar.read(folder.path / "invoice-2.xml.json")
    assert said is not None
    assert (said["file"], said["dropped_as"]) == ("invoice-2.xml", "invoice.xml")


def test_put_back_since_it_changed(bench: Bench) -> None:
    """It lies in `outbound/` under its own name, which is looked at again, and the document is over."""
    bench.put("invoice-2.xml")
    bench.put("invoice.xml")
    document = bench.recorded().but(dropped_as="later.xml")
    bench.desk.scanner.scan([], bench.clock.steady())
    put_back_changed(bench.desk, document)
    assert bench.lying() == {"invoice-2.xml", "later.xml"}
    assert bench.desk.scanner.is_woken
    (now,) = bench.life.journal.documents.by_ids([document.id])
    assert now.state is State.TAKEN
    assert abs(now.history[-1].at - bench.desk.shared.now()) < timedelta(seconds=1)
    assert bench.told("document.changed") == 1


def test_another_documents_sidecar_is_left_alone(folder: OutboundFolder) -> None:
    """A document of the same name that was put away before keeps its place when the next one's move is repeated."""
    put_away(folder, accepted(claimed(folder)))
    second = claimed(folder, id=drop(2).id)
    assert put_away(folder, accepted(second), resumed=True).file == "invoice-2.xml"
    assert lying(folder) == {
        "sent/invoice.xml", "sent/invoice.xml.json", "sent/invoice-2.xml", "sent/invoice-2.xml.json",
    }  # fmt: skip


@pytest.mark.parametrize("other", [b"<another/>", b"<a-longer-one/>"], ids=["as long", "longer"])
def test_another_lies_in_its_place(folder: OutboundFolder, other: bytes) -> None:
    """A file that a person has put where a sent document lay isn't taken for it, and stays where it is."""
    document = put_away(folder, accepted(claimed(folder)))
    (folder.path / "sent" / "invoice.xml").write_bytes(other)
    with pytest.raises(FileGone):
        put_away(folder, document.delivered_at(NOON, "2026-11-20T12:00:00Z", None))
    assert (folder.path / "sent" / "invoice.xml").read_bytes() == other
    assert not list(folder.path.glob("archive/*/*.xml"))


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_another_comes_in_its_place_at_the_last_moment(folder: OutboundFolder, place: str) -> None:
    """A file that a person exchanges while a batch is put away stays where it is, and isn't called the document."""
    document = accepted(claimed(folder))
    if place == "sent":
        document = put_away(folder, document).delivered_at(NOON, "2026-11-20T12:00:00Z", None)
    file = folder.path / place / "invoice.xml"
    move = begin(folder, document, resumed=False)
    assert isinstance(move, Move)
    with Drafts(folder.at("sending")) as drafts:
        move.write(drafts, set())
        drafts.flush()
        file.rename(folder.path.parent / "taken.xml")
        file.write_bytes(b"<another/>")
        with pytest.raises(FileGone, match=r"^invoice\.xml$"):
            complete(move, drafts)
    assert file.read_bytes() == b"<another/>"
    assert lying(folder) == (
        {"sending/invoice.xml"} if place == "sending" else {"sent/invoice.xml", "sent/invoice.xml.json"}
    )


@pytest.mark.parametrize("resumed", [False, True])
def test_a_file_that_was_taken(folder: OutboundFolder, resumed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Where a person has taken the file, no sidecar is left without its document."""
    document = accepted(claimed(folder))
    (folder.path / "sending" / "invoice.xml").unlink()
    with pytest.raises(FileGone, match=r"^invoice\.xml$"):
        put_away(folder, document, resumed=resumed)
    assert lying(folder) == set()


class PowerCut(BaseException):
    """Nothing is done any more."""


@folders_flushed
@pytest.mark.parametrize("nth", [1, 2])
def test_the_power_fails_while_moves_are_brought_to_the_disk(tmp_path: Path, folder: OutboundFolder, nth: int) -> None:
    """Wherever a document lies then, its sidecar lies beside it."""

    def before(_what: str) -> None:
        if tap.steps[begun:].count("fsync") == nth:
            raise PowerCut

    sent = put_away(folder, accepted(claimed(folder)))
    begun, disk = sys.maxsize, Disk(tmp_path / "attic")
    tap = Tap(before, disk)
    tap.put_in()
    try:
        delivered = put_away(folder, sent.delivered_at(NOON, "2027-01-01T00:00:00+01:00", None))
        begun = len(tap.steps)
        with pytest.raises(PowerCut):
            bring_to_disk(folder, {sent.place, delivered.place})
    finally:
        tap.take_out()
    disk.forget()
    (document,) = (name for name in lying(folder) if name.endswith(".xml"))
    assert f"{document}.json" in lying(folder)


@pytest.mark.parametrize("know_each_other", [True, False])
def test_documents_of_one_name_in_one_batch(folder: OutboundFolder, *, know_each_other: bool) -> None:
    """Each gets a name of its own, and a sidecar that says whose it is."""
    files = ["invoice.xml", "invoice-2.xml", "invoice-3.xml"]
    documents = [accepted(claimed(folder, file, id=new_id(NOON), dropped_as="invoice.xml")) for file in files]
    moves = [begin(folder, document, resumed=False) for document in documents]
    filed: dict[str, Document] = {}
    taken: set[tuple[str, str]] = set()
    with Drafts(folder.at("sending")) as drafts:
        while moves:
            for move in moves:
                assert isinstance(move, Move)
                move.write(drafts, taken if know_each_other else set())
            drafts.flush()
            filed |= {move.document.id: after for move in moves if (after := complete(move, drafts))}
            moves = [move for move in moves if move.document.id not in filed]
    assert {document.file for document in filed.values()} == set(files)
    for document in filed.values():
        assert sidecar.document_id_in(folder.path / "sent" / f"{document.file}.json") == document.id
    assert lying(folder) == {f"sent/{file}{suffix}" for file in files for suffix in ("", ".json")}
