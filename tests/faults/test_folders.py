"""What happens in the folders behind filedrop's back: shares that go away, files that people move, others' files."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest
from support.disks import foreign
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice
from support.faults import answered, cut_after, reset_before
from support.plug import live
from support.world import World

from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Exchange

    from filedrop.daemon.daemon import Daemon

EITHER_RULE = pytest.mark.parametrize("duplicates", ["refuse", "allow"])
THIRD = "0192:991825827"


class Share:
    """A company's outbound folder as a share that can go away: then an empty folder is left in its place."""

    def __init__(self, world: World) -> None:
        self._here = world.outbound
        self._away = world.base / "unmounted"

    def unmount(self) -> None:
        self._here.rename(self._away)
        self._here.mkdir()

    def mount(self) -> None:
        self._here.rmdir()  # fails if anything was put into it
        self._away.rename(self._here)


def trouble(service: Daemon) -> str:
    """Why the outbound folder is unavailable; "" while it isn't."""
    return service.accounts[0].pipelines[0].health.trouble


def wait_for_sweeps(world: World, service: Daemon, number: int, *, seconds: float = 90.0) -> None:
    """Until the outbound folder has been looked at so many times more."""
    pipeline = service.accounts[0].pipelines[0]
    for _ in range(number):
        world.compared(pipeline, seconds / number)


@EITHER_RULE
def test_the_share_goes_away_while_a_document_is_posted(make_world: Callable[..., World], duplicates: str) -> None:
    """A document whose folder went away before it could be put away is put away when the folder is back."""
    world = make_world(outbound={"duplicates": duplicates})
    share = Share(world)
    world.run_once()

    def unmount(exchange: Exchange) -> None:
        share.unmount()
        answered(exchange)

    world.front.next("POST /outbox", unmount)
    world.drop("invoice.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: trouble(service), what="the folder is missed")
        share.mount()
        world.until(world.settled)
    world.invariants()


def test_the_share_is_away_when_a_document_is_delivered(make_world: Callable[..., World]) -> None:
    """A document that is delivered while its folder is away is archived when the folder is back."""
    world = make_world(deliver_after=0.5)
    share = Share(world)
    world.drop("invoice.xml", invoice("1"))
    world.settle(ends=("sent",))
    share.unmount()
    with world.service() as service:
        world.until(lambda: trouble(service), what="the folder is missed")
        world.until(lambda: not service.journal.documents.in_state(State.SENT), what="the delivery is heard")
        share.mount()
        world.until(world.settled)
    world.invariants()


def test_nothing_is_made_where_the_share_should_be(world: World) -> None:
    """While a folder that is known isn't there, nothing is created in its place, and the company is said to wait."""
    share = Share(world)
    world.run_once()
    share.unmount()
    with world.service() as service:
        world.until(lambda: trouble(service))
        assert "isn't mounted" in trouble(service)
        assert not list(world.outbound.iterdir())
        share.mount()
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
    world.invariants()


def test_a_folder_in_sending(world: World) -> None:
    """A folder that somebody made in `sending/` under a document's name holds up nothing."""
    world.run_once()
    (world.outbound / "sending" / "mine.xml").mkdir()
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    world.invariants()


@EITHER_RULE
def test_the_journal_is_slow(make_world: Callable[..., World], duplicates: str) -> None:
    """While the journal can't be written for several sweeps, a claimed file stays the one document that it is."""
    world = make_world(outbound={"duplicates": duplicates, "rescan": "100ms"})
    world.run_once()
    with (
        world.service() as service,
        closing(sqlite3.connect(world.state / "journal.sqlite", isolation_level=None)) as other,
    ):
        pipeline = service.accounts[0].pipelines[0]
        world.until(lambda: pipeline.was_scanned)
        other.execute("BEGIN IMMEDIATE")
        world.drop("invoice.xml", invoice("1"))
        world.until(lambda: world.places().get("invoice.xml") == "sending")
        with suppress(AssertionError):  # a sweep may wait for the journal, too
            wait_for_sweeps(world, service, 3, seconds=3)
        other.execute("ROLLBACK")
        world.until(world.settled)
    world.invariants()


def just_moved(tmp_path: Path, *, deliver_after: float) -> World:
    """A world whose filedrop died when it had moved a document into `sent/`, before the journal knew it."""
    with dropped(tmp_path / "whole", deliver_after=3600) as world:
        steps = live(world, finished=0, received=0)
    assert steps
    for step in range(len(steps), 0, -1):  # the last thing that happens there is that the journal hears of the move
        world = dropped(tmp_path / str(step), deliver_after=deliver_after)
        if live(world, finished=1, received=0, pull_at=step) is None and world.places()["invoice.xml"] == "sent":
            return world
        world.__exit__()
    raise AssertionError


def dropped(base: Path, *, deliver_after: float) -> World:
    """A world with one document to be sent, in folders that filedrop has served before."""
    base.mkdir()
    world = World(base, outbound={"workers": "1", "rescan": "100ms"}, deliver_after=deliver_after)
    world.run_once()
    world.drop("invoice.xml", invoice("1"))
    return world


def test_a_copy_of_what_was_just_sent(tmp_path: Path) -> None:
    """A copy that is dropped right after a crash is a duplicate, and not mistaken for the document's own file."""
    with just_moved(tmp_path, deliver_after=3600) as world:
        world.put(world.outbound / "copy.xml", invoice("1"))
        with world.service():
            world.until((world.outbound / "failed" / "copy.xml").exists)
        assert (world.outbound / "sent" / "invoice.xml").exists(), str(world)
        assert world.accepted() == {"invoice.xml": 1}


def test_a_document_is_delivered_before_its_move_is_known(tmp_path: Path) -> None:
    """A document whose move into `sent/` was cut off ends in `archive/`, even if its delivery is heard first."""
    with just_moved(tmp_path, deliver_after=0) as world:
        share = Share(world)
        share.unmount()
        with world.service() as service:
            world.until(lambda: trouble(service), what="the folder is missed")
            wait_for_sweeps(world, service, 5)  # time enough to hear of the delivery
            share.mount()
            world.until(world.settled)
        world.invariants()


def test_a_folder_hangs_whose_document_is_looked_for(make_world: Callable[..., World]) -> None:
    """While a folder hangs whose document was taken in doubt, what is in doubt of another folder is found."""
    world = make_world(outbound={"rescan": "100ms", "doubt": "1m"}, companies={"fjord": "{participants: []}"})
    fjord = world.root / "fjord" / "outbound"
    fjord.mkdir(parents=True)
    world.run_once()
    world.front.next("POST /outbox", reset_before, cut_after)
    world.put(world.outbound / "invoice.xml", invoice("1"))
    with world.service() as service:
        gone = service.accounts[0].context.missing
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))
        (world.outbound / "sending" / "invoice.xml").unlink()
        world.until(lambda: gone._was_asked, what="the file is missed")
        with foreign(world.outbound, "fuse", answers=False):
            world.put(fjord / "invoice.xml", invoice("2"))
            world.until((fjord / "sent" / "invoice.xml").exists)


def test_two_accounts_share_a_folder_for_nobodys_messages(make_world: Callable[..., World]) -> None:
    """What one account is just writing into the shared folder isn't cleared away by another's first look at it."""
    world = make_world()
    shared = world.root / "unassigned"
    world.sandbox.store.connect({SELLER: "acme", THIRD: "acme", BUYER: "buyer"})
    text = world.config_text()
    world.config_text = lambda: (  # type: ignore[method-assign] # this world has two accounts
        text.replace("unassigned: leave", f"unassigned: {shared}")
        .replace("accounts:\n", f"accounts:\n  other: {{base_url: '{world.front.url}', username: buyer, "
                                f"password_file: '{world.password_file}'}}\n")
        .replace("acme: {participants", "acme: {account: main, participants")
    )  # fmt: skip

    def receive(receiver: str, content: bytes) -> int:
        return world.sandbox.store.receive(
            sender=SELLER, receiver=receiver, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=content
        )

    def while_the_other_comes(exchange: Exchange) -> None:
        receive(THIRD, invoice("2"))
        world.until(lambda: len(list(shared.glob("*.xml"))) == 1)
        answered(exchange)

    world.front.next(f"GET /messages/{receive(BUYER, invoice('1'))}/", while_the_other_comes)
    with world.service():
        world.until(lambda: not world.sandbox.store.inbox("buyer") and not world.sandbox.store.inbox("acme"))
    assert sorted(path.read_bytes() for path in shared.glob("*.xml")) == [invoice("1"), invoice("2")]
