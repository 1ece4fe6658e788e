"""The shape of the manual: how long each page is, which page a task leads to, and that a fact is on one page only."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePosixPath

import pytest
from support.manual import PAGES, prose

from filedrop.cli.manual import pages

HAND = {  # each page by its name, without what is generated (.ci/reference)
    PurePosixPath(path).stem.lower(): re.sub(r"<!-- generated .*?<!-- end -->", "", text, flags=re.DOTALL)
    for path, text in PAGES.items()
    if path == "README.md" or path.startswith("docs/")
}
BUDGET = {  # words of each page, and fewer with each commit
    "accountants": 1244,
    "alerts": 1897,
    "hosts": 1917,
    "install": 2764,
    "operate": 2648,
    "promises": 1506,
    "readme": 791,
    "receive": 2190,
    "receivers": 2578,
    "reference": 1523,
    "send": 1825,
    "shares": 1104,
    "start": 862,
    "systems": 3323,
}
TWICE = 0  # runs of eight words, and fewer with each commit
ELSEWHERE = 0  # facts on other pages than theirs, and fewer with each commit
SHARED = ("readme", "promises")  # both say what filedrop promises
RUN = 8  # words
EMPTY = ("and", "for", "from", "something", "the", "when", "who", "with", "your")
TASKS = {
    "stop sending for a company": "operate",
    "the PDF in the invoice": "send",
    "answer an invoice": "receive",
    "who rejected invoice 2005": "receive",
    "move to a new machine": "install",
    "a new password": "operate",
    "add a company": "operate",
    "receiver by customer number": "receivers",
    "mail when something fails": "alerts",
    "restore a backup": "operate",
}
FACTS = {  # a pattern, and the pages that may have it
    r"\bHOLD\b": "operate accountants",
    r"\bBR-SBDH\b": "receivers systems",
    r"\boutbound\.doubt\b|\bat least 15 minutes\b": "promises",
    r"\b10 seconds\b": "send shares",
    r"\b20 seconds\b": "install",
    r"\b20,000\b|\b250,000\b": "promises",
    r"\b50,000 elements\b": "receivers",
    r"--anyway\b": "operate reference",
    r"--dry-run\b": "hosts",
    r"--take-over\b": "operate",
    r"\bfiledrop resolve\b": "operate",
    r"\bmessages --missing\b": "operate",
    r"\bjournal accept\b": "hosts",
    r"\bpg_dump\b": "hosts",
    r"\bpsycopg\b": "hosts",
    r"\bsaxonche\b": "send",
    r"\bpypdf\b": "receive",
    r"\bApprise\b": "alerts",
    r"\bforce group\b": "install",
    r"\badduser\b": "start install",
    r"\bLoadCredential\b": "install",
    r"\bSHA256SUMS\b": "install",
    r"\bWine\b": "install",
    r"\bstate/backup\b": "operate",
    r"\bnot-on-peppol\b": "readme accountants receivers alerts reference",
    r"\.rejected\.txt\b": "accountants receive send start",
}


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.lower())


def _meant(text: str) -> set[str]:
    """The words of a text that say what it is about, without their endings."""
    words = (word for word in _words(text) if len(word) > 2 and not word.isdigit() and word not in EMPTY)
    return {re.sub(r"(ing|ed|s)$", "", word) for word in words}


def test_words_of_each_page() -> None:
    """No page has more words than its budget: one that needs more takes them from another in the same commit."""
    assert HAND.keys() == BUDGET.keys()
    assert [(page, len(text.split())) for page, text in HAND.items() if len(text.split()) > BUDGET[page]] == []


@pytest.mark.parametrize("task", TASKS)
def test_a_task_leads_to_its_page(task: str) -> None:
    """One row of the README shares more words with the task than any other, and a heading of that page has them."""
    wanted, page = _meant(task), TASKS[task]
    shared = {name: len(wanted & _meant(f"{row.title} {row.line}")) for name, row in pages().items()}
    most = max(shared.values())
    assert [name for name, count in shared.items() if count == most] == [page]
    assert wanted <= _meant(" ".join(re.findall(r"^#+ (.*)", prose(HAND[page]), re.MULTILINE)))


def test_nothing_is_said_twice() -> None:
    """No run of eight words stands on two pages, outside of code."""
    runs = defaultdict(set)
    for page, text in HAND.items():
        words = _words(prose(text))
        for begin in range(len(words) - RUN + 1):
            runs[" ".join(words[begin : begin + RUN])].add(page)
    twice = [(run, sorted(found)) for run, found in runs.items() if len(found) > 1 and not found <= set(SHARED)]
    assert len(twice) <= TWICE, twice


def test_a_fact_has_its_page() -> None:
    """What a pattern stands for is on its pages only; others link to them."""
    elsewhere = [
        (pattern, page)
        for pattern, allowed in FACTS.items()
        for page, text in HAND.items()
        if re.search(pattern, " ".join(text.split())) and page not in allowed.split()
    ]
    assert len(elsewhere) <= ELSEWHERE, elsewhere
