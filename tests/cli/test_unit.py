"""systemd/: the units, their account and their folders."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).parents[2] / "systemd"
UNIT, TEMPLATE = SYSTEMD / "filedrop.service", SYSTEMD / "filedrop@.service"
LINES = UNIT.read_text("utf-8").splitlines()
FOR_FILES = {"chown", "fchown", "chmod", "fchmod", "renameat2", "fsync", "inotify_add_watch"}

systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="NOT TRIED: systemd-analyze is not installed (apt install systemd)"
)


def settings(unit: Path) -> list[str]:
    """What a unit says, without its reasons."""
    return [line for line in unit.read_text("utf-8").splitlines() if line and not line.startswith("#")]


@systemd
@pytest.mark.parametrize("unit", [UNIT, TEMPLATE], ids=["one", "several"])
def test_the_unit(tmp_path: Path, unit: Path) -> None:
    """Systemd has nothing to complain about in the unit, and finds little that it leaves open."""
    tried = tmp_path / unit.name.replace("@.", "@acme.")
    tried.write_text(unit.read_text("utf-8").replace("/usr/bin/filedrop", "/bin/true").replace("man:", "file:/man/"))
    verify = ["systemd-analyze", "verify", "--man=no", tried]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", tried]
    done = subprocess.run(security, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]


@systemd
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


def test_each_line_has_its_reason() -> None:
    """Above each setting of the service, or above the group that it stands in, a comment says why it is there."""
    service = "\n".join(LINES).partition("[Service]\n")[2].partition("\n[Install]")[0]
    assert all(group.startswith("#") for group in service.split("\n\n"))


@pytest.mark.parametrize("unit", [UNIT, TEMPLATE], ids=["one", "several"])
def test_a_start_has_its_time(unit: Path) -> None:
    """A journal of years is brought up to date, whatever its disk takes: a start that is broken off begins again."""
    assert "TimeoutStartSec=1h" in settings(unit)


def test_one_of_several_is_like_the_only_one() -> None:
    """The template differs from the unit by what is the instance's own."""
    own = {
        "Description=filedrop:": "Description=filedrop %i:",
        "filedrop run": "filedrop --config /etc/filedrop/%i.yaml run",
        "filedrop reload": "filedrop --config /etc/filedrop/%i.yaml reload",
        "StateDirectory=filedrop": "StateDirectory=filedrop/%i",
    }
    told = "\n".join(settings(UNIT))
    for ours, instances in own.items():
        assert ours in told
        told = told.replace(ours, instances)
    assert "\n".join(settings(TEMPLATE)) == told


@cache
def system_calls(name: str) -> frozenset[str]:
    """The system calls of a group, as systemd knows them; of a call, itself."""
    if not name.startswith("@"):
        return frozenset({name})
    command = ["systemd-analyze", "--no-pager", "syscall-filter", name]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return frozenset(call for line in told.splitlines()[1:] if "#" not in line for call in system_calls(line.strip()))
