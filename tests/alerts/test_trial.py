"""`filedrop check --alert`: all that is configured to tell people is tried, and each comes with a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from alerts.conftest import IT, alerts
from alerts.test_digest import ACME, BOOKS
from support.commands import ask
from support.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.postoffice import PostOffice
    from support.world import World

SECRET = "Zq7-secret-path"


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def world(make_world: Callable[..., World], office: PostOffice, sink: Sink) -> World:
    """A world in which everything is configured that can be, and works."""
    world = make_world(companies={"acme": ACME})
    (world.base / "textfile").mkdir()
    world.more = (
        f"{alerts(office.port)}  urls: ['json://{sink.at}/{SECRET}']\n"
        f"heartbeat: {{url: 'http://{sink.at}/{SECRET}'}}\n"
        f"metrics: {{textfile: {world.base / 'textfile' / 'filedrop.prom'}}}\n"
    )
    return world


def tried(world: World, status: int) -> dict[str, tuple[str, str]]:
    """What came of each attempt, by what was tried."""
    done = ask(world, "check", "--alert", "--json")
    assert done.status == status
    assert SECRET not in done.says
    found = [json.loads(line) for line in done.output.splitlines()]
    return {one["about"]: (one["result"], one["says"]) for one in found if one["about"] in ALL}


ALL = ("alerts.mail", "companies.acme.mail", "alerts.urls, number 1", "heartbeat.url", "metrics.textfile", "alerts")


def test_all_of_it_works(world: World, office: PostOffice, sink: Sink) -> None:
    """Each reader gets a mail that says that it is a test, each address is told, and nothing is left behind."""
    found = tried(world, 0)
    assert [result for result, _ in found.values()] == ["ok"] * 5
    assert found["alerts.mail"][1] == f"a test mail to {IT} was accepted by 127.0.0.1; check that it arrives"
    assert found["alerts.urls, number 1"][1] == "json://... accepted a test message; check that it arrives"
    assert [mail.to for mail in office.mails] == [[IT], [BOOKS]]
    assert all("a test" in mail.subject and "Nothing is wrong" in mail.part("html") for mail in office.mails)
    assert sorted(one.method for one in sink.asked) == ["GET", "POST"]
    assert not list((world.base / "textfile").iterdir())


def test_nothing_of_it_works(world: World, office: PostOffice, sink: Sink) -> None:
    """Each failure is told in a sentence, one doesn't keep the others from being tried, and the exit status is 1."""
    office.refused = {IT}
    sink.status = 500
    (world.base / "textfile").rmdir()
    found = tried(world, 1)
    assert [result for result, _ in found.values()] == ["failed", "ok", "failed", "failed", "failed"]
    assert f"it refuses {IT}: 550 no such user" in found["alerts.mail"][1]
    assert found["alerts.urls, number 1"][1] == "json://...: the message was not accepted; check the address"
    assert found["heartbeat.url"][1] == f"http://{sink.at}/...: it returned 500; check the address"
    assert "filedrop.prom can't be written: No such file or directory" in found["metrics.textfile"][1]


def test_nothing_is_configured(make_world: Callable[..., World]) -> None:
    """Where nobody can be told, that is said."""
    assert tried(make_world(), 1)["alerts"][0] == "failed"
