"""Logging in, the directory, the statistics, and how the sandbox refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from filedrop.errors import FiledropError
from filedrop.sandbox import SAMPLE_ACCOUNTS, Sandbox, SandboxAccount, parse_account

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.client import Clock, Login

ENDPOINTS = [
    ("POST", "/outbox"),
    ("GET", "/outbox"),
    ("GET", "/outbox/1"),
    ("GET", "/inbox"),
    ("GET", "/outbox/1/xml-document"),
    ("GET", "/inbox/count"),
    ("GET", "/inbox/1"),
    ("GET", "/inbox/1/xml-document"),
    ("POST", "/inbox/1/read"),
    ("GET", "/messages"),
    ("GET", "/messages/count"),
    ("GET", "/messages/1"),
    ("GET", "/messages/1/xml-document"),
    ("GET", "/directory/0192:1"),
    ("GET", "/directory/0192:1/Invoice"),
    ("GET", "/statistics"),
]


@pytest.mark.parametrize(("method", "path"), [*ENDPOINTS, ("GET", "/unknown")])
def test_login_is_needed(either: Sandbox, login: Login, method: str, path: str) -> None:
    """Whatever is asked for without a login, or with that of nobody: 401 with the realm."""
    client = login(either, None)
    for credentials in (None, ("nobody", "acme-secret"), ("", "")):
        client.login = credentials
        answer = client.ask(method, path)
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="PEPPOL AP"'


@pytest.mark.parametrize("header", ["Bearer acme", "Basic", "Basic !!!", "Basic YWNtZQ=="])
def test_a_broken_login(sandbox: Sandbox, login: Login, header: str) -> None:
    """401 for a header that is no Basic login with a password."""
    assert login(sandbox, None).ask("GET", "/inbox", Authorization=header).status == 401


def test_a_wrong_password(sandbox: Sandbox, login: Login) -> None:
    """401 for a wrong password; letters beyond ASCII are read as UTF-8 in the right one."""
    client = login(sandbox)
    client.login = ("fjord", "fjord-secret")
    assert client.get("/inbox").status == 401
    client.login = ("fjord", "fjørd-secret")
    assert client.get("/inbox").status == 200


def test_unknown_paths_and_methods(either: Sandbox, login: Login) -> None:
    """404 and 405, as text."""
    client = login(either)
    for method, path, status in (
        ("GET", "/unknown", 404),
        ("GET", "/messages/1/pdf", 404),
        ("DELETE", "/outbox", 405),
        ("GET", "/inbox/1/read", 405),
    ):
        answer = client.ask(method, path)
        assert (answer.status, answer.headers["Content-Type"]) == (status, "text/plain;charset=UTF-8")


def test_every_answer_has_the_servers_date(either: Sandbox, login: Login) -> None:
    """The Date header tells the sandbox's own clock, in refusals too."""
    for client in (login(either), login(either, None)):
        for method, path in ENDPOINTS:
            assert client.ask(method, path).headers["Date"] == "Fri, 20 Nov 2026 12:00:00 GMT"


def test_a_connected_recipient(either: Sandbox, login: Login, acme: SandboxAccount, fjord: SandboxAccount) -> None:
    """A participant of any account is connected, however its colon is written; others are not; nonsense is 400."""
    client = login(either)
    for participant in (acme.participants[1], fjord.participants[0], fjord.participants[0].replace(":", "%3A")):
        assert client.get(f"/directory/{participant}").status == 200
    for path in ("/directory/0192:999999999", "/directory/0192:999999999/Invoice"):
        answer = client.get(path)
        assert (answer.status, answer.body) == (204, b"")
    for path in ("/directory/999999999", "/directory/999999999/Invoice"):
        answer = client.get(path)
        assert (answer.status, answer.text) == (400, "Wrong participantId value: 999999999")


def test_accepted_documents(either: Sandbox, login: Login, fjord: SandboxAccount) -> None:
    """Under a local name there may be several pairs; under a name that nobody uses there is nothing."""
    client = login(either)
    answer = client.get(f"/directory/{fjord.participants[0]}/Order")
    pairs = {tuple(leaf.text for leaf in pair) for pair in answer.xml.iter("accepted-document-transfer")}
    order = "urn:oasis:names:specification:ubl:schema:xsd:Order-2::Order##urn:fdc:peppol.eu:poacc:trns:order:3::2.1"
    assert answer.xml.tag == "directory-response"
    assert pairs == {
        (order, f"urn:fdc:peppol.eu:poacc:bis:{process}:3")
        for process in ("ordering", "order_only", "advanced_ordering")
    }
    assert client.get(f"/directory/{fjord.participants[0]}/Sonnet").status == 204


def test_what_the_directory_lists_can_be_sent(sandbox: Sandbox, login: Login, fjord: SandboxAccount) -> None:
    """Every pair that the directory offers is legal in an upload."""
    client = login(sandbox)
    names = [
        "Invoice", "CreditNote", "CrossIndustryInvoice", "Order", "OrderResponse", "OrderChange", "OrderCancellation",
             "DespatchAdvice", "Catalogue", "ApplicationResponse"]  # fmt: skip
    for name in names:
        pairs = list(client.get(f"/directory/{fjord.participants[0]}/{name}").xml.iter("accepted-document-transfer"))
        assert pairs, name
        for pair in pairs:
            assert (
                client.post(DocumentID=pair.findtext("DocumentID"), ProcessID=pair.findtext("ProcessID")).status == 201
            )


def test_statistics(sandbox: Sandbox, login: Login, fjord: SandboxAccount, clock: Clock) -> None:
    """Counts each way, and when something was last sent and last downloaded; dates that are none are empty."""
    client, other = login(sandbox), login(sandbox, fjord)
    before = other.get("/statistics").xml.find("account")
    assert before.attrib == {"name": "fjord", "contact_email": "fjord@sandbox.example"}
    assert before.find("messages/in").attrib == {"total": "0", "undelivered": "0", "lastDownloaded": ""}
    client.post()
    client.post(RecipientID="0192:999999999")
    clock.forward()
    other.post()
    (arrived,) = other.get("/inbox").msg_nos
    assert other.get("/statistics").xml.find("account/messages/in").attrib["undelivered"] == "1"
    other.ask("POST", f"/inbox/{arrived}/read")

    sent = client.get("/statistics").xml
    received = other.get("/statistics").xml
    noon, later = "2026-11-20T12:00:00.123+00:00", "2026-11-20T12:01:00.123+00:00"
    assert (sent.tag, sent.get("version")) == ("statistics", "1.0")
    assert sent.find("account/messages").attrib == {"total": "2"}
    assert sent.find("account/messages/out").attrib == {"total": "2", "undelivered": "1", "lastSent": noon}
    assert received.find("account/messages").attrib == {"total": "2"}
    assert received.find("account/messages/in").attrib == {"total": "1", "undelivered": "0", "lastDownloaded": later}
    assert received.find("account/messages/out").attrib == {"total": "1", "undelivered": "1", "lastSent": later}


def test_an_account_is_written_in_one_word() -> None:
    """An account is NAME:PASSWORD:PARTICIPANT[,PARTICIPANT...]; participants have colons of their own."""
    assert parse_account("a:p:0192:1") == SandboxAccount("a", "p", ("0192:1",))
    assert parse_account("a:p:0192:1, 9930:DE:2") == SandboxAccount("a", "p", ("0192:1", "9930:DE:2"))


@pytest.mark.parametrize(
    "text", ["", "a", "a:p", "a:p:", ":p:0192:1", "a::0192:1", "a:p:987654325", "a:p:0192:1,", "a:p:w:0192:1"]
)
def test_an_account_that_is_written_wrongly(text: str) -> None:
    """The complaint shows how to write it."""
    with pytest.raises(ValueError, match="0192:987654325"):
        parse_account(text)


def test_a_company_receives_on_one_account(tmp_path: Path, acme: SandboxAccount) -> None:
    """Two accounts can't have the same participant."""
    twice = SandboxAccount("other", "secret", acme.participants[:1])
    with pytest.raises(FiledropError, match="0192:987654325 is given to the sandbox accounts acme and other"):
        Sandbox(tmp_path, (acme, twice))


def test_sample_accounts_are_norwegian_companies() -> None:
    """The sample organisation numbers have the check digit that modulus 11 asks for."""
    for account in SAMPLE_ACCOUNTS:
        for participant in account.participants:
            scheme, _, number = participant.partition(":")
            weighted = sum(
                int(digit) * weight for digit, weight in zip(number, (3, 2, 7, 6, 5, 4, 3, 2, 1), strict=True)
            )
            assert (scheme, weighted % 11) == ("0192", 0)
