"""`filedrop sandbox` and `filedrop demo`, as a newcomer meets them."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest
from cli.conftest import COMMAND, PROJECT
from support.systems import stop_signals

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop

from filedrop.programs import filedrop_command

STEPS = ("dropped", "claimed", "accepted", "delivered", "received", "read")


@stop_signals
def test_sandbox(tmp_path: Path) -> None:
    """The sandbox prints its base URL first, answers there, and ends with status 0 when it is stopped."""
    command = [*COMMAND, "sandbox", "--state", str(tmp_path), "--account", "me:secret:0192:987654325,0192:123456785"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        base_url = process.stdout.readline().strip() if process.stdout else ""
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{base_url}/statistics")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


@pytest.mark.parametrize(
    "wrong", [("--account", "me"), ("--deliver-after", "soon"), ("--port", "70000"), ("--oddity", "all")]
)
def test_sandbox_misused(filedrop: Filedrop, tmp_path: Path, wrong: tuple[str, str]) -> None:
    """What the sandbox can't be told is status 2, and says what to write."""
    done = filedrop("sandbox", "--state", tmp_path, *wrong)
    assert done.returncode == 2
    assert wrong[1] in done.stderr


def test_demo(filedrop: Filedrop, process: Filedrop, tmp_path: Path) -> None:
    """The demo shows each step of an invoice's way and ends with the tree of folders; its own folder is made anew."""
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / ".filedrop-demo").touch()
    (folder / "left over").touch()
    done = process("demo", folder)
    assert done.returncode == 0, done.stderr
    shown = [word for line in done.stdout.splitlines() for word in STEPS if f" s  {word} " in line]
    assert sorted(shown) == sorted(STEPS)
    tree = done.stdout[done.stdout.index("companies") :]
    assert "invoice-1001.xml.json" in tree
    assert "-Invoice-0192_987654325.xml" in tree
    assert not (folder / "left over").exists()
    words = ("check", "--offline", "--company", "acme", folder / "invoice-1001.xml")
    assert "duplicate: " in filedrop(*words, config=folder / "config.yaml").stdout


def test_demo_in_a_foreign_folder(process: Filedrop, tmp_path: Path) -> None:
    """A folder with something else in it isn't touched."""
    (tmp_path / "mine").touch()
    done = process("demo", tmp_path)
    assert done.returncode == 2
    assert "name another folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("executable", "command"),
    [
        ("/usr/bin/python3", ["/usr/bin/python3", "-P", "-X", "utf8", "-m", "filedrop"]),
        ("/opt/filedrop/python.exe", ["/opt/filedrop/python.exe", "-P", "-X", "utf8", "-m", "filedrop"]),
        ("/opt/filedrop/filedrop.exe", ["/opt/filedrop/filedrop.exe"]),
    ],
)
def test_what_starts_the_daemon(monkeypatch: pytest.MonkeyPatch, executable: str, command: list[str]) -> None:
    """An executable of filedrop's own, as the Windows installer brings, runs it without being told what to run."""
    monkeypatch.setattr(sys, "executable", executable)
    assert filedrop_command() == command
