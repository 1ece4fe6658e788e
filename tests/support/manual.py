"""The manual, taken apart: README.md, docs/ and the pages beside the README."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
BESIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")  # what a forge looks for at the top
PAGES = {  # each page by its path, with `/`; the README is the first
    path.relative_to(PROJECT).as_posix(): path.read_text("utf-8")
    for path in (*(PROJECT / name for name in BESIDE), *sorted((PROJECT / "docs").glob("*.md")))
}
DESIGN = {  # the pages for engineers, which `filedrop manual` doesn't show
    path.relative_to(PROJECT).as_posix(): path.read_text("utf-8")
    for path in (
        *sorted((PROJECT / "docs" / "design").glob("*.md")),
        *(PROJECT / path for path in ("benchmarks/README.md", "tests/figures.md")),
    )
}
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fenced(text: str = "\n".join(PAGES.values())) -> list[tuple[str, str]]:
    """The blocks of a text that stand in fences: the language of each, and what is in it."""
    return _FENCED.findall(text)


def prose(text: str) -> str:
    """A text without its fenced blocks."""
    return _FENCED.sub("", text)


def chapter(page: str, title: str) -> str:
    """A chapter of a page, without its title."""
    return PAGES[page].partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def cookbook() -> dict[str, tuple[str, dict[str, str]]]:
    """Each recipe for any system by its title: its YAML, and the tables it needs, by the names of their files."""
    return _recipes("docs/receivers.md", "Recipes") | _recipes("docs/systems.md", "Rules for certain ids")


def systems() -> dict[str, tuple[str, dict[str, str]]]:
    """The rules for each accounting system by its name: their YAML, and the tables they need, as in `cookbook`."""
    return _recipes("docs/systems.md", "One part for each system")


def parts(page: str, title: str) -> dict[str, str]:
    """The parts of a page's chapter, by their titles."""
    titled = (part.partition("\n") for part in chapter(page, title).split("\n### ")[1:])
    return {title: words for title, _, words in titled}


def _recipes(page: str, title: str) -> dict[str, tuple[str, dict[str, str]]]:
    found = {}
    for recipe, text in parts(page, title).items():
        (written,) = (block for language, block in fenced(text) if language == "yaml")
        tables = [block for language, block in fenced(text) if language == "csv"]
        found[recipe] = (written, dict(zip(re.findall(r"\S+\.csv", written), tables, strict=True)))
    return found
