"""What the daemon reports on a folder, although a look from outside finds nothing of it."""

from __future__ import annotations

import errno
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice
from support.sharing import SHARE
from support.stepping import RULES, Life

from filedrop.files import trial
from filedrop.model.report import AccessReport, AccountReport, DaemonReport, FolderReport, InboxReport
from filedrop.status.survey import Survey, part_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World


@pytest.mark.skipif(sys.platform == "win32", reason="Windows renames without replacing on each file system")
def test_a_folder_that_is_refused(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status says of each folder that is refused why, and of what waits there, too."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(trial, "file_system", lambda _: SHARE)
    monkeypatch.setattr(os, "link", refuse)
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        world.put(world.outbound / "a.xml", invoice("1"))
        life.go_on(60)
        now = life.service.accounts[0].context.now()
        survey = Survey(world.configuration(), life.service.journal)
        status = survey.look(part_of(life.service.report()), running=True, now=now)
        folders = {matter["about"]: matter["title"] for matter in status["matters"] if matter["kind"] == "folder"}
        assert str(world.outbound) in str(folders)
        assert "exclusive rename" in str(folders)
        company = status["companies"]["acme"]
        assert company["waiting"] == 1
        assert "exclusive rename" in company["why"]
        assert (world.outbound / "a.xml").exists()
        (shown,) = {folder["file_system"] for folder in company["folders"]}
        assert shown.endswith("files are moved by nothing safe and recognized by their content")
    finally:
        life.stop()


def test_two_reports_on_a_folder(tmp_path: Path) -> None:
    """What is wrong with answers by moving, and with what is received in the same folder, is shown in order."""
    answers = FolderReport(tmp_path, "acme", warnings=("nothing is answered",))
    received = FolderReport(tmp_path, "acme", warnings=("nothing can be put into it",), file_system="a disk")
    account = AccountReport("main", AccessReport(), InboxReport(), {}, (), (answers, received))
    part = part_of(DaemonReport(datetime.now(UTC), (account,)))
    assert part.warnings == {str(tmp_path): ["nothing is answered", "nothing can be put into it"]}
    assert part.file_systems == {str(tmp_path): "a disk"}
