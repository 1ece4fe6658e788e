"""What only some servers do (field notes): each oddity alone, in either dialect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from filedrop.cli.sandbox import sandbox
from filedrop.sandbox import ODDITIES

if TYPE_CHECKING:
    from sandbox.client import Clock, Login, Start

    from filedrop.sandbox import SandboxAccount


@pytest.mark.parametrize(
    ("oddity", "later"),
    [
        ("seconds-cut", {False: "2026-11-20T12:00:00.000+00:00", True: "2026-11-20T13:00:00.000+01:00"}),
        ("seconds-rounded", {False: "2026-11-20T12:00:01.000+00:00", True: "2026-11-20T13:00:01.000+01:00"}),
    ],
)
def test_whole_seconds(start: Start, login: Login, oddity: str, later: dict[bool, str], *, quirks: bool) -> None:
    """The 201 has milliseconds, all later answers the seconds of a database."""
    client = login(start(quirks=quirks, oddities=[oddity]))
    (posted,) = client.post().messages
    assert posted["received"][19:23] == ".123"
    for path in ("/outbox", f"/outbox/{posted['msg-no']}", "/messages", f"/messages/{posted['msg-no']}"):
        (message,) = client.get(path).messages
        assert message["received"] == later[quirks]


def test_another_offset(start: Start, login: Login, *, quirks: bool) -> None:
    """Later answers have the local time of the 201 with another offset."""
    client = login(start(quirks=quirks, oddities=["another-offset"]))
    (posted,) = client.post().messages
    (later,) = client.get("/outbox").messages
    assert posted["received"][:-6] == later["received"][:-6]
    assert (posted["received"][-6:], later["received"][-6:]) == ("+01:00" if quirks else "+00:00", "+02:00")


def test_a_lost_document_is_empty(start: Start, login: Login, *, quirks: bool) -> None:
    """A document whose file is gone is 200 with 0 bytes; the others can be had."""
    sandbox = start(quirks=quirks, oddities=["lost-document-empty"])
    client = login(sandbox)
    (lost,), (kept,) = client.post().msg_nos, client.post(b"<a/>").msg_nos
    content = sandbox.store.content(kept)
    (uuid,) = (message.uuid for message in sandbox.store.sent("acme") if message.msg_no == lost)
    sandbox.store.document(uuid).unlink()
    answer = client.get(f"/messages/{lost}/xml-document")
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "0")
    assert client.get(f"/messages/{kept}/xml-document").body == content


def test_a_fault_after_storing(start: Start, login: Login, *, quirks: bool) -> None:
    """An upload ends in an empty 400, and its message is there all the same."""
    client = login(start(quirks=quirks, oddities=["fault-after-storing"]))
    answer = client.post()
    assert (answer.status, answer.text) == (400, "")
    assert len(client.get("/outbox").messages) == 1


def test_an_encoded_refusal(start: Start, login: Login, *, quirks: bool) -> None:
    """A 400 at an upload claims `Content-Encoding: UTF-8`."""
    answer = login(start(quirks=quirks, oddities=["refusal-encoded"])).post(b"no XML")
    assert (answer.status, answer.headers["Content-Encoding"]) == (400, "UTF-8")


def test_a_uuid_with_its_prefix(
    start: Start, login: Login, clock: Clock, fjord: SandboxAccount, *, quirks: bool
) -> None:
    """A message has its uuid once it was transferred, as `uuid:...`, at both ends."""
    sandbox = start(quirks=quirks, oddities=["uuid-prefix"])
    client = login(sandbox)
    assert "uuid" not in client.post().messages[0]
    clock.forward()
    (sent,), (arrived,) = client.get("/messages").messages, login(sandbox, fjord).get("/inbox").messages
    assert sent["uuid"] == arrived["uuid"]
    assert sent["uuid"].startswith("uuid:")


def test_the_help_has_every_oddity() -> None:
    """The command's help says of each oddity what it does, in their order."""
    shown = (sandbox.help or "").partition("What each --oddity does:")[2]
    assert re.findall(r"^ +([a-z-]+) {2,}\S", shown, re.MULTILINE) == list(ODDITIES)
