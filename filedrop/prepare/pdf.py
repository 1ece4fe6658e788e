"""A PDF is put into an invoice or a credit note, in UBL or CII, as an attachment.

UBL has it in AdditionalDocumentReference, without a DocumentTypeCode (130 means an invoiced object). CII has it in
AdditionalReferencedDocument with the TypeCode 916 (a related document). Base64 is made while it is written: memory
stays flat however large the PDF is.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from filedrop.errors import DocumentError
from filedrop.identify import Begun, embedded_in
from filedrop.identify.content import SEPARATOR
from filedrop.prepare.edits import Edit
from filedrop.prepare.scan import CAC, CBC, UBL, Names, Scan
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from filedrop.identify import Reading
    from filedrop.model.prepared import PdfFile

    Pieces = Callable[[], Iterable[bytes]]

_UN = "urn:un:unece:uncefact:data:standard:"
_CII = f"{_UN}CrossIndustryInvoice:100"
_RAM = f"{_UN}ReusableAggregateBusinessInformationEntity:100"
_SUPPLIER = {f"{CAC}{SEPARATOR}{name}" for name in ("Signature", "AccountingSupplierParty")}
_AGREEMENT = (f"{_CII}{SEPARATOR}SupplyChainTradeTransaction", f"{_RAM}{SEPARATOR}ApplicableHeaderTradeAgreement")
_FOLLOWING = {  # what the XSD has behind the attachments, by the root: the first of these that is there
    f"{UBL}Invoice-2{SEPARATOR}Invoice": _SUPPLIER | {f"{CAC}{SEPARATOR}ProjectReference"},
    f"{UBL}CreditNote-2{SEPARATOR}CreditNote": _SUPPLIER
    | {f"{CAC}{SEPARATOR}{name}" for name in ("StatementDocumentReference", "OriginatorDocumentReference")},
    f"{_CII}{SEPARATOR}CrossIndustryInvoice": {
        f"{_RAM}{SEPARATOR}{name}"
        for name in (
            "RequisitionerReferencedDocument", "BuyerAgentTradeParty", "PurchaseConditionsReferencedDocument",
            "SpecifiedProcuringProject", "UltimateCustomerOrderReferencedDocument",
        )
    },
}  # fmt: skip
_WITHOUT_ATTACHMENTS = (  # the profiles of Factur-X that have no place for one, by the end of their ids
    "urn:factur-x.eu:1p0:minimum",
    "urn:factur-x.eu:1p0:basicwl",
    "urn:factur-x.eu:1p0:basic",
)
_NO_TEXT = re.compile(r"[\x00-\x1f\ufffe\uffff]")  # letters of a file's name that XML has not


def may_have_attachments(reading: Reading) -> bool:
    """Whether filedrop knows the attachments of such a document: an invoice or a credit note in UBL or CII."""
    return _root(reading) in _FOLLOWING


def pdf_edits(pieces: Pieces, reading: Reading, pdf: PdfFile, pdf_pieces: Pieces, *, company: str) -> list[Edit]:
    """The edit that puts a PDF into a document, which is given as it goes on the wire; none where it is in it.

    `pieces` and `pdf_pieces` give the bytes of both, each time from the beginning. `company` is whose document it is.
    Raises DocumentError (`not-prepared`) where it can't be put there.
    """
    facts = {"pdf": pdf.name, "company": company, "type": reading.root_name, "profile": reading.customization}
    if not may_have_attachments(reading):
        raise DocumentError(Text.of("not-prepared/pdf-type", **facts))
    if any(reading.customization.lower().endswith(profile) for profile in _WITHOUT_ATTACHMENTS):
        raise DocumentError(Text.of("not-prepared/pdf-profile", **facts))
    name = as_text(pdf.name)
    attached = attachments(pieces())
    if any(sha256 == pdf.sha256 for _, sha256 in attached):
        return []
    if any(other.lower() == name.lower() for other, _ in attached):
        raise DocumentError(Text.of("not-prepared/pdf-name", **facts))
    scan = _Place(_root(reading))
    scan.parse(pieces())
    if scan.refused:
        raise DocumentError(Text.of(f"not-prepared/pdf-{scan.refused}", **facts))
    if scan.start < 0:
        raise DocumentError(Text.of("not-prepared/pdf-profile", **facts))
    is_ubl = reading.root_namespace.startswith(UBL)
    return [Edit(scan.start, scan.start, _Attachment(pdf.name, pdf_pieces, scan.names, is_ubl=is_ubl))]


def attachments(pieces: Iterable[bytes]) -> list[tuple[str, str]]:
    """The file name and the SHA-256 of each attachment of a document, which is given as it goes on the wire.

    The SHA-256 of an attachment that is empty, or can't be decoded, is "".
    """
    found, digest, name = list[tuple[str, str]](), hashlib.sha256(), ""
    for event in embedded_in(pieces):
        if isinstance(event, Begun):
            name, digest = event.name or "", hashlib.sha256()
        elif isinstance(event, bytes):
            digest.update(event)
        else:
            found.append((name, "" if event.fault else digest.hexdigest()))
    return found


def as_text(name: str) -> str:
    """A file's name as XML can have it."""
    return _NO_TEXT.sub("_", name.encode("utf-8", "replace").decode())


def _root(reading: Reading) -> str:
    return f"{reading.root_namespace}{SEPARATOR}{reading.root_name}"


class _Place(Scan):
    """A parse for the place of an attachment: its `start` in bytes, -1 where there is none, and its `names`."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.start = -1
        self.names = Names({})
        self._following = _FOLLOWING[root]
        self._way = (root, *(_AGREEMENT if root.startswith(_CII) else ()))  # to the element around it
        self._reached = 0  # how many of these are open

    def begin(self, name: str) -> None:
        """An element begins."""
        if self.start >= 0 or self.depth != self._reached + 1:
            return
        if self._reached == len(self._way):
            if name in self._following:
                self.start = self.offset
        elif name == self._way[self._reached] and not self.is_empty:
            self._reached += 1
            if self._reached == len(self._way):
                self.names = Names(self.scope)

    def end(self, _name: str) -> None:
        """An element ends."""
        if self.depth == self._reached:
            if self.start < 0 and self._reached == len(self._way):
                self.start = self.offset
            self._reached -= 1


class _Attachment:
    """An attachment in pieces, whose base64 is made while it is read."""

    def __init__(self, name: str, pieces: Pieces, names: Names, *, is_ubl: bool) -> None:
        begin, end = (_in_ubl if is_ubl else _in_cii)(as_text(name), names)
        self._pieces, self._begin, self._end = pieces, begin.encode(), end.encode()

    def __iter__(self) -> Iterator[bytes]:
        yield self._begin
        rest = b""
        for piece in self._pieces():
            letters = rest + piece if rest else piece
            whole = len(letters) // 3 * 3
            rest = letters[whole:]
            yield binascii.b2a_base64(memoryview(letters)[:whole], newline=False)
        yield binascii.b2a_base64(rest, newline=False)
        yield self._end


def _in_ubl(file: str, names: Names) -> tuple[str, str]:
    """What is before the base64, and behind it."""
    reference, attachment = names.name(CAC, "AdditionalDocumentReference"), names.name(CAC, "Attachment")
    id_, binary = names.name(CBC, "ID"), names.name(CBC, "EmbeddedDocumentBinaryObject")
    begin = f"<{reference}{names.declared}><{id_}>{escape(file)}</{id_}><{attachment}><{binary}{_stated(file)}>"
    return begin, f"</{binary}></{attachment}></{reference}>"


def _in_cii(file: str, names: Names) -> tuple[str, str]:
    """The same in CII."""
    reference, code = names.name(_RAM, "AdditionalReferencedDocument"), names.name(_RAM, "TypeCode")
    id_, binary = names.name(_RAM, "IssuerAssignedID"), names.name(_RAM, "AttachmentBinaryObject")
    begin = f"<{reference}{names.declared}><{id_}>{escape(file)}</{id_}><{code}>916</{code}><{binary}{_stated(file)}>"
    return begin, f"</{binary}></{reference}>"


def _stated(file: str) -> str:
    return f' mimeCode="application/pdf" filename={quoteattr(file)}'
