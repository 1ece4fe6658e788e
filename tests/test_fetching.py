from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from filedrop.fetching import _Written
from filedrop.folders import InboundFolder

if TYPE_CHECKING:
    from pathlib import Path


class Impatient(InboundFolder):
    """A folder that counts as hung as soon as a thread is in it."""

    patience = 0.0


def test_a_disk_that_hangs_while_it_is_written(tmp_path: Path) -> None:
    """Who waits for a received document to be written waits for its folder; who waits for its bytes doesn't."""
    folder = Impatient(tmp_path, company="acme", below=tmp_path.parent)
    reads, writes = os.pipe()  # full after some bytes: then a write hangs until somebody reads
    with (
        os.fdopen(writes, "wb", buffering=0) as full,
        os.fdopen(reads, "rb") as emptied,
        folder.busy(),
        folder.not_busy(),
    ):
        writer = threading.Thread(target=_Written(full, folder).write, args=(bytes(1 << 20),))
        assert not folder.stuck()
        writer.start()
        left = (1 << 20) - len(emptied.read(1))
        assert folder.stuck() == {writer.ident}
        emptied.read(left)
        writer.join()
        assert not folder.stuck()
