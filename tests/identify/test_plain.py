"""What the parse of plain documents promises: to find what `Parse` finds, or to say that the document isn't plain."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.disguise import disguised
from support.documents import credit_note, envelope, invoice, order
from support.matrix import is_full, quick

from filedrop.errors import DocumentError
from filedrop.identify.encoding import form_of, transcode
from filedrop.identify.parsing import Parse
from filedrop.identify.plain import _KEPT, NotPlain, Plain, _pieces

from .test_corpus import CORPUS

relaxed = settings(deadline=None, max_examples=300 if is_full() else 10, suppress_health_check=[HealthCheck.too_slow])
FILES = sorted(CORPUS.rglob("*.xml"))
SPECIAL = {  # each in place of the invoice's note
    "a sign in an attribute": b'<cbc:Note languageID="a>b">x</cbc:Note>',
    "quotes": b"""<cbc:Note languageID='"' id = "a'b" >x</cbc:Note >""",
    "a sign in the text": b"<cbc:Note>a > b ]] > c</cbc:Note>",
    "references": b'<cbc:Note languageID="&lt;&#x41;&quot;">&amp;lt; &#13;&#10;&#x1F600;&apos;</cbc:Note>',
    "order of attributes": b'<cbc:Note xml:lang="no" b="2" a="1">x</cbc:Note>',
    "an empty element": b'<cbc:Note languageID="no"/><cac:OrderReference/><cbc:Note></cbc:Note>',
    "an empty value": b"<cbc:ID/><cbc:IssueDate />",
    "line ends": b"<cbc:Note\r\n languageID='no'>a\r\nb\rc</cbc:Note>",
    "letters": "<cbc:Note ø='å'>Blåbær €</cbc:Note>".encode(),
    "a long value": b"<cbc:ID>" + b"1 " * 1500 + b"</cbc:ID>",
    "many values": b"<cbc:ID>1</cbc:ID>" * 1100,
    "another place of the same name": b"<cac:OrderReference><cbc:IssueDate>9</cbc:IssueDate></cac:OrderReference>",
    "255 elements": b"<a>" * 254 + b"</a>" * 254,
}
NOT_PLAIN = {
    "comment": b"<!-- a -->",
    "CDATA": b"<cbc:Note><![CDATA[a<b]]></cbc:Note>",
    "instruction": b"<?a b?>",
    "own namespace": b'<x:a xmlns:x="urn:x"/>',
    "an element in a value": b"<cbc:ID>1<cbc:X>2</cbc:X></cbc:ID>",
    "a line end in an attribute": b'<cbc:Note languageID="a\nb">x</cbc:Note>',
    "no prefix": b"<x:a/>",
    "malformed": b"<cbc:Note>",
    "a null byte": b"\0",
    "256 elements": b"<a>" * 255 + b"</a>" * 255,
    "257 elements, the last of them empty": b"<a>" * 255 + b"<a/>" + b"</a>" * 255,
}


def with_note(note: bytes) -> bytes:
    return invoice(note="HERE").replace(b"<cbc:Note>HERE</cbc:Note>", note)


def parsed(document: bytes) -> Parse | None:
    try:
        return Parse([document], form_of(document), refuse_doctype=True)
    except DocumentError:
        return None


def compare(document: bytes) -> bool:
    """Whether a document is plain; then both parses find the same."""
    _pieces.cache_clear()
    other = parsed(document)
    for _ in range(2):  # with pieces that are new, and with known ones
        try:
            plain = Plain(document)
        except NotPlain:
            return False
        assert other is not None
        facts = [(found.root, found.business_root, found.values, found.size) for found in (plain, other)]
        assert facts[0] == facts[1]
        assert plain.digest.hexdigest() == other.digest.hexdigest()
    return True


@pytest.mark.parametrize("kind", SPECIAL)
def test_special_pieces(kind: str) -> None:
    """What is unusual in a tag or a text, and needs no more than the tag itself, is read as `Parse` reads it."""
    assert with_note(SPECIAL[kind]) != invoice(note="HERE")
    compare(with_note(SPECIAL[kind]))
    assert compare(with_note(SPECIAL[kind])) == (kind != "a sign in an attribute")


@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_not_plain(kind: str) -> None:
    """A document that needs more than its tags, or has a fault, is left to `Parse`."""
    assert not compare(with_note(NOT_PLAIN[kind]))


def test_tag_in_instruction() -> None:
    """What looks like the root's tag in a processing instruction before the root isn't taken for that."""
    assert not compare(b"<?xml-note <Order> ?><Invoice><ID>1</ID></Invoice>")


def test_envelope() -> None:
    """A document in an envelope is left to `Parse`."""
    assert not compare(envelope(invoice()))


@relaxed
@given(st.data(), st.sampled_from([invoice(note="Blåbær & <tid>"), credit_note(), order()]))
def test_disguise(data: st.DataObject, document: bytes) -> None:
    """A document that is written in another way is read as `Parse` reads it, or is left to that."""
    assert compare(document)
    other = data.draw(disguised(document))
    compare(b"".join(transcode([other], form_of(other))))


@pytest.mark.skipif(not FILES, reason=f"the corpus is not there: {CORPUS}")
@pytest.mark.parametrize("part", quick(range(8)))
def test_corpus(part: int) -> None:
    """Real documents are read as `Parse` reads them, or are left to that; two of five are plain."""
    plain = 0
    for file in FILES[part::8]:
        try:
            written = file.read_bytes()
            plain += compare(b"".join(transcode([written], form_of(written))))
        except DocumentError:  # an encoding that nobody knows
            continue
    assert plain > len(FILES) // 8 // 4


def test_memory() -> None:
    """However many documents differ, a limited number of their pieces is kept."""
    _pieces.cache_clear()
    for first in range(0, 4 * _KEPT, _KEPT // 2):
        numbers = b"".join(b"<cbc:ID>%d</cbc:ID>" % number for number in range(first, first + _KEPT // 2))
        Plain(with_note(numbers))
    tag = invoice().split(b"<")[2].partition(b">")[0]
    assert len(_pieces(tag)) <= _KEPT
