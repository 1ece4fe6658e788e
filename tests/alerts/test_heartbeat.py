"""The heartbeat, by a real HTTP server: asked for after a whole round, and silent whenever one isn't whole."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trustme
from alerts.test_alerts import MINUTE
from alerts.test_mail import answering, dripping
from support.commands import ask as run
from support.faults import reset_before
from support.matrix import quick
from support.sink import Sink

from filedrop.alerts import heartbeat
from filedrop.alerts.heartbeat import NotHeard, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alerts.conftest import Telling

SECRET = "Zq7-secret-path"
EVERY = 5 * MINUTE


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def beating(make_telling: Callable[..., Telling], sink: Sink) -> Telling:
    """A filedrop with two companies that has a heartbeat, and nothing else to tell anybody."""
    telling = make_telling(companies={"fjord": "{participants: []}"})
    telling.world.more = f"heartbeat: {{url: 'http://{sink.at}/{SECRET}?who=1', every: 5m}}\n"
    telling.restart()
    return telling


def beats(telling: Telling, sink: Sink, seconds: float) -> int:
    """How many heartbeats there are while so much time passes."""
    before = len(sink.asked)
    telling.pass_on(seconds)
    return len(sink.asked) - before


def test_as_long_as_all_is_looked_at(beating: Telling, sink: Sink) -> None:
    """It is a GET of that address, with its query, at most every `every`."""
    assert beats(beating, sink, 21 * MINUTE) == 5
    assert {(one.method, one.path) for one in sink.asked} == {("GET", f"/{SECRET}?who=1")}


def test_a_standstill(beating: Telling, sink: Sink) -> None:
    """While something that is owed stands still it is silent, whatever that is."""
    assert beats(beating, sink, MINUTE) == 1
    report = replace(beating.life.service.report(), standstills={"pages": "pages of received documents aren't made"})
    before = len(sink.asked)
    beating.clock.pass_on(EVERY)
    beating.teller.turn(report)
    assert len(sink.asked) == before
    beating.teller.turn(replace(report, standstills={}))
    assert len(sink.asked) == before + 1


def test_a_paused_account(beating: Telling, sink: Sink) -> None:
    """While an account is paused it is silent, and goes on by itself afterwards."""
    beating.pass_on(MINUTE)
    beating.world.front.always("", reset_before)
    assert beats(beating, sink, 20 * MINUTE) <= 1, "the round before"
    assert beats(beating, sink, 20 * MINUTE) == 0
    beating.world.front.heal()
    assert beats(beating, sink, 20 * MINUTE) >= 2


@pytest.mark.parametrize("which", quick(["acme/outbound", "acme/inbound", "fjord/outbound"]))
def test_a_folder_that_is_gone(beating: Telling, sink: Sink, which: str) -> None:
    """While one folder is unavailable it is silent, and goes on by itself afterwards."""
    folder, elsewhere = beating.world.root / which, beating.world.base / "elsewhere"
    assert beats(beating, sink, MINUTE) == 1
    folder.rename(elsewhere)
    assert beats(beating, sink, 15 * MINUTE) == 0
    elsewhere.rename(folder)
    assert beats(beating, sink, EVERY + 3 * MINUTE) >= 1


def test_a_folder_that_hangs(beating: Telling, sink: Sink) -> None:
    """While no thread comes back from a folder it is silent."""
    assert beats(beating, sink, MINUTE) == 1
    (pipeline, _) = beating.life.service.accounts[0].pipelines
    beating.life.hang(pipeline)
    beating.life.service.workers.hung_after = 0.0
    assert beats(beating, sink, 15 * MINUTE) == 0
    beating.life.answer(pipeline)
    assert beats(beating, sink, EVERY) >= 1


def test_an_address_that_refuses(beating: Telling, sink: Sink) -> None:
    """Where it can't be asked for, `status` says so, without the path; it is tried again each minute."""
    sink.status = 404
    assert 4 <= beats(beating, sink, 5 * MINUTE) <= 5
    (said,) = beating.teller.troubles()
    assert said == f"heartbeat.url: http://{sink.at}/...: it returned 404; check the address"
    sink.status = 204
    beating.pass_on(MINUTE)
    assert beating.teller.troubles() == ()
    world = beating.world
    assert sum(one["event"] == "heartbeat.failed" for one in world.log()) == 1
    assert SECRET not in (world.base / "log").read_text()
    assert SECRET not in run(world, "config", "show").output


def test_what_is_no_web_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an address answers or doesn't, in the time that it has, comes out as a sentence without its path."""

    def said(url: str, patience: float = 30) -> str:
        monkeypatch.setattr(heartbeat, "PATIENCE", patience)
        with pytest.raises(NotHeard) as raised:
            ask(f"{url}/{SECRET}")
        assert SECRET not in str(raised.value)
        return re.sub(r"^heartbeat.url: https?://127\.0\.0\.1:\d+/\.\.\.: ", "", str(raised.value))

    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert said(f"http://127.0.0.1:{port}").startswith("it can't be reached: ")
    for server in (answering, dripping):
        with server() as port:
            assert said(f"http://127.0.0.1:{port}", 1) == "it doesn't respond"
    with answering(b"", b"220 hello\r\n") as port:
        assert "it can't be reached: no HTTP (BadStatusLine)" in said(f"http://127.0.0.1:{port}")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    with Sink(tls) as strange:
        assert said(f"https://{strange.at}").startswith("its certificate isn't trusted (")
    assert strange.asked == []


def test_it_follows_nobody() -> None:
    """It goes to its own address alone: an answer that leads elsewhere is a wrong address."""
    with Sink() as sink:
        sink.status = 302
        with pytest.raises(NotHeard, match="it returned 302"):
            ask(f"http://{sink.at}/")
    assert len(sink.asked) == 1
