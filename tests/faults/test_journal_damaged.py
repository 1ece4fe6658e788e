"""The journal is damaged: filedrop says so and doesn't start, and posts nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World


def overwrite(path: Path, start: int, end: int) -> None:
    """Random bytes as bad as any, so that each run finds the same."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(bytes(number * number * 31 % 251 for number in range(end - start)))


def header(path: Path) -> None:
    overwrite(path, 0, 100)


def middle(path: Path) -> None:
    """Pages that none of the questions at a start ever reads."""
    size = path.stat().st_size
    overwrite(path, size // 2, size // 2 + 16384)


def last_page(path: Path) -> None:
    overwrite(path, path.stat().st_size - 4096, path.stat().st_size)


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size * 2 // 3)


@pytest.mark.parametrize("damage", [header, middle, last_page, truncated])
def test_a_damaged_journal(world: World, damage: Callable[[Path], None]) -> None:
    """It is named, with what to do, by run, status and check; nothing is posted, and nothing is overwritten."""
    world.drop("sent.xml", invoice("1"))
    world.receive(invoice("2"))
    world.settle()
    journal = world.state / "journal.sqlite"
    damage(journal)
    before, posts = journal.read_bytes(), len(world.front.asked("POST"))
    world.drop("waiting.xml", invoice("3"))
    ran = ask(world, "run", "--once")
    assert ran.status == 1
    assert said_of(ran.says, journal)
    checked = ask(world, "check", "--json")
    assert checked.status == 1
    (finding,) = (one for one in map(json.loads, checked.output.splitlines()) if one["result"] == "failed")
    assert finding["about"] == "state"
    assert said_of(finding["says"], journal)
    shown = ask(world, "status")
    assert shown.status == 0
    assert said_of(shown.says, journal)
    status = json.loads(ask(world, "status", "--json").output)
    assert said_of(status["journal"], journal)
    assert status["companies"]["acme"]["waiting"] == 1
    assert journal.read_bytes() == before
    assert len(world.front.asked("POST")) == posts
    assert world.places()["waiting.xml"] == "."


def said_of(text: str, journal: Path) -> bool:
    return f"the journal {journal} is damaged" in text and "check --take-over" in text


def test_an_emptied_journal(world: World) -> None:
    """It counts as a new one: every folder is another's, and says so, until a person says that they are ours."""
    world.drop("sent.xml", invoice("1"))
    world.receive(invoice("2"))
    world.settle()
    journal = world.state / "journal.sqlite"
    journal.write_bytes(b"")
    posts = len(world.front.asked("POST"))
    world.drop("waiting.xml", invoice("3"))
    world.receive(invoice("4"))
    for command, status in ((("run", "--once"), 1), (("status",), 0), (("check",), 1)):
        told = ask(world, *command)
        assert told.status == status
        for folder in (re.escape(str(world.outbound)), re.escape(str(world.inbound))):
            assert re.search(
                f"another filedrop serves this folder: {folder} |{folder}: (unavailable: )?another filedrop serves",
                told.says,
            )
        assert "check --take-over" in told.says
    assert len(world.front.asked("POST")) == posts
    assert world.places()["waiting.xml"] == "."
    assert ask(world, "check", "--take-over").status == 0
    world.settle()
    world.invariants()
