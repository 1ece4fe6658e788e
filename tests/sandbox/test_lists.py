"""Pages, their navigation, and the search in /messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.client import Answer, Clock, Login

    from filedrop.sandbox import Sandbox, SandboxAccount

HEADER = {"sender": "0192:1", "document_id": "urn:x::A##b::1", "process_id": "urn:p", "content": b"<a/>"}


@pytest.fixture
def arrivals(acme: SandboxAccount) -> Callable[[Sandbox, int], list[int]]:
    """`arrivals(sandbox, 60)`: so many messages in the inbox; their numbers."""

    def _arrivals(sandbox: Sandbox, count: int) -> list[int]:
        return [sandbox.store.receive(receiver=acme.participants[0], **HEADER) for _ in range(count)]

    return _arrivals


def links(answer: Answer) -> dict[str, str]:
    """The links of a page; one that has none has no `navigation`."""
    navigation = answer.xml.find("navigation")
    assert navigation is None or len(navigation)
    return {link.tag: link.text for link in navigation if link.text} if navigation is not None else {}


@pytest.mark.parametrize("path", ["/inbox", "/messages", "/messages?direction=IN&sender='0192%3A1'"])
def test_pages(sandbox: Sandbox, login: Login, arrivals: Callable[[Sandbox, int], list[int]], path: str) -> None:
    """25 messages a page, oldest first; `next` and `previous` lead through all of them and keep the search."""
    msg_nos = arrivals(sandbox, 60)
    client = login(sandbox)
    seen, pages = [], [client.get(path)]
    assert "previous" not in links(pages[0])
    while "next" in links(pages[-1]):
        link = urlsplit(links(pages[-1])["next"])
        assert f"{link.scheme}://{link.netloc}" == sandbox.base_url
        pages.append(client.get(f"{link.path}?{link.query}"))
        back = urlsplit(links(pages[-1])["previous"])
        assert client.get(f"{back.path}?{back.query}").body == pages[-2].body
        assert parse_qs(link.query).keys() - {"index"} == parse_qs(urlsplit(path).query).keys()
    for page in pages:
        seen += page.msg_nos
    assert [len(page.messages) for page in pages] == [25, 25, 10]
    assert seen == msg_nos


def test_a_full_last_page_has_no_next(
    sandbox: Sandbox, login: Login, arrivals: Callable[[Sandbox, int], list[int]]
) -> None:
    """Exactly 25 messages are one page."""
    arrivals(sandbox, 25)
    assert links(login(sandbox).get("/inbox")) == {}


def test_the_outbox_has_pages(sandbox: Sandbox, login: Login) -> None:
    """The outbox is paged like the inbox."""
    client = login(sandbox)
    for _ in range(26):
        assert client.post().status == 201
    assert len(client.get("/outbox").messages) == 25
    assert len(client.get("/outbox?index=2").messages) == 1


def test_index(either: Sandbox, login: Login, arrivals: Callable[[Sandbox, int], list[int]]) -> None:
    """The first page is 1, which blank and absent mean too; past the end there are no messages and no next page."""
    arrivals(either, 30)
    client = login(either)
    first = client.get("/messages")
    assert len(first.messages) == 25
    assert client.get("/messages?index=1").messages == client.get("/messages?index=").messages == first.messages
    assert len(client.get("/messages?index=2").messages) == 5
    beyond = client.get("/messages?index=3")
    assert (beyond.status, beyond.messages) == (200, [])
    assert "next" not in links(beyond)
    for wrong in ("0", "-1", "x", "1.5", "9999999999"):
        assert client.get(f"/messages?index={wrong}").status == 400


def test_an_empty_list(either: Sandbox, login: Login) -> None:
    """Nothing to list is 200 with an empty list."""
    for path, root in (("inbox", "inbox"), ("outbox", "outbox"), ("messages", "messages")):
        answer = login(either).get(f"/{path}")
        assert (answer.status, answer.xml.tag, answer.messages) == (200, f"{root}-query-response", [])
        assert answer.xml.get("version") == "1.0"


DAYS = {
    "=2026-11-20": ["20 early", "20 late"],
    "<2026-11-20": ["19"],
    "<=2026-11-20": ["19", "20 early", "20 late"],
    ">2026-11-20": ["21"],
    ">=2026-11-20": ["20 early", "20 late", "21"],
    "=>2026-11-20": ["20 early", "20 late", "21"],
    "=2026-11-18": [],
}


@pytest.mark.parametrize("written", ["{operator}{day}", "'{operator}{day}'", "{operator}'{day}'"])
@pytest.mark.parametrize("sent", DAYS)
def test_search_by_day(sandbox: Sandbox, login: Login, acme: SandboxAccount, sent: str, written: str) -> None:
    """`sent` compares the day of `received`, with every operator, quoted or not."""
    for name, received in (
        ("19", datetime(2026, 11, 19, 23, 59, 59, 999000, tzinfo=UTC)),
        ("20 early", datetime(2026, 11, 20, tzinfo=UTC)),
        ("20 late", datetime(2026, 11, 20, 23, 59, 59, 999000, tzinfo=UTC)),
        ("21", datetime(2026, 11, 21, tzinfo=UTC)),
    ):
        sandbox.store.receive(receiver=acme.participants[0], channel=name, received=received, **HEADER)
    value = written.format(operator=sent[:-10], day=sent[-10:])
    answer = login(sandbox).get(f"/messages?sent={quote(value)}")
    assert [message["channel"] for message in answer.messages] == DAYS[sent]


@pytest.mark.parametrize(
    "sent", ["2026-11-20", "=2026-13-01", "==2026-11-20", "=20-11-2026", "=today", "<=9999-12-31", "'"]
)
def test_a_day_that_is_none(either: Sandbox, login: Login, sent: str) -> None:
    """400 for what is no operator with a day."""
    answer = login(either).get(f"/messages?sent={quote(sent)}")
    assert (answer.status, answer.text) == (400, f"Wrong sent value: {sent}")


def test_search_by_party_and_direction(
    either: Sandbox, login: Login, acme: SandboxAccount, fjord: SandboxAccount, clock: Clock
) -> None:
    """sender, receiver and direction restrict the list in any combination; blank or absent they don't."""
    client = login(either)
    one, two = acme.participants
    (first,) = client.post().msg_nos
    (second,) = client.post(SenderID=two, RecipientID=one).msg_nos
    clock.forward()
    third = second + 2  # after both deliveries: fjord's arrival, then acme's own
    for query, expected in (
        ("", [first, second, third]),
        ("direction=OUT", [first, second]),
        ("direction='IN'", [third]),
        (f"sender={two}", [second, third]),
        (f"sender='{quote(two)}'", [second, third]),
        (f"receiver={fjord.participants[0]}", [first]),
        (f"receiver='{one}'&direction=OUT", [second]),
        (f"sender={one}&receiver={one}", []),
        ("sender=&receiver=&direction=&sent=", [first, second, third]),
        ("sender=0192:98765432", []),
        ("colour=blue", [first, second, third]),
    ):
        assert client.get(f"/messages?{query}").msg_nos == expected, query
    assert client.get("/messages?direction=UP").status == 400
