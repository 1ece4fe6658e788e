"""Other people's data, which isn't in this repository: real documents, the network's rules and its code lists.

FILEDROP_CORPUS names the folder that has all three (CONTRIBUTING.md, "Other people's data"). Without it, the tests that
need it are skipped, and the run says how many (`told`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(os.environ.get("FILEDROP_CORPUS", "")).absolute()
CORPUS = FOLDER / "corpus"
DOCUMENTS = CORPUS / "documents"
RULES = FOLDER / "rules" / "2026.5"
CODELISTS = FOLDER / "codelists"
IS_THERE = DOCUMENTS.is_dir() and RULES.is_dir() and CODELISTS.is_dir()
REASON = "needs the folder FILEDROP_CORPUS"
needs_corpus = pytest.mark.skipif(not IS_THERE, reason=REASON)


def told(skipped: Iterable[pytest.TestReport]) -> str:
    """How many of a run's skipped tests needed the folder, "" for none."""
    count = sum(REASON in str(report.longrepr) for report in skipped)
    if not count:
        return ""
    return f'Left out: {count} tests that need FILEDROP_CORPUS (CONTRIBUTING.md, "Other people\'s data").'
