"""A file that one company alone needs is missing or broken at a start: that company waits, and all others go on."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import trustme
from support.commands import ask
from support.disks import foreign
from support.documents import BUYER, SELLER, invoice
from support.matrix import quick
from support.systems import hang_up
from support.world import PASSWORD, World

from filedrop.config import account, agreement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHER = "0088:7300010000001"
BY_TABLE = r"""
mapping:
  - {company: acme, file: 'T-(?P<customer>.*)\.xml', receiver: {table: customers, key: '{customer}'}}
tables: {customers: customers.csv}
"""
ENTRIES = f"customer,participant\n7,{BUYER}\n8,{BUYER}\n"
BROKEN = {
    "missing": None,
    "half written": f"customer,participant\n7,{BUYER[:-3]}",
    "a bad line": f"customer,participant\n7,{BUYER}\n9,0192:1,2\n",
}


@pytest.fixture
def tabled(tmp_path: Path) -> Iterator[World]:
    """A world with a table beside its configuration, which isn't there yet."""
    with World(tmp_path, companies={"globex": "{participants: []}"}, more=BY_TABLE) as world:
        yield world


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_table_at_a_start(tabled: World, content: str | None) -> None:
    """The daemon starts and says what is wrong; only what the table would decide waits, and goes by it in the end."""
    world, table = tabled, tabled.base / "customers.csv"
    (world.root / "globex" / "outbound").mkdir(parents=True)
    if content is not None:
        table.write_text(content)
    with world.service():
        world.drop("T-7.xml", invoice("1", receiver=OTHER))
        world.drop("invoice.xml", invoice("2"))
        world.put(world.root / "globex" / "outbound" / "theirs.xml", invoice("3"))
        world.until(lambda: world.accepted()["invoice.xml"] == 1 and world.places().get("T-7.xml") == "sending")
        world.until((world.root / "globex/outbound/archive").exists)
        world.until(lambda: any(event["event"] == "document.waits" for event in world.log()))
        assert "T-7.xml" not in world.accepted()
        table.write_text(ENTRIES)
        world.until(lambda: world.accepted()["T-7.xml"] == 1)
    assert world.sidecar("T-7.xml")["receiver"] == BUYER


@pytest.mark.parametrize("content", quick(BROKEN.values()), ids=list(BROKEN))
def test_table_of_a_single_run(tabled: World, content: str | None) -> None:
    """A single run sends the others, names what is left and why, and ends with 1, again and again."""
    world, table = tabled, tabled.base / "customers.csv"
    if content is not None:
        table.write_text(content)
    world.drop("T-7.xml", invoice("1", receiver=OTHER))
    world.drop("invoice.xml", invoice("2"))
    for _ in range(2):
        done = ask(world, "run", "--once")
        assert done.status == 1
        assert f"acme: T-7.xml: waits in sending/: the table {table}" in done.says
        assert world.accepted() == {"invoice.xml": 1}
    assert f"table customers: {table}" in ask(world, "status").says
    table.write_text(ENTRIES)
    assert ask(world, "run", "--once").status == 0
    assert world.sidecar("T-7.xml")["receiver"] == BUYER


def test_table_written_before_a_single_run(tmp_path: Path) -> None:
    """A single run waits until a table that was written just now counts as whole."""
    with World(tmp_path, more=BY_TABLE, outbound={"settle": "1s"}) as world:
        (world.base / "customers.csv").write_text(ENTRIES)
        world.drop("T-7.xml", invoice("1", receiver=OTHER))
        world.run_once()
        assert world.accepted() == {"T-7.xml": 1}
        assert world.sidecar("T-7.xml")["receiver"] == BUYER


@hang_up
def test_table_at_a_reload(tabled: World) -> None:
    """A reload goes on with what was read of a table that can't be read now."""
    world, table = tabled, tabled.base / "customers.csv"
    table.write_text(ENTRIES)
    with world.daemon() as daemon:
        world.drop("T-7.xml", invoice("1", receiver=OTHER))
        world.until(world.settled)
        table.unlink()
        world._keys["outbound"]["workers"] = "2"
        assert ask(world, "reload").status == 0
        world.drop("T-8.xml", invoice("2", receiver=OTHER))
        world.until(world.settled)
        world.stop(daemon)
    assert world.sidecar("T-8.xml")["receiver"] == BUYER
    world.invariants()


@pytest.mark.slow
@hang_up
def test_table_that_a_reload_names(tmp_path: Path) -> None:
    """A table that only the changed configuration names, and that can't be read, is a mistake: the old one stays."""
    with World(tmp_path) as world, world.daemon() as daemon:
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        world.more = BY_TABLE
        done = ask(world, "reload")
        assert done.status == 2
        assert f"tables.customers: {world.base / 'customers.csv'} can't be read" in done.says
        (world.base / "customers.csv").write_text(ENTRIES)
        assert ask(world, "reload").status == 0
        world.stop(daemon)


@pytest.mark.slow
@hang_up
def test_ca_file_that_a_reload_names(tmp_path: Path) -> None:
    """A ca_file that only the changed configuration names, and that can't be used, is a mistake: the old one stays."""
    (tmp_path / "buyers").write_text(PASSWORD)
    (tmp_path / "buyers").chmod(0o600)
    with TwoAccounts(tmp_path, "password_file: buyers") as world, world.daemon() as daemon:
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        world.keys += f", ca_file: '{tmp_path / 'ca.pem'}'"
        done = ask(world, "reload")
        assert done.status == 2
        assert f"accounts.other.ca_file: {tmp_path / 'ca.pem'} can't be read as certificates" in done.says
        trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
        assert ask(world, "reload").status == 0
        world.stop(daemon)


class TwoAccounts(World):
    """A world whose buyer is a company of filedrop's, too, with an account of its own and more keys for that."""

    def __init__(self, base: Path, keys: str) -> None:
        companies = {
            "acme": f'{{participants: ["{SELLER}"], account: main}}',
            "globex": f'{{participants: ["{BUYER}"], account: other}}',
        }
        super().__init__(base, companies=companies)
        self.keys = keys

    def config_text(self) -> str:
        """The world's own configuration, with another account."""
        other = f'  other: {{base_url: "{self.front.url}", username: buyer, {self.keys}}}'
        return super().config_text().replace("\nroot:", f"\n{other}\nroot:", 1)


def heard_of(world: World) -> str:
    """Why the other account makes no requests, as the log says."""
    return "; ".join(event["why"] for event in world.log() if event["event"] == "account.paused")


@pytest.mark.parametrize("content", quick([None, "not a certificate"]))
def test_ca_file_of_one_account(tmp_path: Path, content: str | None) -> None:
    """A ca_file that can't be used pauses its own account, which goes on when it can be used."""
    path = tmp_path / "ca.pem"
    (tmp_path / "buyers").write_text(PASSWORD)
    (tmp_path / "buyers").chmod(0o600)
    if content is not None:
        path.write_text(content)
    with TwoAccounts(tmp_path, f"password_file: buyers, ca_file: '{path}'") as world, world.service():
        world.drop("invoice.xml", invoice("1"))
        world.until(lambda: world.places().get("invoice.xml", "").startswith("archive"))
        world.until(lambda: f"accounts.other.ca_file: {path} can't be read as certificates" in heard_of(world))
        trustme.CA().cert_pem.write_to_path(path)
        world.until(lambda: any((world.root / "globex/inbound").glob("*-Invoice-*.xml")))


def test_password_file_of_one_account(tmp_path: Path) -> None:
    """A password that can't be read pauses its own account, which goes on when it can be read."""
    path = tmp_path / "buyers"
    with TwoAccounts(tmp_path, f"password_file: '{path}'") as world, world.service():
        world.drop("invoice.xml", invoice("1"))
        world.until(lambda: world.places().get("invoice.xml", "").startswith("archive"))
        world.until(lambda: f"accounts.other.password_file: can't read {path}" in heard_of(world))
        path.write_text(PASSWORD)
        path.chmod(0o600)
        world.until(lambda: any((world.root / "globex/inbound").glob("*-Invoice-*.xml")))


@pytest.mark.parametrize("key", quick(["password_file", "ca_file"]))
def test_file_of_one_account_on_a_share_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """A start doesn't wait for a password or a ca_file on a share that doesn't answer: only their account does."""
    for asks in (account, agreement):
        monkeypatch.setattr(asks, "PATIENCE", 0.5)
    (tmp_path / "buyers").write_text(PASSWORD)
    keys = {"password_file": tmp_path / "buyers"} | {key: tmp_path / "hangs" / "file"}
    written = ", ".join(f"{name}: '{path}'" for name, path in keys.items())
    with ExitStack() as share:
        share.enter_context(foreign(tmp_path / "hangs", "fuse.sshfs", answers=False))
        with TwoAccounts(tmp_path, written) as world, world.service():
            world.drop("invoice.xml", invoice("1"))
            world.until(lambda: world.places().get("invoice.xml", "").startswith("archive"))
            assert not any((world.root / "globex/inbound").glob("*-Invoice-*.xml"))
            share.close()


def test_status_of_a_table_that_was_never_read(tabled: World) -> None:
    """status.json has the table's trouble with what it means for documents."""
    world = tabled
    ask(world, "run", "--once")
    (said,) = json.loads((world.root / "status.json").read_bytes())["tables"]
    assert said.startswith(f"table customers: {world.base / 'customers.csv'} can't be read")
    assert said.endswith("Until then, documents that need it wait")
