"""Which contents count as a whole PDF: as many as writers make, and none that is cut."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

import pytest
from support.pdfs import Embedded, pdf, pdf_of

from filedrop.outbound import pdfs
from filedrop.outbound.pdfs import read_pdf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST_PART = (
    b"%PDF-1.5\n1 0 obj\n<< /Linearized 1 /L 90000 >>\nendobj\nxref\n0 1\ntrailer\n<< >>\nstartxref\n0\n%%EOF\n"
)
LINEARIZED = FIRST_PART + b"2 0 obj\n<< >>\nendobj\n" * 4000 + b"startxref\n20\n%%EOF\n"
ENCRYPTED = {"owner": "o", "user": "", "algorithm": "AES-256"}


@cache
def plain() -> bytes:
    return pdf()


@cache
def updated() -> bytes:
    """A PDF with two updates behind it."""
    from pypdf import PdfWriter  # noqa: PLC0415 - an extra

    content = plain()
    for title in ("one", "two"):
        writer, written = PdfWriter(io.BytesIO(content), incremental=True), io.BytesIO()
        writer.add_metadata({"/Title": title})
        writer.write(written)
        content = written.getvalue()
    return content


def cut_in_update() -> bytes:
    return updated()[: updated().index(b"%%EOF") + 206]


WHOLE: dict[str, Callable[[], bytes]] = {
    "as it comes": plain,
    "no line end": lambda: plain().rstrip(),
    "500 NULs": lambda: plain() + bytes(500),
    "1,100 NULs": lambda: plain() + bytes(1100),
    "a block of NULs": lambda: plain() + bytes(80_508),
    "more NULs than are read at once": lambda: plain() + bytes(600_000),
    "blanks": lambda: plain() + b" " * 2000,
    "line ends": lambda: plain() + b"\r\n" * 700,
    "^Z": lambda: plain() + b"\x1a",
    "rubbish": lambda: plain() + b"x" * 300,
    "BOM": lambda: b"\xef\xbb\xbf" + plain(),
    "updates": updated,
    "linearized": lambda: LINEARIZED,
    "PDF/A-3 with XML": lambda: pdf("factur-x.xml"),
    "only associated": lambda: pdf(only_associated=True),
    "portfolio": lambda: pdf_of(Embedded("a.xml", b"<a/>"), Embedded("b.pdf", plain())),
    "encrypted": lambda: pdf_of(Embedded("a.xml", b"<a/>"), **ENCRYPTED),
}
CUT: dict[str, Callable[[], bytes]] = {
    "empty": bytes,
    "NULs": lambda: bytes(3000),
    "no PDF": lambda: b"<html>%%EOF",
    "in the end": lambda: plain().rstrip()[:-5] + b"%EOF",
    "in the body": lambda: plain()[: len(plain()) // 2],
    "in the body, preallocated": lambda: plain()[: len(plain()) // 2] + bytes(len(plain()) // 2),
    "in an update": cut_in_update,
    "in an update, preallocated": lambda: cut_in_update() + bytes(5000),
    "in a linearized one": lambda: LINEARIZED[: len(FIRST_PART) + 300],
    "behind the first part": lambda: FIRST_PART + bytes(88_000),
}


@pytest.mark.parametrize("piece", [pdfs.PIECE, 61])
@pytest.mark.parametrize(
    ("content", "is_whole"),
    [
        *(pytest.param(content, True, id=name) for name, content in WHOLE.items()),
        *(pytest.param(content, False, id=f"cut: {name}") for name, content in CUT.items()),
    ],
)
def test_whole_or_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Callable[[], bytes], piece: int, *, is_whole: bool
) -> None:
    """Each content is judged rightly, however many bytes are read at once."""
    pytest.importorskip("pypdf")
    monkeypatch.setattr(pdfs, "PIECE", piece)
    path = tmp_path / "a.pdf"
    path.write_bytes(content())
    found, judged = read_pdf(path)
    assert judged is is_whole
    assert found.file.size == path.stat().st_size
