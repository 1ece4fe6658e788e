"""A folder's subfolders stay open while they are used, and only as long as they are still in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.systems import WINDOWS

from filedrop.files import Directory, Tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for name in ("sending", "sent", "archive/2026-11"):
        (tmp_path / "outbound" / name).mkdir(parents=True)
    return tmp_path / "outbound"


def test_what_is_still_there_stays_open(path: Path) -> None:
    """After a check that finds the same folder, its subfolders need not be opened again."""
    tree = Tree(path)
    with tree.in_use():
        here, sending = tree.at(), tree.at("sending")
        assert tree.renew(Directory.open(path)) is here
        assert tree.at("sending") is sending
    with tree.in_use():
        assert tree.at("sending") is not sending


def test_another_subfolder_in_its_place(path: Path) -> None:
    """A subfolder that lies elsewhere by now isn't written into: the one in its place is."""
    tree = Tree(path)
    with tree.in_use():
        tree.at("sending"), tree.at("archive/2026-11")
        (path / "sending").rename(path / "away")
        (path / "sending").mkdir()
        tree.renew(Directory.open(path))
        assert tree.at("sending").identity == Directory.open(path / "sending").identity


@pytest.mark.skipif(WINDOWS, reason="symbolic links are POSIX")
def test_a_link_in_its_place(path: Path) -> None:
    """A link that was put in the place of a subfolder isn't followed."""
    tree = Tree(path)
    with tree.in_use():
        tree.at("sent")
        (path / "sent").rename(path / "away")
        (path / "sent").symlink_to(path / "away")
        tree.renew(Directory.open(path))
        with pytest.raises(NotADirectoryError):
            tree.at("sent")


def test_another_folder_in_its_place(path: Path) -> None:
    """Where the folder itself is another by now, nothing of the old one is kept."""
    tree = Tree(path)
    with tree.in_use():
        tree.at("sending")
        path.rename(path.with_name("away"))
        (path / "sending").mkdir(parents=True)
        tree.renew(Directory.open(path))
        assert tree.at("sending").identity == Directory.open(path / "sending").identity
