"""Requests to the access point. Only this package imports requests, urllib3 and truststore.

    wire        connections: TLS, time-outs, private addresses
    header      the login
    incoming    an answer whose body is still to be read, up to a size
    troubles    why there was no answer

Each thread has its own connections. The environment is ignored, and redirects aren't followed. The login is sent only
to base_url's scheme, host and port, and no error contains it: error texts are our own.

Only the body knows whether a request may have arrived, since requests raises ConnectionError for refused connections,
unknown names, TLS and proxies alike. Only the caller knows whether an answer is for its request: a connection is reused
only after `understand` has accepted the answer.
"""

from __future__ import annotations

import socket
import threading
import weakref
from contextlib import contextmanager, suppress
from datetime import MAXYEAR, UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

import requests
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from filedrop.accesspoint.transport.header import Header, basic
from filedrop.accesspoint.transport.incoming import Incoming
from filedrop.accesspoint.transport.troubles import why
from filedrop.accesspoint.transport.wire import Connections, is_public, tls
from filedrop.errors import ConfigError, NoClearAnswer, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from filedrop.accesspoint.links import Address
    from filedrop.accesspoint.multipart import Multipart
    from filedrop.accesspoint.verdict import Answer
    from filedrop.config import Account
    from filedrop.pauses import Backoff

T = TypeVar("T")

_ASLEEP = 60.0  # seconds by which our clocks may go apart: beyond, the computer has slept, or one of them was set
_IDLE = 3.0  # seconds after which a connection may be dead: a post on it would put the document in doubt
_FIRST_YEAR = 1970  # Windows can't convert earlier moments
_SOON = timedelta(seconds=5)  # the longest Retry-After that is waited for here; longer ones are the caller's
_HEADERS = {"Accept": "application/xml", "Accept-Encoding": "identity", "User-Agent": "filedrop"}


class Transport:
    """Requests to one access point. Thread-safe.

    `retry`: how attempts follow each other; when `stopped` is set, no new one begins. ca_file is read with the first
    request, and again after one that failed.
    """

    def __init__(
        self,
        login: Account,
        address: Address,
        *,
        stopped: threading.Event,
        retry: Backoff,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._address = address
        self._retry = retry
        self.stopped = stopped
        self._monotonic, self._wall = monotonic, wall
        self._account, self._ca_file = login.name, login.ca_file
        self._has_read_ca_file = login.ca_file is None
        self._tls = tls()
        self._timeout = (login.connect_timeout.total_seconds(), login.read_timeout.total_seconds())
        self._proxies, self._proxy_login = _proxy(login.proxy)
        self._login, self._login_keys = Header(login), login.login_keys
        self.heard: tuple[str, float, float] | None = None  # the latest answer's `Date`; when it came, by our clocks
        self._local = threading.local()
        self._lines: weakref.WeakSet[_Line] = weakref.WeakSet()
        self._lock = threading.Lock()

    def read_ca_file(self) -> None:
        """Trust the authorities that are in ca_file by now. Raises ConfigError where it can't be used."""
        if self._ca_file is not None:
            try:
                self._tls.load_verify_locations(self._ca_file)
            except OSError as error:  # ssl.SSLError is one too
                said = f"{self._ca_file} can't be read as certificates; write the path of a PEM file"
                raise ConfigError([f"accounts.{self._account}.ca_file: {said}"]) from error
        self._has_read_ca_file = True

    def login_changed(self) -> bool:
        """Whether the login has changed since it was refused."""
        return self._login.changed()

    def retried(self, attempt: Callable[[], T]) -> T:
        """The result of `attempt`, retried a few times on Unavailable, but not when filedrop is being stopped."""
        return self._retry.persist(attempt, on=Unavailable, asked=_asked_pause, stopped=self.stopped)

    def exchange(
        self,
        method: str,
        target: str,
        understand: Callable[[Answer], T],
        body: Multipart | None = None,
        *,
        silence: float | None = None,
    ) -> T:
        """Make a request on base_url, with the login, read the whole answer, and return the result of `understand`.

        `understand` raises where the answer isn't one to this request; its errors are raised here.
        `silence` is a time-out in seconds for each read, where shorter than usual.
        Raises Unavailable where the request certainly wasn't received, or has no body and so may be repeated;
        NoClearAnswer where its body may have been received; Unauthorized where the password can't be read. A ca_file
        that can't be read is Unavailable, until it can.
        """
        with self.asked(method, target, body, silence=silence) as incoming:
            return understand(incoming.read())

    @contextmanager
    def asked(
        self, method: str, target: str, body: Multipart | None = None, *, silence: float | None = None
    ) -> Iterator[Incoming]:
        """An answer from base_url, with the login; to be read and checked in this context. Raises as `exchange`."""
        line, url = self._line(), self._address.origin + target
        headers = _HEADERS | {"Authorization": self._login.value()}
        if body is not None:
            headers |= {"Content-Type": body.content_type, "Content-Length": str(len(body))}
        if (method == "POST" or silence is not None) and self._monotonic() - line.used > _IDLE:
            line.own.close()
        response = self._send(line.own, method, url, headers, body, silence=silence)
        try:
            if response.status_code in (401, 403) and (header := self._login.renewed(headers["Authorization"])):
                response.close()
                headers["Authorization"] = header
                response = self._send(line.own, method, url, headers, body, silence=silence)
            if "Date" in response.headers:
                self.heard = (response.headers["Date"], self._monotonic(), self._wall())
            yield Incoming(url, response, login=headers["Authorization"], login_keys=self._login_keys)
        except BaseException:
            self.distrust()
            raise
        finally:
            response.close()
            line.used = self._monotonic()

    def distrust(self) -> None:
        """Close this thread's connections: a missing answer could still come, as the answer to a later request."""
        self._line().close()

    @contextmanager
    def asked_elsewhere(self, url: str) -> Iterator[Incoming]:
        """The answer to a GET outside base_url: without the login, and never from a private address."""
        line = self._line()
        if line.elsewhere is None:
            line.elsewhere = self._connections(public_only=not self._proxies and self._home_is_public())
        response = self._send(line.elsewhere, "GET", url, _HEADERS, None)
        try:
            yield Incoming(url, response)
        except BaseException:
            self.distrust()
            raise
        finally:
            response.close()

    def clock(self) -> datetime | None:
        """The access point's present time in UTC: the latest answer's `Date`, and the time passed since.

        Never ahead of its clock, because `Date` is in whole seconds and precedes its arrival. None before an answer,
        and where our clocks disagree on how long ago that was: the monotonic one stands still while a computer sleeps.
        """
        if self.heard is None:
            return None
        date, heard_at, wall_then = self.heard
        passed = self._monotonic() - heard_at
        if abs(self._wall() - wall_then - passed) > _ASLEEP:
            return None
        try:
            moment = parsedate_to_datetime(date)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
            moment += timedelta(seconds=passed)
        except (ValueError, OverflowError):  # no date; or one at the end of the calendar
            return None
        # A moment outside these years can be recorded, but not read again on every platform.
        return moment if _FIRST_YEAR < moment.year < MAXYEAR else None

    def close(self) -> None:
        """Close all connections; later requests open new ones."""
        with self._lock:
            for line in self._lines:
                line.close()

    def _send(
        self,
        connections: Connections,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Multipart | None,
        *,
        silence: float | None = None,
    ) -> requests.Response:
        connect, read = self._timeout
        if silence is not None:
            connect, read = min(connect, silence), min(read, silence)
        request = requests.PreparedRequest()  # by hand: requests would encode the url again
        request.method, request.url, request.body = method, url, body  # type: ignore[assignment] # any iterable will do
        request.prepare_headers(headers)
        request.headers = _Headers(request.headers)
        if body is not None:
            body.was_asked_for = False
        if not self._has_read_ca_file:
            try:
                self.read_ca_file()
            except ConfigError as error:
                raise Unavailable(str(error)) from error
        try:
            return connections.send(request, stream=True, timeout=(connect, read), proxies=self._proxies)
        except (requests.RequestException, HTTPError) as error:
            with suppress(ConfigError):  # it may have been renewed: the next connection goes by what it has now, too
                self.read_ca_file()
            there = "the proxy" if isinstance(error, requests.exceptions.ProxyError) else url
            if body is not None and body.was_asked_for:
                raise NoClearAnswer(
                    f"{there} may have received the document, but gave no answer: {why(error)}"
                ) from error
            raise Unavailable(f"cannot reach {there}: {why(error)}") from error

    def _line(self) -> _Line:
        line: _Line | None = getattr(self._local, "line", None)
        if line is None:
            line = self._local.line = _Line(self._connections(public_only=False))
            with self._lock:
                self._lines.add(line)
        return line

    def _connections(self, *, public_only: bool) -> Connections:
        silence = self._timeout[1]
        return Connections(self._tls, silence=silence, public_only=public_only, proxy_login=self._proxy_login)

    def _home_is_public(self) -> bool:
        try:
            found = socket.getaddrinfo(self._address.host, None, type=socket.SOCK_STREAM)
        except OSError:  # the name can't be resolved, so no private address is needed now
            return True
        return all(is_public(str(entry[4][0])) for entry in found)


class _Headers(CaseInsensitiveDict):  # type: ignore[type-arg] # it takes none when it runs
    """A request's headers. Their repr doesn't show the login."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"

    def copy(self) -> _Headers:
        """Another one, which urllib3 makes for each request."""
        return _Headers(self)


class _Line:
    """One thread's connections, and when those to the access point were last used."""

    def __init__(self, own: Connections) -> None:
        self.own = own
        self.elsewhere: Connections | None = None
        self.used = float("-inf")

    def close(self) -> None:
        self.own.close()
        if self.elsewhere is not None:
            self.elsewhere.close()


def _proxy(proxy: str | None) -> tuple[dict[str, str], str | None]:
    """The proxy without its login, so that errors can't show that; and its login. Only https goes through it."""
    if proxy is None:
        return {}, None
    parts = urlsplit(proxy)
    login = basic(unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return {"https": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"}, login


def _asked_pause(error: Unavailable) -> float | None:
    pause = error.retry_after or timedelta(0)
    return pause.total_seconds() if pause <= _SOON else None
