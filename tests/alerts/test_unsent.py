"""What couldn't be sent is kept, tried again, and shown. Whenever filedrop is killed: once too often at most."""

from __future__ import annotations

import html
import json
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from alerts.conftest import alerts
from alerts.test_alerts import HOUR, MINUTE, fail, take_away
from alerts.test_mail import answering
from support.commands import ask
from support.documents import invoice
from support.faults import reset_before
from support.systems import hang_up

from filedrop.alerts import memory
from filedrop.status.status_file import StatusFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alerts.conftest import Telling
    from support.postoffice import PostOffice
    from support.world import World


def test_a_server_that_refuses(telling: Telling) -> None:
    """A mail that is refused is tried again, less and less often, through restarts too, and comes once in the end."""
    telling.office.answer = "451 not now"
    fail(telling, "a", 1)
    assert telling.told(30 * MINUTE) == []
    tried = telling.office.tried
    assert 4 <= tried <= 6, "after 1, 2, 4, 8 and 16 minutes"
    telling.restart()
    assert telling.told(5 * MINUTE) == []
    assert tried < telling.office.tried <= tried + 3
    telling.office.answer = ""
    assert len(telling.told(HOUR)) == 1
    assert telling.told(HOUR) == []


def test_status_says_so(telling: Telling) -> None:
    """What couldn't be sent stands in status.json and in `status`, until it is sent."""
    telling.office.answer = "451 not now"
    fail(telling, "a", 1)
    telling.pass_on(5 * MINUTE)
    service, world = telling.life.service, telling.world
    status_file = StatusFile(service.config, telling.life.journal, world._log, alerts=telling.teller.troubles)
    status_file.close(service.report())
    (said,) = json.loads((world.root / "status.json").read_text())["alerts"]
    assert said.startswith("an alert of 2020-06-01 ")
    assert f"can't be sent: 127.0.0.1:{telling.office.port}: it returned 451 not now; the next attempt is at " in said
    shown = ask(world, "status").output
    assert " ".join(said.split()) in shown
    assert "1 document and 1 problem need attention." in shown  # it may as well be the heartbeat, or a file
    telling.office.answer = ""
    telling.pass_on(10 * MINUTE)
    status_file.close(service.report())
    assert json.loads((world.root / "status.json").read_text())["alerts"] == []


@pytest.mark.slow
def test_a_mail_takes_the_place_of_an_older_one(telling: Telling) -> None:
    """While the server is away mails don't pile up: when it is back, one says how it is."""
    telling.office.answer = "451 not now"
    fail(telling, "a", 1)
    telling.pass_on(90 * MINUTE)
    fail(telling, "b", 2)
    telling.pass_on(90 * MINUTE)
    telling.office.answer = ""
    (mail,) = telling.told(2 * HOUR)
    assert "acme: 3 failed" in mail.subject


def test_what_nobody_was_told_is_news(telling: Telling) -> None:
    """A mail that takes the place of one that nobody had says all of it, not that it was told before."""
    telling.office.answer = "451 not now"
    fail(telling, "a", 1)
    telling.pass_on(10 * MINUTE)
    telling.world.front.always("", reset_before)
    telling.pass_on(30 * MINUTE)
    telling.office.answer = ""
    (mail,) = telling.told(HOUR)
    for part in (mail.part("plain"), mail.part("html")):
        assert "account main: the access point can't be reached" in html.unescape(part)
        assert "failed/a-0.xml" in part
        assert "reported before" not in part


@pytest.mark.slow
def test_what_came_and_went_is_told_all_the_same(telling: Telling) -> None:
    """What was over before anybody could be told of it is told as that."""
    telling.office.answer = "451 not now"
    fail(telling, "a", 1)
    telling.pass_on(10 * MINUTE)
    take_away(telling)
    telling.pass_on(10 * MINUTE)
    telling.office.answer = ""
    (mail,) = telling.told(HOUR)
    assert "everything is working again" in mail.subject
    assert "acme: 1 failed" in mail.part("plain")


@pytest.mark.slow
def test_a_reader_who_is_refused(make_telling: Callable[..., Telling], office: PostOffice) -> None:
    """Who has a mail doesn't get it again because another reader is refused."""
    telling = make_telling(more="")
    telling.world.more = alerts(office.port).replace("[it@example.com]", "[it@example.com, boss@example.com]")
    telling.restart()
    office.refused = {"it@example.com"}
    fail(telling, "a", 1)
    assert [mail.to for mail in telling.told(HOUR)] == [["boss@example.com"]]
    office.refused = set()
    assert [mail.to for mail in telling.told(2 * HOUR)] == [["it@example.com"]]


@pytest.mark.slow
def test_a_memory_that_is_spoilt(telling: Telling) -> None:
    """Where the file of what was told is no such thing, everything is told once more."""
    fail(telling, "a", 1)
    assert len(telling.told(10 * MINUTE)) == 1
    for nonsense in (
        "",
        "[]",
        "{}",
        '{"filedrop": 1}',
        '{"filedrop": 1, "known": []}',
        '{"filedrop": 1, "known": {"": [["failed"]]}}',
    ):
        telling.life.drop()
        (telling.world.state / memory.NAME).write_text(nonsense)
        telling.start()
        assert len(telling.told(5 * MINUTE)) == 1


def test_a_full_disk(telling: Telling) -> None:
    """Where nothing can be written, people are told all the same, and `status` says what may come of it."""
    fail(telling, "a", 1)
    telling.pass_on(15)
    (telling.world.state / memory.NAME).unlink()
    (telling.world.state / memory.NAME).mkdir()  # which nothing can replace, as on a disk that is full
    assert len(telling.told(5 * MINUTE)) == 1
    assert telling.told(2 * HOUR) == []
    (said,) = telling.teller.troubles()
    assert f"{memory.NAME} can't be written: " in said
    assert said.endswith("; alerts may be repeated after a restart")
    (telling.world.state / memory.NAME).rmdir()
    telling.pass_on(MINUTE)
    fail(telling, "b", 1)
    telling.pass_on(MINUTE)
    assert telling.teller.troubles() == ()


@pytest.fixture
def failed_long_ago(telling: Telling) -> Iterator[World]:
    """A world where a document has failed, which is to be told as soon as filedrop runs."""
    fail(telling, "a", 1)
    telling.pass_on(30)  # by a clock in 2020
    assert telling.office.mails == []
    telling.life.drop()
    yield telling.world
    telling.start()


def unsent(world: World) -> int:
    """How many mails are still to be sent, by what is on the disk."""
    return len(json.loads((world.state / memory.NAME).read_text())["unsent"])


def until_told(world: World, office: PostOffice, mails: int) -> None:
    """Run filedrop until nothing is left to be sent; it has sent so many."""
    with world.daemon() as daemon:
        world.until(lambda: len(office.mails) >= mails and unsent(world) == 0, what="it is told")
        world.stop(daemon)
    assert len(office.mails) == mails


def test_killed_between_decision_and_mail(failed_long_ago: World, office: PostOffice) -> None:
    """Killed while the mail server keeps it waiting: the mail comes after the next start, and once."""
    world = failed_long_ago
    with answering() as port:
        world.more = alerts(port)
        with world.daemon() as daemon:
            world.until(lambda: unsent(world) == 1, what="it is decided")
            daemon.kill()
    world.more = alerts(office.port)
    until_told(world, office, 1)


@pytest.mark.slow
def test_killed_at_the_mail(failed_long_ago: World, office: PostOffice) -> None:
    """Killed when the server has the mail, and hasn't said so: it comes once too often, as the same one."""
    world = failed_long_ago
    with world.daemon() as daemon:
        office.coming = daemon.kill
        world.until(lambda: len(office.mails) == 1, what="it is sent")
        daemon.wait()
    office.coming = lambda: None
    until_told(world, office, 2)
    assert len({mail.message["Message-ID"] for mail in office.mails}) == 1


@pytest.mark.slow
@hang_up
def test_reloaded_at_the_mail(failed_long_ago: World, office: PostOffice) -> None:
    """A changed configuration is taken up while the server has the mail, and hasn't said so: it comes once."""
    world, has_it, release = failed_long_ago, threading.Event(), threading.Event()

    def coming() -> None:
        has_it.set()
        release.wait()

    office.coming = coming
    with world.daemon() as daemon:
        world.until(has_it.is_set)
        world._keys["outbound"]["workers"] = "2"
        world.config_file()
        daemon.send_signal(signal.SIGHUP)
        log = world.base / "daemon.log"
        world.until(lambda: log.read_text().count('"service.started"') == 2, what="it is taken up")
        world.drop("well.xml", invoice("well"))
        world.until(lambda: world.accepted()["well.xml"] == 1, what="it is sent")
        release.set()
        world.until(lambda: unsent(world) == 0, what="it is told")
        world.stop(daemon)
    assert len(office.mails) == 1


def test_a_mail_server_that_hangs_holds_up_no_document(failed_long_ago: World) -> None:
    """While the mail server keeps it waiting, documents are sent, and filedrop stops when it is asked to."""
    world = failed_long_ago
    with answering() as port:
        world.more = alerts(port)
        with world.daemon() as daemon:
            world.until(lambda: unsent(world) == 1, what="it is decided")
            world.drop("well.xml", invoice("well"))
            world.until(lambda: world.accepted()["well.xml"] == 1, what="it is sent")
            world.stop(daemon)
        assert "not_sent" not in (world.base / "daemon.log").read_text(), "the stop waits for nobody who is told"
