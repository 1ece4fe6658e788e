"""Real documents of public repositories, read where FILEDROP_CORPUS has them: none of them is part of the project."""

from __future__ import annotations

import csv
from functools import cache

import pytest
from support.corpus import CORPUS, DOCUMENTS, needs_corpus

from filedrop.errors import DocumentError
from filedrop.identify import Identity, identify, read, wire

FIELDS = ("sender", "receiver", "document_id", "process_id")
pytestmark = needs_corpus

EXCEPTIONS = {
    # Expected is ...::2.1, but the code list has this customization as 2.2 (active) and as 2.1 ("deprecated" since 7.3,
    # TICC-129); contract 3: "the version by the code list for that customization".
    ("phax+ddd/src/test/resources/external/ubl2-order/unknown/Order_Example-ehf-unknownProcessID.xml", "document_id"),
}


def expected() -> list[dict[str, str]]:
    with (CORPUS / "expected.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def identity_of(file: str) -> Identity:
    with (DOCUMENTS / file).open("rb") as opened:
        return identify(read(opened))


@pytest.mark.parametrize("evidence", ["independent", "two rule sets agree", "one rule set"])
def test_ids(evidence: str) -> None:
    """Every id that a real document states is found, and none is made up; each exception has its reason."""
    rows = [row for row in expected() if row["evidence"] == evidence]
    assert rows
    wrong = {
        (row["file"], field): (getattr(identity_of(row["file"]), field) or "", row[field])
        for row in rows
        for field in row["scored"].split()
        if (getattr(identity_of(row["file"]), field) or "") != row[field]
    }
    assert set(wrong) == (EXCEPTIONS if evidence == "one rule set" else set()), wrong


def test_sources() -> None:
    """Every id that is found has a source, and no id that isn't."""
    for row in expected():
        identity = identity_of(row["file"])
        assert set(identity.sources) == {field for field in FIELDS if getattr(identity, field)}, row["file"]


def test_wire() -> None:
    """Every real document goes on the wire as long as announced, and means the same there."""
    for row in expected():
        with (DOCUMENTS / row["file"]).open("rb") as file:
            reading = read(file)
            file.seek(0)
            assert sum(map(len, wire(file, reading))) == reading.wire_size, row["file"]


def test_malformed() -> None:
    """Every real file that is not XML is answered with the line and column of its fault."""
    files = list((CORPUS / "malformed").iterdir())
    assert files
    for path in files:
        with path.open("rb") as file, pytest.raises(DocumentError, match=r"^Line \d+, column \d+: ") as caught:
            read(file)
        assert caught.value.code == "not-xml"
