"""The probe answers what the test has written down, and the steady clock stands where the test has put it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import structlog

from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer, Unauthorized, Unavailable, WrongAddress
from filedrop.standing import Standing

AWAY = Unavailable("nobody answers at https://ap.example.com")
UNCLEAR = NoClearAnswer("the connection was cut")


class Access:
    """An access point that is only probed. `trouble` is what it answers; `now` is the steady clock."""

    def __init__(self) -> None:
        self.trouble: AccessPointError | None = None
        self.probes = 0
        self.now = 1000.0
        self.standing = Standing(
            self.probe, first=timedelta(seconds=5), longest=timedelta(minutes=15), steady=lambda: self.now,
            log=structlog.wrap_logger(structlog.ReturnLogger()),
        )  # fmt: skip

    def probe(self) -> None:
        self.probes += 1
        if self.trouble:
            raise self.trouble

    def pauses(self, count: int) -> list[float]:
        """The seconds between so many probes, each made as soon as it is due."""
        found = []
        for _ in range(count):
            self.standing.see()
            found.append(self.standing.wait())
            self.now += self.standing.wait()
        return found


@pytest.fixture
def access() -> Access:
    return Access()


def test_nothing_is_asked_before_the_first_probe(access: Access) -> None:
    """At a start nobody knows whether the account may be spoken to: one probe tells, once."""
    assert not access.standing.ready
    assert access.standing.see()
    assert access.standing.see()
    assert access.probes == 1


def test_an_outage_is_one_probe(access: Access) -> None:
    """While the access point is away, many threads that ask make one probe, and none before the next is due."""
    access.trouble = AWAY
    threads = [threading.Thread(target=access.standing.see) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert access.probes == 1
    access.now += access.standing.wait() - 0.1
    assert not access.standing.see()
    assert access.probes == 1
    access.now += 0.2
    access.standing.see()
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
    assert access.standing.see()
    assert access.standing.report.why == ""


def test_what_four_workers_hear_is_one_outage(access: Access) -> None:
    """Requests that were under way together and failed together are one failure, not four."""
    access.standing.see()
    for document in "abcd":
        access.standing.heard(AWAY, document)
    assert access.standing.wait() == 5


@pytest.mark.parametrize(("asked_for", "given"), [(120, 120), (7200, 3600), (0, 0), (-5, 0)])
def test_retry_after_is_honoured(access: Access, asked_for: int, given: int) -> None:
    """A 503 that says when to come back is believed, up to an hour."""
    access.trouble = Unavailable("busy", retry_after=timedelta(seconds=asked_for))
    access.standing.see()
    assert access.standing.wait() == given


def test_a_refused_login_is_not_hammered(access: Access) -> None:
    """With a wrong password there are minutes between the probes from the first on."""
    access.trouble = Unauthorized("the login was refused")
    assert access.pauses(5) == [180, 360, 720, 900, 900]
    assert access.standing.report.condition == "refused"


def test_what_ends_here_says_nothing_of_it(access: Access) -> None:
    """Where a process of ours ended, its documents have no clear answer, and the access point is not to blame."""
    access.standing.see()
    for document in ("one", "two", "three"):
        access.standing.heard(Interrupted("it has ended"), document)
    assert access.standing.ready


def test_one_documents_unclear_answers_say_nothing(access: Access) -> None:
    """One document's 5xx, however often, doesn't stop the others."""
    access.standing.see()
    for _ in range(10):
        access.standing.heard(UNCLEAR, "a")
    assert access.standing.ready


def test_several_documents_in_a_row_speak_against_the_access_point(access: Access) -> None:
    """Three different documents without a clear answer, one after the other: it isn't the documents."""
    access.standing.see()
    for document in "aabb":
        access.standing.heard(UNCLEAR, document)
    assert access.standing.ready
    access.standing.heard(UNCLEAR, "c")
    assert not access.standing.ready
    assert access.standing.report.condition == "away"
    assert access.standing.report.why == "the connection was cut"


def test_a_clear_answer_between_them_speaks_for_it(access: Access) -> None:
    """While others get through, unclear answers are their documents' own."""
    access.standing.see()
    for document in "ab":
        access.standing.heard(UNCLEAR, document)
    access.standing.answered()
    for document in "cd":
        access.standing.heard(UNCLEAR, document)
    assert access.standing.ready


def test_where_only_the_probe_gets_through_pauses_grow(access: Access) -> None:
    """An access point that answers GET but takes no document isn't flooded: a document's answer ends the pauses."""
    pauses = []
    for _ in range(4):
        access.standing.see()
        for document in "abc":
            access.standing.heard(UNCLEAR, document)
        pauses.append(access.standing.wait())
        access.now += access.standing.wait()
    assert pauses == [5, 10, 20, 40]
    access.standing.see()
    access.standing.answered()
    for document in "abc":
        access.standing.heard(UNCLEAR, document)
    assert access.standing.wait() == 5


def test_see_again(access: Access) -> None:
    """After a failed request a probe says at once whether it was the access point or the request."""
    access.standing.see()
    assert access.standing.see_again()
    access.trouble = AWAY
    assert not access.standing.see_again()
    assert access.probes == 3
    assert not access.standing.see_again()
    assert access.probes == 3
