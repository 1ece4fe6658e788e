"""`filedrop identify`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World

KEYS = {"file", "sender", "receiver", "document_id", "process_id", "channel", "sources", "warnings", "error"}


def test_without_a_configuration(filedrop: Filedrop, tmp_path: Path) -> None:
    """Identify needs no configuration: the ids of a file and where each comes from, one object a line."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    done = filedrop("identify", file, "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told.keys() == KEYS
    assert (told["file"], told["sender"], told["receiver"]) == (str(file), SELLER, BUYER)
    assert (told["document_id"], told["process_id"]) == (INVOICE_ID, BILLING_PROCESS)
    assert told["sources"] == dict.fromkeys(("sender", "receiver", "document_id", "process_id"), "document")
    assert told["error"] is None
    assert f"sender       {SELLER}  (document)" in filedrop("identify", file).stdout


def test_what_is_missing(filedrop: Filedrop, tmp_path: Path) -> None:
    """Each file has its line, a missing id is null, and status 1 says that one lacks an id or can't be read."""
    files = {"fine.xml": invoice(), "nobody.xml": invoice(receiver=None), "text.xml": b"no XML"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    done = filedrop("identify", "--json", *(tmp_path / name for name in files), tmp_path / "none.xml", tmp_path)
    assert done.returncode == 1
    told = list(map(json.loads, done.stdout.splitlines()))
    assert [one["error"] and one["error"]["code"] for one in told] == [
        None, "no-receiver", "not-xml", "unreadable", "unreadable",
    ]  # fmt: skip
    assert told[1]["receiver"] is None
    assert told[1]["sender"] == SELLER


def test_by_the_configuration(filedrop: Filedrop, world: World) -> None:
    """A file inside a company's outbound folder is identified as that company's."""
    world.drop("invoice.xml", invoice(sender=None))
    told = json.loads(filedrop("identify", world.outbound / "invoice.xml", "--json").stdout)
    assert (told["sender"], told["sources"]["sender"]) == (SELLER, "company")
    outside = world.base / "outside.xml"
    outside.write_bytes(invoice(sender=None))
    assert json.loads(filedrop("identify", outside, "--json").stdout)["error"]["code"] == "no-sender"
