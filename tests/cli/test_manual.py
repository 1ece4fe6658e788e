"""`filedrop manual`: the manual's pages, in the terminal and out of a wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from support.environment import without_extras
from support.manual import PAGES, PROJECT, fenced, prose
from support.matrix import quick
from support.terminal import on_terminal

from filedrop.cli.manual import TOPICS
from filedrop.texts import guide

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop

terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


def test_every_page_has_a_topic() -> None:
    """Each page of the manual is shown, and none that isn't there."""
    assert {path for path, _ in TOPICS.values()} == PAGES.keys()
    assert len(TOPICS) == len(PAGES)


def test_what_the_pages_say_of_it() -> None:
    """Each topic that a reader is told to ask for is there."""
    told = re.findall(r"`filedrop manual ([a-z]+)`", "".join(PAGES.values()))
    assert told
    assert set(told) <= TOPICS.keys()


def test_the_topics(filedrop: Filedrop) -> None:
    """Without a topic, each is named, with a line that says what it is about."""
    lines = [line.rstrip() for line in filedrop("manual").stdout.splitlines()]
    shown = [line.split(maxsplit=1) for line in lines[1:-1]]
    assert shown == [[name, what] for name, (_, what) in TOPICS.items()]


@pytest.mark.parametrize("topic", TOPICS)
def test_elsewhere_it_is_markdown(filedrop: Filedrop, topic: str) -> None:
    """Where nobody looks at a terminal, a page is what was written."""
    assert filedrop("manual", topic).stdout == PAGES[TOPICS[topic][0]]


def test_page_for_accountants_in_their_language(filedrop: Filedrop) -> None:
    """The page for accountants is shown in the language that is asked for; no other page has another language."""
    assert filedrop("manual", "accountants", "--language", "nb").stdout == guide.in_markdown("nb")
    assert filedrop("manual", "accountants", "--language", "en").stdout == PAGES[guide.PAGE]
    done = filedrop("manual", "shares", "--language", "nb")
    assert (done.returncode, done.stdout) == (2, "")
    assert "works only with the page accountants" in done.stderr


def test_an_unknown_topic(filedrop: Filedrop) -> None:
    """A topic that isn't there is status 2, and a sentence with those that are."""
    done = filedrop("manual", "instal")
    assert (done.returncode, done.stdout) == (2, "")
    assert all(f"'{topic}'" in done.stderr for topic in TOPICS)


@terminal
@pytest.mark.parametrize("columns", quick([60, 150, 80], 2))
@pytest.mark.parametrize("topic", quick(TOPICS))
def test_on_a_terminal(topic: str, columns: int) -> None:
    """On a terminal nothing is lost, no word is broken, and only code is wider than it: that is there to be copied."""
    said = on_terminal(sys.executable, "-m", "filedrop", "manual", topic, columns=columns)
    written = PAGES[TOPICS[topic][0]]
    code = [line.rstrip() for _, block in fenced(written) for line in block.splitlines() if line.strip()]
    lines = [line.rstrip() for line in said.splitlines()]
    assert set(code) <= set(lines)
    assert not [line for line in lines if len(line) > columns and line not in code]
    text = re.sub(r"\]\([^)]*\)|^\|[-:|]*\|$|^\| [^|]* \|(?=.*\n\|---)", "", prose(written), flags=re.MULTILINE)
    assert not [word for word in re.findall(r"[\w/-][\w./:-]*(?<![.:])", text) if word not in said]


@terminal
def test_links_name_commands() -> None:
    """A terminal's reader can't follow a link: each names the command that shows that page; addresses stay."""
    said = " ".join(on_terminal(sys.executable, "-m", "filedrop", "manual", "configuration").split())
    assert "see When a file is ready (filedrop manual send)" in said
    assert "config.example.yaml explains each key in more words" in said
    changes = on_terminal(sys.executable, "-m", "filedrop", "manual", "changelog")
    assert "Keep a Changelog (https://keepachangelog.com/en/1.1.0/)" in " ".join(changes.split())


@pytest.mark.slow
def test_a_wheel_has_the_manual(tmp_path: Path) -> None:
    """A wheel that was made of an archive of the source shows the same pages where it is installed."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel: pip install -e '.[dev]'")

    def build(target: str, project: Path) -> Path:
        words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path / target)]
        subprocess.run(words, cwd=project, capture_output=True, check=True)
        (made,) = (tmp_path / target).iterdir()
        return made

    with tarfile.open(build("sdist", PROJECT)) as source:
        source.extractall(tmp_path / "source", filter="data")
    (unpacked,) = (tmp_path / "source").iterdir()
    python = without_extras(tmp_path)
    pointer = next(tmp_path.glob("environment/**/filedrop.pth"))
    pointer.unlink()
    with ZipFile(build("wheel", unpacked)) as wheel:
        wheel.extractall(pointer.parent)  # noqa: S202 - it is ours
    for path, text in PAGES.items():
        assert (pointer.parent / "filedrop" / "manual" / path).read_text("utf-8") == text
    for topic in ("readme", "install"):
        words = [python, "-m", "filedrop", "manual", topic]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
        assert done.stdout.decode().splitlines() == PAGES[TOPICS[topic][0]].splitlines()
