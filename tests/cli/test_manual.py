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

from filedrop.cli.manual import for_terminal, pages
from filedrop.texts import guide

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop

terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


SHOWN = pages()


def test_every_page_is_listed() -> None:
    """The README's table has each page of the manual by its own title, and none that isn't there."""
    assert sorted(page.path for page in SHOWN.values()) == sorted(PAGES)
    for page in SHOWN.values():
        assert PAGES[page.path].startswith(f"# {page.title}\n")


def test_pages_that_are_named() -> None:
    """Each page that a text of filedrop, its configuration or its manual tells to ask for is there."""
    sources = [*(PROJECT / "filedrop").rglob("*.py"), PROJECT / "config.example.yaml"]
    texts = (*PAGES.values(), *(path.read_text("utf-8") for path in sources))
    named = {name for text in texts for name in re.findall(r"filedrop manual ([a-z]+)\b", text)}
    assert len(named) > 5
    assert named <= SHOWN.keys()


def test_the_list(filedrop: Filedrop) -> None:
    """Without a page, each is named, with its title and what it is about."""
    lines = [line.rstrip() for line in filedrop("manual").stdout.splitlines()]
    shown = [line.split(maxsplit=1) for line in lines[1:-1]]
    assert shown == [[name, f"{page.title}: {page.line}"] for name, page in SHOWN.items()]


@pytest.mark.parametrize("name", SHOWN)
def test_elsewhere_it_is_markdown(filedrop: Filedrop, name: str) -> None:
    """Where nobody looks at a terminal, a page is what was written; its links name commands, as on a terminal."""
    shown = filedrop("manual", name).stdout
    assert shown == for_terminal(PAGES[SHOWN[name].path], name)
    assert not re.search(r"\]\((?!https?:)", prose(shown))


def test_page_for_accountants_in_their_language(filedrop: Filedrop) -> None:
    """The page for accountants is shown in the language that is asked for; no other page has another language."""
    for language in ("nb", "en"):
        shown = filedrop("manual", "accountants", "--language", language).stdout
        assert shown == for_terminal(guide.in_markdown(language), "accountants")
    done = filedrop("manual", "shares", "--language", "nb")
    assert (done.returncode, done.stdout) == (2, "")
    assert "works only with the page accountants" in done.stderr


@pytest.mark.parametrize(
    ("words", "title"),
    [(["--search", "stop", "sending"], "Stop sending"), (["--search", "shares"], "hare"), (["HOLD"], "")],
)
def test_search(filedrop: Filedrop, words: list[str], title: str) -> None:
    """Sections that have the words are listed, the best first. What is no page's name is looked for, too."""
    done = filedrop("manual", *words)
    _, first, *_ = done.stdout.splitlines()
    assert title in first
    assert words[-1].lower()[:4] in first.lower()


def test_search_by_one_of_the_words(filedrop: Filedrop) -> None:
    """If no section has all words, those with one of them are listed; marks of a search language are words."""
    for words in (["HOLD", "xyzzy"], ['HOLD"', "OR"], ["hold*", "AND", "xyzzy"]):
        assert "HOLD" in filedrop("manual", "--search", *words).stdout


def test_search_without_a_result(filedrop: Filedrop) -> None:
    """A word that no page has is status 1 and a sentence; no word at all is a mistake in the command line."""
    done = filedrop("manual", "xyzzy")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no page of the manual has xyzzy; to list the pages: filedrop manual\n"
    assert filedrop("manual", "--search").returncode == 2


@terminal
@pytest.mark.parametrize("columns", quick([60, 150, 80], 2))
@pytest.mark.parametrize("name", quick(SHOWN))
def test_on_a_terminal(name: str, columns: int) -> None:
    """On a terminal nothing is lost, no word is broken, and only code is wider than it: that is there to be copied."""
    said = on_terminal(sys.executable, "-m", "filedrop", "manual", name, columns=columns)
    written = PAGES[SHOWN[name].path]
    code = [line.rstrip() for _, block in fenced(written) for line in block.splitlines() if line.strip()]
    lines = [line.rstrip() for line in said.splitlines()]
    assert set(code) <= set(lines)
    assert not [line for line in lines if len(line) > columns and line not in code]
    no_words = r"<!--.*?-->|\]\([^)]*\)|^\|[-:|]*\|$|^\| [^|]* \|(?=.*\n\|---)"
    text = re.sub(no_words, "", prose(written), flags=re.MULTILINE)
    assert not [word for word in re.findall(r"[\w/-][\w./:-]*(?<![.:])", text) if word not in said]


@terminal
def test_links_name_commands() -> None:
    """A terminal's reader can't follow a link: each names the command that shows that page; addresses stay."""
    shown = {
        page: " ".join(on_terminal(sys.executable, "-m", "filedrop", "manual", page).split())
        for page in ("install", "contributing", "changelog")
    }
    assert "A mounted share (filedrop manual shares) works, too" in shown["install"]
    assert "The tour says where what is decided" in shown["contributing"], "it is no page of the manual"
    assert "Keep a Changelog (https://keepachangelog.com/en/1.1.0/)" in shown["changelog"]


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
    for name in ("readme", "install"):
        words = [python, "-m", "filedrop", "manual", name]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
        assert done.stdout.decode().splitlines() == for_terminal(PAGES[SHOWN[name].path], name).splitlines()
