"""What filedrop promises, on each file system that shares are made of: there, or refused in a sentence beforehand.

    FILEDROP_SHARES="smb nfs-3" FILEDROP_MISFORTUNES="held replaced" .venv/bin/pytest tests/shares

tries these file systems, with these misfortunes or all. Without the first, a sample tries two of them, and
FILEDROP_MATRIX=full all.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest
from support import guest
from support.documents import invoice
from support.drive import MISFORTUNES, PATIENCE, Drive
from support.kernel_shares import KERNEL_KINDS
from support.matrix import draw_seed, is_full
from support.shares import mounted
from support.user_shares import CACHING, USER_KINDS
from support.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from support.matrix import Sample
    from support.shares import Kind

WANTED = os.environ.get("FILEDROP_SHARES", "").split()
CHOSEN = os.environ.get("FILEDROP_MISFORTUNES", "").split()
KINDS = USER_KINDS | KERNEL_KINDS
CASES = [[name] for name in WANTED or (KINDS if is_full() else ())] or [["mergerfs", "sshfs"]]
SSHFS_REMEMBERS = 20.0  # seconds for which it shows a file's size and time
IN_GUEST = 3000.0  # seconds for a file system in the guest, whose processors are emulated
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * IN_GUEST if WANTED or is_full() else 600)]


@pytest.mark.parametrize("names", CASES, ids=" ".join)
def test_share(names: list[str], tmp_path: Path, sample: Sample) -> None:
    """Each document is sent once, and each message received once, whatever happens to the share."""
    misfortunes = CHOSEN or sample(list(MISFORTUNES), len(MISFORTUNES) if WANTED else 1)
    for name in names:
        base = tmp_path / name
        base.mkdir()
        if name in KERNEL_KINDS and guest.INSIDE not in os.environ:
            drive_in_guest(name, base)
        elif missing := KINDS[name].missing():
            pytest.skip(f"NOT TRIED ON {name.upper()}: {missing}")
        else:
            drive(KINDS[name], base, misfortunes)


def test_growing_file(tmp_path: Path) -> None:
    """A file that another computer writes for long is sent once, whole, though the mount shows an old size and time."""
    if missing := CACHING.missing():
        pytest.skip(f"NOT TRIED ON SSHFS: {missing}")
    with (
        mounted(CACHING, tmp_path) as share,
        World(tmp_path, outbound={"rescan": "1s"}, read_timeout="30s") as world,
        Drive(world, share, draw_seed()) as drive,
    ):
        path, content = drive.there / "invoice.xml", invoice()
        path.write_bytes(content)
        for number in range(2 * round(SSHFS_REMEMBERS)):  # well-formed at each moment
            time.sleep(0.5)
            with path.open("ab") as file:
                content += f"<!-- {number} -->\n".encode()
                file.write(content[file.tell() :])
        world.until(drive.sent, seconds=PATIENCE, what="it is sent")
        sent = world.sandbox.store.sent("acme")
        assert [world.sandbox.store.content(message.msg_no) for message in sent] == [content]


def drive_in_guest(name: str, base: Path) -> None:
    """Run this test in a guest, for this file system alone."""
    if missing := guest.missing():
        pytest.skip(f"NOT TRIED ON {name.upper()}: {missing}")
    settings = {"FILEDROP_SHARES": name, "FILEDROP_MISFORTUNES": " ".join(CHOSEN)}
    done = guest.run_tests(base, "tests/shares/test_shares.py", settings=settings, seconds=IN_GUEST)
    assert done.returncode == 0, done.stdout


def drive(kind: Kind, base: Path, misfortunes: list[str]) -> None:
    """Drive filedrop on this file system, with these misfortunes. AssertionError: what went wrong."""
    inbound, outbound = {"attachments": "beside"}, {"rescan": "2s"}
    with ExitStack() as stack:
        share = stack.enter_context(mounted(kind, base))
        world = stack.enter_context(World(base, inbound=inbound, outbound=outbound, read_timeout="30s"))
        if kind.refused:
            refuse(world, kind.refused)
            return
        drive = stack.enter_context(Drive(world, share, draw_seed()))
        for misfortune in misfortunes:
            if not drive.found:  # else the next would only meet it again
                drive.meet(misfortune)
        problems = drive.problems()
    assert not problems, "\n".join(problems)


def refuse(world: World, because: str) -> None:
    """Assert that `check` and `run` refuse the folder for this reason, before anything is claimed."""
    done = world.filedrop("check")
    said = " ".join(done.stdout.split())
    assert done.returncode
    assert because in said, said
    content = invoice()
    with world.daemon() as daemon:
        world.put(world.outbound / "invoice.xml", content)
        world.until(lambda: because in (world.base / "daemon.log").read_text(), what="run refuses it")
        world.until(lambda: f"{world.outbound}: " in world.filedrop("status").stdout, what="status lists the folder")
        time.sleep(12)  # a document of a share would be claimed by now
        world.stop(daemon)
    assert (world.outbound / "invoice.xml").read_bytes() == content
    with suppress(OSError):
        assert [path.name for path in world.outbound.rglob("*")] == ["invoice.xml"]
    assert not world.sandbox.store.sent("acme")
