"""Bad neighbours: another filedrop, other users and root beside the daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.rights import run_as
from support.world import PROJECT, World

if TYPE_CHECKING:
    from collections.abc import Iterator

ANOTHER, OWNER = 12346, 12345  # users without names, as in a container
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be others")


@pytest.fixture
def others() -> None:
    """Skips where other users can't run this very Python, say because it lies in root's home."""
    try:
        subprocess.run([sys.executable, "-c", ""], user=ANOTHER, check=True)
    except PermissionError:
        pytest.skip(f"other users may not run {sys.executable}: run the suite with a Python that they may")


@pytest.fixture
def open_world() -> Iterator[World]:
    """A world that other users can look into as far as its own modes let them; pytest's folders let nobody."""
    with TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        with World(Path(base)) as world:
            (world.base / "config.yaml").write_text(world.config_text())
            yield world


def run(world: World, *arguments: str, user: int, config: str = "config.yaml") -> subprocess.CompletedProcess[str]:
    """A command as somebody else."""
    line = [sys.executable, "-m", "filedrop", "--config", str(world.base / config), *arguments]
    return subprocess.run(
        line, cwd=PROJECT, capture_output=True, text=True, check=False, user=user, group=user,
        extra_groups=[],
    )  # fmt: skip


@contextmanager
def daemon(world: World, *, state: str = "state", user: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon with a state of its own choice."""
    config = world.base / f"{state}.yaml"
    config.write_text(world.config_text().replace(f"state: {world.state}", f"state: {world.base / state}"))
    command = [sys.executable, "-m", "filedrop", "--config", str(config), "run"]
    with (world.base / f"{state}.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=PROJECT, user=user, group=user)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def lines(logs: list[Path]) -> list[str]:
    return [line for log in logs for line in log.read_text().splitlines()]


def refused(line: str) -> bool:
    return "another filedrop serves this folder" in line or "was just taken up by another filedrop" in line


@pytest.mark.slow
def test_two_daemons_at_once(world: World) -> None:
    """Two daemons with states of their own that meet in new folders: each folder is one's alone, all goes once."""
    for number in range(8):
        world.drop(f"{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    logs = [world.base / f"{state}.log" for state in ("one", "other")]
    with ExitStack() as stack:
        processes = [stack.enter_context(daemon(world, state=log.stem)) for log in logs]
        world.until(world.settled)
        for folder in (json.dumps(str(path))[1:-1] for path in (world.outbound, world.inbound)):  # as in their logs
            world.until(lambda folder=folder: [line for line in lines(logs) if folder in line and refused(line)])
        assert [process.poll() for process in processes] == [None, None]
    world.invariants()


@as_root
def test_status_of_another_user(open_world: World) -> None:
    """Who may not read the state gets status, in words, in a line and as JSON, from what the daemon wrote."""
    world = open_world
    world.put(world.outbound / "failing.xml", invoice(receiver=None))
    assert world.process("run", "--once").returncode == 1
    where = ("--config", str(world.base / "config.yaml"), "status")
    shown, line, seen = (run_as(ANOTHER, *where, *option) for option in ((), ("--check",), ("--json",)))
    assert "acme: 1 failed: " in shown.stdout
    assert line.returncode == 1
    assert line.stdout == "filedrop isn't running. 1 document needs attention. (acme: 1 failed)\n"
    assert json.loads(seen.stdout)["companies"]["acme"]["failed"] == 1
    for done in (shown, line, seen):
        assert f"you may not read {world.state}: this is what filedrop reported at" in done.stderr


@as_root
@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("hidden", [False, True], ids=["the state is closed", "so is the folder that it is in"])
def test_another_user(open_world: World, *, hidden: bool) -> None:
    """Who isn't the state's owner sees what status.json says, and is told in a sentence what he may not do."""
    world = open_world
    if hidden:
        world.state = world.base / "private" / "state"
        world.state.parent.mkdir(mode=0o700)
        (world.base / "config.yaml").write_text(world.config_text())
    world.put(world.outbound / "failing.xml", invoice(receiver=None))
    world.run_once()
    assert world.process("run", "--once").returncode in (0, 1)  # writes status.json
    seen = run(world, "status", "--json", user=ANOTHER)
    assert (seen.returncode, json.loads(seen.stdout)["companies"]["acme"]["failed"]) == (0, 1), seen.stderr
    assert "this is what filedrop reported at" in seen.stderr
    for command in (["messages"], ["run", "--once"], ["retry", "--all"], ["resolve", "x", "--send-again"], ["check"]):
        done = run(world, *command, user=ANOTHER)
        assert done.returncode != 0, command
        assert done.stdout + done.stderr
        assert "Traceback" not in done.stderr, command
    assert (world.outbound / "failed" / "failing.xml").exists()


@as_root
@pytest.mark.usefixtures("others")
def test_root_beside_a_daemon(open_world: World) -> None:
    """What root does beside another user's daemon leaves nothing behind that the daemon can't use."""
    world = open_world
    for path in (world.base, *world.root.rglob("*"), world.root, world.password_file):
        os.chown(path, OWNER, OWNER)
    with daemon(world, user=OWNER) as process:
        world.put(world.outbound / "failing.xml", invoice(receiver=None))
        world.until((world.outbound / "failed" / "failing.xml.why.txt").exists)
        os.chown(world.outbound / "failed" / "failing.xml", OWNER, OWNER)
        assert "1" in world.process("status").stdout
        assert world.process("check").returncode == 0
        assert world.process("run", "--once").returncode == 2
        assert world.process("retry", "--all").returncode == 0
        world.until((world.outbound / "failed" / "failing.xml.why.txt").exists)
        for path in (world.state, *world.state.rglob("*"), *world.root.rglob("*")):
            assert path.stat().st_uid == OWNER, path
        assert process.poll() is None
