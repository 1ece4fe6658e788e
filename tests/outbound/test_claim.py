"""When a dropped file is claimed, what its document is then, and when one that isn't ready is looked at again."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import replace
from errno import EACCES
from io import FileIO
from typing import TYPE_CHECKING, Any

import pytest
from support.bench import CONTENT
from support.documents import BUYER, SELLER, invoice
from support.notes import whole
from support.rights import as_anyone, opens_unreadable
from support.sharing import copied, on_a_share
from support.stepping import under_way
from support.systems import writers_unknown

from filedrop.files import FileStamp, InUse
from filedrop.identify.xpath_tree import Unfit
from filedrop.journal import Waiver
from filedrop.model.document import Need, State, new_id
from filedrop.model.fault import Fault
from filedrop.outbound.claim import _claim
from filedrop.outbound.identified import identified_in
from filedrop.outbound.look import look_at_unreadable, look_into
from filedrop.storage import sidecar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.bench import Bench

    from filedrop.model.document import Document
    from filedrop.outbound.handover import Claim
    from filedrop.outbound.upload import OpenedDocument

pytestmark = writers_unknown
SETTLE, RESCAN, PATIENCE = 2.0, 120.0, 600.0  # seconds


def code(claimed: Claim | None) -> str:
    """Why a claimed document failed at once."""
    assert claimed is not None
    assert claimed.opened is None
    assert claimed.document.state is State.FAILED
    assert claimed.document.error is not None
    assert not claimed.can_be_posted
    return claimed.document.error.code


def test_when_it_has_settled(bench: Bench) -> None:
    """A file of which nobody tells is looked at until it hasn't changed for `settle`; then it is a whole document."""
    path = bench.put()
    assert bench.again_in() == SETTLE
    bench.clock.pass_on(1)
    assert bench.again_in() == SETTLE - 1
    path.write_bytes(CONTENT + b" ")
    assert bench.again_in() == SETTLE
    bench.clock.pass_on(SETTLE + 0.1)
    claimed = bench.claim()
    assert claimed is not None
    assert (claimed.can_be_posted, claimed.waived) == (True, "")
    document = claimed.document
    assert (document.company, document.folder, document.account) == ("acme", bench.desk.folder.id, "main")
    assert (document.place, document.file, document.dropped_as) == ("sending", "invoice.xml", "invoice.xml")
    assert (document.size, document.sender, document.receiver) == (len(CONTENT) + 1, SELLER, BUYER)
    assert [(event.at, event.event) for event in document.history] == [(document.claimed, "claimed")]
    assert document.id[:10] == new_id(document.claimed)[:10]
    assert abs((document.claimed - bench.clock.now()).total_seconds()) < 1
    assert bench.lying() == {"sending/invoice.xml"}
    assert not bench.desk.scanner.seen
    assert not bench.desk.moves._names_left


def test_its_writer_has_closed_it(bench: Bench) -> None:
    """A file whose writer has closed it is claimed at the first look, also on a share."""
    bench.put("here.xml")
    assert bench.claimed("here.xml").can_be_posted
    on_a_share(bench.desk.folder)
    bench.put("there.xml", invoice("2"))
    assert bench.claimed("there.xml").can_be_posted


def test_on_a_share(bench: Bench) -> None:
    """Where files lie on a server, they settle for ten seconds at least, by our own clock."""
    on_a_share(bench.desk.folder)
    bench.put()
    assert bench.again_in() == 10.0
    bench.clock.pass_on(10.1)
    assert bench.claim()


def test_how_long_it_has_lain_there(bench: Bench) -> None:
    """On a disk of this computer, a file settles from its last change, also when it is seen later."""
    bench.aged(bench.put(), 1)
    assert bench.again_in() == SETTLE - 1
    bench.clock.pass_on(SETTLE - 1 + 0.1)
    assert bench.claim()


def claim_of(bench: Bench, name: str, opened: OpenedDocument) -> Claim | None:
    """The claim of a file that was opened before."""
    file = look_into(bench.desk, name, opened)
    assert file
    with contextlib.closing(file):
        return _claim(bench.desk, file, is_known=False)


def test_what_is_gone(bench: Bench) -> None:
    """A file that was taken before it is looked at, or before it is moved, is nobody's."""
    assert bench.claim("gone.xml") is None
    opened = bench.opened(path := bench.put())
    path.unlink()
    assert claim_of(bench, path.name, opened) is None
    assert look_at_unreadable(bench.desk, "gone.xml", PermissionError(EACCES, "not allowed")) is None
    assert not bench.desk.scanner.seen
    assert bench.lying() == set()


def test_a_file_that_took_its_place(bench: Bench) -> None:
    """A file that takes the place of one that was just read isn't taken for that one: it is left where it is."""
    opened = bench.opened(path := bench.put())
    bench.put(content=invoice("2"))
    assert claim_of(bench, path.name, opened) is None
    assert bench.lying() == {"invoice.xml"}
    assert path.read_bytes() == invoice("2")


@pytest.mark.parametrize("content", [CONTENT, b"<a>"], ids=["a document", "none"])
def test_a_file_replaced_on_a_share(bench: Bench, content: bytes) -> None:
    """What another computer puts in the place of a file that was just read is claimed, and not what was read."""
    on_a_share(bench.desk.folder)
    path = bench.put(content=content)
    bench.life.report_closed(path.name)
    newer = invoice("2")
    file = look_into(bench.desk, path.name, bench.opened(path))
    if file is None:  # half a document
        bench.clock.pass_on(3600)
        file = look_into(bench.desk, path.name, bench.opened(path))
    assert file
    bench.put(content=newer)
    with contextlib.closing(file):
        assert _claim(bench.desk, file, is_known=False) is None
    assert bench.lying() == {"invoice.xml"}
    assert bench.claimed().document.sha256 == hashlib.sha256(newer).hexdigest()
    assert (bench.outbound / "sending" / "invoice.xml").read_bytes() == newer


def test_moved_file_that_a_share_does_not_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a share fails while a moved file is read again, the step ends with the system's error."""
    on_a_share(bench.desk.folder)
    path = bench.put()
    bench.life.report_closed(path.name)
    file = look_into(bench.desk, path.name, bench.opened(path))
    assert file
    monkeypatch.setattr(os, "open", opens_unreadable(path.name))
    with contextlib.closing(file), pytest.raises(OSError, match="Bad file descriptor"):
        _claim(bench.desk, file, is_known=False)
    assert bench.lying() == {"sending/invoice.xml"}


def test_where_a_link_has_another_inode(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document is claimed on mergerfs and sshfs, where the second name of a file looks like another file."""
    on_a_share(bench.desk.folder)
    monkeypatch.setattr("filedrop.files.system.link", copied)
    bench.put()
    claimed = bench.claimed()
    assert claimed.can_be_posted
    assert bench.lying() == {"sending/invoice.xml"}


def test_written_while_it_is_read(bench: Bench) -> None:
    """A file that changes while it is read has to settle again, though its writer had closed it before."""
    opened = bench.opened(path := bench.put())
    path.write_bytes(invoice("2", note="This one is longer than the other."))
    assert look_into(bench.desk, path.name, opened) is None
    opened.close()
    assert bench.desk.scanner._settling["invoice.xml"] - bench.clock.steady() == pytest.approx(SETTLE, abs=0.1)
    assert bench.again_in() == SETTLE
    bench.clock.pass_on(SETTLE + 0.1)
    assert bench.claim()


def test_what_is_not_whole_yet(bench: Bench) -> None:
    """Half a document is looked at at each rescan until `incomplete_after` has passed; then it fails."""
    bench.put(content=CONTENT[:500])
    bench.life.report_closed("invoice.xml")
    assert bench.again_in() == RESCAN
    seen = bench.desk.scanner.seen["invoice.xml"]
    assert seen.fault is not None
    assert seen.fault.code == "not-xml"
    bench.clock.pass_on(PATIENCE - 50)
    assert bench.again_in() == 50
    bench.clock.pass_on(49.5)
    assert bench.again_in() == 0.5
    bench.clock.pass_on(1)
    failed = bench.claim()
    assert code(failed) == "not-xml"
    assert failed is not None
    assert (failed.document.file, failed.document.size) == ("invoice.xml", 500)
    assert bench.lying() == {"sending/invoice.xml"}


@pytest.mark.parametrize("suffix", ["", ".ready"])
def test_wrong_end_tag(make_bench: Callable[..., Bench], suffix: str) -> None:
    """A document whose writer is done, as a ready file or an event reports, fails at once for a wrong end tag.

    Where only `settle` speaks, its writer may still correct it.
    """
    bench = make_bench(ready_suffix=suffix)
    path = bench.put(content=CONTENT.replace(b"</cbc:ID>", b"</cbc:Id>", 1))
    if suffix:
        path.with_name(f"invoice.xml{suffix}").touch()
    else:
        bench.aged(path, SETTLE)
        assert bench.again_in() == RESCAN
        bench.life.report_closed("invoice.xml")
    assert code(bench.claim()) == "not-xml"


@pytest.mark.parametrize("mended", [True, False])
def test_half_a_file_that_has_lain_there(bench: Bench, *, mended: bool) -> None:
    """That half a file has lain there for long counts from its change; when its writer goes on, it is another one."""
    path = bench.put(content=CONTENT[:500])
    bench.aged(path, PATIENCE - 50)
    assert bench.again_in() == 50
    if mended:
        path.write_bytes(CONTENT)
        assert bench.claimed().can_be_posted
    else:
        bench.clock.pass_on(51)
        assert code(bench.claim()) == "not-xml"


def test_what_can_never_be_sent(make_bench: Callable[..., Bench]) -> None:
    """What no writer can mend by going on fails at once, with its own name and its reason."""
    bench = make_bench(max_size="10KB")
    path = bench.put("invoice-2.xml", invoice(size=20_000))
    path.with_name("invoice-2.xml.json").write_bytes(sidecar.name_alone("invoice.xml", "invoice-2.xml"))
    claimed = bench.claimed("invoice-2.xml")
    assert code(claimed) == "too-large"
    assert claimed.document.dropped_as == "invoice.xml"
    assert claimed.document.history[-1].at >= claimed.document.claimed


def test_ready_files(make_bench: Callable[..., Bench]) -> None:
    """With `ready_suffix`, a document waits for a ready file that isn't older than itself, however long it lies there.

    It needn't settle, and its ready file is cleared away.
    """
    bench = make_bench(ready_suffix=".ready")
    path, ready = bench.put(), bench.outbound / "invoice.xml.ready"
    assert bench.again_in() == RESCAN
    bench.clock.pass_on(PATIENCE)
    assert bench.again_in() == RESCAN
    ready.touch()
    written = path.stat().st_mtime_ns
    os.utime(ready, ns=(written - 1, written - 1))
    assert bench.again_in() == RESCAN
    os.utime(ready, ns=(written, written))
    claimed = bench.claim()
    assert claimed is not None
    assert claimed.can_be_posted
    assert bench.lying() == {"sending/invoice.xml"}


@pytest.mark.parametrize("suffix", [".READY", ".Ready"])
def test_ready_files_in_another_case(make_bench: Callable[..., Bench], suffix: str) -> None:
    """A ready file with a suffix in capitals is cleared away, too: it would speak for the next file of this name."""
    bench = make_bench(ready_suffix=".ready")
    bench.put()
    (bench.outbound / f"invoice.xml{suffix}").touch()
    assert bench.claim() is not None
    assert bench.lying() == {"sending/invoice.xml"}


def test_the_ready_file_of_what_came_back(make_bench: Callable[..., Bench]) -> None:
    """A document that a person has moved back is continued, and its ready file cleared away as at its first claim."""
    bench = make_bench(ready_suffix=".ready")
    path, ready = bench.put(), bench.outbound / "invoice.xml.ready"
    ready.touch()
    claimed = bench.claim()
    assert claimed is not None
    document = bench.life.journal.documents.record(claimed.document)
    (bench.outbound / "sending" / "invoice.xml").rename(path)
    ready.touch()
    again = bench.claim()
    assert again is not None
    assert again.document.id == document.id
    assert bench.lying() == {"sending/invoice.xml"}


@pytest.fixture
def locked(bench: Bench) -> Iterator[Path]:
    """A file that nobody may read."""
    path = bench.put()
    path.chmod(0)
    with as_anyone():
        yield path


def test_what_nobody_may_read(bench: Bench, locked: Path) -> None:
    """It is looked at again at each rescan until `incomplete_after` has passed; then it fails and says what to do."""
    assert bench.again_in() == RESCAN
    bench.clock.pass_on(PATIENCE - 50)
    assert bench.again_in() == 50
    seen = bench.desk.scanner.seen["invoice.xml"]
    assert seen.fault is not None
    assert "can't be read: Permission denied" in whole(seen.fault)
    bench.clock.pass_on(49.5)
    assert bench.again_in() == 0.5
    bench.clock.pass_on(1)
    failed = bench.claim()
    assert code(failed) == "unreadable"
    assert failed is not None
    assert failed.document.error is not None
    assert "can't be read: Permission denied" in failed.document.error.administrator
    assert f"the right to read {locked.parent} " in failed.document.error.administrator
    assert (failed.document.dropped_as, failed.document.size) == ("invoice.xml", len(CONTENT))
    assert bench.lying() == {"sending/invoice.xml"}


def test_what_nobody_may_read_and_has_lain_there(bench: Bench, locked: Path) -> None:
    """A file that can't be opened is looked at twice before it fails, however long it has lain there."""
    bench.aged(locked, 3600)
    assert bench.again_in() == RESCAN
    seen = bench.desk.scanner.seen["invoice.xml"]
    assert bench.clock.steady() - seen.since == pytest.approx(3600, abs=0.1)
    assert code(bench.claim()) == "unreadable"
    assert not locked.exists()


def test_another_that_nobody_may_read(bench: Bench, locked: Path) -> None:
    """One that has come in the place of another that couldn't be opened has its own two looks."""
    bench.aged(locked, 3600)
    assert bench.again_in() == RESCAN
    bench.put(content=invoice("another"))
    locked.chmod(0)
    bench.aged(locked, 3600)
    assert bench.again_in() == RESCAN


def test_what_can_be_opened_the_second_time(bench: Bench, locked: Path) -> None:
    """A file that may be read in the end is a document like any other."""
    assert bench.again_in() == RESCAN
    locked.chmod(0o600)
    assert bench.claimed().can_be_posted


def test_what_opens_and_cannot_be_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file on a bad sector fails as one that can't be opened does, and its note doesn't speak of rights."""
    bench.aged(bench.put(), 3600)
    monkeypatch.setattr(os, "open", opens_unreadable("invoice.xml"))
    assert bench.again_in() == RESCAN
    failed = bench.claim()
    assert code(failed) == "unreadable"
    assert failed is not None
    assert failed.document.error is not None
    assert "can't be read: Bad file descriptor" in failed.document.error.administrator
    assert "right" not in failed.document.error.administrator
    assert bench.lying() == {"sending/invoice.xml"}


def said(bench: Bench) -> str:
    fault = bench.desk.scanner.seen["invoice.xml"].fault
    assert fault is not None
    return whole(fault)


@pytest.fixture
def in_use(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of files that nobody else may open, as Windows has it: the system's call says so."""
    names: set[str] = set()
    system = os.open

    def opened(name: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name in names:
            raise InUse(EACCES, "another process has it", name)
        return system(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)
    bench.put()
    return names


def test_what_somebody_has_open(bench: Bench, in_use: set[str]) -> None:
    """It is looked at again soon, and more seldom the longer that lasts; after two seconds it is told, once."""
    bench.clock.pass_on(1000)
    in_use.add("invoice.xml")
    assert bench.again_in() == 0.02
    assert bench.desk.scanner.seen["invoice.xml"].fault is None
    bench.clock.pass_on(1.9)
    assert bench.again_in() == 0.19
    assert bench.told("document.in_use") == 0
    bench.clock.pass_on(3.1)
    assert bench.again_in() == 0.5
    assert "another process has it" in said(bench)
    assert bench.told("document.in_use") == 1
    bench.clock.pass_on(95)
    assert bench.again_in() == 2.0
    assert bench.told("document.in_use") == 1
    in_use.clear()
    assert bench.claimed().can_be_posted


def test_what_somebody_has_locked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that opens and may not be read, since somebody has locked a part of it, never fails for that."""

    class Locked(FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise PermissionError(EACCES, "Permission denied", size)

    bench.aged(bench.put(), 3600)
    with monkeypatch.context() as patched:
        patched.setattr("filedrop.files.FileIO", Locked)
        for _ in range(3):
            bench.clock.pass_on(PATIENCE)
            assert bench.claim() is None
    assert "can't be read: Permission denied" in said(bench)
    assert bench.claimed().can_be_posted


def test_another_that_somebody_has_open(bench: Bench, in_use: set[str]) -> None:
    """A file that has come in its place is in use from then on; one that is gone is nobody's."""
    in_use.add("invoice.xml")
    assert bench.again_in() == 0.02
    bench.clock.pass_on(50)
    bench.put(content=invoice("another"))
    assert bench.again_in() == 0.02
    assert bench.told("document.in_use") == 0
    bench.desk.scanner.forget("invoice.xml")
    (bench.outbound / "invoice.xml").unlink()
    assert bench.claim() is None
    assert not bench.desk.scanner.seen


def test_what_somebody_opens_before_it_is_moved(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that can be read and not be moved, since somebody has it open, is looked at again soon."""

    def refused(*_: object) -> int:
        raise InUse(EACCES, "another process has it")

    bench.put()
    bench.life.report_closed("invoice.xml")
    with monkeypatch.context() as patched:
        patched.setattr("filedrop.files.system._renameat2", refused)
        assert bench.again_in() == 0.02
        bench.clock.pass_on(50)
        assert bench.again_in() == 2.0
    assert "another process has it" in said(bench)
    assert bench.claimed().can_be_posted


@pytest.mark.parametrize("name", ["invoice.xml", "other.xml"])
@pytest.mark.parametrize("place", ["sending", "sent"])
def test_what_comes_back(bench: Bench, place: str, name: str) -> None:
    """A file that comes back to `outbound/`, under whatever name, is still the document that it was."""
    bench.put()
    document = bench.recorded()
    if place == "sent":
        document = bench.life.journal.documents.record(posted(document).at("sent", "invoice-7.xml"))
    (bench.outbound / "sending" / "invoice.xml").rename(bench.outbound / name)
    bench.desk.moves.note_missing(document.id)
    claimed = bench.claimed(name)
    assert claimed.document.id == document.id
    assert claimed.opened is not None
    assert (claimed.document.place, claimed.document.file) == ("sending", "invoice.xml")
    assert claimed.document.revision == document.revision + (place == "sent")
    assert bench.life.journal.documents.by_id(document.id) == claimed.document
    assert bench.lying() == {"sending/invoice.xml"}
    assert not bench.desk.moves.is_missing(document.id)
    assert not bench.desk.scanner.is_closed("invoice.xml")


def test_what_comes_back_and_finds_another(bench: Bench) -> None:
    """Where another file lies in its place by then, which stays, it gets the next name, and the journal says so."""
    bench.put()
    document = bench.recorded()
    (bench.outbound / "sending" / "invoice.xml").rename(bench.outbound / "other.xml")
    bench.world.put(bench.outbound / "sending" / "invoice.xml", invoice("2"))
    claimed = bench.claimed("other.xml").document
    assert (claimed.id, claimed.file, claimed.dropped_as) == (document.id, "invoice-2.xml", "invoice.xml")
    assert bench.life.journal.documents.by_id(document.id) == claimed
    assert (bench.outbound / "sending" / "invoice.xml").read_bytes() == invoice("2")


@pytest.mark.parametrize("is_shared", [False, True], ids=["disk", "share"])
@pytest.mark.parametrize("place", ["sending", "sent"])
def test_returned_file_that_is_replaced(bench: Bench, place: str, *, is_shared: bool) -> None:
    """A file that replaces a returned one before its claim isn't taken for that: it stays, to be read itself."""
    if is_shared:
        on_a_share(bench.desk.folder)
    bench.put()
    document = bench.recorded()
    if place == "sent":
        document = bench.life.journal.documents.record(posted(document).at("sent", "invoice-7.xml"))
    path = bench.outbound / "other.xml"
    (bench.outbound / "sending" / "invoice.xml").rename(path)
    bench.life.report_closed(path.name)
    file = look_into(bench.desk, path.name, bench.opened(path))
    assert file
    bench.put(path.name, invoice("2"))
    with contextlib.closing(file):
        assert _claim(bench.desk, file, is_known=True) is None
    assert bench.lying() == {"other.xml"}
    assert path.read_bytes() == invoice("2")
    assert bench.life.journal.documents.by_id(document.id) == document


def posted(document: Document) -> Document:
    """The same, accepted by the access point."""
    now = document.claimed
    sending = document.sending(now, identity="acme@ap.example.com", clock=now)
    return sending.sent(now, 7, received=None, uuid=None)


def test_what_comes_back_while_a_sender_has_it(bench: Bench) -> None:
    """A file that comes back while its document is posted is looked at twice a second, and needn't settle anew."""
    bench.put()
    document = bench.recorded()
    (bench.outbound / "sending" / "invoice.xml").rename(bench.outbound / "other.xml")
    under_way(bench.life.pipeline).add(document.id)
    assert bench.again_in("other.xml") == SETTLE
    bench.clock.pass_on(SETTLE + 0.1)
    assert bench.again_in("other.xml") == 0.5
    assert bench.lying() == {"other.xml"}
    under_way(bench.life.pipeline).clear()
    bench.clock.pass_on(0.6)
    claimed = bench.claim("other.xml")
    assert claimed is not None
    assert claimed.document.id == document.id


def test_what_comes_a_second_time(bench: Bench) -> None:
    """Where the first file still lies there, the next one of the same bytes is a document of its own."""
    bench.put()
    first = bench.recorded()
    bench.put()
    second = bench.claimed()
    assert second.document.id != first.id
    assert bench.lying() == {"sending/invoice.xml", "sending/invoice-2.xml", "sending/invoice-2.xml.json"}
    assert (second.document.file, second.document.dropped_as) == ("invoice-2.xml", "invoice.xml")


@pytest.mark.parametrize(
    ("end", "is_held"),
    [
        (lambda document: document.taken(document.claimed), False),
        (lambda document: posted(document).taken(document.claimed), True),
        (lambda document: document.suspected(document.claimed, "acme@ap.example.com").taken(document.claimed), True),
        (lambda document: document.failed(document.claimed, Fault("no-answer", "")), True),
        (lambda document: document.failed(document.claimed, Fault("rejected", "")), False),
    ],
    ids=["taken before its post", "taken and accepted", "taken in doubt", "no answer", "rejected"],
)
def test_copy_of_a_document_that_has_ended(bench: Bench, end: Callable[[Document], Document], *, is_held: bool) -> None:
    """Another version of an ended document is held as long as the access point may have that document."""
    bench.put()
    bench.life.journal.documents.record(end(bench.recorded()))
    bench.put("invoice (copy).xml", invoice(note="another"))
    bench.life.report_closed("invoice (copy).xml")
    assert (bench.claim("invoice (copy).xml") is None) is is_held
    assert (bench.outbound / "invoice (copy).xml").exists() is is_held


def test_a_name_that_the_journal_speaks_of(bench: Bench) -> None:
    """A name in `sending/` that the journal knows as another document's is given to nobody, though no file has it."""
    bench.put()
    bench.recorded()
    (bench.outbound / "sending" / "invoice.xml").unlink()
    bench.put(content=invoice("2"))
    assert bench.claimed().document.file == "invoice-2.xml"


@pytest.mark.parametrize("same", [True, False], ids=["this file", "an earlier one"])
def test_what_was_let_through(bench: Bench, *, same: bool) -> None:
    """A person's word counts for the file that it was given for; it is to be ended by the name in any case."""
    path = bench.put()
    stamp = FileStamp.of(path.stat())
    waiver = Waiver(hashlib.sha256(CONTENT).hexdigest(), stamp.modified - (not same))
    bench.life.journal.waivers.give(bench.desk.folder.id, "invoice.xml", waiver)
    claimed = bench.claimed()
    assert claimed.waived == "invoice.xml"
    assert claimed.document.was_let_through is same
    assert claimed.document.history[0].event == "claimed"
    assert {event.at for event in claimed.document.history} == {claimed.document.claimed}


def test_what_lies_beside(bench: Bench) -> None:
    """Note and sidecar of a file that was moved back are cleared away with its claim; what isn't ours is left."""
    for name in ("ours.xml", "theirs.xml"):
        bench.put(name, invoice(name))
        (bench.outbound / f"{name}.why.txt").write_bytes(b"it is in doubt")
    (bench.outbound / "ours.xml.json").write_bytes(sidecar.name_alone("ours.xml", "ours.xml"))
    (bench.outbound / "theirs.xml.json").write_bytes(b"{}")
    bench.recorded("ours.xml")
    bench.recorded("theirs.xml")
    assert bench.lying() == {"sending/ours.xml", "sending/theirs.xml", "theirs.xml.json"}


@pytest.mark.parametrize("end", [".json", ".why.txt"])
@pytest.mark.parametrize("own", ["invoice.xml", "invoice-2.xml"])
def test_moved_back_from_failed(bench: Bench, own: str, end: str) -> None:
    """What is moved back from `failed/` keeps its own name; what it left there is cleared if that named another."""
    bench.put(own)
    document = bench.claimed(own).document
    (bench.outbound / "sending" / own).unlink()
    failed = document.failed(document.claimed, Fault("rejected", "it was refused")).at("failed", "invoice-2.xml")
    bench.life.journal.documents.record(failed)
    left = bench.outbound / "failed" / f"invoice-2.xml{end}"
    left.write_bytes(sidecar.outbound(failed, "invoice-2.xml") if end == ".json" else b"it failed")
    bench.put("invoice-2.xml")
    claimed = bench.claimed("invoice-2.xml").document
    assert (claimed.dropped_as, claimed.file) == (own, own)
    assert claimed.id != document.id
    assert bench.desk.moves._names_left == {claimed.id: "invoice-2.xml"}
    assert left.exists() is (own == "invoice-2.xml")


def test_mended_and_moved_back_from_failed(bench: Bench) -> None:
    """What a person has mended in `failed/`, so that it is another document, is known by the sidecar left there."""
    bench.put("invoice.xml")
    document = bench.claimed().document
    (bench.outbound / "sending" / "invoice.xml").unlink()
    failed = document.failed(document.claimed, Fault("rejected", "it was refused")).at("failed", "invoice-2.xml")
    bench.life.journal.documents.record(failed)
    left = bench.outbound / "failed" / "invoice-2.xml.json"
    left.write_bytes(sidecar.outbound(failed, "invoice-2.xml"))
    bench.put("invoice-2.xml", invoice("another"))
    assert bench.claimed("invoice-2.xml").document.dropped_as == "invoice.xml"
    assert not left.exists()


def test_a_rule_without_an_answer(make_bench: Callable[..., Bench]) -> None:
    """A document for which a mapping rule has no answer now waits; the log says so once for each reason."""
    bench = make_bench("mapping: [{channel: {xpath: //Note}}]")
    bench.put()
    claimed = bench.claimed()
    assert claimed.opened is not None
    assert claimed.opened.reading is not None
    document, unasked = (
        claimed.document,
        replace(claimed.opened.reading, xpaths={"//Note": Unfit("it crashed", is_lasting=False)}),
    )
    assert (claimed.can_be_posted, document.channel) == (True, "Thank you for your order.")
    document = document.but(receiver=None)
    for _ in range(2):
        document = identified_in(bench.desk.shared, bench.desk.identification, document, unasked)
        assert document.state is State.WAITING
        assert document.due is not None
        assert not replace(claimed, document=document).can_be_posted
        assert document.needs is Need.IDS
        assert bench.told("document.waits") == 1
    document = identified_in(bench.desk.shared, bench.desk.identification, document, claimed.opened.reading)
    assert document.receiver == BUYER
    assert document.needs is None
    assert bench.told("document.waits") == 1
