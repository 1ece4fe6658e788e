"""The data files are what the published code lists say."""

from __future__ import annotations

import json
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from support import codelists as make
from support.commands import run_here
from support.configuration import BASE
from support.corpus import CODELISTS, needs_corpus
from support.documents import BUYER, SELLER, invoice

from filedrop.identify import codelist, participants

if TYPE_CHECKING:
    from pathlib import Path

OURS = make.OURS


@needs_corpus
def test_made(tmp_path: Path) -> None:
    """The files in the project are what the published lists come to, as they would in a folder of `codelists`."""
    source = tmp_path / "published"
    source.mkdir()
    for path in CODELISTS.glob("*.json"):
        (source / path.name).write_bytes(path.read_bytes())
    (source / "changelog.html").write_text("<h3>v9.7 - 2026-07-02</h3>")
    target = tmp_path / "made"
    target.mkdir()
    make.main(source, target)
    assert sorted(path.name for path in target.iterdir()) == ["documents.json", "processes.json", "schemes.json"]
    for path in target.iterdir():
        assert path.read_bytes() == (OURS / path.name).read_bytes()


@needs_corpus
def test_complete() -> None:
    """Every published document type is known by its id, with its processes and its best state."""
    published = json.loads((CODELISTS / "document-types.json").read_text(encoding="utf-8"))["values"]
    for entry in published:
        known = codelist.document_entry(entry["value"])
        assert known is not None, entry["value"]
        assert entry["state"] == known.state or known.state == "active"


@needs_corpus
def test_examples() -> None:
    """What the list itself gives as examples of an active scheme are participants without a doubt."""
    for entry in json.loads((CODELISTS / "participant-identifier-schemes.json").read_text(encoding="utf-8"))["values"]:
        examples = entry.get("examples", "").split("\n") if entry["state"] == "active" else []
        for example in {*examples} - {"", "ATU12345678"}:  # which is made up
            assert not participants.doubts("sender", f"{entry['iso6523']}:{example.replace(' ', '')}")


def test_a_named_list(tmp_path: Path) -> None:
    """A code list that the configuration names counts instead of ours: its ids are found, and its words are said."""
    make.publish(tmp_path / "lists", published="2026-10-05")
    config = tmp_path / "config.yaml"
    config.write_text(BASE + "codelists: lists\n")
    document = tmp_path / "invoice.xml"
    document.write_bytes(invoice(process="").replace(b'schemeID="0192">987654325', b'schemeID="NO:ORG">987654325'))
    done = run_here("--config", str(config), "check", "--offline", "--json", str(document))
    (told,) = json.loads(done.stdout)["documents"]
    assert codelist.edition().version == "10.0"
    assert (told["sender"], told["receiver"]) == (SELLER.replace("0192", "0999"), BUYER)
    assert (told["document_id"], told["process_id"]) == (f"{make.BILLING_TYPE}::2.5", "urn:ours:billing:2")
    assert told["warnings"] == [
        f"receiver {BUYER}: the Peppol code list has removed the scheme 0192 (NO:ORG); use 0999 instead",
        "process_id: the Peppol code list has deprecated this process",
    ]
    config.write_text(BASE)
    run_here("--config", str(config), "check", "--offline", str(document))
    assert codelist.edition().version == "9.7"


def test_roles() -> None:
    """Every document type has exactly one row without a condition, and it comes last."""
    for document, rows in codelist._roles().items():
        assert [row.fit("", "") for row in rows] == [False] * (len(rows) - 1) + [True], document


def test_checks() -> None:
    """Every scheme with check digits is listed, and python-stdnum knows how to check them."""
    for code, checks in ((row["scheme"], row["checks"].split()) for row in codelist._rows("checks")):
        assert codelist.scheme(code) is not None
        for check in checks:
            assert import_module(f"stdnum.{check}").is_valid


@pytest.mark.parametrize(
    ("name", "code"), [("NO:ORGNR", "0192"), ("GLN", "0088"), ("DE:LID", "0204"), ("nl:oin", "0190"), ("EM", None)]
)
def test_scheme_names(name: str, code: str | None) -> None:
    """A scheme's name becomes its code, or the one that the list says to use instead."""
    assert codelist.scheme_code(name) == code


@pytest.mark.parametrize(
    ("today", "done", "when"),
    [
        (date(2026, 7, 6), "deprecated", " (it will be removed on 7 July 2026)"),
        (date(2026, 7, 7), "removed", " (removed on 7 July 2026)"),
    ],
)
def test_day_of_removal(today: date, done: str, when: str) -> None:
    """What a list calls deprecated is removed from its day of removal on, whatever the list's age."""
    scheme = codelist.scheme("0193")
    assert scheme is not None
    assert scheme.state == "deprecated"
    assert codelist.fate(scheme, today) == (done, when)


def test_age_of_the_list() -> None:
    """A list is old nine months after its publication, and names its version and that day."""
    edition = codelist.edition()
    assert str(edition) == "9.7 of 2 July 2026"
    assert not edition.is_old(date(2027, 4, 2))
    assert edition.is_old(date(2027, 4, 3))
