"""Connections: TLS 1.2 or later with the system's authorities, and how long the other side may be silent.

Three rules are added to urllib3's own connections. While it takes our bytes the other side may be as silent as while it
gives its own; urllib3 would only wait `connect_timeout`. An answer's head and body must come to an end: a time-out for
each read can't see a byte every now and then. And a link out of base_url may not lead to a private address; this is
judged by where the connection really went, since a name can be resolved differently each time.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import ssl
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import truststore
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from filedrop.accesspoint.transport.troubles import PrivateAddress, TooSlow

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from urllib3 import PoolManager

_PIECE = 64 * 1024  # sendall's time-out is for all it is given: pieces make it a limit on silence
_SLOWEST = 10_000  # bytes a second: an answer's time grows with what has come of it
_LONGEST = 3600.0  # seconds, but by no more than this


def tls(ca_file: Path | None) -> ssl.SSLContext:
    """What may be spoken, and whom we trust: the system's authorities, and `ca_file`'s.

    Raises OSError when `ca_file` can't be read or holds no certificates.
    """
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Connections(HTTPAdapter):
    """requests' way to send, without its session: no redirects, cookies, `.netrc` or environment to be switched off.

    `proxy_login` is the value of Proxy-Authorization. For one thread; keeps a connection open to each host.
    """

    def __init__(self, context: ssl.SSLContext, *, silence: float, public_only: bool, proxy_login: str | None) -> None:
        self._context = context
        self._proxy_login = proxy_login
        rules: dict[str, Any] = {"silence": silence, "public_only": public_only}
        self._pools = {"http": partial(_Pool, **rules), "https": partial(_SecurePool, **rules)}
        super().__init__(pool_connections=2, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Ours: our TLS and our connections."""
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)
        self._furnish(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> PoolManager:
        """Likewise behind a proxy; one that is spoken to through TLS is held to the same rules."""
        if proxy not in self.proxy_manager:
            kwargs |= {"ssl_context": self._context, "proxy_ssl_context": self._context}
            self._furnish(super().proxy_manager_for(proxy, **kwargs))
        manager: PoolManager = self.proxy_manager[proxy]
        return manager

    def proxy_headers(self, proxy: str) -> dict[str, str]:  # noqa: ARG002 - requests' signature; it holds no login here
        """The login, which requests would take from the address and encode as Latin-1."""
        return {"Proxy-Authorization": self._proxy_login} if self._proxy_login else {}

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:  # noqa: ARG002 - requests' signature
        """Certificates are always checked, against our context; requests would add its own bundle."""
        conn.cert_reqs = "CERT_REQUIRED"

    def _furnish(self, manager: PoolManager) -> None:
        manager.pool_classes_by_scheme = self._pools  # type: ignore[assignment] # called like the classes they stand for


class _Patience(io.RawIOBase):
    """The bytes of one answer, for as long as anybody can be expected to wait for them."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout() or 0.0
        self._until = time.monotonic() + 2 * self._silence
        self._latest = self._until + _LONGEST
        self.in_body = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
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
        if not self.in_body and count == 0:  # http.client would take a head that was cut off for a whole one
            raise ConnectionResetError
        if self.in_body and count:
            self._until = min(self._until + count / _SLOWEST, self._latest)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    """An answer that is read with patience, and no more than that."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._patience = _Patience(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._patience)

    def begin(self) -> None:
        super().begin()
        self._patience.in_body = True


class _Connection(HTTPConnection):
    response_class = _Answer

    def __init__(self, *args: Any, silence: float, public_only: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silence = silence
        self._public_only = public_only
        self._holds_head = False
        self._head = b""

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
        if self._holds_head:  # it leaves together with the body's first bytes: the other side is woken once
            self._holds_head = False
            if self.sock is None:  # before the body is asked for: until then nothing can have arrived
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
    if sock.gettimeout() != silence:  # to set it is a system call
        sock.settimeout(silence)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def is_public(address: str) -> bool:
    """Whether an IP address, as a socket gives it, is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return (getattr(ip, "ipv4_mapped", None) or ip).is_global
