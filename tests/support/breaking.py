"""A daemon one of whose steps breaks as soon as a file is there: breaking.py STEP FAULT FILE, and filedrop's command.

Its patiences are seconds. The faults: `raises` an error that nobody foresaw, does `nothing`, `hangs`.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from filedrop.model import obligations

obligations.STANDSTILL = 10.0
obligations.IMPATIENT = -10.0
obligations.A_MOMENT = 5.0

from support.steps import steps  # noqa: E402 - what is imported from now on goes by these

from filedrop.alerts import teller  # noqa: E402
from filedrop.cli import main  # noqa: E402
from filedrop.daemon import evidence  # noqa: E402
from filedrop.process.folder_worker import FolderWorkers  # noqa: E402
from filedrop.status import daemon_file, kinds, page_file, status_file  # noqa: E402


def hurry() -> None:
    """Look each second, and let no alert wait."""
    evidence.EVERY = teller.EVERY = 1.0
    for module in (daemon_file, page_file, status_file):
        module.ANYWAY = 2.0  # type: ignore[attr-defined]
    FolderWorkers.hung_after = 5.0
    for kind, row in kinds.KINDS.items():
        kinds.KINDS[kind] = replace(row, patience=1.0)


def break_when(file: str, step: str, fault: str) -> None:
    """Let this step have this fault from the moment at which the file is there."""
    (found,) = (each for each in steps() if str(each) == step)
    before = getattr(found.place, found.name)

    def breaking(*arguments: object, **named: object) -> object:
        if not os.path.exists(file):  # noqa: PTH110 - what is broken may be a step of ours
            return before(*arguments, **named)
        if fault == "raises":
            raise RuntimeError("broken")
        if fault == "hangs":
            threading.Event().wait()
        return None

    setattr(found.place, found.name, breaking)


if __name__ == "__main__":
    hurry()
    _, step, fault, file, *_ = sys.argv
    break_when(file, step, fault)
    sys.argv = sys.argv[sys.argv.index("filedrop") :]
    main()
