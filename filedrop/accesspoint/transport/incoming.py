"""An answer as it comes in: its body is cut where it grows too large, and nothing its head says of it is believed."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import TYPE_CHECKING

from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from filedrop.accesspoint.transport.header import conceal
from filedrop.accesspoint.transport.troubles import why
from filedrop.accesspoint.verdict import Answer
from filedrop.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import requests

LARGEST = 8 * 1024 * 1024  # bytes of an answer that is no document; a page of 25 messages has about 50 KB
_BLOCK = 64 * 1024
_GZIP = b"\x1f\x8b"


class Incoming:
    """An answer whose head is here, and whose body is still to be read. `login` is the header that was sent for it."""

    def __init__(self, url: str, response: requests.Response, *, login: str = "") -> None:
        self.url = url
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._raw = response.raw
        self._login = login

    def chunks(self) -> Iterator[bytes]:
        """The body, piece by piece and unpacked; checked against Content-Length. Raises Unavailable when it is cut.

        Content-Encoding is not asked: real servers say `UTF-8` there (field notes). gzip is known by how it begins.
        """
        unpack = None
        try:
            block = self._raw.read(_BLOCK, decode_content=False)
            if block.startswith(_GZIP):
                unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while block:
                if unpack is None:
                    yield block
                    block = b""
                else:
                    yield unpack.decompress(block, _BLOCK)
                    block = unpack.unconsumed_tail
                block = block or self._raw.read(_BLOCK, decode_content=False)
        except HTTPError as error:
            raise Unavailable(f"the answer of {self.url} was cut off: {why(error)}") from error
        except zlib.error as error:
            raise Unavailable(f"the answer of {self.url} is damaged: its gzip can't be unpacked") from error
        if unpack is not None:
            yield unpack.flush()
            if not unpack.eof:
                raise Unavailable(f"the answer of {self.url} was cut off: the end of its gzip is missing")

    def read(self) -> Answer:
        """The whole answer; what is wrong with its body is said in `flaw`, since the status may be enough."""
        body = bytearray()
        flaw = ""
        try:
            for chunk in self.chunks():
                body += chunk
                if len(body) > LARGEST:
                    flaw = f"the answer of {self.url} is larger than {LARGEST >> 20} MB; tell its operator"
                    break
        except Unavailable as error:
            flaw = str(error)
        if self.status < HTTPStatus.MULTIPLE_CHOICES:
            return Answer(self.url, self.status, self.headers, bytes(body), flaw)
        headers = {
            name: conceal(said.encode("latin-1"), self._login).decode("latin-1") for name, said in self.headers.items()
        }
        return Answer(self.url, self.status, CaseInsensitiveDict(headers), conceal(bytes(body), self._login), flaw)
