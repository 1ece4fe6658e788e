"""`filedrop messages`, `download`, `read` and `statistics`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.documents import BUYER, SELLER, invoice, order

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


def test_messages(filedrop: Filedrop, world: World) -> None:
    """Messages lists all pages of the archive, or what was asked for."""
    numbers = [world.receive(order(str(nth), receiver=SELLER)) for nth in range(30)]
    world.drop("invoice.xml", invoice())
    world.run_once()
    told = list(map(json.loads, filedrop("messages", "--json").stdout.splitlines()))
    assert {one["msg_no"] for one in told} > set(numbers)
    assert len(told) == 31
    (sent,) = map(json.loads, filedrop("messages", "--direction", "OUT", "--json").stdout.splitlines())
    assert sent["receiver"] == BUYER
    assert filedrop("messages", "--sent", "<2020-01-01", "--json").stdout == ""
    assert len(filedrop("messages", "--sent", ">=2020-01-01", "--limit", 3, "--json").stdout.splitlines()) == 3
    assert filedrop("messages", "--sent", "yesterday").returncode == 2


def test_download(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Download writes a message's document to a file, and overwrites none."""
    number = world.receive(order())
    target = tmp_path / "order.xml"
    assert filedrop("download", number, "-o", target).returncode == 0
    assert target.read_bytes() == order()
    assert filedrop("download", number, "-o", target).returncode == 1
    done = filedrop("download", 4711, "-o", target)
    assert done.returncode == 1
    assert "has no document for message 4711" in done.stderr
    assert target.read_bytes() == order()


def test_deliver_again(filedrop: Filedrop, world: World) -> None:
    """Download --deliver puts a message into its inbound folder again, with a sidecar, beside the first."""
    number = world.receive(order())
    world.run_once()
    (first,) = world.delivered()
    done = filedrop("download", number, "--deliver")
    assert done.returncode == 0, done.stderr
    second = next(path for path in world.delivered() if path != first)
    assert done.stdout.strip() == str(second)
    assert second.read_bytes() == first.read_bytes()
    assert json.loads(second.with_name(f"{second.name}.json").read_text())["msg_no"] == number


def test_read(filedrop: Filedrop, world: World) -> None:
    """Read marks a message of the inbox as read, so that it isn't fetched; of a number that isn't there, it says so."""
    number = world.receive(order())
    assert filedrop("read", number).returncode == 0
    assert not world.sandbox.store.inbox("acme")
    done = filedrop("read", 4711)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the inbox has no message 4711" in done.stderr


def test_statistics(filedrop: Filedrop, world: World) -> None:
    """Statistics shows the account's figures."""
    world.receive(order())
    told = json.loads(filedrop("statistics", "--json").stdout)
    assert told["incoming"]["total"] == 1
    assert "1" in filedrop("statistics").stdout
