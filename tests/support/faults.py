"""A server for the sandbox's application that does what real networks and servers do to a request.

A *fault* takes an `Exchange`: one request, the application's answer to it (asked for only when the fault wants it, so
that a fault decides whether the request has arrived), and the socket. By default every request is simply answered.
"""

from __future__ import annotations

import io
import itertools
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from support.listener import Listener, reset_at_end
from werkzeug.test import create_environ, run_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import WSGIApplication

Fault = Callable[["Exchange"], None]
Match = Callable[["Request"], bool]

EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
_REASONS = {201: "Created", 204: "No Content"}


class Broken(Exception):
    """The connection is at its end."""


@dataclass(frozen=True, slots=True)
class Request:
    """What came in, whole."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def line(self) -> str:
        """`POST /outbox`."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the application says."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Exchange:
    """One request, and what can be done with it."""

    def __init__(self, front: Front, sock: socket.socket, request: Request) -> None:
        self.request = request
        self._front = front
        self._sock = sock

    @property
    def connection(self) -> object:
        """What this request came by, and perhaps others."""
        return self._sock

    def arrive(self) -> Answer:
        """The request reaches the access point, which does what it asks; this is its answer, not sent yet."""
        return self._front.ask(self.request)

    def answer(self, status: int, body: bytes | str = b"", headers: Iterable[tuple[str, str]] = ()) -> None:
        """Send an answer."""
        body = body.encode() if isinstance(body, str) else body
        date = self._front.date()
        headers = [*([("Date", date)] if date else ()), *headers]
        if status not in (204, 304):
            headers.append(("Content-Length", str(len(body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Said')}\r\n{lines}\r\n"
        self._sock.sendall(head.encode("latin-1") + (body if status not in (204, 304) else b""))

    def say(self, data: bytes) -> None:
        """Send these bytes as they are."""
        self._sock.sendall(data)

    def cut(self, *, reset: bool = False) -> None:
        """End the connection."""
        if reset:
            reset_at_end(self._sock)
        raise Broken

    def keep_silent(self) -> None:
        """Say nothing, until the server is closed."""
        self._front.closing.wait()
        raise Broken


def answered(exchange: Exchange) -> None:
    """No fault: the request arrives, and so does its answer."""
    answer = exchange.arrive()
    skipped = {"content-length", "date", "connection"}
    headers = [(name, value) for name, value in answer.headers if name.lower() not in skipped]
    exchange.answer(answer.status, answer.body, headers)


class Slow:
    """No fault: a request to the access point is answered when `release` is set; `came` says that it is there."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.release = threading.Event()

    def __call__(self, exchange: Exchange) -> None:
        self.came.set()
        self.release.wait()
        answered(exchange)


def announced(exchange: Exchange) -> None:
    """No fault either: the answer is announced before it comes."""
    exchange.say(EARLY_HINTS)
    answered(exchange)


def cut_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and the connection is cut before it can say so."""
    exchange.arrive()
    exchange.cut()


def reset_before(exchange: Exchange) -> None:
    """The connection is reset, and the request never reaches the access point."""
    exchange.cut(reset=True)


def failed_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and answers 500."""
    exchange.arrive()
    exchange.answer(500, "Unknown server error occurred.", [("Content-Type", "text/plain;charset=UTF-8")])


def unreadable_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and its answer, though its status says so, can't be understood."""
    status = exchange.arrive().status
    exchange.answer(
        status, b"<outbox-post-response version='1.0'><message><self>", [("Content-Type", "application/xml")]
    )


def silent_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and never answers."""
    exchange.arrive()
    exchange.keep_silent()


def announced_late(exchange: Exchange) -> None:
    """The answer comes, and then one more that nobody asked for."""
    answered(exchange)
    exchange.say(EARLY_HINTS)


def instead(status: int, body: bytes | str = b"", *headers: tuple[str, str]) -> Fault:
    """The request doesn't reach the access point; somebody before it answers."""

    def fault(exchange: Exchange) -> None:
        exchange.answer(status, body, headers)

    return fault


class Front(Listener):
    """Serves a WSGI application over real sockets, with faults. Every request is remembered in `requests`.

    `date` says what its clock shows; None: its answers have no `Date`.
    """

    def __init__(self, application: WSGIApplication, *, date: Callable[[], str | None]) -> None:
        super().__init__()
        self.application = application
        self.date = date
        self.url = f"http://127.0.0.1:{self.port}"
        self.requests: list[Request] = []
        self._rules: list[tuple[Match, Callable[[], Fault | None]]] = []

    def always(self, line: str | Match, fault: Fault) -> None:
        """Do this to every request for `line` (`POST /outbox`, a method and the beginning of a path) from now on."""
        self._add(line, lambda: fault)

    def every(self, nth: int, line: str | Match, fault: Fault) -> None:
        """Do this to every n-th request for `line`."""
        numbers = itertools.count(1)
        self._add(line, lambda: fault if next(numbers) % nth == 0 else None)

    def next(self, line: str | Match, *faults: Fault) -> None:
        """Do this to the next requests for `line`, one each; then no more."""
        left = deque(faults)
        self._add(line, lambda: left.popleft() if left else None)

    def heal(self) -> None:
        """No more faults."""
        with self._lock:
            self._rules.clear()

    def asked(self, line: str = "") -> list[Request]:
        """The requests so far whose line begins like this."""
        return [request for request in list(self.requests) if request.line.startswith(line)]

    def ask(self, request: Request) -> Answer:
        """What the application answers."""
        environ = create_environ(
            request.target, self.url, method=request.method, headers=request.headers,
            input_stream=io.BytesIO(request.body), multithread=True,
        )  # fmt: skip
        chunks, status, headers = run_wsgi_app(self.application, environ, buffered=True)
        return Answer(int(status.split()[0]), headers.to_wsgi_list(), b"".join(chunks))

    def _add(self, line: str | Match, next_fault: Callable[[], Fault | None]) -> None:
        matches = line if callable(line) else _begins(line)
        with self._lock:
            self._rules.append((matches, next_fault))

    def _fault(self, request: Request) -> Fault:
        with self._lock:
            self.requests.append(request)
            for matches, next_fault in self._rules:
                if matches(request) and (fault := next_fault()) is not None:
                    return fault
        return answered

    def serve(self, sock: socket.socket, number: int) -> None:  # noqa: ARG002 - it counts requests
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(Broken), sock.makefile("rb") as stream:
            while (request := _read(stream)) is not None:
                self._fault(request)(Exchange(self, sock, request))


def exactly(method: str, path: str) -> Match:
    """Requests for this path and no longer one."""
    return lambda request: (request.method, request.path) == (method, path)


def _begins(line: str) -> Match:
    return lambda request: request.line.startswith(line)


def _read(stream: io.BufferedReader) -> Request | None:
    first = stream.readline(65536)
    if not first:
        return None
    method, target, _ = first.decode("latin-1").split(" ")
    headers = {}
    while (line := stream.readline(65536)) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    body = stream.read(length)
    return Request(method, target, headers, body) if len(body) == length else None
