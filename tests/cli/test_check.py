"""`filedrop check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli.test_run import everything_below
from support.faults import instead

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


def findings(output: str) -> list[tuple[str, str, str]]:
    return [(one["about"], one["result"], one["says"]) for one in map(json.loads, output.splitlines())]


def test_all_is_well(filedrop: Filedrop, world: World) -> None:
    """Check says what it found of configuration, state, folders, login and clock, and leaves nothing behind."""
    world.run_once()
    before = everything_below(world.base)
    done = filedrop("check", "--json")
    assert everything_below(world.base) == before
    found = findings(done.stdout)
    assert {result for _, result, _ in found} == {"ok"}
    about = {name for name, _, _ in found}
    assert about == {"configuration", "state", str(world.outbound), str(world.inbound), "account main"}
    assert done.returncode == 0
    assert "lets acme in" in filedrop("check").stdout


def test_before_the_first_start(filedrop: Filedrop, world: World) -> None:
    """Check makes neither folders nor a state."""
    before = everything_below(world.base)
    assert filedrop("check").returncode == 0
    assert everything_below(world.base) == before


def test_a_folder_that_is_gone(filedrop: Filedrop, world: World) -> None:
    """A folder that filedrop has worked in and that is gone is found, with status 1; no run makes it up."""
    world.run_once()
    world.inbound.joinpath(".filedrop").unlink()
    world.inbound.rmdir()
    done = filedrop("check", "--json")
    assert done.returncode == 1
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "failed"]
    assert about == str(world.inbound)
    assert "it is gone" in says
    assert f"{world.inbound}: it is gone" in filedrop("status").stdout
    world.run_once()
    assert not world.inbound.exists()


@pytest.mark.parametrize("password", ["", None], ids=["empty", "missing"])
def test_no_password(filedrop: Filedrop, world: World, password: str | None) -> None:
    """A password that can't be read is a fault of the configuration: it is found with status 2, beside what else is."""
    world.password_file.unlink()
    if password is not None:
        world.password_file.write_text(password)
    done = filedrop("check", "--json")
    assert done.returncode == 2
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "failed"]
    assert about == "configuration"
    assert says.startswith("accounts.main.password_file: ")


def test_a_refused_login(filedrop: Filedrop, world: World) -> None:
    """A refused login is found, with status 3."""
    world.password_file.write_text("wrong")
    done = filedrop("check", "--json")
    assert done.returncode == 3
    assert [name for name, result, _ in findings(done.stdout) if result == "failed"] == ["account main"]


def test_a_rule_that_does_not_load(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """An XPath that is none and a table that isn't there are found, with status 2, as the daemon would find them."""
    config = tmp_path / "rules.yaml"
    rules = "mapping:\n  - {receiver: {xpath: '//['}}\n  - {sender: {table: gone, key: {xpath: '//ID'}}}\n"
    config.write_text(world.config_text() + rules + "tables: {gone: gone.csv}\n")
    done = filedrop("check", "--json", config=config)
    assert done.returncode == 2
    failed = [says for _, result, says in findings(done.stdout) if result == "failed"]
    assert [("XPath" in says, "gone.csv" in says) for says in failed] == [(False, True), (True, False)]


def test_no_directory(filedrop: Filedrop, world: World) -> None:
    """That there is no directory to be asked is worth a warning, and is no failure."""
    world.front.always("GET /directory", instead(404))
    done = filedrop("check", "--json")
    assert done.returncode == 0
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "warning"]
    assert (about, "outbound.directory" in says) == ("account main", True)


def test_a_folder_of_another(filedrop: Filedrop, world: World) -> None:
    """A folder of another filedrop is found, with status 1, and ours after --take-over."""
    world.run_once()
    marker = world.outbound / ".filedrop"
    marker.write_text('{"folder": "f1", "journal": "another"}\n')
    done = filedrop("check", "--json")
    assert done.returncode == 1
    assert any("another filedrop serves this folder" in says for _, _, says in findings(done.stdout))
    assert filedrop("check", "--take-over").returncode == 0
    assert json.loads(marker.read_text())["folder"] == "f1"
    assert filedrop("check").returncode == 0


def test_a_folder_without_its_marker(filedrop: Filedrop, world: World) -> None:
    """A folder that has lost its marker is found, and ours after --take-over, with the same id as before."""
    world.run_once()
    marker = world.outbound / ".filedrop"
    before = json.loads(marker.read_bytes())
    marker.unlink()
    assert filedrop("check").returncode == 1
    assert filedrop("check", "--take-over").returncode == 0
    assert {key: json.loads(marker.read_bytes())[key] for key in before} == before
