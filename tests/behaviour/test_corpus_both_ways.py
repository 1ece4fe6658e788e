"""Sixty real documents each way, through folders and sockets: the main job as a whole."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.corpus import CORPUS, DOCUMENTS, needs_corpus
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER
from support.world import World

if TYPE_CHECKING:
    from filedrop.daemon.daemon import Daemon

IDS = ("sender", "receiver", "document_id", "process_id")
pytestmark = needs_corpus


def chosen(count: int) -> dict[str, dict[str, str]]:
    """So many real documents of different content, by file, with the ids they must be sent with.

    Each document type of each repository comes first, so that these few are as different as they can be.
    """
    with (CORPUS / "expected.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if _can_be_sent(row) and row["evidence"] != "one rule set"]
    seen: dict[tuple[str, str], int] = {}
    found: dict[str, dict[str, str]] = {}
    contents = set()
    for row in sorted(rows, key=lambda row: row["file"]):
        meaning = ET.canonicalize(from_file=str(DOCUMENTS / row["file"]), strip_text=True)
        if meaning not in contents:
            contents.add(meaning)
            kind = row["file"].partition("/")[0], row["root_local"]
            seen[kind] = seen.get(kind, 0) + 1
            found[row["file"]] = row | {"nth": str(seen[kind])}
    first = sorted(found, key=lambda file: (int(found[file]["nth"]), file))[:count]
    return {file: found[file] for file in first}


def _can_be_sent(row: dict[str, str]) -> bool:
    """All four ids are stated, the process is a URN (interface, Participant and document identification 3)."""
    all_ids = set(IDS) <= set(row["scored"].split()) and all(row[field] for field in IDS)
    return all_ids and row["process_id"].startswith("urn:") and row["receiver"] != SELLER  # who only receives here


def write_in_place(world: World, service: Daemon, documents: dict[str, bytes]) -> None:
    """Write each file in two pieces where it lies, the second after the daemon has looked at the first."""
    seen = service.accounts[0].pipelines[0].scanner.seen
    for name, content in documents.items():
        (world.outbound / name).write_bytes(content[: len(content) // 2])
    world.until(lambda: documents.keys() <= seen.keys(), 120, what="the daemon has looked at the unfinished files")
    for name, content in documents.items():
        with (world.outbound / name).open("ab") as file:
            file.write(content[len(content) // 2 :])
        world.dropped[name] = content


@pytest.mark.slow
@pytest.mark.parametrize("quirks", [False, True], ids=["as documented", "as in the field"])
def test_sixty_documents_each_way(tmp_path: Path, quirks: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """However they are written, all are sent once with the right ids and end in the archive, and all messages arrive.

    In the field, twenty-five messages that nobody can take stand before them in an inbox that shows only twenty-five.
    """
    documents = chosen(60)
    assert len(documents) == 60
    names = {f"{number:02}-{Path(file).name}": file for number, file in enumerate(documents)}
    contents = {name: (DOCUMENTS / file).read_bytes() for name, file in names.items()}
    companies = {"acme": "{participants: []}", "fjord": f'{{participants: ["{SELLER}"]}}'}
    with World(tmp_path, quirks=quirks, companies=companies) as world:
        world.inbound = world.root / "fjord" / "inbound"
        receivers = {row["receiver"].lower(): "buyer" for row in documents.values()}
        world.sandbox.store.connect(receivers | {SELLER: "acme", BUYER: "buyer"})
        stuck = [receive_nonsense(world) for _ in range(25)] if quirks else []
        for content in contents.values():
            world.receive(content)
        with world.service(watch=True) as service:
            in_place = dict(list(contents.items())[::2])
            for name in contents.keys() - in_place.keys():
                world.drop(name, contents[name])
            write_in_place(world, service, in_place)
            world.until(lambda: finished(world, stuck), 120, what="every document is archived, every message taken")
            assert sum(service.accounts[0].poller.summary.stuck.values()) == len(stuck)
        world.invariants()
        for name, file in names.items():
            sidecar = world.sidecar(name)
            assert {key: sidecar[key] for key in IDS} == {key: documents[file][key] for key in IDS}
        assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == stuck


def receive_nonsense(world: World) -> int:
    return world.sandbox.store.receive(
        sender=BUYER, receiver=SELLER, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=b"Dear Sirs,"
    )


def finished(world: World, stuck: list[int]) -> bool:
    unread = {message.msg_no for message in world.sandbox.store.inbox("acme")}
    archived = sum(place.startswith("archive/") for place in world.places().values())
    return unread == set(stuck) and archived == len(world.dropped)
