"""The inbox, marking as read, and the download."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sandbox.client import FJORD
from support.documents import BILLING_PROCESS, INVOICE_ID, invoice

from filedrop.errors import FiledropError
from filedrop.sandbox import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.client import Clock, Login

    from filedrop.sandbox import Sandbox, SandboxAccount


@pytest.fixture
def arrive(acme: SandboxAccount) -> Callable[..., int]:
    def _arrive(store: Store, content: bytes | Path = b"<a/>", **changes: object) -> int:
        header = {"sender": "0192:1", "document_id": INVOICE_ID, "process_id": BILLING_PROCESS}
        return store.receive(content=content, **{"receiver": acme.participants[0]} | header | changes)

    return _arrive


def test_an_unread_message(either: Sandbox, login: Login, arrive: Callable[..., int]) -> None:
    """What comes in from the network is listed by /inbox and told by its number."""
    msg_no = arrive(either.store, channel="post")
    client = login(either)
    listed, single = client.get("/inbox"), client.get(f"/inbox/{msg_no}")
    assert listed.messages == single.messages
    assert listed.xml.tag == single.xml.tag == "inbox-query-response"
    (message,) = listed.messages
    assert (message["msg-no"], message["direction"], message["channel"]) == (str(msg_no), "IN", "post")
    assert message["uuid"]
    assert "delivered" not in message


def test_marking_as_read(either: Sandbox, login: Login, arrive: Callable[..., int], clock: Clock) -> None:
    """POST read takes the message off the list, and sets `delivered` to the server's time."""
    msg_no = arrive(either.store)
    client = login(either)
    clock.forward()
    answer = client.ask("POST", f"/inbox/{msg_no}/read")
    assert (answer.status, answer.xml.tag, answer.msg_nos) == (200, "messages-query-response", [msg_no])
    assert client.get("/inbox").messages == []
    (read,) = client.get(f"/inbox/{msg_no}").messages
    assert read["delivered"].startswith("2026-11-20T1")
    assert client.get("/messages?direction=IN").messages == [read]

    clock.forward()
    assert client.ask("POST", f"/inbox/{msg_no}/read").status == 200
    assert client.get(f"/inbox/{msg_no}").messages == [read], "reading again changes nothing"


def test_read_answers_with_delivered(sandbox: Sandbox, login: Login, arrive: Callable[..., int]) -> None:
    """By the document the answer to POST read tells the new `delivered` itself."""
    msg_no = arrive(sandbox.store)
    (read,) = login(sandbox).ask("POST", f"/inbox/{msg_no}/read").messages
    assert read["delivered"] == "2026-11-20T12:00:00.123+00:00"


def test_the_download_is_the_document(sandbox: Sandbox, login: Login) -> None:
    """By default the bytes come back as they were sent."""
    client = login(sandbox)
    content = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<a  b = "1" >Blåbær</a >\n'.encode("iso-8859-1")
    (msg_no,) = client.post(content).msg_nos
    answer = client.get(f"/messages/{msg_no}/xml-document")
    assert (answer.status, answer.body) == (200, content)
    assert answer.headers["Content-Type"] == "application/xml;charset=UTF-8"
    assert answer.headers["Content-Length"] == str(len(content))


def test_what_comes_in_need_not_be_xml(
    sandbox: Sandbox, login: Login, arrive: Callable[..., int], tmp_path: Path
) -> None:
    """The network may bring anything, from memory or from a file; it is handed on as it is."""
    (tmp_path / "brought").write_bytes(b"%PDF \xff")
    for content in (b"%PDF \xff", tmp_path / "brought"):
        msg_no = arrive(sandbox.store, content)
        assert login(sandbox).get(f"/messages/{msg_no}/xml-document").body == b"%PDF \xff"
        assert sandbox.store.content(msg_no) == b"%PDF \xff"


def test_nothing_comes_in_for_a_stranger(sandbox: Sandbox, arrive: Callable[..., int]) -> None:
    """A message from the network needs an account that has its receiver."""
    with pytest.raises(FiledropError, match="no account of this sandbox receives for 0192:2"):
        arrive(sandbox.store, receiver="0192:2")
    assert list(sandbox.store.document("any").parent.iterdir()) == []


def test_the_time_of_arrival_may_be_told(
    sandbox: Sandbox, login: Login, arrive: Callable[..., int], clock: Clock
) -> None:
    """A message may have been received long ago."""
    long_ago = clock.now.replace(year=2020)
    arrive(sandbox.store, received=long_ago)
    assert login(sandbox).get("/inbox").messages[0]["received"] == "2020-11-20T12:00:00.123+00:00"


def test_a_second_store_on_the_same_folder(
    sandbox: Sandbox, login: Login, arrive: Callable[..., int], tmp_path: Path, clock: Clock
) -> None:
    """Another store, as another process would have it, puts messages into a running sandbox."""
    other = Store(tmp_path / "state", clock=clock)
    msg_no = arrive(other, invoice())
    other.close()
    assert login(sandbox).get("/inbox").msg_nos == [msg_no]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/inbox/{}"), ("GET", "/outbox/{}"), ("GET", "/messages/{}/xml-document"), ("POST", "/inbox/{}/read")],
)
def test_numbers(either: Sandbox, login: Login, arrive: Callable[..., int], method: str, path: str) -> None:
    """An unknown number, and another account's, is 204; what is no number of a message is 400 and repeated."""
    client = login(either)
    (another,) = login(either, FJORD).post().msg_nos
    theirs = arrive(either.store, receiver=FJORD.participants[0])
    for msg_no in (4711, another, theirs):
        answer = client.ask(method, path.format(msg_no))
        assert (answer.status, answer.body) == (204, b"")
    for msg_no in ("x", "1x", "99999999999999999999", "1.0", "0", "-1"):
        answer = client.ask(method, path.format(msg_no))
        assert (answer.status, answer.headers["Content-Type"]) == (400, "text/plain;charset=UTF-8")
        assert answer.text == f"Invalid message number '{msg_no}'"
    assert len(either.store.inbox(FJORD.name)) == 1


def test_the_wrong_direction(either: Sandbox, login: Login, arrive: Callable[..., int]) -> None:
    """A sent message is 404 in the inbox, a received one 204 in the outbox."""
    client = login(either)
    (sent,) = client.post().msg_nos
    assert client.get(f"/inbox/{sent}").status == 404
    assert client.ask("POST", f"/inbox/{sent}/read").status == 404
    assert client.get(f"/outbox/{arrive(either.store)}").status == 204


def test_content_of_an_unknown_message(sandbox: Sandbox) -> None:
    """KeyError for a number that the store doesn't know."""
    with pytest.raises(KeyError):
        sandbox.store.content(4711)
