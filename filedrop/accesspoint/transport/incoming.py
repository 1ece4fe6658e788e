"""An answer whose body is still to be read. The body's size is limited, and the head isn't trusted for its encoding."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import TYPE_CHECKING

from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from filedrop.accesspoint.transport.header import conceal
from filedrop.accesspoint.transport.troubles import why
from filedrop.accesspoint.verdict import Answer
from filedrop.errors import NoClearAnswer, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from requests import Response

LARGEST = 8 * 1024 * 1024  # bytes of an answer, except documents; a page of 25 messages has about 50 KB
_BLOCK = 64 * 1024
_GZIP = b"\x1f\x8b"


class Incoming:
    """An answer whose head has been read. `login` is the Authorization header of its request, from `login_keys`."""

    def __init__(self, url: str, response: Response, *, login: str = "", login_keys: str = "") -> None:
        self.url = url
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._raw = response.raw
        self._login = login
        self._login_keys = login_keys

    def chunks(self, at_most: int) -> Iterator[bytes]:
        """The body in unpacked pieces, checked against Content-Length. Raises Unavailable where it is cut or damaged.

        Raises NoClearAnswer beyond `at_most` bytes, packed or unpacked. gzip is recognized by its first bytes, because
        real servers send `UTF-8` in Content-Encoding (field notes).
        """
        came = given = 0
        unpack = None
        try:
            while block := self._raw.read(_BLOCK, decode_content=False):
                if not came and block.startswith(_GZIP):
                    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
                came += len(block)
                while block:
                    piece = unpack.decompress(block, _BLOCK) if unpack else block
                    block = unpack.unconsumed_tail if unpack else b""
                    given += len(piece)
                    if max(came, given) > at_most:
                        raise NoClearAnswer(f"what {self.url} has is larger than the {at_most} bytes allowed for it")
                    yield piece
                if unpack and unpack.unused_data:
                    raise Unavailable(f"the answer of {self.url} is damaged: its gzip is followed by something else")
        except (HTTPError, ValueError) as error:  # ValueError: a chunk of less than nothing
            raise Unavailable(f"the answer of {self.url} was cut off: {why(error)}") from error
        except zlib.error as error:
            raise Unavailable(f"the answer of {self.url} is damaged: its gzip can't be unpacked") from error
        if unpack is not None:
            yield unpack.flush()
            if not unpack.eof:
                raise Unavailable(f"the answer of {self.url} was cut off: the end of its gzip is missing")

    def read(self) -> Answer:
        """The whole answer; an incomplete body sets `flaw` and doesn't raise, since the status may be enough."""
        body = bytearray()
        flaw = ""
        try:
            for chunk in self.chunks(LARGEST):
                body += chunk
        except NoClearAnswer:
            flaw = f"the answer of {self.url} is larger than {LARGEST >> 20} MB; tell its operator"
        except Unavailable as error:
            flaw = str(error)
        if self.status < HTTPStatus.MULTIPLE_CHOICES:
            return Answer(self.url, self.status, self.headers, bytes(body), flaw)
        headers = {
            name: conceal(said.encode("latin-1"), self._login).decode("latin-1") for name, said in self.headers.items()
        }
        said = conceal(bytes(body), self._login)
        return Answer(self.url, self.status, CaseInsensitiveDict(headers), said, flaw, self._login_keys)
