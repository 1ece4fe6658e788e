"""docs/shares.md says of each file system what the tests try there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.kernel_shares import KERNEL_KINDS
from support.user_shares import USER_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "shares.md").read_text("utf-8")
ROWS = {cells[0]: cells[1:] for cells in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*?) ?\|$", PAGE, re.MULTILINE)}
KINDS = USER_KINDS | KERNEL_KINDS


def test_rows() -> None:
    """Each file system that is tried has a row, which says whether it is refused, and when others' files are seen."""
    for kind in KINDS.values():
        works, delay = ROWS[kind.row]
        assert works.startswith("refused") == bool(kind.refused), kind.name
        assert delay == ("" if kind.refused else f"{kind.delay:g} s"), kind.name
        assert kind.refused in " ".join(PAGE.split()), kind.name


def test_options() -> None:
    """The page shows the options with which the tests mount."""
    options = {option for kind in KINDS.values() for option in kind.options.split(",")}
    assert not [option for option in options if option not in PAGE]


def test_untried_rows() -> None:
    """Each other row says that it wasn't tried."""
    tried = {kind.row for kind in KINDS.values()} | {"File system", "---"}
    assert all("not tried" in works for row, (works, _) in ROWS.items() if row not in tried)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
def test_mount_unit(tmp_path: Path) -> None:
    """The page's unit is one that systemd reads without a complaint."""
    unit = tmp_path / "srv-filedrop.mount"
    unit.write_text(PAGE.partition("```ini\n")[2].partition("```")[0])
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_lines_of_fstab() -> None:
    """Each line for /etc/fstab has its six fields, and starts without the server."""
    lines = "".join(re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)).splitlines()
    assert lines
    for line in lines:
        _, where, _, options, *numbers = line.split()
        assert where == "/srv/filedrop"
        assert "nofail" in options.split(",")
        assert numbers == ["0", "0"]
