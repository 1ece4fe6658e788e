"""Who may read the password: what Windows' access lists say."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from filedrop.files.rights import how_to_hide, lets_everybody_read

if TYPE_CHECKING:
    from pathlib import Path

OURS = "(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-80-1-2-3-4-5)"


@pytest.mark.parametrize(
    "entry",
    [
        "(A;ID;0x1200a9;;;BU)",  # what %PROGRAMDATA% hands down to all that is made in it
        "(A;;FR;;;WD)",
        "(A;;FA;;;AU)",
        "(A;;GR;;;S-1-1-0)",
        "(A;;CCSWRPWP;;;BU)",
        "(A;;0x80000000;;;WD)",
    ],
)
def test_an_entry_that_lets_everybody_read(entry: str) -> None:
    """Whether it is inherited or not, and however its rights and its group are written."""
    assert lets_everybody_read(f"D:AI{OURS}{entry}")


@pytest.mark.parametrize(
    "sddl",
    [
        f"D:PAI{OURS}",
        f"D:AI{OURS}(D;;FA;;;WD)",  # denied
        f"D:AI{OURS}(A;OICIIO;GR;;;BU)",  # for what is made in a folder
        f"D:AI{OURS}(A;;0x100000;;;WD)",  # to wait for it
        f"D:AI{OURS}(A;;FW;;;WD)",
        "",  # that isn't told
    ],
)
def test_an_access_list_that_does_not(sddl: str) -> None:
    """The service, the system and the administrators may read; and what can't be told is no reason to warn."""
    assert not lets_everybody_read(sddl)


def test_no_access_list_at_all() -> None:
    """Lets everybody do everything: a disk with FAT has none."""
    assert lets_everybody_read("D:NO_ACCESS_CONTROL")


@pytest.mark.skipif(sys.platform == "win32", reason="there, the command is another")
def test_the_remedy(tmp_path: Path) -> None:
    """The command that is told hides the file; then none is told."""
    secret = tmp_path / "secret"
    secret.touch()
    secret.chmod(0o644)
    subprocess.run(how_to_hide(secret).split(), check=True)
    assert how_to_hide(secret) == how_to_hide(tmp_path / "none") == ""


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere, the command is another")
def test_the_remedy_on_windows(tmp_path: Path) -> None:
    """The file's own access list is looked at; that of a file which isn't there can't be told."""
    secret = tmp_path / "secret"
    secret.touch()
    assert how_to_hide(secret) in ("", f'icacls "{secret}" /inheritance:d /remove:g *S-1-1-0 *S-1-5-11 *S-1-5-32-545')
    assert how_to_hide(tmp_path / "none") == ""
