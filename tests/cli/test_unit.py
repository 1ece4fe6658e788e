"""systemd/filedrop.service."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "systemd" / "filedrop.service"
LINES = UNIT.read_text("utf-8").splitlines()
FOR_FILES = {"chown", "fchown", "chmod", "fchmod", "renameat2", "fsync", "inotify_add_watch"}

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def test_the_unit(tmp_path: Path) -> None:
    """Systemd has nothing to complain about in the unit."""
    unit = tmp_path / UNIT.name
    unit.write_text("\n".join(LINES).replace("/usr/local/bin/filedrop", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_unit_allows() -> None:
    """As a service, too, filedrop may give what it makes the group and the mode of the folder that it lies in."""
    allowed: set[str] = set()
    for line in LINES:
        key, _, value = line.partition("=")
        if key == "SystemCallFilter":
            calls = {call for name in value.removeprefix("~").split() for call in system_calls(name)}
            allowed = allowed - calls if value.startswith("~") else allowed | calls
    assert allowed >= FOR_FILES
    assert "RestrictSUIDSGID=true" not in LINES  # a shared folder's mode has the set-group-ID bit


@cache
def system_calls(name: str) -> frozenset[str]:
    """The system calls of a group, as systemd knows them; of a call, itself."""
    if not name.startswith("@"):
        return frozenset({name})
    command = ["systemd-analyze", "--no-pager", "syscall-filter", name]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return frozenset(call for line in told.splitlines()[1:] if "#" not in line for call in system_calls(line.strip()))
