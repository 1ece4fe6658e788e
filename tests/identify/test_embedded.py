"""What is embedded in a document comes out as it went in, in pieces, or it is said why not."""

from __future__ import annotations

import io
import tracemalloc
from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.documents import envelope, invoice, with_attachments

from filedrop.identify import Begun, Ended, embedded, read

if TYPE_CHECKING:
    from typing import BinaryIO

CBC = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
RAM = "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
PDF = b"%PDF-1.7 and more"


def found(document: bytes) -> list[tuple[Begun, bytes, str]]:
    """Each embedded object: as what it was stated, its bytes, and its fault."""
    objects: list[tuple[Begun, bytes, str]] = []
    form = read(io.BytesIO(document), doctype="keep").form
    for event in embedded(io.BytesIO(document), form):
        if isinstance(event, Begun):
            objects.append((event, b"", "open"))
            continue
        begun, content, _ = objects.pop()
        fault = event.fault if isinstance(event, Ended) else "open"
        objects.append((begun, content + event if isinstance(event, bytes) else content, fault))
    return objects


@pytest.mark.parametrize("length", [1, 2, 3, 4, 47, 48, 49, 49151, 49152, 49153, 1_000_000])
def test_any_length(length: int) -> None:
    """However long it is, and wherever the pieces end that are read, it comes out byte for byte."""
    content = Random(length).randbytes(length)  # noqa: S311 - it is to be repeated, not secret
    for width in (76, 77, length * 2 + 10):
        letters = b64encode(content).decode()
        lines = "\r\n\t".join(letters[at : at + width] for at in range(0, len(letters), width))
        document = with_attachments(invoice(), ("a.bin", "application/octet-stream", f"\n  {lines}\n  "))
        assert found(document) == [(Begun("a.bin", "application/octet-stream"), content, "")]


def test_wherever_it_stands() -> None:
    """UBL and CII have it under other names; an envelope, another encoding or a CDATA section change nothing."""
    plain = with_attachments(invoice(), ("æ.pdf", "application/pdf", PDF))
    expected = [(Begun("æ.pdf", "application/pdf"), PDF, "")]
    assert found(plain) == found(envelope(plain)) == expected
    assert found(plain.decode().replace("UTF-8", "UTF-16").encode("utf-16")) == expected
    assert (
        found(with_attachments(invoice(), ("æ.pdf", "application/pdf", f"<![CDATA[{b64encode(PDF).decode()}]]>")))
        == expected
    )
    cii = f'<a xmlns="{RAM}"><AttachmentBinaryObject>{b64encode(PDF).decode()}</AttachmentBinaryObject></a>'
    assert found(cii.encode()) == [(Begun(None, None), PDF, "")]


def test_what_only_looks_like_it() -> None:
    """An element of that name in somebody else's namespace is none."""
    assert found(b'<a xmlns="urn:x"><EmbeddedDocumentBinaryObject>AAAA</EmbeddedDocumentBinaryObject></a>') == []


BROKEN = {
    "A": "it is not base64",
    "AAAA%AAA": "it is not base64",
    "AAAAæ": "it is not base64",
    "AA==AAAA": "it is not base64",
    "AA=": None,  # the `=` that is missing tells nothing
    "AA": None,
    "": "it is empty",
    "  \n ": "it is empty",
    "AAAA<b/>": 'it has an element "b" in it',
    "AAAA&x;": "it refers to an entity, &x;",
}


@pytest.mark.parametrize(("content", "fault"), BROKEN.items(), ids=[f"{content[:9]!r}" for content in BROKEN])
def test_what_cannot_be_decoded(content: str, fault: str | None) -> None:
    """What is no base64 is said to be none, and what comes behind it comes out."""
    document = with_attachments(invoice(), ("a", "b", content), ("c", "d", PDF))
    document = document.replace(b"<Invoice", b'<!DOCTYPE Invoice [<!ENTITY x "BBBB">]><Invoice', 1)
    first, second = found(document)
    assert first[2] == (fault or "")
    assert second == (Begun("c", "d"), PDF, "")


class Endless:
    """A document whose attachment has so many bytes of base64, made while it is read."""

    def __init__(self, size: int) -> None:
        head, _, tail = with_attachments(invoice(), ("a.pdf", "application/pdf", "@")).partition(b">@<")
        self._parts = [head + b">", *[b"JVBERi0x" * 8192] * (size // 65536), b"<" + tail]
        self._rest = b""

    def read(self, size: int) -> bytes:
        while self._parts and len(self._rest) < size:
            self._rest += self._parts.pop(0)
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def test_memory_stays_flat() -> None:
    """An attachment of 20 MB takes no more memory than one of a few."""
    file: BinaryIO = Endless(20_000_000)  # type: ignore[assignment] # it can be read
    form = read(io.BytesIO(invoice())).form
    tracemalloc.start()
    total = sum(len(event) for event in embedded(file, form) if isinstance(event, bytes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 14_000_000
    assert peak < 1_500_000
