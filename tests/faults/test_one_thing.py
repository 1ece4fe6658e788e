"""One thing that is wrong holds up nothing else: a folder in the wrong place, a name, a number, a message."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest
from support.documents import BUYER, SELLER, invoice
from support.faults import cut_after, exactly, instead
from support.matrix import quick
from support.stepping import RULES, Life, touch
from support.world import PASSWORD

from filedrop.journal import MessageRow
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange
    from support.stepping import Clock
    from support.world import World

linux = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither such names nor /dev/full")
NOWHERE_TO_WRITE = ("sh", "-c", 'exec "$@" >/dev/full 2>&1', "sh")  # begins a command whose every line is refused


def test_a_folder_where_a_note_would_lie(world: World) -> None:
    """A folder called like a note is left alone, and what was dropped is sent all the same."""
    world.run_once()
    strange = world.outbound / "failed" / "old.xml.json"
    strange.mkdir()
    world.drop("invoice.xml", invoice("1"))
    with world.service():
        world.until(lambda: world.places().get("invoice.xml", "").startswith("archive"))
    assert strange.is_dir()
    strange.rmdir()
    world.invariants()


@linux
def test_a_name_that_is_not_unicode_in_the_channel(world: World) -> None:
    """What a mapping rule takes from such a file name goes to nobody as it is, and the next document is sent."""
    text = world.config_text() + "mapping:\n  - {file: '(?P<who>.*)-.*[.]xml', channel: '{who}'}\n"
    world.config_text = lambda: text  # type: ignore[method-assign] # this world's own rule
    world.run_once()
    odd = os.fsdecode(b"Sm\xf8r-1.xml")
    (world.outbound / odd).write_bytes(invoice("1"))
    (world.outbound / "Ola-2.xml").write_bytes(invoice("2"))
    with world.service():
        world.until(lambda: len(world.sandbox.store.sent("acme")) == 2)
        world.until(lambda: not list(world.outbound.glob("*.xml")))
        world.until(lambda: not list((world.outbound / "sending").glob("*.xml")))


@linux
def test_a_log_on_a_full_disk(world: World) -> None:
    """Where the log can't be written, documents and messages go their ways all the same, and a stop is a stop."""
    world.drop("invoice.xml", invoice("1"))
    world.receive(invoice("2"))
    with world.daemon(under=NOWHERE_TO_WRITE) as daemon:
        world.until(world.settled)
        daemon.terminate()
        daemon.wait()
    assert json.loads((world.root / "status.json").read_bytes())["running"] is False
    world.invariants()


@pytest.mark.slow
@linux
def test_progress_on_a_full_disk(world: World) -> None:
    """Where `run --once` can't say what it does, it does it all the same, and leaves nothing to the next run."""
    world.drop("invoice.xml", invoice("1"))
    world.receive(invoice("2"))
    done = world.process("run", "--once", under=NOWHERE_TO_WRITE)
    assert done.returncode == 1
    assert world.process("run", "--once").stdout.splitlines()[-1] == "0 sent, 0 failed, 0 received"
    world.invariants()


def test_the_longest_name_that_a_folder_holds(world: World) -> None:
    """A name of 255 bytes is sent, filed under a shorter one, and remembered."""
    world.run_once()
    name = "x" * 251 + ".xml"
    (world.outbound / name).write_bytes(invoice("1"))
    with world.service():
        world.until(lambda: [path.parent.parent.name for path in world.files()] == ["archive"])
    (filed,) = (world.outbound / "archive").rglob("*.xml")
    assert len(os.fsencode(filed.name)) <= 200
    assert json.loads(filed.with_name(f"{filed.name}.json").read_bytes())["dropped_as"] == name


@pytest.mark.parametrize("status", quick([403, 500]))
def test_a_number_that_is_not_answered(make_world: Callable[..., World], clock: Clock, status: int) -> None:
    """Where the access point can't answer about one message, what became of the others is heard all the same."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.sandbox.store.connect({SELLER: "acme"})  # what is for the buyer is never delivered
    life.take(world, "first.xml")
    world.sandbox.store.deliver()
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
    world.front.always(exactly("GET", "/outbox/1"), instead(status))
    life.take(world, "second.xml")
    life.go_on(4 * 3600)
    life.stop()
    assert world.front.asked("GET /outbox/1")
    assert {name: place.split("/")[0] for name, place in world.places().items()} == {
        "first.xml": "sent", "second.xml": "archive",
    }  # fmt: skip
    assert not [line for line in world.log() if line["event"] == "account.paused"]


@pytest.mark.parametrize("status", quick([403, 500]))
def test_a_message_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, status: int) -> None:
    """Where one message can't be compared with what is in doubt, the others are, and nothing else waits for it."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("GET /messages/1/", instead(status))
    life.take(world, "first.xml", cut_after)
    life.take(world, "second.xml", cut_after)
    life.take(world, "third.xml")
    life.go_on(3600)
    life.stop()
    assert {name: place.split("/")[0] for name, place in world.places().items()} == {
        "first.xml": "sending", "second.xml": "archive", "third.xml": "archive",
    }  # fmt: skip
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not [line for line in world.log() if line["event"] == "account.paused"]


@pytest.mark.parametrize("status", quick([403, 404, 500]))
@pytest.mark.parametrize("which", quick(["messages", "outbox", "inbox"]))
def test_a_list_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, which: str, status: int) -> None:
    """Where one list is refused, though the login and the address are good, documents are sent all the same."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=100_000)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always(exactly("GET", f"/{which}"), instead(status))
    life.take(world, "first.xml", cut_after)
    for nth in range(8):
        life.take(world, f"{nth}.xml")
        life.go_on(240)
        assert world.places()[f"{nth}.xml"] == "sent"
    life.stop()
    assert str(status) in life.service.accounts[0].access_point.cut_short[which]
    assert not [line for line in world.log() if line["event"] == "account.paused"]


@pytest.mark.parametrize("status", [404, 500, 504])
def test_figures_that_are_not_given_out(make_world: Callable[..., World], clock: Clock, status: int) -> None:
    """Where only the account's figures can't be had, documents are sent and received all the same."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    world.front.always("GET /statistics", instead(status))
    world.receive(invoice("1"))
    life = Life(world, clock)
    life.take(world, "first.xml")
    life.go_on(600)
    life.stop()
    assert world.places()["first.xml"].startswith("archive/")
    assert len(world.delivered()) == 1
    assert not [line for line in world.log() if line["event"] == "account.paused"]


def test_a_share_that_is_away_after_a_kill(make_world: Callable[..., World], clock: Clock) -> None:
    """What was on the wire from a folder that is away after a kill keeps no other document in doubt."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=100_000)
    other, away = world.root / "acme" / "other", world.root / "away"
    folders = f"['{world.outbound}', '{other}']"
    world._companies["acme"] = f'{{participants: ["{SELLER}"], outbound: {folders}}}'
    life = Life(world, clock)
    life.go_on(10)
    world.drop("invoice.xml", invoice("1"))
    world.put(other / "other.xml", invoice("2"))
    for pipeline in life.service.accounts[0].pipelines:
        touch(pipeline)
    for _ in range(4):
        life.turn()
        life.do_each("step")
        clock.pass_on(3)
    assert life.jobs.count("send") == 2
    life.do_each("send")
    life.drop()
    other.rename(away)
    life = Life(world, clock)
    life.go_on(3600)
    life.stop()
    away.rename(other)
    assert world.places() == {"invoice.xml": "sent"}
    life = Life(world, clock)
    life.go_on(3600)
    life.stop()
    assert (other / "sent" / "other.xml").exists()
    assert len(world.sandbox.store.sent("acme")) == 2


def test_a_waiver_lasts_until_the_document_is_through(make_world: Callable[..., World]) -> None:
    """`retry --anyway` lets its document through even where the first attempt doesn't reach the access point."""
    world = make_world()
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    (world.outbound / "again.xml").write_bytes(invoice("1"))
    with world.service():
        world.until((world.outbound / "failed" / "again.xml").exists)
        world.front.next("POST /outbox", instead(429), instead(429), instead(429))
        assert world.filedrop("retry", "--anyway", "acme", "again.xml").returncode == 0
        world.until(lambda: len(world.sandbox.store.sent("acme")) == 2)
        world.until(lambda: not (world.outbound / "sending" / "again.xml").exists())


def test_a_message_whose_folder_was_changed(world: World) -> None:
    """A message that was fetched into a folder which is this company's no more is not taken for delivered."""
    number = world.receive(invoice("1"))
    before = world.root / "before"
    before.mkdir()
    (before / ".filedrop").write_text('{"folder": "1", "journal": "1"}')
    draft = before / ".01M7WP6SPG2CX5P8G1H5HZMW4M.part"
    draft.write_bytes(invoice("1"))
    (message,) = world.sandbox.store.inbox("acme")
    with locked_state(world.state) as journal:
        received = answers_time(world, number)
        journal.messages.record(
            MessageRow(
                identity="acme@127.0.0.1",
                msg_no=message.msg_no,
                received=received,
                sender=message.sender,
                receiver=message.receiver,
                state="named",
                company="acme",
                folder=str(before),
                temporary=draft.name,
            )
        )
    world.run_once()
    assert len(world.delivered()) == 1
    assert not draft.exists()
    shutil.rmtree(before)
    world.invariants()


def answers_time(world: World, number: int) -> str:
    """When the message was received, as the access point writes it."""
    request = Request(f"{world.front.url}/inbox/{number}")
    request.add_header("Authorization", "Basic " + b64encode(f"acme:{PASSWORD}".encode()).decode())
    with urlopen(request) as answer:
        found = re.search("received>([^<]+)<", answer.read().decode())
    assert found
    return found[1]


@pytest.mark.parametrize("status", quick([403, 404, 500]))
def test_an_archive_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, status: int) -> None:
    """Where the archive isn't listed, deliveries are heard of all the same, by questions after single documents."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always(exactly("GET", "/messages"), instead(status))
    for nth in range(3):
        life.take(world, f"{nth}.xml")
    life.go_on(4 * 3600)
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    assert str(status) in life.service.accounts[0].access_point.cut_short["messages"]
    assert not [line for line in world.log() if line["event"] == "account.paused"]
    life.stop()


@pytest.mark.parametrize("status", quick([200, 403, 404, 500], 2))
def test_an_outbox_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, status: int) -> None:
    """Where the outbox isn't listed, deliveries are heard of all the same, and what isn't delivered doesn't fail."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=7200)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always(exactly("GET", "/outbox"), instead(status))
    for nth in range(3):
        life.take(world, f"{nth}.xml")
    life.go_on(6000)
    assert set(world.places().values()) == {"sent"}
    life.go_on(6000)
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    assert life.service.accounts[0].access_point.cut_short["outbox"]
    assert not [line for line in world.log() if line["event"] == "account.paused"]
    life.stop()


def test_a_delivery_in_the_year_1(make_world: Callable[..., World], clock: Clock) -> None:
    """What some servers write for "never" is no delivery: the document is on its way until there is one."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3600)

    def never(exchange: Exchange) -> None:
        answer = exchange.arrive()
        body = answer.body
        if b"<delivered>" not in body:
            body = body.replace(b"</received>", b"</received><delivered>0001-01-01T00:00:00Z</delivered>")
        exchange.answer(answer.status, body, [("Content-Type", "application/xml")])

    world.front.always(lambda request: request.path.startswith("/outbox"), never)
    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "first.xml")
    life.go_on(600)
    assert world.places() == {"first.xml": "sent"}
    life.go_on(2 * 3600)
    assert world.places()["first.xml"].startswith("archive/2020-06")
    life.stop()
