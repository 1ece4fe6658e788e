"""A host takes an account from another only if it sees the folders of that account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from filedrop.daemon.hosting import AccountsInSight
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from pathlib import Path


def test_a_share_that_is_not_mounted(tmp_path: Path) -> None:
    folders = {name: [tmp_path / name / nth for nth in ("1", "2")] for name in ("north", "south")}
    for paths in folders.values():
        for path in paths:
            path.mkdir(parents=True)
            (path / MARKER).touch()
    in_sight = AccountsInSight()
    until_seen(in_sight, folders, ["north", "south"])
    (folders["south"][1] / MARKER).unlink()
    until_seen(in_sight, folders, ["north"])
    in_sight.forget()
    assert in_sight.leases == []


def until_seen(in_sight: AccountsInSight, folders: dict[str, list[Path]], expected: list[str]) -> None:
    end = time.monotonic() + 60
    while in_sight.leases != expected:
        assert time.monotonic() < end
        in_sight.look(folders)
        time.sleep(0.01)
