"""What the field notes tell of real servers, where it differs from the interface document."""

from __future__ import annotations

import http.client
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from support.documents import BILLING_PROCESS, INVOICE_ID, invoice

from filedrop.sandbox import NAMESPACED

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.client import Clock, Login, Start

    from filedrop.sandbox import Sandbox, SandboxAccount


def arrive(sandbox: Sandbox, receiver: str, **changes: object) -> int:
    """A message for `receiver` comes in from the network."""
    header = {"sender": "0192:1", "document_id": INVOICE_ID, "process_id": BILLING_PROCESS, "content": b"<a/>"}
    return sandbox.store.receive(receiver=receiver, **header | changes)


def test_inbox_and_outbox_have_no_pages(quirky: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """Only the 25 oldest unread are shown, there is no navigation, and index is ignored, until some are read."""
    msg_nos = [arrive(quirky, acme.participants[0]) for _ in range(26)]
    client = login(quirky)
    for path in ("/inbox", "/inbox?index=2", "/inbox?index=x"):
        answer = client.get(path)
        assert answer.msg_nos == msg_nos[:25]
        assert answer.xml.find("navigation") is None
    assert client.get("/outbox").xml.find("navigation") is None
    client.ask("POST", f"/inbox/{msg_nos[3]}/read")
    assert client.get("/inbox").msg_nos == msg_nos[:3] + msg_nos[4:]
    assert client.get("/messages?index=2").msg_nos == msg_nos[25:]


def test_no_namespace(start: Start, login: Login, *, quirks: bool) -> None:
    """The interface has no namespace, so the answers have none; a sandbox for tests may be told to use one."""
    client = login(start(quirks=quirks))
    posted = client.post()
    paths = ("/outbox", f"/outbox/{posted.msg_nos[0]}", "/inbox", "/messages", "/statistics", "/directory/0192:1/Order")
    answers = [posted, *map(client.get, paths)]
    assert not [answer.body for answer in answers if b"xmlns" in answer.body]
    named = login(start(dialect=NAMESPACED)).get("/inbox")
    assert b'<inbox-query-response version="1.0" xmlns="urn:filedrop:sandbox:access-point">' in named.body


def test_names_and_shape(sandbox: Sandbox, quirky: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """No declaration, a single message right below the root, elements that the document doesn't have."""
    documented = login(sandbox).get("/inbox").body
    assert documented.startswith(b"<?xml")
    assert b"<messages" in documented
    client = login(quirky)
    msg_no = arrive(quirky, acme.participants[0])
    listed, single = client.get("/inbox"), client.get(f"/inbox/{msg_no}")
    assert listed.body.startswith(b"<inbox-query-response version=")
    assert b"xmlns" not in listed.body
    assert [child.tag for child in listed.xml] == ["messages"]
    assert [child.tag for child in single.xml] == ["message"]
    header = next(single.xml.iter("peppol-header"))
    names = ["sender", "receiver", "channel", "document-type", "document-id", "process-name", "process-id"]
    assert [leaf.tag for leaf in header] == names
    assert header.findtext("document-type") == "Invoice"
    facts = next(single.xml.iter("message-meta-data"))
    assert [fact.tag for fact in facts][:3] == ["msg-no", "accountId", "direction"]
    assert facts.findtext("accountId/id") == "1"
    (sent,) = client.post().msg_nos
    assert [child.tag for child in client.get(f"/outbox/{sent}").xml] == ["navigation", "message"]


def test_a_single_message_may_be_wrapped(sandbox: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """By default a message asked for by its number is wrapped like a list."""
    answer = login(sandbox).get(f"/inbox/{arrive(sandbox, acme.participants[0])}")
    assert [child.tag for child in answer.xml] == ["messages"]


def test_order_in_the_metadata(either: Sandbox, login: Login, fjord: SandboxAccount, clock: Clock) -> None:
    """msg-no, direction, received, delivered, uuid, peppol-header."""
    client = login(either)
    client.post()
    clock.forward()
    (facts,) = client.get("/messages").xml.iter("message-meta-data")
    order = ["msg-no", "direction", "received", "delivered", "uuid", "peppol-header"]
    assert [fact.tag for fact in facts if fact.tag != "accountId"] == order
    (facts,) = login(either, fjord).get("/inbox").xml.iter("message-meta-data")
    assert [fact.tag for fact in facts if fact.tag != "accountId"] == [*order[:3], *order[4:]]


def test_read_without_delivered(quirky: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """The answer to POST read lacks `delivered`; the message has it all the same."""
    msg_no = arrive(quirky, acme.participants[0])
    client = login(quirky)
    assert "delivered" not in client.ask("POST", f"/inbox/{msg_no}/read").messages[0]
    assert "delivered" in client.get(f"/inbox/{msg_no}").messages[0]


def test_times_uuid_and_links(quirky: Sandbox, login: Login) -> None:
    """No milliseconds, another offset; a plain uuid from the first; links say https, whatever it speaks."""
    answer = login(quirky).post()
    (message,) = answer.messages
    assert message["received"] == "2026-11-20T13:00:00+01:00"
    assert str(UUID(message["uuid"])) == message["uuid"]
    host = urlsplit(quirky.base_url).netloc
    for link in (message["self"], message["xml-document"], answer.headers["Location"]):
        assert link.startswith(f"https://{host}/")


def test_links_name_the_host_that_was_asked(either: Sandbox, login: Login) -> None:
    """Behind a proxy, links name the Host of the request."""
    answer = login(either).ask("GET", "/messages", Host="front.example:8443")
    assert answer.status == 200
    login(either).post()
    (message,) = login(either).ask("GET", "/messages", Host="front.example:8443").messages
    assert urlsplit(message["self"]).netloc == "front.example:8443"


def test_the_day_is_the_servers(quirky: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """`sent` means a day of the server's own time zone; `=>` is refused, `>=` understood."""
    late = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)  # the 21st there
    msg_no = arrive(quirky, acme.participants[0], received=late)
    client = login(quirky)
    assert client.get(f"/messages?sent={quote('=2026-11-20')}").msg_nos == []
    assert client.get(f"/messages?sent={quote('>=2026-11-21')}").msg_nos == [msg_no]
    assert client.get(f"/messages?sent={quote('=>2026-11-21')}").status == 400


def test_a_refusal_in_html(quirky: Sandbox, login: Login) -> None:
    """401 without a login and with a wrong password, both HTML."""
    client = login(quirky, None)
    for credentials in (None, ("acme", "wrong")):
        client.login = credentials
        answer = client.get("/inbox")
        assert (answer.status, answer.headers["Content-Type"]) == (401, "text/html;charset=UTF-8")
        assert answer.text.startswith("<html>")


def test_bad_requests_claim_an_encoding(sandbox: Sandbox, quirky: Sandbox, login: Login) -> None:
    """A 400 for a number or a search carries `Content-Encoding: UTF-8`, other answers don't; by default none does."""
    client = login(quirky)
    for answer in (client.get("/inbox/x"), client.get("/messages?index=0"), client.get("/messages?sent=x")):
        assert (answer.status, answer.headers["Content-Encoding"]) == (400, "UTF-8")
    upload = client.post(b"no XML")
    assert (upload.status, upload.headers["Content-Encoding"]) == (400, None)
    assert client.get("/inbox").headers["Content-Encoding"] is None
    assert login(sandbox).get("/inbox/x").headers["Content-Encoding"] is None


def test_a_fault_of_the_server(either: Sandbox, login: Login, *, quirks: bool) -> None:
    """A fault during an upload is 500 by default, and an empty 400 that says nothing by the notes; elsewhere 500."""
    client = login(either)
    (msg_no,) = client.post().msg_nos
    either.store.document("x").parent.rename(either.store.document("x").parent.with_name("gone"))
    answer = client.post()
    assert (answer.status, answer.text) == ((400, "") if quirks else (500, "Unknown server error occurred."))
    download = client.get(f"/messages/{msg_no}/xml-document")
    if not quirks:
        assert (download.status, download.text) == (500, "Unknown server error occurred.")


def test_ids_show_only_at_transmission(quirky: Sandbox, login: Login, clock: Clock) -> None:
    """Any text is taken for an id, but none is not; the transfer of a wrong one fails."""
    client = login(quirky)
    wrong = {"DocumentID": "Invoice", "ProcessID": "two words", "SenderID": "acme", "RecipientID": "fjord"}
    for field, value in wrong.items():
        assert client.post(**{field: value}).status == 201
    refused = client.post(DocumentID=None)
    assert (refused.status, refused.text) == (400, "DocumentId required")
    assert len(client.get("/outbox").messages) == 4
    clock.forward()
    assert client.get("/outbox").messages == []
    assert all("delivered" not in message for message in client.get("/messages").messages)


def test_text_that_xml_cannot_hold(quirky: Sandbox, login: Login) -> None:
    """An id with control characters doesn't break the lists that tell it."""
    assert login(quirky).post(DocumentID="urn:\x00\x1bx").messages[0]["document-id"] == "urn:x"


def test_the_channel_is_overwritten(quirky: Sandbox, login: Login) -> None:
    """ChannelID doesn't come back."""
    assert login(quirky).post(ChannelID="invoices").messages[0]["channel"] == "acme"


@pytest.fixture
def stored(quirky: Sandbox, login: Login) -> Callable[[bytes], bytes]:
    """What the sandbox keeps of a document."""

    def _stored(content: bytes) -> bytes:
        (msg_no,) = login(quirky).post(content).msg_nos
        return quirky.store.content(msg_no)

    return _stored


def canonical(content: bytes) -> str:
    return ET.canonicalize(content.decode("utf-8-sig"), with_comments=True)


@pytest.mark.parametrize(
    "content",
    [
        invoice(),
        b"\xef\xbb\xbf" + invoice(),
        '<?xml version="1.0"?><!-- før --><a  x="1&#10;2 &lt;&quot;\'" y=\'"\'>'
        "<b/><?do  it ?>]]&gt;&#13;\r\n<![CDATA[<ø&>]]></a>".encode(),
        b'<!DOCTYPE a [<!ENTITY e "<b>text</b>">]><a>&e;</a>',
        b'<p:a xmlns:p="urn:p" xmlns="urn:q" p:x="1" xml:lang="nb"><b xmlns=""/></p:a>',
        b"<a>" + ("æøå€😀" * 40_000).encode() + b"</a>",
    ],
    ids=["invoice", "byte order mark", "everything", "entity", "namespaces", "characters across pieces"],
)
def test_documents_are_written_anew(stored: Callable[[bytes], bytes], content: bytes) -> None:
    """What comes back says the same in other bytes."""
    assert canonical(stored(content)) == canonical(content)
    assert stored(content) != content


def test_the_declaration_is_ignored(stored: Callable[[bytes], bytes], quirky: Sandbox, login: Login) -> None:
    """An upload is read as UTF-8: ISO-8859-1 loses its letters, UTF-16 can't be parsed."""
    text = '<?xml version="1.0" encoding="{}"?><a>Blåbær</a>'
    lost = stored(text.format("ISO-8859-1").encode("iso-8859-1"))
    assert ET.fromstring(lost).text == "Bl\ufffdb\ufffdr"  # noqa: S314 - the sandbox's own answer
    kept = stored(text.format("ISO-8859-1").encode())
    assert ET.fromstring(kept).text == "Blåbær"  # noqa: S314 - the sandbox's own answer
    answer = login(quirky).post(text.format("UTF-16").encode("utf-16"))
    assert (answer.status, answer.text) == (400, "Unable to parse the XML document")


def test_utf_16_by_default(sandbox: Sandbox, login: Login) -> None:
    """By default an upload is read as it declares itself."""
    content = '<?xml version="1.0" encoding="UTF-16"?><a>Blåbær</a>'.encode("utf-16")
    (msg_no,) = login(sandbox).post(content).msg_nos
    assert sandbox.store.content(msg_no) == content


@pytest.fixture
def redirecting(start: Start, *, quirks: bool) -> Sandbox:
    """A sandbox of each dialect, in turn, whose documents are at another host."""
    return start(quirks=quirks, oddities=["document-elsewhere"])


def test_the_download_lies_elsewhere(redirecting: Sandbox, login: Login, clock: Clock) -> None:
    """303 to another host, by a link that takes no credentials, and not for long."""
    client = login(redirecting)
    (msg_no,) = client.post().msg_nos
    path = f"/messages/{msg_no}/xml-document"
    answer = client.get(path)
    link = urlsplit(answer.headers["Location"])
    here = urlsplit(client.base_url)
    assert answer.status == 303
    assert (link.scheme, link.hostname, link.port) == ("http", "localhost", here.port)

    stranger = login(redirecting, None)
    download = stranger.get(link.path)
    assert (download.status, download.body) == (200, redirecting.store.content(msg_no))
    assert download.headers["Content-Type"] == "application/xml;charset=UTF-8"
    assert client.get(link.path).status == 400, "it refuses credentials"
    assert stranger.get(link.path[:-1]).status == 403
    back = client.ask("GET", path, Host=f"localhost:{here.port}").headers["Location"]
    assert urlsplit(back).hostname == "127.0.0.1"

    clock.forward(timedelta(seconds=61))
    assert stranger.get(link.path).status == 403, "it has expired"
    assert stranger.get(urlsplit(client.get(path).headers["Location"]).path).status == 200


def test_the_other_host_answers(redirecting: Sandbox, login: Login) -> None:
    """The redirect can be followed by its own name."""
    client = login(redirecting)
    (msg_no,) = client.post().msg_nos
    link = urlsplit(client.get(f"/messages/{msg_no}/xml-document").headers["Location"])
    connection = http.client.HTTPConnection(link.netloc, timeout=30)
    connection.request("GET", link.path)
    assert connection.getresponse().read() == redirecting.store.content(msg_no)
    connection.close()


def test_by_default_nothing_lies_elsewhere(either: Sandbox, login: Login) -> None:
    """Without the oddity there is no such address."""
    assert login(either).get("/blobs/x").status == 404


def test_the_directory_has_no_body(sandbox: Sandbox, quirky: Sandbox, login: Login, fjord: SandboxAccount) -> None:
    """A connected recipient is 200 with nothing; by default an empty directory-response."""
    path = f"/directory/{fjord.participants[0]}"
    assert login(quirky).get(path).body == b""
    assert login(sandbox).get(path).xml.tag == "directory-response"


def test_statistics_in_other_names(quirky: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """snake_case attributes, and one that the document doesn't know."""
    arrive(quirky, acme.participants[0])
    counts = login(quirky).get("/statistics").xml.find("account/messages")
    assert counts.find("in").attrib == {
        "total": "1",
        "undelivered": "1",
        "last_downloaded": "",
        "oldest_undelivered": "2026-11-20T13:00:00+01:00",
    }
    assert counts.find("out").attrib == {"total": "0", "undelivered": "0", "last_sent": "", "oldest_undelivered": ""}
