"""The manual, README.md and docs/: what it shows a reader to type or to write is tried here."""

import html
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from support.manual import DESIGN, PAGES, PROJECT, chapter, cookbook, fenced, prose, systems

from filedrop.cli import COMMANDS, filedrop
from filedrop.config import Mail, parse
from filedrop.identify.participants import doubts
from filedrop.sandbox.network import SAMPLE_ACCOUNTS
from filedrop.status.model import AccountStatus, CompanyStatus, FolderStatus, Status

FAULTS = PROJECT / "tests" / "faults"
README = PAGES["README.md"]
MANUAL = "\n".join(PAGES.values())
FENCED = fenced()
SPANS = re.findall(r"`([^`]+)`", prose(MANUAL))
ALL_PAGES = PAGES | DESIGN
LINKS = [(page, target) for page, text in ALL_PAGES.items() for target in re.findall(r"\]\(([^)]+)\)", prose(text))]
YAML = [block for language, block in FENCED if language == "yaml"]
EXAMPLE = (PROJECT / "config.example.yaml").read_text("utf-8")
ERROR_CODES = (  # contract 4, and `invalid` and `changed`
    "not-xml doctype too-large unreadable no-sender no-receiver no-document-id no-process-id bad-participant "
    "foreign-sender duplicate not-prepared no-attachment invalid receiver-unknown not-accepted rejected no-answer "
    "not-delivered not-on-peppol changed"
)

linux = pytest.mark.skipif(sys.platform == "win32", reason="the manual has paths and defaults as on Linux")


def _rows(page: str, title: str) -> list[list[str]]:
    """The rows of the tables in a chapter that begin with code, each as its cells."""
    return [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", chapter(f"docs/{page}.md", title), re.MULTILINE)]


def _options(command: str) -> list[list[str]]:
    """The options of a command, each by all its names."""
    found = filedrop.get_command(click.Context(filedrop), command)
    assert found is not None, command
    commands = [found, *found.commands.values()] if isinstance(found, click.Group) else [found]
    return [parameter.opts for one in commands for parameter in one.params if isinstance(parameter, click.Option)]


def _help(command: str) -> str:
    """What a command's `--help` prints."""
    context = click.Context(filedrop)
    found = filedrop.get_command(context, command)
    assert found is not None, command
    return found.get_help(context)


def _are_options_of(command: str, text: str) -> bool:
    return set(re.findall(r"--[a-z-]+", text)) <= {name for names in _options(command) for name in names}


def _typed() -> list[tuple[str, str]]:
    """Every `filedrop COMMAND ...` that a reader is shown: the command, and what stands behind it."""
    lines = [line for language, block in FENCED if language == "sh" for line in block.splitlines()]
    calls = r"(?:^|&& \S*/|^sudo (?:-u filedrop )?(?:/opt/filedrop/bin/)?)filedrop(?: --config \S+)? ([a-z]+)\b(.*)"
    return [(found[1], found[2]) for text in (*lines, *SPANS) for found in [re.search(calls, text)] if found]


def test_it_begins_with_two_commands() -> None:
    """The README's first two blocks are one command line each: the demo and the tests, from nothing to their end."""
    (_, demo), (_, tests) = fenced(README)[:2]
    for block, end in ((demo, "filedrop demo"), (tests, "pytest -n 6 -m 'not slow'")):
        assert block.count("\n") == 1
        assert block.startswith("python3 -m venv .venv && ")
        assert block.endswith(f"{end}\n")


@pytest.mark.slow
@linux
def test_the_demo_says_what_stands_here(tmp_path: Path) -> None:
    """The picture of the demo (.ci/demo-picture) shows what it prints, but for times, numbers and where it ran."""
    run = subprocess.run([sys.executable, "-m", "filedrop", "demo"], cwd=tmp_path, capture_output=True, check=True)

    def shape(lines: list[str]) -> list[str]:
        # Sorted: whether the receiver or the sender hears first of the delivery is the network's business.
        return sorted(re.sub(r" *\d+", "0", re.sub(r"\S*/filedrop-demo", "filedrop-demo", line)) for line in lines)

    picture = (PROJECT / "docs" / "demo.svg").read_text("utf-8")
    command, *shown = [html.unescape(line) for line in re.findall(r"<text [^>]*>(.*)</text>", picture)]
    assert command == "$ filedrop demo"
    assert shape(run.stdout.decode().splitlines()) == shape(shown)


@linux
@pytest.mark.parametrize("block", [block for block in YAML if "accounts:" in block])
def test_whole_configurations_load(block: str) -> None:
    """A configuration that stands here can be used as it stands."""
    assert parse(block).companies


def test_every_configuration_is_tried() -> None:
    """All other YAML is a recipe or an accounting system's, and is tried (test_cookbook, test_systems)."""
    tried = [written for written, _ in (*cookbook().values(), *systems().values())]
    assert sorted(block for block in YAML if "accounts:" not in block) == sorted(tried)


@linux
def test_the_reference_is_current() -> None:
    """What the reference takes from the program is what the program says now: the settings, commands and keys."""
    written = runpy.run_path(str(PROJECT / ".ci" / "reference"))["current"](PAGES["docs/reference.md"])
    assert PAGES["docs/reference.md"] == written, "run .venv/bin/python .ci/reference"


def test_what_is_typed_exists() -> None:
    """Each command that a reader is shown exists, with the options it is shown with."""
    typed = list(_typed())
    assert typed
    assert [words for words in typed if words[0] not in COMMANDS or not _are_options_of(*words)] == []


TYPED_BY_CONTRIBUTORS = [
    line for language, block in fenced(PAGES["CONTRIBUTING.md"]) if language == "sh" for line in block.splitlines()
]


@cache
def run(*words: str) -> str:
    """What a module of Python's says to these words."""
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout


def _finds_tests(words: list[str]) -> bool:
    """Whether each path after `pytest` has tests, some of them with this word (-k) or this marker (-m)."""
    options = dict(pairwise(words))
    wanted = ["def test_", options.get("-k", ""), f"pytest.mark.{options['-m']}" if "-m" in options else ""]
    paths = [PROJECT / word for word in words if word.startswith("tests/")]
    assert len(words) == len(paths) + 2 * (("-k" in words) + ("-m" in words)), words
    for path in paths:
        source = "".join(file.read_text("utf-8") for file in [path, *path.rglob("test_*.py")] if file.is_file())
        if not all(word in source for word in wanted):
            return False
    return bool(paths)


@linux
@pytest.mark.parametrize("line", TYPED_BY_CONTRIBUTORS)
def test_what_contributors_type(line: str) -> None:
    """Each command that contributors are shown is one that .ci/run runs, or finds its tests, benchmarks or modules."""
    command = re.sub(r"""^(FILEDROP_\w+=(\w+|"[^"]*") )+""", "", line)
    program, *words = shlex.split(command.replace(" -n 6", ""))
    if program == ".venv/bin/pytest" and "tests" in line.partition("pytest")[2]:
        assert _finds_tests(words)
    elif words[1:2] == ["benchmarks"]:
        assert words[2:] in ([], ["--list"]) or f"\n{words[2]} " in run("benchmarks", "--list")
    elif program in (".venv/bin/mutmut", ".venv/bin/pip"):  # not one of the tools of `dev`
        project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
        mutated = [path.replace("/", ".") for path in project["tool"]["mutmut"]["only_mutate"]]
        assert all(f"{module}.py" in mutated for module in re.findall(r"filedrop\.\w+\.\w+", line))
        assert all(extra in project["project"]["optional-dependencies"] for extra in re.findall(r"\[(\w+)\]", line))
    elif program == ".ci/prose":
        subprocess.run([sys.executable, program, *words], cwd=PROJECT, capture_output=True, check=True)
    elif program in (".ci/pythons", "tests/findings/run") or program.startswith("packaging/"):  # these take minutes
        assert os.access(PROJECT / program, os.X_OK)
        assert all((PROJECT / word).exists() for word in words if not word.startswith("-"))
    elif program == ".venv/bin/python":  # it writes files of the repository
        assert os.access(PROJECT / words[0], os.X_OK)
    elif words[:2] == ["config", "core.hooksPath"]:
        assert (PROJECT / words[2] / "commit-msg").exists()
    else:
        told = fenced(README)[1][1] + (PROJECT / ".ci" / "run").read_text("utf-8")
        assert command == ".ci/run" or command in told


def test_every_error_code_is_told() -> None:
    """Every code that a sidecar can have is in the table, and no other."""
    assert [row[0].strip("`") for row in _rows("reference", "Error codes")] == ERROR_CODES.split()


@pytest.mark.parametrize("form", [Status, CompanyStatus, AccountStatus, FolderStatus])
def test_every_key_of_the_status_is_told(form: Any) -> None:
    """Whoever reads `status --json` finds each key in the manual."""
    assert set(form.__annotations__) <= set(SPANS)


def test_every_key_of_the_mail_server_is_told() -> None:
    """The row of `alerts.mail` names each of its keys, and which are required."""
    (row,) = (row for row in _rows("reference", "All settings") if row[0] == "`alerts.mail`")
    required, *others = row[2].split(" are required")
    assert {field.alias or name for name, field in Mail.model_fields.items() if field.is_required()} == set(
        re.findall(r"host|from|to", required)
    )
    assert [name for name in Mail.known() if not re.search(rf"\b{name}\b", "".join((required, *others)))] == []


def test_ids_are_sound() -> None:
    """No id of the manual, the example or a command's help is doubtful, but for those that an old system writes."""
    texts = (MANUAL, EXAMPLE, *DESIGN.values(), *map(_help, COMMANDS))
    ids = set(re.findall(r"\b\d{4}:\d{9,}\b", "\n".join(texts)))
    assert ids
    assert not [doubt for id_ in ids if not id_.startswith("9908:") for doubt in doubts("", id_)]


def test_a_company_has_the_same_id_everywhere() -> None:
    """The companies acme and fjord have the ids of the sandbox's accounts in each configuration and example."""
    own = {account.name: account.participants[0] for account in SAMPLE_ACCOUNTS}
    written = [
        PROJECT / "packaging" / "container" / "config.yaml",
        PROJECT / "filedrop" / "cli" / "demo" / "config.yaml",
    ]
    texts = [EXAMPLE, *YAML, *(path.read_text("utf-8").replace("@", "") for path in written)]
    companies = [companies for text in texts if (companies := yaml.safe_load(text).get("companies"))]
    found = [(name, company["participants"][0]) for each in companies for name, company in each.items() if name in own]
    assert len(found) > len(YAML) / 2
    for command in COMMANDS:
        found += re.findall(r"\b(acme|fjord)(?:=|:\w+:)(\d{4}:\d+)", _help(command))
    assert set(found) <= own.items()


@cache
def _anchors(page: str) -> set[str]:
    """The anchors that a forge makes of a page's titles."""
    titles = re.findall(r"^#+ (.*)", prose(ALL_PAGES[page]), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


def _leads_somewhere(page: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (PROJECT / page).parent / path if path else PROJECT / page
    return found.exists() and (not anchor or anchor in _anchors(found.resolve().relative_to(PROJECT).as_posix()))


def test_links_lead_somewhere() -> None:
    """Each link is to a page, a chapter of one or a file that is there."""
    links = [link for link in LINKS if "://" not in link[1]]
    assert links
    assert [link for link in links if not _leads_somewhere(*link)] == []


def test_every_page_is_linked() -> None:
    """A reader who begins at the README finds each page, those for engineers too."""
    linked = {target.partition("#")[0] for page, target in LINKS if page == "README.md"}
    assert linked >= ALL_PAGES.keys() - {"README.md"}


def test_the_readme_is_short() -> None:
    """The README is what a newcomer needs, and no longer than they read."""
    assert len(README.splitlines()) <= 130


def test_all_that_is_tried_is_told() -> None:
    """The table of what was tried names each module of tests/faults, and none that isn't there."""
    table = DESIGN["docs/design/record.md"].partition("\n## What was tried\n")[2]
    assert set(re.findall(r"`(test_[a-z_]+)`", table)) == {path.stem for path in FAULTS.glob("test_*.py")}
