"""Reading a document: how it is written, whether it is well-formed, what it means and which ids it states.

The file is read once, in pieces; memory stays flat however large it is. What is parsed (see parsing) is byte for byte
what `wire` sends.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Literal

from filedrop.errors import DocumentError
from filedrop.identify.content import SEPARATOR, content
from filedrop.identify.doctype import without_subset
from filedrop.identify.encoding import form_of, transcode
from filedrop.identify.outline import Outline
from filedrop.identify.parsing import PIECE, Parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from filedrop.identify.content import Found, Missing
    from filedrop.identify.encoding import Form


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass found out.

    `sha256` is of the file's bytes, `meaning` of what they say. `wire_size` is the exact length of what `wire` yields.
    Root, type, number and issue date are the business document's, not the envelope's; type is None where there is
    nothing but an envelope's header. Each of sender, receiver, document_id and process_id is a key of `found` (the id
    with its source) or of `missing` (the place that was looked at in vain). `xpaths` has what each XPath found, "" for
    nothing.
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
    type: str | None
    customization: str
    number: str | None
    issue_date: str | None
    xpaths: Mapping[str, str]

    @property
    def encoding(self) -> str:
        """The encoding of the file, by Python's name for it."""
        return self.form.encoding


def read(
    file: BinaryIO,
    *,
    max_size: int | None = None,
    doctype: Literal["refuse", "keep"] = "refuse",
    xpaths: Collection[str] = (),
) -> Reading:
    """Read a document from where `file` stands to its end. `xpaths` are those of the mapping rules (Rules.xpaths).

    What the access point gives is read with its DOCTYPE kept; and there a web page is no document, however well-formed:
    something on the way has answered instead. Raises DocumentError: `not-xml` (with line and column), `doctype` (unless
    kept), `too-large`, `unreadable` (nested too deeply, or a tag too long). OSError passes through.
    """
    head = file.read(PIECE)
    form = form_of(head)
    raw = _Raw(chain([head], iter(partial(file.read, PIECE), b"")), max_size)
    pieces = transcode(raw, form)
    if doctype == "keep":
        pieces = without_subset(pieces)
    outline = Outline() if xpaths else None
    parse = Parse(outline.watch(pieces) if outline else pieces, refuse_doctype=doctype == "refuse")
    namespace, _, name = (parse.business_root or parse.root).rpartition(SEPARATOR)
    if doctype == "keep" and name.lower() == "html":
        raise DocumentError(
            "not-xml",
            "It is a web page, not a business document.",
            "See what stands between here and the access point, and answers in its place.",
        )
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
        type=says.type,
        customization=says.customization,
        number=says.number,
        issue_date=says.issue_date,
        xpaths=outline.find(xpaths) if outline else {},
    )


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
                raise DocumentError(
                    "too-large",
                    f"The file is larger than {self._max_size} bytes.",
                    "Send less in one document, or raise max_size in the configuration.",
                )
            self.digest.update(piece)
            yield piece
