"""The login as a header: read when it is first needed, and again when it was refused."""

from __future__ import annotations

import base64
import threading
from typing import TYPE_CHECKING

from filedrop.errors import ConfigError, Unauthorized

if TYPE_CHECKING:
    from filedrop.login import Login

SHORTEST = 6  # bytes of a password that is looked for; a shorter one is part of too many words


class Header:
    """A login's Authorization header. Shows nothing of it."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self._header: str | None = None
        self._lock = threading.Lock()

    def value(self) -> str:
        """The header's value. Raises Unauthorized when the password can't be read."""
        with self._lock:
            if self._header is None:
                self._header = self._read()
            return self._header

    def renewed(self, refused: str) -> str | None:
        """Its value, read afresh; None if it is the one that was refused, or can't be read.

        The password may have been changed while we ran: then the request is simply made again.
        """
        with self._lock:
            try:
                self._header = self._read()
            except Unauthorized:
                self._header = None
            return None if self._header == refused else self._header

    def _read(self) -> str:
        try:
            password = self._login.read_password()
        except ConfigError as error:  # it could be read at the start: for whoever asks now, this is a login that fails
            raise Unauthorized(str(error)) from error
        return basic(self._login.username, password)


def conceal(said: bytes, login: str) -> bytes:
    """What a server says of a request that it refuses, without the header's login: some repeat what they were asked."""
    token = login.removeprefix("Basic ").encode()
    password = base64.b64decode(token).partition(b":")[2]
    for secret in (token, password):
        if len(secret) >= SHORTEST:
            said = said.replace(secret, b"***")
    return said


def basic(username: str, password: str) -> str:
    """The value of a Basic Authorization header, in UTF-8 (RFC 7617, 2.1; requests would take Latin-1)."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
