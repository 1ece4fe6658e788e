from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.folders import OutboundFolder
from filedrop.identify import identify
from filedrop.lane import Lane

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_closed_while_somebody_looks_is_not_forgotten(tmp_path: Path) -> None:
    """A file that is moved in after the folder was listed goes at the next look, without having to settle."""
    folder = OutboundFolder(tmp_path, company="acme", below=tmp_path, patterns=["*"])
    lane = Lane(
        folder=folder, participants=(), identify=lambda reading, name: identify(reading, file_name=name),
        xpaths=(), watch="events", wake=lambda: None,
    )  # fmt: skip
    lane.closed.update({"gone.xml", "there.xml"})
    before = lane.closed.copy()
    lane.closed.add("new.xml")
    lane.forget_all_but(["there.xml"], before)
    assert lane.closed == {"there.xml", "new.xml"}
    assert lane.may_be_ready("new.xml", now=0.0)
