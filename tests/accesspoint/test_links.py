"""Where the access point's links lead."""

from __future__ import annotations

import pytest

from filedrop.accesspoint.links import Address
from filedrop.errors import NoClearAnswer

ADDRESS = Address("https://ap.example.com:8443/rest")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("https://ap.example.com:8443/rest/messages/5/xml-document", "/rest/messages/5/xml-document"),
        ("http://AP.example.com/rest/messages/5?a=b&c=%27d", "/rest/messages/5?a=b&c=%27d"),
        ("https://ap.example.com/other", "/other"),
        ("//ap.example.com/x", "/x"),
        ("?index=2", "/rest/messages?index=2"),
        ("/rest/inbox", "/rest/inbox"),
        ("https://ap.example.com/a b\u2028ø", "/a%20b%E2%80%A8%C3%B8"),
        ("https://ap.example.com", "/"),
        ("https://evil.example.com/rest/messages/5", None),
        ("https://ap.example.com@evil.example.com/rest", None),
        ("https://ap.example.com.evil.example.com/rest", None),
        ("ftp://ap.example.com/rest", None),
        ("javascript:alert(1)", None),
        ("https://[oops/rest", None),
        ("", None),
        (None, None),
    ],
)
def test_own(link: str | None, target: str | None) -> None:
    """Of a link to base_url's host, whatever its scheme and port, path and query are used; no other host is ours."""
    assert ADDRESS.own(link, "/rest/messages") == target


def test_next_page() -> None:
    """A next page may be said to be on another host, but only under base_url's path is it looked for, on base_url."""
    assert ADDRESS.next_page("http://10.0.0.1/rest/messages?index=2", "/rest/messages") == "/rest/messages?index=2"
    assert ADDRESS.next_page("https://ap.example.com/inbox?index=2", "/rest/inbox") == "/inbox?index=2"
    for link in ("https://evil.example.com/messages?index=2", "https://evil.example.com/restless", "https://[oops"):
        with pytest.raises(NoClearAnswer):
            ADDRESS.next_page(link, "/rest/messages")


def test_target() -> None:
    """Participants and filters are percent-encoded, whatever is in them."""
    assert ADDRESS.target("directory", "0192:98/7", "Invoice") == "/rest/directory/0192%3A98%2F7/Invoice"
    assert ADDRESS.target("messages", query={"sent": "'>2026-11-01'"}) == "/rest/messages?sent=%27%3E2026-11-01%27"


@pytest.mark.parametrize(
    "link", ["http://blobs.example.com/x", "http://127.0.0.1/x", "ftp://h/x", "https://", "https://[x"]
)
def test_elsewhere(link: str) -> None:
    """Out of base_url only https is followed."""
    assert ADDRESS.elsewhere(link, "") is None


def test_elsewhere_on_loopback() -> None:
    """Except by an access point that is on loopback itself, and only there."""
    sandbox = Address("http://127.0.0.1:8080")
    assert sandbox.elsewhere("http://localhost:9000/x", "") == "http://localhost:9000/x"
    assert sandbox.elsewhere("/y", "https://blobs.example.com/x") == "https://blobs.example.com/y"
    assert sandbox.elsewhere("http://blobs.example.com/x", "") is None
