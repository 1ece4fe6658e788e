"""How a document's bytes become UTF-8, which is what is parsed and what goes on the wire (contract 6).

The encoding is found as XML 1.0 Appendix F says: the byte order mark, else the pattern of the first `<?`, else the XML
declaration, else UTF-8. A byte order mark is dropped; a declaration that names another encoding is rewritten. A byte
that doesn't exist in the encoding becomes U+FFFF, which no XML document may hold: so the parser finds it, and says
where.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MARKS = (  # UTF-32 before UTF-16: the marks of the one begin like those of the other
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ((b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_EBCDIC = b"\x4c\x6f\xa7\x94"  # `<?xm`
_NOT_FOR_FILES = frozenset(
    {"utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined", "mbcs", "oem"}
)
_DECLARED = re.compile(r"""\A(<\?xml\s[^>]*?\bencoding\s*=\s*["'])([A-Za-z][A-Za-z0-9._:-]*)(?=["'])""")
_LIKELY = "cp1252"  # what most programs write that don't write UTF-8
_FOREIGN = re.compile(r"\w{0,20}[^\x00-\x7f]{1,20}\w{0,20}")  # a word with a letter beyond ASCII
_DECLARATION_AT_MOST = 1024  # characters
_WIDEST = 4  # bytes of a character


@dataclass(frozen=True, slots=True)
class Form:
    """How a document is written: its encoding (Python's name), its byte order mark, and what its declaration says."""

    encoding: str
    mark: bytes = b""
    declared: str | None = None

    @property
    def rewritten(self) -> bool:
        """The declaration names another encoding than UTF-8."""
        return self.declared is not None and self.declared.lower() != "utf-8"


def form_of(head: bytes) -> Form:
    """The form of a document that begins with `head`. Raises DocumentError where its encoding can't be known."""
    mark, encoding = next(((mark, encoding) for mark, encoding in _MARKS if head.startswith(mark)), (b"", ""))
    if not encoding:
        encoding = next((encoding for pattern, encoding in _WIDE if head.startswith(pattern)), "")
    look_in = encoding or ("cp037" if head.startswith(_EBCDIC) else "latin-1")
    beginning = head[len(mark) :][: _WIDEST * _DECLARATION_AT_MOST].decode(look_in, errors="replace")
    found = _DECLARED.match(beginning[:_DECLARATION_AT_MOST])
    if found is None:
        return Form(encoding or "utf-8", mark)
    before = found[1]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Form(encoding or _named(found[2], line, column), mark, found[2])


def foreign_byte(rest: bytes, form: Form) -> str:
    """What is wrong where the parser stopped, if a byte isn't of the document's encoding; "" if it is something else.

    `rest` is the document from there on, in UTF-8.
    """
    if rest.startswith("\uffff".encode()):
        return f"a byte is not in {form.declared or form.encoding}, the encoding of the document"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest[:_WIDEST])
    except UnicodeDecodeError as error:
        if error.start == 0:
            if form.declared and not form.rewritten:
                otherwise = f"though the first line says {form.declared}"
            else:
                otherwise = "though its byte order mark says so" if form.mark else "and the first line names no other"
            likely = rest[:1].decode(_LIKELY, "replace")
            guess = "" if likely == "\ufffd" else f'; in Windows-1252 it is "{likely}"'
            return f"the byte 0x{rest[0]:02X} is not UTF-8, {otherwise}{guess}"
    return ""


class EncodingCheck:
    """Whether a document that names an encoding of single bytes is in truth written in UTF-8. Watches its pieces."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._decoder = codecs.getincrementaldecoder("utf-8")() if _has_single_bytes(form.encoding) else None
        self._found = ""

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces."""
        for piece in pieces:
            if self._decoder is not None:
                try:
                    text = self._decoder.decode(piece)
                except UnicodeDecodeError:  # so it isn't
                    self._decoder, self._found = None, ""
                else:
                    found = None if self._found else _FOREIGN.search(text)
                    self._found = found[0] if found else self._found
            yield piece

    @property
    def warning(self) -> str:
        """What is to be said of it; "" where nothing is."""
        if self._decoder is None or not self._found:
            return ""
        sent = self._found.encode().decode(self._form.encoding, "replace")
        return (
            f"encoding: the first line says {self._form.declared}, but the document looks like UTF-8; as it stands, "
            f'"{self._found}" is sent as "{sent}"'
        )


def _has_single_bytes(encoding: str) -> bool:
    return encoding.startswith(("iso8859-", "cp125"))


def transcode(raw: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """The same document in UTF-8. The first piece of `raw` must hold the whole XML declaration."""
    pieces = iter(raw)
    pieces = chain([next(pieces, b"")[len(form.mark) :]], pieces)
    if form.encoding != "utf-8":
        pieces = (text.encode() for text in codecs.iterdecode(pieces, form.encoding, "filedrop.illegal"))
    first = next(pieces, b"")
    yield _redeclared(first) if form.rewritten else first
    yield from pieces


def _named(declared: str, line: int, column: int) -> str:
    try:
        codec = codecs.lookup(declared)
        "".encode(codec.name)  # refuses what is no encoding of text, such as `base64`
    except (LookupError, UnicodeError):  # UnicodeError: of `undefined`, which takes no text at all
        codec = None
    if codec is None or codec.name in _NOT_FOR_FILES:
        raise DocumentError(Text.of("not-xml/unknown-encoding", declared=declared, line=line, column=column))
    if codec.name.startswith(("utf-16", "utf-32")):
        raise DocumentError(Text.of("not-xml/other-encoding", declared=declared, line=line, column=column))
    return codec.name


def _redeclared(head: bytes) -> bytes:
    text, rest = head[:_DECLARATION_AT_MOST].decode("latin-1"), head[_DECLARATION_AT_MOST:]
    return _DECLARED.sub(r"\1UTF-8", text, count=1).encode("latin-1") + rest


def _illegal(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\uffff", error.end


codecs.register_error("filedrop.illegal", _illegal)
