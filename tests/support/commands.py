"""Commands that run in this process, which spares each test a start of Python and its libraries."""

from __future__ import annotations

import subprocess

from click.testing import CliRunner

from filedrop.cli import filedrop as group


def run_here(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `filedrop WORDS` to its end. Whatever isn't told as a sentence is raised."""
    done = CliRunner(env={"FILEDROP_CONFIG": None}).invoke(group, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
