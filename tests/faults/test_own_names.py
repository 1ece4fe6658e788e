"""The name that a file was dropped with is its own: rules, sidecars and notes go by it, whatever it is called since."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import run_here
from support.documents import BUYER, invoice
from support.faults import instead
from support.matrix import quick
from support.plug import live
from support.systems import writers_unknown
from support.world import World

from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from filedrop.daemon.daemon import Daemon

RULES = """
mapping:
  - {file: '.*_(?P<number>[0-9]{9})[.]xml', receiver: "0192:{number}"}
"""
STRANGER = "0192:123456785"  # whom the documents name; the rule knows better
OWN = f"b_{BUYER.removeprefix('0192:')}.xml"
GIVEN = OWN.replace(".xml", "-2.xml")
BESIDE = [[], [".json"], [".why.txt"], [".json", ".why.txt"]]
IDS = ["alone", "with its sidecar", "with its note", "with both"]


def by_name(world: World) -> World:
    """The same world, in which the file name says who receives a document."""
    text = world.config_text() + RULES
    world.config_text = lambda: text  # type: ignore[method-assign] # this world's own rule
    return world


@pytest.fixture
def ruled(make_world: Callable[..., World]) -> World:
    """A world in which the file name says who receives a document, whose folders are compared ten times a second."""
    return by_name(make_world(outbound={"rescan": "100ms"}))


@pytest.fixture
def given(ruled: World) -> Path:
    """A failed document with the number 2, which filedrop has given it: another of its name failed before."""
    ruled.front.next("POST /outbox", *[instead(413, "Too large for today")] * 2)
    for number in ("1", "2"):
        ruled.put(ruled.outbound / OWN, invoice(number, receiver=STRANGER))
        ruled.run_once()
    path = ruled.outbound / "failed" / GIVEN
    assert beside(path)["receiver"] == BUYER
    return path


def beside(path: Path) -> dict[str, object]:
    """What the sidecar of a document says."""
    content: dict[str, object] = json.loads(path.with_name(f"{path.name}.json").read_bytes())
    return content


def command(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """What a person writes on the command line."""
    config = world.base / "config.yaml"
    config.write_text(world.config_text())
    return run_here("--config", str(config), *words)


def move_back(path: Path, with_it: Sequence[str] = (), name: str = "") -> None:
    """What a person does with a document in failed/."""
    for suffix in (*with_it, ""):
        beside = path.with_name(path.name + suffix)
        beside.rename(path.parent.parent / f"{name or path.name}{suffix}")


def receivers(world: World) -> list[str]:
    return [message.receiver for message in world.sandbox.store.sent("acme")]


def compared(world: World, service: Daemon, times: int = 3) -> None:
    """Wait until the folder has been compared with the journal so often from now on."""
    for _ in range(times):
        world.compared(service.accounts[0].pipelines[0])


@pytest.mark.parametrize("with_it", quick(BESIDE), ids=IDS)
@pytest.mark.parametrize("when", ["while it runs", "while it doesn't", "mended", "gone for a while"])
def test_moved_back_with_a_number(ruled: World, given: Path, with_it: Sequence[str], when: str) -> None:
    """It goes to whom its own name says, and is filed under that."""
    if when == "mended":
        given.write_bytes(invoice("2", receiver=STRANGER, note="Mended."))
    elif when == "gone for a while":  # so that nothing is left in failed/ that could tell
        for suffix in (*with_it, ""):
            given.with_name(given.name + suffix).rename(ruled.base / f"{given.name}{suffix}")
        with ruled.service() as service:
            compared(ruled, service)
        for suffix in (*with_it, ""):
            (ruled.base / f"{given.name}{suffix}").rename(given.with_name(given.name + suffix))
    if when == "while it doesn't":
        move_back(given, with_it)
        ruled.run_once()
    else:
        with ruled.service():
            move_back(given, with_it)
            ruled.until(lambda: receivers(ruled) and not given.with_name(f"{GIVEN}.json").exists())
    assert receivers(ruled) == [BUYER]
    notes = [OWN, f"{OWN}.json", f"{OWN}.why.txt"]  # those of the other one
    with ruled.service():
        ruled.until(lambda: list((ruled.outbound / "archive").rglob("*.xml.json")))
        ruled.until(lambda: sorted(path.name for path in given.parent.iterdir()) == notes)
    (sidecar,) = (ruled.outbound / "archive").rglob("*.xml.json")
    assert sidecar.name == f"{OWN}.json"


@pytest.mark.usefixtures("given")
@pytest.mark.parametrize("taken", [False, True], ids=["its name is free", "its name is taken"])
def test_retried_with_a_number(ruled: World, *, taken: bool) -> None:
    """`retry` gives it its own name back, or leaves word of it beside it; `check` knows it, too."""
    if taken:
        ruled.put(ruled.outbound / OWN, invoice("3"))
    done = command(ruled, "retry", "acme", GIVEN)
    assert f"back in outbound/ as {GIVEN if taken else OWN}" in done.stdout
    foretold = json.loads(command(ruled, "check", "--json", str(ruled.outbound)).stdout)["documents"]
    assert [document["receiver"] for document in foretold] == [BUYER] * (1 + taken)
    ruled.run_once()
    assert receivers(ruled) == [BUYER] * (1 + taken)
    with ruled.service():
        ruled.until(lambda: len(list((ruled.outbound / "archive").rglob("*.xml.json"))) == 1 + taken)
    assert not list(ruled.outbound.glob("*.json"))


def test_numbered_by_whoever_moved_it_back(ruled: World, given: Path) -> None:
    """Where a person has had to give it a number, its sidecar or note tells."""
    move_back(given.with_name(OWN), (".json",), OWN.replace(".xml", "-7.xml"))
    move_back(given, (".why.txt",), OWN.replace(".xml", "-8.xml"))
    ruled.run_once()
    assert receivers(ruled) == [BUYER] * 2


@pytest.mark.parametrize(
    "before", quick(["never failed", "failed itself", "another's name, deleted", "another's, moved on"], 2)
)
def test_a_number_of_the_writers_own(ruled: World, before: str) -> None:
    """What was really dropped with a number keeps it, whatever else has had that name here."""
    name, refused = "7-2.xml", instead(413, "Too large for today")
    failed = ruled.outbound / "failed" / name
    rule = r"{file: '7(-(?P<number>[0-9]))?[.]xml', channel: 'channel {number}'}"
    text = ruled.config_text() + f"  - {rule}\n"
    ruled.config_text = lambda: text  # type: ignore[method-assign] # and another rule
    if before == "failed itself":
        ruled.front.next("POST /outbox", refused)
        ruled.put(ruled.outbound / name, invoice("own"))
        ruled.run_once()
        move_back(failed)
    else:
        if before != "never failed":
            ruled.front.next("POST /outbox", refused, refused)
            for number in ("1", "2"):
                ruled.put(ruled.outbound / "7.xml", invoice(number))
                ruled.run_once()
            assert beside(failed)["dropped_as"] == "7.xml"
            if before == "another's, moved on":
                move_back(failed)
                ruled.run_once()
            else:
                for path in failed.parent.glob("7-2.*"):
                    path.unlink()
        ruled.put(ruled.outbound / name, invoice("own"))
    ruled.run_once()
    *_, last = ruled.sandbox.store.sent("acme")
    assert last.channel == "channel 2"


def test_moved_to_the_right_company(make_world: Callable[..., World]) -> None:
    """As the note of what was dropped into the wrong folder says: with the note, it is still called what it was."""
    world = by_name(make_world(companies={"fjord": f'{{participants: ["{STRANGER}"]}}'}))
    right = world.root / "fjord" / "outbound"
    for number in ("1", "2"):
        world.put(world.outbound / OWN, invoice(number, STRANGER, receiver=STRANGER))
        world.run_once()
    failed, note = world.outbound / "failed" / GIVEN, f"{GIVEN}.why.txt"
    assert "Then move it, together with this note, to that company" in failed.with_name(note).read_text()
    for name in (note, GIVEN):
        failed.with_name(name).rename(right / name)
    world.run_once()
    assert [message.receiver for message in world.sandbox.store.sent("acme")] == [BUYER]
    assert not (right / note).exists()


def test_failing_again_and_again(ruled: World, given: Path) -> None:
    """What is moved back and fails again keeps its name, alone or with another of that name; each has its notes."""
    failed = given.parent
    for path in failed.glob("*.xml"):
        path.write_bytes(invoice(path.name, receiver="nobody"))
    (ruled.base / "config.yaml").write_text(ruled.config_text().replace(RULES, ""))
    ruled.config_text = (ruled.base / "config.yaml").read_text  # type: ignore[method-assign] # without the rule
    notes = {f"{name}{suffix}" for name in (OWN, GIVEN) for suffix in ("", ".json", ".why.txt")}

    def noted(name: str) -> object:
        return beside(failed / name)["id"] if set(names()) == notes else None

    def names() -> list[str]:
        return [path.name for path in failed.iterdir()]

    with ruled.service():
        for moved in ([GIVEN], [OWN], [OWN, GIVEN], [GIVEN], [OWN, GIVEN], [OWN]):
            before = {name: noted(name) for name in moved}
            for name in moved:
                move_back(failed / name)
            ruled.until(lambda: all(noted(name) not in (None, before[name]) for name in moved), what=f"{moved}")  # noqa: B023 - ended by the next
    assert {beside(failed / name).get("dropped_as", name) for name in (OWN, GIVEN)} == {OWN}


FORGED: dict[str, object] = {
    "a way out": "../../../fjord/outbound/" + OWN,
    "a way out, shortened": "b" * 200 + "/../../../" + OWN,
    "another name": "b_123456785.xml",
    "a hidden one": "." + OWN,
    "no text": 5,
    "a list": [OWN],
    "no name of a file": OWN + "\0",
    "no letter": "\ud800" + OWN,
    "nothing": "",
}


@pytest.mark.parametrize("told", quick(FORGED.values(), 3), ids=FORGED)
def test_a_forged_sidecar(ruled: World, told: object) -> None:
    """What a sidecar claims is no name for a file that can't have had it; nothing comes to be anywhere else."""
    ruled.run_once()
    claims = {"filedrop": 1, "direction": "OUT", "id": "01JD0000000000000000000001", "file": OWN, "dropped_as": told}
    name = "b" * 196 + ".xml" if "b" * 200 in str(told) else OWN
    (ruled.outbound / f"{name}.json").write_text(json.dumps(claims))
    ruled.put(ruled.outbound / name, invoice())
    ruled.run_once()
    assert receivers(ruled) == [BUYER]
    with ruled.service():
        ruled.until(lambda: any("archive" in path.parts for path in ruled.files()))  # rglob fails beside a daemon
    assert [path.name for path in (ruled.outbound / "archive").rglob("*.xml")] == [name]
    assert {path.name for path in ruled.root.iterdir()} <= {"acme", "status.json"}


def test_check_knows_it(ruled: World, given: Path) -> None:
    """`check` says of a file in failed/ what its own name gives."""
    (told,) = json.loads(command(ruled, "check", "--json", str(given)).stdout)["documents"]
    assert told["receiver"] == BUYER


@writers_unknown
def test_changed_after_the_claim_where_its_name_is_taken(ruled: World) -> None:
    """What is put back because its writer wrote on, while another of its name has come, still goes by that name."""
    (ruled.outbound / "HOLD").touch()
    last = invoice("1", receiver=STRANGER, note="Corrected.")
    with (ruled.outbound / OWN).open("wb") as file, ruled.service():
        file.write(invoice("1", receiver=STRANGER))
        file.flush()
        ruled.until((ruled.outbound / "sending" / OWN).exists)
        file.seek(0)
        file.truncate()
        file.write(last)
        file.flush()
        (ruled.outbound / OWN).write_bytes(b"<begun")
        (ruled.outbound / "HOLD").unlink()
        ruled.until(lambda: receivers(ruled))
    assert receivers(ruled) == [BUYER]


def long_name(world: World) -> None:
    """Drop a file whose name is longer than a name may be in sending/, and ends with the receiver's number."""
    world.dropped[LONG] = invoice("1", receiver=STRANGER)
    (world.outbound / LONG).write_bytes(world.dropped[LONG])


LONG = "b" * 230 + f"_{BUYER.removeprefix('0192:')}.xml"


@pytest.mark.parametrize("step", quick([3, 5, 7, 4, 6, 8], 3))
def test_the_plug_is_pulled_around_the_claim(tmp_path: Path, step: int) -> None:
    """A claim that is cut off before the journal knows of it doesn't lose the name that couldn't stay the file's."""
    with by_name(World(tmp_path, outbound={"workers": "1", "doubt": "200ms", "track": "20ms"})) as world:
        world.run_once()
        long_name(world)
        live(world, finished=1, received=0, pull_at=step)
        world.settle()
        world.invariants()
        assert receivers(world) == [BUYER]
        assert world.sidecar(LONG)["dropped_as"] == LONG


def test_a_journal_that_is_gone(ruled: World, given: Path) -> None:
    """Sidecars tell a new journal each document's own name: moved back alone, it is known by that."""
    ruled.run_once()
    for path in ruled.state.glob("journal*"):
        path.unlink()
    with locked_state(ruled.state):
        pass
    assert command(ruled, "check", "--take-over").returncode == 0
    ruled.run_once()
    move_back(given)
    ruled.run_once()
    assert receivers(ruled) == [BUYER]
