"""POST and GET /outbox, and the network behind them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

if TYPE_CHECKING:
    from sandbox.client import Clock, Login

    from filedrop.sandbox import Sandbox, SandboxAccount

DOCUMENT_ID = "urn:x::Thing##custom::1"


def test_a_posted_document_is_a_message_in_the_outbox(
    either: Sandbox, login: Login, acme: SandboxAccount, fjord: SandboxAccount
) -> None:
    """The answer to an upload is 201, and its Location leads to the message's status."""
    client = login(either)
    answer = client.post()
    (message,) = answer.messages
    location = answer.headers["Location"]
    assert answer.status == 201
    assert answer.headers["Content-Type"] == "application/xml"
    assert (answer.xml.tag, answer.xml.get("version")) == ("outbox-post-response", "1.0")
    assert message["direction"] == "OUT"
    assert (message["sender"], message["receiver"]) == (acme.participants[0], fjord.participants[0])
    assert message["document-id"] == client.form["DocumentID"]
    assert message["process-id"] == client.form["ProcessID"]
    assert message["self"] == location
    assert message["xml-document"].endswith(f"/messages/{message['msg-no']}/xml-document")
    assert "delivered" not in message
    assert location.endswith(f"/outbox/{message['msg-no']}")
    assert client.get(f"/outbox/{message['msg-no']}").messages == answer.messages
    assert client.get("/outbox").messages == answer.messages


def test_channel_is_optional_and_comes_back(sandbox: Sandbox, login: Login) -> None:
    """ChannelID may be left out; given, it comes back as it was."""
    assert login(sandbox).post(ChannelID=None).messages[0]["channel"] == ""
    assert login(sandbox).post(ChannelID="blå & grønn").messages[0]["channel"] == "blå & grønn"


def test_a_new_message_has_no_uuid(sandbox: Sandbox, login: Login) -> None:
    """The uuid is absent on a freshly queued message, and times have milliseconds and an offset."""
    (message,) = login(sandbox).post().messages
    assert "uuid" not in message
    assert message["received"] == "2026-11-20T12:00:00.123+00:00"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("DocumentID", None, "DocumentId required"),
        ("DocumentID", "", "DocumentId required"),
        ("DocumentID", "Invoice", "Wrong documentId value: Invoice"),
        ("DocumentID", "urn:x::Invoice::2.1", "Wrong documentId value: urn:x::Invoice::2.1"),
        ("DocumentID", "urn:x##custom::2.1", "Wrong documentId value: urn:x##custom::2.1"),
        ("DocumentID", "urn:x::Invoice##custom", "Wrong documentId value: urn:x::Invoice##custom"),
        ("DocumentID", "urn:x::In voice##custom::1", "Wrong documentId value: urn:x::In voice##custom::1"),
        ("ProcessID", None, "ProcessId required"),
        ("ProcessID", "two words", "Wrong processId value: two words"),
        ("SenderID", None, "Wrong senderId value: "),
        ("SenderID", "987654325", "Wrong senderId value: 987654325"),
        ("SenderID", "192:987654325", "Wrong senderId value: 192:987654325"),
        ("RecipientID", None, "Wrong recipientId value: "),
        ("RecipientID", "0192:", "Wrong recipientId value: 0192:"),
    ],
)
def test_a_wrong_id_is_refused_and_repeated(
    sandbox: Sandbox, login: Login, field: str, value: str | None, text: str
) -> None:
    """400 with a text that says which id is wrong and repeats it; nothing is queued."""
    client = login(sandbox)
    answer = client.post(**{field: value})
    assert (answer.status, answer.text) == (400, text)
    assert answer.headers["Content-Type"] == "text/plain;charset=UTF-8"
    assert client.get("/messages").messages == []


def test_any_legal_id_is_taken(sandbox: Sandbox, login: Login) -> None:
    """Any company may be sender, and any document type that is legal in form is taken."""
    answer = login(sandbox).post(SenderID="9930:DE123", RecipientID="0088:1", DocumentID=DOCUMENT_ID, ProcessID="urn:p")
    assert answer.status == 201


@pytest.mark.parametrize("content", [b"", b"no XML", b"<a><b></a>", b"%PDF-1.7", b"<a/><b/>", b"<a>&undefined;</a>"])
def test_what_is_no_xml_is_refused(either: Sandbox, login: Login, content: bytes) -> None:
    """400 for a document that can't be parsed; nothing is queued and nothing stays on disk."""
    client = login(either)
    answer = client.post(content)
    assert (answer.status, answer.text) == (400, "Unable to parse the XML document")
    assert client.get("/messages").messages == []
    assert list(either.store.document("any").parent.iterdir()) == []


@pytest.mark.parametrize("encoding", ["shift_jis", "no-such-encoding"])
def test_an_encoding_that_is_unknown_is_refused(sandbox: Sandbox, login: Login, encoding: str) -> None:
    """400 for a document that declares an encoding that can't be read."""
    assert login(sandbox).post(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode()).status == 400


def test_an_upload_without_a_file_or_a_form_is_refused(either: Sandbox, login: Login) -> None:
    """400 when the form has no file, 415 when the body is no multipart form."""
    client = login(either)
    form = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in client.form.items()
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    without_file = client.ask("POST", "/outbox", f"{form}--b--\r\n".encode(), **headers)
    assert (without_file.status, without_file.text) == (400, "Unable to parse the XML document")
    for content_type in ("application/xml", "application/x-www-form-urlencoded"):
        assert client.ask("POST", "/outbox", invoice(), **{"Content-Type": content_type}).status == 415


def test_delivery(either: Sandbox, login: Login, clock: Clock, acme: SandboxAccount, fjord: SandboxAccount) -> None:
    """After `deliver_after` the message leaves the outbox as delivered, and is in the receiver's inbox."""
    sender, receiver = login(either), login(either, fjord)
    (posted,) = sender.post().messages
    clock.forward(timedelta(seconds=59, milliseconds=999))
    assert sender.get("/outbox").msg_nos == [int(posted["msg-no"])]
    assert receiver.get("/inbox").messages == []

    clock.forward(timedelta(milliseconds=1))
    assert sender.get("/outbox").messages == []
    (out,) = sender.get(f"/outbox/{posted['msg-no']}").messages
    (arrived,) = receiver.get("/inbox").messages
    assert out["delivered"] == arrived["received"]
    assert out["uuid"] == arrived["uuid"]
    assert arrived["direction"] == "IN"
    assert arrived["msg-no"] != posted["msg-no"]
    assert {name: arrived[name] for name in ("sender", "receiver", "document-id", "process-id", "channel")} == {
        name: out[name] for name in ("sender", "receiver", "document-id", "process-id", "channel")
    }
    assert arrived["self"].endswith(f"/inbox/{arrived['msg-no']}")
    assert either.store.content(int(arrived["msg-no"])) == either.store.content(int(posted["msg-no"]))
    (told,) = either.store.sent(acme.name)
    assert (told.msg_no, told.delivered) == (int(posted["msg-no"]), clock.now)
    assert [message.msg_no for message in either.store.inbox(fjord.name)] == [int(arrived["msg-no"])]
    assert either.store.inbox(acme.name) == []


def test_a_receiver_that_nobody_has(either: Sandbox, login: Login, clock: Clock) -> None:
    """The message disappears from the outbox without ever being delivered."""
    client = login(either)
    (posted,) = client.post(RecipientID="0192:999999999").messages
    clock.forward()
    assert client.get("/outbox").messages == []
    for path in (f"/outbox/{posted['msg-no']}", "/messages"):
        (dead,) = client.get(path).messages
        assert "delivered" not in dead
    clock.forward(timedelta(days=9))
    assert "delivered" not in client.get("/messages").messages[0]


def test_participants_are_compared_without_case(
    sandbox: Sandbox, login: Login, clock: Clock, fjord: SandboxAccount
) -> None:
    """`9930:de1` reaches the account that has `9930:DE1`."""
    sandbox.store.connect({"9930:DE1": fjord.name})
    login(sandbox).post(RecipientID="9930:de1")
    clock.forward()
    assert len(login(sandbox, fjord).get("/inbox").messages) == 1


def test_sender_and_receiver_on_one_account(either: Sandbox, login: Login, clock: Clock, acme: SandboxAccount) -> None:
    """One document is then an OUT and an IN message of that account."""
    client = login(either)
    client.post(RecipientID=acme.participants[1])
    clock.forward()
    out, arrived = client.get("/messages").messages
    assert (out["direction"], arrived["direction"]) == ("OUT", "IN")
    assert out["uuid"] == arrived["uuid"]
    assert client.get("/inbox").messages[0]["msg-no"] == arrived["msg-no"]


def test_the_same_document_twice(either: Sandbox, login: Login) -> None:
    """Two uploads are two messages: nothing is recognised."""
    client = login(either)
    assert client.post().msg_nos != client.post().msg_nos
    assert len(client.get("/outbox").messages) == 2
