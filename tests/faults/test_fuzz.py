"""Bytes that nobody meant: documents and answers that look real and were damaged, spliced, cut off or mislabelled.

`FILEDROP_MATRIX=full` tries five hundred times as many of them as a run of the suite does.
"""

from __future__ import annotations

import io
from dataclasses import astuple, is_dataclass, replace
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Any

import pytest
from accesspoint.test_answers import DEPLOYED, DOCUMENTED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.documents import credit_note, envelope, invoice, order
from support.matrix import is_full

from filedrop.accesspoint import answers
from filedrop.errors import DocumentError, NoClearAnswer
from filedrop.identify import demand, identify, read
from filedrop.identify.reading import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FULL = is_full()
MANY = 50_000
TRIES = settings(
    deadline=None,
    max_examples=MANY if FULL else 100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = pytest.mark.tries(TRIES.max_examples, MANY)
ENCODINGS = ("utf-8", "utf-8-sig", "iso-8859-1", "cp1252", "cp037", "utf-16", "utf-16-be", "utf-32", "gb18030", "utf-7")
# All that Python has a codec for, text or not: a document may name any of them.
NAMED = sorted({*ENCODINGS, *aliases.values(), "UTF-99", "x" * 300, "é"})
TOKENS = (
    b"<!DOCTYPE a>", b'<!DOCTYPE a [<!ENTITY e "x">]>', b'<!DOCTYPE a SYSTEM "file:///etc/passwd">', b"&e;", b"&#0;",
    b"&#xD800;", b"&#x10FFFF;", b"]]>", b"<![CDATA[", b"-->", b"<!--", b"<?", b"?>", b"<?xml version='1.1'?>",
    b"<?xml version='1.0' encoding='utf-16'?>", b"xmlns=''", b' xmlns:cbc="urn:x"', b"<cbc:ID>", b"</cbc:ID>", b"<a>",
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\r\n", b"\x1b[2J", b"%",
    b'schemeID="', b"0192:1", b"##", b"::", b"<a " + b"b='c' " * 300, b"<a>" * 300, b"9" * 400,
)  # fmt: skip
DOCUMENTS = (
    invoice(),
    credit_note(),
    order(),
    invoice("2", size=70_000),  # more than one piece
    envelope(b"?>" + invoice("3")),
    envelope(b"?>" + order("4"), sender=None, receiver=None, document_id=None, process_id=None),
)
DIRECTORY = b"""<directory-response xmlns="urn:x"><accepted-document-transfer><ProcessID>urn:p</ProcessID>
<DocumentID>urn:d::D##c::2.1</DocumentID></accepted-document-transfer></directory-response>"""
STATISTICS = b"""<?xml version="1.0" encoding="UTF-8"?><statistics><account name="Acme" contact_email="a@b.c"/>
<messages total="9"><in total="4" undelivered="1" last_downloaded="2026-11-20T12:00:00+01:00"/><out/></messages>
</statistics>"""
ANSWERS = (DOCUMENTED, DEPLOYED, DIRECTORY, STATISTICS)


@st.composite
def written(draw: st.DrawFn, whole: tuple[bytes, ...]) -> bytes:
    """One of these, in some encoding, naming some encoding."""
    text = draw(st.sampled_from(whole)).decode()
    if draw(st.booleans()):
        named = draw(st.sampled_from(NAMED))
        text = text.replace('encoding="UTF-8"', f'encoding="{named}"', 1)
    return text.encode(draw(st.sampled_from(ENCODINGS)) if draw(st.booleans()) else "utf-8", "replace")


@st.composite
def damaged(draw: st.DrawFn, whole: tuple[bytes, ...]) -> bytes:
    """One of these after up to six accidents."""
    content = bytearray(draw(written(whole)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(content)))
        to = min(len(content), at + draw(st.sampled_from([1, 2, 7, 40, 300, 5000])))
        match draw(st.sampled_from(["flip", "cut", "end", "twice", "token", "splice", "swap"])):
            case "flip" if at < len(content):
                content[at] ^= draw(st.integers(1, 255))
            case "cut":
                del content[at:to]
            case "end":
                del content[at:]
            case "twice":
                content[at:at] = content[at:to]
            case "token":
                content[at:at] = draw(st.sampled_from(TOKENS))
            case "splice":
                content[at:] = draw(st.sampled_from(whole))[at:]
            case "swap":
                content[at:to] = reversed(content[at:to])
            case _:
                pass
    return bytes(content)


def said_of(document: bytes, doctype: str) -> object:
    """What reading it says: the reading with the ids, or the error's code and words."""
    try:
        reading = read(io.BytesIO(document), doctype=doctype)  # type: ignore[arg-type] # one of the two
    except DocumentError as error:
        return error.code, error.texts
    assert len(b"".join(wire(io.BytesIO(document), reading))) == reading.wire_size
    identity = identify(reading)
    try:
        demand(identity, reading)
    except DocumentError as error:
        return reading, identity, error.code, error.texts
    return reading, identity


@pytest.mark.timeout(0 if FULL else 120)
@TRIES
@given(damaged(DOCUMENTS), st.sampled_from(["refuse", "keep"]))
def test_documents(document: bytes, doctype: str) -> None:
    """A document, however damaged, is read or is a DocumentError; and each time the same."""
    assert said_of(document, doctype) == said_of(document, doctype)


@pytest.mark.timeout(0 if FULL else 120)
@TRIES
@given(damaged(DOCUMENTS))
def test_on_the_wire(document: bytes) -> None:
    """What goes on the wire is UTF-8, and says the same as the file did, but of its former encoding."""
    try:
        reading = read(io.BytesIO(document))
    except DocumentError:
        return
    sent = b"".join(wire(io.BytesIO(document), reading))
    sent.decode("utf-8")
    arrived = read(io.BytesIO(sent))
    stated = identify(reading)
    stated = replace(stated, warnings=tuple(text for text in stated.warnings if not text.startswith("encoding: ")))
    assert (arrived.meaning, identify(arrived), arrived.encoding) == (reading.meaning, stated, "utf-8")


def texts(said: object) -> Iterator[str]:
    """All texts in what was understood."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, tuple):
        for part in said:
            yield from texts(part)
    elif is_dataclass(said) and not isinstance(said, type):
        yield from texts(astuple(said))


@pytest.mark.timeout(0 if FULL else 120)
@TRIES
@pytest.mark.parametrize("parse", [answers.page, answers.accepted, answers.statistics])
@given(damaged(ANSWERS))
def test_answers(parse: Callable[[bytes], Any], body: bytes) -> None:
    """An answer, however damaged, is understood or is no clear answer; and no word of it can drive a terminal."""

    def heard() -> object:
        try:
            return parse(body)
        except NoClearAnswer as error:
            return str(error)

    first = heard()
    assert first == heard()
    assert all(text.isprintable() for text in texts(first))
    if isinstance(first, answers.Page):
        assert all(0 < message.msg_no < 2**63 and str(message.received_at) for message in first.messages)
