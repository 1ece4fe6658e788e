"""Folders that grow for years cost nothing for each document: what lies there isn't looked through."""

from __future__ import annotations

import os
import threading
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from support.documents import invoice
from support.stepping import touch
from support.systems import processes_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from support.world import World

MANY = 40


@processes_shown
def test_no_listing_for_each_document(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the journal says that documents are delivered, archive/ isn't looked through for each of them."""
    world = make_world(outbound={"rescan": "30s", "track": "1h"}, deliver_after=3600)
    for number in range(MANY):
        world.drop(f"{number}.xml", invoice(str(number)))
    world.run_once()
    listed, scandir = Counter[str](), os.scandir

    def counted(path: Any = ".") -> Any:
        if threading.current_thread() is not threading.main_thread():  # which is the test's own
            listed[os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else str(path)] += 1  # noqa: PTH115 - a descriptor's
        return scandir(path)

    with world.service() as service:
        (pipeline,) = service.accounts[0].pipelines
        world.until(pipeline.is_done)
        now, folder = datetime.now().astimezone(), pipeline.folder.id
        monkeypatch.setattr(os, "scandir", counted)
        for document in service.journal.documents.lying_in(folder, "sent"):
            service.journal.documents.record(document.delivered_at(now, now.isoformat(), None))
        touch(pipeline)
        world.until(lambda: not service.journal.documents.lying_in(folder, "sent"))
    assert sum(times for name, times in listed.items() if "/archive/" in name) < MANY / 2, listed
    assert len(list((world.outbound / "archive").rglob("*.xml"))) == MANY
