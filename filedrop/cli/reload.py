"""`filedrop reload`: the running daemon takes up the changed configuration."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from filedrop import config as configuration
from filedrop.cli import MISUSED
from filedrop.cli.opening import WHO_MAY, act_as_owner, open_config
from filedrop.cli.show import say, show_json
from filedrop.errors import ConfigError, FiledropError
from filedrop.files.disk import shortage
from filedrop.process.lock import is_running, running_process
from filedrop.status import daemon_file
from filedrop.times import moment, now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

LONGEST_WAIT = 60.0  # seconds; a large document on the wire may take longer
A_WHILE = 5.0  # seconds after which a disk that can't be written to is why nothing is reported
OFTEN = 0.1  # seconds between looks at what the daemon says


@click.command(epilog="\b\nExample: filedrop reload")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def reload(config_option: str | None, *, as_json: bool) -> None:
    """Make the running daemon use the changed configuration, and wait until it does.

    Requests under way are finished first. If the new configuration has a mistake, the old one stays in use, and
    `status` and the alerts show the mistake until it is fixed. `state`, `journal`, `host` and `takeover` can't be
    changed this way. If you changed the folders or credentials of a service, run `filedrop service install`, too.
    """
    path = configuration.find(config_option).absolute()
    mistakes: Sequence[str] = ()
    try:
        try:
            config = open_config(config_option)
        except ConfigError as error:
            raise _with_refusal(error, path) from error
        _reload(path, config.state)
    except ConfigError as error:
        if not as_json:
            raise
        mistakes = error.complaints
    if as_json:
        show_json({"file": str(path), "is_used": not mistakes, "mistakes": mistakes})
    else:
        trouble = daemon_file.read(config.state).troubles.get("code list")
        but = f", except its code list: {trouble}" if trouble else ""
        say(f"filedrop uses the configuration as it is now{but}.")
    raise SystemExit(MISUSED if mistakes else 0)


def _with_refusal(mistakes: ConfigError, path: Path) -> ConfigError:
    """The mistakes, after the running daemon was told of them: `status`, page and alerts show only what it knows."""
    state = configuration.named_folder("state", path)
    if state is None:
        return mistakes
    try:
        act_as_owner(state)
        _reload(path, state)
    except ConfigError:
        return ConfigError([*mistakes.complaints, "filedrop still uses the old configuration"])
    except FiledropError:  # none runs, or it can't be asked: the mistakes are what matters
        pass
    return mistakes


def _reload(path: Path, state: Path) -> None:
    """Have the daemon of this state read its configuration again, and wait until it has. Raises FiledropError.

    ConfigError is raised where the daemon did not take up the configuration.
    """
    asked = now()
    _ask(state, path)
    _wait(state, asked)


if sys.platform == "win32":

    def _ask(state: Path, path: Path) -> None:  # noqa: ARG001 - systems differ in what they go by
        from filedrop.cli.service import inside, manager  # noqa: PLC0415 - they exist on Windows alone

        manager.have_reload(inside.service_of(path))

else:

    def _ask(state: Path, path: Path) -> None:  # noqa: ARG001 - systems differ in what they go by
        process = running_process(state)
        if process is None:
            if is_running(state) is False:
                raise FiledropError(
                    f"no filedrop is running with the state {state}: it reads the configuration when it starts"
                )
            raise FiledropError(f"you may not see which process uses {state}: run this as {WHO_MAY}")
        try:
            os.kill(process, signal.SIGHUP)
        except PermissionError:
            raise FiledropError(f"you may not signal filedrop's process: run this as {WHO_MAY}") from None


def _wait(state: Path, asked: datetime) -> None:
    """Wait until the daemon has read its configuration after `asked`. Raises ConfigError where it didn't take it up."""
    begun = time.monotonic()
    until = begun + LONGEST_WAIT
    while time.monotonic() < until:
        daemon = daemon_file.read(state)
        read = moment(daemon.configured)
        if read is not None and read >= asked:
            if why := daemon.troubles.get("configuration"):
                raise ConfigError([why])
            return
        if is_running(state) is False:
            raise FiledropError("filedrop stopped in the meantime: see its log")
        if time.monotonic() > begun + A_WHILE and (short := shortage(state)):
            raise FiledropError(
                f"filedrop was asked to reload, but can't report the result in {state}: {short}. If its log shows "
                "configuration.changed, it uses the new configuration"
            )
        time.sleep(OFTEN)
    raise FiledropError(
        f"filedrop still uses the old configuration after {LONGEST_WAIT:.0f} seconds. It may be sending a large "
        "document. Its log shows configuration.changed when it uses the new one"
    )
