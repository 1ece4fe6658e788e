"""The data files are what the published code lists say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from filedrop.identify import codelist
from filedrop.identify.codelists import make

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "codelists"
OURS = Path(make.__file__).parent


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"the published code lists are not there: {PUBLISHED}")
def test_made(tmp_path: Path) -> None:
    """The files in the project are what the script makes of the published lists."""
    make.main(PUBLISHED, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (OURS / path.name).read_bytes()


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"the published code lists are not there: {PUBLISHED}")
def test_complete() -> None:
    """Every published document type is known by its id, with its processes and its best state."""
    published = json.loads((PUBLISHED / "document-types.json").read_text(encoding="utf-8"))["values"]
    for entry in published:
        known = codelist.document_entry(entry["value"])
        assert known is not None, entry["value"]
        assert entry["state"] == known.state or known.state == "active"


def test_roles() -> None:
    """Every document type has exactly one row without a condition, and it comes last."""
    for document, rows in codelist._roles().items():
        assert [row.customization for row in rows].index("") == len(rows) - 1, document


@pytest.mark.parametrize(
    ("name", "code"), [("NO:ORGNR", "0192"), ("GLN", "0088"), ("DE:LID", "0204"), ("nl:oin", "0190"), ("EM", None)]
)
def test_scheme_names(name: str, code: str | None) -> None:
    """A scheme's name becomes its code, or the one that the list says to use instead."""
    assert codelist.scheme_code(name) == code
