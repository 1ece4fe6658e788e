"""A journal that can't be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filedrop.journal import Journal


def refuse_writes(journal: Journal, *, refuses: bool = True) -> None:
    """From now on, each write to the journal fails, as on a full disk, or none does; reading goes on."""
    journal.engine._writer.execute(f"PRAGMA query_only={int(refuses)}")
