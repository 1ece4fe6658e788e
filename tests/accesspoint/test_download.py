"""Documents, from wherever they are kept; and where the login goes."""

from __future__ import annotations

import gzip
import io
import ssl
from typing import TYPE_CHECKING

import pytest
import trustme
from support.scripted import Script, Scripted, answer, bomb, cut, endless, reply, reset
from support.systems import certificates

from filedrop.errors import AccessPointError, Gone, NoClearAnswer, Unauthorized, Unavailable
from filedrop.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from filedrop.accesspoint import AccessPoint

DOCUMENT = b"<Invoice>" + b"\xc3\xb8" * 200_000 + b"</Invoice>"
PATH = "/messages/5/xml-document"
LARGE = 10_000_000


@pytest.fixture
def store() -> Iterator[Scripted]:
    """A store of blobs: another origin than the access point's, and by its name another host."""
    server = Scripted(host="localhost")
    yield server
    server.close()


def fetched(access_point: AccessPoint, link: str | None = None, max_size: int = LARGE) -> bytes:
    target = io.BytesIO(b"before")
    target.seek(6)
    size = access_point.download(Message(5, link=link), target, max_size=max_size)
    assert target.getvalue()[:6] == b"before"
    assert len(target.getvalue()) == size + 6
    return target.getvalue()[6:]


@pytest.mark.parametrize("link", [None, "https://127.0.0.1/messages/5/xml-document", "/messages/5/xml-document"])
def test_own(server: Scripted, access_point: AccessPoint, link: str | None) -> None:
    """A document is fetched by its link's path on base_url, whatever its scheme and port; else as documented."""
    server.on("GET", PATH, reply(200, DOCUMENT))
    assert fetched(access_point, link) == DOCUMENT


def test_empty(server: Scripted, access_point: AccessPoint) -> None:
    """An answer without a document says so, and is no document that isn't well-formed."""
    server.on("GET", PATH, reply(200))
    with pytest.raises(NoClearAnswer, match="answered 200 with nothing in it; tell its operator"):
        fetched(access_point)


def test_second_try(server: Scripted, access_point: AccessPoint) -> None:
    """What was cut off is fetched again from its beginning, into the same place."""
    whole = answer(200, DOCUMENT)
    server.on("GET", PATH, cut(whole[:-1]), cut(whole[:1000]), reply(200, DOCUMENT))
    assert fetched(access_point) == DOCUMENT


CHUNKED = answer(200, b"5\r\n<a/>\n\r\n", [("Transfer-Encoding", "chunked")])


@pytest.mark.parametrize(
    "script",
    [
        cut(answer(200, DOCUMENT)[:-1]),
        cut(answer(200, DOCUMENT)[:20]),
        cut(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"),
        cut(CHUNKED),
        cut(answer(200, gzip.compress(DOCUMENT)[:-9], [("Content-Encoding", "gzip")])),
        cut(answer(200, gzip.compress(DOCUMENT)[:200] + b"\xff" * 500, [("Content-Encoding", "gzip")])),
        reset,
        reply(500),
        reply(503, "", ("Retry-After", "0")),
    ],
    ids=[
        "too short",
        "cut in a line of its head",
        "cut in its head",
        "no last chunk",
        "gzip cut",
        "gzip damaged",
        "reset",
        "500",
        "503",
    ],
)
def test_not_whole(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """What isn't whole is no document."""
    server.on("GET", PATH, script)
    with pytest.raises(Unavailable):
        fetched(access_point)


@pytest.mark.parametrize(
    "script",
    [
        reply(200, DOCUMENT, ("Content-Encoding", "UTF-8")),
        reply(200, DOCUMENT, ("Content-Encoding", "gzip")),
        reply(200, gzip.compress(DOCUMENT), ("Content-Encoding", "gzip")),
        reply(200, gzip.compress(DOCUMENT)),
        cut(CHUNKED.replace(b"5\r\n<a/>\n\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(DOCUMENT), DOCUMENT))),
        cut(b"HTTP/1.0 200 OK\r\n\r\n" + DOCUMENT),
    ],
    ids=["bogus", "said but not packed", "packed", "packed and not said", "chunked", "until closed"],
)
def test_encodings(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """Whatever the head says about encoding, the document is what it is."""
    server.on("GET", PATH, script)
    assert fetched(access_point) == DOCUMENT


@pytest.mark.parametrize(
    "script",
    [
        reply(200, DOCUMENT),
        bomb(b"\0", ("Content-Encoding", "gzip")),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    ],
    ids=["large", "bomb", "endless"],
)
def test_too_large(server: Scripted, access_point: AccessPoint, script: Script) -> None:
    """A document larger than allowed is given up there and then."""
    server.on("GET", PATH, script)
    with pytest.raises(NoClearAnswer, match="larger than the 100000 bytes"):
        fetched(access_point, max_size=100_000)


@pytest.mark.parametrize("status", [204, 404, 410])
def test_gone(server: Scripted, access_point: AccessPoint, status: int) -> None:
    """A document that isn't there is gone, whoever says so."""
    server.on("GET", PATH, reply(status))
    with pytest.raises(Gone):
        fetched(access_point)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_other_redirects(server: Scripted, store: Scripted, access_point: AccessPoint, status: int) -> None:
    """The interface knows a 303 there and nothing else: a redirect to a login page is no document."""
    server.on("GET", PATH, reply(status, "", ("Location", store.url + "/blob")))
    with pytest.raises(AccessPointError):
        fetched(access_point)
    assert store.requests == []


class TestElsewhere:
    def test_see_other(self, server: Scripted, store: Scripted, access_point: AccessPoint) -> None:
        """A 303 to another host is followed without the login, and afresh for each attempt."""
        blobs = [("Location", f"{store.url}/blob?key={n}") for n in (1, 2)]
        server.on("GET", PATH, *(reply(303, "", blob) for blob in blobs))
        store.on("GET", "/blob", reply(403, "expired"), reply(200, DOCUMENT))
        assert fetched(access_point) == DOCUMENT
        assert [request.target for request in store.requests] == ["/blob?key=1", "/blob?key=2"]
        assert all("authorization" not in request.headers for request in store.requests)

    def test_same_host_other_port(self, server: Scripted, access_point: AccessPoint) -> None:
        """So is one to another port of our host, once our own port is seen not to have it."""
        other = Scripted()
        server.on("GET", PATH, reply(303, "", ("Location", f"{other.url}/blob")))
        other.on("GET", "/blob", reply(200, DOCUMENT))
        assert fetched(access_point) == DOCUMENT
        assert [request.path for request in server.requests] == [PATH, "/blob"]
        assert "authorization" not in other.requests[0].headers
        other.close()

    def test_own_host(self, server: Scripted, access_point: AccessPoint) -> None:
        """A 303 that stays on base_url is followed there, with the login, though its scheme and port be wrong."""
        server.on("GET", PATH, reply(303, "", ("Location", "https://127.0.0.1/blob")))
        server.on("GET", "/blob", reply(200, DOCUMENT))
        assert fetched(access_point) == DOCUMENT
        assert "authorization" in server.requests[1].headers

    def test_foreign_link(self, server: Scripted, store: Scripted, access_point: AccessPoint) -> None:
        """For a link to another host the documented path is asked first; only then the link, without the login."""
        store.on("GET", "/x", reply(200, b"<theirs/>"))
        server.on("GET", PATH, reply(200, b"<ours/>"), reply(404))
        assert fetched(access_point, store.url + "/x") == b"<ours/>"
        assert store.requests == []
        assert fetched(access_point, store.url + "/x") == b"<theirs/>"
        assert "authorization" not in store.requests[0].headers

    def test_hops(self, server: Scripted, store: Scripted, access_point: AccessPoint) -> None:
        """Three hops are followed, not four."""
        server.on("GET", PATH, reply(303, "", ("Location", store.url + "/1")))
        store.on("GET", "/1", reply(302, "", ("Location", "/2")))
        store.on("GET", "/2", reply(307, "", ("Location", "/3")))
        store.on("GET", "/3", reply(200, DOCUMENT))
        assert fetched(access_point) == DOCUMENT
        store.on("GET", "/3", reply(301, "", ("Location", "/4")))
        store.on("GET", "/4", reply(200, DOCUMENT))
        with pytest.raises(NoClearAnswer, match="redirects"):
            fetched(access_point)
        assert store.asked("GET", "/4") == []

    def test_back_to_base_url(self, server: Scripted, store: Scripted, access_point: AccessPoint) -> None:
        """Once we have been elsewhere, nobody sends the login anywhere, not even home."""
        server.on("GET", PATH, reply(303, "", ("Location", store.url + "/1")))
        store.on("GET", "/1", reply(302, "", ("Location", server.url + "/inbox/5/read")))
        server.on("GET", "/inbox/5/read", reply(401))
        with pytest.raises(Unavailable):
            fetched(access_point)
        assert all("authorization" not in request.headers for request in server.asked("GET", "/inbox/5/read"))

    @pytest.mark.parametrize("location", ["http://blobs.example.com/x", "file:///etc/passwd", "https://[oops", "//"])
    def test_not_https(self, server: Scripted, access_point: AccessPoint, location: str) -> None:
        """Out of base_url only https is followed."""
        server.on("GET", PATH, reply(303, "", ("Location", location)))
        with pytest.raises(AccessPointError):
            fetched(access_point)

    def test_private_address(self, server: Scripted, connect: Callable[..., AccessPoint]) -> None:
        """From a public base_url no link leads to a private address, whatever it is called."""
        transport = connect("https://93.184.215.14")._transport
        url = f"https://localhost:{server.port}/x"
        with pytest.raises(Unavailable, match="private network"), transport.asked_elsewhere(url):
            pytest.fail("a private address was asked")
        assert server.requests == []

    @certificates
    def test_over_tls(self, connect: Callable[..., AccessPoint], tmp_path: Path) -> None:
        """Of a store too the certificate is checked."""
        authority, stranger = trustme.CA(), trustme.CA()
        servers = []
        for issuer, host in ((authority, "127.0.0.1"), (authority, "localhost"), (stranger, "localhost")):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            issuer.issue_cert(host).configure_cert(context)
            servers.append(Scripted(tls=context, host=host))
        home, good, bad = servers
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        for store in (good, bad):
            store.on("GET", "/blob", reply(200, DOCUMENT))
        access_point = connect(home.url, ca_file=tmp_path / "ca.pem")
        home.on("GET", PATH, reply(303, "", ("Location", good.url + "/blob")))
        assert fetched(access_point) == DOCUMENT
        home.on("GET", PATH, reply(303, "", ("Location", bad.url + "/blob")))
        with pytest.raises(Unavailable, match="not trusted"):
            fetched(access_point)
        for server in servers:
            server.close()


def test_refused_login(server: Scripted, access_point: AccessPoint) -> None:
    """A refused login is one, and not a missing document."""
    server.on("GET", PATH, reply(401))
    with pytest.raises(Unauthorized):
        fetched(access_point)


def test_full_disk(server: Scripted, access_point: AccessPoint) -> None:
    """An error of our own disk is no error of the access point."""

    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    server.on("GET", PATH, reply(200, DOCUMENT))
    with pytest.raises(OSError, match="No space left"):
        access_point.download(Message(5), Full(), max_size=LARGE)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [204, 404])
def test_a_link_whose_path_is_another(server: Scripted, access_point: AccessPoint, status: int) -> None:
    """Where a link's path leads nowhere, as behind a proxy with a path of its own, the documented one is tried."""
    server.on("GET", "/inner/messages/5/xml-document", reply(status))
    server.on("GET", PATH, reply(200, DOCUMENT))
    assert fetched(access_point, "https://127.0.0.1/inner/messages/5/xml-document") == DOCUMENT
