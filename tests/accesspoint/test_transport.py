"""How the access point is asked: time, size, clock, TLS, proxy, and what is never said."""

from __future__ import annotations

import base64
import contextlib
import gzip
import logging
import socket
import ssl
import threading
import traceback
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import trustme
from support.backoffs import HOURLY, ONCE
from support.scripted import Exchange, Script, Scripted, answer, bomb, cut, drip, endless, reply, reset, silence
from support.systems import certificates

from filedrop.accesspoint.transport.troubles import why
from filedrop.errors import AccessPointError, ConfigError, NoClearAnswer, Unavailable, WrongAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from filedrop.accesspoint import AccessPoint

STATISTICS = '<statistics><account name="Acme"><messages total="3"/></account></statistics>'
ALIVE = reply(200, STATISTICS)
SHORT = timedelta(milliseconds=300)


@pytest.mark.parametrize(
    "script",
    [
        silence,
        drip(answer(200, STATISTICS)),
        drip(answer(200, STATISTICS), at_once=60),
        drip(answer(200, STATISTICS + " " * 5_000_000), at_once=4_000_000),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b""),
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["silence", "dripping head", "dripping body", "dripping end", "body that never comes", "endless 100s"],
)
def test_time(server: Scripted, connect: Callable[..., AccessPoint], script: Script) -> None:
    """However an answer is drawn out, nobody waits for longer than two silences."""
    server.on("GET", "/statistics", script)
    with pytest.raises(Unavailable):
        connect(server.url, read_timeout=SHORT, retry=ONCE).probe()


@pytest.mark.parametrize(
    "script",
    [
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536),
        bomb(b" "),
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
    ],
    ids=["endless", "bomb", "endless chunks"],
)
def test_size(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """However large an answer is, no more than a few megabytes of it are taken."""
    server.on("GET", "/statistics", script)
    with pytest.raises(AccessPointError, match="larger than 8 MB"):
        access_point.probe()


def test_size_of_a_redirect(server: Scripted, access_point: AccessPoint) -> None:
    """The same holds for a redirect, whose body is of no use."""
    endless_redirect = endless(b"HTTP/1.1 302 Found\r\nLocation: /inbox\r\n\r\n", b" " * 65536)
    server.on("GET", "/statistics", endless_redirect)
    server.on("GET", "/inbox", endless_redirect)
    with pytest.raises(WrongAddress, match="answered 302 and points to /inbox"):
        access_point.probe()


@pytest.mark.parametrize(
    "script",
    [
        reply(200, STATISTICS, ("Content-Encoding", "UTF-8")),
        reply(200, gzip.compress(STATISTICS.encode()), ("Content-Encoding", "gzip")),
        cut(answer(200, STATISTICS, [("Connection", "close")])),
        cut(b"HTTP/1.0 200 OK\r\n\r\n" + STATISTICS.encode()),
    ],
)
def test_odd_but_whole(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """Odd heads don't keep an answer from being read."""
    server.on("GET", "/statistics", script)
    assert access_point.statistics().total == 3


INBOX = "<inbox-query-response><messages/></inbox-query-response>"


def say(data: bytes) -> Script:
    """Take the request, send `data` and wait for the next."""

    def script(exchange: Exchange) -> bool:
        exchange.take_body()
        exchange.sock.sendall(data)
        return True

    return script


@pytest.mark.parametrize(
    ("script", "again"),
    [
        (reply(200, INBOX), True),
        (say(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(200, INBOX)), True),
        (reply(200, STATISTICS), False),
        (reply(200, INBOX.replace("inbox", "outbox")), False),
        (reply(200, "<html/>"), False),
        (reply(200), False),
        (reply(204), False),
        (reply(400, "what?"), False),
        (reply(500), False),
        (say(answer(200, INBOX) * 2), False),
        (say(answer(200, INBOX) + b"H"), False),
        (say(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + answer(200, INBOX)), False),
        (say(b"HTTP/1.1 102 Processing\r\nContent-Length: 2\r\n\r\nno" + answer(200, INBOX)), False),
        (say(b"HTTP/1.1 102 Processing\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), False),
    ],
)
def test_connection(server: Scripted, connect: Callable[..., AccessPoint], script: Script, *, again: bool) -> None:
    """A connection is used again only after an answer that was the one asked for, and nothing else behind it."""
    access_point = connect(server.url, retry=ONCE)
    server.on("GET", "/inbox", script)
    with contextlib.suppress(AccessPointError):
        access_point.inbox()
    server.on("GET", "/statistics", ALIVE)
    access_point.probe()
    assert [request.connection for request in server.requests] == [1, 1 if again else 2]


@pytest.mark.parametrize("read", [INBOX, "", "<html/>", "<messages-query-response/>"])
def test_connection_after_a_mark(server: Scripted, access_point: AccessPoint, read: str) -> None:
    """That a message was marked is believed whatever is said of it; but the connection is trusted no more."""
    server.on("POST", "/inbox/5/read", reply(200, read))
    assert access_point.mark_read(5)
    server.on("GET", "/statistics", ALIVE)
    access_point.probe()
    assert server.connections == 2


def test_clock(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """The access point's time is its last Date and what has passed since, from whatever answer it came."""
    now, set_by = [50.0], [0.0]
    access_point = connect(server.url, monotonic=lambda: now[0], wall=lambda: now[0] + set_by[0])
    assert access_point.clock() is None
    server.on("POST", "/inbox/1/read", reply(404, "", ("Date", "Fri, 20 Nov 2026 12:00:00 GMT")))
    access_point.mark_read(1)
    assert access_point.clock() == datetime(2026, 11, 20, 12, tzinfo=UTC)
    now[0] += 90.5
    assert access_point.clock() == datetime(2026, 11, 20, 12, 1, 30, 500000, UTC)
    set_by[0] = 90.0  # our wall clock was set, or our monotonic one has stood still: not even that is known
    assert access_point.clock() is None
    access_point.mark_read(1)
    assert access_point.clock() == datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "tomorrow",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 9999 12:00:00 GMT",  # in Auckland, that is a year which no clock has
        "Wed, 31 Dec 1969 12:00:00 GMT",  # which Windows doesn't know
        "Fri, 20 Nov 2026 12:00:00 +9999999",
    ],
)
def test_no_clock(server: Scripted, connect: Callable[..., AccessPoint], date: str) -> None:
    """A Date that is none is no time, and no harm."""
    now = [0.0]
    access_point = connect(server.url, monotonic=lambda: now[0])
    server.on("GET", "/statistics", reply(200, STATISTICS, ("Date", date)))
    access_point.probe()
    now[0] += 10
    assert access_point.clock() is None


class StoppedInAPause(threading.Event):
    """A stop that comes while somebody waits for it."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 3600
        self.set()
        return True


def test_stop_in_a_pause(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """A stop during a pause ends it with the error that there was, and no new attempt begins."""
    server.on("GET", "/statistics", reset)
    with pytest.raises(Unavailable, match="broke the connection"):
        connect(server.url, retry=HOURLY, stopped=StoppedInAPause()).probe()
    assert len(server.requests) == 1


def test_long_pause(server: Scripted, access_point: AccessPoint) -> None:
    """A Retry-After of minutes is not waited for here."""
    server.on("GET", "/statistics", reply(429, "", ("Retry-After", "300")))
    with pytest.raises(Unavailable) as caught:
        access_point.probe()
    assert caught.value.retry_after == timedelta(minutes=5)
    assert len(server.requests) == 1


def test_environment(
    server: Scripted, access_point: AccessPoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`.netrc` and the environment's proxies play no part."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.on("GET", "/statistics", ALIVE)
    access_point.probe()
    assert base64.b64decode(server.requests[0].headers["authorization"][6:]).decode().startswith("acmé:")


def test_cookies(server: Scripted, access_point: AccessPoint) -> None:
    """Cookies are not kept."""
    server.on("GET", "/statistics", reply(200, STATISTICS, ("Set-Cookie", "session=1; Path=/")))
    access_point.probe()
    access_point.probe()
    assert "cookie" not in server.requests[1].headers


def test_closed(server: Scripted, access_point: AccessPoint) -> None:
    """After `close` nothing is left open; who asks again is answered again."""
    server.on("GET", "/statistics", ALIVE)
    access_point.probe()
    access_point.close()
    access_point.probe()
    assert server.connections == 2


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[Callable[..., Scripted]]:
    """Make a server that speaks TLS, with a certificate for these names."""
    made: list[Scripted] = []

    def secure(*names: str, issuer: trustme.CA = authority, **keys: object) -> Scripted:
        oldest = keys.pop("oldest", None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert(*(names or ("127.0.0.1",)), **keys).configure_cert(context)
        if oldest:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = oldest
        made.append(Scripted(tls=context))
        made[-1].on("GET", "/statistics", ALIVE)
        return made[-1]

    yield secure
    for server in made:
        server.close()


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (10, "its certificate has expired; tell its operator, and check this computer's clock"),
        (9, "its certificate is not valid yet; check this computer's clock"),
        (62, "its certificate is for another host; check base_url"),
        (64, "its certificate is for another host; check base_url"),
        (0x800B0101, "its certificate has expired or is not valid yet; check this computer's clock, and tell "),
        (0x800B010F, "its certificate is for another host; check base_url"),
        (0x800B0109, "its certificate is from an authority that is not trusted here; if it is the right one, name it"),
    ],
)
def test_what_is_wrong_with_a_certificate(number: int, sentence: str) -> None:
    """Whoever has an expired certificate isn't told to trust another authority: OpenSSL and Windows count otherwise."""
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code = number
    wrapped = ConnectionError("max retries exceeded")
    wrapped.__cause__ = error
    assert why(wrapped).startswith(sentence)


class TestTls:
    @certificates
    def test_broken_off(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path
    ) -> None:
        """A connection that breaks under TLS is said to have broken, as any other."""
        server = secure()
        server.on("GET", "/statistics", cut(answer(200, STATISTICS)[:-5]))
        with pytest.raises(Unavailable, match="cut off"):
            connect(server.url, ca_file=ca_file).probe()
        server.on("GET", "/statistics", cut())
        with pytest.raises(Unavailable, match="the other side broke the connection"):
            connect(server.url, ca_file=ca_file).probe()

    @certificates
    def test_own_authority(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path
    ) -> None:
        """A certificate from ca_file's authority is trusted."""
        server = secure()
        connect(server.url, ca_file=ca_file).probe()
        assert len(server.requests) == 1

    @certificates
    def test_an_authority_that_is_renewed(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path
    ) -> None:
        """What has come into ca_file since the start is trusted after a certificate was refused, without a restart."""
        renewed = trustme.CA()
        access_point = connect(secure(issuer=renewed).url, ca_file=ca_file, retry=ONCE)
        with pytest.raises(Unavailable, match="not trusted here"):
            access_point.probe()
        ca_file.unlink()  # by a careless writer: it isn't there for a moment
        with pytest.raises(Unavailable, match="not trusted here"):
            access_point.probe()
        renewed.cert_pem.write_to_path(ca_file)
        with pytest.raises(Unavailable, match="not trusted here"):
            access_point.probe()
        access_point.probe()

    @certificates
    def test_unknown_authority(self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint]) -> None:
        """One from an unknown authority is not, and the error names ca_file."""
        server = secure()
        with pytest.raises(Unavailable, match=r"not trusted here.*ca_file"):
            connect(server.url).probe()
        assert server.requests == []

    @certificates
    def test_wrong_host(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path
    ) -> None:
        """A certificate for another host is refused."""
        with pytest.raises(Unavailable, match="for another host; check base_url"):
            connect(secure("ap.example.com").url, ca_file=ca_file).probe()

    @certificates
    def test_expired(self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path) -> None:
        """So is one that has expired."""
        server = secure(not_before=datetime(2020, 1, 1, tzinfo=UTC), not_after=datetime(2021, 1, 1, tzinfo=UTC))
        with pytest.raises(Unavailable, match="expired"):
            connect(server.url, ca_file=ca_file).probe()

    @certificates
    def test_old_protocol(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path
    ) -> None:
        """Nothing older than TLS 1.2 is spoken."""
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            server = secure(oldest=ssl.TLSVersion.TLSv1_1)
        with pytest.raises(Unavailable, match=r"only TLS versions before 1\.2"):
            connect(server.url, ca_file=ca_file).probe()
        connect(secure(oldest=ssl.TLSVersion.TLSv1_2).url, ca_file=ca_file).probe()

    def test_no_tls(self, connect: Callable[..., AccessPoint]) -> None:
        """A port that speaks plain HTTP is named as that."""

        def answer_anything(listener: socket.socket) -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(65536)
                sock.sendall(answer(400, "Bad Request"))

        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=answer_anything, args=(listener,), daemon=True).start()
            with pytest.raises(Unavailable, match="does not speak TLS"):
                connect(f"https://127.0.0.1:{listener.getsockname()[1]}", retry=ONCE).probe()

    def test_silence_in_the_handshake(self, connect: Callable[..., AccessPoint]) -> None:
        """A port that waits for plain HTTP is silent when TLS begins: the scheme or port is named, not the firewall."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"https://127.0.0.1:{listener.getsockname()[1]}"
            with pytest.raises(Unavailable, match="it may speak plain HTTP at that port; check base_url's port"):
                connect(url, read_timeout=SHORT, connect_timeout=SHORT, retry=ONCE).probe()

    @pytest.mark.parametrize("content", [None, "not a certificate"])
    def test_bad_ca_file(self, connect: Callable[..., AccessPoint], tmp_path: Path, content: str | None) -> None:
        """A ca_file that can't be used is the configuration's fault, and its account makes no request meanwhile."""
        path = tmp_path / "bad.pem"
        if content:
            path.write_text(content, "utf-8")
        access_point = connect("https://ap.example.com", ca_file=path, retry=ONCE)
        with pytest.raises(ConfigError, match=r"accounts\.main\.ca_file: .*bad\.pem"):
            access_point.read_ca_file()
        with pytest.raises(Unavailable, match=r"accounts\.main\.ca_file: .*bad\.pem"):
            access_point.probe()

    @certificates
    def test_corrected_ca_file(
        self, secure: Callable[..., Scripted], connect: Callable[..., AccessPoint], ca_file: Path, authority: trustme.CA
    ) -> None:
        """A ca_file that could not be used is used as soon as it can be, without a restart."""
        ca_file.unlink()
        access_point = connect(secure().url, ca_file=ca_file, retry=ONCE)
        with pytest.raises(Unavailable, match="ca_file"):
            access_point.probe()
        authority.cert_pem.write_to_path(ca_file)
        access_point.probe()


def tunnel(exchange: Exchange) -> bool:
    """What a proxy does with CONNECT."""
    host, _, port = exchange.request.target.partition(":")
    with socket.create_connection((host, int(port))) as there:
        exchange.sock.sendall(b"HTTP/1.1 200 Go ahead\r\n\r\n")
        back = threading.Thread(target=pump, args=(there, exchange.sock), daemon=True)
        back.start()
        pump(exchange.sock, there)
        back.join(60)
    return False


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class TestProxy:
    SECRET = "prøxy:Zq8"

    def through(
        self, connect: Callable[..., AccessPoint], proxy: Scripted, base_url: str, **keys: object
    ) -> AccessPoint:
        return connect(base_url, proxy=proxy.url.replace("//", "//user:pr%C3%B8xy%3AZq8@"), **keys)

    @certificates
    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_tunnel(
        self,
        server: Scripted,
        secure: Callable[..., Scripted],
        connect: Callable[..., AccessPoint],
        ca_file: Path,
        scheme: str,
    ) -> None:
        """Through a proxy goes an encrypted tunnel; the proxy sees its own login in UTF-8, and never ours."""
        proxy, there = server if scheme == "http" else secure(), secure()
        proxy.on("CONNECT", there.url.removeprefix("https://"), tunnel)
        self.through(connect, proxy, there.url, ca_file=ca_file).probe()
        request = proxy.requests[0]
        assert base64.b64decode(request.headers["proxy-authorization"][6:]).decode() == f"user:{self.SECRET}"
        assert "authorization" not in request.headers
        assert "proxy-authorization" not in there.requests[0].headers

    def test_proxy_refuses(self, server: Scripted, connect: Callable[..., AccessPoint]) -> None:
        """A proxy that refuses our login is named as what is at fault."""
        server.on("CONNECT", "127.0.0.1:9", reply(407))
        with pytest.raises(Unavailable, match=r"refused the connection \(407\); check its user and password"):
            self.through(connect, server, "https://127.0.0.1:9").probe()

    def test_no_proxy_there(self, connect: Callable[..., AccessPoint]) -> None:
        """So is one that isn't there."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with pytest.raises(Unavailable, match="cannot reach the proxy: nothing listens"):
            connect("https://127.0.0.1:9", proxy=f"http://127.0.0.1:{port}").probe()

    def test_loopback(self, server: Scripted, connect: Callable[..., AccessPoint]) -> None:
        """What is sent in the clear stays on this computer: it is not sent through a proxy."""
        server.on("GET", "/statistics", ALIVE)
        connect(server.url, proxy="http://127.0.0.1:9").probe()
        assert server.requests[0].target == "/statistics"


def test_secrets(server: Scripted, connect: Callable[..., AccessPoint], caplog: pytest.LogCaptureFixture) -> None:
    """No password stands in an error, its causes, a log line or a repr, whatever goes wrong."""
    caplog.set_level(logging.DEBUG)
    secrets = ["Zq7", "Zq8", base64.b64encode("acmé:pæss:wörd-Zq7".encode()).decode(), "OlpxOA"]
    said: list[str] = []
    scripts = [
        reply(401),
        reply(302, "", ("Location", "/x")),
        reset,
        cut(b"junk\r\n\r\n"),
        reply(400, "no"),
        reply(200, "<"),
    ]
    proxied = connect("https://127.0.0.1:9", proxy=server.url.replace("//", "//user:p:Zq8@"))
    server.on("CONNECT", "127.0.0.1:9", reply(407))
    broken = connect("https://ap.invalid", proxy="http://user:p:Zq8@proxy.invalid:1")
    plain = connect(server.url)
    for access_point, script in [*((plain, script) for script in scripts), (proxied, reset), (broken, reset)]:
        server.on("GET", "/statistics", script)
        server.on("GET", "/inbox", script)
        with pytest.raises(AccessPointError) as caught:
            access_point.probe()
        said += traceback.format_exception(caught.value)
        said += [repr(caught.value), repr(access_point), repr(access_point._transport)]
    said.append(caplog.text)
    assert len(said) > 30
    for secret in secrets:
        assert secret not in "".join(said)


def test_unreadable_answer_is_not_asked_for_again(server: Scripted, access_point: AccessPoint) -> None:
    """What was answered, though it makes no sense, is not asked for again at once."""
    server.on("GET", "/statistics", reply(200, "<html>Welcome</html>"))
    with pytest.raises(NoClearAnswer):
        access_point.probe()
    assert len(server.requests) == 1
