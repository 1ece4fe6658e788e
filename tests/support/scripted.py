"""A server that answers what a test scripts, byte by byte if need be, and remembers what it was asked.

A script is a function of an `Exchange`: it is called when a request's head has come in, and says by what it returns
whether the connection is kept. `on` gives the scripts for a method and path, one a request; the last is repeated.
"""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from support.listener import Listener, reset_at_end

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

Script = Callable[["Exchange"], bool]


@dataclass
class Request:
    """What came in. `connection` counts the connections that were accepted, from 1."""

    method: str
    target: str
    headers: dict[str, str]
    connection: int
    body: bytes = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path


class Exchange:
    """One request and the socket that it came by."""

    def __init__(self, server: Scripted, sock: socket.socket, request: Request, ahead: bytes) -> None:
        self.server = server
        self.sock = sock
        self.request = request
        self._ahead = ahead

    def take_body(self) -> bytes:
        """Read the request's body as far as it comes."""
        left = int(self.request.headers.get("content-length", 0)) - len(self.request.body)
        while left > 0:
            chunk = self._ahead or self.sock.recv(min(left, 1 << 16))
            if not chunk:
                break
            self._ahead = b""
            self.request.body += chunk
            left -= len(chunk)
        return self.request.body


class Scripted(Listener):
    """The server. `tls` makes it speak TLS; `host` is a loopback address or name."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        super().__init__(tls)
        self.url = f"{'https' if tls else 'http'}://{host}:{self.port}"
        self.requests: list[Request] = []
        self._scripts: dict[tuple[str, str], list[Script]] = {}

    def on(self, method: str, path: str, *scripts: Script) -> None:
        """Answer the next requests for this with these scripts, and all further ones with the last."""
        self._scripts[method, path] = list(scripts)

    def asked(self, method: str = "", path: str = "") -> list[Request]:
        """The requests that came in so far, or those for a method and path."""
        return [one for one in self.requests if method in ("", one.method) and path in ("", one.path)]

    def serve(self, sock: socket.socket, number: int) -> None:
        while self._answer(sock, number):
            pass

    def _answer(self, sock: socket.socket, number: int) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = sock.recv(1 << 16)
            if not chunk:
                return False
            head += chunk
        head, _, ahead = head.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        request = Request(method, target, headers, number)
        with self._lock:
            self.requests.append(request)
            scripts = self._scripts.get((method, request.path), [reply(404)])
            script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        return script(Exchange(self, sock, request, ahead))


def answer(status: int, body: bytes | str = b"", headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """An HTTP answer as bytes; Content-Length is added unless a header has it."""
    body = body.encode() if isinstance(body, str) else body
    headers = list(headers)
    if not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in headers):
        headers.append(("Content-Length", str(len(body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode("latin-1") + body


def reply(status: int, body: bytes | str = b"", *headers: tuple[str, str]) -> Script:
    """Take the request and answer it."""

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        exchange.sock.sendall(answer(status, body, headers))
        return True

    return script


def bomb(character: bytes, *headers: tuple[str, str]) -> Script:
    """Take the request and answer it with fifty million times this character, packed only then."""

    def script(exchange: Exchange) -> bool:
        return reply(200, gzip.compress(character * 50_000_000), *headers)(exchange)

    return script


def cut(data: bytes = b"") -> Script:
    """Take the request, send `data` and close the connection."""

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        exchange.sock.sendall(data)
        return False

    return script


def reset(exchange: Exchange) -> bool:
    """Take the request and break the connection."""
    exchange.take_body()
    reset_at_end(exchange.sock)
    return False


def early(status: int, body: str) -> Script:
    """Answer as soon as the head is there, and close without having read the body."""

    def script(exchange: Exchange) -> bool:
        exchange.sock.sendall(answer(status, body))
        exchange.sock.shutdown(socket.SHUT_WR)
        exchange.take_body()  # read on, so that the answer isn't overtaken by a reset
        return False

    return script


def silence(exchange: Exchange) -> bool:
    """Take the request and say nothing until the server is closed."""
    exchange.take_body()
    exchange.server.closing.wait()
    return False


def drip(data: bytes, *, at_once: int = 0) -> Script:
    """Take the request and answer a byte at a time, after the first `at_once` bytes."""

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        exchange.sock.sendall(data[:at_once])
        for byte in data[at_once:]:
            if exchange.server.closing.wait(0.1):
                return False
            exchange.sock.sendall(bytes([byte]))
        return False

    return script


def endless(head: bytes, block: bytes) -> Script:
    """Take the request and send `head`, then `block` until the other side has had enough."""

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        exchange.sock.sendall(head)
        while not exchange.server.closing.is_set():
            exchange.sock.sendall(block)
        return False

    return script
