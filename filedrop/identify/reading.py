"""Reading a document: how it is written, whether it is well-formed, what it means and which ids it states.

The file is read once, in pieces; memory stays flat however large it is. What is parsed (see parsing) is byte for byte
what `wire` sends.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Literal

from filedrop.errors import DocumentError
from filedrop.identify.content import ENVELOPE, SEPARATOR, content
from filedrop.identify.doctype import without_subset
from filedrop.identify.encoding import EncodingCheck, form_of, transcode
from filedrop.identify.parsing import PIECE, Parse, is_web_page
from filedrop.identify.xpath_tree import Outline, Unfit
from filedrop.model.document import without_scheme
from filedrop.texts import Text
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from filedrop.identify.content import Answered, Endpoint, Found, Missing
    from filedrop.identify.encoding import Form

LONGEST_NAME = 200  # letters of a party's name, which a stranger has written
_WRAPPERS = [  # what is no XML is put into (Peppol Business Message Envelope 2)
    ("http://peppol.eu/xsd/ticc/envelope/1.0", name) for name in ("BinaryContent", "TextContent")
]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass found out.

    `sha256` is of the file's bytes, `meaning` of what they say. `wire_size` is the exact length of what `wire` yields.
    Root, number, issue date and type code are the business document's; the root is the envelope's where nothing is in
    that. Each of sender, receiver, document_id and process_id is a key of `found` (the id with its source) or of
    `missing` (the place that was looked at in vain). `xpaths` has what each XPath found, "" for nothing, None where
    that takes too long. `warning` says what is doubtful about the encoding. The names are those of the parties, as the
    document writes them; None where it doesn't. `endpoints` are the ids that the network's rules want in the envelope
    around the document, by role. `answers` is of an Invoice Response.
    """

    size: int
    sha256: str
    meaning: str
    form: Form
    wire_size: int
    root_namespace: str
    root_name: str
    found: Mapping[str, Found]
    missing: Mapping[str, Missing]
    customization: str
    number: str | None
    issue_date: str | None
    type_code: str | None
    xpaths: Mapping[str, str | Unfit | None]
    warning: str = ""
    sender_name: str | None = None
    receiver_name: str | None = None
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    answers: Answered | None = None

    @property
    def encoding(self) -> str:
        """The encoding of the file, by Python's name for it."""
        return self.form.encoding

    def is_another(self, document_id: str) -> bool:
        """Whether this id names the root element of another type of document."""
        if not _names_root(document_id) or (self.root_namespace, self.root_name) in _WRAPPERS:
            return False
        return document_id.partition("##")[0] != f"{self.root_namespace}::{self.root_name}"

    def goes_by(self, document_id: str | None) -> bool:
        """Whether the document has this id's root element, in an envelope or without.

        In an envelope that says the same id, it may also be one that is no XML, wrapped. An id that is missing or names
        no root (`urn:peppol:doctype:...`) tells nothing: then the document must say by itself which it is, as no error
        message of some server does, nor an envelope around one.
        """
        said, listed = self.found.get("document_id"), without_scheme(document_id or "")
        if not _names_root(listed):
            if said is None:
                return False
            listed = said.id
        if listed.partition("##")[0] == f"{self.root_namespace}::{self.root_name}":
            return True
        if said is None or said.source != "envelope" or listed != said.id:
            return False
        if _names_root(listed):
            return (self.root_namespace, self.root_name) in _WRAPPERS
        return self.root_name != ENVELOPE  # there is something in it


def read(
    file: BinaryIO,
    *,
    max_size: int | None = None,
    doctype: Literal["refuse", "keep"] = "refuse",
    xpaths: Collection[str] = (),
) -> Reading:
    """Read a document from where `file` stands to its end. `xpaths` are those of the mapping rules (Rules.xpaths).

    What the access point gives is read with its DOCTYPE kept. A web page is no document, however well-formed: something
    has answered in its place. Raises DocumentError: `not-xml` (with line and column; or a web page came from the access
    point), `doctype` (unless kept), `too-large`, `unreadable` (nested too deeply, a tag too long, or a web page was
    dropped). OSError passes through.
    """
    head = file.read(PIECE)
    form = form_of(head)
    raw = _Raw(chain([head], iter(partial(file.read, PIECE), b"")), max_size)
    check = EncodingCheck(form)
    pieces = transcode(check.watch(raw), form)
    if doctype == "keep":
        pieces = without_subset(pieces)
    outline = Outline() if xpaths else None
    parse = Parse(outline.watch(pieces) if outline else pieces, form, refuse_doctype=doctype == "refuse")
    namespace, _, name = (parse.business_root or parse.root).rpartition(SEPARATOR)
    if is_web_page(parse.business_root or parse.root):
        if doctype == "keep":
            raise DocumentError(Text.of("not-xml/web-page-received"))
        raise DocumentError(Text.of("unreadable/web-page"))
    says = content(parse.business_root, parse.values)
    return Reading(
        size=raw.size,
        sha256=raw.digest.hexdigest(),
        meaning=parse.digest.hexdigest(),
        form=form,
        wire_size=parse.size,
        root_namespace=namespace,
        root_name=name,
        found=says.found,
        missing=says.missing,
        customization=says.customization,
        number=says.number,
        issue_date=says.issue_date,
        warning=check.warning,
        type_code=says.type_code,
        xpaths=outline.find(xpaths) if outline else {},
        sender_name=says.names.get("sender", "")[:LONGEST_NAME] or None,
        receiver_name=says.names.get("receiver", "")[:LONGEST_NAME] or None,
        endpoints=says.endpoints,
        answers=says.answers,
    )


def _names_root(document_id: str) -> bool:
    return "::" in document_id.partition("##")[0]


def wire(file: BinaryIO, reading: Reading) -> Iterator[bytes]:
    """The document as it goes on the wire: UTF-8, `reading.wire_size` bytes. `file` stands where `read` began."""
    return transcode(iter(partial(file.read, PIECE), b""), reading.form)


class _Raw:
    """The pieces of a file as they are read: counted, hashed, and stopped where they are too many."""

    def __init__(self, pieces: Iterable[bytes], max_size: int | None) -> None:
        self._pieces = pieces
        self._max_size = max_size
        self.size = 0
        self.digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.size += len(piece)
            if self._max_size is not None and self.size > self._max_size:
                raise DocumentError(Text.of("too-large", limit=size(self._max_size), bytes=self._max_size))
            self.digest.update(piece)
            yield piece
