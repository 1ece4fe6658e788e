"""Ids that the Peppol code lists have given up or don't know, and numbers of a wrong form: a warning, no refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.codelists import PROCESSES, publish
from support.commands import ask
from support.documents import BUYER, SELLER, invoice

from filedrop.config.codelists import FORMER_COUNTS
from filedrop.identify import codelist

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

XRECHNUNG = "urn:cen.eu:en16931:2017#compliant#urn:xoev-de:kosit:standard:xrechnung_"
PEPPOL4A = "urn:www.cenbii.eu:transaction:biitrns010:ver2.0:extended:urn:www.peppol.eu:bis:peppol4a:ver2.0"
DOUBTFUL = {  # receiver, customization, process -> what is said
    "removed document.xml": ({"customization": f"{XRECHNUNG}1.3"}, "code list has removed this document type"),
    "deprecated document.xml": ({"customization": PEPPOL4A}, "code list has deprecated this document type"),
    "removed process.xml": ({"process": "urn:peppol:bis:taxreporting"}, "code list has removed this process"),
    "deprecated process.xml": ({"process": "urn:www.cenbii.eu:profile:bii04:ver2.0"}, "has deprecated this process"),
    "removed scheme.xml": ({"receiver": "9908:810418052"}, "removed the scheme 9908 (NO:ORGNR); use 0192 instead"),
    "removed scheme with a date.xml": (
        {"receiver": "0193:whoever"},
        "removed the scheme 0193 (UBLBE); use 0208 instead (removed on 7 July 2026)",
    ),
    "xrechnung 2.1.xml": ({"customization": f"{XRECHNUNG}2.1"}, "this document type (removed on 1 August 2026)"),
    "unlisted scheme.xml": ({"receiver": "0299:whoever"}, "scheme 0299 is not in the Peppol code list"),
    "check digit.xml": ({"receiver": "0192:810418053"}, "receiver 0192:810418053: the check digit does not fit"),
    "form.xml": ({"receiver": "0208:BE0123456749"}, "it doesn't have the form of the scheme 0208 (BE:EN)"),
    "form without a rule.xml": ({"receiver": "9930:DE1234"}, "it doesn't have the form of the scheme 9930 (DE:VAT)"),
    "unlisted document.xml": ({"customization": "urn:ours"}, "document_id: no code list knows this document type"),
    "fine.xml": ({"receiver": "0088:7300010000001"}, None),
}


def test_doubtful_ids(make_world: Callable[..., World]) -> None:
    """`check` and the sidecar say of each what is doubtful about it, the same, and every document is sent."""
    world = make_world(outbound={"directory": "off"})
    world.sandbox.store.connect(
        {SELLER: "acme"} | {changes.get("receiver", BUYER): "buyer" for changes, _ in DOUBTFUL.values()}
    )
    for number, (name, (changes, _)) in enumerate(DOUBTFUL.items()):
        world.drop(name, invoice(str(number), **changes))  # type: ignore[arg-type] # each is a text
    done = world.filedrop("check", "--offline", "--json", *(str(world.outbound / name) for name in DOUBTFUL))
    assert done.returncode == 0, done.stdout
    told = dict(zip(DOUBTFUL, json.loads(done.stdout)["documents"], strict=True))
    world.settle(ends=("archive",))
    for name, (_, warning) in DOUBTFUL.items():
        assert [True] * (warning is not None) == [str(warning) in one for one in told[name]["warnings"]]
        assert world.sidecar(name)["warnings"] == told[name]["warnings"]
    world.invariants()


def test_named_code_list(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A daemon whose configuration names a code list warns by this list."""
    publish(tmp_path / "lists")
    world = make_world(outbound={"directory": "off"}, more=f"codelists: {tmp_path / 'lists'}")
    world.drop("invoice.xml", invoice())
    try:
        world.settle(ends=("archive",))
    finally:
        codelist.use(None)
    assert "removed the scheme 0192 (NO:ORG); use 0999 instead" in "".join(world.sidecar("invoice.xml")["warnings"])


def test_code_list_that_is_missing(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Without the named list, filedrop sends by its own, and status and check say so. A reload keeps a list."""
    lists = tmp_path / "lists"
    world = make_world(outbound={"directory": "off"}, more=f"codelists: {lists}")
    world.drop("first.xml", invoice("1"))
    with world.daemon() as daemon:
        world.until(lambda: world.accepted()["first.xml"])
        world.until(lambda: f"codelists: {lists} can't be read" in ask(world, "status").output)
        checked = ask(world, "check")
        assert (checked.status, "the code list in filedrop counts" in checked.output) == (2, True)
        publish(lists)
        assert ask(world, "reload").status == 0
        world.until(lambda: "codelists" not in ask(world, "status").output)
        (lists / PROCESSES).unlink()
        world.more += "\nlanguage: de"
        done = ask(world, "reload")
        assert (done.status, "has no *processes*.json" in done.output, FORMER_COUNTS in done.output) == (0, True, True)
        assert "has no *processes*.json" in ask(world, "status").output
        world.drop("second.xml", invoice("2"))
        world.until(lambda: world.accepted()["second.xml"])
        world.stop(daemon)
    first, second = ("".join(world.sidecar(name)["warnings"]) for name in ("first.xml", "second.xml"))
    assert ("0192" in first, "removed the scheme 0192 (NO:ORG)" in second) == (False, True)
