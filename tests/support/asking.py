"""Commands that only look, asked in this process: a start of Python and its libraries is spared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.testing import CliRunner

from filedrop.cli import filedrop

if TYPE_CHECKING:
    from support.world import World


@dataclass(frozen=True)
class DaemonReport:
    """What a command ended with and said, on either stream, without the breaks of its lines."""

    status: int
    says: str
    output: str


def ask(world: World, *arguments: str) -> DaemonReport:
    """Ask `filedrop status` or `check` by the world's configuration."""
    options = ["--config", str(world.config_file())]
    done = CliRunner(env={"FILEDROP_CONFIG": None}).invoke(filedrop, [*options, *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return DaemonReport(done.exit_code, " ".join(done.output.split()), done.stdout)
