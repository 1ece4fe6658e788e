"""What people do in the folders: they hold, take, move back and start things twice, and nothing is lost or doubled."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, invoice
from support.drops import NOON, drop, posted
from support.faults import cut_after, instead, reset_before
from support.matrix import quick
from support.plug import live, tapped
from support.stepping import RULES, Life
from support.world import World

from filedrop.model.document import State
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Fault
    from support.stepping import Clock

    from filedrop.daemon.daemon import Daemon
    from filedrop.model.document import Document

UNREADABLE = instead(200, "<html>Maintenance</html>")  # of the archive: what is in doubt stays so


@pytest.fixture
def watchful(make_world: Callable[..., World]) -> World:
    """A world whose folders are compared with the journal ten times a second."""
    return make_world(outbound={"rescan": "100ms", "doubt": "200ms"})


def the_document(service: Daemon, state: State) -> Document:
    """The only document in this state."""
    (document,) = service.journal.documents.in_state(state)
    return document


def in_state(world: World, service: Daemon, state: State) -> Document:
    """Wait until there is a document in this state, and return it."""
    world.until(lambda: service.journal.documents.in_state(state), what=f"a document is {state}")
    return the_document(service, state)


def swept(world: World, service: Daemon, times: int = 3) -> None:
    """Wait until the folder has been compared with the journal so often from now on."""
    pipeline = service.accounts[0].pipelines[0]
    for _ in range(times):
        world.compared(pipeline)


def has_become(world: World, service: Daemon, document: Document, state: State) -> Document:
    """Wait until the journal knows this document as that, and return it."""

    def now() -> Document:
        found = service.journal.documents.by_id(document.id)
        assert found is not None
        return found

    world.until(lambda: now().state is state, what=f"{document.file} is {state}")
    return now()


def uploads(world: World) -> int:
    return len(world.front.asked("POST /outbox"))


@pytest.mark.parametrize("hold", quick(["HOLD", "HOLD.txt", "hold.txt", "HOLD.txt.txt"], 2))
def test_hold(watchful: World, hold: str) -> None:
    """While HOLD lies in outbound/, documents are claimed and none is posted; when it is gone, all go."""
    (watchful.outbound / hold).touch()
    watchful.drop("one.xml", invoice("1"))
    with watchful.service() as service:
        in_state(watchful, service, State.WAITING)
        watchful.drop("two.xml", invoice("2"))
        watchful.until(lambda: watchful.places() == dict.fromkeys(watchful.dropped, "sending"))
        swept(watchful, service)
        assert uploads(watchful) == 0
        (watchful.outbound / hold).unlink()
        watchful.until(watchful.settled)
    watchful.invariants()


def test_names_that_begin_with_hold(world: World) -> None:
    """An invoice of a holding is sent like any other, and fails like any other: beginning with HOLD means nothing."""
    world.drop("HOLDING-GmbH-1001.xml", invoice("1"))
    world.drop("HOLD-2.xml", invoice("2", receiver=None))
    world.settle()
    assert (world.places()["HOLD-2.xml"], world.error("HOLD-2.xml")) == ("failed", "no-receiver")
    (world.outbound / "failed" / "HOLD-2.xml").rename(world.outbound / "HOLD-2.xml")
    world.run_once()
    assert [path.name for path in (world.outbound / "failed").iterdir() if path.suffix == ".xml"] == ["HOLD-2.xml"]
    world.invariants()


def test_hold_in_any_spelling_while_documents_are_sent(make_world: Callable[..., World], clock: Clock) -> None:
    """A hold file in an unusual spelling ends the posting of what waits within a second, and its end resumes it."""
    world = make_world(outbound=RULES | {"workers": "1"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    (world.outbound / "Hold.TXT.txt").touch()
    for number in range(5):
        world.drop(f"{number}.xml", invoice(str(number)))
    life.go_on(600)
    assert set(world.places().values()) == {"sending"}
    assert uploads(world) == 0
    note = world.outbound / "sending" / "0.xml.why.txt"
    assert f"there is a file Hold.TXT.txt in {world.outbound}" in note.read_text()
    (world.outbound / "Hold.TXT.txt").unlink()
    life.go_on(600)
    assert uploads(world) == 5
    life.stop()
    world.invariants()


def test_hold_while_a_mapping_rule_is_mended(make_world: Callable[..., World]) -> None:
    """What waits goes to whom the mapping rules name when HOLD is gone, wherever a person has moved it meanwhile."""
    world = make_world()
    world.run_once()
    (world.outbound / "HOLD").touch()
    world.more = "mapping: [{document: Invoice, receiver: '0192:123456785'}]"
    for number, name in enumerate(("one.xml", "two.xml"), 1):
        world.drop(name, invoice(str(number)))
    world.run_once()
    assert world.places() == {"one.xml": "sending", "two.xml": "sending"}
    world.more = ""
    (world.outbound / "sending" / "two.xml").rename(world.outbound / "two.xml")
    (world.outbound / "HOLD").unlink()
    world.run_once()
    for name in ("one.xml", "two.xml"):
        assert (world.sidecar(name)["receiver"], world.sidecar(name)["sources"]["receiver"]) == (BUYER, "document")
    world.invariants()


def test_hold_stops_nothing_that_is_under_way(make_world: Callable[..., World]) -> None:
    """While HOLD lies there, what was accepted is followed to its end, and what is in doubt is looked for."""
    world = make_world(outbound={"rescan": "100ms", "doubt": "200ms"})
    world.drop("delivered.xml", invoice("1"))
    world.settle()
    world.front.next("POST /outbox", cut_after, reset_before)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("arrived.xml", invoice("2"))
    with world.service() as service:
        in_state(world, service, State.DOUBT)
        world.drop("lost.xml", invoice("3"))
        world.until(lambda: len(service.journal.documents.in_state(State.DOUBT)) == 2)
    (world.outbound / "HOLD").touch()
    world.front.heal()
    with world.service() as service:
        in_state(world, service, State.WAITING)
        world.until(lambda: world.places().get("arrived.xml", "").startswith("archive/"))
        swept(world, service)
        assert world.places()["lost.xml"] == "sending"
        assert uploads(world) == 3
        (world.outbound / "HOLD").unlink()
        world.until(world.settled)
    world.invariants()


@pytest.mark.parametrize("name", ["invoice.xml", "renamed.xml"])
def test_moved_back_while_it_waits(watchful: World, name: str) -> None:
    """A file that is moved from `sending/` back to `outbound/` is still the document that it was, and goes once."""
    (watchful.outbound / "HOLD").touch()
    watchful.drop("invoice.xml", invoice())
    with watchful.service() as service:
        before = in_state(watchful, service, State.WAITING)
        (watchful.outbound / "sending" / "invoice.xml").rename(watchful.outbound / name)
        watchful.until(lambda: watchful.places() == {"invoice.xml": "sending"})
        swept(watchful, service)
        assert the_document(service, State.WAITING).id == before.id
        (watchful.outbound / "HOLD").unlink()
        watchful.until(watchful.settled)
    watchful.invariants()
    assert watchful.sidecar("invoice.xml")["id"] == before.id


@pytest.mark.parametrize("fault", [cut_after, reset_before], ids=["arrived", "not arrived"])
@pytest.mark.parametrize("duplicates", quick(["refuse", "allow"]))
def test_moved_back_while_it_is_in_doubt(make_world: Callable[..., World], fault: Fault, duplicates: str) -> None:
    """A file in doubt that is moved back to `outbound/` is looked for as before, and accepted once."""
    world = make_world(outbound={"rescan": "100ms", "doubt": "500ms", "duplicates": duplicates})
    world.front.next("POST /outbox", fault)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        document = in_state(world, service, State.DOUBT)
        (world.outbound / "sending" / "invoice.xml").rename(world.outbound / "invoice.xml")
        world.until(lambda: world.places() == {"invoice.xml": "sending"})
    world.front.heal()
    world.settle()
    world.invariants()
    assert world.sidecar("invoice.xml")["id"] == document.id


def test_renamed_while_it_is_in_doubt(make_world: Callable[..., World]) -> None:
    """A file in doubt that is renamed within `sending/` is still the document that it was, and is accepted once."""
    world = make_world(outbound={"rescan": "100ms", "doubt": "200ms", "duplicates": "allow"})
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        in_state(world, service, State.DOUBT)
        (world.outbound / "sending" / "invoice.xml").rename(world.outbound / "sending" / "renamed.xml")
        swept(world, service)
    world.front.heal()
    world.settle()
    world.invariants()


def test_taken_while_it_waits(watchful: World) -> None:
    """A file that is taken before it was posted isn't posted; dropped again it is a new document, and no duplicate."""
    (watchful.outbound / "HOLD").touch()
    watchful.drop("invoice.xml", invoice())
    with watchful.service() as service:
        document = in_state(watchful, service, State.WAITING)
        (watchful.outbound / "sending" / "invoice.xml").rename(watchful.base / "mine.xml")
        has_become(watchful, service, document, State.TAKEN)
        (watchful.outbound / "HOLD").unlink()
        swept(watchful, service)
        assert uploads(watchful) == 0
        (watchful.base / "mine.xml").rename(watchful.outbound / "invoice.xml")
        watchful.until(watchful.settled)
    watchful.invariants()
    assert watchful.sidecar("invoice.xml")["id"] != document.id
    assert [line["event"] for line in watchful.log()].count("document.taken") == 1


@pytest.mark.parametrize(("fault", "number"), [(cut_after, 1), (reset_before, None)], ids=["arrived", "not arrived"])
def test_taken_while_it_is_in_doubt(watchful: World, fault: Fault, number: int | None) -> None:
    """A file that is taken while it is in doubt is looked for once more, ends as taken, and is not posted again."""
    world = watchful
    world.front.next("POST /outbox", fault)
    world.front.always("GET /messages", UNREADABLE)
    world.put(world.outbound / "invoice.xml", invoice())
    with world.service() as service:
        document = in_state(world, service, State.DOUBT)
    (world.outbound / "sending" / "invoice.xml").rename(world.base / "mine.xml")
    world.front.heal()
    with world.service() as service:
        assert has_become(world, service, document, State.TAKEN).msg_no == number
        (world.base / "mine.xml").rename(world.outbound / "again.xml")
        world.until((world.outbound / "failed" / "again.xml").exists)
    assert uploads(world) == 1
    assert [line["event"] for line in world.log()].count("document.taken") == 1


def test_taken_out_of_sent(make_world: Callable[..., World]) -> None:
    """A file that is taken out of `sent/` is asked after once more and ends as taken; its sidecar is cleared away."""
    world = make_world(deliver_after=3600, outbound={"rescan": "100ms"})
    world.put(world.outbound / "invoice.xml", invoice())
    with world.service() as service:
        world.until((world.outbound / "sent" / "invoice.xml").exists)
        document = in_state(world, service, State.SENT)
        (world.outbound / "sent" / "invoice.xml").rename(world.base / "mine.xml")
        assert has_become(world, service, document, State.TAKEN).msg_no == 1
        world.until(lambda: not list((world.outbound / "sent").iterdir()))
    assert [line["event"] for line in world.log()].count("document.taken") == 1


def test_renamed_in_sent(make_world: Callable[..., World], clock: Clock) -> None:
    """What a person has renamed in `sent/` is followed on, and gets its name back with its last place."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=1200)
    life = Life(world, clock)
    world.drop("invoice.xml", invoice())
    life.go_on(60)
    path = world.outbound / "sent" / "invoice.xml"
    path.rename(path.with_name("old.xml"))
    life.go_on(600)
    assert [lying.name for lying in path.parent.iterdir()] == ["old.xml"]
    life.go_on(3600)
    life.stop()
    assert world.places() == {"invoice.xml": "archive/2020-06"}
    assert (world.outbound / "archive" / "2020-06" / "invoice.xml").exists()
    world.invariants()
    assert uploads(world) == 1


def test_renamed_in_sent_with_its_sidecar(make_world: Callable[..., World], clock: Clock) -> None:
    """Likewise where the person has renamed the sidecar, too, and a document with the same size lies there."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=1200)
    life = Life(world, clock)
    for number in ("1", "2"):
        world.drop(f"invoice-{number}.xml", invoice(number))
    life.go_on(60)
    path = world.outbound / "sent" / "invoice-1.xml"
    path.rename(path.with_name("old.xml"))
    path.with_name("invoice-1.xml.json").rename(path.with_name("old.xml.json"))
    life.go_on(3600)
    life.stop()
    assert world.places() == {"invoice-1.xml": "archive/2020-06", "invoice-2.xml": "archive/2020-06"}
    assert not list(path.parent.iterdir())
    world.invariants()
    assert uploads(world) == 2


@pytest.mark.parametrize("is_delivered", [True, False], ids=["delivered", "not delivered"])
def test_changed_in_sent(make_world: Callable[..., World], clock: Clock, *, is_delivered: bool) -> None:
    """What a person has changed in `sent/` doesn't lie there for ever, but fails; the note says what became of it."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=600)
    life = Life(world, clock)
    world.drop("invoice.xml", invoice())
    life.go_on(60)
    path = world.outbound / "sent" / "invoice.xml"
    path.write_bytes(path.read_bytes() + b"\n")
    if not is_delivered:
        world.set_up_anew()
    life.go_on(3 * 3600)
    life.stop()
    assert not list((world.outbound / "sent").iterdir())
    assert (world.outbound / "failed" / "invoice.xml").read_bytes() == invoice() + b"\n"
    note = (world.outbound / "failed" / "invoice.xml.why.txt").read_text()
    became = f"What was sent before was {'delivered' if is_delivered else 'not delivered'}."
    assert became in note
    assert uploads(world) == 1


@pytest.mark.parametrize("duplicates", ["refuse", "allow"])
def test_moved_back_from_sent(make_world: Callable[..., World], duplicates: str) -> None:
    """A file that is moved from `sent/` back to `outbound/` is in `sent/` again soon, and is not posted again."""
    world = make_world(deliver_after=3600, outbound={"rescan": "100ms", "duplicates": duplicates})
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(lambda: world.settled(("sent",)))
        (world.outbound / "sent" / "invoice.xml").rename(world.outbound / "invoice.xml")
        world.until(lambda: world.settled(("sent",)))
        swept(world, service)
    world.invariants()
    assert uploads(world) == 1


def test_moved_back_beside_another_of_its_name(make_world: Callable[..., World]) -> None:
    """What is moved from `sent/` back to `outbound/` never takes a name in `sending/` that another document has there.

    That one's file is missing, and what comes to be known of it must not be done with this one.
    """
    world = make_world(deliver_after=3600, outbound={"rescan": "100ms"})
    world.drop("invoice.xml", invoice())
    world.settle(ends=("sent",))
    with locked_state(world.state) as journal:
        (sent,) = journal.documents.in_state(State.SENT)
        journal.documents.record(posted(drop(folder=sent.folder, file="invoice.xml")).doubted(NOON, "no answer"))
    (world.outbound / "sent" / "invoice.xml").rename(world.outbound / "invoice.xml")
    with world.service():
        world.until((world.outbound / "sent" / "invoice.xml").exists)
    assert [line["file"] for line in world.log() if line["event"] == "document.returned"] == ["invoice-2.xml"]


def test_moved_back_from_sent_while_nobody_looks(make_world: Callable[..., World]) -> None:
    """The same while filedrop doesn't run; a sidecar that was cleared away meanwhile is written again."""
    world = make_world(deliver_after=3600, outbound={"rescan": "100ms"})
    world.drop("invoice.xml", invoice())
    world.settle(ends=("sent",))
    (world.outbound / "sent" / "invoice.xml").rename(world.outbound / "invoice.xml")
    world.settle(ends=("sent",))
    world.invariants()
    assert uploads(world) == 1


@pytest.mark.parametrize(
    "beside", [(), (".json",), (".why.txt",), (".json", ".why.txt")], ids=["alone", "sidecar", "note", "both"]
)
def test_moved_back_from_failed(watchful: World, beside: tuple[str, ...]) -> None:
    """A failed document is sent when it is moved back to `outbound/`; its sidecar and note are cleared away."""
    watchful.front.next("POST /outbox", instead(413, "Too large for today"))
    watchful.drop("invoice.xml", invoice())
    watchful.settle()
    assert watchful.error("invoice.xml") == "rejected"
    for suffix in (*beside, ""):
        (watchful.outbound / "failed" / f"invoice.xml{suffix}").rename(watchful.outbound / f"invoice.xml{suffix}")
    watchful.settle(ends=("archive",))
    watchful.invariants()
    assert not list((watchful.outbound / "failed").iterdir())


def test_retry(watchful: World) -> None:
    """A failed document is sent by `filedrop retry` beside the daemon."""
    watchful.front.next("POST /outbox", instead(413, "Too large for today"))
    watchful.drop("invoice.xml", invoice())
    with watchful.service():
        watchful.until(lambda: watchful.settled(("failed",)))
        assert watchful.filedrop("retry", "acme", "invoice.xml").returncode == 0
        watchful.until(lambda: watchful.settled(("archive",)))
    watchful.invariants()


def test_another_filedrops_folder(watchful: World) -> None:
    """A folder that another filedrop serves is left alone, until a person says that the other one is gone."""
    world = watchful
    world.drop("old.xml", invoice("1"))
    world.settle()
    shutil.rmtree(world.state)
    world.drop("new.xml", invoice("2"))
    world.put(world.outbound / "copy.xml", invoice("1"))
    with world.service() as service:
        pipeline = service.accounts[0].pipelines[0]
        world.until(lambda: pipeline.health.trouble)
        assert "another filedrop serves this folder" in pipeline.health.trouble
        assert world.places()["new.xml"] == "."
        assert world.filedrop("check", "--take-over").returncode == 0
        world.until((world.outbound / "failed" / "copy.xml").exists)
        world.until(lambda: world.places().get("new.xml", "").startswith("archive/"))
    error = json.loads((world.outbound / "failed" / "copy.xml.json").read_bytes())["error"]
    assert error["code"] == "duplicate"
    assert world.accepted() == {"old.xml": 1, "new.xml": 1}


@pytest.mark.slow
def test_a_second_daemon(world: World) -> None:
    """A second daemon with the same state says that one runs already and ends with 2; the first one goes on."""
    world.drop("one.xml", invoice("1"))
    with world.daemon() as first:
        world.until(world.settled)
        second = world.process("run")
        assert second.returncode == 2
        assert "another filedrop is running" in second.stderr
        world.drop("two.xml", invoice("2"))
        world.until(world.settled)
        assert first.poll() is None
        world.stop(first)
    world.invariants()


def test_papers_that_changed_places_behind_our_back(tmp_path: Path) -> None:
    """Cut off before an accepted document was put away, another one's file put in its place isn't taken for it."""
    own, other = invoice("own"), invoice("other", receiver=None)
    with World(tmp_path, outbound={"workers": "1", "rescan": "100ms"}) as world:
        world.put(world.outbound / "invoice.xml", other)
        world.run_once()
        world.drop("invoice.xml", own)
        # The row, the request, the row; the sidecar would be next.
        assert live(world, finished=1, received=0, pull_at=whole_run(tmp_path / "whole").index("send") + 3) is None
        (world.outbound / "sending" / "invoice.xml").rename(world.outbound / "invoice.xml")
        (world.outbound / "failed" / "invoice.xml").rename(world.outbound / "sending" / "invoice.xml")
        world.settle(ends=("archive",))
        assert world.accepted() == {"invoice.xml": 1}
        assert world.sidecar("invoice.xml")["msg_no"] == 1
        with world.service():
            failed = world.outbound / "failed"
            world.until(lambda: [path for path in failed.glob("*.xml") if path.read_bytes() == other], what="it fails")


def whole_run(base: Path) -> list[str]:
    """The side effects of sending a document."""
    base.mkdir()
    with World(base, outbound={"workers": "1"}) as world:
        world.run_once()
        world.drop("invoice.xml", invoice("own"))
        steps = live(world, finished=1, received=0)
        assert steps is not None
        return steps


@pytest.mark.skipif(sys.platform == "win32", reason="side effects are counted as Linux has them")
def test_retried_and_failed_again_at_once(make_world: Callable[..., World], clock: Clock) -> None:
    """What `retry` has put back, and has failed again before the command ends, has its sidecar and its note."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    world.drop("invoice.xml", invoice("1", receiver=None))
    life.touch()
    life.go_on(60)
    assert world.places() == {"invoice.xml": "failed"}
    before = world.sidecar("invoice.xml")["id"]

    def fail_again(what: str) -> None:
        if what == "unlink" and tap.steps.count(what) == 1:
            life.touch()
            life.go_on(60)

    with tapped(fail_again) as tap:
        assert world.filedrop("retry", "invoice.xml").returncode == 0
    assert world.places() == {"invoice.xml": "failed"}
    lying = sorted(path.name for path in (world.outbound / "failed").iterdir())
    assert len(lying) == 3
    assert world.sidecar("invoice.xml")["id"] != before
    life.stop()
    world.invariants()
