"""Apprise's addresses, by a real child process and a real HTTP server: who is told, and what isn't."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alerts.test_alerts import HOUR, MINUTE, fail
from alerts.test_unsent import unsent
from support.commands import ask
from support.environment import without_extras
from support.sink import Sink
from support.systems import processes_shown

from filedrop.alerts import addresses
from filedrop.alerts.memory import Letter, NotSent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alerts.conftest import Telling

TOKEN = "Zq7-token-of-an-address"
LETTER = Letter(
    id="1", reader="", by="urls", what="alert", subject="1 <failed>", plain="- an *invoice*\n" + 9000 * "x", html="",
    made=1.0,
)  # fmt: skip


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


def named(*urls: str) -> dict[str, str]:
    return {addresses.name_of(url): url for url in urls}


def test_who_has_it_and_who_not(sink: Sink, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each address that can be told is; of the others their kind is named, and no more.

    No proxy is asked, and nothing is run that lies in the working folder.
    """
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apprise.py").write_text("raise SystemExit")
    good, refused, no_such = f"json://{sink.at}/{TOKEN}", f"json://127.0.0.1:1/{TOKEN}", f"nonsense://{TOKEN}"
    urls = named(good, refused, no_such)
    with pytest.raises(NotSent) as raised:
        addresses.send(LETTER, urls)
    assert (
        str(raised.value) == "alerts.urls: json://..., nonsense://...: the message was not accepted; check the address"
    )
    assert raised.value.had == (addresses.name_of(good),)
    (asked,) = sink.asked
    assert asked.path == f"/{TOKEN}"
    told = json.loads(asked.body)
    assert told["title"] == "1 <failed>"
    assert told["message"].startswith("- an *invoice*\n")
    assert len(told["message"]) <= 4000


def test_one_that_hangs(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told before another one hangs counts as told; the whole has a time limit."""
    good, hangs = f"json://{sink.at}/good", f"json://{sink.at}/hangs?rto=300"
    sink.hangs, begun = {"/hangs"}, time.monotonic()
    addresses.send(LETTER, named(good))
    limit = 3 * (time.monotonic() - begun)  # a process that only starts takes half a minute on a busy machine
    monkeypatch.setattr(addresses, "LONGEST_SENDING", limit)
    with pytest.raises(
        NotSent, match=rf"^alerts.urls: json://...: the message was not accepted within {limit:g} seconds$"
    ) as raised:
        addresses.send(LETTER, named(good, hangs))
    assert raised.value.had == (addresses.name_of(good),)


def test_apprise_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Apprise isn't installed, that is said, with the page that helps."""
    monkeypatch.setattr(sys, "executable", str(without_extras(tmp_path)))
    with pytest.raises(NotSent, match=r"Apprise isn't installed: filedrop manual alerts"):
        addresses.send(LETTER, named(f"json://127.0.0.1:1/{TOKEN}"))


def test_its_process_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the process that tells an address ends, that is why, and not the address."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nkill -9 $$\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(NotSent, match=r"^alerts.urls: json://...: its process was ended by signal 9"):
        addresses.send(LETTER, named(f"json://127.0.0.1:1/{TOKEN}"))


def test_an_address_that_can_be_told_later(make_telling: Callable[..., Telling], sink: Sink) -> None:
    """It is told of everything, once; tried again while it can't be; and stands in no log, status or file of ours."""
    telling = make_telling(more=f"  urls: ['json://{sink.at}/{TOKEN}']\n")
    sink.status = 500
    fail(telling, "a", 2)
    assert len(telling.told(90)) == 1, "the mail goes its own way"
    assert len(sink.asked) == 1
    (said,) = telling.teller.troubles()
    assert (
        "can't be sent: alerts.urls: json://...: the message was not accepted; check the address; the next attempt "
        "is at" in said
    )
    telling.restart()
    sink.status = 200
    assert telling.told(2 * MINUTE) == []
    assert len(sink.asked) == 2
    assert telling.teller.troubles() == ()
    telling.pass_on(5 * MINUTE)
    assert len(sink.asked) == 2
    world = telling.world
    told = [path.read_text(errors="replace") for path in (world.base / "log", *world.state.glob("*.json"))]
    assert not [text for text in told if TOKEN in text]
    assert TOKEN not in ask(world, "status").output
    assert TOKEN not in ask(world, "config", "show").output


@processes_shown
def test_nobody_sees_it_in_the_list_of_processes(make_telling: Callable[..., Telling], sink: Sink) -> None:
    """While an address is told by a real daemon, no process has it, or a password, in its arguments or environment."""
    telling = make_telling(more=f"  urls: ['json://{sink.at}/{TOKEN}?rto=300']\n")
    fail(telling, "a", 1)
    telling.pass_on(30)  # by a clock in 2020: to be told as soon as filedrop runs
    telling.life.drop()
    sink.hangs = {f"/{TOKEN}"}
    world = telling.world
    with world.daemon() as daemon:
        world.until(lambda: sink.asked, what="it is told")
        seen = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                seen.append((process / "cmdline").read_bytes() + (process / "environ").read_bytes())
            except OSError:  # it has ended
                continue
        assert any(b"filedrop.alerts.child" in one for one in seen)
        assert not [one for one in seen if TOKEN.encode() in one]
        world.stop(daemon)
    assert "not_sent" not in (world.base / "daemon.log").read_text(), "the stop waits for nobody who is told"
    assert unsent(world) == 1, "it is told after the next start"
    telling.start()


@pytest.mark.slow
def test_what_went_by_is_over(make_telling: Callable[..., Telling], sink: Sink) -> None:
    """An address alone, without a mail server, is told, too, also that it is over."""
    telling = make_telling()
    telling.world.more = f"alerts: {{urls: ['json://{sink.at}/{TOKEN}']}}\n"
    telling.restart()
    fail(telling, "a", 1)
    telling.pass_on(2 * MINUTE)
    for path in (telling.world.outbound / "failed").glob("a-*"):
        path.unlink()
    telling.pass_on(HOUR / 6)
    first, second = (json.loads(one.body)["title"] for one in sink.asked)
    assert "acme: 1 failed" in first
    assert "everything is working again" in second
