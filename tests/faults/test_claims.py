"""What somebody who may write into one company's folders makes up there: sidecars and markers are claims, not facts.

Acme's folders are the neighbour's to write in, fjord's are not; both companies send by one account.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask
from support.documents import invoice
from support.faults import answered, cut_after
from support.matrix import quick

from filedrop import identify
from filedrop.model.document import State
from filedrop.status.status_file import StatusFile
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Exchange
    from support.world import World

    from filedrop.daemon.daemon import Daemon

FJORD = "0192:123456785"
MOST = 2**53 - 1


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world with a second company, fjord, which filedrop has served before; acme has sent an invoice."""
    world = make_world(companies={"fjord": f'{{participants: ["{FJORD}"]}}'}, outbound={"rescan": "100ms"})
    world.put(world.outbound / "template.xml", invoice("template"))
    with world.service():
        world.until(lambda: [*world.outbound.glob("archive/*/template.xml.json")])
    return world


def fjord(world: World) -> Path:
    return world.root / "fjord" / "outbound"


def lies(folder: Path, name: str) -> str:
    """Where this document lies below an outbound folder; "" where it doesn't."""
    return " + ".join(path.parent.relative_to(folder).as_posix() for path in folder.rglob(name))


def elsewhere(world: World) -> set[Path]:
    """What lies below the root but for acme's outbound folder."""
    return {path for path in world.root.rglob("*") if not path.is_relative_to(world.outbound)}


def template(world: World) -> dict[str, Any]:
    """A sidecar of acme's, as it was written."""
    (beside,) = world.outbound.glob("archive/*/template.xml.json")
    content: dict[str, Any] = json.loads(beside.read_bytes())
    return content


def forge(world: World, name: str, place: str = "", **changes: object) -> None:
    """Lay a document with a sidecar into acme's archive, or another place; `changes` are what the sidecar says else."""
    folder = world.outbound / (place or f"archive/{template(world)['delivered'][:7]}")
    content = template(world) | {"id": f"01JD{len(list(folder.iterdir())):022}", "file": name} | changes
    (folder / name).write_bytes(invoice(name))
    (folder / f"{name}.json").write_text(json.dumps(content))


def outdate(world: World, changes: int = 1000) -> None:
    """Have acme's marker say that the journal is older than the folder: so its sidecars are read."""
    marker = world.outbound / MARKER
    content = json.loads(marker.read_bytes())
    marker.write_text(json.dumps(content | {"changes": changes}))


def report(service: Daemon) -> None:
    """Have the daemon in this process write its status.json, as it does every few seconds."""
    StatusFile(service.config, service.journal, service._log).close(service.report())


WRONG: dict[str, object] = {
    "delivered": 5, "received": 5.5, "uuid": [], "msg_no": 10**30, "size": -1, "sha256": None, "meaning": {},
    "sender": 7, "receiver": "\ud800", "document_id": True, "channel": 1, "sources": ["document"], "warnings": 3,
    "document": [1], "state": ["sent"], "identity": 1, "account": 1, "error": 5, "history": {"at": 1},
    "claimed": "2026-11-20T12:00:00", "id": "../../../fjord/inbound/x", "dropped_as": "../../fjord/outbound/evil.xml",
}  # fmt: skip
ALSO_WRONG: list[dict[str, object]] = [
    {"claimed": "0001-01-01T00:00:00+00:00"}, {"claimed": "9999-12-31T23:59:59-23:59"}, {"size": 1e400},
    {"msg_no": True}, {"msg_no": "7"}, {"dropped_as": "x" * 900_000}, {"dropped_as": ".."}, {"dropped_as": "\udfff"},
    {"history": [{"at": "0001-01-01T00:00:00+00:00", "event": "accepted", "msg_no": 1}]}, {"history": [5]},
    {"history": [{"at": "2026-11-20T12:00:00+00:00", "event": "accepted", "msg_no": [10**40]}]},
    {"id": "\ud800"},
    {"error": {"code": 1, "message": None}}, {"document": {"number": 10**30}}, {"file": "../../../fjord/outbound/x"},
]  # fmt: skip


def test_sidecars_of_wrong_types(world: World) -> None:
    """Whatever a sidecar says that no sidecar of ours can, the company goes on, and nothing is written elsewhere."""
    before = elsewhere(world)
    for number, changes in enumerate([*({key: value} for key, value in WRONG.items()), *ALSO_WRONG]):
        forge(world, f"forged-{number}.xml", **changes)
        forge(world, f"forged-{number}.xml", "sent", **({"state": "sent"} | changes))
    outdate(world)
    world.put(world.outbound / "invoice.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: lies(world.outbound, "invoice.xml").startswith("archive/"))
        world.compared(service.accounts[0].pipelines[0])
        assert not service.accounts[0].pipelines[0].health.unreconciled
    assert not [line for line in world.log() if line["event"] == "work.failed"]
    assert elsewhere(world) == before


def claim_and_restore(world: World, sidecars: list[dict[str, object]]) -> None:
    """Have these sidecars lie in acme's archive, and a filedrop read them because the marker says so."""
    for number, changes in enumerate(sidecars):
        forge(world, f"forged-{number}.xml", **changes)
    outdate(world)
    with world.service() as service:
        pipeline = next(
            pipeline for pipeline in service.accounts[0].pipelines if pipeline.folder.path == world.outbound
        )
        world.until(lambda: pipeline.health.outdated and service.journal.folders.is_settled(pipeline.folder.id))


def invoices_of_fjord(world: World) -> int:
    """How often an invoice of fjord was accepted."""
    store = world.sandbox.store
    return sum(FJORD[5:].encode() in store.content(message.msg_no) for message in store.sent("acme"))


@pytest.mark.parametrize("answer", [answered, cut_after], ids=["answered", "answer lost"])
def test_numbers_that_sidecars_claim(world: World, answer: Callable[[Exchange], None]) -> None:
    """A message number that a sidecar claims is taken away from no document of another company, heard or looked for."""
    claim_and_restore(world, [{"msg_no": number, "received": None} for number in range(1, 40)])
    world.front.next("POST /outbox", answer)
    world.put(fjord(world) / "invoice.xml", invoice("1", sender=FJORD))
    with world.service():
        world.until(lambda: lies(fjord(world), "invoice.xml").startswith("archive/"))
    assert invoices_of_fjord(world) == 1


@pytest.mark.parametrize("duplicates", ["refuse", "number"])
def test_a_meaning_that_a_sidecar_claims(world: World, duplicates: str) -> None:
    """A document that a sidecar claims to have been sent stops no document of another company as its duplicate."""
    text = world.config_text().replace("\noutbound:", f"\noutbound:\n  duplicates: {duplicates}")
    world.config_text = lambda: text  # type: ignore[method-assign] # of this world
    content = invoice("1", sender=FJORD)
    meaning = identify.read(io.BytesIO(content)).meaning
    about = {"type": "Invoice", "number": "1", "issue_date": template(world)["document"]["issue_date"]}
    claim_and_restore(world, [{"sender": FJORD, "meaning": meaning, "document": about, "msg_no": 30}])
    world.put(fjord(world) / "invoice.xml", content)
    with world.service():
        world.until(lambda: lies(fjord(world), "invoice.xml"))
        world.until(lambda: lies(fjord(world), "invoice.xml").startswith(("archive/", "failed")))
    assert lies(fjord(world), "invoice.xml").startswith("archive/")


def test_what_sidecars_claim_counts_for_their_own_company(make_world: Callable[..., World]) -> None:
    """With a lost journal, a copy of what a sidecar tells of is a duplicate, and its message isn't found for a copy.

    One is dropped, the other lies in `sending/`, and nobody knows that it was never posted.
    """
    world = make_world(outbound={"rescan": "100ms"})
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    shutil.rmtree(world.state)
    world.put(world.outbound / "copy.xml", invoice("1"))
    world.put(world.outbound / "sending" / "claimed.xml", invoice("1"))
    os.utime(world.outbound / "sending" / "claimed.xml", (0, 0))
    assert "this filedrop serves this folder" in ask(world, "check", "--take-over").says
    with world.service():
        world.until((world.outbound / "failed" / "copy.xml").exists)
        world.until((world.outbound / "failed" / "claimed.xml").exists)
    assert json.loads((world.outbound / "failed" / "claimed.xml.json").read_bytes())["error"]["code"] == "duplicate"
    assert world.accepted() == {"invoice.xml": 1}


def a_link_to_zeros(marker: Path) -> None:
    marker.symlink_to("/dev/zero")


def a_broken_link(marker: Path) -> None:
    marker.symlink_to("nowhere")


def a_pipe(marker: Path) -> None:
    os.mkfifo(marker)


def a_socket(marker: Path) -> None:
    here = os.getcwd()  # noqa: PTH109 - a socket's path has at most 107 bytes
    os.chdir(marker.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(marker.name)
    finally:
        os.chdir(here)


def a_sparse_file(marker: Path) -> None:
    with marker.open("wb") as file:
        file.truncate(10**12)


def says(text: str) -> Callable[[Path], None]:
    def write(marker: Path) -> None:
        marker.write_text(text)

    write.__name__ = text[:40].replace("\\", "")  # an id with one in it can't be asked for
    return write


MADE_UP = [
    a_link_to_zeros, a_broken_link, a_pipe, a_socket, a_sparse_file, says('{"folder": "\\ud800", "journal": "J"}'),
    says('{"folder": 5, "journal": "J"}'), says('{"folder": "a", "journal": "J", "changes": -1}'),
    says('{"folder": "a", "journal": "J", "changes": true}'), says('{"folder": "a", "journal": "J", "changes": 1e400}'),
    says(f'{{"folder": "a", "journal": "J", "changes": {10**30}}}'), says('{"folder": "../a b", "journal": "J"}'),
]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="links by everybody, pipes and sockets are POSIX")
@pytest.mark.parametrize("make", quick(MADE_UP, 3), ids=lambda make: make.__name__)
def test_markers_that_are_none(world: World, make: Callable[[Path], None]) -> None:
    """Its folder is unavailable, which is said; another company's documents go, and status.json tells of both."""
    marker = world.outbound / MARKER
    journal = json.loads(marker.read_bytes())["journal"]
    marker.unlink()
    make(marker)
    if not marker.is_symlink() and marker.is_file() and marker.stat().st_size < 1000:
        marker.write_text(marker.read_text().replace('"J"', f'"{journal}"'))
    world.put(fjord(world) / "fjord.xml", invoice("1", sender=FJORD))
    world.put(world.outbound / "acme.xml", invoice("2"))
    with world.service() as service:
        world.until(lambda: lies(fjord(world), "fjord.xml").startswith("archive/"))
        report(service)
        companies = json.loads((world.root / "status.json").read_bytes())["companies"]
        assert "can't be read as a marker" in companies["acme"]["folders"][0]["why"]
        assert companies["fjord"]["folders"][0]["available"]
        assert lies(world.outbound, "acme.xml") == "."
    assert "this filedrop serves this folder" in ask(world, "check", "--take-over").says
    with world.service():
        world.until(lambda: lies(world.outbound, "acme.xml").startswith("archive/"))


def test_the_marker_of_a_folder_that_is_away(world: World) -> None:
    """Whoever has another folder's marker while that is away isn't that folder, and it goes on when it is back."""
    away = world.base / "away"
    (fjord(world) / "HOLD").touch()
    world.put(fjord(world) / "invoice.xml", invoice("1", sender=FJORD))
    with world.service():
        world.until(lambda: lies(fjord(world), "invoice.xml") == "sending")
    (fjord(world) / "HOLD").unlink()
    (world.outbound / MARKER).write_bytes((fjord(world) / MARKER).read_bytes())
    world.put(world.outbound / "acme.xml", invoice("2"))
    (world.root / "fjord").rename(away)
    with world.service() as service:
        world.until(lambda: f"is a copy of {fjord(world)}" in service.accounts[0].pipelines[0].health.trouble)
        assert f"{world.outbound}: unavailable: it is a copy of {fjord(world)}" in ask(world, "status").says
        assert lies(world.outbound, "acme.xml") == "."
        away.rename(world.root / "fjord")
        world.until(lambda: lies(fjord(world), "invoice.xml").startswith("archive/"))
    assert invoices_of_fjord(world) == 1


def test_another_folders_marker_is_taken_over(world: World) -> None:
    """A folder that is taken over becomes no other folder that the journal knows, whatever its marker says."""
    others = json.loads((fjord(world) / MARKER).read_bytes())
    (world.outbound / MARKER).write_text(json.dumps(others | {"journal": "lost"}))
    assert "this filedrop serves this folder" in ask(world, "check", "--take-over").says
    world.put(fjord(world) / "fjord.xml", invoice("1", sender=FJORD))
    world.put(world.outbound / "acme.xml", invoice("2"))
    with world.service():
        world.until(lambda: lies(fjord(world), "fjord.xml").startswith("archive/"))
        world.until(lambda: lies(world.outbound, "acme.xml").startswith("archive/"))


@pytest.mark.parametrize("changes", quick([MOST, 2**53, 2**62 - 1]))
def test_a_marker_that_has_seen_all_there_can_be(world: World, changes: int) -> None:
    """However many changes a marker says it has seen, its folder's documents go, now and after each start."""
    for number in range(3):
        outdate(world, changes)
        world.put(world.outbound / f"{number}.xml", invoice(str(number)))
        with world.service():
            world.until(lambda number=number: lies(world.outbound, f"{number}.xml").startswith("archive/"))
    assert [line for line in world.log() if line["event"] == "journal.outdated"]
    world.run_once()
    assert ask(world, "status").says.count("acme") == 1  # in the table alone: nothing is wrong with its folders


def test_it_is_the_daemon_who_counts(world: World) -> None:
    """After a marker that said too much, an older journal is known by its marker as before."""
    outdate(world, MOST)
    with world.service():
        world.until(lambda: [line for line in world.log() if line["event"] == "journal.outdated"])
    journal = world.state / "journal.sqlite"
    copy = journal.read_bytes()
    world.put(world.outbound / "invoice.xml", invoice("1"))
    with world.service():
        world.until(lambda: lies(world.outbound, "invoice.xml").startswith("archive/"))
    journal.write_bytes(copy)
    assert "the journal is older than this folder" in ask(world, "status").says


def test_accounts_that_sidecars_make_up(world: World) -> None:
    """However many accounts sidecars say that they were posted to, status names some of them, and how many more."""
    one = {"state": "sent", "delivered": None}
    for number in range(30):
        forge(world, f"forged-{number}.xml", "sent", **one, identity=f"somebody-{number}" + "x" * 100_000)
    outdate(world)
    with world.service() as service:
        world.until(lambda: len(service.journal.documents.in_state(State.SENT)) == 30)
        report(service)
    told = (world.root / "status.json").read_bytes()
    assert len(told) < 100_000
    assert b"and 10 more accounts with unfinished documents" in told


def test_a_reason_that_fills_a_page(world: World) -> None:
    """What somebody has written as the reason in a sidecar takes no more room in status.json than a reason may."""
    forge(world, "failed.xml", "failed", state="failed", error={"code": "x", "message": "x" * 900_000, "hint": ""})
    with world.service() as service:
        report(service)
    (failed,) = json.loads((world.root / "status.json").read_bytes())["companies"]["acme"]["documents"]
    assert len(failed["why"]) < 5000
