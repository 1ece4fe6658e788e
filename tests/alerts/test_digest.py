"""The digest: one mail a day with what came and went, whatever happens to filedrop or its clock at that hour."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from sqlite3 import connect
from typing import TYPE_CHECKING

import pytest
from alerts.conftest import IT
from alerts.test_alerts import HOUR, MINUTE, fail
from support.documents import SELLER, invoice

from filedrop.alerts import digest
from filedrop.journal import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alerts.conftest import Telling
    from support.postoffice import Posted
    from support.stepping import Clock

BOOKS = "books@acme.example"
ACME = f'{{participants: ["{SELLER}"], mail: {BOOKS}}}'
SEVEN = time_of_day(7)


def in_two_hours(clock: Clock) -> str:
    """The digest in two hours of this clock, in YAML."""
    return f'digest: "{clock.now() + timedelta(hours=2):%H:%M}"\n'


@pytest.fixture
def telling(make_telling: Callable[..., Telling], clock: Clock) -> Telling:
    """A filedrop with two companies that makes its digest in two hours, and has looked once."""
    companies = {"acme": ACME, "fjord": '{participants: ["0192:123456785"]}'}
    telling = make_telling(companies=companies, more=in_two_hours(clock))
    telling.pass_on(MINUTE)
    return telling


def digests(telling: Telling, seconds: float = 2 * MINUTE) -> list[Posted]:
    """The digests that come while so much time passes."""
    return [mail for mail in telling.told(seconds) if "still under way" in mail.subject]


def sent(telling: Telling, name: str) -> None:
    """Send an invoice, which is delivered at once."""
    telling.world.drop(f"{name}.xml", invoice(name))
    telling.look_now()
    telling.pass_on(3 * MINUTE)


def test_what_came_and_went(telling: Telling) -> None:
    """Each company's addresses get its figures, who is told of everything gets those of all; once a day."""
    telling.world.receive(invoice("in"))
    sent(telling, "out")
    fail(telling, "a", 2)
    telling.clock.pass_on(2 * HOUR)
    whole, own = digests(telling)
    assert (whole.to, own.to) == ([IT], [BOOKS])
    acme = "acme\n- received: 1\n- delivered: 1\n- failed: 2\n- still under way: 0\n"
    assert acme in own.part("plain")
    assert own.part("plain").startswith("Between ")  # "From" at the beginning of a line arrives as ">From"
    assert "fjord" not in own.part("plain")
    named = "- failed: a-1.xml\n- failed: a-0.xml\n"
    assert f"{acme}{named}\nfjord\n- received: 0\n- delivered: 0\n- failed: 0\n- still under way: 0\n" in whole.part(
        "plain"
    )
    assert "1 received, 1 delivered, 2 failed, 0 still under way" in own.subject
    telling.clock.pass_on(20 * HOUR)
    assert digests(telling) == []
    sent(telling, "next")
    telling.clock.pass_on(4 * HOUR)
    assert "- received: 0\n- delivered: 1\n- failed: 0\n" in digests(telling)[1].part("plain"), "since the last one"


def test_documents_that_failed_several_times(telling: Telling) -> None:
    """Each counts once and is named, however often it was put back; one that was sent in the end isn't listed."""
    fail(telling, "a", 3)
    for _ in range(2):
        telling.pass_on(3 * MINUTE)
        for name in ("a-0.xml", "a-1.xml", "a-2.xml"):
            (telling.world.outbound / "failed" / name).rename(telling.world.outbound / name)
        telling.look_now()
    telling.pass_on(3 * MINUTE)
    (telling.world.outbound / "failed" / "a-2.xml").unlink()
    telling.world.put(telling.world.outbound / "a-2.xml", invoice("mended"))
    telling.look_now()
    telling.pass_on(3 * MINUTE)
    telling.clock.pass_on(2 * HOUR)
    whole, _ = digests(telling)
    assert "1 delivered, 2 failed, 0 still under way" in whole.subject
    named = [line for line in whole.part("plain").splitlines() if line.startswith("- failed: a-")]
    assert sorted(named) == ["- failed: a-0.xml", "- failed: a-1.xml"]
    telling.clock.pass_on(24 * HOUR)
    assert "failed: a-" not in digests(telling)[0].part("plain")


def test_a_restart(telling: Telling) -> None:
    """After a restart it is not sent twice, and counts what was before the restart, too."""
    sent(telling, "before")
    telling.restart()
    sent(telling, "after")
    telling.clock.pass_on(2 * HOUR)
    assert "- delivered: 2\n" in digests(telling)[0].part("plain")
    telling.restart()
    assert digests(telling, 5 * MINUTE) == []


def test_not_running_at_the_hour(telling: Telling) -> None:
    """Where filedrop was down then, it is sent late, once; where it was down all day, the next one tells of both."""
    sent(telling, "before")
    telling.life.drop()
    telling.clock.pass_on(8 * HOUR)
    telling.start()
    assert "- delivered: 1\n" in digests(telling)[0].part("plain")
    assert digests(telling, 5 * MINUTE) == []
    sent(telling, "next")
    telling.life.drop()
    telling.clock.pass_on(43 * HOUR)
    telling.start()
    assert "- delivered: 1\n" in digests(telling)[0].part("plain")
    assert digests(telling, 5 * MINUTE) == []


def test_a_company_that_was_away_from_the_configuration(telling: Telling) -> None:
    """When it is back, only what is new of it is counted, and not again all that there has ever been."""
    sent(telling, "before")
    telling.clock.pass_on(2 * HOUR)
    assert "- delivered: 1\n" in digests(telling)[0].part("plain")
    telling.life.drop()
    acme = telling.world._companies.pop("acme")
    telling.start()
    telling.clock.pass_on(24 * HOUR)
    assert "acme" not in digests(telling)[0].part("plain")
    telling.life.drop()
    telling.world._companies["acme"] = acme
    telling.start()
    sent(telling, "after")
    telling.clock.pass_on(24 * HOUR)
    assert "acme\n- received: 0\n- delivered: 1\n" in digests(telling)[0].part("plain")


def test_killed_at_the_mail(telling: Telling) -> None:
    """One that couldn't be sent is sent later, as it was made, also after a restart; and the next one counts on."""
    telling.office.answer = "451 not now"
    sent(telling, "out")
    telling.clock.pass_on(2 * HOUR)
    assert digests(telling) == []
    (said, *_) = telling.teller.troubles()
    assert said.startswith("a digest of ")
    telling.restart()
    telling.office.answer = ""
    telling.clock.pass_on(24 * HOUR)
    before, after = (mail.part("plain") for mail in digests(telling, 5 * MINUTE) if mail.to == [BOOKS])
    assert "- delivered: 1\n" in before
    assert "- delivered: 0\n" in after


def test_the_first_start(telling: Telling) -> None:
    """The first one comes at its hour, not at the first start after it."""
    telling.world.more = telling.world.more.replace('digest: "', 'digest: "00:00" #')
    telling.life.drop()
    (telling.world.state / "alerts.json").unlink()
    telling.start()
    assert digests(telling) == []


@pytest.fixture
def oslo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local time zone is one with daylight saving."""
    monkeypatch.setenv("TZ", "Europe/Oslo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def made(at: time_of_day, begin: datetime, hours: int) -> list[str]:
    """When digests are made in so many hours, looked at each quarter of an hour, in UTC."""
    last, found = begin.timestamp(), []
    for quarter in range(4 * hours):
        now = begin + timedelta(minutes=15 * quarter)
        if digest.is_due(at, last, now):
            last = now.timestamp()
            found.append(f"{now:%d %H:%M}")
    return found


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process can't be set on Windows")
@pytest.mark.usefixtures("oslo")
def test_daylight_saving() -> None:
    """It is one a day at its local hour, also on a day where that hour is skipped, or comes twice."""
    spring, autumn = datetime(2026, 3, 27, 12, tzinfo=UTC), datetime(2026, 10, 23, 12, tzinfo=UTC)
    assert made(SEVEN, spring, 72) == ["28 06:00", "29 05:00", "30 05:00"]
    assert made(SEVEN, autumn, 72) == ["24 05:00", "25 06:00", "26 06:00"]
    assert made(time_of_day(2, 30), spring, 72) == ["28 01:30", "29 00:30", "30 00:30"]
    assert made(time_of_day(2, 30), autumn, 72) == ["24 00:30", "25 00:30", "26 01:30"]
    assert made(time_of_day(0), spring, 72) == ["27 23:00", "28 23:00", "29 22:00"]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process can't be set on Windows")
@pytest.mark.usefixtures("oslo")
def test_just_before_midnight() -> None:
    """One that is due at the end of a day is made, though filedrop looks again only on the next."""
    begin = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert made(time_of_day(23, 59), begin, 72) == ["20 23:00", "21 23:00", "22 23:00"]


def test_a_clock_that_is_set() -> None:
    """A clock that was days ahead makes none twice, and keeps none from being made."""
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert not digest.is_due(SEVEN, noon.timestamp(), noon - timedelta(minutes=1))
    assert len(made(SEVEN, noon, 72)) == 3


def test_a_new_journal() -> None:
    """Where a new journal counts from the start again, what it has counted is what is new."""
    before = {"acme": {"received": 7, "delivered": 2, "failed": 0}}
    now = {"acme": {"received": 3, "delivered": 5, "failed": 0}}
    assert digest.figures(now, before, {"acme": []}, []) == {
        "acme": {"received": 3, "delivered": 3, "failed": 0, digest.UNDER_WAY: 0}
    }


def test_a_digest_that_cannot_be_made(telling: Telling) -> None:
    """A number of the journal that is none costs the digest alone: alerts are sent, and status has the trouble."""
    sent(telling, "fine")
    with closing(connect(telling.world.state / JOURNAL)) as journal, journal:
        journal.execute("UPDATE totals SET number = 'many'")
    telling.clock.pass_on(2 * HOUR)
    fail(telling, "a", 1)
    mails = telling.told(5 * MINUTE)
    assert mails
    assert all("acme: 1 failed" in mail.subject for mail in mails)
    assert [why for why in telling.teller.troubles() if why.startswith("the digest: an error in filedrop")]
