"""The metrics' file: figures for Prometheus, which node_exporter or windows_exporter reads there."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filedrop.alerts.figures import figures
from filedrop.errors import FiledropError, JournalError
from filedrop.files import Directory, clear_drafts, create_whole, discard, replace_whole
from filedrop.files.rights import explain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prometheus_client.core import Metric

    from filedrop.alerts.figures import Figure, Values
    from filedrop.journal import Journal, Total, UnderWay
    from filedrop.process.guard import Guard
    from filedrop.status.folders import FolderSnapshot
    from filedrop.status.model import Status


class NoMetrics(FiledropError):
    """The metrics can't be written: the sentence says why, and what to do."""


class MetricsFile:
    """The file at `path`. For one thread; `guard` reports why it couldn't be written."""

    def __init__(self, path: Path, journal: Journal, guard: Guard) -> None:
        self._path = path
        self._journal = journal
        self._guard = guard
        self._is_begun = False

    def write(self, status: Status, snapshots: Mapping[Path, FolderSnapshot], companies: Collection[str]) -> None:
        """Write how it stands now, with the totals of these companies, whole or not at all.

        The file gets the group and mode of its folder.
        """
        try:
            content = text(self._figures(status, snapshots, companies))
            with _translated(self._path):
                folder = Directory.open(self._path.parent)
                if not self._is_begun:
                    clear_drafts(folder)
                replace_whole(folder / self._path.name, content)
        except NoMetrics as error:
            self._guard.note("metrics.textfile", str(error), "metrics.not_written")
        else:
            self._is_begun = True
            self._guard.note_success("metrics.textfile")

    def _figures(
        self, status: Status, snapshots: Mapping[Path, FolderSnapshot], companies: Collection[str]
    ) -> Iterator[tuple[Figure, Values]]:
        totals: Sequence[Total] | None = None
        under_way: Sequence[UnderWay] = ()
        with suppress(JournalError):
            totals = self._journal.totals.events() if companies else None
            under_way = self._journal.totals.under_way()
        return figures(status, snapshots, totals, under_way, companies)


def check(path: Path) -> None:
    """Try to write next to that file; what is written is removed. Raises NoMetrics."""
    _import()
    with _translated(path):
        probe = Directory.open(path.parent).draft()
        try:
            create_whole(probe, b"")
        finally:
            discard(probe)


def text(figures: Iterable[tuple[Figure, Values]]) -> bytes:
    """Figures in Prometheus' text format. Raises NoMetrics."""
    _import()
    from prometheus_client import generate_latest  # noqa: PLC0415 - only where it is wanted
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415
    from prometheus_client.registry import Collector  # noqa: PLC0415

    class Figures(Collector):
        def collect(self) -> Iterator[Metric]:
            for figure, values in figures:
                form = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
                family = form(figure.name, figure.says, labels=figure.labels)
                for labels, value in values:
                    family.add_metric(labels, value)
                yield family

    return generate_latest(Figures())


def _import() -> None:
    try:
        import prometheus_client  # noqa: F401, PLC0415 - its absence is an answer
    except ModuleNotFoundError:
        how = "filedrop manual alerts shows how to install it"
        raise NoMetrics(f"metrics.textfile: prometheus-client isn't installed: {how}") from None


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """A context in which OSError becomes NoMetrics."""
    try:
        yield
    except OSError as error:
        remedy = "" if isinstance(error, PermissionError) else "; check that its folder exists"
        raise NoMetrics(f"metrics.textfile: {path} can't be written: {explain(error, path.parent)}{remedy}") from error
