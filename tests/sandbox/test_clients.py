"""Real clients' sequences of requests work with the sandbox unchanged, in both dialects; see `sequences`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from sandbox.sequences import MESSAGE, SEQUENCES
from support.documents import BILLING_PROCESS, INVOICE_ID, invoice

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from sandbox.client import Answer, Client, Clock, Login
    from sandbox.sequences import Step

    from filedrop.sandbox import Sandbox, SandboxAccount

DOCUMENT = invoice("received")


def arrive(sandbox: Sandbox, acme: SandboxAccount) -> int:
    """A message comes in from the network."""
    return sandbox.store.receive(
        sender="0192:1", receiver=acme.participants[0], document_id=INVOICE_ID, process_id=BILLING_PROCESS,
        content=DOCUMENT,
    )  # fmt: skip


def asked(client: Client, step: Step, kept: dict[str, str]) -> Answer:
    method, address = step.ask.format_map(kept).split(" ", 1)
    link = urlsplit(address)  # links may name another scheme or port (field notes, Links)
    path = f"{link.path}?{link.query}" if link.query else link.path
    if step.form is not None:
        return client.post(path=path, **step.form)
    body = DOCUMENT if method == "POST" and step.headers else None
    return client.ask(method, path, body, **step.headers)


def replay(client: Client, steps: list[Step], clock: Clock, dialect: str) -> None:
    kept: dict[str, str] = {}
    for step in steps:
        if step.only not in ("", dialect):
            continue
        if step.wait:
            clock.forward()
        answer = asked(client, step, kept)
        where = f"{step.ask}: {answer.body!r}"
        assert answer.status == step.status, where
        assert (answer.headers["Content-Type"] or "") == step.type, where
        assert step.text is None or answer.text == step.text, where
        assert not step.document or answer.body == DOCUMENT, where
        assert step.count is None or len(answer.messages) == step.count, where
        for path, text in step.has.items():
            assert answer.xml.findtext(path) == (text and text.format_map(kept)), f"{path} in {where}"
        for name, path in step.keep.items():
            kept[name] = answer.xml.findtext(path) or ""
            assert kept[name], f"{path} in {where}"


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_clients_sequence(
    either: Sandbox, login: Login, clock: Clock, acme: SandboxAccount, name: str, *, quirks: bool
) -> None:
    """Counts, lists, downloads, marks, uploads and searches are answered as the clients need it."""
    arrive(either, acme)
    replay(login(either), SEQUENCES[name], clock, "Q" if quirks else "S")


def test_twenty_six_messages(either: Sandbox, login: Login, acme: SandboxAccount, *, quirks: bool) -> None:
    """The count tells more than a page shows; `navigation` is there only with a link, and in Q in /messages alone."""
    for _ in range(26):
        arrive(either, acme)
    client = login(either)
    assert client.get("/inbox/count").text == client.get("/messages/count").text == "26"
    for path, has_links in (("/inbox", not quirks), ("/messages", True), ("/messages/", True), ("/outbox", False)):
        navigation = client.get(path).xml.find("navigation")
        assert (navigation is not None) is has_links, path
        assert navigation is None or [link.tag for link in navigation] == ["next"]


def test_counts_are_the_accounts_own(
    either: Sandbox, login: Login, acme: SandboxAccount, fjord: SandboxAccount
) -> None:
    """Another account's messages don't count, and what was read counts in /messages alone."""
    number = arrive(either, acme)
    arrive(either, acme)
    login(either).ask("POST", f"/inbox/{number}/read")
    assert [login(either).get(f"/{name}/count").text for name in ("inbox", "messages")] == ["1", "2"]
    assert [login(either, fjord).get(f"/{name}/count").text for name in ("inbox", "messages")] == ["0", "0"]


def test_documents_in_the_other_box(either: Sandbox, login: Login, acme: SandboxAccount) -> None:
    """A received document isn't in the outbox (204), a sent one isn't in the inbox (404)."""
    client = login(either)
    (sent,) = client.post().msg_nos
    assert client.get(f"/inbox/{sent}/xml-document").status == 404
    assert client.get(f"/outbox/{arrive(either, acme)}/xml-document").status == 204


def test_a_schema_that_wants_an_order(
    either: Sandbox, login: Login, clock: Clock, acme: SandboxAccount, *, quirks: bool
) -> None:
    """In each answer with a message, every element is where a strict schema has it."""
    client = login(either)
    answers = [client.post()]
    (sent,) = answers[0].msg_nos
    number = arrive(either, acme)
    paths = ["/outbox", f"/outbox/{sent}", "/inbox", f"/inbox/{number}", f"/messages/{number}"]
    answers += map(client.get, paths)
    clock.forward()
    answers += [client.ask("POST", f"/inbox/{number}/read"), client.get("/messages"), client.get(f"/outbox/{sent}")]
    for answer in answers:
        assert answer.xml.get("version") == "1.0"
        assert answer.messages
        for message in answer.xml.iter("message"):
            assert_in_order(message, "Q" if quirks else "S")


def assert_in_order(message: ET.Element, dialect: str) -> None:
    *outer, facts, header = MESSAGE[dialect]
    for element, names in (
        (message, outer),
        (message.find("message-meta-data"), facts),
        (message.find("message-meta-data/peppol-header"), header),
    ):
        wanted = "".join(f"({name[1:-1]} )?" if name[0] == "(" else f"{name} " for name in names)
        found = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(wanted, found), (wanted, found)
