"""What the modules that work in one outbound folder share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
