"""A system that uses the same names for each export: `export.pdf`, `export.xml` and `export.xml.ready`.

It writes the next export as soon as the document of the last one is gone, as old accounting systems do.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

NAME, PDF_NAME = "export.xml", "export.pdf"
_ATTACHED = re.compile(rb"<cbc:EmbeddedDocumentBinaryObject[^>]*>([^<]*)<")
_NUMBER = re.compile(rb"<cbc:ID>([0-9]+)</cbc:ID>")


def pdf_of(number: int) -> bytes:
    """The PDF of the export with this number."""
    return b"%%PDF-1.4\n%% export %05d \n%%%%EOF\n" % number


class Exports:
    """So many exports into `outbound`. `ready`: the suffix of the ready files; "" for none.

    `by_rename`: files are renamed in. `waits_for`: the file whose absence lets the next export begin. `is_upper`: names
    are in upper case, as on old Windows systems. `written`: how many exports are whole.
    """

    def __init__(
        self,
        outbound: Path,
        number: int,
        *,
        ready: str = "",
        has_pdf: bool = False,
        by_rename: bool = False,
        waits_for: str = NAME,
        is_upper: bool = False,
    ) -> None:
        self.written = 0
        self.number = number
        self._outbound = outbound
        self._ready = ready
        self._has_pdf = has_pdf
        self._by_rename = by_rename
        self._spelled = str.upper if is_upper else str
        self._awaited = outbound / self._spelled(waits_for)
        self._steps = self._write()

    def take_step(self) -> bool:
        """Write the next file. Returns False where the export waits, is done, or is just writing."""
        return not self._steps.gi_running and next(self._steps, False)

    def take_all(self) -> None:
        """Write the next export, unless that waits."""
        while self.take_step():
            pass

    def _write(self) -> Generator[bool, None, None]:
        while self.written < self.number:
            while self._awaited.exists():
                yield False
            for name, content in self._files(self.written + 1):
                self._put(name, content)
                self.written += name == (f"{NAME}{self._ready}")
                yield True

    def _files(self, number: int) -> Iterator[tuple[str, bytes]]:
        if self._has_pdf:
            yield PDF_NAME, pdf_of(number)
        yield NAME, invoice(f"{number}")
        if self._ready:
            yield f"{NAME}{self._ready}", b""

    def _put(self, name: str, content: bytes) -> None:
        target = self._outbound / self._spelled(name)
        path = target.with_name(f".{name}.tmp") if self._by_rename else target
        path.write_bytes(content)
        if self._by_rename:
            path.replace(target)


def number_of(document: bytes) -> int:
    """The number of the export that a document is."""
    found = _NUMBER.search(document)
    assert found is not None
    return int(found[1])


def pdfs_in(document: bytes) -> list[bytes]:
    """The PDFs that were put into a document."""
    return [base64.b64decode(content) for content in _ATTACHED.findall(document)]
