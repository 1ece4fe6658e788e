"""A reload that changes some accounts: these are given up and taken again; the others go on untouched (contract 7)."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.disks import foreign
from support.documents import SELLER, invoice, order
from support.faults import Slow
from support.matrix import quick
from support.systems import hang_up
from support.world import PASSWORD, World, events

from filedrop.sandbox import SandboxAccount
from filedrop.sandbox.dialect import Dialect
from filedrop.status import status_file
from filedrop.status.folders import HUNG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


pytestmark = hang_up
ACCOUNTS = ("one", "two", "three", "four", "five")


class Five(World):
    """A world of five accounts, with two companies each: `one-a`, `one-b`, `two-a`, ..."""

    def __init__(self, base: Path) -> None:
        companies = {
            f"{account}-{nth}": f"{{participants: [], account: {account}}}" for account in ACCOUNTS for nth in "ab"
        }
        super().__init__(base, companies=companies)
        self._accounts += [SandboxAccount(account, PASSWORD, ()) for account in ACCOUNTS]
        self.speak(Dialect())
        self.logins = dict.fromkeys(ACCOUNTS, "")

    def config_text(self) -> str:
        text = super().config_text()
        login = f"password_file: '{self.password_file}'"
        accounts = "".join(
            f'\n  {name}: {{base_url: "{self.front.url}", username: {name}, {login}, read_timeout: 30s{more}}}'
            for name, more in self.logins.items()
        )
        begin, end = text.index("\naccounts:"), text.index("\nroot:")
        return f"{text[:begin]}\naccounts:{accounts}{text[end:]}"

    def drop_for(self, company: str, number: str) -> None:
        """Drop an invoice of a company."""
        self.put(self.root / company / "outbound" / f"{number}.xml", invoice(number))

    def history_of(self, company: str, number: str) -> list[str]:
        """The events of a company's document, by its sidecar; none where it isn't accepted yet."""
        outbound = self.root / company / "outbound"
        for sidecar in (*outbound.glob(f"sent/{number}.xml.json"), *outbound.glob(f"archive/*/{number}.xml.json")):
            return [event["event"] for event in json.loads(sidecar.read_bytes())["history"]]
        return []


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Five]:
    with Five(tmp_path) as world:
        world._companies["acme"] = "{participants: [], account: one}"
        yield world


@pytest.mark.slow
def test_reload_of_one_account_of_five(five: Five) -> None:
    """A request of another account goes on while one is changed, and the changed one posts by its new settings."""
    slow = Slow()
    with five.daemon() as daemon:
        five.until(lambda: (five.root / "five-b" / "outbound").is_dir() and status_file.read(five.root))
        five.front.next("POST /outbox", slow)
        five.drop_for("two-a", "1")
        five.until(slow.came.is_set)
        five.logins["five"] = ", connect_timeout: 7s"
        five.config_file()
        assert five.process("reload").returncode == 0, "the request on the wire of another account isn't waited for"
        five.drop_for("five-a", "2")
        five.until(lambda: five.history_of("five-a", "2"))
        assert not five.history_of("two-a", "1")
        slow.release.set()
        five.until(lambda: five.history_of("two-a", "1"))
        assert "doubted" not in five.history_of("two-a", "1")
        assert [event["accounts"] for event in events(five, "configuration.changed")] == ["five"]
        assert len(events(five, "service.started")) == 1
        five.stop(daemon)


def test_reload_of_an_account(five: Five) -> None:
    """An account with its companies is added, and removed again; what is dropped for it then waits."""
    with five.daemon() as daemon:
        five.until(lambda: status_file.read(five.root))
        five._accounts.append(SandboxAccount("six", PASSWORD, ()))
        five.speak(Dialect())
        five.logins["six"] = ""
        five._companies["six-a"] = "{participants: [], account: six}"
        five.config_file()
        assert five.process("reload").returncode == 0
        five.until((five.root / "six-a" / "outbound").is_dir)
        five.drop_for("six-a", "1")
        five.until(lambda: five.history_of("six-a", "1"))
        del five.logins["six"], five._companies["six-a"]
        five.config_file()
        assert five.process("reload").returncode == 0
        five.drop_for("six-a", "2")
        five.drop_for("one-a", "3")
        five.until(lambda: five.history_of("one-a", "3"))
        assert (five.root / "six-a" / "outbound" / "2.xml").exists()
        assert [event["accounts"] for event in events(five, "configuration.changed")] == ["six", "six"]
        five.stop(daemon)


@pytest.mark.slow
def test_reload_of_participants(make_world: Callable[..., World]) -> None:
    """What comes for a ParticipantID that another company has now is delivered to that one."""
    world = make_world(companies={"other": "{participants: []}"})
    with world.daemon() as daemon:
        world.until(lambda: status_file.read(world.root))
        world._companies["acme"] = "{participants: []}"
        world._companies["other"] = f"{{participants: ['{SELLER}']}}"
        world.config_file()
        assert world.process("reload").returncode == 0
        world.receive(order("1", receiver=SELLER))
        world.until(lambda: list((world.root / "other" / "inbound").glob("*.xml")))
        assert [event["accounts"] for event in events(world, "configuration.changed")] == ["main"]
        world.stop(daemon)


@pytest.mark.slow
def test_reload_of_a_companys_settings(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A changed setting of a company applies to its next document, and only to its own; also where nobody had it on."""
    program = tmp_path / "program.py"
    program.write_text("print('it is wrong')\nraise SystemExit(1)")
    more = f"validation: {{command: [{sys.executable}, {program}], timeout: 10m}}"
    world = make_world(companies={"fjord": "{participants: []}"}, more=more)
    outbound = world.root / "fjord" / "outbound"
    with world.daemon() as daemon:
        world.until(lambda: (outbound / "sent").is_dir() and status_file.read(world.root))
        world._companies["fjord"] = "{participants: [], validate: refuse}"
        world.config_file()
        assert ask(world, "reload").status == 0
        world.put(outbound / "1.xml", invoice("1"))
        world.drop("2.xml", invoice("2"))
        world.until((outbound / "failed" / "1.xml.json").exists)
        world.until(lambda: world.accepted() == {"2.xml": 1})
        assert [event["accounts"] for event in events(world, "configuration.changed")] == ["main"]
        world.stop(daemon)
    assert json.loads((outbound / "failed" / "1.xml.json").read_bytes())["error"]["code"] == "invalid"


@pytest.mark.slow
def test_reload_beside_a_folder_that_hangs(five: Five, tmp_path: Path) -> None:
    """A folder that doesn't answer holds up a change of its own account, which says so, and of no other."""
    beside = tmp_path / "beside"
    beside.mkdir()
    five._companies["slow"] = f"{{participants: [], account: one, outbound: '{beside}'}}"
    five._keys["outbound"]["rescan"] = "100ms"
    with five.daemon() as daemon:
        five.until(lambda: (beside / "sent").is_dir() and status_file.read(five.root))
        with foreign(beside, "fuse", answers=False):
            five.until(lambda: HUNG in ask(five, "status").says)
            five.logins["two"] = ", connect_timeout: 7s"
            five.config_file()
            assert five.process("reload").returncode == 0
            five.drop_for("two-a", "1")
            five.until(lambda: five.history_of("two-a", "1"))
            five.logins["one"] = ", connect_timeout: 7s"
            five.config_file()
            refused = five.process("reload")
            assert refused.returncode != 0
            assert f"{beside} doesn't answer" in refused.stderr
        five.until(lambda: five.process("reload").returncode == 0)
        five.drop_for("one-a", "2")
        five.until(lambda: five.history_of("one-a", "2"))
        five.stop(daemon)


@pytest.mark.parametrize("case", quick(["added", "removed", "renamed", "moved"]))
def test_reload_of_a_company(five: Five, case: str) -> None:
    """A company that is added, removed, renamed, or moved to another account changes only the accounts concerned."""
    with five.daemon() as daemon:
        five.until(lambda: (five.root / "five-b" / "outbound").is_dir() and status_file.read(five.root))
        before, now, changed = "two-a", "two-a", "two"
        if case == "added":
            before, now = "", "new"
            five._companies["new"] = "{participants: [], account: two}"
        elif case == "removed":
            now = ""
            del five._companies["two-a"]
        elif case == "renamed":
            now = "renamed"
            del five._companies["two-a"]
            five._companies[now] = f"{{participants: [], account: two, outbound: '{five.root / 'two-a' / 'outbound'}'}}"
        else:
            changed = "three, two"
            five._companies["two-a"] = "{participants: [], account: three}"
        five.config_file()
        assert five.process("reload").returncode == 0
        assert [event["accounts"] for event in events(five, "configuration.changed")] == [changed]
        folder = "two-a" if case == "renamed" else now or before
        five.until(lambda: (five.root / folder / "outbound").is_dir())  # noqa: PLW0108 - `folder` is bound before
        five.drop_for(folder, "1")
        five.drop_for("two-b", "2")
        five.until(lambda: five.history_of("two-b", "2"))
        if case == "removed":
            assert not five.history_of(folder, "1")
            assert (five.root / folder / "outbound" / "1.xml").exists()
        else:
            five.until(lambda: five.history_of(folder, "1"))
        assert len(events(five, "service.started")) == 1
        five.stop(daemon)


def test_reload_of_what_is_shared(five: Five) -> None:
    """A change of what the accounts share is a start of all of them, and the log says so."""
    with five.daemon() as daemon:
        five.until(lambda: status_file.read(five.root))
        five._keys["outbound"]["workers"] = "2"
        five.config_file()
        assert five.process("reload").returncode == 0
        assert [event["accounts"] for event in events(five, "configuration.changed")] == ["all"]
        assert len(events(five, "service.started")) == 2
        five.stop(daemon)
