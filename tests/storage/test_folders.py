from __future__ import annotations

import json
import os
import shutil
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from support.plug import Tap

from filedrop.errors import FolderUnavailable
from filedrop.files import Directory
from filedrop.inbound.temporary import piece_name, temporary_name
from filedrop.journal import Journal
from filedrop.storage.company_folders import PLACES, InboundFolder, OutboundFolder
from filedrop.storage.marker import MARKER, why_outdated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "srv"
    folder.mkdir()
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.at(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


@pytest.fixture
def other_journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.at(tmp_path / "other.sqlite")
    yield journal
    journal.close()


def outbound(root: Path, company: str = "acme", *, ready_suffix: str | None = None) -> OutboundFolder:
    path = root / company / "outbound"
    return OutboundFolder(path, company=company, below=root, patterns=["*.xml"], ready_suffix=ready_suffix)


def test_a_new_company_gets_its_folders(root: Path, journal: Journal) -> None:
    """A company that is first seen gets its outbound folder, the places below it, and a marker of this journal."""
    folder = outbound(root)
    folder.take_up(journal)
    assert {path.name for path in folder.path.iterdir()} == {MARKER, *PLACES}.difference(folder.made_late)
    assert json.loads((folder.path / MARKER).read_text()) == {"folder": folder.id, "journal": journal.id}


@posix
def test_nothing_is_made_where_a_share_was_a_moment_ago(root: Path, journal: Journal) -> None:
    """A share that goes away just when a folder is missing in it gets that folder; its empty mount point gets none."""
    folder, away = outbound(root), root / "away"
    folder.take_up(journal)
    (folder.path / "sent").rmdir()

    def unmount(what: str) -> None:
        if what == "mkdir":
            folder.path.rename(away)
            folder.path.mkdir()

    tap = Tap(unmount)
    tap.put_in()
    try:
        folder.take_up(journal)
    finally:
        tap.take_out()
    assert tap.steps.count("mkdir") == 1
    assert (away / "sent").is_dir()
    assert not list(folder.path.iterdir())


def test_a_root_that_is_not_there_is_not_made_up(tmp_path: Path, journal: Journal) -> None:
    """Where the share isn't mounted, no folders are made in its place."""
    with pytest.raises(FolderUnavailable, match="isn't there; mount it or create it"):
        outbound(tmp_path / "unmounted").take_up(journal)
    assert not (tmp_path / "unmounted").exists()


def test_an_empty_folder_is_taken_up(root: Path, journal: Journal) -> None:
    """A folder that somebody has made and filled beforehand is taken up as it is."""
    (root / "acme" / "outbound").mkdir(parents=True)
    (root / "acme" / "outbound" / "invoice.xml").write_bytes(b"<a/>")
    folder = outbound(root)
    folder.take_up(journal)
    assert sorted(folder.dropped()) == ["invoice.xml"]


def test_it_is_the_same_folder_after_a_start(root: Path, journal: Journal) -> None:
    """A folder keeps its id: what the journal knows of its documents stays true."""
    first, second = outbound(root), outbound(root)
    first.take_up(journal)
    second.take_up(journal)
    assert first.id == second.id


def test_a_missing_marker_makes_the_folder_unavailable(root: Path, journal: Journal) -> None:
    """Where a known folder has lost its marker another disk is mounted, or none: nothing is created there."""
    folder = outbound(root)
    folder.take_up(journal)
    (root / "acme").rename(root / "unmounted")
    (root / "acme" / "outbound").mkdir(parents=True)
    with pytest.raises(FolderUnavailable, match="isn't mounted, or another disk is"):
        folder.take_up(journal)
    assert list(folder.path.iterdir()) == []


def test_a_folder_that_vanished_is_not_made_up(root: Path, journal: Journal) -> None:
    """Where a known folder isn't there at all, it isn't made again either; when it is back, it is taken up."""
    folder = outbound(root)
    folder.take_up(journal)
    (root / "acme").rename(root / "unmounted")
    with pytest.raises(FolderUnavailable):
        folder.take_up(journal)
    assert not (root / "acme").exists()
    (root / "unmounted").rename(root / "acme")
    folder.take_up(journal)


def test_another_filedrops_folder_is_refused(root: Path, journal: Journal, other_journal: Journal) -> None:
    """Two filedrops never serve one folder: the second one is told so, and how to take it over."""
    outbound(root).take_up(other_journal)
    with pytest.raises(FolderUnavailable, match=r"another filedrop serves this folder.*check --take-over"):
        outbound(root).take_up(journal)


def test_take_over(root: Path, journal: Journal, other_journal: Journal) -> None:
    """A person can give the folder of a lost journal to this one; the old one is refused from then on."""
    mine, others = outbound(root), outbound(root)
    others.take_up(other_journal)
    mine.take_over(journal)
    mine.take_up(journal)
    assert mine.id == others.id
    with pytest.raises(FolderUnavailable, match="another filedrop"):
        others.take_up(other_journal)


def test_take_over_of_a_folder_without_marker(root: Path, journal: Journal) -> None:
    """A person can say that a folder without a marker really is the one the journal knows."""
    folder = outbound(root)
    folder.take_up(journal)
    known = folder.id
    (folder.path / MARKER).unlink()
    folder.take_over(journal)
    folder.take_up(journal)
    assert folder.id == known


def test_what_a_take_over_has_left_behind(root: Path, journal: Journal) -> None:
    """The folder that was made at a start before the mount isn't taken for the share when that is unmounted again."""
    early, hidden = outbound(root), root / "hidden by the mount"
    early.take_up(journal)
    (root / "acme").rename(hidden)
    (root / "acme" / "outbound").mkdir(parents=True)
    share = outbound(root)
    share.take_over(journal)
    share.take_up(journal)
    (root / "acme").rename(root / "unmounted")
    hidden.rename(root / "acme")
    for folder in (share, outbound(root)):
        with pytest.raises(FolderUnavailable, match="before it was last taken over: it isn't mounted"):
            folder.take_up(journal)
        with pytest.raises(FolderUnavailable, match="before it was last taken over: it isn't mounted"):
            folder.check_ownership(journal)
    (root / "acme").rename(hidden)
    (root / "unmounted").rename(root / "acme")
    outbound(root).take_up(journal)


def test_a_copied_folder_is_refused(root: Path, journal: Journal) -> None:
    """A copy of a folder, marker and all, isn't mistaken for the folder itself while that one is there."""
    folder = outbound(root)
    folder.take_up(journal)
    shutil.copytree(root / "acme", root / "copy")
    copy = outbound(root, "copy")
    with pytest.raises(FolderUnavailable, match=r"is a copy of .*acme.outbound"):
        copy.take_up(journal)
    (copy.path / MARKER).unlink()
    copy.take_up(journal)
    assert copy.id != folder.id


def test_a_moved_share_is_the_same_folder(root: Path, journal: Journal) -> None:
    """A share that is mounted elsewhere keeps its documents' history."""
    folder = outbound(root)
    folder.take_up(journal)
    (root / "acme").rename(root / "new")
    moved = outbound(root, "new")
    moved.take_up(journal)
    assert moved.id == folder.id
    assert journal.folders.path(folder.id) == moved.path


def test_a_moved_share_and_a_new_folder_in_its_old_place(root: Path, journal: Journal) -> None:
    """Once a share has moved, its old place may hold a new folder."""
    folder = outbound(root)
    folder.take_up(journal)
    (root / "acme").rename(root / "new")
    outbound(root, "new").take_up(journal)
    fresh = outbound(root)
    fresh.take_up(journal)
    assert fresh.id != folder.id


def test_a_damaged_marker_is_not_overwritten(root: Path, journal: Journal) -> None:
    """A marker that can't be read is left to a person, who is told what to do."""
    folder = outbound(root)
    folder.path.mkdir(parents=True)
    (folder.path / MARKER).write_bytes(b"\x00\x00")
    with pytest.raises(FolderUnavailable, match="can't be read as a marker"):
        folder.take_up(journal)
    assert (folder.path / MARKER).read_bytes() == b"\x00\x00"


def test_a_file_in_the_place_of_a_folder(root: Path, journal: Journal) -> None:
    """What can't be used is named in a sentence."""
    (root / "acme").write_bytes(b"no folder at all")
    with pytest.raises(FolderUnavailable, match=r"acme.* can't be used: .*; see that it is there"):
        outbound(root).take_up(journal)


@pytest.mark.parametrize(
    "name",
    [".hidden.xml", "~$invoice.xml", "a.tmp", "a.xml.part", "a.xml.PARTIAL", "a.filepart", "a.xml.crdownload",
     ".a.xml.swp", "a.lock", "a.xml~", "a.xml.why.txt", "a.xml.json", "HOLD", "HOLD.txt", "HOLD.xml", "Thumbs.db",
     "desktop.ini", ".DS_Store"],
)  # fmt: skip
def test_never_a_document(root: Path, name: str) -> None:
    """Whatever `files` says, these names are never documents (contract 1)."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    (root / name).write_bytes(b"<a/>")
    (root / "invoice").write_bytes(b"<a/>")
    assert sorted(folder.dropped()) == ["invoice"]


def test_only_matching_names_are_documents(root: Path) -> None:
    """`files` says which names are documents, whatever their case."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*.xml", "INV-*"])
    for name in ("a.XML", "b.pdf", "inv-1", "c.xml.txt"):
        (root / name).write_bytes(b"<a/>")
    assert sorted(folder.dropped()) == ["a.XML", "inv-1"]


@posix
def test_only_regular_files_are_documents(root: Path) -> None:
    """Directories, links and pipes are never documents, whatever they are called."""
    (root / "folder.xml").mkdir()
    (root / "elsewhere").write_bytes(b"<a/>")
    (root / "link.xml").symlink_to(root / "elsewhere")
    os.mkfifo(root / "pipe.xml")
    assert list(OutboundFolder(root, company="acme", below=root, patterns=["*.xml"]).dropped()) == []


def test_a_ready_file_is_no_document(root: Path) -> None:
    """Where `X.xml.ready` says that X.xml is ready, it isn't sent itself."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"], ready_suffix=".ready")
    for name in ("a.xml", "a.xml.ready", "b.xml.READY"):
        (root / name).write_bytes(b"<a/>")
    assert sorted(folder.dropped()) == ["a.xml"]


@pytest.mark.parametrize("taken", ["invoice.xml", "invoice.xml.json", "invoice.xml.why.txt"])
def test_a_taken_name_gets_a_number(root: Path, taken: str) -> None:
    """A name is taken where it, its sidecar or its note lies; the number stands before the suffix."""
    (root / taken).write_bytes(b"")
    assert list(islice(outbound(root).free_names(Directory.open(root), "invoice.xml"), 2)) == [
        "invoice-2.xml",
        "invoice-3.xml",
    ]


def test_claim_never_overwrites(root: Path, journal: Journal) -> None:
    """The same name every night: each file is claimed under a name of its own, with its own bytes."""
    folder = outbound(root)
    folder.take_up(journal)
    names = []
    for night in range(4):
        (folder.path / "invoice.xml").write_bytes(b"%d" % night)
        names.append(folder.claim("invoice.xml"))
    assert names == ["invoice.xml", "invoice-2.xml", "invoice-3.xml", "invoice-4.xml"]
    assert [(folder.path / "sending" / name).read_bytes() for name in names] == [b"0", b"1", b"2", b"3"]


def test_claiming_what_is_gone(root: Path, journal: Journal) -> None:
    """A file that its owner took back just now is told as gone."""
    folder = outbound(root)
    folder.take_up(journal)
    with pytest.raises(FileNotFoundError):
        folder.claim("gone.xml")


@posix
def test_names_in_another_encoding(root: Path, journal: Journal) -> None:
    """A name in Latin-1, which is no valid UTF-8, keeps its bytes through the claim."""
    folder = outbound(root)
    folder.take_up(journal)
    name = os.fsdecode("faktura-å.xml".encode("latin-1"))
    (folder.path / name).write_bytes(b"<a/>")
    assert sorted(folder.dropped()) == [name]
    assert folder.claim(name) == name
    assert [os.fsencode(path.name) for path in (folder.path / "sending").iterdir()] == [b"faktura-\xe5.xml"]


LONG_NAMES = {
    "ASCII": "a" * 251 + ".xml",
    "two bytes a letter": "æ" * 125 + ".xml",
    "three bytes a letter": "€" * 83 + ".xml",
    "Latin-1": "\udce5" * 251 + ".xml",  # what os.fsdecode makes of the byte E5
    "no suffix": "a" * 255,
    "hardly anything but suffix": "a." + "b" * 253,
}


@posix
@pytest.mark.parametrize("name", LONG_NAMES.values(), ids=LONG_NAMES)
def test_long_names_are_shortened(root: Path, journal: Journal, name: str) -> None:
    """A name of 255 bytes leaves room for `-2`, `.json` and `.why.txt`, keeps its suffix, and breaks no letter."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    folder.take_up(journal)
    claimed = []
    for content in (b"1", b"2"):
        (folder.path / name).write_bytes(content)
        claimed.append(folder.claim(name))
    assert claimed[0] != claimed[1]
    for file in claimed:
        assert len(os.fsencode(file)) <= 202
        assert file.endswith(".xml") == name.endswith(".xml")
        assert set(file) <= set(name) | set("-2")
        (folder.path / "failed" / f"{file}.why.txt").touch()


HOLDS = [
    "HOLD",
    "HOLD.txt",
    "hold",
    "Hold",
    "hold.txt",
    "HOLD.TXT",
    "hOLD.Txt",
    "HOLD.txt.txt",
    "Hold.xml",
    "HOLD.json",
]
NO_HOLDS = [
    "HOLDING-GmbH-1001.xml",
    "HOLD-1.xml",
    "HOLD 1.xml",
    "holding",
    "on HOLD.xml",
    "HOLD~",
    ".HOLD",
    ".hold.swp",
]


def as_told_apart(name: str) -> str:
    """The name as the system tells names apart: Windows finds `hold` when asked for `HOLD`."""
    return name.lower() if sys.platform == "win32" else name


@pytest.mark.parametrize("name", HOLDS)
def test_hold(root: Path, name: str) -> None:
    """A file whose stem is HOLD holds its folder, in any case and with any endings, and is no document."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    assert folder.held_by() == ""
    (root / name).touch()
    assert as_told_apart(folder.held_by()) == as_told_apart(name)
    assert list(folder.dropped()) == []
    (root / name).unlink()
    assert folder.held_by() == ""


@pytest.mark.parametrize("name", NO_HOLDS)
def test_names_that_only_begin_like_hold(root: Path, name: str) -> None:
    """Names that only look like HOLD hold nothing, and are names of documents like others."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    (root / name).touch()
    assert folder.held_by() == ""
    assert list(folder.dropped()) == ([] if name.startswith(".") or name.endswith("~") else [name])


@posix
def test_hold_that_is_no_file(root: Path) -> None:
    """HOLD itself holds whatever it is, a folder or a link; of other spellings, only regular files do."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    (root / "hold").mkdir()
    (root / "Hold.txt").symlink_to(root / "hold")
    assert folder.held_by() == ""
    (root / "HOLD").symlink_to(root / "nowhere")
    assert folder.held_by() == "HOLD"
    (root / "HOLD").unlink()
    (root / "HOLD").mkdir()
    assert folder.held_by() == "HOLD"


def test_hold_costs_one_listing_a_second(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often senders ask, the folder is listed once a second at most; usual spellings are seen at once."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    system, listings = os.scandir, []

    def counted(folder: Any) -> Any:
        listings.append(folder)
        return system(folder)

    monkeypatch.setattr(os, "scandir", counted)
    for moment in range(100):
        assert folder.held_by(moment / 100) == ""
    assert len(listings) == 1
    for name in ("HOLD", "HOLD.txt", "hold", "hold.txt"):
        (root / name).touch()
        assert as_told_apart(folder.held_by(0.99)) == as_told_apart(name)
        (root / name).unlink()
    listings.clear()
    (root / "Hold.TXT.txt").touch()
    assert folder.held_by(5.0) == "Hold.TXT.txt"
    assert folder.held_by(6.1) == "Hold.TXT.txt"
    assert len(listings) == 1


def test_hold_that_a_scan_has_seen(root: Path) -> None:
    """What is dropped after a hold file is never posted: the listing that finds the one finds the other."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    assert folder.held_by(1.0) == ""
    (root / "Hold.TXT.txt").touch()
    (root / "invoice.xml").touch()
    assert list(folder.dropped(1.1)) == ["invoice.xml"]
    assert folder.held_by(1.2) == "Hold.TXT.txt"


def test_second_hold_file(root: Path) -> None:
    """A folder with two hold files is held until both are gone."""
    folder = OutboundFolder(root, company="acme", below=root, patterns=["*"])
    for name in ("HOLD", "Hold.bak"):
        (root / name).touch()
    assert folder.held_by(1.0) in ("HOLD", "Hold.bak")
    (root / "HOLD").unlink()
    assert folder.held_by(1.1) == "Hold.bak"


def test_drafts_of_a_killed_process_are_cleared(root: Path) -> None:
    """What a killed process was about to place is removed, but what the journal names; other people's files stay."""
    folder = InboundFolder(root, company="acme", below=root)
    drafts = [f".01JD000000000000000000000{number}.part" for number in (1, 2)]
    for name in (*drafts, ".bashrc", ".01JD.part", "01JD0000000000000000000001.part"):
        (root / name).write_bytes(b"")
    folder.clear_drafts_once("acme@ap.example.com", (), lambda: frozenset(drafts[1:]))
    assert {path.name for path in root.iterdir()} == {
        drafts[1], ".bashrc", ".01JD.part", "01JD0000000000000000000001.part",
    }  # fmt: skip


def test_pieces_beside_a_draft_that_is_named(root: Path) -> None:
    """They are removed, since they are made again; the sidecar that reserves the document's name stays."""
    folder = InboundFolder(root, company="acme", below=root)
    id_ = "01JD0000000000000000000001"
    draft = temporary_name(id_, "acme@host")
    for name in (draft, piece_name(draft, 1)):
        (root / name).write_bytes(b"")
    (root / "a.xml.json").write_text(json.dumps({"filedrop": 1, "id": id_, "direction": "IN"}))
    folder.clear_drafts_once("acme@host", (), lambda: frozenset({draft}))
    assert {path.name for path in root.iterdir()} == {draft, "a.xml.json"}


def test_drafts_of_several_accounts(root: Path) -> None:
    """Each account clears its own, once, and those of accounts that are gone: not what another is about to name."""
    folder = InboundFolder(root, company="unassigned", below=root)
    ids = [f"01JD000000000000000000000{number}" for number in (1, 2, 3)]
    own, others, formers = map(temporary_name, ids, ("acme@host", "fjord@host", "before@host"))
    for id_, draft in zip(ids, (own, others, formers), strict=True):
        (root / draft).write_bytes(b"")
        (root / piece_name(draft, 1)).write_bytes(b"")
        (root / f"{id_}.xml.json").write_text(json.dumps({"filedrop": 1, "id": id_, "direction": "IN"}))
    folder.clear_drafts_once("acme@host", {"fjord@host"}, frozenset)
    left = {others, piece_name(others, 1), f"{ids[1]}.xml.json"}
    assert {path.name for path in root.iterdir()} == left
    (root / own).write_bytes(b"")
    folder.clear_drafts_once("acme@host", {"fjord@host"}, frozenset)
    assert {path.name for path in root.iterdir()} == {own, *left}
    folder.clear_drafts_once("fjord@host", {"acme@host"}, frozenset)
    assert [path.name for path in root.iterdir()] == [own]


def test_notes_are_told_from_other_files(root: Path) -> None:
    """Sidecars and notes belong to a document, whether it lies there or not; other people's files don't."""
    folder = outbound(root)
    folder.path.mkdir(parents=True)
    for name in ("a.xml", "a.xml.json", "b.xml.json", "b.xml.why.txt", "package.json", "c.pdf.why.txt"):
        (folder.path / name).touch()
    assert list(folder.documents("")) == ["a.xml"]
    assert set(folder.notes("")) == {("a.xml.json", "a.xml"), ("b.xml.json", "b.xml"), ("b.xml.why.txt", "b.xml")}


def test_number_of_missing_changes() -> None:
    """What the journal lacks is counted in correct English."""
    assert " it lacks 1 change. " in why_outdated(1)
    assert " it lacks 2 changes. " in why_outdated(2)
