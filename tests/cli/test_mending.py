"""`filedrop retry` and `filedrop resolve`: a person decides."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from cli.conftest import COMMAND
from support.documents import SELLER, invoice
from support.faults import cut_after, reset_before
from support.matrix import quick
from support.misfortunes import only_a_location
from support.rights import as_anyone
from support.terminal import on_terminal

from filedrop.model.document import State
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


@pytest.fixture
def doubtful(make_world: Callable[..., World]) -> World:
    """A world in which whatever is in doubt stays so: no look at the archive succeeds."""
    world = make_world(outbound={"doubt": "1h"})
    world.front.always("GET /messages", reset_before)
    return world


def bring_into_doubt(world: World, *names: str) -> None:
    """Leave these documents in doubt: their posts reached the access point, and the answers were lost."""
    world.front.next("POST /outbox", *[cut_after] * len(names))
    for name in names:
        world.drop(name, invoice(name))
    with world.service() as service:
        world.until(lambda: len(service.journal.documents.in_state(State.DOUBT)) == len(names))


def test_what_could_be_retried(filedrop: Filedrop, world: World) -> None:
    """Without names and --all, retry lists what failed and why, and moves nothing."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.run_once()
    done = filedrop("retry")
    assert "nobody.xml" in done.stdout
    assert "--all" in done.stdout
    (told,) = map(json.loads, filedrop("retry", "acme", "--json").stdout.splitlines())
    assert (told["company"], told["file"]) == ("acme", "nobody.xml")
    assert world.places() == {"nobody.xml": "failed"}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such right on Windows")
def test_retry_of_a_folder_that_may_not_be_read(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """Documents that can't be seen may have failed, too: status 1, and whose the folder is."""
    world = make_world(companies={"other": "{participants: []}"})
    world.run_once()
    (world.outbound / "failed").chmod(0)
    config = world.config_file()
    with as_anyone():
        done = filedrop("retry", "--all", config=config)
        others = filedrop("retry", "other", "--all", config=config)
    (world.outbound / "failed").chmod(0o755)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"{world.outbound}: Permission denied ({world.outbound / 'failed'} belongs to " in said
    assert f"run: sudo chmod u+rwx {world.outbound / 'failed'}" in said
    assert others.returncode == 0


def test_retry(filedrop: Filedrop, world: World) -> None:
    """A retried document is back in outbound/, its note and sidecar are gone, and what isn't there is status 1."""
    for name in ("one.xml", "two.xml"):
        world.drop(name, invoice(name, receiver=None))
    world.run_once()
    done = filedrop("retry", "acme", "one.xml", "three.xml")
    assert done.returncode == 1
    assert "three.xml: no document in failed/ or not-on-peppol/ has this name; filedrop retry lists them" in done.stderr
    assert world.places() == {"one.xml": ".", "two.xml": "failed"}
    assert not list((world.outbound / "failed").glob("one.xml*"))
    assert filedrop("retry", "--all").returncode == 0
    assert world.places() == {"one.xml": ".", "two.xml": "."}


def test_retry_by_number(filedrop: Filedrop, world: World) -> None:
    """A document is also named by the number of the invoice; a name of a file comes first."""
    world.drop("one.xml", invoice("1001", receiver=None))
    world.drop("1001.xml", invoice("1003", receiver=None))
    world.run_once()
    assert filedrop("retry", "acme", "1001").returncode == 0
    assert filedrop("retry", "acme", "1001.xml").returncode == 0
    assert filedrop("retry", "acme", "1004").returncode == 1
    assert world.places() == {"one.xml": ".", "1001.xml": "."}


def test_retry_all_of_a_company_that_is_not_there(filedrop: Filedrop, world: World) -> None:
    """A company whose name is mistyped before --all is named: it was taken for a document, without a word."""
    world.run_once()
    done = filedrop("retry", "amce", "--all")
    assert done.returncode == 2
    assert "there is no company amce, only acme" in done.stderr


def test_retry_where_ready_files_tell(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """A retried document gets its ready file again: its writer, who is done with it, writes no other one."""
    world = make_world(outbound={"ready_suffix": ".ready"})
    for name in ("invoice.xml", "invoice.xml.ready"):
        world.put(world.outbound / name, invoice("1", receiver=None))
    world.run_once()
    (world.outbound / "failed" / "invoice.xml").write_bytes(invoice("1"))
    assert filedrop("retry", "acme", "invoice.xml", config=config_of(world)).returncode == 0
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 1


def test_what_is_no_file_is_no_document(filedrop: Filedrop, world: World) -> None:
    """A folder or a link with a document's name is counted nowhere, and retry leaves it where it lies."""
    world.run_once()
    places = [world.outbound / place for place in ("sending", "sent", "failed")]
    for place in places:
        (place / "folder.xml").mkdir()
        (place / "link.xml").symlink_to(world.outbound)
    acme = json.loads(filedrop("status", "--json").stdout)["companies"]["acme"]
    assert not any(acme[what] for what in ("sending", "sent", "failed"))
    assert "Nothing has failed." in filedrop("retry").stdout
    assert filedrop("retry", "--all").returncode == 0
    assert filedrop("retry", "folder.xml").returncode == 1
    assert all((place / "folder.xml").is_dir() for place in places)


def test_retry_one_of_two_of_a_name(filedrop: Filedrop, world: World) -> None:
    """Where two folders of a company have a failed file of one name, its whole path says which is meant."""
    other = world.root / "acme" / "more"
    other.mkdir()
    world._companies = {"acme": f'{{participants: ["{SELLER}"], outbound: [{world.outbound}, {other}]}}'}
    config = world.config_file()
    world.drop("a.xml", invoice("1", receiver=None))
    world.put(other / "a.xml", invoice("2", receiver=None))
    world.run_once()
    told = filedrop("retry", "acme", "a.xml", config=config)
    assert told.returncode == 1
    assert "write the full path" in told.stderr
    assert filedrop("retry", "acme", other / "failed" / "a.xml", config=config).returncode == 0
    assert (other / "a.xml").exists()
    assert (world.outbound / "failed" / "a.xml").exists()


def test_retry_overwrites_nothing(filedrop: Filedrop, world: World) -> None:
    """A retried document whose name was dropped anew gets a name of its own."""
    world.drop("one.xml", invoice("1", receiver=None))
    world.run_once()
    world.put(world.outbound / "one.xml", invoice("2"))
    assert "back in outbound/ as one-2.xml" in filedrop("retry", "--all").stdout
    assert (world.outbound / "one.xml").read_bytes() == invoice("2")


def test_retry_a_duplicate(filedrop: Filedrop, world: World) -> None:
    """A duplicate that is retried fails again; with --anyway it is sent, once."""
    world.drop("one.xml", invoice("1"))
    world.run_once()
    world.put(world.outbound / "again.xml", invoice("1"))
    world.run_once()
    filedrop("retry", "acme", "again.xml")
    world.run_once()
    assert (world.outbound / "failed" / "again.xml").exists()
    filedrop("retry", "acme", "again.xml", "--anyway")
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 2


@pytest.mark.parametrize("year", [1970, 2300])
def test_retry_a_duplicate_from_the_future(filedrop: Filedrop, world: World, year: int) -> None:
    """However far off the time of a file is, a duplicate is let through."""
    world.drop("one.xml", invoice("1"))
    world.run_once()
    again = world.outbound / "again.xml"
    world.put(again, invoice("1"))
    then = datetime(year, 6, 1, tzinfo=UTC).timestamp()
    os.utime(again, (then, then))
    world.run_once()
    done = filedrop("retry", "acme", "again.xml", "--anyway")
    assert done.returncode == 0, done.stderr
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 2


def test_retry_all_duplicates(filedrop: Filedrop, world: World, again: Path) -> None:
    """`retry --all --anyway` without a terminal sends nothing, and says to write names."""
    done = filedrop("retry", "--all", "--anyway")
    assert done.returncode == 2
    assert "would send every duplicate again: write the names" in done.stderr
    assert again.exists()
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
@pytest.mark.parametrize(("key", "is_sent"), quick([("n\n", False), ("y\n", True)]))
def test_retry_all_duplicates_on_a_terminal(options: list[str], again: Path, key: str, *, is_sent: bool) -> None:
    """On a terminal, it asks first, and goes by the answer."""
    said = on_terminal(*COMMAND, *options, "retry", "--all", "--anyway", columns=120, keys=[key], prompt=b"[y/N]")
    assert "Send 1 document again, even if the receiver gets an invoice twice?" in said
    assert again.exists() != is_sent


@pytest.fixture
def again(world: World) -> Path:
    """`again.xml` in failed/, a duplicate of `one.xml`."""
    world.drop("one.xml", invoice("1"))
    world.run_once()
    world.put(world.outbound / "again.xml", invoice("1"))
    world.run_once()
    return world.outbound / "failed" / "again.xml"


def test_a_duplicate_stays_one(filedrop: Filedrop, world: World, again: Path) -> None:
    """What would fail as a duplicate again stays where it is; retry says so, puts back the others, and ends with 1."""
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.run_once()
    done = filedrop("retry", "--all", "--json")
    assert done.returncode == 1
    assert "again.xml: it would fail as a duplicate again. The same Invoice 1 was sent before, as one.xml, on" in (
        " ".join(done.stderr.split())
    )
    assert "--anyway" in done.stderr
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == ["nobody.xml"]
    assert again.with_name("again.xml.why.txt").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such right on Windows")
def test_a_duplicate_stays_one_for_whoever_may_not_use_the_journal(
    filedrop: Filedrop, world: World, again: Path
) -> None:
    """Its sidecar tells as much; a mended document is put back in line."""
    world.state.chmod(0)
    try:
        with as_anyone():
            done = filedrop("retry", "acme", "again.xml")
            assert done.returncode == 1
            assert "again.xml: it would fail as duplicate again" in done.stderr
            assert again.exists()
            again.write_bytes(invoice("2"))
            assert filedrop("retry", "acme", "again.xml").returncode == 0
    finally:
        world.state.chmod(0o700)


@pytest.mark.parametrize("change", ["mended", "duplicates: allow", "mapping"])
def test_a_duplicate_no_more(filedrop: Filedrop, world: World, again: Path, change: str) -> None:
    """A document that failed as a duplicate and is none any more is put back in line and sent."""
    text = world.config_text()
    if change == "mended":
        again.write_bytes(invoice("2"))
    elif change == "mapping":
        text += 'mapping: [{receiver: "0192:889640782"}]'
    else:
        text = text.replace("\noutbound:", "\noutbound:\n  duplicates: allow")
    world.config_text = lambda: text  # type: ignore[method-assign] # this world's own
    done = filedrop("retry", "acme", "again.xml", config=config_of(world))
    assert done.returncode == 0, done.stderr
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 2


def test_resolve_as_sent(filedrop: Filedrop, doubtful: World) -> None:
    """A doubt that is ended with the message number is followed to its delivery, and not sent again."""
    bring_into_doubt(doubtful, "one.xml")
    status = json.loads(filedrop("status", "--json", config=config_of(doubtful)).stdout)
    assert status["companies"]["acme"]["doubt"] == 1
    (message,) = doubtful.sandbox.store.sent("acme")
    done = filedrop("resolve", "one.xml", "--sent", message.msg_no, config=config_of(doubtful))
    assert done.returncode == 0, done.stderr
    doubtful.front.heal()
    doubtful.settle()
    doubtful.invariants()


def test_resolve_with_a_wrong_number(filedrop: Filedrop, doubtful: World) -> None:
    """A number that the access point doesn't know, or that belongs to another document, ends no doubt."""
    bring_into_doubt(doubtful, "one.xml")
    assert filedrop("resolve", "one.xml", "--sent", 4711, config=config_of(doubtful)).returncode == 1
    with locked_state(doubtful.state) as journal:
        assert len(journal.documents.in_state(State.DOUBT)) == 1


def test_resolve_with_the_number_of_another(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """A number that is another document's isn't taken, also before it is known when that one's message was received."""
    world = make_world(outbound={"doubt": "1h", "track": "1h"})
    world.front.always("GET /messages", reset_before)
    world.front.always("GET /outbox", reset_before)
    world.front.next("POST /outbox", only_a_location)
    world.drop("zero.xml", invoice("zero"))
    with world.service():
        world.until(lambda: world.places().get("zero.xml") == "sent")  # amid a move, it may be seen nowhere
    bring_into_doubt(world, "one.xml")
    world.front.heal()
    number = min(message.msg_no for message in world.sandbox.store.sent("acme"))
    done = filedrop("resolve", "one.xml", "--sent", number, config=config_of(world))
    assert done.returncode == 1
    assert f"message {number} already belongs to another document" in done.stderr


def test_resolve_to_send_again(filedrop: Filedrop, doubtful: World) -> None:
    """A doubt that is ended with --send-again is sent again, as the person has decided."""
    bring_into_doubt(doubtful, "one.xml")
    done = filedrop("resolve", "one.xml", "--send-again", config=config_of(doubtful))
    assert done.returncode == 0, done.stderr
    doubtful.run_once()
    assert len(doubtful.sandbox.store.sent("acme")) == 2


def test_resolve_nothing(filedrop: Filedrop, world: World) -> None:
    """What isn't in doubt can't be resolved, and the command line must say how."""
    world.run_once()
    done = filedrop("resolve", "one.xml", "--send-again")
    assert done.returncode == 1
    assert "no document in doubt is named one.xml" in done.stderr
    assert filedrop("resolve", "one.xml").returncode == 2


def config_of(world: World) -> Path:
    """The configuration of a world that isn't the fixture."""
    file = world.base / "config.yaml"
    file.write_text(world.config_text())
    return file


COMPOSED, DECOMPOSED = "M\u00fcller.xml", "Mu\u0308ller.xml"


@pytest.mark.parametrize(("lying", "typed"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_retry_in_the_other_form_of_letters(filedrop: Filedrop, world: World, lying: str, typed: str) -> None:
    """A failed document is found by its name in the other form of letters; the file keeps its own."""
    world.put(world.outbound / lying, invoice("1", receiver=None))
    world.run_once()
    done = filedrop("retry", typed)
    assert done.returncode == 0, done.stderr
    assert (world.outbound / lying).exists()


def test_retry_prefers_the_very_same_letters(filedrop: Filedrop, world: World) -> None:
    """Of two documents whose names look the same, the one with the very same letters is meant."""
    for number, name in enumerate((COMPOSED, DECOMPOSED)):
        world.put(world.outbound / name, invoice(str(number), receiver=None))
    world.run_once()
    assert filedrop("retry", COMPOSED).returncode == 0
    assert [path.name for path in world.outbound.glob("*.xml")] == [COMPOSED]


@pytest.mark.parametrize(("lying", "typed"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_resolve_in_the_other_form_of_letters(filedrop: Filedrop, doubtful: World, lying: str, typed: str) -> None:
    """A document in doubt is found by its name in the other form of letters."""
    bring_into_doubt(doubtful, lying)
    done = filedrop("resolve", typed, "--send-again", config=config_of(doubtful))
    assert done.returncode == 0, done.stderr
