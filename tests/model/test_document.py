from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drops import IDENTITY, NOON, accepted, drop, posted

from filedrop.model.document import Document, State, new_id, participant_key, same_participant
from filedrop.model.fault import Fault
from filedrop.storage import sidecar
from filedrop.times import month

if TYPE_CHECKING:
    from collections.abc import Callable

FAULT = Fault("rejected", "the access point refused it")
LATER = NOON + timedelta(minutes=1)

STEPS: dict[str, tuple[State, Callable[[Document], Document]]] = {
    "sending": (State.SENDING, posted),
    "sent": (State.SENT, lambda document: document.sent(NOON, 7, received=None, uuid=None)),
    "never arrived": (State.WAITING, lambda document: document.never_arrived(NOON, "no connection")),
    "doubted": (State.DOUBT, lambda document: document.doubted(NOON, "no answer")),
    "not found": (State.WAITING, lambda document: document.not_found(NOON)),
    "delivered": (State.DELIVERED, lambda document: document.delivered_at(NOON, "2026-11-20T12:00:00Z", None)),
    "failed": (State.FAILED, lambda document: document.failed(NOON, FAULT)),
    "unreachable": (State.UNREACHABLE, lambda document: document.unreachable(NOON, FAULT)),
    "taken": (State.TAKEN, lambda document: document.taken(NOON)),
    "back": (State.SENT, lambda document: document.back(NOON)),
}

# The table of architecture.md, "States of an outbound document".
TABLE = {
    State.WAITING: {State.SENDING, State.FAILED, State.UNREACHABLE, State.TAKEN},
    State.SENDING: {State.SENT, State.WAITING, State.FAILED, State.DOUBT, State.TAKEN},
    State.DOUBT: {State.SENT, State.WAITING, State.FAILED, State.TAKEN},
    State.SENT: {State.DELIVERED, State.FAILED, State.UNREACHABLE, State.TAKEN},
    State.TAKEN: {State.SENT},
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_only_legal_steps_are_taken(steps: list[str]) -> None:
    """Whatever is tried in whatever order, a document only ever takes the steps of the table, and says when."""
    document = drop()
    for name in steps:
        state, step = STEPS[name]
        if state in TABLE.get(document.state, set()):
            after = step(document)
            assert after.state is state
            assert after.history[:-1] == document.history
            assert after.history[-1].at == NOON
            document = after
        else:
            with pytest.raises(ValueError, match="no step leads from"):
                step(document)


def test_what_is_finished_stays_so() -> None:
    """What ended takes no step any more; but taken documents do, when their file is back in `sent/`."""
    assert {state for state in State if state.finished} == set(State) - TABLE.keys() | {State.TAKEN}


def test_a_step_leaves_the_document_before_it_alone() -> None:
    """A document never changes: who holds one holds what it was."""
    before = drop()
    posted(before)
    assert before == drop()


def test_where_each_state_is_at_home() -> None:
    """Where a file lies is what has happened to it."""
    sent = accepted(drop())
    homes = [
        (drop(), "sending"),
        (posted(drop()), "sending"),
        (posted(drop()).doubted(NOON, "no answer"), "sending"),
        (sent, "sent"),
        (sent.delivered_at(LATER, "2026-12-01T00:30:00.000+01:00", None), "archive/2026-12"),
        (sent.failed(LATER, FAULT), "failed"),
    ]
    assert [document.home for document, _ in homes] == [home for _, home in homes]


@pytest.mark.parametrize(
    ("written", "folder"),
    [("2026-12-01T00:30:00+14:00", "2026-12"), ("2026-02", "2026-02"), ("", "2026-11"), (None, "2026-11"),
     ("../../etc/passwd", "2026-11"), ("next month", "2026-11"), ("2026/12/01", "2026-11"), ("2026-13-01", "2026-11"),
     ("\u0662\u0660\u0662\u0666-\u0661\u0662-\u0660\u0661", "2026-11")],
)  # fmt: skip
def test_month(written: str | None, folder: str) -> None:
    """The archive's folder is the month as the access point wrote it; what is no month becomes our own, and no path."""
    assert month(written, NOON) == folder


def test_the_first_attempt_is_remembered() -> None:
    """A document is looked for from its first request at that account on, by the access point's own clock."""
    again = posted(drop()).doubted(NOON, "no answer").not_found(NOON)
    assert again.sending(LATER, identity=IDENTITY, clock=LATER).first_attempt == NOON
    assert again.sending(LATER, identity="acme@elsewhere", clock=LATER).first_attempt == LATER


def test_a_document_that_is_tried_for_months() -> None:
    """Its sidecar can still be read: of its history, what came first and what came last is kept."""
    document, why = drop(), "the access point answered 503 Service Unavailable, and asks to be left alone for an hour"
    for _ in range(6000):
        document = posted(document).never_arrived(NOON, why)
    document = accepted(document)
    assert len(sidecar.outbound(document, document.file)) < sidecar.LARGEST / 2
    assert document.history[:1] == drop().history[:1]
    assert [event.event for event in document.history[-3:]] == ["never arrived", "sending", "accepted"]


def test_a_document_without_all_ids_has_none_to_send() -> None:
    """Nothing is guessed: what lacks an id can't be posted."""
    assert drop().ids.sender == drop().sender
    for lacking in ("sender", "receiver", "document_id", "process_id"):
        with pytest.raises(ValueError, match="can't be sent without"):
            _ = drop(**{lacking: None}).ids


def test_what_may_be_at_the_access_point() -> None:
    """Whatever was accepted or may have been stands in the way of the same content; what certainly wasn't, doesn't."""
    doubted = posted(drop()).doubted(NOON, "no answer")
    may_be = {
        "waiting": drop(),
        "sending": posted(drop()),
        "in doubt": doubted,
        "sent": accepted(drop()),
        "rejected": posted(drop()).failed(NOON, FAULT),
        "not delivered": accepted(drop()).failed(NOON, Fault("not-delivered", "the transfer failed")),
        "no answer": doubted.failed(NOON, Fault("no-answer", "ten times")),
        "taken before it was posted": drop().taken(NOON),
        "taken in doubt": doubted.taken(NOON),
        "taken after it was accepted": accepted(drop()).taken(NOON),
    }
    assert {name for name, document in may_be.items() if document.may_be_accepted} == {
        "sending", "in doubt", "sent", "no answer", "taken in doubt", "taken after it was accepted",
    }  # fmt: skip


def test_clock_of_a_request() -> None:
    """The access point's clock is that of the request, not that of the batch in which it was to wait its turn."""
    first = drop().sending(NOON, identity=IDENTITY, clock=NOON)
    assert first.requested(LATER).first_attempt == LATER
    assert first.requested(None) == first
    again = first.doubted(NOON, "no answer").not_found(NOON).sending(LATER, identity=IDENTITY, clock=NOON)
    assert again.requested(LATER).first_attempt == NOON
    assert again.requested(LATER).history[-1].facts == {"clock": LATER.isoformat()}


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.integers(1, 10**9))  # noqa: DTZ001 - hypothesis wants its bounds without a zone
def test_ids_sort_by_time(moment: datetime, later: int) -> None:
    """An id has 26 letters that are safe in a file name, and later ids sort after earlier ones."""
    ids = new_id(moment), new_id(moment + timedelta(milliseconds=later))
    assert all(len(each) == 26 and each.isalnum() and each.isascii() for each in ids)
    assert ids[0] < ids[1]


def test_participants_are_compared_without_case_and_prefix() -> None:
    """Peppol policy for identifiers 5: the same company, however it is written."""
    assert same_participant("9908:ABC", "iso6523-actorid-upis::9908:abc")
    assert not same_participant("9908:abc", "9908:abd")
    assert participant_key(" 0192:1 ") == "0192:1"
