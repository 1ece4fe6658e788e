"""`retry --anyway` is for one document, once: whatever becomes of that, no other is let through by it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import run_here
from support.documents import invoice
from support.faults import instead
from support.rights import as_anyone

if TYPE_CHECKING:
    from pathlib import Path

    from support.world import World

SAME = invoice("1")


@pytest.fixture
def failed(world: World) -> Path:
    """`again.xml` in failed/: the same as `one.xml`, which was sent."""
    world.drop("one.xml", SAME)
    world.run_once()
    world.put(world.outbound / "again.xml", SAME)
    world.run_once()
    path = world.outbound / "failed" / "again.xml"
    assert code(path) == "duplicate"
    return path


def code(path: Path) -> str:
    """Why the document failed that lies there, by its sidecar."""
    error: str = json.loads(path.with_name(f"{path.name}.json").read_bytes())["error"]["code"]
    return error


def let_through(world: World) -> None:
    """What a person writes on the command line."""
    config = world.base / "config.yaml"
    config.write_text(world.config_text())
    done = run_here("--config", str(config), "retry", "--anyway", "acme", "again.xml")
    assert done.returncode == 0, done.stderr


def sent(world: World) -> int:
    return len(world.sandbox.store.sent("acme"))


def test_beside_the_daemon(world: World, failed: Path) -> None:
    """It is sent once more, and its history says that a person wanted it so."""
    with world.service():
        let_through(world)
        world.until(lambda: sent(world) == 2)
        world.until(lambda: list((world.outbound / "archive").rglob("again.xml.json")))
    (sidecar,) = (world.outbound / "archive").rglob("again.xml.json")
    events = [line["event"] for line in json.loads(sidecar.read_bytes())["history"]]
    assert events[:3] == ["claimed", "let through, a person says", "sending"]
    assert not failed.exists()


def test_check_knows(world: World, failed: Path) -> None:
    """What would be sent because a person has let it through is shown as such."""
    let_through(world)
    assert not failed.exists()
    assert "would be sent" in world.filedrop("check", str(world.outbound)).stdout
    (world.outbound / "again.xml").touch()
    assert "would fail" in world.filedrop("check", str(world.outbound)).stdout


def test_taken_away_before_the_claim(world: World, failed: Path) -> None:
    """A file that was let through and taken away again lets no later one of its name through."""
    let_through(world)
    (world.outbound / "again.xml").unlink()
    world.put(world.outbound / "again.xml", SAME)
    world.run_once()
    assert (code(failed), sent(world)) == ("duplicate", 1)


def test_the_file_itself_comes_back_by_accident(world: World, failed: Path) -> None:
    """Once it has been away from outbound/ while filedrop looked, it isn't let through itself any more."""
    let_through(world)
    (world.outbound / "again.xml").rename(world.base / "again.xml")
    with world.service() as service:
        for _ in range(3):
            world.compared(service.accounts[0].pipelines[0])
        (world.base / "again.xml").rename(world.outbound / "again.xml")
        world.until(failed.exists)
    assert (code(failed), sent(world)) == ("duplicate", 1)


def test_another_of_the_same_content_meanwhile(world: World, failed: Path) -> None:
    """An accident that comes before it in the line fails; the one that was let through is sent."""
    let_through(world)
    accident = world.outbound / "accident.xml"
    world.put(accident, SAME)
    world.run_once()
    assert (code(failed.with_name("accident.xml")), sent(world)) == ("duplicate", 2)
    assert not failed.exists()


def test_it_fails_for_another_reason(world: World, failed: Path) -> None:
    """What was let through and then refused is a duplicate again when it comes back."""
    world.front.next("POST /outbox", instead(413, "Too large for today"))
    let_through(world)
    world.run_once()
    assert code(failed) == "rejected"
    failed.rename(world.outbound / "again.xml")
    world.run_once()
    assert (code(failed), sent(world)) == ("duplicate", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such right on Windows")
def test_it_cannot_be_moved(world: World, failed: Path) -> None:
    """Where the command failed, nothing is let through."""
    failed.parent.chmod(0o500)
    try:
        with as_anyone(), pytest.raises(AssertionError, match="can't be moved"):
            let_through(world)
    finally:
        failed.parent.chmod(0o700)
    failed.rename(world.outbound / "again.xml")
    world.run_once()
    assert (code(failed), sent(world)) == ("duplicate", 1)
