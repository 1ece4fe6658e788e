"""A document and its PDF are claimed one after the other: whatever happens in between, no other PDF goes with it."""

from __future__ import annotations

import itertools
import os
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice, with_pdf
from support.faults import instead
from support.plug import tapped
from support.prepared import PDF, Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

OTHER = PDF.replace(b"1.7", b"1.4")
CHANGES = ("rename", "place")


@pytest.fixture
def steps(make_world: Callable[..., World], clock: Clock) -> Steps:
    return Steps(make_world, clock, prepare="{pdf: require}")


@pytest.mark.skipif(sys.platform == "win32", reason="files that are open can't be replaced there")
@pytest.mark.parametrize("nth", range(1, 5))
@pytest.mark.parametrize("in_place", [False, True], ids=["replaced", "written again"])
def test_pdf_that_changes_during_the_claim(steps: Steps, nth: int, *, in_place: bool) -> None:
    """A PDF that is replaced before the n-th move of the claim: what is sent has one PDF, which is next to it."""
    moves, pdf = itertools.count(1), steps.world.outbound / "invoice.pdf"

    def change(what: str) -> None:
        if what in CHANGES and next(moves) == nth and pdf.exists():
            if in_place:
                pdf.write_bytes(OTHER)
            else:
                draft = steps.world.root / "draft"
                draft.write_bytes(OTHER)
                os.rename(draft, pdf)  # noqa: PTH104 - the tap counts os.rename, and this one isn't its own

    steps.world.drop("invoice.xml", invoice("1"), pdf=PDF)
    with tapped(change):
        steps.go_on(3600)
    places = steps.world.places()
    (sent,) = steps.sent()
    beside = next(steps.world.outbound.rglob("archive/*/invoice.pdf")).read_bytes()
    assert sent == with_pdf(invoice("1"), "invoice.pdf", beside)
    assert places == {"invoice.xml": "archive/2020-06"}


def test_names_that_meet(steps: Steps) -> None:
    """Where filedrop's number for one document is in the name of another, each has its own PDF."""
    pdfs = [PDF.replace(b"1.7", f"1.{number}".encode()) for number in range(3)]
    for number, name in enumerate(("invoice", "invoice", "invoice-2")):
        steps.world.front.next("POST /outbox", instead(422, "no"))
        steps.world.put(steps.world.outbound / f"{name}.pdf", pdfs[number])
        steps.world.put(steps.world.outbound / f"{name}.xml", invoice(f"{number}"))
        steps.go_on(30)
    failed = steps.world.outbound / "failed"
    for path in sorted(failed.glob("*.xml")):
        number = path.read_bytes().partition(b"<cbc:ID>")[2][:1].decode()
        assert path.with_suffix(".pdf").read_bytes() == pdfs[int(number)], path.name
    for path in list(failed.glob("*")):
        path.rename(steps.world.outbound / path.name)
    steps.go_on(3600)
    names = [("invoice.pdf", 0), ("invoice.pdf", 1), ("invoice-2.pdf", 2)]
    assert sorted(steps.sent()) == sorted(with_pdf(invoice(f"{nth}"), name, pdfs[nth]) for name, nth in names)
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


def test_pdf_whose_document_is_being_moved(steps: Steps) -> None:
    """A PDF stays in sending/ while its document's row is there, also if the document isn't: no other may take it."""
    hold, sending = steps.world.outbound / "HOLD", steps.world.outbound / "sending"
    hold.touch()
    steps.drop("invoice.xml", invoice("1"), pdf=PDF)
    steps.life.drop()
    (sending / "invoice.xml").rename(steps.world.base / "invoice.xml")
    steps.again()
    assert "sending/invoice.pdf" in steps.lying()
    (steps.world.base / "invoice.xml").rename(sending / "invoice.xml")
    hold.unlink()
    steps.settle()
    assert steps.sent() == [with_pdf(invoice("1"), "invoice.pdf", PDF)]


def test_setting_that_is_turned_off_before_the_request(steps: Steps) -> None:
    """A document whose PDF was claimed, and that was never posted, is sent without it; the PDF stays next to it."""
    hold = steps.world.outbound / "HOLD"
    hold.touch()
    steps.drop("invoice.xml", invoice("1"), pdf=PDF)
    steps.again(prepare='{pdf: "off"}')
    hold.unlink()
    steps.go_on(3600)
    assert steps.sent() == [invoice("1")]
    assert steps.lying() == {f"archive/2020-06/invoice.{end}" for end in ("xml", "xml.json", "pdf")}
