"""The command line as a user has it: a process of its own, with the configuration of a small world."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "filedrop")
WITHOUT_CONFIG = {key: value for key, value in os.environ.items() if key != "FILEDROP_CONFIG"}


class Filedrop(Protocol):
    """Runs a command to its end."""

    def __call__(self, *arguments: object, config: Path | None = None) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def filedrop(tmp_path: Path, request: pytest.FixtureRequest) -> Filedrop:
    """`filedrop("status")` by the world's configuration, where the test has a world; else without one."""

    def run(*arguments: object, config: Path | None = None) -> subprocess.CompletedProcess[str]:
        if config is None and "world" in request.fixturenames:
            config = tmp_path / "config.yaml"
            config.write_text(request.getfixturevalue("world").config_text())
        options = ("--config", str(config)) if config else ()
        return subprocess.run(
            [*COMMAND, *options, *map(str, arguments)],
            cwd=PROJECT,
            env=WITHOUT_CONFIG,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
