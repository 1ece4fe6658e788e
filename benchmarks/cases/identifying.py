"""`filedrop check FILE` without a configuration: real documents in one call, and a large one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.frame import Bench, Figure, Must, Rounds, Samples, Skipped, case
from benchmarks.installation import WITHOUT_CONFIG
from benchmarks.processes import FILEDROP, PYTHON, SECONDS, Cost, cost_of
from tests.support.corpus import DOCUMENTS, IS_THERE
from tests.support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Iterator

LXML = """
import sys
from lxml import etree
for file in sys.argv[1:]:
    etree.parse(file, etree.XMLParser(huge_tree=True))
"""
LARGE = 50_000_000  # bytes


def identify(folder: Path, *files: Path) -> Cost:
    """One call. Some documents of the corpus lack an id, which is status 1."""
    return cost_of(*FILEDROP, "check", "--json", *files, folder=folder, env=WITHOUT_CONFIG, status=len(files) > 1)


def parse(folder: Path, *files: Path) -> Cost:
    """What it takes lxml to build their trees, in one process too."""
    return cost_of(PYTHON, "-c", LXML, *files, folder=folder)


@case("identify-corpus")
def identify_corpus(bench: Bench) -> Iterator[Figure]:
    """All real documents of FILEDROP_CORPUS in one `filedrop check --json`, start-up included."""
    if not IS_THERE:
        raise Skipped("FILEDROP_CORPUS names no folder that has them")
    files = sorted(Path(folder) / name for folder, _, names in os.walk(DOCUMENTS) for name in names)
    files = files[:: bench.amount(1, tiny=100)]
    folder = bench.new_folder()
    ours, lxml = bench.in_turn(lambda: identify(folder, *files), lambda: parse(folder, *files))
    yield Figure(f"{len(files)} files", "s", ours.each(SECONDS), Must(most=4), lxml.each(SECONDS), "lxml: etree.parse")


@case("identify-large")
def identify_large(bench: Bench) -> Iterator[Figure]:
    """An invoice of 50 MB with an embedded attachment, and how much more memory it takes than a small one."""
    folder = bench.new_folder()
    large, small = folder / "large.xml", folder / "small.xml"
    large.write_bytes(invoice(size=bench.amount(LARGE, tiny=100_000)))
    small.write_bytes(invoice())
    ours, least, lxml, lxml_least = bench.in_turn(
        lambda: identify(folder, large),
        lambda: identify(folder, small),
        lambda: parse(folder, large),
        lambda: parse(folder, small),
    )
    yield Figure("time", "s", ours.each(SECONDS), Must(most=0.5), lxml.each(SECONDS), "lxml: etree.parse")
    more, lxml_more = more_memory(ours, least), more_memory(lxml, lxml_least)
    yield Figure("memory", "MB", more, Must(most=40), lxml_more, "lxml: etree.parse", "more than for a small invoice")


def more_memory(large: Rounds[Cost], small: Rounds[Cost]) -> Samples:
    """How much more memory the one took than the other, round by round."""
    pairs = zip(large.results, small.results, strict=True)
    return Samples([one.memory - other.memory for one, other in pairs], large.others)
