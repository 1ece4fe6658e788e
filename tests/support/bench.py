"""An outbound folder whose files are claimed and compared one by one, by a clock that moves when it is told to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice

from filedrop.outbound.claim import claim_files
from filedrop.outbound.upload import OpenedDocument

if TYPE_CHECKING:
    from pathlib import Path

    from support.stepping import Clock, Life
    from support.world import World

    from filedrop.model.document import Document
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.handover import Claim

CONTENT = invoice()


@dataclass
class Bench:
    """The folder, and the filedrop that has made it."""

    world: World
    life: Life
    clock: Clock

    @property
    def desk(self) -> Desk:
        """What the worker in the folder knows."""
        return self.life.pipeline.desk

    @property
    def outbound(self) -> Path:
        """The outbound folder."""
        return self.world.outbound

    def put(self, name: str = "invoice.xml", content: bytes = CONTENT) -> Path:
        """Have a file lie there that nobody has told of."""
        path = self.outbound / name
        self.world.put(path, content)
        return path

    def lying(self) -> set[str]:
        """All files below the folder but its marker."""
        files = (path.relative_to(self.outbound).as_posix() for path in self.outbound.rglob("*") if path.is_file())
        return {name for name in files if name != ".filedrop"}

    def aged(self, path: Path, seconds: float) -> None:
        """Have the clock show that so much time has passed since the file's last change."""
        changed = datetime.fromtimestamp(path.stat().st_ctime, UTC)
        self.clock.skew = changed + timedelta(seconds=seconds) - self.clock.true()

    def claim(self, name: str = "invoice.xml") -> Claim | None:
        """Claim a file, if it is ready."""
        claimed = next(claim_files(self.desk, [name]), None)
        if claimed and claimed.opened:
            assert not claimed.opened.file.closed
            claimed.opened.close()
        return claimed

    def claimed(self, name: str = "invoice.xml") -> Claim:
        """A file of which it was told that its writer has closed it, claimed."""
        self.life.report_closed(name)
        claimed = self.claim(name)
        assert claimed is not None
        return claimed

    def recorded(self, name: str = "invoice.xml") -> Document:
        """The same, with a row."""
        return self.life.journal.documents.record(self.claimed(name).document)

    def again_in(self, name: str = "invoice.xml") -> Any:
        """In how many seconds a file that wasn't claimed is looked at again."""
        assert self.claim(name) is None
        assert (self.outbound / name).exists()
        return pytest.approx(self.desk.scanner._settling[name] - self.clock.steady(), abs=0.01)

    def told(self, event: str) -> int:
        """How often the log tells of this."""
        return sum(line["event"] == event for line in self.world.log())

    def opened(self, path: Path) -> OpenedDocument:
        """A file that was opened before something happened to it."""
        self.life.report_closed(path.name)
        return OpenedDocument.open(path)


def lay(bench: Bench, place: str, document: Document, content: bytes = CONTENT) -> Document:
    """Have a document lie there that the journal knows."""
    facts = {"folder": bench.desk.folder.id, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    document = bench.life.journal.documents.record(document.but(**facts).at(place, document.file))
    (bench.outbound / place / document.file).write_bytes(content)
    return document


def row(bench: Bench, document: Document) -> Document:
    """What the journal says of a document now."""
    (found,) = bench.life.journal.documents.by_ids([document.id])
    return found
