"""What the shell completes: asked as the shells ask, and by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import click
import pytest
from cli.conftest import COMMAND, PROJECT, WITHOUT_CONFIG
from click.testing import CliRunner, Result
from support.disks import foreign
from support.manual import PAGES, fenced
from support.matrix import quick
from support.systems import WINDOWS
from support.terminal import on_terminal

from filedrop.cli import COMMANDS
from filedrop.cli import filedrop as group
from filedrop.cli.completion import ARGUMENTS, OPTIONS, PATIENCE, Bash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

HEAVY = ("requests", "http.client", "lxml", "rich", "flask", "structlog", "watchdog", "sqlite3", "jinja2")
OTHERWISE = {  # an account of Windows', a new one, a new company, a day
    ("service", "--account"), ("sandbox", "--account"), ("init", "--company"), ("messages", "--sent"),
}  # fmt: skip


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Two companies."""
    return make_world(companies={"globex": "{participants: []}"})


@pytest.fixture
def config(world: World) -> Path:
    """A world whose folders are there."""
    world.run_once()
    return world.config_file()


def question(*words: str, shell: str = "bash") -> dict[str, str]:
    """The environment in which the scripts of the shells ask what the last word may become."""
    return {
        "_FILEDROP_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "\n".join(["filedrop", *words]),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }


def asked(*words: str, shell: str = "bash") -> subprocess.CompletedProcess[str]:
    """Ask filedrop what the last word may become, as the scripts of the shells do: a process of its own."""
    return subprocess.run(
        COMMAND,
        cwd=PROJECT,
        env=WITHOUT_CONFIG | question(*words, shell=shell),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str] | Result) -> list[str]:
    """What a shell is told that the last word may become."""
    status = done.exit_code if isinstance(done, Result) else done.returncode
    assert (status, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def completed(*words: str, **environment: str) -> list[str]:
    """The same, asked of this process."""
    asking: dict[str, str | None] = {"FILEDROP_CONFIG": None, **environment, **question(*words)}
    return answer(CliRunner().invoke(group, [], prog_name="filedrop", env=asking))


def names(*words: str, config: str | Path | None, **environment: str) -> list[str]:
    """The same, by a configuration; asked again where there is nothing: a busy computer may take too long for it."""
    option = ("--config", str(config)) if config else ()
    return next(filter(None, (completed(*option, *words, **environment) for _ in range(4))), [])


def fail(world: World, *names: str, company: str = "acme", place: str = "failed") -> None:
    """Put files where failed documents lie, as whoever shares the folder can."""
    for name in names:
        (world.root / company / "outbound" / place / name).write_text("<Invoice/>")


def test_commands_and_options() -> None:
    """Every command can be completed, and every command's options, and what click knows of their values."""
    assert completed("") == list(COMMANDS)
    assert completed("re") == [name for name in COMMANDS if name.startswith("re")]
    assert completed("--c") == ["--config"]
    assert completed("retry", "--a") == ["--all", "--anyway"]
    assert completed("retry", "--all", "--a") == ["--anyway"]
    assert set(completed("service", "")) >= {"install", "remove", "status"}
    assert completed("show", "--language", "n") == ["nb", "nl"]


@pytest.mark.parametrize(
    "words", quick([["--config", ""], ["show", ""], ["show", "--json", ""], ["identify", ""], ["backup", ""]], 2)
)
def test_files(words: list[str]) -> None:
    """Where a file is meant, the shell is told to complete files."""
    assert asked(*words).stdout == "file,\n"


def test_companies_and_accounts(config: Path) -> None:
    """Where a company is meant, one that the configuration names, once; after --account, one of its accounts."""
    assert names("hold", "", config=config) == ["acme", "globex"]
    assert names("release", "gl", config=config) == ["globex"]
    assert completed("--config", str(config), "hold", "acme", "") == []
    assert names("identify", "--company", "a", config=config) == ["acme"]
    assert names("validate", "--company", "a", config=config) == ["acme"]
    assert names("messages", "--account", "", config=config) == ["main"]
    assert names("show", "17", "--account", "", config=config) == ["main"]


def test_names_in_the_other_form_of_letters(world: World, config: Path) -> None:
    """What is typed in composed letters completes a name in decomposed ones, which a Mac writes."""
    fail(world, "Mu\u0308ller.xml")
    assert names("retry", "acme", "M\u00fc", config=config) == ["Mu\\\u0308ller.xml"]  # as bash reads it


def test_documents(world: World, config: Path) -> None:
    """Failed files after `retry`, of the company that is named, not named yet; others where they are meant."""
    fail(world, "a.xml", "b.xml", "b.xml.why.txt", "b.xml.json", "~draft", "HOLD")
    fail(world, "c.xml", company="globex")
    fail(world, "d.xml", company="globex", place="sending")
    fail(world, "e.xml", place="sent")
    option = ("--config", str(config))
    assert names("retry", "", config=config) == ["a.xml", "acme", "b.xml", "c.xml", "globex"]
    assert names("retry", "acme", "", config=config) == ["a.xml", "b.xml"]
    assert names("retry", "acme", "--anyway", "a.xml", "", config=config) == ["b.xml"]
    assert names("retry", "a.xml", "", config=config) == ["b.xml", "c.xml"]
    assert names("retry", "--all", "", config=config) == ["acme", "globex"]
    assert names("resolve", "", config=config) == ["d.xml"]
    assert completed(*option, "resolve", "d.xml", "--sent", "") == []
    assert names("history", "", config=config) == ["a.xml", "b.xml", "c.xml", "d.xml", "e.xml"]


def test_the_configuration_of_the_environment(world: World, config: Path, tmp_path: Path) -> None:
    """Without --config, that of $FILEDROP_CONFIG is read; with it, `~` is the home that no shell has put in yet."""
    assert names("hold", "", config=None, FILEDROP_CONFIG=str(config)) == ["acme", "globex"]
    (tmp_path / "else.yaml").write_text(world.config_text().replace("globex:", "initech:"))
    home = {"USERPROFILE" if WINDOWS else "HOME": str(tmp_path)}
    assert names("hold", "", config="~/else.yaml", FILEDROP_CONFIG=str(config), **home) == ["acme", "initech"]


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "line"), [("zsh", "plain\nacme\n_\n"), ("fish", "plain,acme\n")])
def test_other_shells(config: Path, shell: str, line: str) -> None:
    """Fish and zsh are told the same, in the form that they read."""
    assert line in [asked("--config", str(config), "hold", "ac", shell=shell).stdout for _ in range(2)]


@pytest.mark.skipif(WINDOWS, reason="Windows has no such names")
def test_names_that_no_shell_can_take(world: World, config: Path) -> None:
    """What could be something else than a name, between filedrop and a shell, is left out."""
    fail(world, "fine.xml", "a\nplain,evil.xml", "-rf.xml", "red\x1b[31m.xml", "a,b.xml", os.fsdecode(b"\xff.xml"))
    assert names("retry", "acme", "", config=config) == ["fine.xml"]


@pytest.mark.parametrize("text", [None, "", "accounts: [", "accounts:\n  main: {base_url: nowhere}\n", "\x00", "- a"])
def test_a_configuration_that_cannot_be_used(tmp_path: Path, text: str | None) -> None:
    """Nothing is completed, and nothing said."""
    config = tmp_path / "config.yaml"
    if text is not None:
        config.write_text(text)
    assert completed("--config", str(config), "hold", "") == []
    assert completed("--config", str(tmp_path), "retry", "") == []


def test_folders_that_cannot_be_read(world: World, config: Path) -> None:
    """A folder that is gone, and a link in a folder's place, complete nothing; the others' names are there."""
    fail(world, "a.xml")
    elsewhere = world.base / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.xml").touch()
    shutil.rmtree(world.root / "globex")
    option = ("--config", str(config))
    assert completed(*option, "retry", "globex", "") == []
    assert names("retry", "", config=config) == ["a.xml", "acme", "globex"]
    if not WINDOWS:
        shutil.rmtree(world.outbound / "failed")
        (world.outbound / "failed").symlink_to(elsewhere)
        assert completed(*option, "retry", "acme", "") == []


@pytest.mark.skipif(WINDOWS, reason="Windows has no pipes with the names of files")
def test_a_configuration_that_hangs(tmp_path: Path) -> None:
    """A configuration that can't be read to its end holds up nobody for longer than a second."""
    os.mkfifo(tmp_path / "config.yaml")
    assert answer(asked("--config", str(tmp_path / "config.yaml"), "retry", "")) == []


def test_a_folder_that_hangs(world: World, config: Path) -> None:
    """Of a folder that doesn't answer nothing is completed; what was known by then is."""
    fail(world, "a.xml")
    with foreign(world.root / "globex" / "outbound", "fuse", answers=False):
        assert names("retry", "", config=config) == ["a.xml", "acme", "globex"]
        begun = time.monotonic()
        Bash(group, {}, "filedrop", "_FILEDROP_COMPLETE").get_completions(["--config", str(config), "retry"], "")
        assert time.monotonic() - begun < 60, "half a second, where the computer does little else"
    assert PATIENCE <= 0.5


@pytest.mark.parametrize(
    "words",
    quick([["retry", ""], [""], ["hold", ""], ["history", ""], ["resolve", ""], ["messages", "--account", ""]], 2),
    ids=" ".join,
)
def test_nothing_is_touched_and_nothing_heavy_loaded(world: World, config: Path, words: list[str]) -> None:
    """No journal is opened, no folder made; neither the libraries of commands are loaded nor their modules."""
    shutil.rmtree(world.state)
    shutil.rmtree(world.outbound)
    before = sorted(world.base.rglob("*"))
    script = f"""
import sys
from filedrop.cli import main
try:
    main()
finally:
    loaded = [name for name in sys.modules if name in {HEAVY!r} or name.startswith("filedrop.cli.")]
    print("loaded:", *loaded, file=sys.stderr)
"""
    question = {
        "_FILEDROP_COMPLETE": "bash_complete",
        "FILEDROP_CONFIG": str(config),
        "COMP_WORDS": "\n".join(["filedrop", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | question, capture_output=True, text=True, check=True
    )
    assert done.stderr == "loaded: filedrop.cli.completion\n"
    assert sorted(world.base.rglob("*")) == before


def test_all_that_names_an_account_or_a_company_completes_it() -> None:
    """A new command that takes --account or --company is noticed, and what is completed is an option of its command."""
    context = click.Context(group)
    found = set()
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command
        for one in (command, *getattr(command, "commands", {}).values()):
            options = {option for parameter in one.params for option in parameter.opts}
            found |= {(name, option) for option in options & {"--account", "--company", "--sent"}}
    assert set(OPTIONS) == found - OTHERWISE
    assert set(ARGUMENTS) < set(COMMANDS)


ODD = [  # what a shell would make more than a name of, but for the first; each begins with another letter
    "a.xml", "b two words.xml", "c$(touch pwned).xml", "d`touch pwned`.xml", "e;touch pwned.xml", "f's.xml", 'g"s.xml',
    "h$HOME.xml", "i*.xml", "j{a}!&|<>#~\\.xml", "kürzt€.xml",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(WINDOWS or shutil.which("bash") is None, reason="it takes bash, on a terminal")
def test_in_bash(world: World, config: Path, tmp_path: Path) -> None:
    """Set up as the manual says, Tab writes a name as one word, whatever whoever shares the folder has put into it."""
    program = tmp_path / "bin" / "filedrop"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m filedrop "$@"\n')
    program.chmod(0o755)
    environment = WITHOUT_CONFIG | {
        "HOME": str(tmp_path), "FILEDROP_CONFIG": str(config), "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HISTFILE": "", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(PROJECT),
    }  # fmt: skip
    typed = [line for _, block in fenced(PAGES["docs/install.md"]) for line in block.splitlines()]
    (line,) = [line for line in typed if "bash_source" in line]
    subprocess.run(["bash", "-c", line], env=environment, check=True)
    (tmp_path / ".bashrc").open("a").write(f"PS1='ready> '; cd {tmp_path}\nshown() {{ printf '<%s>' \"$@\"; echo; }}\n")
    fail(world, *ODD)
    keys = [*(f"filedrop retry acme {name[0]}\t\x01shown \r" for name in ODD), "exit\r"]
    written: set[str] = set()
    for _ in range(4):  # as above: a busy computer may take too long
        said = on_terminal("bash", "-i", columns=500, environment=environment, keys=keys, prompt=b"ready> ")
        written |= {line for line in said.splitlines() if line.startswith("<")}
        written -= {f"<filedrop><retry><acme><{name[0]}>" for name in ODD}  # not completed
        if len(written) >= len(ODD):
            break
    assert written == {f"<filedrop><retry><acme><{name}>" for name in ODD}
    assert not (tmp_path / "pwned").exists()
