"""An uploaded document on its way to disk: XML or not, a piece at a time, so that its size costs no memory."""

from __future__ import annotations

import codecs
from typing import IO, TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 16


class NotXml(ValueError):
    """The upload can't be parsed as XML."""


def keep(upload: IO[bytes], path: Path) -> None:
    """Writes the upload as it is; its own declaration tells how to read it. Raises `NotXml`."""
    parser = expat.ParserCreate()
    try:
        with path.open("xb") as file:
            for piece in _pieces(upload):
                parser.Parse(piece, False)  # noqa: FBT003 - expat takes no keyword
                file.write(piece)
            parser.Parse(b"", True)  # noqa: FBT003 - expat takes no keyword
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two: an encoding that expat can't take
        path.unlink()
        raise NotXml(str(error)) from error


def rewrite(upload: IO[bytes], path: Path) -> None:
    """Writes what the upload means when it is read as UTF-8, whatever it declares. Raises `NotXml`.

    So does a server that decodes first and parses then (field notes, Upload encoding and Stored document): a byte order
    mark goes, bytes that aren't UTF-8 are lost, and what is written says the same in other bytes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            parser = _rewriter(file)
            for piece in _pieces(upload):
                parser.Parse(decoder.decode(piece), False)  # noqa: FBT003 - expat takes no keyword
            parser.Parse(decoder.decode(b"", final=True), True)  # noqa: FBT003 - expat takes no keyword
    except expat.ExpatError as error:
        path.unlink()
        raise NotXml(str(error)) from error


def _pieces(upload: IO[bytes]) -> Iterator[bytes]:
    while piece := upload.read(_PIECE):
        yield piece


def _rewriter(file: IO[str]) -> expat.XMLParserType:
    """A parser that writes what it reads. Text given to it is UTF-8 for it, over any declaration."""
    file.write('<?xml version="1.0" encoding="UTF-8" standalone="no"?>')

    def start(name: str, attributes: list[str]) -> None:
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        file.write(f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in pairs)}>")

    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.buffer_text = True  # else every line of an attachment is two calls
    parser.buffer_size = _PIECE
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: file.write(f"</{name}>")
    parser.CharacterDataHandler = lambda text: file.write(escape(text, {"\r": "&#13;"}))
    parser.CommentHandler = lambda text: file.write(f"<!--{text}-->")
    parser.ProcessingInstructionHandler = lambda target, text: file.write(f"<?{target} {text}?>")
    return parser
