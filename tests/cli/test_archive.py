"""`filedrop messages`, `download`, `read` and `statistics`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli.conftest import COMMAND, PROJECT
from support.documents import BUYER, SELLER, invoice, order
from support.faults import answered, instead
from support.terminal import on_terminal

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
    for sign, count in (("=>", 31), ("=<", 0)):
        assert len(filedrop("messages", "--sent", f"{sign}2020-01-01", "--json").stdout.splitlines()) == count
    assert filedrop("messages", "--sent", "yesterday").returncode == 2


def test_messages_of_a_participant(filedrop: Filedrop, world: World) -> None:
    """A participant is meant with the name of its scheme before it, too, as SMP and envelopes write it."""
    world.receive(order("1", receiver=SELLER))
    world.drop("invoice.xml", invoice())
    world.run_once()
    for option, participant, direction in (("--receiver", BUYER, "OUT"), ("--sender", BUYER, "IN")):
        (found,) = filedrop("messages", option, f"iso6523-actorid-upis::{participant}", "--json").stdout.splitlines()
        assert json.loads(found)["direction"] == direction


def test_the_newest_come_first(filedrop: Filedrop, world: World) -> None:
    """Messages begins with the newest, and a limit leaves out the oldest."""
    numbers = [world.receive(order(str(nth), receiver=SELLER)) for nth in range(30)]

    def told(*arguments: object) -> list[int]:
        return [json.loads(line)["msg_no"] for line in filedrop("messages", "--json", *arguments).stdout.splitlines()]

    assert told() == numbers[::-1]
    assert told("--limit", 3) == told("--limit", 3, "--sent", ">=2020-01-01") == numbers[:-4:-1]
    assert told("--limit", 3, "--sent", "<2020-01-01") == []
    assert told("--limit", 40) == numbers[::-1]
    first = filedrop("messages", "--limit", 1).stdout.splitlines()[1]
    assert first.startswith(str(numbers[-1]))


def test_enough_of_them_are_whole(filedrop: Filedrop, world: World) -> None:
    """That one day could not be read to its end is no trouble where ten days could be."""
    for nth in range(30):
        world.receive(order(str(nth), receiver=SELLER))
    world.front.next("GET /messages", answered, instead(200, b"<no page"))
    done = filedrop("messages", "--json", "--limit", 28)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 28


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
def test_ids_are_whole_on_a_terminal(world: World, options: list[str]) -> None:
    """On a terminal of 80 columns no id is broken: each can be copied, and no line of words is longer than that."""
    senders = ["0192:810418052", "0088:7300010000001234567890"]
    numbers = [world.receive(order(sender=sender), sender=sender) for sender in senders]
    shown = on_terminal(*COMMAND, *options, "messages")
    assert {*map(str, numbers), *senders, SELLER} <= set(shown.split())
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    world.drop("invoice.xml", invoice("1", receiver=BUYER))
    assert {SELLER, BUYER, "invoice.xml"} <= set(
        on_terminal(*COMMAND, *options, "check", str(world.outbound / "invoice.xml")).split()
    )


def test_download(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Download writes a message's document to a file, and overwrites none."""
    number = world.receive(order())
    target = tmp_path / "order.xml"
    assert filedrop("download", number, "-o", target).returncode == 0
    assert target.read_bytes() == order()
    assert filedrop("download", number, "-o", target).returncode == 1
    new = tmp_path / "new.xml"
    assert json.loads(filedrop("download", number, "-o", new, "--json").stdout) == {"msg_no": number, "file": str(new)}
    assert filedrop("download", number, "-o", "-", "--json").returncode == 2
    done = filedrop("download", 4711, "-o", target)
    assert done.returncode == 1
    assert "has no document for message 4711" in done.stderr
    assert target.read_bytes() == order()


def test_download_to_stdout(filedrop: Filedrop, world: World) -> None:
    """With `-o -` the document goes to stdout, and nothing else does."""
    number = world.receive(order())
    done = filedrop("download", number, "-o", "-")
    assert (done.returncode, done.stdout) == (0, order().decode())
    assert filedrop("download", 4711, "-o", "-").stdout == ""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root acts as another")
def test_root_downloads_into_a_folder_of_its_own(world: World, tmp_path: Path) -> None:
    """Root, who else acts as the owner of the state, gets a file of root's own, also where that owner may not write."""
    number = world.receive(order())
    world.run_once()
    os.chown(world.state, 12345, 54321)
    config, private = tmp_path / "config.yaml", tmp_path / "private"
    config.write_text(world.config_text().replace(f"password_file: '{world.password_file}'", "password_env: PASSWORD"))
    private.mkdir(mode=0o700)
    # Loaded while we are root: Python may lie in root's own folder.
    load = "import filedrop.cli.archive, filedrop.accesspoint.transport; from filedrop.cli import main; main()"
    words = ["--config", str(config), "download", str(number), "-o", str(private / "order.xml")]
    command = [sys.executable, "-c", load, *words]
    environment = os.environ | {"PASSWORD": "secret"}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (private / "order.xml").read_bytes() == order()
    assert (private / "order.xml").stat().st_uid == 0


def test_deliver_again(filedrop: Filedrop, world: World) -> None:
    """Download --deliver puts a message into its inbound folder again, with a sidecar, beside the first."""
    number = world.receive(order())
    world.run_once()
    (first,) = world.delivered()
    done = filedrop("download", number, "--deliver", "--again")
    assert done.returncode == 0, done.stderr
    second = next(path for path in world.delivered() if path != first)
    assert done.stdout.strip() == str(second)
    assert second.read_bytes() == first.read_bytes()
    assert json.loads(second.with_name(f"{second.name}.json").read_text())["msg_no"] == number


def beside(document: Path) -> Path:
    """A document's sidecar."""
    return document.with_name(f"{document.name}.json")


def test_what_a_restored_share_lacks(filedrop: Filedrop, world: World) -> None:
    """--missing names what isn't in its folder any more; --deliver puts it there, and what is there with --again."""
    lost, taken, kept = (world.receive(order(name)) for name in ("lost", "taken", "kept"))
    world.run_once()
    paths = {json.loads(beside(path).read_text())["msg_no"]: path for path in world.delivered()}
    for path in (paths[lost], beside(paths[lost]), paths[taken]):
        path.unlink()
    rows = [json.loads(line) for line in filedrop("messages", "--missing", "--json").stdout.splitlines()]
    assert {row["msg_no"]: (row["number"], row["file"], row["state"]) for row in rows} == {
        lost: ("lost", str(paths[lost]), "missing or taken"),
        taken: ("taken", str(paths[taken]), "taken"),
    }
    shown = filedrop("messages", "--missing").stdout
    assert str(paths[lost]) in shown
    assert str(paths[kept]) not in shown
    before = sorted(world.inbound.iterdir())
    done = filedrop("download", kept, "--deliver")
    assert done.returncode == 1
    assert f"as {paths[kept]}; to put it there once more, add --again" in done.stderr
    assert sorted(world.inbound.iterdir()) == before
    (world.inbound / "accepted").mkdir()
    for path in (paths[kept], beside(paths[kept])):
        path.rename(world.inbound / "accepted" / path.name)
    done = filedrop("download", kept, "--deliver")
    assert f"as {world.inbound / 'accepted' / paths[kept].name}; to put it" in done.stderr
    assert filedrop("download", lost, "--deliver").stdout.strip() == str(paths[lost])
    world.inbound.rename(world.inbound.with_name("away"))
    done = filedrop("messages", "--missing")
    assert (done.returncode, done.stdout) == (1, "")
    assert "what is missing can't be told" in done.stderr


def test_read(filedrop: Filedrop, world: World) -> None:
    """Read marks a message of the inbox as read, so that it isn't fetched; of a number that isn't there, it says so."""
    number = world.receive(order())
    assert filedrop("read", number).returncode == 0
    assert not world.sandbox.store.inbox("acme")
    done = filedrop("read", 4711)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the inbox has no message 4711" in done.stderr


def test_several_accounts(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Where there are several accounts, the command that an error names says for which of them."""
    second = "accounts:\n  second: {base_url: https://ap.example.com, username: me, password_env: NOTHING}"
    text = world.config_text().replace("accounts:", second).replace("acme: {", "acme: {account: main, ")
    config = tmp_path / "two.yaml"
    config.write_text(text)
    for command in (("read", 4711), ("download", 4711, "--deliver")):
        done = filedrop(*command, "--account", "main", config=config)
        assert done.returncode == 1
        assert "see filedrop messages --direction IN --account main" in done.stderr


def test_statistics(filedrop: Filedrop, world: World) -> None:
    """Statistics shows the account's figures."""
    world.receive(order())
    told = json.loads(filedrop("statistics", "--json").stdout)
    assert told["incoming"]["total"] == 1
    assert "1" in filedrop("statistics").stdout
