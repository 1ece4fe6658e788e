"""What the system denies is explained: whose the file is, which right filedrop lacks, and the command that gives it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from filedrop.files import InUse
from filedrop.files.rights import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can act as others, and Windows has no modes"
)
SOMEBODY, GROUP = 12345, 54321


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that everybody may look into, unlike pytest's own."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def somebody() -> Iterator[None]:
    """Act as a user without rights of root's."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(GROUP)
    os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def made(path: Path, mode: int, owner: int = 0, group: int = 0) -> Path:
    """A file of this mode and owner; a folder, where its name ends in no suffix."""
    if path.suffix:
        path.write_text("x")
    else:
        path.mkdir()
    path.chmod(mode)
    os.chown(path, owner, group)
    return path


def refused(path: Path, how: str = "r") -> str:
    """What is said of a file that somebody may not open so."""
    with somebody(), pytest.raises(PermissionError) as refusal:
        path.open(how)
    with somebody():
        return explain(refusal.value, to_write=how != "r")


def test_denied_file_of_another(base: Path) -> None:
    """Owner, group and mode are named, the user that filedrop runs as, and a command for that file alone."""
    path = made(base / "password.txt", 0o640)
    said = refused(path)
    facts = f"{path} belongs to root, group root, mode 0640; filedrop runs as {SOMEBODY}"
    assert said.startswith(f"Permission denied ({facts}); run: sudo ")
    assert said.endswith(str(path))
    assert "setfacl -m u:12345:r " in said or f"chgrp {GROUP} {path} && sudo chmod g+r " in said


@pytest.mark.parametrize(("owner", "group", "who"), [(SOMEBODY, 0, "u"), (0, GROUP, "g")], ids=["owner", "group"])
def test_denied_file_of_ours(base: Path, owner: int, group: int, who: str) -> None:
    """The owner, or a member of the group, needs a bit of the mode; to write, both of them."""
    path = made(base / "file.log", 0, owner, group)
    assert refused(path).endswith(f"run: sudo chmod {who}+r {path}")
    assert refused(path, "a").endswith(f"run: sudo chmod {who}+rw {path}")


def test_denied_folder_above(base: Path) -> None:
    """A folder on the way is what is named, since the file's own mode would change nothing."""
    folder = made(base / "private", 0o700, group=GROUP)
    file = made(folder / "invoice.xml", 0o666)
    assert refused(file).endswith(f"run: sudo chmod g+x {folder}")


def test_denied_folder_of_a_new_file(base: Path) -> None:
    """A file that can't be made names its folder, with all the rights that filedrop needs there."""
    folder = made(base / "inbound", 0o755, group=GROUP)
    assert refused(folder / "new.xml", "x").endswith(f"run: sudo chmod g+rwx {folder}")


def test_names_with_blanks(base: Path) -> None:
    """The command can be copied into a shell, whatever the folder is called."""
    path = made(base / "our share.txt", 0, SOMEBODY)
    assert refused(path).endswith(f"run: sudo chmod u+r '{path}'")


def test_other_errors(base: Path) -> None:
    """Only a lack of rights is explained: not what is missing, in use, or refused for a reason that no mode shows."""
    path = made(base / "file.txt", 0o666)
    assert explain(FileNotFoundError(2, "No such file or directory", str(path))) == "No such file or directory"
    assert explain(InUse(13, "Permission denied", str(path))) == "Permission denied"
    assert explain(PermissionError(13, "Permission denied", str(path))) == "Permission denied"
    assert explain(PermissionError(1, "Operation not permitted")) == "Operation not permitted"
    assert explain(OSError("odd"), path) == "odd"
