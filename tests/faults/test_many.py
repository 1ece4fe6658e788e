"""A hundred thousand files at once, as after a migration or a month's stop of whatever fetched them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.matrix import is_full

from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

FILES = 100_000
CLAIMED = FILES if is_full() else 500  # before it is stopped, and again after that


@pytest.mark.slow
@pytest.mark.timeout(3600 if is_full() else 300)
def test_a_hundred_thousand_files_at_once(make_world: Callable[..., World]) -> None:
    """While they are claimed another company's document goes all the way; a stop amidst them loses and doubles none."""
    world = make_world(companies={"fjord": '{participants: ["0192:123456785"]}'}, outbound={"rescan": "30s"})
    world.run_once()
    content, names = invoice("NUMBER"), [f"{number}.xml" for number in range(FILES)]
    (world.outbound / "HOLD").touch()
    for name in names:
        (world.outbound / name).write_bytes(content.replace(b"NUMBER", name.encode()))
    fjord = world.root / "fjord" / "outbound"
    world.put(fjord / "one.xml", invoice("fjord", sender="0192:123456785"))
    for enough in (CLAIMED, min(2 * CLAIMED, FILES)):
        with world.service():
            world.until(lambda: list((fjord / "archive").rglob("*.xml")))
            world.until(lambda enough=enough: len(lying_in(world.outbound / "sending")) >= enough, 3000)  # type: ignore[misc] # this turn's
    claimed = lying_in(world.outbound / "sending")
    assert sorted(claimed + lying_in(world.outbound)) == sorted(names)
    with locked_state(world.state) as journal:
        folder = journal.folders.at(world.outbound)
        assert folder is not None
        assert sorted(row.file for row in journal.documents.lying_in(folder, "sending")) == sorted(claimed)


def lying_in(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".xml")]  # noqa: PTH208 - names, not paths, are wanted
