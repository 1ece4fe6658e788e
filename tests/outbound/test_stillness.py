"""A folder in which nothing changes isn't listed again and again, and each change is found as soon as ever."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.bench import CONTENT
from support.documents import invoice

from filedrop.files import directory
from filedrop.journal import Journal
from filedrop.status import folders
from filedrop.status.folders import FolderSurvey
from filedrop.storage.entry_times import LOOKED_THROUGH_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from support.bench import Bench

RESCAN = 30.0  # seconds
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there, each rescan lists the folders")


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder was listed, by its name."""
    counts, scanned = Counter[str](), directory._scanned

    def counted(folder: directory.Directory) -> Iterator[object]:
        counts[folder.path.name] += 1
        return scanned(folder)

    monkeypatch.setattr(directory, "_scanned", counted)
    return counts


@pytest.fixture
def bench(make_bench: Callable[..., Bench], listed: Counter[str]) -> Bench:
    """An idle folder. All that is in it was there long ago."""
    made = make_bench(rescan=f"{RESCAN:.0f}s")
    (made.outbound / "failed" / "failed.xml").write_bytes(CONTENT)
    rest(made)
    listed.clear()
    return made


def rest(bench: Bench) -> None:
    """Let files and folders be old, and let everything be done that is due."""
    bench.clock.skew = datetime.now(UTC) + timedelta(hours=1) - bench.clock.true()
    bench.life.go_on(4 * RESCAN)


def test_an_idle_folder_is_not_listed(bench: Bench, listed: Counter[str]) -> None:
    """It is looked through after 150 to 300 seconds only. The heartbeat takes it as listed at each rescan."""
    bench.life.go_on(3 * RESCAN)
    assert not listed
    assert bench.clock.steady() - bench.life.pipeline.report.last_scan <= RESCAN + 1
    bench.life.go_on(LOOKED_THROUGH_AFTER, until=lambda: listed["sent"])
    assert listed["sent"]
    listed.clear()
    bench.life.go_on(3 * RESCAN)
    assert not listed


def test_worker_and_status_together(bench: Bench, listed: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In idle minutes, neither of them lists a folder, the inbound one included."""

    class Wall(datetime):
        """The daemon's wall clock."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # noqa: ARG003 - as Python has it
            return bench.clock.now()

    monkeypatch.setattr(folders, "datetime", Wall)
    survey = FolderSurvey(bench.world.configuration(), bench.life.journal, ages=False)
    survey.look()
    assert {"outbound", "sending", "sent", "failed", "inbound"} <= listed.keys()
    listed.clear()
    for _ in range(3):
        bench.life.go_on(RESCAN)
        assert survey.look()[bench.outbound].counts["failed"] == 1
    assert not listed


def resolve(bench: Bench) -> None:
    """Write to the journal, as a command of another process."""
    with closing(Journal.at(bench.world.state / "journal.sqlite")) as journal:
        journal.engine.check_writable()


CHANGES: dict[str, Callable[[Bench], object]] = {
    "dropped": lambda bench: (bench.outbound / "new.xml").write_bytes(invoice("2")),
    "held": lambda bench: (bench.outbound / "Hold.please").touch(),
    "claimed by nobody": lambda bench: (bench.outbound / "sending" / "new.xml").write_bytes(CONTENT),
    "put into sent": lambda bench: (bench.outbound / "sent" / "new.xml").write_bytes(CONTENT),
    "put into failed": lambda bench: (bench.outbound / "failed" / "new.xml").write_bytes(CONTENT),
    "taken": lambda bench: (bench.outbound / "failed" / "failed.xml").unlink(),
    "renamed": lambda bench: (bench.outbound / "failed" / "failed.xml").rename(bench.outbound / "failed" / "x.xml"),
    "replaced": lambda bench: (
        (bench.outbound / "failed").rename(bench.outbound / "old"),
        (bench.outbound / "failed").mkdir(),
    ),
    "recorded elsewhere": resolve,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_found_at_the_next_rescan(
    bench: Bench, listed: Counter[str], change: Callable[[Bench], object]
) -> None:
    """Whatever a person or another process changes, without any event: all places are listed then."""
    change(bench)
    bench.life.go_on(RESCAN + 1)
    assert {"outbound", "sending", "sent", "failed"} <= listed.keys()


def test_a_change_a_moment_ago(bench: Bench, listed: Counter[str]) -> None:
    """Right after a change, a folder's time may stay the same for another one: each rescan lists it meanwhile."""
    (bench.outbound / "failed" / "new.xml").write_bytes(CONTENT)
    for _ in range(3):
        bench.clock.skew = datetime.now(UTC) - bench.clock.true() - timedelta(seconds=RESCAN)  # of the next rescan
        listed.clear()
        bench.life.go_on(RESCAN + 1)
        assert listed["failed"]


def test_what_waits_is_looked_after(bench: Bench, listed: Counter[str]) -> None:
    """While a document is in `sending/`, or a file may become a stray, each rescan lists the folders."""
    (bench.outbound / "HOLD").touch()
    bench.world.drop("waiting.xml", invoice("3"))
    bench.life.go_on(4 * RESCAN)
    assert bench.world.places()["waiting.xml"] == "sending"
    listed.clear()
    bench.life.go_on(2 * RESCAN)
    assert listed["sending"] >= 2
