"""README.md, the manual: what it shows a reader to type or to write is tried here."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from support.configuration import BASE
from support.readme import README, cookbook, fenced

from filedrop.cli import COMMANDS, filedrop
from filedrop.config import Account, Company, Config, Inbound, Log, Outbound, parse
from filedrop.status import AccountStatus, CompanyStatus, FolderStatus, Status

PROJECT = Path(__file__).parents[1]
FAULTS = PROJECT / "tests" / "faults"
FENCED = fenced()
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
SPANS = re.findall(r"`([^`]+)`", PROSE)
YAML = [block for language, block in FENCED if language == "yaml"]
ERROR_CODES = (  # contract 4
    "not-xml doctype too-large unreadable no-sender no-receiver no-document-id no-process-id bad-participant "
    "foreign-sender duplicate receiver-unknown not-accepted rejected no-answer not-delivered"
)

linux = pytest.mark.skipif(sys.platform == "win32", reason="the README has paths and defaults as on Linux")


def _rows(chapter: str) -> list[list[str]]:
    """The rows of the tables in a chapter that begin with code, each as its cells."""
    text = README.partition(f"\n## {chapter}\n")[2].partition("\n## ")[0]
    return [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE)]


KEYS = {key.strip("`"): default for key, default, _ in _rows("Configuration")}


def _options(command: str) -> list[list[str]]:
    """The options of a command, each by all its names."""
    found = filedrop.get_command(click.Context(filedrop), command)
    assert found is not None, command
    return [parameter.opts for parameter in found.params if isinstance(parameter, click.Option)]


def _are_options_of(command: str, text: str) -> bool:
    return set(re.findall(r"--[a-z-]+", text)) <= {name for names in _options(command) for name in names}


def _typed() -> list[tuple[str, str]]:
    """Every `filedrop COMMAND ...` that a reader is shown: the command, and what stands behind it."""
    lines = [line for language, block in FENCED if language == "sh" for line in block.splitlines()]
    calls = r"(?:^|&& \S*/|^sudo -u filedrop )filedrop(?: --config \S+)? ([a-z]+)\b(.*)"
    return [(found[1], found[2]) for text in (*lines, *SPANS) for found in [re.search(calls, text)] if found]


def test_it_begins_with_two_commands() -> None:
    """The first two blocks are one command line each: the demo and the tests, from nothing to their end."""
    (_, demo), (_, tests) = FENCED[:2]
    for block, end in ((demo, "filedrop demo"), (tests, "pytest -n 4 -m 'not slow'")):
        assert block.count("\n") == 1
        assert block.startswith("python3 -m venv .venv && ")
        assert block.endswith(f"{end}\n")


@linux
def test_the_demo_says_what_stands_here(tmp_path: Path) -> None:
    """The demo's output in the manual is that of the demo, but for times, numbers and where it ran."""
    run = subprocess.run([sys.executable, "-m", "filedrop", "demo"], cwd=tmp_path, capture_output=True, check=True)

    def shape(text: str) -> list[str]:
        # Sorted: whether the receiver or the sender hears first of the delivery is the network's business.
        return sorted(re.sub(r" *\d+", "0", re.sub(r"\S*/filedrop-demo", "filedrop-demo", text)).splitlines())

    shown = next(block for language, block in FENCED if language == "text")
    assert shape(run.stdout.decode()) == shape(shown)


@linux
@pytest.mark.parametrize("block", [block for block in YAML if "accounts:" in block])
def test_whole_configurations_load(block: str) -> None:
    """A configuration that stands here can be used as it stands."""
    assert parse(block).companies


def test_every_configuration_is_tried() -> None:
    """Whatever else stands here in YAML is one of the cookbook's, which are tried one by one (test_cookbook)."""
    assert [block for block in YAML if "accounts:" not in block] == [written for written, _ in cookbook().values()]


def test_the_table_has_every_key() -> None:
    """Every key that a configuration may have is in the table, and no other."""
    below = {
        "accounts.NAME.": Account.known(),
        "companies.NAME.": Company.known(),
        "outbound.": Outbound.known(),
        "inbound.": Inbound.known(),
        "log.": Log.known(),
    }
    sections = {"accounts", "companies", "outbound", "inbound", "log"}
    known = {prefix + key for prefix, keys in below.items() for key in keys}
    assert KEYS.keys() == known | set(Config.known()) - sections


@linux
@pytest.mark.parametrize(("key", "default"), [(key, cell) for key, cell in KEYS.items() if cell.startswith("`")])
def test_the_table_tells_the_defaults(key: str, default: str) -> None:
    """To write what the table says is the default changes nothing."""
    *section, name = key.split(".")
    line = f"{name}: {default.strip('`')}\n"
    match section:
        case ["accounts", _]:
            text = BASE.replace("    username", f"    {line}    username")
        case ["companies", _]:
            text = f"{BASE}    {line}"
        case [_]:
            text = f"{BASE}{section[0]}:\n  {line}"
        case _:
            text = BASE + line
    assert parse(text) == parse(BASE)


@pytest.mark.parametrize(("command", "rest"), _typed())
def test_what_is_typed_exists(command: str, rest: str) -> None:
    """Each command that a reader is shown exists, with the options it is shown with."""
    assert command in COMMANDS
    assert _are_options_of(command, rest)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_told(command: str) -> None:
    """Every command is in the table, and each of its options in the manual; those in its row are its own."""
    rows = " ".join(cell for row in _rows("Commands") if f"`filedrop {command}" in row[0] for cell in row)
    assert rows
    assert _are_options_of(command, rows)
    for names in _options(command):
        assert any(re.search(rf"(?<![\w-]){name}(?![\w-])", README) for name in names), names


def test_every_error_code_is_told() -> None:
    """Every code that a sidecar can have is in the table, and no other."""
    assert [row[0].strip("`") for row in _rows("Error codes")] == ERROR_CODES.split()


@pytest.mark.parametrize("form", [Status, CompanyStatus, AccountStatus, FolderStatus])
def test_every_key_of_the_status_is_told(form: Any) -> None:
    """Whoever reads `status --json` finds each key in the manual."""
    assert set(form.__annotations__) <= set(SPANS)


def test_links_lead_somewhere() -> None:
    """Each link is to a chapter or a file that is there."""
    chapters = {
        re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in re.findall(r"^#+ (.*)", PROSE, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", PROSE):
        assert target.removeprefix("#") in chapters or (PROJECT / target).exists(), target


def test_all_that_is_tried_is_told() -> None:
    """The table of what was tried names each module of tests/faults, and none that isn't there."""
    table = README[README.index("### What was tried") : README.index("### The limits, by name")]
    assert set(re.findall(r"`(test_[a-z_]+)`", table)) == {path.stem for path in FAULTS.glob("test_*.py")}
