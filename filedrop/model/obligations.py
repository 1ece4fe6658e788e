"""What is owed, and for how long it may stand still before that is reported: all patiences of filedrop (contract 7)."""

from __future__ import annotations

FAILED_FOR = 120.0  # seconds for which an error is shown though its job has succeeded since: two of its longest pauses
FORGOTTEN_AFTER = 7200.0  # seconds after which an error is shown no longer, as its job isn't even tried any more
