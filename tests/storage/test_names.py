"""Names that are kept without being kept, and names that filedrop may have given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filedrop.storage.names import (
    Names,
    attachment_name,
    matcher,
    may_be_given,
    may_be_renamed,
    names_document,
    numbered,
    shortened,
)

letters = st.text(st.sampled_from("ab.é漢😀-29 \udce5"), min_size=1, max_size=20)
tails = st.builds(str.__mul__, letters, st.sampled_from([1, 1, 20, 260]))


def test_names() -> None:
    """A name is among them or isn't, however many they are, in whatever encoding they came."""
    names = [f"invoice-{number}.xml" for number in range(1000)] + ["faktura-\udce5.xml"]
    kept = Names(iter(names))
    assert all(name in kept for name in names)
    assert not any(f"{name}.json" in kept for name in names)
    assert "invoice" not in Names([])


@pytest.mark.parametrize(
    "added",
    [
        " (conflicted copy 2026-11-27 101500)",  # Nextcloud
        " (conflicted copy anna 2026-11-27 101500)",
        " (Anna (PC)'s conflicted copy 2026-11-27)",  # Dropbox
        " (Anna's conflicted copy)",
        " (Annas in Konflikt stehende Kopie 2026-11-27)",  # Dropbox in German, French, Spanish, Dutch, Finnish
        " (In Konflikt stehende Kopie von PC-ANNA 2026-11-27)",
        " (Copie en conflit de PC-ANNA 2026-11-27)",
        " (Copia en conflicto de Anna 2026-11-27)",
        " (conflicterende kopie van Anna 2026-11-27)",
        " (Annas ristiriitainen kopio 2026-11-27)",
        " (Annas motstridende kopi 2026-11-27)",
        " (SFConflict anna@example.com 2026-11-27-10-15-28)",  # Seafile
        " (Conflict anna 2026-11-27 10-15-28)",  # ownCloud
        "_NAS_Nov-27-101528-2026_Conflict",  # Synology
        "_conflict-20261127-101500",  # ownCloud, and Nextcloud in older versions
        "_conflict_anna-20261127-101500",
        ".sync-conflict-20261127-101500-ABCDEF7",  # Syncthing
    ],
)
def test_conflict_copy(added: str) -> None:
    """A name of a version that lost a conflict is no document's."""
    assert not names_document(f"invoice-1{added}.xml")


@pytest.mark.parametrize(
    "added",
    [
        " (Conflicted Copyright Ltd)",
        " (conflicted copying fee)",
        "_conflict-1",
        " conflicted copy",
        " (2)",
        " (Konflikt Kopiering AS)",
        " (Conflict Ltd)",
        " (2026-11-27)",
        " (Kopi 2026-11-27)",
    ],
)
def test_name_like_a_conflict_copy(added: str) -> None:
    """A name that only has similar words is a document's."""
    assert names_document(f"invoice-1{added}.xml")


@given(st.builds(str.__add__, letters, tails), st.integers(min_value=1, max_value=10**6))
def test_a_name_that_filedrop_may_have_given(dropped_as: str, number: int) -> None:
    """A numbered or shortened name is never taken for the file's own: it is asked which that is."""
    for name in (shortened(dropped_as), numbered(shortened(dropped_as), number)):
        if name != dropped_as and names_document(name) and may_be_given(name, dropped_as):
            assert may_be_renamed(name)


def test_a_name_that_is_certainly_its_files_own() -> None:
    """Of a name without a number at its end, nobody need be asked whether filedrop has given it."""
    assert not any(map(may_be_renamed, ("invoice.xml", "INV-1.xml", "20261124.xml", "order-007.xml", "x")))
    assert may_be_renamed("invoice-2.xml")


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("M\u00fcller-*.xml", "Mu\u0308ller-1.XML"),
        ("Mu\u0308ller-*.xml", "M\u00fcller-1.xml"),
        ("M?ller-*.xml", "Mu\u0308ller-1.xml"),
        ("M??ller-*.xml", "Mu\u0308ller-1.xml"),
    ],
)
def test_matcher_of_letters_in_two_forms(pattern: str, name: str) -> None:
    """A pattern matches a name as both are written, or as both are with composed letters."""
    assert matcher(["*.csv", pattern])(name)
    assert not matcher(["*.csv", pattern])("Muller-1.xml.csv~")


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("\u00c5rsrapport.pdf", "Arsrapport"),
        ("Mu\u0308ller\u00a0\u2013 Rechnung.pdf", "Muller_Rechnung"),
        ("xa012\u00a0mars.pdf", "xa012_mars"),
        ("Bl\u00e5b\u00e6r \u00f8l stra\u00dfe.pdf", "Blabaer_ol_strasse"),
        ("C:\\scans\\a.pdf", "a"),
    ],
)
def test_attachment_name_of_other_letters(stated: str, name: str) -> None:
    """What a sender called a file stays readable: letters lose their marks, blanks of any kind are one underscore."""
    assert attachment_name("in.xml", 1, stated, ".pdf") == f"in-1-{name}.pdf"
