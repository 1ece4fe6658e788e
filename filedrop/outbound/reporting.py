"""The report on an outbound folder, and why files in it aren't ready, in words for people."""

from __future__ import annotations

import math
from datetime import timedelta
from heapq import nlargest
from typing import TYPE_CHECKING

from filedrop.model.report import LISTED, FileReport, FolderReport, StrayReport
from filedrop.outbound.strays import CONFLICT_COPY
from filedrop.outbound.upload import IN_USE
from filedrop.texts.languages import date

if TYPE_CHECKING:
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.readiness import Seen
    from filedrop.outbound.strays import Stray, Strays

EVERY = 1.0  # seconds between two choices of the newest waiting files: each costs milliseconds, of 100,000 files 30


class Reporter:
    """Makes the report of one folder. `renew` is for the worker in it; any thread may read `report`.

    `next`: when the worker is to renew the report although nothing happens, by the steady clock.
    """

    def __init__(self, desk: Desk, strays: Strays) -> None:
        self.report = FolderReport(desk.folder.path, desk.folder.company)
        self.next = math.inf
        self._desk = desk
        self._strays = strays
        self._chosen = -math.inf  # when the waiting files were chosen

    @property
    def is_stale(self) -> bool:
        """Whether the newest waiting files are still to be chosen. Thread-safe."""
        return self.next < math.inf

    def renew(self) -> None:
        """Replace the report."""
        desk, before, health = self._desk, self.report, self._desk.health
        unready, steady = desk.scanner.seen, desk.steady()
        waiting, has_faults, self.next = before.waiting, before.has_faults, math.inf
        if not unready:
            waiting, has_faults = (), False
        elif steady >= self._chosen + EVERY:
            waiting, has_faults = waiting_files(desk), any(seen.fault for seen in unready.values())
            self._chosen = steady
        else:
            self.next = self._chosen + EVERY
        self.report = FolderReport(
            before.path,
            before.company,
            trouble=health.trouble,
            warnings=health.warnings,
            refused=health.refused,
            file_system=desk.folder.trial.found,
            progress=health.progress,
            id=desk.folder.id,
            is_held=bool(desk.folder.known_hold),
            waiting=waiting,
            unready=len(unready),
            has_faults=has_faults,
            unclaimed=len(desk.scanner.ready),
            last_scan=desk.scanner.last_scan,
            strays=self._stray_report(),
        )

    def _stray_report(self) -> StrayReport | None:
        folder, found = self._desk.folder, self._strays.found
        if found is None:
            return None

        def newest(stray: Stray) -> tuple[float, str]:
            return stray.since, stray.name

        return StrayReport(
            self._strays.number,
            tuple(
                FileReport(folder.path / stray.place / stray.name, stray.why, stray.since)
                for stray in nlargest(LISTED, found, key=newest)
            ),
        )


def waiting_files(desk: Desk) -> tuple[FileReport, ...]:
    """The newest files of a folder that weren't ready when they were looked at."""
    newest = nlargest(LISTED, desk.scanner.seen.items(), key=lambda named: named[1].since)
    begun = desk.now().timestamp() - desk.steady()
    return tuple(
        FileReport(
            desk.folder.path / name, _why(desk, name, seen), begun + seen.since, _is_incomplete(desk, name, seen)
        )
        for name, seen in newest
    )


def another_version(original: str) -> str:
    """Why a file isn't sent that is another version of a document with this name."""
    return f"it has the number, type and date of {original}, and other content; {CONFLICT_COPY}"


def _is_incomplete(desk: Desk, name: str, seen: Seen) -> bool:
    """Whether this file waits for its ready file, or for a PDF without which it isn't sent."""
    if seen.waits_for:
        return desk.rules.prepare.pdf == "require"
    return seen.fault is None and desk.folder.ready.name(name) is not None


def _why(desk: Desk, name: str, seen: Seen) -> str:
    """Why this file wasn't ready, and what becomes of it."""
    if seen.copy_of:
        return another_version(seen.copy_of)
    if seen.waits_for:
        return _why_without_pdf(desk, seen)
    if seen.fault is None:
        ready_file = desk.folder.ready.name(name)
        unfinished = "its writer may not have finished; filedrop takes the file when it stops changing"
        return f"it waits for {ready_file}, which must not be older than this file" if ready_file else unfinished
    what = seen.fault.message.rstrip(".")
    if seen.fault.code == IN_USE:
        return f"{what}; filedrop tries again until it can read the file"
    if seen.fault.code == "unreadable":
        return f"{what}; it fails on {_end(desk, seen)}, unless it can be read by then"
    return f"{what}; it may be incomplete: it fails on {_end(desk, seen)}, unless it changes by then"


def _why_without_pdf(desk: Desk, seen: Seen) -> str:
    """Why this file waits for its PDF, and what becomes of it."""
    waits = f"it waits for {seen.waits_for}"
    if seen.fault is not None:
        return f"{waits}; it fails on {_end(desk, seen)}, unless the PDF is complete by then"
    is_required = desk.rules.prepare.pdf == "require"
    return waits if is_required else f"{waits}; without a PDF, it is sent after prepare.pdf_wait"


def _end(desk: Desk, seen: Seen) -> str:
    """When a file fails that isn't ready by then."""
    unchanged = timedelta(seconds=desk.steady() - seen.since)
    return date(desk.now() + max(desk.rules.incomplete_after - unchanged, timedelta(0)))
