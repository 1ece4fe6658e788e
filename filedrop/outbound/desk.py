"""What the modules that work in one outbound folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filedrop.outbound.context import Context, Identification
    from filedrop.outbound.handover import Handover
    from filedrop.outbound.health import FolderHealth
    from filedrop.outbound.moves import Moves
    from filedrop.outbound.scanner import Scanner
    from filedrop.storage.company_folders import OutboundFolder


class Desk:
    """What the modules that work in one outbound folder share. Each part is changed by its own verbs alone.

    `moves` knows which files are missing, and `handover` which documents senders or validators have. `now` is the wall
    clock with its offset, `steady` the monotonic clock in seconds.
    """

    def __init__(
        self,
        shared: Context,
        folder: OutboundFolder,
        identification: Identification,
        *,
        scanner: Scanner,
        health: FolderHealth,
        moves: Moves,
        handover: Handover,
    ) -> None:
        self.shared, self.folder, self.identification = shared, folder, identification
        self.scanner, self.health, self.moves, self.handover = scanner, health, moves, handover
        self.journal, self.rules, self.log = shared.journal, shared.rules, shared.log
        self.now, self.steady = shared.now, shared.steady
