"""Lists, single questions and marks, over a real socket."""

from __future__ import annotations

import itertools
from datetime import date, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from support.scripted import Exchange, Script, Scripted, cut, reply, reset

from filedrop.errors import NoClearAnswer, Unauthorized, Unavailable, WrongAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from filedrop.accesspoint import AccessPoint
    from filedrop.errors import AccessPointError


def page(kind: str, numbers: Iterable[int], navigation: str = "") -> str:
    messages = "".join(
        f"<message><message-meta-data><msg-no>{number}</msg-no></message-meta-data></message>" for number in numbers
    )
    return f"<{kind}-query-response>{navigation}<messages>{messages}</messages></{kind}-query-response>"


def navigation(link: str = "") -> str:
    return f"<navigation>{f'<next>{link}</next>' if link else ''}</navigation>"


def paged(kind: str, count: int, link: str) -> Callable[[Exchange], bool]:
    """A list of `count` messages, 25 a page, whose `next` is `link` with `{}` for the index."""

    def script(exchange: Exchange) -> bool:
        index = int(parse_qs(urlsplit(exchange.request.target).query).get("index", ["1"])[0])
        numbers = range((index - 1) * 25 + 1, min(index * 25, count) + 1)
        more = link.format(index + 1) if index * 25 < count else ""
        return reply(200, page(kind, numbers, navigation(more)))(exchange)

    return script


@pytest.mark.parametrize("verb", ["inbox", "outbox"])
class TestListing:
    def test_pages(self, server: Scripted, access_point: AccessPoint, verb: str) -> None:
        """All pages are read, by links whose scheme and port are wrong."""
        server.on("GET", f"/{verb}", paged(verb, 60, f"https://127.0.0.1/{verb}?index={{}}"))
        listing = getattr(access_point, verb)()
        assert [message.msg_no for message in listing.messages] == list(range(1, 61))
        assert (listing.complete, listing.pages) == (True, 3)

    def test_no_navigation(self, server: Scripted, access_point: AccessPoint, verb: str) -> None:
        """Without navigation a full page may hide more, and says so; one that isn't full is all there is."""
        server.on("GET", f"/{verb}", reply(200, page(verb, range(1, 26))), reply(200, page(verb, range(1, 25))))
        assert getattr(access_point, verb)().complete is False
        assert getattr(access_point, verb)().complete is True

    def test_full_last_page(self, server: Scripted, access_point: AccessPoint, verb: str) -> None:
        """With navigation a full page may well be the last."""
        server.on("GET", f"/{verb}", reply(200, page(verb, range(1, 26), navigation())))
        assert getattr(access_point, verb)().complete is True


def test_foreign_next(server: Scripted, access_point: AccessPoint) -> None:
    """A next page said to be on another host is looked for on base_url: the login goes nowhere else."""
    server.on("GET", "/messages", paged("messages", 30, "https://ap.example.com/messages?index={}"))
    assert len(list(access_point.messages())) == 30
    assert [request.target for request in server.requests] == ["/messages", "/messages?index=2"]


def test_foreign_next_outside(server: Scripted, connect: Callable[..., AccessPoint]) -> None:
    """One outside base_url's path ends the walk with an error."""
    server.on("GET", "/rest/messages", paged("messages", 30, "https://ap.example.com/messages?index={}"))
    with pytest.raises(NoClearAnswer, match="outside base_url"):
        list(connect(server.url + "/rest").messages())


def test_filters(server: Scripted, access_point: AccessPoint) -> None:
    """Day, direction and parties are asked for as every server understands them: the day before, and `>`."""
    server.on("GET", "/messages", reply(200, page("messages", [], navigation())))
    for after in (date(2026, 3, 1), datetime(2026, 3, 1, 23, 59)):  # noqa: DTZ001 - only its day counts
        list(access_point.messages(after=after, direction="OUT", sender="0192:1", receiver="0192:2"))
    query = "/messages?sent=%27%3E2026-02-28%27&sender=%270192%3A1%27&receiver=0192%3A2&direction=OUT"
    assert [request.target for request in server.requests] == [query, query]


@pytest.mark.parametrize("bad", [reply(500), reset, cut(), reply(204), reply(200, "<html/>"), reply(404), reply(302)])
def test_broken_walk(server: Scripted, access_point: AccessPoint, bad: Callable[[Exchange], bool]) -> None:
    """A page that can't be had ends the walk with an error, never as if it were the end."""
    server.on("GET", "/messages", reply(200, page("messages", range(1, 26), navigation("/messages?index=2"))), bad)
    with pytest.raises((Unavailable, NoClearAnswer, WrongAddress)):
        list(access_point.messages())


@pytest.mark.parametrize(
    "links", [["/messages"], ["/messages?index=2", "/messages"], [f"/messages?index={n}" for n in range(99)]]
)
def test_circle(server: Scripted, access_point: AccessPoint, links: list[str]) -> None:
    """Navigation that leads back, or on and on over the same page, is an error."""
    scripts = [reply(200, page("messages", [n], navigation(link))) for n, link in enumerate(links, 1)]
    if len(links) > 2:
        scripts = [reply(200, page("messages", [1], navigation(link))) for link in links]
    server.on("GET", "/messages", *scripts)
    with pytest.raises(NoClearAnswer, match="lead back"):
        list(access_point.messages())


def test_archive_without_navigation(server: Scripted, access_point: AccessPoint) -> None:
    """An archive whose full page has no navigation is read by index."""

    def script(exchange: Exchange) -> bool:
        index = int(parse_qs(urlsplit(exchange.request.target).query).get("index", ["1"])[0])
        return reply(200, page("messages", range(index * 25 - 24, min(index * 25, 50) + 1)))(exchange)

    server.on("GET", "/messages", script)
    assert [message.msg_no for message in access_point.messages(direction="IN")] == list(range(1, 51))
    assert server.requests[1].target == "/messages?direction=IN&index=2"


def test_archive_that_ignores_index(server: Scripted, access_point: AccessPoint) -> None:
    """If index is ignored too, that is an error and not the end."""
    server.on("GET", "/messages", reply(200, page("messages", range(1, 26))))
    with pytest.raises(NoClearAnswer):
        list(access_point.messages())


def test_first_messages_come_first(server: Scripted, access_point: AccessPoint) -> None:
    """Whoever needs only the first messages costs only the first page."""
    server.on("GET", "/messages", paged("messages", 100, "/messages?index={}"))
    assert len(list(itertools.islice(access_point.messages(), 3))) == 3
    assert len(server.requests) == 1


def test_status(server: Scripted, access_point: AccessPoint) -> None:
    """A message's status is the message itself; None is a number that is unknown; all else is an error."""
    server.on(
        "GET",
        "/outbox/5",
        reply(200, page("outbox", [5], "<navigation/>")),
        reply(204),
        reply(404),
        reply(200, page("outbox", [6])),
    )
    message = access_point.status(5)
    assert message is not None
    assert message.msg_no == 5
    assert access_point.status(5) is None
    with pytest.raises(WrongAddress):
        access_point.status(5)
    with pytest.raises(NoClearAnswer):
        access_point.status(5)


def test_received(server: Scripted, access_point: AccessPoint) -> None:
    """What the inbox has under a number; None is one that is unknown, or of what was sent; all else is an error."""
    server.on("GET", "/inbox/5", reply(200, page("inbox", [5])), reply(204), reply(404), reply(200, page("inbox", [6])))
    message = access_point.received(5)
    assert message is not None
    assert message.msg_no == 5
    assert access_point.received(5) is None
    assert access_point.received(5) is None
    with pytest.raises(NoClearAnswer):
        access_point.received(5)


@pytest.mark.parametrize("status", [200, 204, 404])
def test_mark_read(server: Scripted, access_point: AccessPoint, status: int) -> None:
    """A message that is marked, or isn't there any more, is read."""
    server.on("POST", "/inbox/5/read", reply(status))
    access_point.mark_read(5)
    assert server.requests[0].headers["content-length"] == "0"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (reply(500), Unavailable),
        (reset, Unavailable),
        (reply(401), Unauthorized),
        (reply(302), WrongAddress),
        (reply(400, "what?"), NoClearAnswer),
    ],
)
def test_mark_read_fails(server: Scripted, access_point: AccessPoint, script: Script, expected: type) -> None:
    """Anything else is an error; what may be tried again has been."""
    server.on("POST", "/inbox/5/read", script)
    with pytest.raises(expected):
        access_point.mark_read(5)
    assert len(server.requests) == (3 if expected is Unavailable else 1)


def test_second_try(server: Scripted, access_point: AccessPoint) -> None:
    """A question that wasn't answered is asked again."""
    server.on("GET", "/inbox", reset, reply(502), reply(200, page("inbox", [1])))
    assert len(access_point.inbox().messages) == 1


@pytest.mark.parametrize(
    ("script", "known"),
    [
        (reply(200), True),
        (reply(204), False),
        (reply(400, "bad id"), None),
    ],
)
def test_directory(server: Scripted, access_point: AccessPoint, script: Script, known: object) -> None:
    """The directory says yes or no, or that it can't look this one up."""
    server.on("GET", "/directory/0192%3A1", script)
    assert access_point.directory("0192:1") is known


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (reply(401), Unauthorized),
        (reply(404), WrongAddress),
        (reply(302), WrongAddress),
        (reply(500), Unavailable),
        (reset, Unavailable),
    ],
)
def test_directory_away(
    server: Scripted, access_point: AccessPoint, script: Script, error: type[AccessPointError]
) -> None:
    """A directory that is away, missing or broken is no unknown receiver; it is asked once."""
    server.on("GET", "/directory/0192%3A1", script)
    with pytest.raises(error):
        access_point.directory("0192:1")
    assert len(server.requests) == 1


ONE = """<directory-response><accepted-document-transfer><DocumentID>d</DocumentID><ProcessID>p</ProcessID>
</accepted-document-transfer></directory-response>"""


@pytest.mark.parametrize(
    ("script", "pairs"),
    [
        (reply(200, ONE), (("d", "p"),)),
        (reply(204), ()),
        (reply(200, "<directory-response/>"), ()),
        (reply(200), None),
        (reply(400, "bad id"), None),
    ],
)
def test_accepted(server: Scripted, access_point: AccessPoint, script: Script, pairs: object) -> None:
    """What a receiver accepts is a list, perhaps an empty one, or unknown."""
    server.on("GET", "/directory/0192%3A1/Invoice", script)
    assert access_point.accepted("0192:1", "Invoice") == pairs


STATISTICS = '<statistics><account name="Acme"><messages total="3"/></account></statistics>'


def test_statistics(server: Scripted, access_point: AccessPoint) -> None:
    """The account's figures."""
    server.on("GET", "/statistics", reply(200, STATISTICS))
    assert access_point.statistics().total == 3


class TestProbe:
    def test_let_in(self, server: Scripted, access_point: AccessPoint) -> None:
        """Statistics let us in; where there are none, the inbox does."""
        server.on("GET", "/statistics", reply(200, STATISTICS), reply(404))
        server.on("GET", "/inbox", reply(200, page("inbox", [])))
        access_point.probe()
        access_point.probe()
        assert [request.path for request in server.requests] == ["/statistics", "/statistics", "/inbox"]

    @pytest.mark.parametrize(
        ("statistics", "inbox", "expected"),
        [
            (reply(401), reply(200, page("inbox", [])), Unauthorized),
            (reply(403), reply(404), Unauthorized),
            (reply(404), reply(403), Unauthorized),
            (reply(500), reply(404), Unavailable),
            (reply(503, "", ("Retry-After", "99")), reply(404), Unavailable),
            (reset, reply(404), Unavailable),
            (reply(404), reply(404), WrongAddress),
            (reply(302, "", ("Location", "https://login.example.com/")), reply(302), WrongAddress),
            (reply(200, "<!DOCTYPE html><html>Welcome!</html>"), reply(404), NoClearAnswer),
            (reply(404), reply(200, "<html/>"), NoClearAnswer),
        ],
    )
    def test_not_let_in(
        self, server: Scripted, access_point: AccessPoint, statistics: Script, inbox: Script, expected: type
    ) -> None:
        """Otherwise the error says what is the matter."""
        server.on("GET", "/statistics", statistics)
        server.on("GET", "/inbox", inbox)
        with pytest.raises(expected):
            access_point.probe()


def test_identity(connect: Callable[..., AccessPoint]) -> None:
    """An account is its user and its host."""
    assert connect("https://AP.Example.com/rest").identity == "acmé@ap.example.com"
