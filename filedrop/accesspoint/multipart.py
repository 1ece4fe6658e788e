"""The body of `POST /outbox`: form fields and the document, streamed, with its exact length known beforehand.

The last bytes are held back until the document has been read to its end, has its promised size and is unchanged. So a
request that was broken off can't have been accepted: its body was incomplete.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol

from filedrop.errors import DocumentError, FiledropError
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.model.document import Ids


class BrokenOff(FiledropError):
    """The document changed, or could no longer be read: the request was broken off before its last bytes."""


class Source(Protocol):
    """A document to be sent, in UTF-8. Opened and closed by the caller."""

    @property
    def size(self) -> int:
        """Its exact number of bytes."""

    def chunks(self) -> Iterator[bytes]:
        """Its bytes, from the beginning at each call."""

    def unchanged(self) -> bool:
        """Whether it is unchanged. Called just before the last bytes leave."""


class Multipart:
    """`multipart/form-data` for one document; can be iterated again. Raises DocumentError for an impossible id."""

    def __init__(self, ids: Ids, document: Source) -> None:
        boundary = secrets.token_hex(16)  # random, so that no id or document can contain it
        fields = (
            ("SenderID", ids.sender, "bad-participant"),
            ("RecipientID", ids.receiver, "bad-participant"),
            ("ChannelID", ids.channel, "rejected"),
            ("DocumentID", ids.document_id, "no-document-id"),
            ("ProcessID", ids.process_id, "no-process-id"),
        )
        parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n' for name, _, _ in fields]
        head = "".join(f"{part}{_checked(*field)}\r\n" for part, field in zip(parts, fields, strict=True))
        head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="document.xml"\r\n'
        head += "Content-Type: application/xml\r\n\r\n"
        self._head = head.encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._document = document
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self.was_asked_for = False
        """Whether the first byte was requested since this was set to False. If not, nothing can have arrived."""

    def __len__(self) -> int:
        return len(self._head) + self._document.size + len(self._tail)

    def __iter__(self) -> Iterator[bytes]:
        """The body. Raises BrokenOff instead of the last bytes."""
        self.was_asked_for = True
        held, missing = self._head, self._document.size
        try:
            for chunk in self._document.chunks():
                missing -= len(chunk)
                if missing < 0:  # surplus bytes would count as the last bytes of the body
                    break
                if held is self._head:  # one send for a small document
                    held += chunk
                else:
                    yield held
                    held = chunk
            whole = missing == 0 and self._document.unchanged()
        except OSError as error:
            raise BrokenOff("the document could not be read to its end; the request was broken off") from error
        if not whole:
            raise BrokenOff("the document changed while it was being sent; the request was broken off")
        yield held + self._tail


def _checked(name: str, value: str, code: str) -> str:
    if not value.isprintable():
        raise DocumentError(Text.of(f"{code}/unprintable", field=name))
    return value
