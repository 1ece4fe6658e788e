"""The probe answers what the test has written down, and the steady clock stands where the test has put it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from support.backoffs import exact

from filedrop.accesspoint.breaker import CircuitBreaker
from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer, Unauthorized, Unavailable, WrongAddress

AWAY = Unavailable("nobody answers at https://ap.example.com")
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
UNCLEAR = NoClearAnswer("the connection was cut")


class Access:
    """An access point that is only probed. `trouble` is what it answers; `now` is the steady clock."""

    def __init__(self) -> None:
        self.trouble: AccessPointError | None = None
        self.probes = 0
        self.now = 1000.0
        self.breaker = CircuitBreaker(
            self.probe, retry=exact(timedelta(seconds=5), timedelta(minutes=15)), steady=lambda: self.now,
            log=structlog.wrap_logger(structlog.ReturnLogger()), login_changed=lambda: False, now=lambda: NOON,
        )  # fmt: skip

    def probe(self) -> None:
        self.probes += 1
        if self.trouble:
            raise self.trouble

    def pauses(self, count: int) -> list[float]:
        """The seconds between so many probes, each made as soon as it is due."""
        found = []
        for _ in range(count):
            self.breaker.allows()
            found.append(self.breaker.wait())
            self.now += self.breaker.wait()
        return found


@pytest.fixture
def access() -> Access:
    return Access()


def test_nothing_is_asked_before_the_first_probe(access: Access) -> None:
    """At a start nobody knows whether the account may be spoken to: one probe tells, once."""
    assert not access.breaker.ready
    assert access.breaker.allows()
    assert access.breaker.allows()
    assert access.probes == 1


def test_an_outage_is_one_probe(access: Access) -> None:
    """While the access point is away, many threads that ask make one probe, and none before the next is due."""
    access.trouble = AWAY
    threads = [threading.Thread(target=access.breaker.allows) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert access.probes == 1
    access.now += access.breaker.wait() - 0.1
    assert not access.breaker.allows()
    assert access.probes == 1
    access.now += 0.2
    access.breaker.allows()
    assert access.probes == 2


def test_pauses_grow(access: Access) -> None:
    """Probes begin after `retry.first`, double, and never get rarer than `retry.longest`."""
    access.trouble = AWAY
    assert access.pauses(10) == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]


@pytest.mark.parametrize("trouble", [AWAY, Unauthorized("the login was refused"), WrongAddress("404")])
def test_an_outage_of_a_month_is_survived(access: Access, trouble: AccessPointError) -> None:
    """However long it lasts, the pauses stay bounded, and the first answer ends it."""
    access.trouble = trouble
    assert access.pauses(3000)[-1] == 900
    access.trouble = None
    assert access.breaker.allows()
    assert access.breaker.report.why == ""


def test_what_four_workers_hear_is_one_outage(access: Access) -> None:
    """Requests that were under way together and failed together are one failure, not four."""
    access.breaker.allows()
    for document in "abcd":
        access.breaker.record_failure(AWAY, document)
    assert access.breaker.wait() == 5


def test_retry_after_is_honoured(access: Access) -> None:
    """A 503 that says when to come back is believed (up to an hour: test_send)."""
    access.trouble = Unavailable("busy", retry_after=timedelta(minutes=2))
    access.breaker.allows()
    assert access.breaker.wait() == 120


@pytest.mark.parametrize("asked_for", [0, -5])
def test_who_may_come_back_at_once_does_not_hammer(access: Access, asked_for: int) -> None:
    """A 503 that asks for no pause, or one until a moment that is past, gets the probes of any other outage."""
    access.trouble = Unavailable("busy", retry_after=timedelta(seconds=asked_for))
    assert access.pauses(4) == [5, 10, 20, 40]


def test_a_refused_login_is_not_hammered(access: Access) -> None:
    """With a wrong password there are minutes between the probes from the first on."""
    access.trouble = Unauthorized("the login was refused")
    assert access.pauses(5) == [180, 360, 720, 900, 900]
    assert access.breaker.report.condition == "refused"


def test_what_ends_here_says_nothing_of_it(access: Access) -> None:
    """Where a process of ours ended, its documents have no clear answer, and the access point is not to blame."""
    access.breaker.allows()
    for document in ("one", "two", "three"):
        access.breaker.record_failure(Interrupted("it has ended"), document)
    assert access.breaker.ready


def test_one_documents_unclear_answers_say_nothing(access: Access) -> None:
    """One document's 5xx, however often, doesn't stop the others."""
    access.breaker.allows()
    for _ in range(10):
        access.breaker.record_failure(UNCLEAR, "a")
    assert access.breaker.ready


def test_several_documents_in_a_row_speak_against_the_access_point(access: Access) -> None:
    """Three different documents without a clear answer, one after the other: it isn't the documents."""
    access.breaker.allows()
    for document in "aabb":
        access.breaker.record_failure(UNCLEAR, document)
    assert access.breaker.ready
    access.breaker.record_failure(UNCLEAR, "c")
    assert not access.breaker.ready
    assert access.breaker.report.condition == "away"
    assert access.breaker.report.why == "the connection was cut"


def test_a_clear_answer_between_them_speaks_for_it(access: Access) -> None:
    """While others get through, unclear answers are their documents' own."""
    access.breaker.allows()
    for document in "ab":
        access.breaker.record_failure(UNCLEAR, document)
    access.breaker.record_success("a")
    for document in "cd":
        access.breaker.record_failure(UNCLEAR, document)
    assert access.breaker.ready


def test_where_only_the_probe_gets_through_pauses_grow(access: Access) -> None:
    """An access point that answers GET but takes no document isn't flooded: a document's answer ends the pauses."""
    pauses = []
    for _ in range(4):
        access.breaker.allows()
        for document in "abc":
            access.breaker.record_failure(UNCLEAR, document)
        pauses.append(access.breaker.wait())
        access.now += access.breaker.wait()
    assert pauses == [5, 10, 20, 40]
    access.breaker.allows()
    access.breaker.record_success("a")
    for document in "abc":
        access.breaker.record_failure(UNCLEAR, document)
    assert access.breaker.wait() == 5


@pytest.mark.parametrize("trouble", [AWAY, WrongAddress("404")])
def test_a_document_that_is_not_taken(access: Access, trouble: AccessPointError) -> None:
    """One document's refusals pause nothing while a probe is answered; where that fails too, the account pauses."""
    access.breaker.allows()
    for _ in range(10):
        access.breaker.record_failure(trouble, "a")
    assert access.breaker.ready
    assert access.probes == 11
    access.trouble = AWAY
    access.breaker.record_failure(trouble, "a")
    assert not access.breaker.ready
    assert access.breaker.report.why == str(trouble)
    assert access.breaker.wait() == 5


def test_a_pause_that_one_document_draws(access: Access) -> None:
    """A Retry-After is honoured; once the access point is back, the document that draws it again waits alone."""
    busy = Unavailable("busy", retry_after=timedelta(minutes=30))
    access.breaker.allows()
    access.breaker.record_failure(busy, "a")
    assert access.breaker.wait() == 1800
    access.now += 1800
    assert access.breaker.allows()
    for document in "aba":
        access.breaker.record_failure(busy, document)
    assert access.breaker.ready
    for document in "ab":
        access.breaker.record_success(document)
    access.breaker.record_failure(busy, "c")
    assert access.breaker.wait() == 1800


def test_see_again(access: Access) -> None:
    """After a failed request a probe says at once whether it was the access point or the request."""
    access.breaker.allows()
    assert access.breaker.allows_again()
    access.trouble = AWAY
    assert not access.breaker.allows_again()
    assert access.probes == 3
    assert not access.breaker.allows_again()
    assert access.probes == 3
