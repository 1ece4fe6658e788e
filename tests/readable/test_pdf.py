"""The XML of an invoice is found wherever a PDF has it, and a damaged PDF is a sentence."""

from __future__ import annotations

import io
import random
from contextlib import suppress

import pytest
from support.pdfs import XML, pdf

from filedrop.readable import NotReadable
from filedrop.readable.pdf import xml_in


@pytest.mark.parametrize("name", ["factur-x.xml", "ZUGFeRD-invoice.xml", "zugferd-invoice.xml", "xrechnung.xml"])
@pytest.mark.parametrize("only_associated", [False, True])
def test_found(name: str, only_associated: bool) -> None:  # noqa: FBT001 - pytest gives it by name
    """Under each name of Factur-X and ZUGFeRD, in the tree of names or only among the associated files."""
    assert xml_in(io.BytesIO(pdf(name, only_associated=only_associated))) == (name, XML)


@pytest.mark.parametrize("seed", range(200))
def test_damaged(seed: int) -> None:
    """A PDF with wrong bytes in it has its XML, or is said to be damaged; no other error comes of it."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    content = bytearray(pdf())
    for _ in range(draw.randint(1, 20)):
        at = draw.randrange(len(content))
        content[at : at + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
    with suppress(NotReadable):
        xml_in(io.BytesIO(content))
