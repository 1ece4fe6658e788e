"""What a shell completes when a person presses Tab: names of companies, accounts and documents.

The shell asks anew at each Tab, so a command's module, and all that it needs, is loaded for the names of its options
only. For other names a stand-in takes the command's place; it reads the configuration and lists folders, and opens no
journal. Whatever goes wrong, or takes longer than `PATIENCE`, completes nothing, and nothing is said of it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from filedrop.errors import FiledropError
from filedrop.files.patience import within
from filedrop.storage.folders import outbound_folder
from filedrop.text import composed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from filedrop.config import Config

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]

ARGUMENTS = {"history", "hold", "release", "resolve", "retry"}  # the commands whose arguments are completed here
OPTIONS = {  # and the options of commands; nothing completes a message number
    ("identify", "--company"), ("validate", "--company"), ("rehearse", "--company"), ("prepare", "--company"),
    ("resolve", "--sent"),
    ("download", "--account"), ("hosts", "--account"), ("lookup", "--account"),
    ("messages", "--account"), ("read", "--account"), ("show", "--account"), ("statistics", "--account"),
}  # fmt: skip
TAKING_FILES = {"backup", "identify", "prepare", "rehearse", "show", "validate"}
PATIENCE = 0.5  # seconds for the configuration and all folders together
_NOT_AS_IT_IS = re.compile(r"[^\w@%+=:./-]")  # what shlex quotes, but for letters of other alphabets


@add_completion_class
class Bash(BashComplete):
    r"""Completion for bash in which no name is more than a word: `two\ words.xml`, `\$\(reboot\).xml`.

    Click's own script inserts names as they are, and any user of a folder can choose those. Readline's quoting
    (`compopt -o filenames`) leaves `$` as it is. A word with a quote in it isn't completed to such a name.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            quoted) [[ ${COMP_WORDS[COMP_CWORD]} == *[\\'\\"]* ]] || COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """A line of the answer, as the script above reads it."""
        value = _NOT_AS_IT_IS.sub(r"\\\g<0>", item.value)
        return f"quoted,{value}" if item.type == "plain" and value != item.value else f"{item.type},{item.value}"


class StandIn(click.Command):
    """Takes a command's place where names are completed, as `complete` does, or files; `command` is the real one.

    It takes any words, and leaves options to the real one.
    """

    def __init__(self, name: str, complete: Complete | None, command: Callable[[], click.Command | None]) -> None:
        kind = click.UNPROCESSED if complete else click.Path(readable=False)  # of which the shell completes the names
        words = click.Argument(["words"], nargs=-1, type=kind, shell_complete=complete)
        super().__init__(name, params=[words], add_help_option=False, context_settings={"ignore_unknown_options": True})
        self._command = command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The options of the command."""
        command = self._command()
        if command is None:
            return []
        words = list(ctx.params["words"])
        with command.make_context(ctx.info_name, words, parent=ctx.parent, resilient_parsing=True) as real:
            return command.shell_complete(real, incomplete)


def stand_in(name: str, words: Sequence[str], command: Callable[[], click.Command | None]) -> StandIn | None:
    """The stand-in for a command after which these words are written; None where the command itself completes."""
    last = words[-1] if words else ""
    asked_for = last if (name, last) in OPTIONS else name if name in ARGUMENTS else None
    if asked_for:
        return StandIn(name, partial(_complete, asked_for), command)
    return StandIn(name, None, command) if name in TAKING_FILES and not last.startswith("-") else None


def _complete(asked_for: str, ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Those of the names that begin so and that aren't written yet."""
    from filedrop import config as configuration  # noqa: PLC0415 - that takes none of the patience

    option = ctx.find_root().params.get("config")
    path = configuration.find(option and os.path.expanduser(option))  # noqa: PTH111 - no shell has done it yet
    words: tuple[str, ...] = ctx.params["words"]
    found: list[str] = []

    def look() -> None:
        with suppress(FiledropError, OSError, ValueError):
            for name in _names(asked_for, configuration.load(path, keys_only=True), words):
                if composed(name).startswith(composed(incomplete)) and _is_a_word(name):
                    found.append(name)  # noqa: PERF401 - what was found so far counts where a folder hangs

    with suppress(OSError):
        within(PATIENCE, look)
    return [CompletionItem(name) for name in sorted({*found}.difference(words))]


def _is_a_word(name: str) -> bool:
    """Whether a shell can take this name. Commas and unprintable letters have a meaning between click and the shell."""
    return name.isprintable() and "," not in name and not name.startswith("-")


def _names(asked_for: str, config: Config, words: Sequence[str]) -> Iterator[str]:
    """The names that an option may have, or the next argument of a command after these words."""
    given = [word for word in words if not word.startswith("-")]
    match asked_for:
        case "--account":
            yield from config.accounts
        case "--company":
            yield from config.companies
        case "retry":
            if not given:
                yield from config.companies
            if "--all" not in words:
                yield from _lying(config, "failed", of=given[0] if given and given[0] in config.companies else None)
        case "hold" | "release" if not given:
            yield from config.companies
        case "resolve" if not given:
            yield from _lying(config, "sending")
        case "history" if not given:
            yield from _lying(config, "failed", "sending", "sent")


def _lying(config: Config, *places: str, of: str | None = None) -> Iterator[str]:
    """The names of the documents in these places of all companies, or of one."""
    for company in config.companies.values():
        for path in company.outbound if of in (None, company.name) else ():
            folder = outbound_folder(config, company, path)
            for place in places:
                with suppress(OSError):  # another folder may be there
                    yield from filter(folder.names_document, folder.documents(place))
