"""What reading promises: one pass, flat memory, nothing resolved, the same meaning however it is written."""

from __future__ import annotations

import codecs
import contextlib
import gc
import hashlib
import io
import tracemalloc
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.disguise import ENCODINGS, disguised
from support.documents import BUYER, INVOICE_ID, SELLER, credit_note, envelope, invoice, order
from support.matrix import is_full, quick
from support.notes import whole

from filedrop.errors import DocumentError
from filedrop.identify import Reading, identify, read, wire

relaxed = settings(
    deadline=None,
    max_examples=60 if is_full() else 10,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def reading_of(document: bytes, **how: object) -> Reading:
    return read(io.BytesIO(document), **how)  # type: ignore[arg-type] # each test gives what read takes


@pytest.mark.parametrize("document", [invoice(), b"<broken>"])
def test_nothing_is_left_to_the_garbage_collector(document: bytes) -> None:
    """A reading frees all that it took at its end: nothing grows until the collector runs."""
    with contextlib.suppress(DocumentError):
        reading_of(document)
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            with contextlib.suppress(DocumentError):
                reading_of(document)
        assert gc.collect() == 0
    finally:
        gc.enable()


def sent(document: bytes) -> bytes:
    return b"".join(wire(io.BytesIO(document), reading_of(document)))


def fault_of(document: bytes, **how: object) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        reading_of(document, **how)
    return caught.value


def test_facts() -> None:
    """A reading says what a document is, by its own words, and what its bytes are."""
    document = invoice(number="1001")
    reading = reading_of(document)
    assert (reading.root_name, reading.number, reading.issue_date) == ("Invoice", "1001", "2026-11-20")
    assert reading.root_namespace == "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
    assert (reading.size, reading.sha256) == (len(document), hashlib.sha256(document).hexdigest())
    assert not reading.missing


@relaxed
@given(st.data(), st.sampled_from([invoice(note="Blåbær & <tid>"), credit_note(), order()]))
def test_disguise(data: st.DataObject, document: bytes) -> None:
    """Other prefixes, blanks, comments, references and encodings change neither the ids nor the meaning."""
    other = data.draw(disguised(document))
    plain, disguise = reading_of(document), reading_of(other)
    assert identify(disguise) == identify(plain)
    assert disguise.meaning == plain.meaning
    assert (disguise.number, disguise.issue_date) == (plain.number, plain.issue_date)


@relaxed
@given(st.data())
def test_wire(data: st.DataObject) -> None:
    """What is sent is UTF-8 without a byte order mark, exactly as long as announced, and means the same."""
    document = data.draw(disguised(invoice()))
    reading = reading_of(document)
    on_the_wire = sent(document)
    assert len(on_the_wire) == reading.wire_size
    assert on_the_wire.startswith(b"<?xml")
    again = reading_of(on_the_wire)
    assert (again.encoding, again.meaning) == ("utf-8", reading.meaning)
    assert sent(on_the_wire) == on_the_wire


def test_wire_unchanged() -> None:
    """A document that is UTF-8 already is sent as it is, to the byte."""
    document = invoice().replace(b"\n", b"\r\n")
    assert sent(document) == document


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_declaration(encoding: str) -> None:
    """The XML declaration on the wire names UTF-8, whatever it named, and stays otherwise as it was."""
    text = f"<?xml version='1.0' encoding='{ENCODINGS[encoding]}' standalone='no' ?><a>encoding='x'</a>"
    expected = text.replace(ENCODINGS[encoding], "UTF-8") if ENCODINGS[encoding].lower() != "utf-8" else text
    assert sent(text.encode(encoding)) == expected.encode()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_long_declaration(encoding: str) -> None:
    """A declaration is read as far in wide characters as in narrow ones: a wrong name in it doesn't go on the wire."""
    text = f"<?xml version='1.0'{' ' * 400} encoding='{'x' * 500}'?><a/>"
    assert sent(text.encode(encoding)) == text.replace("x" * 500, "UTF-8").encode()


def test_encoding_without_declaration() -> None:
    """UTF-16 is known by its byte order mark or its first letters; without either it is UTF-8."""
    assert reading_of("<a>ø</a>".encode("utf-16")).encoding == "utf-16-le"
    assert reading_of("<a>ø</a>".encode("utf-16-be")).encoding == "utf-16-be"
    assert reading_of("<a>ø</a>".encode()).encoding == "utf-8"


def test_dom() -> None:
    """A document that was parsed and written again by somebody else means the same."""
    document = invoice(note="Blåbær\n  & <bær>")
    again = ET.tostring(ET.fromstring(document), encoding="utf-16")  # noqa: S314 - our own document
    assert again != document
    assert reading_of(again).meaning == reading_of(document).meaning


@pytest.mark.parametrize(
    "change",
    [
        (b"1250.00", b"1250.01"),
        (b'currencyID="NOK"', b'currencyID="SEK"'),
        (b"BuyerReference", b"AccountingCost"),
        (b"CommonBasicComponents-2", b"CommonBasicComponents-3"),
        (b"<cbc:Note>Thank you for your order.</cbc:Note>", b""),
    ],
)
def test_another_document(change: tuple[bytes, bytes]) -> None:
    """Another text, attribute, name, namespace or element is another meaning."""
    assert reading_of(invoice()).meaning != reading_of(invoice().replace(*change)).meaning


def test_structure_counts() -> None:
    """Text means something else in another element: the meaning is not that of the letters alone."""
    documents = [
        b"<a><b>1</b><c>2</c></a>",
        b"<a><b>12</b><c/></a>",
        b"<a><b><c>12</c></b></a>",
        b"<a><b>1<c/>2</b></a>",
    ]
    assert len({reading_of(document).meaning for document in documents}) == len(documents)


def test_envelope() -> None:
    """An envelope's ids come first, and it has no part in the meaning, type, number and date."""
    inside = invoice()
    reading = reading_of(envelope(inside, sender="0088:7300010000001", receiver=None))
    assert {name: (found.id, found.source) for name, found in reading.found.items()} == {
        "sender": ("0088:7300010000001", "envelope"),
        "receiver": (BUYER, "document"),
        "document_id": (INVOICE_ID, "envelope"),
        "process_id": ("urn:fdc:peppol.eu:2017:poacc:billing:01:1.0", "envelope"),
    }
    assert reading.meaning == reading_of(inside).meaning
    assert (reading.root_name, reading.number, reading.issue_date) == ("Invoice", "1001", "2026-11-20")


def test_envelope_only() -> None:
    """An envelope's header alone gives its ids; what it lacks is named as missing there."""
    whole = envelope(invoice(), receiver=None).decode()
    start, end = whole.index("<StandardBusinessDocumentHeader"), whole.index("\n<Invoice")
    namespace = ' xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"'
    header = whole[start:end].replace("DocumentHeader>", f"DocumentHeader{namespace}>", 1)
    reading = reading_of(header.encode())
    assert reading.found["sender"] == (SELLER, "envelope", "/StandardBusinessDocumentHeader/Sender/Identifier")
    assert reading.missing["receiver"].place == "/StandardBusinessDocumentHeader/Receiver/Identifier"
    assert reading.root_name == "StandardBusinessDocumentHeader"


@pytest.mark.parametrize(
    "decoy",
    [
        "<ext:UBLExtensions><ext:UBLExtension><x>{other}</x></ext:UBLExtension></ext:UBLExtensions>",
        '<x:CustomizationID xmlns:x="urn:other">urn:other</x:CustomizationID>',
        "<cac:Attachment><cac:AccountingCustomerParty>{other}</cac:AccountingCustomerParty></cac:Attachment>",
        "<cac:SignatoryParty><cbc:EndpointID schemeID='0192'>1</cbc:EndpointID></cac:SignatoryParty>",
    ],
)
def test_decoys(decoy: str) -> None:
    """Ids inside extensions, attachments, signatures or elements of somebody else's are not the document's."""
    other = invoice(number="9", sender="0192:1", receiver="0192:2", customization="x").decode().partition("?>")[2]
    namespace = 'xmlns:ext="urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2" '
    document = (
        invoice().decode().replace("<cbc:CustomizationID>", decoy.format(other=other) + "<cbc:CustomizationID>", 1)
    )
    reading = reading_of(document.replace("<Invoice ", f"<Invoice {namespace}", 1).encode())
    assert reading.found == reading_of(invoice()).found
    assert reading.number == "1001"


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (b"", "The file is empty."),
        (b"invoice 1001", "This is not an XML file."),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "This is a PDF, not an XML file."),
        (b"\n  PK\x03\x04", "This is not an XML file."),
        (b"<invoice 1001", "Line 1, column"),
        (b"<a>\n  <b></a>", "Line 2, column 8"),
        (b"<a>\n", "Line 2, column 1"),
        (b"<a/>\n<a/>", "Line 2, column 1"),
        (b"<a>\n&nbsp;</a>", "Line 2, column 1"),
        (b"<a>\n<x:b/></a>", "Line 2, column 1"),
        (b"<a>\nB\xe5r</a>", "Line 2, column 2"),
        (b'<?xml version="1.0" encoding="windows-1252"?>\n<a>B\x81r</a>', "Line 2, column 5"),
        ('<?xml version="1.0" encoding="UTF-16"?>\n<a>ø</a>'.encode("utf-16")[:-1], "Line 2, column"),
        (b'<?xml version="1.0" encoding="UTF-16"?><a/>', "Line 1, column 31"),
        (b'<?xml version="1.0" encoding="latin-none"?><a/>', "Line 1, column 31"),
        (b'<?xml version="1.0"\n encoding="base64"?><a/>', "Line 2, column 12"),
        (b'<?xml version="1.0" encoding="unicode-escape"?><a/>', "Line 1, column 31"),
        (b'<?xml version="1.0" encoding="undefined"?><a/>', "Line 1, column 31"),
        (b'<?xml version="1.0" encoding="latin 1"?><a/>', "Line 1, column"),
        (b'<?xml version="1.0" encoding=""?><a/>', "Line 1, column"),
        (codecs.BOM_UTF8 + b"<a>\n<b></a>", "Line 2, column 6"),
        ("<a>\n<b></a>".encode("utf-32-be"), "Line 2, column 6"),
        ("<?xml version='1.0' encoding='IBM037'?>\n<a></b>".encode("cp037"), "Line 2, column 6"),
    ],
)
def test_malformed(document: bytes, where: str) -> None:
    """Malformed XML is answered with the line and column of the first fault; an empty file, or another one, as such."""
    fault = fault_of(document)
    assert fault.code == "not-xml"
    assert fault.message.startswith(where)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (
            b'<?xml version="1.0" encoding="UTF-8"?>\n<a>B\xe5r</a>',
            "though the first line says UTF-8; in Windows-1252 it is",
        ),
        (b'<?xml version="1.0"?>\n<a>B\xe5r</a>', "and the first line names no other; in Windows-1252 it is"),
        (codecs.BOM_UTF8 + b"<a\nb='B\xe5r'/>", "though its byte order mark says so; in Windows-1252 it is"),
    ],
)
def test_byte_of_another_encoding(document: bytes, says: str) -> None:
    """A byte that isn't UTF-8 is named, with its place, and with the letter that it is in the likely encoding."""
    for longer in (document, document.replace(b"B", b"B" * (1 << 16))):  # in the second piece
        message = fault_of(longer).message
        assert message.startswith("Line 2, column ")
        assert f'There, the byte 0xE5 is not UTF-8, {says} "å".' in whole(fault_of(longer))


def test_byte_that_an_encoding_lacks() -> None:
    """A byte that doesn't exist in the encoding is said to be that."""
    said = whole(fault_of(b'<?xml version="1.0" encoding="windows-1252"?>\n<a>B\x81r</a>'))
    assert "There, a byte is not in windows-1252, the encoding of the document." in said


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252"])
def test_utf_8_that_says_otherwise(encoding: str) -> None:
    """A document that names a one-byte encoding and is written in UTF-8 is warned of, with what would be sent."""
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<a>{"x" * (1 << 16)} Blåbær ±</a>'
    (warning,) = identify(read(io.BytesIO(text.encode()))).warnings
    assert warning.startswith(f"encoding: the first line says {encoding}, but the document looks like UTF-8")
    assert warning.endswith('"Blåbær" is sent as "BlÃ¥bÃ¦r"')
    assert identify(read(io.BytesIO(text.encode(encoding)))).warnings == ()
    assert identify(read(io.BytesIO(text.replace("å", "").replace("æ", "").replace("±", "").encode()))).warnings == ()


@pytest.mark.parametrize(
    "subset", ["", ' SYSTEM "file:///etc/passwd"', ' [<!ENTITY a "b">]', ' PUBLIC "a" "http://b/"']
)
def test_doctype_refused(subset: str) -> None:
    """A DOCTYPE of any kind is refused, with its line."""
    fault = fault_of(f"<?xml version='1.0'?>\n<!DOCTYPE a{subset}><a/>".encode())
    assert (fault.code, fault.message.partition(":")[0]) == ("doctype", "Line 2")


@pytest.mark.parametrize("standalone", ["", " standalone='yes'"])
@pytest.mark.parametrize("external", ["", ' SYSTEM "file:///etc/passwd"', ' PUBLIC "a" "http://127.0.0.1:9/b"'])
def test_doctype_kept(external: str, standalone: str) -> None:
    """Inbound, a DOCTYPE is kept and its entities stay unresolved: in text, in attributes, internal or external."""
    document = (
        f"<?xml version='1.0'{standalone}?><!DOCTYPE a{external} [\n<!ENTITY in 'secret of ours'>\n"
        f"<!ENTITY out SYSTEM 'file:///etc/passwd'>]>\n<a b='&in;'>&in;&out;</a>"
    ).encode()
    kept = reading_of(document, doctype="keep")
    resolved = reading_of(b"<a b='secret of ours'>secret of ours</a>")
    assert kept.meaning != resolved.meaning
    assert (kept.size, kept.wire_size) == (len(document), len(document))


def test_amplification() -> None:
    """Entities that stand for gigabytes cost nothing, in text or in attributes."""
    bomb = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 1000}">' for n in range(1, 5))
    document = f'<!DOCTYPE a [<!ENTITY l0 "{"lol" * 1000}">{bomb}]><a b="&l4;">&l4;</a>'.encode()
    tracemalloc.start()
    reading_of(document, doctype="keep")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


class Endless(io.RawIOBase):
    """A file that is made up while it is read: so its size is nobody's memory."""

    def __init__(self, head: bytes, middle: bytes, times: int, tail: bytes) -> None:
        self._pieces = (head, *[middle] * times, tail)
        self._next = 0

    def read(self, _size: int = -1) -> bytes:
        self._next += 1
        return self._pieces[self._next - 1] if self._next <= len(self._pieces) else b""


@pytest.mark.parametrize(
    ("middle", "megabytes"),
    quick([(b"QUJD" * 16384, 12), (b"QUJD\r\n" * 10000, 12), (b"&amp;" * 13000, 12), (b"<b c='d'>e</b>" * 4000, 5)]),
    ids=["one text", "lines", "references", "elements"],
)
def test_memory(middle: bytes, megabytes: int) -> None:
    """Memory stays flat while megabytes go by: one text or lines of an attachment, references, many elements."""
    file = Endless(b"<a>", middle, megabytes * 10**6 // len(middle), b"</a>")
    tracemalloc.start()
    read(file)  # type: ignore[arg-type] # it reads like a BinaryIO
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


def test_too_large() -> None:
    """A file over the limit is given up where it passes it, not at its end."""
    file = Endless(b"<a>", b"x" * 65536, 10**6, b"</a>")
    with pytest.raises(DocumentError, match="larger than 1 MB") as caught:
        read(file, max_size=1_000_000)  # type: ignore[arg-type] # it reads like a BinaryIO
    assert caught.value.code == "too-large"
    assert reading_of(b"<a/>", max_size=4).size == 4


@pytest.mark.parametrize("tag", [b"<a b='%s'/>", b"<!--%s--><a/>", b"<?a %s?><a/>"])
def test_endless_tag(tag: bytes) -> None:
    """A tag, comment or instruction of many megabytes is refused before it costs memory or time."""
    assert fault_of(tag % (b"x" * 6_000_000)).code == "unreadable"


def test_depth() -> None:
    """Elements nested without end are refused."""
    assert fault_of(b"<a>" * 100_000).code == "unreadable"
    assert reading_of(b"<a>" * 200 + b"</a>" * 200).root_name == "a"


def test_long_name() -> None:
    """A root element whose name has no end is refused, since names end up in file names and sidecars."""
    assert fault_of(b"<%s/>" % (b"a" * 5000)).code == "unreadable"


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: f"<a>{text}</a>".encode("utf-8", "replace")))
def test_anything(document: bytes) -> None:
    """Whatever the bytes are, the answer is a reading or a DocumentError."""
    for doctype in ("refuse", "keep"):
        with contextlib.suppress(DocumentError):
            reading = reading_of(document, doctype=doctype)
            assert len(b"".join(wire(io.BytesIO(document), reading))) == reading.wire_size
