"""Completion with Tab: asked as the shells ask, and by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli.conftest import PROJECT, WITHOUT_CONFIG
from support.manual import PAGES, fenced
from support.systems import WINDOWS
from support.terminal import on_terminal

from filedrop.cli import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
from filedrop.cli import main
try:
    main()
finally:
    print(*[name for name in sys.modules if name.startswith("filedrop.cli.")], file=sys.stderr)
"""


def ask(*words: str) -> tuple[list[str], list[str]]:
    """What the last word may become, as bash is told in a process of its own; the modules of commands loaded for it."""
    question = {
        "_FILEDROP_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(["filedrop", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=PROJECT,
        env=WITHOUT_CONFIG | question,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines(), done.stderr.split()


def test_commands() -> None:
    """All commands are completed at once: none is loaded for it."""
    assert ask("") == ([f"plain,{name}" for name in COMMANDS], [])


def test_options_and_files() -> None:
    """A command's options and their values are completed; where a file is meant, the shell completes files."""
    assert ask("retry", "--a")[0] == ["plain,--all", "plain,--anyway"]
    assert ask("show", "--language", "n")[0] == ["plain,nb", "plain,nl"]
    assert ask("show", "--json", "")[0] == ["file,"]


@pytest.mark.slow
@pytest.mark.skipif(WINDOWS or shutil.which("bash") is None, reason="it takes bash, on a terminal")
def test_in_bash(tmp_path: Path) -> None:
    """Set up as the manual says, Tab completes a command."""
    program = tmp_path / "bin" / "filedrop"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m filedrop "$@"\n')
    program.chmod(0o755)
    environment = WITHOUT_CONFIG | {
        "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}", "HISTFILE": "", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(PROJECT),
    }  # fmt: skip
    typed = [line for _, block in fenced(PAGES["docs/install.md"]) for line in block.splitlines()]
    (line,) = [line for line in typed if "bash_source" in line]
    subprocess.run(["bash", "-c", line], env=environment, check=True)
    (tmp_path / ".bashrc").open("a").write("PS1='ready> '; shown() { printf '<%s>' \"$@\"; echo; }\n")
    keys = ["filedrop hist\t\x01shown \r", "exit\r"]
    said = on_terminal("bash", "-i", columns=200, environment=environment, keys=keys, prompt=b"ready> ")
    assert "<filedrop><history>" in said.splitlines()
