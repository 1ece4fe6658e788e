"""The command line: `filedrop [--config FILE] COMMAND` (contract 5). The only room that prints.

A command's module is imported when the command is called, so that no command pays for another's libraries; what
`--help` says of each stands here. Every FiledropError ends as a sentence on stderr and one of these statuses:

    0  done
    1  something failed
    2  fix the command line or the configuration
    3  the access point cannot be reached or refuses the login
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from filedrop import __version__
from filedrop.errors import AccessPointError, ConfigError, FiledropError, Rejected

COMMANDS = {  # name: the module of this room that has it, and what it does
    "run": ("run", "Watch, send, track and fetch until stopped; --once: what is there now."),
    "check": ("check", "Look over configuration, folders, login, TLS and clock."),
    "identify": ("identify", "Show the ids of files, and where each comes from."),
    "status": ("status", "Show what waits, is on its way, in doubt, overdue or failed, and why."),
    "retry": ("retry", "Put failed documents back in line."),
    "resolve": ("resolve", "End a doubt yourself: it was sent, or is to be sent again."),
    "lookup": ("lookup", "Ask the directory: can a receiver be reached, and what does it accept?"),
    "messages": ("archive", "List the access point's archive."),
    "download": ("archive", "Fetch a message's document, also into its inbound folder again."),
    "read": ("archive", "Mark a message of the inbox as read."),
    "statistics": ("archive", "Show the account's figures."),
    "sandbox": ("sandbox", "Run an access point of your own on this computer."),
    "demo": ("demo", "Watch an invoice go from one company to another."),
}
FAILED, MISUSED, UNREACHABLE = 1, 2, 3


class Commands(click.Group):
    """All commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # nothing of what is being loaded is garbage: looking for some takes a tenth of the time
        try:
            command: click.Command = getattr(import_module(f"filedrop.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        finally:
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - likewise
        """The list of commands in `--help`, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours, or of the system's, is told, and becomes the exit status."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads on: click knows what to do
            raise
        except FiledropError as error:
            why, status = str(error), exit_status(error)
        except OSError as error:
            why, status = f"{error.filename or 'the output'} can't be used: {error.strerror}", FAILED
        from filedrop.cli.show import complain  # noqa: PLC0415 - rich isn't needed for --help

        complain(why)
        return ctx.exit(status)


def exit_status(error: FiledropError) -> int:
    """Which of the statuses an error ends in."""
    match error:
        case ConfigError():
            return MISUSED
        case Rejected():
            return FAILED
        case AccessPointError():
            return UNREACHABLE
        case _:
            return FAILED


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", metavar="FILE", help="The configuration (else $FILEDROP_CONFIG, else the system's).")
@click.version_option(__version__, prog_name="filedrop")
@click.pass_context
def filedrop(ctx: click.Context, config: str | None) -> None:
    """Carry documents between shared folders and a PEPPOL access point."""
    ctx.obj = config


def main() -> None:
    """Run the command line, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal's encoding lacks is escaped, no error
            stream.reconfigure(errors="backslashreplace")
    try:
        filedrop(prog_name="filedrop")
    finally:
        _give_up_output()


def _give_up_output() -> None:
    """What couldn't be written has been told of. At its end Python would try again, and exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
