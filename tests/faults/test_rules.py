"""Mapping rules that take long or ask what doesn't answer: expressions and XPaths that run away, tables that hang."""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.disks import foreign
from support.documents import BUYER, SELLER, invoice, order
from support.matrix import quick
from support.world import World

from filedrop.config import agreement
from filedrop.identify import mapping, table
from filedrop.journal import JOURNAL
from filedrop.status.status_file import StatusFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from filedrop.daemon.daemon import Daemon

SLOW = "a" * 150 + ".xml"
OTHER = "0088:7300010000001"
RUNS_AWAY = """
mapping:
  - {file: '(?P<number>(a|aa)+)b\\.xml', receiver: '0192:{number}'}
"""


class Ruled(World):
    """A world with these keys in its configuration, too."""

    def __init__(self, base: Path, keys: str, **changes: dict[str, str]) -> None:
        super().__init__(base, **changes)
        self.keys = keys

    def config_text(self) -> str:
        """The world's own configuration, and below it these keys."""
        return super().config_text() + self.keys

    def note(self, name: str) -> str:
        """What is said of a document that failed."""
        return (self.outbound / "failed" / f"{name}.why.txt").read_text("utf-8")


def test_an_expression_that_runs_away(tmp_path: Path) -> None:
    """A name with which a rule's `file` runs away fails with the rule's line; all others go on, and a stop is heard."""
    with Ruled(tmp_path, RUNS_AWAY) as world, world.daemon() as daemon:
        world.drop(SLOW, invoice("1"))
        world.drop("invoice.xml", invoice("2"))
        world.until(lambda: world.accepted() == {"invoice.xml": 1} and world.error(SLOW) == "unreadable")
        line = world.config_text().splitlines().index(RUNS_AWAY.splitlines()[2]) + 1
        assert f"`file` of mapping 1 (line {line}) with the name" in world.note(SLOW)
        assert "run filedrop reload" in world.note(SLOW)
        for number in range(10):
            world.put(world.outbound / f"{number}{SLOW}", invoice(f"slow {number}"))
        world.stop(daemon)


def test_an_expression_that_would_have_run_away(tmp_path: Path) -> None:
    """A rule whose `file` has very many ways not to match a name doesn't match it, and the document goes as it says."""
    rule = r"mapping: [{file: '(?P<number>(\w+-?)+)\.pdf', receiver: '0192:{number}'}]"
    name = f"{'a' * 40}.xml"
    with Ruled(tmp_path, rule) as world:
        world.drop(name, invoice())
        world.run_once()
        assert world.accepted() == {name: 1}
        assert world.sidecar(name)["receiver"] == BUYER


@pytest.mark.slow
def test_an_expression_that_needn_t_be_asked(tmp_path: Path) -> None:
    """Whom a rule isn't for, or leaves nothing to tell, it can't hold up, whatever its `file` and the name."""
    earlier = "mapping: [{receiver: {xpath: //Note}}, {file: '((a|aa)+)b', receiver: '0192:2'}]"
    another = "mapping: [{file: '((a|aa)+)b', document: Order, receiver: '0192:2'}]"
    for keys, receiver in ((earlier, "Thank you for your order."), (another, BUYER)):
        with Ruled(tmp_path / receiver[0], keys) as world:
            world.drop(SLOW, invoice())
            done = world.filedrop("check", "--offline", "--json", str(world.outbound / SLOW))
            assert json.loads(done.stdout)["documents"][0]["receiver"] == receiver


@pytest.mark.slow
def test_an_xpath_that_runs_away(tmp_path: Path) -> None:
    """A document in which a rule's XPath looks for hours fails with the rule's line; others go on, and a stop works."""
    rule = """mapping: [{customization: '*:billing:3.0', receiver: {xpath: "//Note[//Note[//Note = 'x'] = 'y']"}}]"""
    with Ruled(tmp_path, rule) as world, world.daemon() as daemon:
        world.drop(
            "slow.xml", invoice("1").replace(b"<cbc:DueDate>", b"<cbc:Note>a</cbc:Note>" * 20_000 + b"<cbc:DueDate>")
        )
        world.until(lambda: world.error("slow.xml") == "unreadable")
        assert "mapping 1 (line " in world.note("slow.xml")
        assert "//Note[//Note[//Note = 'x'] = 'y'] in the document" in world.note("slow.xml")
        world.drop("order.xml", order("2", SELLER, BUYER))
        world.until(lambda: world.accepted() == {"order.xml": 1})
        world.stop(daemon, 25)


def test_globs(tmp_path: Path) -> None:
    """Names and CustomizationIDs that come close to a glob of many stars, in very many ways, are compared at once."""
    globs = f"['{'*a' * 30}*b.xml', '*.xml']"
    rule = f"mapping: [{{customization: '{'*a' * 200}*b', receiver: {OTHER}}}]"
    with Ruled(tmp_path, rule, outbound={"files": globs}) as world:
        world.drop(f"{'a' * 190}.xml", invoice(customization="a" * 300))
        world.run_once()
        assert list(world.accepted().values()) == [1]


BY_TABLE = """
mapping:
  - {file: 'T-(?P<customer>.*)\\.xml', receiver: {table: customers, key: '{customer}'}}
tables: {customers: TABLE}
"""
ENTRIES = f"customer,participant\n7,{BUYER}\n"


class Tabled(Ruled):
    """A world with a table on a share that doesn't answer, until `mend`."""

    def __init__(self, base: Path) -> None:
        self.table = base / "hangs" / "customers.csv"
        super().__init__(base, BY_TABLE.replace("TABLE", str(self.table)))
        self.share = ExitStack()
        self.share.enter_context(foreign(self.table.parent, "fuse.sshfs", answers=False))

    def mend(self) -> None:
        """The share is gone, and the table lies in its place."""
        self.share.close()
        self.table.write_text(ENTRIES)

    def tables(self, service: Daemon) -> list[str]:
        """What the daemon in this process writes into its status.json of the tables."""
        StatusFile(service.config, service.journal, service._log, tables=lambda: service.mapping.troubles).close(
            service.report()
        )
        told: list[str] = json.loads((self.root / "status.json").read_bytes())["tables"]
        return told


@pytest.fixture
def tabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tabled]:
    for asks in (agreement, mapping, table):
        monkeypatch.setattr(asks, "PATIENCE", 0.5)
    with Tabled(tmp_path) as world, world.share:
        yield world


def test_a_table_that_hangs(tabled: Tabled) -> None:
    """What needs a table that doesn't answer is claimed and waits, which is told; all else goes on. Then it is sent."""
    world = tabled
    with world.service() as service:
        world.drop("T-7.xml", invoice("1", receiver=OTHER))
        world.drop("invoice.xml", invoice("2"))
        world.until(lambda: world.accepted() == {"invoice.xml": 1} and world.places().get("T-7.xml") == "sending")
        world.until(lambda: any(event["event"] == "document.waits" for event in world.log()))
        (said,) = world.tables(service)
        assert said.startswith(f"table customers: {world.table} doesn't answer: documents that need it wait")
        assert said in ask(world, "status").says
        world.mend()
        world.until(world.settled)
        assert world.tables(service) == []
    world.invariants()
    assert world.sidecar("T-7.xml")["receiver"] == BUYER
    assert [line["event"] for line in world.sidecar("T-7.xml")["history"]][:3] == [
        "claimed", "not identified yet", "sending"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_table_that_hangs_for_one_run(tabled: Tabled) -> None:
    """A single run doesn't wait for a table that hangs: it ends with 1 and names what it left, also the next time."""
    world = tabled
    world.drop("T-7.xml", invoice("1", receiver=OTHER))
    for _ in range(2):
        done = world.process("run", "--once")
        assert done.returncode == 1
        assert f"acme: T-7.xml: waits in sending/: the table {world.table} doesn't answer" in done.stdout
    done = world.process("check")
    assert (done.returncode, f"{world.table} doesn't answer" in done.stdout.replace("\n", "")) == (1, True)
    world.mend()
    assert world.process("run", "--once").returncode == 0
    assert world.sidecar("T-7.xml")["receiver"] == BUYER
    assert world.accepted() == {"T-7.xml": 1}


@pytest.mark.parametrize("lost", quick(["nothing", "the journal"]))
def test_a_stop_while_a_table_hangs(tabled: Tabled, lost: str) -> None:
    """What waits for a table waits on after a start, also where the journal is lost meanwhile, and is sent once."""
    world = tabled
    world.drop("T-7.xml", invoice("1", receiver=OTHER))
    with world.service():
        world.until(lambda: world.places().get("T-7.xml") == "sending")
        world.until(lambda: any(event["event"] == "document.waits" for event in world.log()))
    if lost == "the journal":
        for file in world.state.glob(f"{JOURNAL}*"):
            file.unlink()
        assert ask(world, "check", "--take-over").status == 1  # for the table
    with world.service():
        heard = threading.Event()
        assert not heard.wait(1.0)  # nothing is to be heard: it must not be sent now
        assert world.places() == {"T-7.xml": "sending"}
        world.mend()
        world.until(world.settled)
    world.invariants()
    assert world.sidecar("T-7.xml")["receiver"] == BUYER


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes and devices to be linked to")
@pytest.mark.parametrize("what", ["pipe", "device", "folder", "gigabyte", "loop"])
def test_a_table_that_is_none(tmp_path: Path, what: str) -> None:
    """Whatever else lies in a table's place has no answer at a start; later, what was read before is still in use."""
    table = tmp_path / "customers.csv"
    with Ruled(tmp_path, BY_TABLE.replace("TABLE", str(table))) as world:
        (tmp_path / "real.csv").write_text(ENTRIES)
        table.symlink_to(tmp_path / "real.csv")
        with world.service():
            table.unlink()
            if what == "pipe":
                os.mkfifo(table)
            elif what == "device":
                table.symlink_to("/dev/zero")
            elif what == "folder":
                table.mkdir()
            elif what == "loop":
                table.symlink_to(table)
            else:
                with table.open("wb") as file:
                    file.truncate(10**9)
            world.drop("T-7.xml", invoice("1", receiver=OTHER))
            world.until(world.settled)
            assert world.sidecar("T-7.xml")["receiver"] == BUYER
        world.drop("T-8.xml", invoice("2", receiver=OTHER))
        for command in (("check",), ("run", "--once")):
            done = world.process(*command)
            assert done.returncode == 1
            assert str(table) in (done.stdout + done.stderr).replace("\n", "")
        assert world.accepted() == {"T-7.xml": 1}
