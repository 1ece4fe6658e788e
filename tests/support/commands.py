"""Commands that run in this process, which spares each test a start of Python and its libraries."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.testing import CliRunner

from filedrop.cli import filedrop as group

if TYPE_CHECKING:
    from support.world import World


def run_here(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `filedrop WORDS` to its end. Whatever isn't told as a sentence is raised."""
    done = CliRunner(env={"FILEDROP_CONFIG": None}).invoke(group, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@dataclass(frozen=True)
class Said:
    """What a command ended with and said: on either stream, without the breaks of its lines; and its whole stdout."""

    status: int
    says: str
    output: str


def ask(world: World, *arguments: str) -> Said:
    """Run a command by the world's configuration."""
    done = run_here("--config", str(world.config_file()), *arguments)
    return Said(done.returncode, " ".join(f"{done.stdout} {done.stderr}".split()), done.stdout)
