"""What `matching.decide` says, case by case: each row of its table, and where the rows meet.

A document in doubt is written `A`, `B`: what it means, and what its facts are; one more word says what differs. A
candidate is a message of the archive, written in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from filedrop.model.document import Document, State
from filedrop.model.message import Message
from filedrop.outbound.matching import Candidate, Clocks, decide, last_attempt, may_be

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SELLER, BUYER, STRANGER = "0192:987654325", "0192:810418052", "0192:999999999"
INVOICE = "urn:invoice::Invoice##billing::2.1"
TRUSTED = Clocks()


def document(
    meaning: str,
    number: str | None = None,
    *,
    id: str = "1",  # noqa: A002 - the document's own word
    first_attempt: datetime | None = NOON,
) -> Document:
    """A document in doubt since noon; without another number its number is its meaning."""
    return Document(
        id=id, company="acme", folder="f", account="main", identity="acme@ap", state=State.DOUBT, file="a.xml",
        dropped_as="a.xml", claimed=NOON, meaning=meaning, sender=SELLER, receiver=BUYER, document_id=INVOICE,
        process_id="p", type="Invoice", number=number or meaning, issue_date="2026-11-20", first_attempt=first_attempt,
    )  # fmt: skip


def message(msg_no: int, *, minutes: float = 1) -> Message:
    """A message that was received so many minutes after noon."""
    received = (NOON + timedelta(minutes=minutes)).isoformat()
    return Message(msg_no, "OUT", received, sender=SELLER, receiver=BUYER, document_id=INVOICE)


def candidate(msg_no: int, meaning: str, number: str | None = None, *, minutes: float = 1) -> Candidate:
    """A message that holds a document of this meaning; without another number its number is its meaning."""
    return Candidate(message(msg_no, minutes=minutes), "compared", meaning, "Invoice", number or meaning, "2026-11-20")


def other(msg_no: int, content: str) -> Candidate:
    """A message whose document is `incomparable`, `missing` or `on the wire`."""
    return Candidate(message(msg_no), content)  # type: ignore[arg-type] # one of the three


@dataclass
class Case:
    """`says`: for each document in order its conclusion, or its message's number. `surplus`: message numbers."""

    name: str
    documents: list[Document]
    candidates: list[Candidate]
    says: list[int | str]
    surplus: tuple[int, ...] = ()


A, B = document("A"), document("B", id="2")
TWIN = replace(A, id="2")  # dropped twice, with duplicates allowed
LATE = replace(TWIN, first_attempt=NOON + timedelta(minutes=9))  # by clocks that needn't be right
CASES = [
    Case("an empty archive", [A], [], ["not found"]),
    Case("the same meaning", [A], [candidate(7, "A")], [7]),
    Case("another document only", [A], [candidate(7, "B")], ["not found"]),
    Case("written anew, but with the same facts", [A], [candidate(7, "A as the server writes it", "A")], [7]),
    Case("meaning goes before facts", [A], [candidate(7, "?", "A"), candidate(8, "A")], [8], surplus=(7,)),
    Case("without a number, facts say nothing", [replace(A, number=None)],
         [replace(candidate(7, "?"), number=None)], ["not found"]),
    Case("there twice: the oldest is its own", [A], [candidate(8, "A"), candidate(7, "A")], [7], surplus=(8,)),
    Case("twins share in order", [A, TWIN], [candidate(7, "A"), candidate(8, "A")], [7, 8]),
    Case("the older twin is first, however they are listed",
         [replace(A, first_attempt=NOON + timedelta(seconds=1)), TWIN], [candidate(7, "A"), candidate(8, "A")], [8, 7]),
    Case("only one of two twins has arrived", [A, TWIN], [candidate(7, "A")], [7, "not found"]),
    Case("a sidecar of its own company tells of it", [A], [replace(candidate(7, "A"), owned_for={"acme"})],
         ["not found"]),
    Case("a sidecar of another company tells of it", [A], [replace(candidate(7, "A"), owned_for={"fjord"})], [7]),
    Case("twins, and one too many", [A, TWIN],
         [candidate(7, "A"), candidate(8, "A"), candidate(9, "A")], [7, 8], surplus=(9,)),
    Case("one too many for one twin, which may be the other's, though clocks speak against it", [A, LATE],
         [candidate(7, "A"), candidate(8, "A")], [7, "ask a person"]),
    Case("one too many for one twin, which certainly isn't the other's",
         [A, replace(LATE, company="fjord", sender=STRANGER)], [candidate(7, "A"), candidate(8, "A")],
         [7, "not found"], surplus=(8,)),
    Case("two documents, each its own", [A, B], [candidate(7, "B"), candidate(8, "A")], [8, 7]),
    Case("one found, the other not", [A, B], [candidate(7, "B")], ["not found", 7]),
    Case("perhaps another request's", [A], [other(7, "on the wire")], ["undecided"]),
    Case("listed, but not there", [A], [other(7, "missing")], ["undecided"]),
    Case("not to be compared", [A], [other(7, "incomparable")], ["ask a person"]),
    Case("an unfinished look outweighs a person", [A], [other(7, "incomparable"), other(8, "missing")], ["undecided"]),
    Case("found beside what can't be compared", [A], [other(6, "incomparable"), candidate(7, "A")], [7]),
    Case("what can't be compared is a question for each that it may be", [A, B], [other(7, "incomparable")],
         ["ask a person", "ask a person"]),
    Case("older than the first attempt, as clocks say", [A], [candidate(7, "A", minutes=-1)], ["ask a person"]),
    Case("older, and there is one that isn't", [A], [candidate(7, "A", minutes=-1), candidate(8, "A")], [8]),
    Case("another document, older", [A], [candidate(7, "B", minutes=-1)], ["not found"]),
    Case("perhaps another document's, and as much like that", [A],
         [replace(candidate(7, "A"), contested_for=frozenset(["acme"]))], ["ask a person"]),
    Case("perhaps another document's of another company", [A],
         [replace(candidate(7, "A"), contested_for=frozenset(["fjord"]))], [7]),
    Case("certainly another document's, to this company", [A],
         [replace(candidate(7, "A"), owned_for=frozenset(["acme"]))], ["not found"]),
    Case("older by no more than clocks differ", [A], [candidate(7, "A", minutes=-4 / 60)], [7]),
    Case("its clock is unknown", [replace(A, first_attempt=None)], [candidate(7, "A", minutes=-60)], [7]),
    Case("an incomparable message of before", [A],
         [replace(other(7, "incomparable"), message=message(7, minutes=-1))], ["not found"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decide(case: Case) -> None:
    """For each document in doubt, what is in the archive says what becomes of it."""
    decision = decide(case.documents, case.candidates, TRUSTED, ())
    says = [decision.conclusions[document.id] for document in case.documents]
    assert [conclusion.msg_no if isinstance(conclusion, Message) else conclusion for conclusion in says] == case.says
    assert tuple(message.msg_no for message, _ in decision.surplus) == case.surplus


@pytest.mark.parametrize(("rival", "surplus"), [(LATE, []), (B, [8])], ids=["its twin", "another document"])
def test_what_a_rival_may_be_is_nobodys(rival: Document, surplus: list[int]) -> None:
    """A message too many is left to a document that isn't looked for yet and may be it, whatever the clocks say."""
    decision = decide([A], [candidate(7, "A"), candidate(8, "A")], TRUSTED, [rival])
    assert decision.conclusions == {A.id: message(7)}
    assert [one.msg_no for one, _ in decision.surplus] == surplus


def test_each_message_is_one_documents() -> None:
    """However many documents in doubt are alike, no message is given to two of them."""
    twins = [replace(A, id=str(number)) for number in range(5)]
    decision = decide(twins, [candidate(7, "A"), candidate(8, "A"), candidate(9, "?", "A")], TRUSTED, ())
    found = [conclusion.msg_no for conclusion in decision.conclusions.values() if isinstance(conclusion, Message)]
    assert sorted(found) == [7, 8, 9]


def test_what_hinders_is_named() -> None:
    """Whoever decides is shown the messages that keep a document from being found or not found, and no others."""
    unread = other(8, "incomparable")
    decision = decide([A, B], [candidate(7, "B"), unread, candidate(9, "C")], TRUSTED, ())
    assert decision.hindrances == {A.id: (unread,)}


HOUR = timedelta(hours=1)
SECOND = 1 / 60  # of a minute
KNOWN = Clocks(least=-HOUR, most=-HOUR, late=timedelta(minutes=15))  # `received` is an hour behind `Date`
UNKNOWN = Clocks(known=False, late=timedelta(minutes=15))


@pytest.mark.parametrize(
    ("clocks", "minutes", "same", "incomparable"),
    [
        (KNOWN, -59, 7, "ask a person"),
        (KNOWN, -61, "ask a person", "not found"),
        (KNOWN, 14 - 60, 7, "ask a person"),
        (KNOWN, 16 - 60, 7, "not found"),  # later than any message of its request
        (KNOWN, -60 - 5 * SECOND, 7, "ask a person"),  # at the very edges of what it may be
        (KNOWN, 15 - 60 + 5 * SECOND, 7, "ask a person"),
        (replace(KNOWN, set_by=HOUR), -120 - 5 * SECOND, "ask a person", "ask a person"),
        (replace(KNOWN, set_by=HOUR), -120 - 6 * SECOND, "ask a person", "not found"),
        (UNKNOWN, 1, 7, "ask a person"),
        (UNKNOWN, -600, "ask a person", "ask a person"),
        (UNKNOWN, 600, 7, "ask a person"),
    ],
)
def test_what_clocks_say(clocks: Clocks, minutes: float, same: int | str, incomparable: str) -> None:
    """Clocks speak against a message only as far as they are known, and not alone against one that means the same."""
    conclusion = decide([A], [candidate(7, "A", minutes=minutes)], clocks, ()).conclusions[A.id]
    assert (conclusion.msg_no if isinstance(conclusion, Message) else conclusion) == same
    unread = replace(other(7, "incomparable"), message=message(7, minutes=minutes))
    assert decide([A], [unread], clocks, ()).conclusions[A.id] == incomparable


def test_what_is_learned_of_clocks() -> None:
    """From messages that are documents': between what `received` is later than `Date` was; a year apart is no clock."""
    a_year_later = NOON + timedelta(days=366)
    times = [(NOON, NOON - HOUR), (NOON, NOON + HOUR), (NOON, datetime(1, 1, 1, tzinfo=UTC)), (NOON, a_year_later)]
    assert Clocks.learned(times, HOUR) == Clocks(known=True, least=-HOUR, most=HOUR, late=HOUR, set_by=HOUR)
    assert Clocks.learned([], HOUR) == Clocks(known=False, late=HOUR, set_by=HOUR)


def test_the_last_attempt() -> None:
    """Of several requests, the last is told by the access point's clock, if it was known then."""
    once = replace(A, state=State.WAITING, identity="").sending(NOON, identity="acme@ap", clock=NOON)
    assert last_attempt(once) == NOON
    twice = once.doubted(NOON, "no answer").not_found(NOON)
    assert last_attempt(twice.sending(NOON, identity="acme@ap", clock=NOON + HOUR)) == NOON + HOUR
    assert last_attempt(twice.sending(NOON, identity="acme@ap", clock=None)) is None
    thrice = twice.sending(NOON, identity="acme@ap", clock=None).doubted(NOON, "no answer").not_found(NOON)
    assert last_attempt(thrice.sending(NOON, identity="acme@ap", clock=NOON + HOUR)) == NOON + HOUR


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, True),
        ({"direction": None}, True),
        ({"direction": "IN"}, False),
        ({"sender": STRANGER}, False),
        ({"receiver": STRANGER}, False),
        ({"sender": "iso6523-actorid-upis::" + SELLER}, True),
        ({"sender": None, "receiver": None, "document_id": None, "received": None}, True),
        ({"document_id": INVOICE.upper()}, True),
        ({"document_id": "urn:order::Order##ordering::2.1"}, False),
        ({"received": "yesterday"}, True),
        ({"received": "2026-11-20T12:59:00+01:00"}, False),
        ({"received": "2026-11-20T13:01:00+01:00"}, True),
    ],
    ids=str,
)
def test_may_be(changes: dict[str, str | None], possible: bool) -> None:  # noqa: FBT001 - a column of the table
    """A message whose list entry contradicts a document isn't the document; what the list leaves out says nothing."""
    assert may_be(A, replace(message(7), **changes), TRUSTED) is possible  # type: ignore[arg-type] # names of Message's fields


def test_a_twin_in_doubt() -> None:
    """A message from or to the other id of a company is another message, even with the same content."""
    belgian, found = replace(A, receiver="0208:0123456749"), candidate(7, "A")
    for receiver, conclusion in (("0208:0123456749", "7"), ("9925:BE0123456749", "not found")):
        there = replace(found, message=replace(found.message, receiver=receiver))
        said = decide([belgian], [there], TRUSTED, ()).conclusions[A.id]
        assert str(getattr(said, "msg_no", said)) == conclusion
