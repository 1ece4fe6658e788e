"""Who is told of what, how often, and when it is over: by a real mail server, and clocks that are stepped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from alerts.conftest import IT
from support.documents import SELLER, invoice
from support.faults import instead, reset_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from alerts.conftest import Telling

MINUTE, HOUR = 60.0, 3600.0


def fail(telling: Telling, wave: str, number: int) -> None:
    """Drop so many documents that fail, since nothing says who receives them."""
    for each in range(number):
        telling.world.drop(f"{wave}-{each}.xml", invoice(f"{wave} {each}", receiver=None))
    telling.look_now()


def take_away(telling: Telling, number: int | None = None) -> None:
    """A person takes some of what has failed, or all of it."""
    for path in list((telling.world.outbound / "failed").glob("*.xml"))[:number]:
        for one in (path, path.with_name(f"{path.name}.json"), path.with_name(f"{path.name}.why.txt")):
            one.unlink()


def test_forty_failures_are_one_mail(telling: Telling) -> None:
    """Forty failures make one mail, which says how many, names some, and says what to do; and no other."""
    fail(telling, "a", 40)
    (mail,) = telling.told(70 * MINUTE)
    assert mail.to == [IT]
    assert "acme: 40 failed" in mail.subject
    for part in (mail.part("plain"), mail.part("html")):
        assert part.count("failed/a-") == 20
        assert "and 20 more" in part
        assert "new" not in part
        assert "PEPPOL address (ParticipantID) is missing" in part
        assert "filedrop retry acme NAME" in part
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert mail.message["Message-ID"]
    assert mail.message["Date"]


def test_what_was_told_cannot_be_read(telling: Telling) -> None:
    """Where it can't be read what was told before, it is told once more: once too often is better than never."""
    (telling.world.state / "alerts.json").mkdir()
    fail(telling, "a", 2)
    assert len(telling.told(30 * MINUTE)) == 1
    assert [line["event"] for line in telling.world.log()].count("alerts.not_kept") >= 1


@pytest.mark.slow
def test_a_second_wave(telling: Telling) -> None:
    """A second wave is told when `quiet` is over, once, and marked as new; and without one nothing is told."""
    fail(telling, "a", 40)
    assert len(telling.told(5 * MINUTE)) == 1
    fail(telling, "b", 2)
    assert telling.told(50 * MINUTE) == []
    (mail,) = telling.told(10 * MINUTE)
    assert "acme: 42 failed, 2 of them new" in mail.subject
    for part in (mail.part("plain"), mail.part("html")):
        assert part.count("new: ") == 2
        assert all(f"new: {telling.world.outbound / 'failed' / name}" in part for name in ("b-0.xml", "b-1.xml"))
    assert telling.told(70 * MINUTE) == []


def test_file_that_nobody_will_send(telling: Telling) -> None:
    """A file that will never be sent is told once, also across a restart, and again when it is gone."""
    telling.pass_on(5 * MINUTE)
    telling.world.put(telling.world.outbound / "invoice.xml.txt", b"<Invoice/>")
    (mail,) = telling.told(20 * MINUTE)
    assert "acme: 1 file that will never be sent" in mail.subject
    assert str(telling.world.outbound / "invoice.xml.txt") in mail.part("plain")
    telling.restart()
    assert telling.told(20 * MINUTE) == []
    (telling.world.outbound / "invoice.xml.txt").unlink()
    assert len(telling.told(20 * MINUTE)) == 1


def test_what_shrinks_and_grows_again_has_grown(telling: Telling) -> None:
    """Where some are mended and others fail, the same number is not the same matter."""
    fail(telling, "a", 3)
    assert len(telling.told(5 * MINUTE)) == 1
    take_away(telling, 2)
    assert telling.told(2 * HOUR) == []
    fail(telling, "b", 2)
    (mail,) = telling.told(5 * MINUTE)
    assert "acme: 3 failed, 2 of them new" in mail.subject


def test_all_is_well_again(telling: Telling) -> None:
    """When nothing is left that was told of, that is told, once; what fails then is news."""
    fail(telling, "a", 2)
    assert len(telling.told(5 * MINUTE)) == 1
    take_away(telling)
    (mail,) = telling.told(70 * MINUTE)
    assert "everything is working again" in mail.subject
    assert "acme: 2 failed" in mail.part("plain")
    fail(telling, "b", 1)
    assert len(telling.told(5 * MINUTE)) == 1


def test_nobody_is_told_that_all_is_well(telling: Telling) -> None:
    """Where nothing was wrong, nothing is told."""
    telling.world.drop("well.xml", invoice("well"))
    assert telling.told(70 * MINUTE) == []


def test_a_short_outage(telling: Telling) -> None:
    """An outage of three minutes is told to nobody."""
    telling.pass_on(5 * MINUTE)
    telling.world.front.always("", reset_before)
    assert telling.told(3 * MINUTE) == []
    assert telling.teller._remembered().known[""], "it was seen"
    telling.world.front.heal()
    assert telling.told(HOUR) == []


def test_a_long_outage(telling: Telling) -> None:
    """One of twenty minutes is told after fifteen, and its end soon after it."""
    telling.pass_on(5 * MINUTE)
    telling.world.front.always("", reset_before)
    assert telling.told(14 * MINUTE) == []
    (mail,) = telling.told(6 * MINUTE)
    assert "account main: the access point can't be reached" in mail.subject
    telling.world.front.heal()
    (mail,) = telling.told(HOUR)
    assert "everything is working again" in mail.subject


@pytest.mark.slow
def test_short_outages_after_a_long_one(telling: Telling) -> None:
    """A short outage is told to nobody, also after a long one, while something else has needed a person ever since."""
    fail(telling, "a", 1)
    assert len(telling.told(5 * MINUTE)) == 1
    telling.world.front.always("", reset_before)
    (mail,) = telling.told(20 * MINUTE)
    assert "account main: the access point can't be reached" in mail.subject
    telling.world.front.heal()
    assert telling.told(2 * HOUR) == []
    telling.world.front.always("", reset_before)
    assert telling.told(10 * MINUTE) == []
    (mail,) = telling.told(10 * MINUTE)
    assert "account main: the access point can't be reached" in mail.subject


def test_an_outage_with_restarts(telling: Telling) -> None:
    """However often filedrop is restarted meanwhile, an outage is as long as it is."""
    telling.pass_on(5 * MINUTE)
    telling.world.front.always("", reset_before)
    assert telling.told(8 * MINUTE) == []
    telling.restart()
    (mail,) = telling.told(9 * MINUTE)
    assert "account main: the access point can't be reached" in mail.subject
    telling.restart()
    assert telling.told(5 * HOUR) == []


def test_a_refused_login(telling: Telling) -> None:
    """A login that is refused is told as such, with no word of the password."""
    telling.world.password_file.write_text("another-password")
    (mail,) = telling.told(20 * MINUTE)
    assert "account main: the login is refused" in mail.subject
    assert "another-password" not in mail.message.as_string()


@pytest.mark.slow
def test_an_outage_that_turns_into_a_refused_login(telling: Telling) -> None:
    """Whoever waits for the end of an outage is told that it now needs another remedy, when `quiet` is over."""
    telling.pass_on(5 * MINUTE)
    telling.world.front.always("", reset_before)
    assert len(telling.told(20 * MINUTE)) == 1
    telling.world.front.heal()
    telling.world.front.always("", instead(401))
    assert telling.told(30 * MINUTE) == []
    (mail,) = telling.told(2 * HOUR)
    assert "account main: the login is refused" in mail.subject


def test_a_folder_that_is_gone(telling: Telling) -> None:
    """A folder that stays away is told, not one that is back soon; what lies in it isn't over by that."""
    fail(telling, "a", 1)
    assert len(telling.told(5 * MINUTE)) == 1
    outbound, elsewhere = telling.world.outbound, telling.world.base / "elsewhere"
    outbound.rename(elsewhere)
    assert telling.told(3 * MINUTE) == []
    elsewhere.rename(outbound)
    assert telling.told(HOUR) == []
    outbound.rename(elsewhere)
    (mail,) = telling.told(HOUR)
    assert f"{outbound}: unavailable: it is missing" in mail.part("plain")
    elsewhere.rename(outbound)
    assert telling.told(HOUR) == [], "one document still is in failed/"
    take_away(telling)
    assert len(telling.told(HOUR)) == 1


def test_too_little_room(make_telling: Callable[..., Telling]) -> None:
    """A disk with less room than `min_free` is told."""
    telling = make_telling(inbound={"poll": "1m", "min_free": "999999GB"})
    (mail,) = telling.told(HOUR)
    assert "free; nothing is fetched below" in mail.part("plain")


@pytest.mark.slow
def test_a_root_that_goes_away_after_a_folder(telling: Telling) -> None:
    """One mail names the root for all that is in it, and the folder that was told before isn't over by that."""
    outbound, inbound, elsewhere = telling.world.outbound, telling.world.inbound, telling.world.base / "elsewhere"
    telling.pass_on(MINUTE)
    outbound.rename(elsewhere)
    assert f"{outbound}: unavailable: it is missing" in telling.told(HOUR)[0].part("plain")
    inbound.rename(telling.world.base / "inbound elsewhere")
    (mail,) = telling.told(2 * HOUR)
    assert f"{telling.world.root}: unavailable, with all 2 folders in it: check that it is mounted" in mail.subject
    assert "Over" not in mail.part("plain")
    elsewhere.rename(outbound)
    (telling.world.base / "inbound elsewhere").rename(inbound)
    (over,) = telling.told(2 * HOUR)
    assert "everything is working again" in over.subject


@pytest.mark.slow
def test_a_full_folder_that_goes_away(make_telling: Callable[..., Telling]) -> None:
    """What was wrong with a folder before hides nothing: that it is unavailable now is told, when `quiet` is over."""
    telling = make_telling(inbound={"poll": "1m", "min_free": "999999GB"})
    assert len(telling.told(20 * MINUTE)) == 1
    telling.world.inbound.rename(telling.world.base / "elsewhere")
    (mail,) = telling.told(2 * HOUR)
    assert f"{telling.world.inbound}: unavailable: it is missing" in mail.subject
    (telling.world.base / "elsewhere").rename(telling.world.inbound)
    (mail,) = telling.told(2 * HOUR)
    assert "free; nothing is fetched below" in mail.subject


def test_companies_are_told_of_their_own(make_telling: Callable[..., Telling]) -> None:
    """A company's own addresses get its matters and no other's; who is told of everything gets all of them."""
    companies = {
        "acme": f'{{participants: ["{SELLER}"], mail: books@acme.example}}',
        "fjord": '{participants: ["0192:123456785"], mail: [books@fjord.example, boss@fjord.example]}',
    }
    telling = make_telling(companies=companies)
    fail_in(telling, "fjord")
    mails = telling.told(HOUR)
    assert [mail.to for mail in mails] == [[IT], ["books@fjord.example", "boss@fjord.example"]]
    assert all("fjord: 1 failed" in mail.subject for mail in mails)
    everything, own = (mail.part("plain") for mail in mails)
    assert (
        f"- {telling.world.root / 'fjord' / 'outbound' / 'failed' / 'fjord.xml'} (Invoice fjord, Kjøper Kommune): "
        in everything
    )
    assert (
        "- outbound/failed/fjord.xml (Invoice fjord, Kjøper Kommune): " in own
    )  # as the company sees it, from its own folder on
    telling.world.front.always("", reset_before)
    (mail,) = telling.told(HOUR)
    assert mail.to == [IT]
    assert "Not resolved yet, reported before\n- fjord: 1 failed" in mail.part("plain")


def test_mail_in_a_companys_language(make_telling: Callable[..., Telling]) -> None:
    """A mail to a company is in its language, and that to who is told of everything is in English."""
    company = '{participants: ["0192:123456785"], mail: books@fjord.example, language: nb}'
    telling = make_telling(companies={"fjord": company})
    fail_in(telling, "fjord")
    everything, own = telling.told(HOUR)
    assert "fjord: 1 failed" in everything.subject
    assert "fjord: 1 mislyktes" in own.subject
    assert "(Les notatet til hver fil, og gj\u00f8r det som st\u00e5r der)" in own.part("plain")
    assert '<html lang="nb">' in own.part("html")
    assert "failed:" not in own.part("plain")


def fail_in(telling: Telling, company: str) -> None:
    """Let a document of this company fail."""
    path = telling.world.root / company / "outbound" / f"{company}.xml"
    telling.pass_on(10)
    telling.world.put(path, invoice(company, receiver=None))
    telling.look_now()
