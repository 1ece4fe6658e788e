"""The PDF of the same name goes into the invoice and moves with it; without it, nothing goes where it is required."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, invoice, order, with_attachments, with_pdf
from support.faults import cut_after, instead, reset_before
from support.prepared import PDF, Steps, posted, stated
from support.stepping import Life

from filedrop.texts.languages import date
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

REQUIRE, EMBED = {"prepare": "{pdf: require}"}, {"prepare": "{pdf: embed}"}
OTHER = PDF.replace(b"1.7", b"1.4")


@pytest.fixture
def steps(make_world: Callable[..., World], clock: Clock) -> Steps:
    return Steps(make_world, clock, **REQUIRE)


@pytest.fixture
def embedding(make_world: Callable[..., World], clock: Clock) -> Steps:
    return Steps(make_world, clock, **EMBED)


def waits(steps: Steps) -> dict[str, str]:
    """Why each file in `outbound/` waits."""
    return {report.path.name: report.why for report in steps.life.pipeline.report.waiting}


def strays(steps: Steps) -> dict[str, str]:
    """What is reported of files that nobody will send, after the minute."""
    steps.go_on(600)
    return {stray.name: stray.why for stray in steps.life.pipeline.reconciliation.strays.found or ()}


def beside(place: str, stem: str, *ends: str) -> set[str]:
    """Files of one document."""
    return {f"{place}/{stem}{end}" for end in ends}


@pytest.mark.parametrize(
    "names", [("invoice.xml", "invoice.pdf"), ("invoice.XML", "invoice.PDF"), ("Blåbær 1.x.xml",) * 2]
)
def test_life_of_a_pdf(steps: Steps, names: tuple[str, str]) -> None:
    """The PDF is in what was posted, lies next to its document, and the sidecar and the history name it."""
    document, pdf = names[0], names[1].replace(".xml", ".pdf")
    steps.world.put(steps.world.outbound / pdf, PDF)
    steps.drop(document, invoice("1"), seconds=3600)
    stem = document.rpartition(".")[0]
    assert steps.sent() == [with_pdf(invoice("1"), pdf, PDF)]
    assert steps.lying() == {
        f"archive/2020-06/{name}" for name in (document, pdf, f"{document}.json", f"{document}.posted")
    }
    assert (steps.world.outbound / "archive/2020-06" / pdf).read_bytes() == PDF
    said = steps.world.sidecar(document)
    assert said["posted"]["changed"] == {"pdf": ["", pdf]}
    assert said["pdf"] | {"sha256": ""} == {"file": pdf, "name": pdf, "size": len(PDF), "sha256": ""}
    assert steps.events(document)[:3] == ["claimed", "prepared", "sending"]
    assert f"{pdf} is put into the document" in steps.world.filedrop("history", document).stdout
    assert stem in pdf


def test_pdf_with_other_ids(make_world: Callable[..., World], clock: Clock) -> None:
    """Ids and PDF go into one copy."""
    steps = Steps(make_world, clock, prepare="{ids: true, pdf: require}")
    steps.drop("invoice.xml", stated("1"), pdf=PDF)
    steps.settle()
    assert steps.sent() == [with_pdf(posted(stated("1")), "invoice.pdf", PDF)]
    assert steps.world.sidecar("invoice.xml")["posted"]["changed"].keys() == {"receiver", "pdf"}


def test_required_pdf_that_comes_later(steps: Steps) -> None:
    """A document waits for its PDF, status says so, and it is sent when the PDF is there."""
    steps.drop("invoice.xml", invoice("1"), seconds=100)
    assert steps.world.places() == {"invoice.xml": "."}
    assert waits(steps)["invoice.xml"].startswith("it waits for invoice.pdf; it fails on ")
    steps.world.put(steps.world.outbound / "invoice.pdf", PDF)
    steps.life.report_closed("invoice.pdf")
    steps.life.go_on(10)
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]
    assert not strays(steps)


def test_required_pdf_that_never_comes(steps: Steps) -> None:
    """After incomplete_after, the document fails, and nothing was sent; with its PDF, it is sent from there."""
    steps.drop("invoice.xml", invoice("1"), seconds=900)
    assert steps.world.error("invoice.xml") == "no-attachment"
    note = (steps.world.outbound / "failed" / "invoice.xml.why.txt").read_text("utf-8")
    assert "There is no invoice.pdf, which is to be put into the document." in note
    assert "Invoice 1" in note
    steps.world.put(steps.world.outbound / "invoice.pdf", PDF)
    assert strays(steps) == {
        "invoice.pdf": "its document is in failed/: move it back to outbound/, and it is sent with this PDF"
    }
    (steps.world.outbound / "failed" / "invoice.xml").rename(steps.world.outbound / "invoice.xml")
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_embedded_pdf_that_is_not_coming(embedding: Steps) -> None:
    """A document without a PDF is sent alone after pdf_wait; a PDF that comes after that is reported."""
    embedding.drop("invoice.xml", invoice("1"), seconds=6)
    assert waits(embedding) == {
        "invoice.xml": "it waits for invoice.pdf; without a PDF, it is sent after prepare.pdf_wait"
    }
    embedding.go_on(20)
    assert embedding.sent() == [invoice("1")]
    assert "posted" not in embedding.world.sidecar("invoice.xml")
    embedding.world.put(embedding.world.outbound / "invoice.pdf", PDF)
    assert strays(embedding) == {"invoice.pdf": "the document of its name was sent before, without this PDF"}


def test_pdf_within_the_wait(embedding: Steps) -> None:
    """A PDF that comes within pdf_wait goes into the document."""
    embedding.drop("invoice.xml", invoice("1"), seconds=6)
    embedding.world.put(embedding.world.outbound / "invoice.pdf", PDF)
    embedding.go_on(600)
    assert embedding.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_pdf_without_a_document(steps: Steps) -> None:
    """A PDF alone is reported, and stays where it is."""
    steps.world.put(steps.world.outbound / "lone.pdf", PDF)
    assert strays(steps) == {"lone.pdf": "a PDF is sent only in the invoice of its name, and there is none"}
    assert steps.lying() == {"lone.pdf"}


def test_documents_of_other_types(steps: Steps) -> None:
    """An order waits for no PDF; with one, it fails in words."""
    steps.drop("order.xml", order("1", sender="0192:987654325", receiver=BUYER))
    steps.drop("another.xml", order("2", sender="0192:987654325", receiver=BUYER), pdf=PDF)
    steps.go_on(900)
    assert len(steps.sent()) == 1
    assert steps.world.error("another.xml") == "not-prepared"
    assert beside("failed", "another", ".xml", ".pdf", ".xml.json", ".xml.why.txt") <= steps.lying()


def test_order_whose_pdf_is_taken(steps: Steps) -> None:
    """An order that waited for its half PDF is sent when a person has taken that."""
    steps.drop("order.xml", order("1", sender="0192:987654325", receiver=BUYER), pdf=PDF[:-8], seconds=60)
    assert waits(steps)
    (steps.world.outbound / "order.pdf").unlink()
    steps.go_on(900)
    assert len(steps.sent()) == 1


@pytest.mark.parametrize("content", [b"", PDF[:-8], b"<html></html>"])
def test_pdf_that_is_not_whole(steps: Steps, content: bytes) -> None:
    """A PDF without a beginning or an end is waited for; when it is whole, it goes into the document."""
    steps.world.put(steps.world.outbound / "invoice.pdf", content)
    steps.drop("invoice.xml", invoice("1"), seconds=60)
    assert waits(steps)["invoice.xml"].startswith("it waits for invoice.pdf; it fails on ")
    (steps.world.outbound / "invoice.pdf").write_bytes(PDF)
    steps.go_on(200)
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_pdf_that_is_never_whole(steps: Steps) -> None:
    """A PDF that stays half fails its document, and lies next to it."""
    steps.drop("invoice.xml", invoice("1"), pdf=PDF[:-8], seconds=900)
    assert steps.world.error("invoice.xml") == "not-prepared"
    assert "The file invoice.pdf is no complete PDF." in steps.world.sidecar("invoice.xml")["error"]["message"]
    assert beside("failed", "invoice", ".xml", ".pdf", ".xml.json", ".xml.why.txt") == steps.lying()


def test_pdf_that_is_too_large_or_old(make_world: Callable[..., World], clock: Clock) -> None:
    """A PDF beyond the limits fails its document, which nothing was sent of."""
    steps = Steps(make_world, clock, prepare="{pdf: embed, pdf_size: 300B, pdf_older: 1h}")
    steps.world.put(steps.world.outbound / "old.pdf", PDF)
    old_time = time.time() - 5 * 3600
    os.utime(steps.world.outbound / "old.pdf", (old_time, old_time))
    steps.drop("old.xml", invoice("old"))
    steps.drop("large.xml", invoice("large"), pdf=PDF + b"\n" * 300)
    steps.go_on(900)
    assert not steps.sent()
    old, large = (steps.world.sidecar(name)["error"]["message"] for name in ("old.xml", "large.xml"))
    written = date(from_seconds(old_time))
    assert old.startswith(f"The PDF old.pdf was last written on {written}, and old.xml on ")
    assert large == f"The PDF large.pdf has {len(PDF) + 300} bytes; at most 300 bytes are put into a document."
    steps.again(prepare="{pdf: require, pdf_older: 9h}")
    for name in ("old", "large"):
        (steps.world.outbound / "failed" / f"{name}.xml").rename(steps.world.outbound / f"{name}.xml")
    steps.go_on(60)
    pdfs = {"old": PDF, "large": PDF + b"\n" * 300}
    assert sorted(steps.sent()) == sorted(with_pdf(invoice(name), f"{name}.pdf", pdf) for name, pdf in pdfs.items())


def test_longest_name(steps: Steps) -> None:
    """A document under the longest possible name fails without a PDF, since none can have its name."""
    name = f"{'i' * 253}.x"
    steps.again(files='["*.x"]')
    steps.world.put(steps.world.outbound / name, invoice("1"))
    steps.go_on(900)
    assert [path for path in (steps.world.outbound / "failed").iterdir() if path.suffix == ".x"]


def test_two_pdfs_of_one_name(steps: Steps) -> None:
    """Of two PDFs none is chosen; both stay."""
    (steps.world.outbound / "invoice.PDF").write_bytes(OTHER)
    if (steps.world.outbound / "invoice.pdf").exists():
        pytest.skip("this file system takes both names for one file")
    steps.world.put(steps.world.outbound / "invoice.pdf", PDF)
    steps.drop("invoice.xml", invoice("1"))
    steps.go_on(60)
    assert (
        "The files invoice.pdf and invoice.PDF both have the document's name."
        in steps.world.sidecar("invoice.xml")["error"]["message"]
    )
    assert {"invoice.pdf", "invoice.PDF"} <= steps.lying()


def test_pdf_that_is_in_it(steps: Steps) -> None:
    """A document that has the PDF already is posted as it is; one with another of its name fails."""
    inside = with_attachments(invoice("1"), ("other.pdf", "application/pdf", PDF))
    steps.drop("inside.xml", inside, pdf=PDF)
    steps.drop(
        "another.xml", with_attachments(invoice("2"), ("another.pdf", "application/pdf", OTHER)), pdf=OTHER + b"\n"
    )
    steps.go_on(900)
    assert steps.sent() == [inside]
    assert "already has another attachment" in steps.world.sidecar("another.xml")["error"]["message"]


def test_rejected_and_moved_back(steps: Steps) -> None:
    """What was refused lies in failed/ with its PDF; moved back as a whole or alone, or by retry, it is sent once."""
    for name in ("whole.xml", "alone.xml", "retry.xml"):
        steps.drop(name, invoice(name), instead(422, "no"), pdf=PDF)
        assert beside("failed", name, "", ".json", ".posted", ".why.txt") <= steps.lying()
    failed = steps.world.outbound / "failed"
    for path in failed.glob("whole*"):
        path.rename(steps.world.outbound / path.name)
    (failed / "alone.xml").rename(steps.world.outbound / "alone.xml")
    assert steps.world.filedrop("retry", "acme", "retry.xml").returncode == 0
    steps.settle()
    expected = [
        with_pdf(invoice(name), name.replace("xml", "pdf"), PDF) for name in ("whole.xml", "alone.xml", "retry.xml")
    ]
    assert sorted(steps.sent()) == sorted(expected)
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


def test_moved_back_with_another_pdf(steps: Steps) -> None:
    """A new PDF in outbound/ comes first."""
    steps.drop("new.xml", invoice("1"), instead(422, "no"), pdf=PDF)
    steps.world.put(steps.world.outbound / "new.pdf", OTHER)
    (steps.world.outbound / "failed" / "new.xml").rename(steps.world.outbound / "new.xml")
    steps.go_on(1800)
    assert steps.sent() == [with_pdf(invoice("1"), "new.pdf", OTHER)]


@pytest.mark.parametrize("content", [invoice("corrected"), invoice("1")])
def test_exported_again_after_a_failure(steps: Steps, content: bytes) -> None:
    """A person deletes a failed document, and exports it again: the former PDF doesn't go into a corrected one."""
    steps.drop("invoice.xml", invoice("1"), instead(422, "no"), pdf=PDF)
    (steps.world.outbound / "failed" / "invoice.xml").unlink()
    steps.world.put(steps.world.outbound / "invoice.xml", content)
    steps.go_on(5)
    assert len(steps.sent()) == (content == invoice("1"))
    steps.world.put(steps.world.outbound / "invoice.pdf", OTHER)
    steps.go_on(600)
    expected = PDF if content == invoice("1") else OTHER  # the same file counts as moved back
    assert steps.sent() == [with_pdf(content, "invoice.pdf", expected)]


def test_moved_back_with_its_half_pdf(steps: Steps) -> None:
    """A document that failed because of its PDF fails again, if it is moved back without it."""
    steps.drop("invoice.xml", invoice("1"), pdf=PDF[:-8], seconds=900)
    (steps.world.outbound / "failed" / "invoice.xml").rename(steps.world.outbound / "invoice.xml")
    steps.go_on(900)
    assert not steps.sent()
    assert steps.world.error("invoice.xml") == "not-prepared"


def test_failure_next_to_another_pdf(steps: Steps) -> None:
    """A document without a PDF gets no name by which the PDF of another one in failed/ would be its own."""
    steps.drop("export.xml", invoice("1"), instead(422, "no"), pdf=PDF)
    (steps.world.outbound / "failed" / "export.xml").unlink()
    steps.go_on(900)
    steps.world.put(steps.world.outbound / "export.xml", invoice("2"))
    steps.go_on(900)
    assert "failed/export-2.xml" in steps.lying()
    assert steps.world.filedrop("retry", "acme", "export-2.xml").returncode == 0
    steps.go_on(900)
    assert not steps.sent()


@pytest.mark.parametrize("before", [PDF, None])
def test_held_and_moved_back(embedding: Steps, before: bytes | None) -> None:
    """A document that a person takes from sending/ back to outbound/, next to another PDF, is sent with that one."""
    outbound = embedding.world.outbound
    (outbound / "HOLD").touch()
    embedding.drop("invoice.xml", invoice("1"), pdf=before)
    (outbound / "sending" / "invoice.xml").rename(outbound / "invoice.xml")
    embedding.world.put(outbound / "invoice.pdf", OTHER)
    embedding.go_on(60)
    (outbound / "HOLD").unlink()
    embedding.go_on(600)
    assert embedding.sent() == [with_pdf(invoice("1"), "invoice.pdf", OTHER)]


def test_held_and_moved_back_with_a_copy(embedding: Steps) -> None:
    """A document that comes back with a copy of the PDF that has stayed in sending/ is sent with that."""
    outbound = embedding.world.outbound
    (outbound / "HOLD").touch()
    embedding.drop("invoice.xml", invoice("1"), pdf=PDF)
    (outbound / "sending" / "invoice.xml").rename(outbound / "invoice.xml")
    embedding.world.put(outbound / "invoice.pdf", PDF)
    embedding.go_on(60)
    (outbound / "HOLD").unlink()
    embedding.go_on(600)
    assert embedding.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_too_large_for_the_access_point(steps: Steps) -> None:
    """The note of a document that is too large for the access point names the PDF in it."""
    steps.drop("invoice.xml", invoice("1"), instead(413, "too large"), pdf=PDF)
    note = (steps.world.outbound / "failed" / "invoice.xml.why.txt").read_text("utf-8")
    assert f"It has invoice.pdf ({len(PDF)} bytes) in it." in note


def test_same_name_again(steps: Steps) -> None:
    """Each document of a name has its own PDF next to it, under its own number."""
    steps.drop("export.xml", invoice("1"), instead(422, "no"), pdf=PDF)
    steps.world.put(steps.world.outbound / "export.pdf", OTHER)
    steps.world.front.next("POST /outbox", instead(422, "no"))
    steps.world.put(steps.world.outbound / "export.xml", invoice("2"))
    steps.go_on(60)
    failed = steps.world.outbound / "failed"
    assert (failed / "export.pdf").read_bytes() == PDF
    assert (failed / "export-2.pdf").read_bytes() == OTHER
    assert json.loads((failed / "export-2.xml.json").read_text("utf-8"))["pdf"]["name"] == "export.pdf"
    for path in failed.glob("export-2*"):
        path.rename(steps.world.outbound / path.name)
    steps.go_on(600)
    assert steps.sent() == [with_pdf(invoice("2"), "export.pdf", OTHER)]


def test_same_bytes_again(steps: Steps) -> None:
    """Each retry posts what was posted first, also when the PDF is gone or another one."""
    steps.drop("invoice.xml", invoice("1"), reset_before, seconds=6, pdf=PDF)
    (steps.world.outbound / "sending" / "invoice.pdf").write_bytes(OTHER)
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_lost_answer(steps: Steps) -> None:
    """A document without a number whose answer was lost is found by what was posted, after the setting is off, too."""
    content = invoice("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.drop("invoice.xml", content, cut_after, seconds=6, pdf=PDF)
    steps.again(prepare="{pdf: 'off'}")
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(content, "invoice.pdf", PDF)]
    assert steps.lying() == beside("archive/2020-06", "invoice", ".xml", ".pdf", ".xml.json", ".xml.posted")


def test_same_document_with_another_pdf(steps: Steps) -> None:
    """The same XML with a reprinted PDF is a duplicate, and so is what was posted."""
    steps.drop("first.xml", invoice("1"), pdf=PDF)
    steps.drop("again.xml", invoice("1").replace(b"  <cbc:Note>", b" <cbc:Note>"), pdf=OTHER)
    steps.go_on(600)
    assert len(steps.sent()) == 1
    assert steps.world.error("again.xml") == "duplicate"
    assert beside("failed", "again", ".xml", ".pdf", ".xml.json", ".xml.why.txt") <= steps.lying()


def test_held_and_pdf_replaced(steps: Steps) -> None:
    """A PDF that is replaced before its document is posted goes back with it, and the new one is sent."""
    (steps.world.outbound / "HOLD").touch()
    steps.drop("invoice.xml", invoice("1"), pdf=PDF)
    assert beside("sending", "invoice", ".xml", ".pdf") <= steps.lying()
    (steps.world.outbound / "sending" / "invoice.pdf").write_bytes(OTHER)
    (steps.world.outbound / "HOLD").unlink()
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", OTHER)]
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


def test_claim_that_was_cut_off(steps: Steps) -> None:
    """A claim that ended between the document and its PDF is made again: the document isn't sent without it."""
    steps.life.drop()
    steps.world.put(steps.world.outbound / "sending" / "cut.xml", invoice("1"))
    steps.world.put(steps.world.outbound / "sending" / "cut.xml.posted", with_pdf(invoice("1"), "cut.pdf", PDF))
    steps.world.put(steps.world.outbound / "cut.pdf", PDF)
    steps.world.put(steps.world.outbound / "sending" / "back.pdf", PDF)
    steps.world.put(steps.world.outbound / "back.xml", invoice("2"))
    steps.again()
    steps.go_on(3600)
    expected = [with_pdf(invoice("1"), "cut.pdf", PDF), with_pdf(invoice("2"), "back.pdf", PDF)]
    assert sorted(steps.sent()) == sorted(expected)
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


def test_journal_that_is_lost(steps: Steps) -> None:
    """With a new journal, nothing is sent again, and each PDF stays with its document."""
    content = invoice("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.drop("rejected.xml", invoice("r"), instead(422, "no"), pdf=PDF)
    steps.world.front.always("GET /messages", instead(500))
    steps.drop("doubtful.xml", content, cut_after, pdf=PDF)
    steps.life.drop()
    steps.world.front.heal()
    for path in (*steps.world.state.glob("journal*"), *steps.world.root.rglob(".filedrop")):
        path.unlink()
    steps.life = Life(steps.world, steps.clock)
    steps.begin()
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(content, "doubtful.pdf", PDF)]
    assert beside("archive/2020-06", "doubtful", ".xml", ".pdf", ".xml.json") <= steps.lying()
    (steps.world.outbound / "failed" / "rejected.xml").rename(steps.world.outbound / "rejected.xml")
    steps.go_on(3600)
    assert with_pdf(invoice("r"), "rejected.pdf", PDF) in steps.sent()


def test_ready_file(make_world: Callable[..., World], clock: Clock) -> None:
    """With ready_suffix, the ready file says that both are there: without a PDF, nothing is waited for."""
    steps = Steps(make_world, clock, prepare="{pdf: embed}", ready_suffix=".ready")
    steps.world.put(steps.world.outbound / "with.pdf", PDF)
    for name in ("with.xml", "without.xml"):
        steps.world.put(steps.world.outbound / name, invoice(name))
        steps.world.put(steps.world.outbound / f"{name}.ready", b"")
    steps.world.put(steps.world.outbound / "with.pdf.ready", b"")  # of systems that write one for each file
    steps.go_on(5)
    assert sorted(steps.sent()) == sorted([with_pdf(invoice("with.xml"), "with.pdf", PDF), invoice("without.xml")])
    assert not list(steps.world.outbound.glob("*.ready"))


def test_receivers_that_want_an_attachment(make_world: Callable[..., World], clock: Clock) -> None:
    """A document without an attachment to such a receiver fails; one with an attachment or to another is sent."""
    steps = Steps(make_world, clock, prepare="{}", attachment_required='["0192:8104*"]')
    steps.world.more = ""
    steps.again()
    inside = with_attachments(invoice("with"), ("a.txt", "text/plain", b"text"))
    for name, content in {
        "with.xml": inside,
        "without.xml": invoice("without"),
        "other.xml": invoice("other", receiver="0192:974760673"),
        "order.xml": order("1", sender="0192:987654325", receiver=BUYER),
    }.items():
        steps.world.drop(name, content)
    steps.go_on(600)
    assert len(steps.sent()) == 3
    assert steps.world.error("without.xml") == "no-attachment"
    words = "The receiver Kjøper Kommune takes no invoices without an attachment, and this one has none."
    assert steps.world.sidecar("without.xml")["error"]["message"] == words


def test_receiver_that_wants_an_attachment_gets_the_pdf(make_world: Callable[..., World], clock: Clock) -> None:
    """The PDF that is put into a document counts."""
    steps = Steps(make_world, clock, prepare="{pdf: embed}", attachment_required=f'["{BUYER}"]')
    steps.drop("with.xml", invoice("1"), pdf=PDF)
    steps.drop("without.xml", invoice("2"))
    steps.go_on(600)
    assert steps.sent() == [with_pdf(invoice("1"), "with.pdf", PDF)]
    assert steps.world.error("without.xml") == "no-attachment"
    hint = "Export the PDF of the document into outbound/, under the name without.pdf."
    assert steps.world.sidecar("without.xml")["error"]["hint"] == hint


def test_archive_that_is_removed(make_world: Callable[..., World], clock: Clock) -> None:
    """Old months are removed with the PDFs; another PDF there stays."""
    steps = Steps(make_world, clock, "keep: {archive: 60d}", **REQUIRE)
    steps.drop("invoice.xml", invoice("1"), seconds=600, pdf=PDF)
    (steps.world.outbound / "archive/2020-06/mine.pdf").write_bytes(OTHER)
    clock.pass_on(120 * 24 * 3600)
    steps.again()
    steps.go_on(3 * 3600)
    assert steps.lying() == {"archive/2020-06/mine.pdf"}


def test_counts_and_places(make_world: Callable[..., World], clock: Clock) -> None:
    """No PDF counts as a document, also where every file is one, and one without its document in sent/ is reported."""
    steps = Steps(make_world, clock, prepare="{pdf: require}", files='["*"]', track="1h")
    steps.world.set_up_anew(deliver_after=9 * 24 * 3600)
    steps.again()
    steps.drop("invoice.xml", invoice("1"), pdf=PDF)
    assert beside("sent", "invoice", ".xml", ".pdf", ".xml.json", ".xml.posted") == steps.lying()
    (steps.world.outbound / "sent" / "lone.pdf").write_bytes(OTHER)
    assert strays(steps) == {"lone.pdf": "it is a PDF, and no document of its name is next to it"}
    said = json.loads(steps.world.filedrop("status", "--json").stdout)
    assert said["companies"]["acme"]["sent"] == 1


def test_commands(steps: Steps, tmp_path: Path) -> None:
    """What would be posted is printed, and each command says why something can't be."""
    world, file, alone = steps.world, tmp_path / "invoice.xml", tmp_path / "alone.xml"
    file.write_bytes(invoice("1"))
    alone.write_bytes(invoice("2"))
    (tmp_path / "invoice.pdf").write_bytes(PDF)
    done = world.filedrop("check", str(file), "-o", str(tmp_path / "posted.xml"))
    assert done.returncode == 0
    assert (tmp_path / "posted.xml").read_bytes() == with_pdf(invoice("1"), "invoice.pdf", PDF)
    assert "posted       invoice.pdf is put into the document" in done.stdout
    done = world.filedrop("check", str(alone))
    assert done.returncode == 1
    assert "no-attachment: There is no alone.pdf" in done.stdout
    (tmp_path / "lone.pdf").write_bytes(PDF)
    checked = json.loads(world.filedrop("check", "--json", str(tmp_path)).stdout)
    assert [name for name in checked["never_sent"] if name.endswith(".pdf")] == [str(tmp_path / "lone.pdf")]
    assert "what is posted differs from what is dropped (pdf)" in world.filedrop("check").stdout
    world.put(world.outbound / "invoice.xml", invoice("1"))
    world.put(world.outbound / "invoice.pdf", PDF)
    world.put(world.outbound / "alone.xml", invoice("2"))
    documents = json.loads(world.filedrop("check", "--json", str(world.outbound)).stdout)["documents"]
    assert [(document["verdict"], document["code"]) for document in documents] == [
        ("would fail", "no-attachment"),
        ("would send", None),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("order", [("pdf", "xml"), ("xml", "pdf")])
def test_daemon(make_world: Callable[..., World], order: tuple[str, str]) -> None:
    """A daemon sends a document as soon as the second of the two files is there, by its event, and files both."""
    world = make_world(outbound=REQUIRE | {"rescan": "1h", "incomplete_after": "1h"})
    contents = {"pdf": PDF, "xml": invoice("1")}
    world.dropped["invoice.xml"], world.pdfs["invoice.xml"] = contents["xml"], PDF
    with world.service(watch=True) as service:
        world.until((world.outbound / "sending").is_dir, what="the folder is served")
        world.put(world.outbound / f"invoice.{order[0]}", contents[order[0]])
        pipeline = service.accounts[0].pipelines[0]
        world.until(lambda: order[0] == "pdf" or pipeline.scanner.seen, what="the first one was seen")
        world.put(world.outbound / f"invoice.{order[1]}", contents[order[1]])
        world.until(world.settled, what="it is sent")
    world.invariants()


@pytest.mark.slow
@pytest.mark.parametrize("ends", [["--once"], []])
def test_processes(make_world: Callable[..., World], ends: list[str]) -> None:
    """`run --once` waits for pdf_wait and for nothing longer; a daemon that is killed goes on where it was."""
    world = make_world(outbound={"prepare": "{ids: true, pdf: embed, pdf_wait: 500ms}"})
    world.drop("with.xml", invoice("with"), pdf=PDF)
    world.drop("without.xml", invoice("without"))
    if not ends:
        with world.daemon():
            world.until(lambda: world.places().get("with.xml") != ".", what="it is claimed")
    assert world.process("run", "--once").returncode == 0
    assert world.settled(("sent", "archive"))
    assert world.accepted() == {"with.xml": 1, "without.xml": 1}
