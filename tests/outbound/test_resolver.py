"""When the access point is looked through for documents in doubt, and what follows from what was found."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from support.bench import row
from support.documents import credit_note, invoice
from support.faults import answered, cut_after, instead, reset_before
from support.stepping import Life
from werkzeug.http import http_date

from filedrop.errors import AccessPointError, Interrupted
from filedrop.model.document import State
from filedrop.model.question import question

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.bench import Bench
    from support.faults import Exchange, Fault

    from filedrop.model.document import Document
    from filedrop.outbound.resolver import DoubtResolver

LIST, DOCUMENT = "GET /messages", re.compile(r"GET /messages/[0-9]+/xml-document")


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A folder whose documents may be sent as often as they are dropped; what is in doubt is looked for by hand."""
    return make_bench(duplicates="allow", doubt="900s", track="60s")


def resolver(bench: Bench) -> DoubtResolver:
    return bench.life.service.accounts[0].follower.resolver


def doubtful(bench: Bench, fault: Fault, name: str = "invoice.xml", content: bytes | None = None) -> Document:
    """A document whose upload met with this."""
    known = {document.id for document in bench.life.journal.documents.in_state(State.DOUBT)}
    bench.world.front.next("POST /outbox", fault)
    bench.put(name, content or invoice(name))
    bench.life.report_closed(name)
    bench.life.touch()
    bench.life.do_all()
    (document,) = [one for one in bench.life.journal.documents.in_state(State.DOUBT) if one.id not in known]
    return document


def look(bench: Bench) -> list[Document]:
    """Look once for all that is in doubt."""
    return resolver(bench).resolve()


def wait(bench: Bench) -> object:
    """Seconds until the next look."""
    found = resolver(bench).wait()
    assert found is not None
    return pytest.approx(found, abs=0.1)


def looks(bench: Bench) -> int:
    return sum(urlsplit(request.target).path == "/messages" for request in bench.world.front.asked(LIST))


def downloads(bench: Bench) -> int:
    return sum(bool(DOCUMENT.match(request.line)) for request in bench.world.front.asked(LIST))


def told(bench: Bench, event: str) -> dict[str, object]:
    """The only line of the log that tells of this, without what all lines have."""
    (line,) = [line for line in bench.world.log() if line["event"] == event]
    return {key: line[key] for key in line if key not in ("event", "account", "why")}


def test_nothing_is_in_doubt(bench: Bench) -> None:
    assert resolver(bench).wait() is None
    assert not resolver(bench).undecided()
    assert look(bench) == []
    assert looks(bench) == 0


def test_found(bench: Bench) -> None:
    """It has its number at once, is followed from then on, and nothing is left to be looked for."""
    document = doubtful(bench, cut_after)
    assert resolver(bench).wait() == 0
    assert resolver(bench).undecided()
    (found,) = look(bench)
    assert found == row(bench, document)
    (message,) = bench.world.sandbox.store.sent("acme")
    assert (found.state, found.msg_no, found.history[-1].event) == (State.SENT, message.msg_no, "found")
    assert found.received is not None
    assert found.due is not None
    assert abs(found.due - bench.desk.shared.now() - timedelta(seconds=60)) < timedelta(seconds=1)
    assert resolver(bench).wait() is None
    assert not resolver(bench).undecided()
    assert told(bench, "document.found") == {
        "level": "info", "company": "acme", "file": "invoice.xml", "document": document.id, "msg_no": message.msg_no,
    }  # fmt: skip


def test_not_found(bench: Bench) -> None:
    """It is looked for soon, then more and more seldom; it is sent again only after a last look, later than `doubt`."""
    document = doubtful(bench, reset_after_a_part)
    pauses = []
    for _ in range(6):
        assert look(bench) == []
        pauses.append(wait(bench))
        assert resolver(bench).undecided()
        bench.clock.pass_on(resolver(bench).wait() or 0)
    assert pauses == [5, 10, 30, 105, 300, 450]
    (again,) = look(bench)
    assert again == row(bench, document)
    assert (again.state, again.due, again.history[-1].event) == (State.WAITING, None, "not found at the access point")
    assert looks(bench) == 7
    assert told(bench, "document.not_found") == {
        "level": "warning", "company": "acme", "file": "invoice.xml", "document": document.id, "attempt": 2,
    }  # fmt: skip
    assert resolver(bench).wait() is None


def reset_after_a_part(exchange: Exchange) -> None:
    """The request gets lost on its way, and nobody can tell."""
    exchange.answer(500, "Unknown server error occurred.")


def test_a_look_that_was_too_early_decides_nothing(bench: Bench) -> None:
    """One more is needed, `doubt` after the first, though looks between were complete."""
    doubtful(bench, reset_after_a_part)
    look(bench)
    bench.clock.pass_on(890)
    assert look(bench) == []
    assert wait(bench) == 10
    bench.clock.pass_on(10)
    assert [document.state for document in look(bench)] == [State.WAITING]


@pytest.mark.parametrize("counts", [{"unclear": 9}, {"unclear": 10}, {"unexplained": 2}, {"unexplained": 3}], ids=str)
def test_once_too_often(bench: Bench, counts: dict[str, int]) -> None:
    """The tenth unclear answer, and the third refusal that names no fault, end it; not those before."""
    document = doubtful(bench, reset_after_a_part)
    document = bench.life.journal.documents.record(document.but(**counts))
    look(bench)
    bench.clock.pass_on(901)
    (after,) = look(bench)
    if counts in ({"unclear": 9}, {"unexplained": 2}):
        assert after.state is State.WAITING
    else:
        assert after.state is State.FAILED
        assert after.error is not None
        assert after.error.code == ("no-answer" if "unclear" in counts else "rejected")
        assert document.why_in_doubt in f"{after.error.message} {after.error.administrator}"
        assert ("HTTP status 400" in after.error.administrator) is ("unexplained" in counts)
        assert abs(after.history[-1].at - bench.desk.shared.now()) < timedelta(seconds=1)
        if "unclear" in counts:
            assert "gave no clear answer 10 times" in after.error.message
            assert "send the file again with the command below" in after.error.administrator


def test_a_look_that_breaks_off(bench: Bench) -> None:
    """It decides nothing, and counts for nothing."""
    doubtful(bench, cut_after)
    bench.world.front.next(LIST, instead(200, "<html>Maintenance</html>"))
    with pytest.raises(AccessPointError):
        look(bench)
    assert resolver(bench).undecided()
    assert [document.state for document in look(bench)] == [State.SENT]


def test_a_stop_amid_a_long_document(bench: Bench) -> None:
    """A download that a stop ends makes no document incomparable: nobody is asked about it."""
    document = doubtful(bench, cut_after)

    def fault(exchange: Exchange) -> None:
        bench.life.service.accounts[0]._stopped.set()
        exchange.answer(200, invoice("invoice.xml") + b" " * 200_000)

    bench.world.front.next(lambda request: bool(DOCUMENT.match(request.line)), fault)
    with pytest.raises(Interrupted):
        look(bench)
    assert row(bench, document) == document


def test_each_doubt_is_one_of_its_own(bench: Bench) -> None:
    """After a second unclear answer, what the looks before had found out counts no more."""
    document = doubtful(bench, reset_after_a_part)
    look(bench)
    bench.clock.pass_on(901)
    now, shared = bench.desk.shared.now(), bench.desk.shared
    sending = document.not_found(now).sending(now, identity=shared.access_point.identity, clock=None)
    bench.life.journal.documents.record(sending.doubted(now, "no answer again"))
    assert resolver(bench).wait() == 0
    assert look(bench) == []
    assert wait(bench) == 5


def test_how_far_back(bench: Bench) -> None:
    """The list is read from two days before the first attempt, in what was sent; of several, the earliest counts."""
    document = doubtful(bench, reset_after_a_part)
    bench.clock.pass_on(10 * 86400)
    doubtful(bench, reset_after_a_part, "later.xml")
    look(bench)
    (request,) = [one for one in bench.world.front.asked(LIST) if urlsplit(one.target).path == "/messages"]
    asked = parse_qs(urlsplit(request.target).query)
    assert document.first_attempt is not None
    day_before = document.first_attempt.date() - timedelta(days=3)  # the list begins after it
    assert asked == {"sent": [f"'>{day_before}'"], "direction": ["OUT"]}


def other_text(exchange: Exchange) -> None:
    """The access point keeps it with another text and number than it got, and can't say so."""
    body = exchange.request.body.replace(b"Thank you for your order.", b"Please visit us again.")
    exchange.request = replace(exchange.request, body=body.replace(b">invoice.xml<", b">other<"))
    exchange.arrive()
    exchange.cut()


def test_another_document_is_read_once(bench: Bench) -> None:
    """What was compared isn't downloaded at each look."""
    doubtful(bench, other_text)
    for _ in range(3):
        assert look(bench) == []
        bench.clock.pass_on(5)
    assert downloads(bench) == 1


def missing(exchange: Exchange) -> None:
    """The documents of all messages are gone; the list is there."""
    if DOCUMENT.match(exchange.request.line):
        exchange.answer(404, "Not found")
    else:
        answered(exchange)


def test_a_document_that_can_not_be_had(bench: Bench) -> None:
    """It is waited for as long as a doubt lasts; then a person is asked, and it is still looked for, seldom."""
    bench.clock.pass_on(10_000)  # a doubt lasts from its first look, not from the start
    document = doubtful(bench, cut_after)
    bench.world.front.always(LIST, missing)
    assert look(bench) == []
    assert wait(bench) == 0.5
    bench.clock.pass_on(1)
    assert look(bench) == []
    assert wait(bench) == 5
    assert resolver(bench).needs_a_person() == set()
    bench.clock.pass_on(890)
    assert look(bench) == []
    bench.clock.pass_on(10)
    (asked,) = look(bench)
    assert resolver(bench).needs_a_person() == {document.id}
    assert not resolver(bench).undecided()
    assert (asked.state, asked) == (State.DOUBT, row(bench, document))
    assert question(asked)
    assert abs(asked.history[-1].at - bench.desk.shared.now()) < timedelta(seconds=1)
    assert wait(bench) == 900
    assert told(bench, "document.undecided") == {
        "level": "error", "company": "acme", "file": "invoice.xml", "document": document.id,
    }  # fmt: skip
    bench.clock.pass_on(900)
    assert look(bench) == []  # the same question isn't asked twice
    bench.world.front.heal()
    bench.clock.pass_on(900)
    assert [document.state for document in look(bench)] == [State.SENT]
    assert resolver(bench).needs_a_person() == set()


def test_what_can_be_had_again_is_waited_for_anew(bench: Bench) -> None:
    """A person is asked only where a document could not be had for as long without a break."""
    doubtful(bench, other_text)
    document = doubtful(bench, other_text, "other.xml", invoice("invoice.xml"))
    bench.world.front.next("GET /messages/", missing, missing)
    look(bench)
    bench.clock.pass_on(450)
    look(bench)
    bench.clock.pass_on(460)
    look(bench)
    assert resolver(bench).needs_a_person() == set()
    assert row(bench, document).state in (State.DOUBT, State.WAITING)


def test_a_person_is_left_some_time(make_bench: Callable[..., Bench]) -> None:
    """However short a doubt is, it isn't looked for all the time while a person is asked."""
    bench = make_bench(duplicates="allow", doubt="10s")
    doubtful(bench, cut_after)
    bench.world.front.always(LIST, missing)
    for _ in range(3):
        assert not resolver(bench).needs_a_person()
        look(bench)
        bench.clock.pass_on(5)
    assert resolver(bench).needs_a_person()
    assert resolver(bench).wait() == pytest.approx(25, abs=0.5)


def test_what_is_on_the_wire_is_waited_for(bench: Bench) -> None:
    """While another upload may have made a message, nothing is decided by it, nor is a person asked."""
    document = doubtful(bench, cut_after, content=invoice("same"))
    other = doubtful(bench, reset_after_a_part, "other.xml", invoice("same"))
    assert bench.desk.shared.window.admit(other.id)
    under_way = bench.life.journal.documents.record(other.but(state=State.SENDING))
    for _ in range(3):
        assert look(bench) == []
        bench.clock.pass_on(900)
    assert row(bench, document).state is State.DOUBT
    assert resolver(bench).needs_a_person() == set()
    bench.life.journal.documents.record(under_way.sent(bench.desk.shared.now(), 99, received=None, uuid=None))
    bench.desk.shared.window.release(other.id)
    assert [one.state for one in look(bench)] == [State.SENT]


def twice_and_cut(exchange: Exchange) -> None:
    exchange.arrive()
    exchange.arrive()
    exchange.cut()


def test_a_message_too_many(bench: Bench) -> None:
    """A document that arrived twice has the first number, and an operator is told of the second."""
    document = doubtful(bench, twice_and_cut)
    (found,) = look(bench)
    first, second = sorted(message.msg_no for message in bench.world.sandbox.store.sent("acme"))
    identity = bench.desk.shared.access_point.identity
    assert bench.life.journal.numbers.surplus(identity) == [(second, "invoice.xml")]
    assert (found.id, found.msg_no) == (document.id, first)
    assert told(bench, "message.surplus") == {
        "level": "error", "company": "acme", "file": "invoice.xml", "document": document.id, "msg_no": second,
    }  # fmt: skip


def test_a_message_that_another_may_be_is_none_too_many(bench: Bench) -> None:
    """It is left to what was under way when filedrop was killed, in a folder that is away: that is looked for later."""
    document = doubtful(bench, twice_and_cut, content=invoice("same"))
    other = doubtful(bench, reset_after_a_part, "other.xml", invoice("same"))
    bench.life.journal.documents.record(other.but(state=State.SENDING))
    assert [one.id for one in look(bench)] == [document.id]
    assert bench.life.journal.numbers.surplus(bench.desk.shared.access_point.identity) == []
    assert not bench.told("message.surplus")


def test_a_number_that_another_has(bench: Bench) -> None:
    """A message that is another document's isn't taken for the one in doubt."""
    first = doubtful(bench, cut_after, content=invoice("same"))
    assert [one.id for one in look(bench)] == [first.id]
    second = doubtful(bench, reset_after_a_part, "second.xml", invoice("same"))
    assert look(bench) == []
    assert row(bench, second).state is State.DOUBT
    assert downloads(bench) <= 2


def test_only_the_message_fails(bench: Bench) -> None:
    """One whose download fails keeps no other from being found; where nothing works any more, the look breaks off."""
    doubtful(bench, cut_after, "one.xml")
    two = doubtful(bench, cut_after, "two.xml")
    first = min(message.msg_no for message in bench.world.sandbox.store.sent("acme"))
    bench.world.front.always(f"GET /messages/{first}/", instead(500))
    assert [found.id for found in look(bench)] == [two.id]
    bench.world.front.always("GET", reset_before)
    with pytest.raises(AccessPointError):
        look(bench)


def as_document(content: bytes) -> Fault:
    """Every message's document is this one now; the rest is as it was."""

    def fault(exchange: Exchange) -> None:
        if DOCUMENT.match(exchange.request.line):
            exchange.answer(200, content, [("Content-Type", "application/xml")])
        else:
            answered(exchange)

    return fault


@pytest.mark.parametrize(
    "content", [b"<broken", credit_note("invoice.xml")], ids=["no document", "a document of another type"]
)
def test_a_document_that_can_not_be_compared(bench: Bench, content: bytes) -> None:
    """A person is asked at once: no later look will tell more."""
    document = doubtful(bench, cut_after)
    bench.world.front.always(LIST, as_document(content))
    (asked,) = look(bench)
    (message,) = bench.world.sandbox.store.sent("acme")
    assert resolver(bench).needs_a_person() == {document.id}
    assert f"message {message.msg_no} may be this document" in question(asked)
    assert "can't be read as a document" in question(asked)


def test_found_with_a_doctype(bench: Bench) -> None:
    """Where an access point adds what filedrop sends in no document, it is the same document still."""
    content = invoice("invoice.xml")
    doubtful(bench, cut_after, content=content)
    declaration, rest = content.split(b"?>", 1)
    bench.world.front.always(LIST, as_document(declaration + b"?>\n<!DOCTYPE Invoice>" + rest))
    assert [found.state for found in look(bench)] == [State.SENT]


def test_found_in_a_longer_form(make_bench: Callable[..., Bench]) -> None:
    """What the access point returns may be twice as long as what may be sent."""
    bench = make_bench(duplicates="allow", max_size="1MB")
    content = invoice("invoice.xml")
    doubtful(bench, cut_after, content=content)
    bench.world.front.always(LIST, as_document(content + b"<!--" + b"x" * 1_500_000 + b"-->"))
    assert [found.state for found in look(bench)] == [State.SENT]


@pytest.mark.parametrize(
    "change", [(b"your order", b"the order"), (b">invoice.xml<", b">other<")], ids=["text", "number"]
)
def test_found_by_what_is_left_of_it(bench: Bench, change: tuple[bytes, bytes]) -> None:
    """One whose text was changed is found by type, number and date; one whose number was changed isn't it."""
    content = invoice("invoice.xml")
    assert change[0] in content
    doubtful(bench, cut_after, content=content)
    bench.world.front.always(LIST, as_document(content.replace(*change)))
    assert [found.state for found in look(bench)] == ([State.SENT] if change[0] == b"your order" else [])


@pytest.mark.parametrize("which", [0, 1])
def test_told_apart_by_what_they_say(bench: Bench, which: int) -> None:
    """Of two documents of one number, the one whose text the message has is found."""
    contents = [invoice("same"), invoice("same").replace(b"your order", b"the order")]
    faults = [cut_after, reset_after_a_part] if which == 0 else [reset_after_a_part, cut_after]
    documents = [doubtful(bench, faults[nth], f"{nth}.xml", contents[nth]) for nth in (0, 1)]
    assert [found.id for found in look(bench)] == [documents[which].id]


def test_a_long_list(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is in doubt is found, in whichever part of a long list."""
    monkeypatch.setattr("filedrop.outbound.resolver.LISTED_AT_ONCE", 1)
    documents = [doubtful(bench, cut_after, f"{nth}.xml") for nth in range(3)]
    assert {found.id for found in look(bench)} == {document.id for document in documents}


def test_a_message_too_many_is_no_others(bench: Bench) -> None:
    """The second message of a document that arrived twice isn't taken for the same document, dropped again."""
    doubtful(bench, twice_and_cut, content=invoice("same"))
    look(bench)
    again = doubtful(bench, reset_after_a_part, "again.xml", invoice("same"))
    assert look(bench) == []
    assert row(bench, again).state is State.DOUBT
    assert resolver(bench).needs_a_person() == set()


@pytest.mark.parametrize(
    ("rival", "is_asked"),
    [({}, True), ({"meaning": "another", "number": "other"}, False), ({"receiver": "0192:999999999"}, False)],
    ids=["the same", "another content", "another receiver"],
)
def test_a_number_whose_owner_is_not_certain(bench: Bench, rival: dict[str, str], *, is_asked: bool) -> None:
    """Of a document only the number is known; the message of that number holds just what another in doubt holds.

    A person is asked whether it is that document's, unless it can't be: then a server was set up anew, and it is found.
    """
    first = doubtful(bench, cut_after, content=invoice("same"))
    (found,) = look(bench)
    bench.life.journal.documents.record(found.but(received=None))
    with sqlite3.connect(bench.world.state / "journal.sqlite") as journal:
        for column, value in rival.items():
            journal.execute(f"UPDATE documents SET {column} = ? WHERE id = ?", (value, first.id))  # noqa: S608 - ours
    second = doubtful(bench, reset_after_a_part, "second.xml", invoice("same"))
    (after,) = look(bench)
    assert after.id == second.id
    if is_asked:
        assert after.state is State.DOUBT
        assert "may be another document, which was accepted under that number" in question(after)
    else:
        assert (after.state, after.msg_no) == (State.SENT, found.msg_no)


def after(bench: Bench) -> str | None:
    """The day before the first from which the last look has read the list; None: it has read all."""
    targets = [urlsplit(request.target) for request in bench.world.front.asked(LIST)]
    sent = [parse_qs(target.query).get("sent") for target in targets if target.path == "/messages"][-1]
    return sent[0] if sent else None


@pytest.mark.parametrize(("ahead", "first"), [(5, "'>2020-05-29'"), (-5, "'>2020-05-24'"), (0, "'>2020-05-29'")])
def test_how_far_back_without_a_first_attempt(bench: Bench, ahead: int, first: str) -> None:
    """Where only our clock is known to have seen it, the list is read from the claim on, less what it is fast."""
    bench.clock.skew = timedelta(days=ahead)
    document = doubtful(bench, reset_after_a_part)
    bench.life.journal.documents.record(document.but(first_attempt=None))
    look(bench)
    assert after(bench) == first


def test_how_far_back_from_a_claim_that_is_still_to_come(bench: Bench) -> None:
    """Our clock was twenty years ahead at the claim, and was set right since: it is found, however old it seems."""
    bench.clock.skew = timedelta(days=20 * 365)
    document = doubtful(bench, cut_after)
    bench.life.journal.documents.record(document.but(first_attempt=None))
    bench.clock.skew = timedelta(0)
    (found,) = look(bench)
    assert after(bench) is None
    assert (found.id, found.state) == (document.id, State.SENT)


def test_how_far_back_where_messages_are_dated_back(bench: Bench) -> None:
    """Where `received` is known to be ten days behind `Date`, the list is read from ten days before a claim on, too."""
    ten = timedelta(days=10)
    bench.clock.skew = ten  # ours is right, as `Date` is
    bench.world.front.date = lambda: http_date(bench.clock.true() + ten)
    bench.life.drop()
    bench.life = Life(bench.world, bench.clock)
    try:
        bench.life.turn()
        bench.life.do_all()
        bench.put("known.xml")
        bench.life.report_closed("known.xml")
        bench.life.touch()
        bench.life.do_all()
        document = doubtful(bench, cut_after)
        bench.life.journal.documents.record(document.but(first_attempt=None))
        (found,) = look(bench)
        assert (found.id, found.state) == (document.id, State.SENT)
    finally:
        bench.life.drop()


def test_clocks_of_an_access_point_that_was_set_up_anew(bench: Bench) -> None:
    """Its clocks are learned from its own messages, too, though the one before had higher numbers: nobody is asked."""

    def send(number: int) -> None:
        bench.put(f"{number}.xml", invoice(str(number)))
        bench.life.report_closed(f"{number}.xml")
        bench.life.touch()
        bench.life.do_all()

    for number in range(22):
        send(number)
    bench.world.set_up_anew()
    bench.world.front.date = lambda: http_date(bench.clock.true() + timedelta(hours=2))
    send(22)
    send(23)
    document = doubtful(bench, cut_after)
    (found,) = look(bench)
    assert (found.id, found.state) == (document.id, State.SENT)


@pytest.mark.parametrize("is_any_known", [False, True])
def test_how_far_back_without_their_clock(bench: Bench, *, is_any_known: bool) -> None:
    """Then it is read from the last message before the claim on, if that is the earlier; where there is none, whole."""
    if is_any_known:
        known = doubtful(bench, cut_after, "known.xml")
        assert [found.id for found in look(bench)] == [known.id]
    bench.life.drop()
    bench.world.front.date = lambda: None
    bench.life = Life(bench.world, bench.clock)
    try:
        bench.life.turn()
        bench.life.do_all()
        bench.clock.pass_on(5 * 86400)
        document = doubtful(bench, reset_after_a_part)
        assert document.first_attempt is None
        look(bench)
        assert after(bench) == ("'>2020-05-29'" if is_any_known else None)
    finally:
        bench.life.drop()


def test_another_accounts_doubt(bench: Bench) -> None:
    """What was posted to another account isn't looked for at this one, and nothing waits for it."""
    doubtful(bench, cut_after, content=invoice("same"))
    other = doubtful(bench, reset_after_a_part, "other.xml", invoice("same"))
    other = bench.life.journal.documents.record(other.but(identity="another@ap.example.com", state=State.SENDING))
    assert [found.file for found in look(bench)] == ["invoice.xml"]
    bench.life.journal.documents.record(other.but(state=State.DOUBT))
    assert resolver(bench).wait() is None


def test_asked_after(bench: Bench) -> None:
    """Of a document whose file is gone, a look that didn't find it is remembered."""
    document = doubtful(bench, reset_after_a_part)
    bench.desk.shared.missing.note(document.id)
    look(bench)
    assert bench.desk.shared.missing._was_asked == {document.id: True}
