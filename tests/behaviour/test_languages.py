"""What accountants read is in the language of their company; everything else is in English."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from support.documents import SELLER, invoice

from filedrop.storage.sidecar import RULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

FRENCH = f'{{participants: ["{SELLER}"], language: fr}}'


def test_note_in_a_companys_language(make_world: Callable[..., World]) -> None:
    """A note is in the language of its company, except for its first line and what is for the administrator."""
    world = make_world(outbound={"incomplete_after": "0s"}, companies={"acme": FRENCH}, more="language: de")
    world.drop("bad.xml", b"")
    world.run_once()
    note = (world.outbound / "failed" / "bad.xml.why.txt").read_text("utf-8")
    accountants, _, administrators = note.partition(RULE)
    assert accountants.startswith("bad.xml was not sent.\nbad.xml n\u2019a pas été envoyé.\n\nLe fichier est vide.\n")
    assert "\nCe que vous pouvez faire\xa0:\n" in accountants
    assert administrators.startswith("\nPour votre administrateur (en anglais)\n")
    assert "To try again, run:" in administrators
    assert world.error("bad.xml") == "not-xml"


def test_note_names_its_document(make_world: Callable[..., World]) -> None:
    """A note names the document by kind and number, and by the name of its receiver, as accountants know it."""
    world = make_world(companies={"acme": FRENCH})
    world.drop("export-17.xml", invoice("1004", receiver=None))
    world.run_once()
    note = (world.outbound / "failed" / "export-17.xml.why.txt").read_text("utf-8")
    assert note.splitlines()[1:4] == [
        "export-17.xml n\u2019a pas \u00e9t\u00e9 envoy\u00e9.",
        "Facture 1004, Kj\u00f8per Kommune",
        "",
    ]


def test_sidecar_stays_english(make_world: Callable[..., World]) -> None:
    """Programs read the same sidecar in each language."""
    world = make_world(outbound={"incomplete_after": "0s"}, more="language: nb")
    world.drop("bad.xml", b"")
    world.run_once()
    sidecar = json.loads((world.outbound / "failed" / "bad.xml.json").read_text("utf-8"))
    assert sidecar["error"]["message"] == "The file is empty."


def test_page_of_a_company(make_world: Callable[..., World]) -> None:
    """A company's page is in its language, with its dates; the page for all is English."""
    world = make_world(outbound={"incomplete_after": "0s"}, companies={"acme": FRENCH})
    world.drop("fine.xml", invoice("2"))
    world.drop("bad.xml", b"")
    with world.daemon():
        page, whole = world.root / "acme" / "STATUS.html", world.root / "STATUS.html"
        world.until(lambda: page.exists() and "Facture 2" in page.read_text("utf-8"))
        world.until(lambda: "1 en \u00e9chec" in page.read_text("utf-8"))
        text, english = page.read_text("utf-8"), whole.read_text("utf-8")
    assert '<html lang="fr">' in text
    assert re.search(r"<h1>\u00c0 traiter\xa0: 1 document\.</h1>", text)
    assert re.search(r"Mis \u00e0 jour le <time [^>]*>\d+ [^ ]+ \d{4} \u00e0 \d\d:\d\d</time>\.", text)
    assert "Le fichier est vide." in text
    assert 'href="outbound/failed/bad.xml.why.txt">Lire la note</a>' in text
    said = text.partition("<details")[0]  # the page for accountants names folders
    assert not re.search(r"administrator|failed<|Needs attention|Everything|delivered<", said)
    assert '<html lang="en">' in english
    assert "1 document needs attention." in english
