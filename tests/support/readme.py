"""README.md, the manual, taken apart."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fenced(text: str = README) -> list[tuple[str, str]]:
    """The blocks of a text that stand in fences: the language of each, and what is in it."""
    return _FENCED.findall(text)


def cookbook() -> dict[str, tuple[str, dict[str, str]]]:
    """Each situation of the cookbook by its title: its YAML, and the tables it needs, by the names of their files."""
    chapter = README.partition("\n### Cookbook\n")[2].partition("\n## ")[0]
    found = {}
    for situation in chapter.split("\n#### ")[1:]:
        title, _, text = situation.partition("\n")
        (written,) = (block for language, block in fenced(text) if language == "yaml")
        tables = [block for language, block in fenced(text) if language == "csv"]
        found[title] = (written, dict(zip(re.findall(r"\S+\.csv", written), tables, strict=True)))
    return found
