"""docs/design/: what docstrings and comments cite there is there."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]
DESIGN = PROJECT / "docs" / "design"
SOURCES = {
    path.relative_to(PROJECT).as_posix(): " ".join(
        re.sub(r"^\s*#", "", path.read_text("utf-8"), flags=re.MULTILINE).split()
    )
    for folder in ("filedrop", "tests", "benchmarks")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if path != Path(__file__)
}


def test_sections_of_the_contract() -> None:
    """A citation of the contract names a section that the page has."""
    sections = set(re.findall(r"^## (\d+)\. ", (DESIGN / "contract.md").read_text("utf-8"), re.MULTILINE))
    cited = {(path, number) for path, text in SOURCES.items() for number in re.findall(r"\b[Cc]ontract (\d+)", text)}
    assert len(cited) > 50
    assert {(path, number) for path, number in cited if number not in sections} == set()


def test_topics_of_the_field_notes() -> None:
    """A citation of the field notes names topics that the page has."""
    topics = set(re.findall(r"^\| ([^|]+) \|", (DESIGN / "field-notes.md").read_text("utf-8"), re.MULTILINE))
    cited = {
        (path, topic)
        for path, text in SOURCES.items()
        for topics_cited in re.findall(r"\(field notes, ([^):]+)\)", text)
        for topic in topics_cited.split(" and ")
    }
    assert cited
    assert {(path, topic) for path, topic in cited if topic not in topics} == set()


def test_tests_of_the_track_record() -> None:
    """Each fault of the track record names a test that exists."""
    cited = re.findall(r"`(\S+\.py)::(test_\w+)`", (DESIGN / "track-record.md").read_text("utf-8"))
    assert len(cited) > 20
    missing = [name for path, name in cited if f"def {name}(" not in SOURCES.get(f"tests/{path}", "")]
    assert not missing
