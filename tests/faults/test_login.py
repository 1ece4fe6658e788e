"""A login that is refused is nobody's fault but the password's: no document fails by it, and it is tried seldom."""

from __future__ import annotations

import base64
import json
import time
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import invoice
from support.faults import instead
from support.world import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Request
    from support.world import World

BETWEEN_PROBES = 1  # seconds, by the configuration below


def test_a_wrong_password(make_world: Callable[..., World]) -> None:
    """With a wrong password nothing fails and hardly anything is asked; when it is mended, everything goes at once."""
    world = make_world(outbound={"retry": f"{{first: 100ms, longest: {BETWEEN_PROBES}s}}"})
    for number in range(20):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    world.password_file.write_text("wrong")
    assert world.filedrop("run", "--once").returncode == 3
    assert 1 <= len(world.front.requests) <= 5
    account = json.loads(world.filedrop("status", "--json").stdout)["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (True, "refused")

    once, begun = len(world.front.requests), time.monotonic()
    with world.daemon() as daemon:
        world.until(lambda: len(world.front.requests) >= once + 2, what="the daemon is refused, and tries again")
        assert len(world.front.requests) - once <= 1 + (time.monotonic() - begun) / BETWEEN_PROBES
        assert set(world.places().values()) == {"sending"}
        world.password_file.write_text(PASSWORD)
        world.until(world.settled)
        assert daemon.poll() is None
        world.stop(daemon)
    world.invariants()


def test_a_fresh_file_and_a_wrong_password(make_world: Callable[..., World]) -> None:
    """`run --once` waits for what was just dropped also where the login is refused: what can't be sent at all fails."""
    world = make_world(outbound={"settle": "3s"})
    world.password_file.write_text("wrong")
    world.drop("nobody.xml", invoice("1", receiver=None))
    assert world.filedrop("run", "--once").returncode == 3
    assert world.error("nobody.xml") == "no-receiver"


@pytest.mark.slow
def test_a_mended_password(make_world: Callable[..., World]) -> None:
    """However long the pause, another password in the file is tried at once; `status` and `check` say when it ends."""
    world = make_world(outbound={"retry": "{first: 5m, longest: 1d}"})
    world.drop("invoice.xml", invoice("out"))
    world.receive(invoice("in"))
    world.password_file.write_text("wrong")
    attempts = []
    with world.daemon() as daemon:
        for password in ("wrong", "another wrong one"):
            world.password_file.write_text(password)
            world.until(lambda: next_attempt(world) not in (None, *attempts), what="a refusal is told")
            attempts.append(at := next_attempt(world))
            assert at
            assert (datetime.fromisoformat(at) - datetime.now().astimezone()).total_seconds() > 60
            assert [said_by(request) for request in world.front.requests].count(password) == 1
            told = f"the next attempt is at {at[:10]} {at[11:]}, or as soon as its password file changes"
            for command in ("status", "check"):
                assert told in ask(world, command).says
            del world.front.requests[:]  # check has asked, too
        world.password_file.write_text(PASSWORD)
        world.until(world.settled)
        world.until(lambda: next_attempt(world) is None)
        assert "next attempt" not in ask(world, "status").says
        world.stop(daemon)
    world.invariants()


@pytest.mark.slow
def test_a_login_mended_elsewhere(make_world: Callable[..., World]) -> None:
    """Where the access point lets the same password in again, `check` says so, and when the daemon will find out."""
    world = make_world(outbound={"retry": "{first: 5m, longest: 1d}"})
    world.front.always("", instead(401))
    with world.daemon():
        world.until(lambda: next_attempt(world))
        world.front.heal()
        says = ask(world, "check").says
        assert "accepts the login of acme" in says
        assert "the last login of the running filedrop failed; the next attempt is at " in says


def next_attempt(world: World) -> str | None:
    account = json.loads(ask(world, "status", "--json").output)["accounts"]["main"]
    at: str | None = account["next_attempt"]
    assert (at is None) == (account["login"] != "refused")
    return at


def said_by(request: Request) -> str:
    """The password that came with a request."""
    return base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode().partition(":")[2]
