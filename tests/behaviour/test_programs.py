"""Whatever filedrop starts runs nothing of the current folder, and gets no secret in its environment."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.matrix import quick
from support.rules import own_rules

from filedrop import programs
from filedrop.config import parse
from filedrop.errors import ConfigError
from filedrop.validation import ByRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

PROJECT = Path(__file__).parents[2]
PASSWORD = "Zq7-not-for-programs"
PLANTED = ["json", "lxml", "click", "saxonche", "apprise", "tempfile", "sqlite3", "requests"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="it is seen in /proc, or run by a shell")


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A shared folder with modules in it that somebody has planted; `run` there says which were run."""
    folder = tmp_path / "share"
    folder.mkdir()
    (folder / "invoice.xml").write_bytes(invoice())
    for name in PLANTED:
        (folder / f"{name}.py").write_text(
            f"import os\nopen({str(tmp_path / 'run')!r}, 'a').write({name!r} + '\\n')\nraise SystemExit(9)\n"
        )
    return folder


def script_of_pip(folder: Path) -> Path:
    """The command `filedrop`, as pip makes it of what pyproject.toml says."""
    entry = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]["filedrop"]
    module, function = entry.split(":")
    folder.mkdir()
    script = folder / "filedrop"
    script.write_text(f"import re\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    return script


@pytest.fixture(params=quick(["filedrop", "python -m filedrop", "filedrop, with an empty entry in PYTHONPATH"]))
def run_in_share(
    request: pytest.FixtureRequest, share: Path, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command in that folder, started in one of the ways."""
    is_module = request.param.startswith("python")
    start = ["-m", "filedrop"] if is_module else [str(script_of_pip(tmp_path / "bin"))]
    path = {"PYTHONPATH": f"{os.pathsep}{tmp_path / 'nothing'}"} if "PYTHONPATH" in request.param else {}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *start, *words]
        done = subprocess.run(
            command, cwd=share, env={**os.environ, **path}, capture_output=True, text=True, check=False
        )
        assert not (tmp_path / "run").exists(), (tmp_path / "run").read_text()
        return done

    return run


def test_planted_modules(
    run_in_share: Callable[..., subprocess.CompletedProcess[str]],
    make_world: Callable[..., World],
    tmp_path: Path,
) -> None:
    """Modules that lie in the folder where a command is called are not run, neither by it nor by what it starts."""
    rules = own_rules(tmp_path / "rules")
    assert run_in_share("check", "--rules", str(rules), "invoice.xml").returncode == 0
    world = make_world(more=f"validation: {{rules: '{rules}'}}", outbound={"validate": "refuse"})
    world.drop("invoice.xml", invoice())
    once = run_in_share("--config", str(world.config_file()), "run", "--once")
    assert once.returncode == 0, once.stderr
    assert world.accepted() == {"invoice.xml": 1}
    assert run_in_share("--config", str(world.config_file()), "check").returncode == 0


@pytest.mark.slow
def test_planted_modules_in_a_demo(run_in_share: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Nor by the daemon of a demo."""
    demo = run_in_share("demo")
    assert demo.returncode == 0, demo.stderr


def test_a_removed_current_folder(tmp_path: Path) -> None:
    """A command that is called in a folder that was removed does its work."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from filedrop.__main__ import main; main()"
    command = [sys.executable, "-c", script, "--version"]
    if sys.platform != "win32":
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@linux
def test_planted_program(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is named without its folder is looked for in PATH's full paths, never in the current folder."""
    planted = share / "look-over"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.chdir(share)
    for path in ("", ":", ".", f".:{os.defpath}", os.defpath + ":"):
        monkeypatch.setenv("PATH", path)
        assert programs.find("look-over") is None
        with pytest.raises(FileNotFoundError):
            programs.run(["look-over"])
    monkeypatch.setenv("PATH", f":{share}")
    assert programs.find("look-over") == str(planted), "the administrator's own PATH"
    assert programs.run(["look-over"]).returncode == 0
    monkeypatch.delenv("PATH")
    assert programs.run(["sh", "-c", "exit 3"]).returncode == 3


@pytest.fixture
def dumping(tmp_path: Path) -> str:
    """A program that writes its environment to `told`, as a list in YAML."""
    script = tmp_path / "program.py"
    script.write_text(
        "import json, os\nprint('the documents own words')\n"
        f"open({str(tmp_path / 'told.new')!r}, 'w').write(json.dumps([dict(os.environ), os.getcwd()]))\n"
        f"os.replace({str(tmp_path / 'told.new')!r}, {str(tmp_path / 'told')!r})\n"
    )
    return f"['{sys.executable}', '{script}']"


@pytest.mark.parametrize("key", ["validation", "commands"])
def test_environment_of_programs(
    key: str, dumping: str, make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A validator and a command get neither the password nor anything else of filedrop's environment but what is named.

    They begin in the system's own folder.
    """
    monkeypatch.setenv("AP_PASSWORD", PASSWORD)
    monkeypatch.setenv("SOME_TOKEN", PASSWORD)
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}/nothing")
    monkeypatch.setenv("LC_MONETARY", "C")
    monkeypatch.setenv("LC_TOKEN", PASSWORD)  # as ssh passes on what a client sends
    program = {
        "validation": f"validation: {{command: {dumping}}}",
        "commands": f"commands: {{after_delivered: {dumping}}}",
    }[key]
    world = make_world(
        more=f"{program}\npass_environment: [JAVA_HOME, NOT_SET]",
        outbound={"validate": "refuse"} if key == "validation" else {},
        password=PASSWORD,
    )
    text = world.config_text().replace(f"password_file: '{world.password_file}'", "password_env: AP_PASSWORD")
    monkeypatch.setattr(world, "config_text", lambda: text)
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until((tmp_path / "told").exists)
        world.until(world.settled)
    environment, folder = json.loads((tmp_path / "told").read_text())
    assert world.accepted() == {"invoice.xml": 1}
    assert PASSWORD not in environment.values()
    assert environment["JAVA_HOME"] == "/opt/java"
    assert environment["LC_MONETARY"] == "C"
    assert {"PATH", "HOME"} <= environment.keys()
    assert not [name for name in environment if name.startswith("PYTHON")]
    expected = {"FILEDROP_EVENT", "FILEDROP_COMPANY", "FILEDROP_FILE"} if key == "commands" else set()
    assert {name for name in environment if name.startswith("FILEDROP")} == expected
    assert Path(folder) == Path(programs._own_folder())


@linux
def test_environment_of_our_own_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process of filedrop's own gets no secret and no variable of Python's, and imports nothing from its folder."""
    monkeypatch.setenv("AP_PASSWORD", PASSWORD)
    monkeypatch.setenv("PYTHONPATH", ":/nothing")
    monkeypatch.setenv("PYTHONSTARTUP", "/nothing")
    validator = ByRules(own_rules(tmp_path / "rules"), seconds=100, memory=10**9)
    validator.check()
    assert validator._children[0]._process is not None
    seen = Path(f"/proc/{validator._children[0]._process.pid}")
    environment, words = (seen / "environ").read_text().split("\0"), (seen / "cmdline").read_text().split("\0")
    validator.close()
    assert not [one for one in environment if PASSWORD in one or one.startswith("PYTHON")]
    assert words[1] == "-P"


BASE = """
accounts: {main: {base_url: https://ap.example.com, username: acme, password_env: AP_PASSWORD}}
companies: {acme: {participants: ["0192:987654321"]}}
"""


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("pass_environment: [JAVA_HOME, AP_PASSWORD]", "pass_environment: contains the variable of a password"),
        ("pass_environment: ['JAVA_HOME=/opt']", '"JAVA_HOME=/opt" is not the name of an environment variable'),
        ("commands: {after_failed: [./tell]}", '"./tell" is a relative path'),
        ("validation: {command: scripts/check}", '"scripts/check" is a relative path'),
    ],
)
def test_complaints(written: str, complaint: str) -> None:
    """What would hand a password to programs, or depend on the current folder, is refused."""
    with pytest.raises(ConfigError) as raised:
        parse(BASE + written)
    assert complaint in " ".join(raised.value.complaints)


def test_one_variable_without_brackets() -> None:
    """One variable needs no list."""
    assert parse(BASE + "pass_environment: JAVA_HOME").pass_environment == ("JAVA_HOME",)


@linux
def test_what_a_program_cannot_do_by_a_shell(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program itself starts isn't looked for in the current folder either."""
    planted = share / "helper"
    planted.write_text("#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    monkeypatch.chdir(share)
    monkeypatch.setenv("PATH", f":{os.defpath}")
    assert programs.run(["sh", "-c", f"{shlex.quote('helper')} || exit 7"]).returncode == 7
