"""Sheets and pages of strangers' documents, and the XML inside PDFs: by a child process with limits (programs)."""

from __future__ import annotations

from base64 import b64decode
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from filedrop.programs.children import Child, Ended, Late
from filedrop.readable.html import LARGEST
from filedrop.readable.sheets import Sheet, sheet_of
from filedrop.readable.tree import NotReadable
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SECONDS = 30.0  # for one document; the largest ones take two
MEMORY = 300_000_000  # bytes; the largest ones take 80 MB
PIECE = 1_000_000  # bytes that are handed over together


class Renderer:
    """Shows documents, and finds the XML inside PDFs. Thread-safe: one document at a time."""

    def __init__(self) -> None:
        self._child = Child("filedrop.readable.child", memory=MEMORY, largest=2 * LARGEST)

    def sheet(self, document: Iterable[bytes], language: str) -> Sheet:
        """What a document says. Raises NotReadable, NoAnswer, and what `document` raises."""
        return sheet_of(self._ask({"wanted": "sheet", "language": language}, document)["sheet"])

    def page(
        self,
        document: Iterable[bytes],
        file: str,
        language: str,
        beside: Mapping[int, str],
        notices: Sequence[str] = (),
    ) -> bytes:
        """A document as a page, in UTF-8; what comes behind `document` and `language` is as `html.page` has it.

        Raises NotReadable, NoAnswer, and what `document` raises.
        """
        about = {
            "wanted": "page",
            "language": language,
            "file": file,
            "beside": list(beside.items()),
            "notices": list(notices),
        }
        page: str = self._ask(about, document)["page"]
        return page.encode()

    def xml_in(self, pdf: Iterable[bytes]) -> tuple[str, bytes]:
        """The name and the content of the file with an invoice's XML that a PDF contains.

        Raises NotReadable, NoAnswer, and what `pdf` raises.
        """
        found = self._ask({"wanted": "xml"}, pdf, "can't be searched for its XML")
        return found["name"], b64decode(found["xml"])

    def end_if_idle(self) -> None:
        """End the process if it has not been asked for a while. Called now and then."""
        self._child.end_if_idle()

    def close(self) -> None:
        """End the process, whatever it does."""
        self._child.close()

    def _ask(
        self, question: dict[str, Any], document: Iterable[bytes], failed: str = "can't be shown"
    ) -> dict[str, Any]:
        try:
            answer = self._child.ask(question, document, seconds=SECONDS)
        except Late as error:
            raise NotReadable(f"{failed}: it {error}") from None
        except Ended as error:
            why = f"the process that reads it {error}; it may have needed more than {size(MEMORY)} of memory"
            raise NotReadable(f"{failed}: {why}") from None
        if trouble := answer.get("trouble"):
            raise NotReadable(str(trouble))
        return answer


def pieces(file: BinaryIO) -> Iterable[bytes]:
    """The rest of a file, in pieces."""
    return iter(partial(file.read, PIECE), b"")
