"""Figures, what they must be, and the cases that yield them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchmarks.machine import Load
from benchmarks.processes import FILEDROP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Case = Callable[["Bench"], Iterator["Figure"]]

T = TypeVar("T")
CASES: dict[str, Case] = {}
ONLY_NAMED: set[str] = set()
"""The cases that run for hours, and only when they are named."""
ROUNDS = 3


class Skipped(Exception):
    """A case can't be measured here; the sentence says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Must:
    """What a figure has to be: at least or at most so much; `of` is "figure" or "ratio" (to the yardstick)."""

    least: float | None = None
    most: float | None = None
    of: str = "figure"

    def met(self, figure: float, ratio: float | None) -> bool | None:
        """Is it? None where there is nothing to compare."""
        value = ratio if self.of == "ratio" else figure
        if value is None:
            return None
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        bounds = [f"≥ {self.least:g}"] if self.least is not None else []
        bounds += [f"≤ {self.most:g}"] if self.most is not None else []
        return " ".join(bounds) + (" x" if self.of == "ratio" else "")


@dataclass(frozen=True, slots=True)
class Samples:
    """What the rounds measured, and how many cores others used meanwhile."""

    values: Sequence[float]
    others: Sequence[float]

    @property
    def median(self) -> float:
        """The one that stands for them."""
        return statistics.median(self.values)


@dataclass(slots=True)
class Rounds(Generic[T]):
    """What each round came to, and how many cores others used meanwhile."""

    results: list[T] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def take(self, measure: Callable[[], T]) -> None:
        """Measure once more."""
        with Load() as load:
            result = measure()
        self.results.append(result)
        self.others.append(load.others)

    def each(self, value: Callable[[T], float]) -> Samples:
        """One number of each round."""
        return Samples([value(result) for result in self.results], self.others)


@dataclass(slots=True)
class Figure:
    """One line of the table: filedrop's figure, beside that of a yardstick where there is one."""

    name: str
    unit: str
    samples: Samples
    must: Must | None = None
    yardstick: Samples | None = None
    beside: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Filedrop's figure by the yardstick's: of each round, where they took turns."""
        if self.yardstick is None or not all(self.yardstick.values):
            return None
        if len(self.samples.values) != len(self.yardstick.values):
            return self.samples.median / self.yardstick.median
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.samples.values, self.yardstick.values, strict=True)
        )

    @property
    def met(self) -> bool | None:
        """Is the figure what it must be? None where nothing is wanted of it."""
        return self.must.met(self.samples.median, self.ratio) if self.must else None

    def as_json(self) -> dict[str, Any]:
        """All that is known of it."""
        yardstick = self.yardstick
        return {
            "name": self.name,
            "unit": self.unit,
            "figure": self.samples.median,
            "rounds": list(self.samples.values),
            "others": list(self.samples.others),
            "yardstick": {"name": self.beside, "figure": yardstick.median, "rounds": list(yardstick.values),
                          "others": list(yardstick.others)} if yardstick else None,
            "ratio": self.ratio,
            "must": str(self.must) if self.must else None,
            "met": self.met,
            "note": self.note,
        }  # fmt: skip


class Bench:
    """What a case works with. `tiny`: only to see that it runs, with numbers that mean nothing.

    `filedrop`: the command of the build that new installations use. `commit`: the one to compare with; `parts`:
    what is compared.
    """

    def __init__(
        self,
        folder: Path,
        *,
        rounds: int = ROUNDS,
        tiny: bool = False,
        hours: float | None = None,
        picture: Path | None = None,
        commit: str = "",
        parts: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.commit = commit
        self.parts = parts
        self.filedrop = FILEDROP
        self.hours = hours
        self.picture = picture
        self.rounds = 1 if tiny else rounds
        self.tiny = tiny
        self._made = 0

    def amount(self, wanted: int, tiny: int = 4) -> int:
        """So many, or a few where it is only to be seen that it runs."""
        return tiny if self.tiny else wanted

    def these(self, *numbers: int) -> tuple[int, ...]:
        """One after the other, or only the first."""
        return numbers[:1] if self.tiny else numbers

    def seconds(self, wanted: float) -> float:
        """So long, or a moment."""
        return min(wanted, 1.0) if self.tiny else wanted

    def new_folder(self) -> Path:
        """An empty folder, on the file system that is measured."""
        self._made += 1
        folder = self.folder / str(self._made)
        folder.mkdir()
        return folder

    def in_turn(self, *measures: Callable[[], T], rounds: int | None = None) -> list[Rounds[T]]:
        """Each measured once a round, one after the other: what holds up the machine holds up all of them."""
        taken: list[Rounds[T]] = [Rounds() for _ in measures]
        for _ in range(rounds or self.rounds):
            for one, measure in zip(taken, measures, strict=True):
                one.take(measure)
        return taken


def once(value: float, load: Load) -> Samples:
    """What was measured a single time, under this load."""
    return Samples([value], [load.others])


def case(name: str, *, only_named: bool = False) -> Callable[[Case], Case]:
    """Register a case under this name; its docstring's first line says what it measures."""
    if only_named:
        ONLY_NAMED.add(name)

    def register(function: Case) -> Case:
        CASES[name] = function
        return function

    return register
