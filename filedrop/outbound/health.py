"""What is wrong with an outbound folder, as its worker finds it out; status and alerts show it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Self

from filedrop.errors import Changed
from filedrop.files import InUse, is_missing, may_use
from filedrop.files.rights import explain
from filedrop.texts.printable import listed

if TYPE_CHECKING:
    import structlog

    from filedrop.storage.company_folders import OutboundFolder

LEARNS = "filedrop learns from the sidecars here what was sent"


class FolderHealth:
    """What is wrong with a folder, in sentences; "" where nothing is. What is new is logged.

    `trouble`: why it is unavailable. `outdated`: why the journal is older than the folder. `refused`: why files can't
    be moved or written there. `unreconciled`: what in it can't be used. `unwatched`: why its files are found by
    scanning alone, although file events were expected. `progress`: what takes long there, and how far it is. The worker
    in the folder reports; any thread may read.
    """

    def __init__(self, folder: OutboundFolder, log: structlog.stdlib.BoundLogger) -> None:
        self.trouble = ""
        self.outdated = ""
        self.refused = ""
        self.unreconciled = ""
        self.unwatched = ""
        self.progress = ""
        self._folder = folder
        self._log = log
        self._refusals: set[str] = set()  # what the disk has refused since the last scan
        self._logged: set[str] = set()  # what of that was logged since the last scan without any

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the folder although it is available."""
        return tuple(filter(None, (self.outdated, self.unreconciled, self.refused, self.unwatched)))

    def report_unavailable(self, why: str) -> None:
        """Report that the folder is unavailable."""
        if self.trouble != why:
            self._log.warning("folder.unavailable", **self._facts(), why=why)
        self.trouble = why

    def report_available(self) -> None:
        """Report that the folder is available."""
        if self.trouble:
            self._log.info("folder.back", **self._facts())
        self.trouble = ""

    def report_learning(self, read: int) -> None:
        """Report that so many sidecars were read from which the journal learns, in place of all else."""
        self.trouble = f"{LEARNS}: {read:,} read; nothing is sent before that"

    def report_outdated(self, why: str) -> None:
        """Report that the journal is older than the folder."""
        self._log.error("journal.outdated", **self._facts(), why=why)
        self.outdated = why

    def report_unreconciled(self, why: str) -> None:
        """Report what in the folder can't be used, so that it could not be compared; "" where it could."""
        if why and self.unreconciled != why:
            self._log.error("folder.not_reconciled", folder=str(self._folder.path), why=why)
        self.unreconciled = why

    def report_unwatched(self, why: str) -> None:
        """Report why there are no file events; "" where there are, or none are wanted."""
        self.unwatched = why

    def report_progress(self, what: str) -> None:
        """Report what takes long, and how far it is; "" where nothing does."""
        self.progress = what

    def tolerant(self) -> Self:
        """Log what the disk refuses in this block. Ignore `Changed`: a person's command has taken the step."""
        return self

    def __enter__(self) -> None:
        """Begin such a block."""

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, OSError):
            self.report_refusal(error)
        return isinstance(error, OSError | Changed)

    def report_refusal(self, error: OSError) -> None:
        """Report an error of the disk; logged when it differs from those before."""
        why = f"files can't be moved or written {_where_and_why(error, self._folder)}"
        if why not in self._logged:
            self._log.error("folder.refuses", **self._facts(), why=why)
        self._logged.add(why)
        self.refused = why
        self._refusals.add(why)

    def forget_refusals(self) -> None:
        """Note that all is tried again from now on. `refused` ends after a scan without refusals."""
        if not self._refusals:
            self.refused = ""
            self._logged.clear()
        self._refusals.clear()

    def _facts(self) -> dict[str, str]:
        return {"company": self._folder.company, "folder": str(self._folder.path)}


def _where_and_why(error: OSError, folder: OutboundFolder) -> str:
    """What the disk refuses in which folders, and what is to be done, where that can be told."""
    why = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return f"here: {why}; make room on this disk"
    if error.errno not in (errno.EACCES, errno.EPERM) or isinstance(error, InUse):
        return f"here: {explain(error)}"
    paths = [Path(name) for name in (error.filename, error.filename2) if isinstance(name, str)]
    named = [path.parent for path in paths if path.is_absolute()]  # of some, only the name is told
    ours = [folder.path, *(folder.path / name for name in folder.subfolders)]
    closed = [path for path in dict.fromkeys([*ours, *named]) if not (may_use(path) or is_missing(path))]
    places = closed or list(dict.fromkeys(named))  # a server, or Windows, refuses also what the modes allow
    where = f"in {listed(map(str, places))}" if places else "here"
    said = explain(error, places[0]) if closed else f"{why}; give filedrop's user the right to"
    return f"{where}: {said}"
