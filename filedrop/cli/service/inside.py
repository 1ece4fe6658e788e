"""`check --as-service` on Windows, where nobody becomes another: the service itself runs `filedrop check`, and answers.

Where it runs, it is asked by a control of its own; where it doesn't, it is started for this. It writes the answer into
its state, where it may write anyway, and whoever asked reads and removes it.
"""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop import config as configuration
from filedrop.cli.service import manager
from filedrop.errors import FiledropError
from filedrop.programs import filedrop_command, run

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = "check.json"
LONGEST_CHECK = 300.0  # seconds for all folders, each of which may hang for a while, and for the access point


def command(path: Path) -> str:
    """What the service manager calls for the service that goes by this configuration."""
    return subprocess.list2cmdline(filedrop_command("--config", str(path), "service", "run"))


def answer(path: Path) -> None:
    """In the service: run `filedrop check`, and write what it says. Raises FiledropError, OSError."""
    config = configuration.load(path)
    state = config.state
    # It looks at all that the service can do: it needs the passwords, and tries the programs.
    passed = [*config.password_variables, *config.pass_environment]
    done = run(filedrop_command("--config", str(path), "check", "--json"), seconds=LONGEST_CHECK, passed=passed)
    said = [text.decode("utf-8", "replace") for text in (done.stdout, done.stderr)]
    draft = state / f"{ANSWER}.tmp"
    draft.write_text(json.dumps([done.returncode, *said]))
    draft.replace(state / ANSWER)


def service_of(path: Path) -> str:
    """The service that goes by this configuration. Raises FiledropError where there is none."""
    name = next((service for service in manager.names() if _goes_by(service, path)), None)
    if name is None:
        raise FiledropError(f"no service uses {path}: run filedrop service install")
    return name


def ask(path: Path) -> subprocess.CompletedProcess[str]:
    """What `filedrop check --json` says in the service that goes by this configuration.

    Raises FiledropError where there is none, or no answer.
    """
    name = service_of(path)
    file = configuration.load(path).state / ANSWER
    file.unlink(missing_ok=True)
    manager.have_check(name)
    until = time.monotonic() + LONGEST_CHECK
    while not file.exists():
        found = manager.read(name)
        if time.monotonic() > until or found is None or (found.state == "stopped" and not file.exists()):
            raise FiledropError(
                f"{name} doesn't answer: its account can't read {path}, or can't write to {file.parent}; run filedrop "
                "service install, which gives it these rights"
            )
        time.sleep(0.1)
    said = json.loads(file.read_text())
    with suppress(OSError):
        file.unlink()
    return subprocess.CompletedProcess("check", *said)


def _goes_by(name: str, path: Path) -> bool:
    found = manager.read(name)
    return found is not None and found.command == command(path)
