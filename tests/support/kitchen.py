"""Recipes of the manual, tried: a daemon serves a recipe's configuration, and documents are dropped for it.

A recipe is a YAML block of docs/receivers.md or docs/systems.md, with the tables that it needs. What is dropped is
accepted by the access point with the ids that the page promises, each from the source that it should come from; and so
is what the recipe must not touch.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER
from support.world import World

if TYPE_CHECKING:
    from pathlib import Path

FJORD = "0192:123456785"
OTHER = "0088:7300010000001"
IDS = ("sender", "receiver", "document_id", "process_id", "channel")
ACME = "root/acme/outbound"


class Drop(NamedTuple):
    """A dropped document, and what comes out: each id with its source, and the error code if it fails."""

    name: str
    content: bytes
    ids: dict[str, tuple[str | None, str | None]]
    error: str | None = None
    folder: str = ACME


class Situation(NamedTuple):
    """The documents that a situation is for, and those that it must leave alone."""

    meant: tuple[Drop, ...]
    others: tuple[Drop, ...]


def billed(**ids: tuple[str | None, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """The ids of an invoice of `documents`, all from the document, but for those given."""
    return {
        "sender": (SELLER, "document"),
        "receiver": (BUYER, "document"),
        "document_id": (INVOICE_ID, "document"),
        "process_id": (BILLING_PROCESS, "document"),
        "channel": ("", None),
        **ids,
    }


class Kitchen(World):
    """A world that is configured as a recipe says; acme is one of its companies, and fjord another.

    What the page has below /srv is below the world's `base`.
    """

    def __init__(self, base: Path, written: str, tables: dict[str, str]) -> None:
        outbound = {key: json.dumps(value) for key, value in yaml.safe_load(written).get("outbound", {}).items()}
        super().__init__(base, companies={"fjord": f'{{participants: ["{FJORD}"]}}'}, outbound=outbound)
        self._written = re.sub(r"^outbound:(\n .*)*\n", "", written, flags=re.MULTILINE)
        for name, content in tables.items():
            (base / name).write_text(content, "utf-8")
        self.sandbox.store.connect({SELLER: "acme", FJORD: "acme", BUYER: "buyer"})

    def config_text(self) -> str:
        """The world's own configuration, with what the recipe says in its place or below it."""
        text = super().config_text()
        if "companies:" in self._written:
            text = re.sub(r"^companies:(\n .*)*", "", text, flags=re.MULTILINE)
        return text + self._written.replace("/srv/", f"{self.base.as_posix()}/")

    def sidecars(self) -> dict[str, dict[str, Any]]:
        """What is written beside each document, by the name of its file."""
        found = [json.loads(path.read_bytes()) for path in self.base.rglob("*.[xX][mM][lL].json")]
        return {sidecar["file"]: sidecar for sidecar in found}

    def try_out(self, situation: Situation) -> None:
        """Drop the documents of a situation, and compare what is sent, and what fails, with what it promises."""
        assert situation.meant
        assert situation.others
        drops = (*situation.meant, *situation.others)
        for drop in drops:
            (self.base / drop.folder).mkdir(parents=True, exist_ok=True)
            self.put(self.base / drop.folder / drop.name, drop.content)
        self.run_once()
        sidecars = self.sidecars()
        accepted = {message.msg_no: message for message in self.sandbox.store.sent("acme")}
        for drop in drops:
            sidecar = sidecars.pop(drop.name)
            assert {name: (sidecar[name], sidecar["sources"].get(name)) for name in IDS} == drop.ids, drop.name
            assert sidecar.get("error", {}).get("code") == drop.error, drop.name
            if drop.error is None:
                message = accepted.pop(sidecar["msg_no"])
                assert {name: getattr(message, name) for name in IDS} == {name: sidecar[name] for name in IDS}
        assert (sidecars, accepted) == ({}, {})


def changed(document: bytes, old: str, new: str) -> bytes:
    """The document with something written otherwise."""
    text = document.decode()
    assert text.count(old) == 1, old
    return text.replace(old, new).encode()
