"""Invoices, each different, and folders full of them."""

from __future__ import annotations

import itertools
import re
from itertools import islice
from typing import TYPE_CHECKING

from stdnum.no import orgnr

from tests.support.documents import SELLER, invoice

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NUMBER = re.compile(rb"<cbc:ID>([^<]*)</cbc:ID>")  # the first in a document is its own
SIZE = 20_000  # bytes
_PLACEHOLDER = "0000000000"
_LINE = re.compile(rb"\n  <cac:InvoiceLine>.*?</cac:InvoiceLine>", re.DOTALL)
_FEW_LINES = 1_000_000  # bytes up to which an invoice is made of lines, as most are; beyond, of an attachment


def numbered_document(size: int = SIZE, sender: str = SELLER) -> tuple[bytes, bytes]:
    """An invoice of about so many bytes, up to its number and from there on."""
    document = invoice(_PLACEHOLDER, sender, size=size if size > _FEW_LINES else 0)
    line = _LINE.search(document)
    if line:
        lines = (size - len(document)) // len(line[0])
        document = document[: line.start()] + line[0] * lines + document[line.start() :]
    before, _, after = document.partition(_PLACEHOLDER.encode())
    return before, after


def drop(folder: Path, numbers: Iterable[int], *, size: int = SIZE, sender: str = SELLER) -> list[str]:
    """Write an invoice for each of the numbers, of ten digits at most, and return the files' names."""
    before, after = numbered_document(size, sender)
    names = []
    for number in numbers:
        name = f"invoice-{number:010}.xml"
        with (folder / name).open("wb") as file:
            file.write(before + b"%010d" % number)
            file.write(after)
        names.append(name)
    return names


def participants(count: int) -> list[str]:
    """The ParticipantIDs of so many companies."""
    numbers = filter(orgnr.is_valid, map(str, itertools.count(810_000_000)))
    return [f"0192:{number}" for number in islice(numbers, count)]
