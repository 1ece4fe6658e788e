"""Connections: TLS 1.2 or later with the system's authorities, and time-outs.

Four rules are added to urllib3's connections:
- While we send, the time-out is `read_timeout`, as while we read (tests/findings/urllib3-send.sh).
- An answer's head and body must end in time: a time-out for each read doesn't stop a server that sends single bytes.
- Interim answers are skipped (RFC 9110, 15.2; http.client knows only 100), and a connection with bytes after the end of
  an answer isn't used again.
- A link out of base_url may not lead to a private address; this is checked on the connected socket, not by name.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import ssl
import time
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

import requests
import truststore
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from filedrop.accesspoint.transport.troubles import OutOfTurn, PrivateAddress, TooMuch, TooSlow

if TYPE_CHECKING:
    import socket

    from urllib3 import PoolManager

_PIECE = 64 * 1024  # sendall's time-out is for all its bytes: sending pieces makes it one for silence
_SLOWEST = 10_000  # bytes a second: each byte of the body extends the answer's deadline
_LONGEST_EXTENSION = 3600.0  # seconds by which the deadline is extended at most
_OVERHEAD = 16  # received bytes for each byte of the body; chunks of one byte need six
_ALLOWANCE = 64 * 1024  # bytes that this rule adds to the size of the body
_INTERIM_AT_MOST = 100  # interim answers before the final one


def tls() -> ssl.SSLContext:
    """A TLS context that trusts the operating system's authorities."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Connections(requests.Session):
    """A session of requests that sends what it is given: no redirects, cookies, `.netrc` and environment.

    `proxy_login` is the value of Proxy-Authorization. For one thread; keeps a connection open to each host.
    """

    def __init__(self, context: ssl.SSLContext, *, silence: float, public_only: bool, proxy_login: str | None) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self.mount("https://", adapter := _Adapter(context, proxy_login, silence=silence, public_only=public_only))
        self.mount("http://", adapter)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """No redirect; requests would read its body, however large it is, also where it doesn't follow it."""


class _Adapter(HTTPAdapter):
    """The session's connections, by our TLS context and the rules above."""

    def __init__(self, context: ssl.SSLContext, proxy_login: str | None, **rules: Any) -> None:
        self._context = context
        self._proxy_login = proxy_login
        self._pools = {"http": partial(_Pool, **rules), "https": partial(_SecurePool, **rules)}
        super().__init__(pool_connections=2, pool_maxsize=1)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:  # noqa: ARG002 - requests' signature
        """Require certificates, checked by our context; requests would add its own bundle."""
        conn.cert_reqs = "CERT_REQUIRED"

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """A pool manager with our TLS context and connections."""
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)
        self._use_our_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> PoolManager:
        """The same for a proxy; our TLS context is also used with the proxy itself."""
        if proxy not in self.proxy_manager:
            kwargs |= {"ssl_context": self._context, "proxy_ssl_context": self._context}
            self._use_our_pools(super().proxy_manager_for(proxy, **kwargs))
        manager: PoolManager = self.proxy_manager[proxy]
        return manager

    def proxy_headers(self, proxy: str) -> dict[str, str]:  # noqa: ARG002 - requests' signature; it holds no login here
        """The proxy login; requests would take it from the URL and encode it as Latin-1."""
        return {"Proxy-Authorization": self._proxy_login} if self._proxy_login else {}

    def _use_our_pools(self, manager: PoolManager) -> None:
        manager.pool_classes_by_scheme = self._pools  # type: ignore[assignment] # called like the classes they stand for


class _LimitedStream(io.RawIOBase):
    """The bytes of one answer, with a deadline and a limit on overhead."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout() or 0.0
        self._until = time.monotonic() + 2 * self._silence
        self._latest = self._until + _LONGEST_EXTENSION
        self.in_body = False
        self.at_end = False
        self.came = self.given = 0  # bytes: received since the body began, and returned as the body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.at_end:
            return 0
        left = self._until - time.monotonic()
        if left <= 0:
            raise TooSlow
        _limit(self._sock, min(self._silence, left))
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError as error:
            if left < self._silence:
                raise TooSlow from error
            raise
        if not self.in_body and count == 0:  # http.client would take a truncated head for a whole one
            raise ConnectionResetError
        if self.in_body and count:
            self.came += count
            if self.came > _OVERHEAD * (self.given + _ALLOWANCE):
                raise TooMuch
            longest = time.monotonic() + 2 * self._silence  # what came fast earns no hours of single bytes
            self._until = min(self._until + count / _SLOWEST, longest, self._latest)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    """An answer that is read with these limits. `said_more`: there were bytes after its end."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._stream = _LimitedStream(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._stream)
        self.said_more = False

    def begin(self) -> None:
        super().begin()
        self._stream.in_body = True

    def read(self, amt: int | None = None) -> bytes:
        data = super().read(amt)
        self._stream.given += len(data)
        return data

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(_INTERIM_AT_MOST):
            said: tuple[str, int, str] = super()._read_status()  # type: ignore[misc] # http.client's own
            status = said[1]
            if status >= http.HTTPStatus.OK:
                return said
            headers = http.client.parse_headers(self.fp)
            # After either, it is uncertain where the next answer begins, or in which protocol.
            if status == http.HTTPStatus.SWITCHING_PROTOCOLS or _promises_a_body(headers):
                raise OutOfTurn
        raise TooMuch

    def _close_conn(self) -> None:
        self._stream.at_end = True
        self.said_more = bool(self.fp.peek())
        super()._close_conn()  # type: ignore[misc] # http.client's own, called at the answer's end


def _promises_a_body(headers: http.client.HTTPMessage) -> bool:
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "0").strip() != "0"


class _Connection(HTTPConnection):
    def __init__(self, *args: Any, silence: float, public_only: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silence = silence
        self._public_only = public_only
        self._holds_head = False
        self._head = b""
        self._latest: _Answer | None = None

    def response_class(self, *args: Any, **kwargs: Any) -> _Answer:  # type: ignore[override] # called like a class
        """The next answer; called as http.client calls its class."""
        self._latest = _Answer(*args, **kwargs)
        return self._latest

    @property
    def is_connected(self) -> bool:
        """Whether this connection may be used for another request."""
        return super().is_connected and not (self._latest and self._latest.said_more)

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        if self._public_only and not is_public(sock.getpeername()[0]):
            sock.close()
            raise PrivateAddress
        return sock

    def request(self, method: str, url: str, body: Any = None, *args: Any, **kwargs: Any) -> None:
        self._holds_head, self._head = body is not None, b""
        super().request(method, url, body, *args, **kwargs)

    def send(self, data: Any) -> None:
        if self._holds_head:  # one send with the body's first bytes: the server wakes up once
            self._holds_head = False
            if self.sock is None:  # before the body's first byte is requested: see was_asked_for
                self.connect()
            self._head = data
            return
        data, self._head = self._head + data, b""
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if self.sock is not None:
                _limit(self.sock, self._silence)
            super().send(view[start : start + _PIECE])


class _SecureConnection(_Connection, HTTPSConnection):
    pass


def _limit(sock: socket.socket, silence: float) -> None:
    if sock.gettimeout() != silence:  # setting it is a system call
        sock.settimeout(silence)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def is_public(address: str) -> bool:
    """Whether an IP address, as a socket returns it, is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return (getattr(ip, "ipv4_mapped", None) or ip).is_global
