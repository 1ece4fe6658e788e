"""The command line: `filedrop [--config FILE] COMMAND` (contract 5). The only package that prints.

A command's module is imported when the command is called, so that no command pays for another's libraries; what
`--help` says of each stands here. The commands: archive (messages, download, read, statistics), backup, check (of the
set-up: set_up, checking, reaching, sharing; of files: rehearsing, rehearsal, proposing), config, demo, document
(show), history, hold (release), hosts, init, journal, lookup, manual, reload, resolve, retry, run (serving), sandbox,
service, status. What they share: opening, dropped, show, tables.
Every FiledropError ends as a sentence on stderr and one of:

    0  done
    1  something failed
    2  fix the command line or the configuration, or install the version that wrote the journal
    3  the access point cannot be reached or refuses the login
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from filedrop import __version__
from filedrop.errors import AccessPointError, ConfigError, FiledropError, Gone, Rejected, WrongJournal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {  # name: the module of this room that has it, and what it does
    "run": ("run", "Run the daemon: send, track and receive documents until stopped."),
    "init": ("init", "Write a first configuration from your answers, then test it."),
    "check": ("check", "Test the set-up; with a file, show what would become of it."),
    "show": ("document", "Show a document for reading, or write it as a page."),
    "status": ("status", "Show the status of all documents, and what needs attention."),
    "history": ("history", "Show everything that happened to a document or a message."),
    "retry": ("retry", "Send failed documents again."),
    "resolve": ("resolve", "End a doubt: the document was sent, or filedrop sends it again."),
    "hold": ("hold", "Stop sending for a company."),
    "release": ("hold", "Send again for a company that is held."),
    "reload": ("reload", "Make the running daemon use the changed configuration."),
    "hosts": ("hosts", "Show the hosts that share the journal, and which of them serves what."),
    "journal": ("journal", "Move the journal to a database or back, or accept a restored one."),
    "backup": ("backup", "Copy the journal to a file while filedrop runs."),
    "config": ("config", "Show the configuration with all defaults, or its JSON Schema."),
    "lookup": ("lookup", "Ask the directory whether a receiver can be reached, and what it accepts."),
    "service": ("service", "Install, start, stop or remove filedrop as a service, or show its status."),
    "messages": ("archive", "List the messages in the access point's archive."),
    "download": ("archive", "Download a message's document, or put it into its inbound folder again."),
    "read": ("archive", "Mark a message in the inbox as read."),
    "statistics": ("archive", "Show the account's figures."),
    "manual": ("manual", "Show a page of the manual."),
    "sandbox": ("sandbox", "Run an access point on this computer, for tests."),
    "demo": ("demo", "Watch an invoice travel from one company to another."),
}
MEANT = {"send": "run", "stop": "hold", "log": "history", "test": "check", "validate": "check"}  # words of others
NEEDING_SANDBOX = ("sandbox", "demo")  # commands whose libraries only the extra `sandbox` installs
FAILED, MISUSED, UNREACHABLE = 1, 2, 3


class Commands(click.Group):
    """All commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # nothing of what is being loaded is garbage: looking for some takes a tenth of the time
        try:
            found: click.Command = getattr(import_module(f"filedrop.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        except ModuleNotFoundError as error:
            if cmd_name not in NEEDING_SANDBOX:
                raise
            return _not_installed(cmd_name, error.name)
        finally:
            gc.enable()
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; where there is none of this name, a guess. Raises UsageError."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches  # noqa: PLC0415 - no error, no need

        guess = [MEANT[name]] if name in MEANT else get_close_matches(name, COMMANDS, 1)
        also = f"Did you mean filedrop {guess[0]}?" if guess else "filedrop --help lists all commands."
        raise click.UsageError(f"There is no command {name}. {also}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands and options that begin so, without loading any."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - no command needs it

        begun = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in begun] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
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
        except ImportError as error:
            _end_unreadable(ctx, error)
        except OSError as error:
            from filedrop.files.rights import explain  # noqa: PLC0415 - no error, no need

            if isinstance(error.filename, str) and Path(error.filename).is_relative_to(Path(__file__).parents[1]):
                _end_unreadable(ctx, error)
            if sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None:
                raise BrokenPipeError(errno.EPIPE, error.strerror) from error  # what Windows says of it
            why, status = f"{error.filename or 'the output'} can't be used: {explain(error)}", FAILED
        from filedrop.cli.show import complain  # noqa: PLC0415 - no error, no need

        complain(why)
        return ctx.exit(status)


def _end_unreadable(ctx: click.Context, error: Exception) -> NoReturn:
    """End where root acts as another, who can't read more of this program. Raises any other error again."""
    from filedrop.files.rights import denied  # noqa: PLC0415 - no error, no need

    for module in (__file__, click.__file__, os.__file__):
        if denial := denied(Path(module)):
            click.echo(  # `complain` may need a library that can't be read either
                "the account that owns filedrop's state can't read this filedrop or its Python, so a service can't run "
                f"it either: {denial.facts}. Install filedrop where every user can read it, such as /opt/filedrop. "
                f"See: filedrop manual install ({error})",
                err=True,
            )
            ctx.exit(FAILED)
    raise error


def _not_installed(name: str, library: str | None) -> click.Command:
    """The command of this name where its libraries are missing: it says so, and so does its `--help`."""
    lacks = (
        f"filedrop {name} needs libraries that aren't installed here ({library} is missing). In the folder of "
        "filedrop's source, run: pip install '.[sandbox]' (filedrop manual start shows other ways)"
    )

    def tell() -> None:
        raise FiledropError(lacks)

    return click.Command(
        name,
        callback=tell,
        help=f"{COMMANDS[name][1]}\n\n{lacks}",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )


def exit_status(error: FiledropError) -> int:
    """Which of the statuses an error ends in."""
    if isinstance(error, ConfigError | WrongJournal):
        return MISUSED
    is_away = isinstance(error, AccessPointError) and not isinstance(error, Rejected | Gone)
    return UNREACHABLE if is_away else FAILED


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(readable=False),  # whether it can be read, its reader says
    help="The configuration file. Without it: $FILEDROP_CONFIG, or else the system's file.",
)
@click.version_option(__version__, prog_name="filedrop")
@click.pass_context
def filedrop(ctx: click.Context, config: str | None) -> None:
    """Send and receive business documents between shared folders and a PEPPOL access point."""
    ctx.obj = config


def main() -> None:
    """Run the command line, and exit."""
    _see_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal's encoding lacks is escaped, no error
            stream.reconfigure(errors="backslashreplace")
    try:
        filedrop(prog_name="filedrop")
    finally:
        _give_up_output()


def _see_streams() -> None:
    """Open the null device for a stream that was closed (`>&-`) or never was (a Windows service).

    A file that is opened gets the lowest free descriptor. Were it a closed stream's, what is printed would go into that
    file.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays
            setattr(sys, name, nowhere)


def _give_up_output() -> None:
    """What couldn't be written has been told of. At its end Python would try again, and exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
