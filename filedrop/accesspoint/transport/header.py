"""The login as a header: read with the first request, and again after a refusal."""

from __future__ import annotations

import base64
import threading
from typing import TYPE_CHECKING

from filedrop.errors import ConfigError, Unauthorized

if TYPE_CHECKING:
    from filedrop.config import Account

SHORTEST = 6  # bytes of a password that is concealed; a shorter one occurs in too many words


class Header:
    """A login's Authorization header. Its repr doesn't show it. Thread-safe."""

    def __init__(self, login: Account) -> None:
        self._login = login
        self._header: str | None = None
        self._refused: str | None = None
        self._lock = threading.Lock()

    def value(self) -> str:
        """The header's value. Raises Unauthorized where the password can't be read."""
        with self._lock:
            if self._header is None:
                self._header = self._read()
            return self._header

    def renewed(self, refused: str) -> str | None:
        """The value, read again for a second request; None where it is still the refused one, or can't be read."""
        with self._lock:
            try:
                self._header = self._read()
            except Unauthorized:
                self._header = None
            if self._header == refused:
                self._refused = refused
                return None
            return self._header

    def changed(self) -> bool:
        """Whether there is another password than the refused one; if so, it is used from now on."""
        with self._lock:
            try:
                header = self._read()
            except Unauthorized:
                return False
            if header == self._refused:
                return False
            self._header = header
            return True

    def _read(self) -> str:
        try:
            password = self._login.read_password()
        except ConfigError as error:  # the other accounts go on
            raise Unauthorized(str(error)) from error
        return basic(self._login.username, password)


def conceal(said: bytes, login: str) -> bytes:
    """A server's text without the header's login: some servers repeat the request that they refuse."""
    token = login.removeprefix("Basic ").encode()
    password = base64.b64decode(token).partition(b":")[2]
    for secret in (token, password):
        if len(secret) >= SHORTEST:
            said = said.replace(secret, b"***")
    return said


def basic(username: str, password: str) -> str:
    """The value of a Basic Authorization header, in UTF-8 (RFC 7617, 2.1; requests would take Latin-1)."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
