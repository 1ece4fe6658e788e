"""Hold files in folders that take long to be listed."""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

from support.sharing import ABILITIES

from filedrop.files import Directory
from filedrop.storage.hold import HoldFiles

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_whose_listing_takes_long(tmp_path: Path) -> None:
    """Posts have nine tenths of the time: after a listing of three seconds, the next one begins 27 seconds later.

    A usual spelling is seen at once all the same, and any spelling at the next listing.
    """
    stopwatch = count(0.0, 3.0)
    hold_files, folder = HoldFiles(stopwatch.__next__), Directory.open(tmp_path)
    assert not hold_files.find(folder, 100.0)
    (tmp_path / "Hold.txt.txt").touch()
    for now in (101.0, 104.0, 129.0):
        assert not hold_files.find(folder, now)
    assert hold_files.find(folder, 130.0) == "Hold.txt.txt"
    (tmp_path / "Hold.txt.txt").unlink()
    assert not hold_files.find(folder, 131.0)
    (tmp_path / "hold.txt").touch()
    # Windows finds it when asked for HOLD.txt.
    assert hold_files.find(folder, 131.5) == ("HOLD.txt" if sys.platform == "win32" else "hold.txt")


def test_a_name_that_is_remembered_as_missing(tmp_path: Path) -> None:
    """On a share, where a name may be remembered as missing, each post asks for a listing, unless that takes long."""
    hold_files, folder = HoldFiles(count(0.0, 0.001).__next__), Directory.open(tmp_path, lambda: ABILITIES)
    assert not hold_files.find(folder, 100.0)
    (tmp_path / "Hold.txt.txt").touch()
    assert not hold_files.find(folder, 100.005)
    assert hold_files.find(folder, 100.02) == "Hold.txt.txt"
