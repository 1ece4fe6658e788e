"""The command line, by the configuration of a small world."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from support.commands import run_here

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "filedrop")
WITHOUT_CONFIG = {key: value for key, value in os.environ.items() if key != "FILEDROP_CONFIG"}

Done = subprocess.CompletedProcess[str]


class Filedrop(Protocol):
    """Runs a command to its end: `filedrop("status")`. By the world's configuration, where the test has a world."""

    def __call__(self, *arguments: object, config: Path | None = None) -> Done: ...


@pytest.fixture
def options(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """The command line's options, which name the world's configuration."""
    if "world" not in request.fixturenames:
        return []
    config = tmp_path / "config.yaml"
    config.write_text(request.getfixturevalue("world").config_text())
    return ["--config", str(config)]


@pytest.fixture
def filedrop(options: list[str]) -> Filedrop:
    """Commands that run in this process."""

    def run(*arguments: object, config: Path | None = None) -> Done:
        return run_here(*(["--config", str(config)] if config else options), *map(str, arguments))

    return run


@pytest.fixture
def process(options: list[str]) -> Filedrop:
    """Commands that run in processes of their own: what stops on signals, hangs, or ends in a traceback."""

    def run(*arguments: object, config: Path | None = None) -> Done:
        return subprocess.run(
            [*COMMAND, *(["--config", str(config)] if config else options), *map(str, arguments)],
            cwd=PROJECT,
            env=WITHOUT_CONFIG,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def everything_below(base: Path) -> dict[str, bytes]:
    """Every file with its content, and every folder."""
    return {
        str(path.relative_to(base)): path.read_bytes() if path.is_file() else b""
        for path in base.rglob("*")
        if path.name != "config.yaml" and "access point" not in path.parts
    }
