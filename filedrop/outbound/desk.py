"""What the modules that work in one outbound folder share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import structlog

    from filedrop.config import Outbound
    from filedrop.journal import Journal
    from filedrop.outbound.context import Context, Identification
    from filedrop.outbound.handover import Handover
    from filedrop.outbound.health import FolderHealth
    from filedrop.outbound.moves import Moves
    from filedrop.outbound.scanner import Scanner
    from filedrop.storage.folders import OutboundFolder


@dataclass(frozen=True, slots=True)
class Desk:
    """What the modules that work in one outbound folder share. Each part is changed by its own verbs alone.

    `moves` knows which files are missing, and `handover` which documents senders or validators have.
    """

    shared: Context
    folder: OutboundFolder
    identification: Identification
    scanner: Scanner
    health: FolderHealth
    moves: Moves
    handover: Handover

    @property
    def journal(self) -> Journal:
        """The account's journal."""
        return self.shared.journal

    @property
    def rules(self) -> Outbound:
        """The company's settings."""
        return self.shared.rules

    @property
    def log(self) -> structlog.stdlib.BoundLogger:
        """The account's log."""
        return self.shared.log

    def now(self) -> datetime:
        """The time by the wall clock, with its offset."""
        return self.shared.now()

    def steady(self) -> float:
        """The time by the monotonic clock, in seconds."""
        return self.shared.steady()
