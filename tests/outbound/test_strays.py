"""Files that nobody will ever send are found where they are, and nothing else is taken for one."""

from __future__ import annotations

import os
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from support.bench import CONTENT, lay
from support.documents import invoice
from support.drops import drop
from support.faults import instead
from support.stepping import RULES, Life

from filedrop.model.document import State
from filedrop.outbound.strays import CONFLICT_COPY, FOLLOWED, LISTED_AT_ONCE, NO_DOCUMENT, READY_ALONE
from filedrop.storage.names import A_PDF

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.bench import Bench
    from support.stepping import Clock
    from support.world import World

RESCAN = 31.0  # seconds
HOUR = 3600.0
posix = pytest.mark.skipif(sys.platform == "win32", reason="links are POSIX, and these names, too")


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A folder that is compared with the journal each half a minute."""
    return make_bench(rescan="30s")


def look(bench: Bench, times: int = 1, *, after: float = RESCAN) -> None:
    """Compare the folder with the journal, so often."""
    compared = bench.life.pipeline.reconciliation
    for _ in range(times):
        bench.clock.pass_on(after)
        compared.step(comes_first=False)
        while compared.is_under_way:
            compared.step(comes_first=False)


def found(bench: Bench) -> set[str]:
    """The strays that are reported, by their paths in `outbound/`."""
    return {f"{one.place}/{one.name}".lstrip("/") for one in bench.life.pipeline.reconciliation.strays.found or ()}


def reasons(bench: Bench) -> dict[str, str]:
    """The strays that are reported in `outbound/` itself, each with its reason."""
    return {stray.name: stray.why for stray in bench.life.pipeline.reconciliation.strays.found or ()}


def put(bench: Bench, name: str, content: bytes = b"%PDF") -> Path:
    """Have a file lie there that is nobody's document."""
    path = bench.outbound / name
    path.parent.mkdir(exist_ok=True)
    bench.world.put(path, content)
    return path


def test_names_that_are_no_documents(bench: Bench) -> None:
    """`invoice.xml.txt` and `invoice.pdf` are reported when they were there for a minute, and only as long as they are.

    What is being moved through the folder is not reported.
    """
    for name in ("invoice.xml.txt", "invoice.pdf"):
        put(bench, name)
    put(bench, "moment.pdf")
    look(bench, 2)
    assert found(bench) == set()
    (bench.outbound / "moment.pdf").unlink()
    look(bench)
    assert found(bench) == {"invoice.xml.txt", "invoice.pdf"}
    assert bench.life.pipeline.reconciliation.strays.number == 2
    (bench.outbound / "invoice.pdf").unlink()
    look(bench)
    assert found(bench) == {"invoice.xml.txt"}


def test_pdfs(bench: Bench) -> None:
    """A PDF is reported as a PDF, whatever its name; a file that changes is looked at again."""
    put(bench, "facturx.pdf", b"%PDF-1.7")
    put(bench, "scan", b"\xef\xbb\xbf%PDF-1.4")
    put(bench, "letter.pdf", b"Dear %PDF-1.7")
    put(bench, "list.txt", b"")
    look(bench, 3)
    strays = bench.life.pipeline.reconciliation.strays
    assert {stray.name for stray in strays.found or () if stray.why == A_PDF} == {"facturx.pdf", "scan"}
    put(bench, "scan", b"no PDF any more")
    look(bench, 4)
    assert {stray.name for stray in strays.found or () if stray.why == A_PDF} == {"facturx.pdf"}


def test_growing_file_is_no_stray(bench: Bench) -> None:
    """A file that changes is reported a minute after its last change."""
    for size in range(1, 6):
        put(bench, "scan.pdf", b"%" * size)
        look(bench)
    assert found(bench) == set()
    look(bench, 2)
    assert found(bench) == {"scan.pdf"}


def test_put_into_the_wrong_folder(bench: Bench) -> None:
    """Files that a person has put into `sent/`, `sending/` or `archive/` by mistake are reported, with the reason."""
    wrong = {"sent/invoice.xml", "sent/scan.pdf", "sending/invoice.xml.txt", "archive/invoice.xml"}
    for name in wrong:
        put(bench, name, invoice("9"))
    look(bench, 2)
    assert found(bench) == set()
    look(bench)
    assert found(bench) == wrong
    assert {one.why for one in bench.life.pipeline.reconciliation.strays.found or ()} == {
        "filedrop didn't put it there, so it was not sent from here"
    }


def test_put_into_a_month(bench: Bench) -> None:
    """In `archive/`, documents of this month and the last one that filedrop didn't put there are reported.

    A document whose sidecar somebody has deleted isn't one, nor are other files that people keep there.
    """
    months = {"2020-04": 0, "2020-05": 1, "2020-06": 1}  # the clock says June 2020
    (bench.outbound / "archive" / "2020-06").mkdir()
    lay(bench, "archive/2020-06", drop(1).but(state=State.DELIVERED))
    for month in months:
        put(bench, f"archive/{month}/invoice.xml", invoice("9"))
        put(bench, f"archive/{month}/notes.pdf")
        put(bench, f"archive/{month}/done.xml", invoice("8"))
        put(bench, f"archive/{month}/done.xml.json", b"{}")
    look(bench, 4)
    assert found(bench) == {f"archive/{month}/invoice.xml" for month, wanted in months.items() if wanted}
    (bench.outbound / "archive/2020-05/invoice.xml").unlink()
    look(bench)
    assert found(bench) == {"archive/2020-06/invoice.xml"}


def test_archive_is_listed_once_an_hour(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the folder is compared, its archive is listed once an hour."""
    month = bench.outbound / "archive" / "2020-06"
    month.mkdir()
    inode, system, listings = month.stat().st_ino, os.scandir, []

    def counted(folder: int) -> object:
        listings.append(os.stat(folder).st_ino)
        return system(folder)

    look(bench)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", counted)
        look(bench, 50)
        once = listings.count(inode)
        look(bench, after=HOUR)
    assert once == 0
    assert listings.count(inode) == 2  # for the sidecars, and for the documents


def test_documents_are_no_strays(make_world: Callable[..., World], clock: Clock) -> None:
    """What is sent, followed, delivered or failed is never reported, in whatever state it is for an hour."""
    outbound = {"rescan": "30s", "settle": "2s", "track": "1m", "retry": "{first: 5s, longest: 15m}", "doubt": "15m"}
    world = make_world(outbound=outbound, inbound={"poll": "5m"}, clock=clock.true, deliver_after=900)
    life = Life(world, clock)
    for number in range(3):
        world.drop(f"{number}.xml", invoice(str(number)))
    world.drop("failed.xml", invoice("f", receiver=None))
    world.put(world.outbound / "half.xml", invoice("h")[:500])
    for _ in range(30):
        life.go_on(60)
        assert not life.pipeline.reconciliation.strays.found
    assert life.pipeline.reconciliation.strays.found == ()
    life.drop()


def test_expected_names(make_bench: Callable[..., Bench]) -> None:
    """Names that `outbound.ignore` expects, in any case, and what systems put into shares, are never reported."""
    bench = make_bench(rescan="30s", ignore='["*.pdf", "README*"]')
    for name in ("scan.PDF", "readme.txt", "Thumbs.db", "desktop.ini", "._invoice.xml"):
        put(bench, name)
    for name in (
        "lost+found",
        "System Volume Information",
        "@eaDir",
        "#recycle",
        ".snapshot",
        "$RECYCLE.BIN",
        "DfsrPrivate",
        "@tmp",
    ):
        (bench.outbound / name).mkdir()
    put(bench, "scan.png")
    look(bench, 4)
    look(bench, 2, after=2 * HOUR)
    assert found(bench) == {"scan.png"}


def test_names_of_files_that_are_being_written(bench: Bench) -> None:
    """Names that programs give to files while they write them are reported after an hour."""
    for name in ("invoice.xml.tmp", "a.part", "~$invoice.docx", ".hidden"):
        put(bench, name)
    look(bench, 4)
    assert found(bench) == set()
    look(bench, after=HOUR)
    assert found(bench) == {"invoice.xml.tmp", "a.part", "~$invoice.docx", ".hidden"}


def test_notes_and_ready_files_beside_their_documents(make_bench: Callable[..., Bench]) -> None:
    """Sidecars, notes and ready files are no strays while their document is there; others are."""
    bench = make_bench(rescan="30s", ready_suffix=".ready")
    for name in ("waits.xml", "waits.xml.why.txt", "waits.xml.json", "another.json"):
        put(bench, name, CONTENT)
    look(bench, 4)
    assert found(bench) == {"another.json"}


def test_conflict_copies(bench: Bench) -> None:
    """The version of a file that lost a conflict is reported with the reason: a program kept it."""
    names = {
        "1.sync-conflict-20261127-101500-ABCDEF7.xml",
        "2 (Kari's conflicted copy 2026-11-27).xml",
        "3_conflict-20261127-101500.xml",
    }
    for name in {*names, "conflict.txt"}:
        put(bench, name)
    look(bench, 3)
    assert reasons(bench) == dict.fromkeys(names, CONFLICT_COPY) | {"conflict.txt": NO_DOCUMENT}


@posix
def test_ready_files_without_their_files(make_bench: Callable[..., Bench]) -> None:
    """A ready file is reported after an hour where its own file is missing, also if only the case is another.

    A suffix in a case that doesn't count is no ready file's.
    """
    bench = make_bench(rescan="30s", ready_suffix=".ready")
    for name in ("a.xml.ready", "B.xml.READY", "E.XML", "E.xml.ready", "E.XML.why.txt", "f.xml", "f.xml.rEADY"):
        put(bench, name, CONTENT)
    look(bench, 4)
    assert reasons(bench) == {"f.xml.rEADY": NO_DOCUMENT}
    for name in ("g.xml", "g.xml.READY", "g.xml.Ready", "g.xml.ready"):
        put(bench, name, CONTENT)
    look(bench, after=HOUR)
    look(bench, after=HOUR)
    alone = ("a.xml.ready", "B.xml.READY", "E.xml.ready")
    assert reasons(bench) == dict.fromkeys(alone, READY_ALONE) | {"f.xml.rEADY": NO_DOCUMENT}


@posix
def test_folders_and_links(bench: Bench) -> None:
    """A folder in `outbound/`, in which invoices wait in vain, is reported, and so is a link."""
    (bench.outbound / "2026").mkdir()
    (bench.outbound / "link.xml").symlink_to(bench.outbound / "2026")
    look(bench, 4)
    assert found(bench) == {"2026", "link.xml"}


@pytest.mark.slow
def test_hundred_thousand_strays(bench: Bench) -> None:
    """Of very many strays, a few are followed and all are counted: they cost no memory."""
    many = 20 * LISTED_AT_ONCE
    for number in range(many):
        (bench.outbound / f"{number:06}.pdf").touch()
    look(bench, 2)
    tracemalloc.start()
    look(bench)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found(bench)) == FOLLOWED
    assert bench.life.pipeline.reconciliation.strays.number == many
    assert most < 2_000_000


def test_stray_that_was_there_before_the_start(bench: Bench) -> None:
    """On a local disk, what has been in `outbound/` for long is reported by the first look, as in a single run."""
    path = put(bench, "scan.pdf")
    bench.aged(path, 3 * 60)
    look(bench)
    (stray,) = bench.life.pipeline.reconciliation.strays.found or ()
    assert stray.since == pytest.approx(path.stat().st_ctime, abs=1)


def test_other_version_of_a_document(make_world: Callable[..., World], clock: Clock) -> None:
    """A copy with other content and a name that contains the document's stays and is reported; renamed, it is sent."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    world.drop("Kopie von inv-500.xml", invoice("500", note="a copy"))
    world.drop("inv-500.xml", invoice("500"))
    world.drop("inv-5001.xml", invoice("5001"))
    life.go_on(300)
    world.drop("inv-500 - Copy (2).xml", invoice("500", note="another copy"))
    world.drop("inv-500-2027.xml", invoice("500", note="another date").replace(b"2026-11-20", b"2027-11-20"))
    life.go_on(1000)
    assert sorted(world.accepted()) == ["inv-500-2027.xml", "inv-500.xml", "inv-5001.xml"]
    strays = {stray.name: stray.why for stray in life.pipeline.reconciliation.strays.found or ()}
    assert strays == dict.fromkeys(["Kopie von inv-500.xml", "inv-500 - Copy (2).xml"], CONFLICT_COPY)
    why = {file.path.name: file.why for file in life.pipeline.report.waiting}
    assert why["Kopie von inv-500.xml"].startswith("it has the number, type and date of inv-500.xml, and other content")
    (world.outbound / "Kopie von inv-500.xml").rename(world.outbound / "other.xml")
    life.go_on(300)
    assert world.accepted()["Kopie von inv-500.xml"] == 1
    life.drop()


def test_other_version_of_a_document_that_failed(make_world: Callable[..., World], clock: Clock) -> None:
    """Where the document has failed, its other version is sent."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    world.front.next("POST /outbox", instead(422, "no"))
    world.drop("inv-500.xml", invoice("500"))
    life.go_on(300)
    world.drop("inv-500-corrected.xml", invoice("500", note="corrected"))
    life.go_on(300)
    assert world.places() == {"inv-500.xml": "failed", "inv-500-corrected.xml": "archive/2020-06"}
    life.drop()


def test_what_a_file_without_its_ready_file_holds_up(make_world: Callable[..., World], clock: Clock) -> None:
    """A document whose name contains that of a file that never gets ready is sent."""
    world = make_world(outbound=RULES | {"ready_suffix": ".ready"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    world.drop("inv.xml", invoice("1"))
    life.go_on(10)
    world.drop("inv-500.xml", invoice("500"))
    (world.outbound / "inv-500.xml.ready").touch()
    life.go_on(300)
    assert world.places() == {"inv.xml": ".", "inv-500.xml": "archive/2020-06"}
    life.drop()
