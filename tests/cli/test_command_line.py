"""What holds for every command: statuses, sentences, and a quick start."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from support.documents import invoice
from support.environment import without_extras
from support.matrix import quick
from support.world import PROJECT

from filedrop import __version__
from filedrop.cli import COMMANDS
from filedrop.cli import filedrop as group

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World

HEAVY = ("requests", "pydantic", "lxml", "rich", "flask", "structlog", "watchdog")


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


UNUSED = (
    "rich", "pygments", "attr", "lxml", "smtplib", "apprise", "flask", "psycopg", "jinja2", "charset_normalizer",
    "filedrop.status.survey", "filedrop.alerts.teller",
)  # fmt: skip
"""Modules that a daemon needs only for a feature that is on, for its first document, or for its first page."""


def test_a_start_loads_only_what_it_needs(world: World) -> None:
    """A daemon without alerts and without work is ready before any of the libraries is loaded that it may not need."""
    script = f"""
import sys, threading
from pathlib import Path
from filedrop import config
from filedrop.accesspoint import AccessPoint
from filedrop.cli import run, serving
from filedrop.process.control import Control
control, loaded = Control(), []
def is_up():
    loaded.extend(name for name in {UNUSED!r} if sys.modules.get(name))
    control.stopped.set()
read = config.load(Path({str(world.config_file())!r}))
AccessPoint(*read.accounts.values(), stopped=control.stopped)
loaded.extend({{"requests"}} & sys.modules.keys())  # an account's first request, in a thread of its own, loads it
serving.serve(read, control, reread=lambda: None, is_up=is_up)
print("loaded:", *loaded)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "loaded:\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    """`filedrop COMMAND --help` says what the command does and which options it has."""
    done = CliRunner().invoke(group, [command, "--help"])
    assert done.exit_code == 0
    assert "--help" in done.output
    assert len(done.output.splitlines()) > 3


@pytest.mark.parametrize(
    ("word", "guess"),
    [("statsu", "Did you mean filedrop status?"), ("send", "Did you mean filedrop run?"),
     ("xyzzy", "filedrop --help lists all commands.")],
)  # fmt: skip
def test_command_that_is_misspelt(word: str, guess: str) -> None:
    """A command that isn't there gets a guess, by its spelling or by what other programs call it."""
    done = CliRunner().invoke(group, [word, "--check"])
    assert (done.exit_code, f"There is no command {word}. {guess}" in done.stderr) == (2, True)


LASTING = {"sandbox", "demo"}  # these run until stopped, or for a while: only their words are tried here
NOT_HERE = {
    "retry", "resolve", "lookup", "download", "read", "history", "show",  # what they name
    "hosts", "journal",  # a database
    "reload", "service", "status", "check", "init",  # a daemon, a service, alerts; there is a configuration already
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_its_help_with_an_example(
    command: str, options: list[str], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example is a command that works; what it names that isn't here is said in a sentence."""
    told = CliRunner().invoke(group, [command, *(["show"] if command == "config" else []), "--help"]).output
    found = re.search(r"Example: filedrop (.+)", told)
    assert found, told
    words = shlex.split(found[1].partition(" > ")[0])
    assert words[0] == command
    if command in LASTING:
        loaded = group.get_command(click.Context(group), command)
        assert loaded
        loaded.make_context(command, words[1:])
        return
    world.run_once()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "invoice.xml").write_bytes(invoice("1"))
    done = CliRunner().invoke(group, [*options, *words])
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert "Usage:" not in done.stderr
    assert done.exit_code == 0 or command in NOT_HERE, done.stderr


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
        command = [sys.executable, "-m", "filedrop", "check", str(tmp_path)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=PROJECT, check=False)
    assert (done.returncode, done.stderr) == (1, "the output can't be used: No space left on device\n")


def test_output_that_nobody_reads_on(tmp_path: Path) -> None:
    """Whoever has read enough (`filedrop status | head`) is told nothing more, and of no error."""
    command = [sys.executable, "-m", "filedrop", "check", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=PROJECT) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(("closed", "said"), quick([(">&-", ""), ("2>&-", "1 sent, 0 failed"), ("<&- >&- 2>&-", "")]))
def test_streams_that_are_closed(world: World, closed: str, said: str) -> None:
    """With its streams closed (`>&-`), `run --once` does its work all the same, and says on the others how it went."""
    world.drop("invoice.xml", invoice())
    done = world.process("run", "--once", under=["sh", "-c", f'exec "$@" {closed}', "sh"])
    assert done.returncode == 0, done.stderr
    assert world.accepted() == {"invoice.xml": 1}
    assert said in done.stdout
    assert "Traceback" not in done.stderr
    world.settle()
    world.invariants()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_without_the_extra(tmp_path: Path) -> None:
    """Where libraries of `sandbox` and `demo` are missing, the command that installs them is shown, by `--help` too."""
    python = without_extras(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [str(python), "-m", "filedrop", *arguments]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    for command in ("sandbox", "demo"):
        done = run(command, "--state", "here")
        assert (done.returncode, done.stdout) == (1, "")
        assert "pip install '.[sandbox]'" in done.stderr
        explained = run(command, "--help")
        assert (explained.returncode, explained.stderr) == (0, "")
        assert "pip install '.[sandbox]'" in " ".join(explained.stdout.split())
    assert run("check", str(tmp_path / "nothing.xml")).returncode == 1
    assert not (tmp_path / "here").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as another")
def test_root_acts_as_the_owner(tmp_path: Path) -> None:
    """What root does belongs to the owner of the state, so that the daemon can go on with it."""
    os.chown(tmp_path, 12345, 54321)
    # By relative names: pytest's own folders above let nobody else through.
    act = "from filedrop.cli.opening import act_as_owner; act_as_owner(Path()); Path('file').touch()"
    subprocess.run([sys.executable, "-c", f"from pathlib import Path; {act}"], cwd=tmp_path, check=True)
    made = (tmp_path / "file").stat()
    assert (made.st_uid, made.st_gid) == (12345, 54321)
