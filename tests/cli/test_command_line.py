"""What holds for every command: statuses, sentences, and a quick start."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.world import PROJECT

from filedrop import __version__
from filedrop.cli import COMMANDS
from filedrop.cli import filedrop as group

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World

HEAVY = ("sqlalchemy", "requests", "pydantic", "lxml", "rich", "flask", "structlog", "watchdog")


def test_help_loads_nothing_heavy() -> None:
    """`filedrop --help` is there at once: none of the libraries that commands need is loaded for it."""
    script = f"""
import sys
from filedrop.cli import filedrop
filedrop(["--help"], standalone_mode=False)
print("loaded:", *[name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("loaded:\n")
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    """`filedrop COMMAND --help` says what the command does and which options it has."""
    done = CliRunner().invoke(group, [command, "--help"])
    assert done.exit_code == 0
    assert "--help" in done.output
    assert len(done.output.splitlines()) > 3


def test_version(process: Filedrop) -> None:
    """`python -m filedrop --version` says which one this is."""
    assert __version__ in process("--version").stdout


def test_a_configuration_that_is_wrong(filedrop: Filedrop, tmp_path: Path) -> None:
    """A wrong configuration is status 2 and a sentence with file and line for each mistake, never a traceback."""
    config = tmp_path / "wrong.yaml"
    config.write_text("accounts:\n  main: {base_url: nowhere}\ncompanies:\n  acme: {participants: [12]}\n")
    done = filedrop("check", config=config)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) > 2
    assert all(line.startswith(f"{config}:") for line in lines)


def test_no_configuration(filedrop: Filedrop, tmp_path: Path) -> None:
    """Where there is no configuration, it is said where one was looked for."""
    done = filedrop("status", config=tmp_path / "none.yaml")
    assert done.returncode == 2
    assert str(tmp_path / "none.yaml") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refused_login(filedrop: Filedrop, world: World) -> None:
    """A command that needs the access point and isn't let in is status 3, and says why."""
    world.password_file.write_text("wrong")
    done = filedrop("statistics")
    assert done.returncode == 3
    assert "login" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/full")
def test_output_that_goes_to_a_full_disk(tmp_path: Path) -> None:
    """What can't be printed is status 1 and a sentence."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - no file of a folder
        command = [sys.executable, "-m", "filedrop", "identify", str(tmp_path)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=PROJECT, check=False)
    assert (done.returncode, done.stderr) == (1, "the output can't be used: No space left on device\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as another")
def test_root_acts_as_the_owner(tmp_path: Path) -> None:
    """What root does belongs to the owner of the state, so that the daemon can go on with it."""
    os.chown(tmp_path, 12345, 54321)
    # By relative names: pytest's own folders above let nobody else through.
    act = "from filedrop.cli.opening import act_as_owner; act_as_owner(Path()); Path('file').touch()"
    subprocess.run([sys.executable, "-c", f"from pathlib import Path; {act}"], cwd=tmp_path, check=True)
    made = (tmp_path / "file").stat()
    assert (made.st_uid, made.st_gid) == (12345, 54321)
