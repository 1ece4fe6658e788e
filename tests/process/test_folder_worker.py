"""The threads that touch folders: one for all, and one more as long as a folder keeps one busy."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

import pytest

from filedrop.process.folder_worker import FolderWorkers
from filedrop.storage.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 90.0  # seconds: bounds only what has gone wrong


class Served:
    """A folder in which so many steps are due, each of which is told, and the last one as `NAME ended`."""

    def __init__(self, path: Path, told: list[str], steps: int = 0, does: Callable[[], object] = int) -> None:
        self.folder = Folder(path, company="acme", below=path)
        self.steps = steps
        self._told = told
        self._does = does

    def due(self) -> float:
        return -1.0 if self.steps else float("inf")

    def step(self) -> None:
        self._does()
        self.steps -= 1
        self._told.append(self.folder.path.name)

    def close(self) -> None:
        self._told.append(f"{self.folder.path.name} ended")


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def survive(_what: str, step: Callable[[], None]) -> None:
    step()


class Impatient(FolderWorkers):
    """A folder keeps a thread busy, and hangs, as soon as one is in it."""

    busy_after = 0.0
    hung_after = 0.0


@pytest.fixture
def workers() -> Iterator[Impatient]:
    made = Impatient(attempt=survive, progress=itertools.count().__next__, steady=time.monotonic)
    yield made
    made.close(time.monotonic() + PATIENCE)


def test_folders_take_turns(tmp_path: Path, workers: Impatient) -> None:
    """A company with a hundred documents doesn't keep another one's single invoice waiting."""
    told = list[str]()
    workers.add([Served(tmp_path / "big", told, 100), Served(tmp_path / "small", told, 1)])
    workers.start()
    until(lambda: len(told) == 101)
    assert told[:3] == ["big", "small", "big"]


def test_a_folder_that_hangs_holds_up_only_itself(tmp_path: Path, workers: Impatient) -> None:
    """The others are served by another thread; when it answers again, one thread serves all."""
    told, entered, answers = list[str](), threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        assert answers.wait(PATIENCE)

    hung, well = Served(tmp_path / "hung", told, 2, hang), Served(tmp_path / "well", told, 0)
    workers.add([hung, well])
    workers.start()
    assert entered.wait(PATIENCE)
    until(lambda: workers.is_hung(hung))
    well.steps = 1
    workers.relieve()
    until(lambda: told == ["well"])
    answers.set()
    until(lambda: told == ["well", "hung", "hung"])
    assert not workers.is_hung(hung)


def test_a_folder_is_served_by_one_thread_at_a_time(tmp_path: Path, workers: Impatient) -> None:
    """However often it is due, and however many threads there are."""
    told, inside = list[str](), threading.Lock()

    def alone() -> None:
        assert inside.acquire(blocking=False)
        time.sleep(0)
        inside.release()

    one = Served(tmp_path / "one", told, 200, alone)
    workers.add([one])
    workers.start()
    while one.steps:
        workers.relieve()
        workers.wake()
    until(lambda: len(told) == 200)


def hanging(tmp_path: Path, workers: FolderWorkers, told: list[str]) -> tuple[Served, threading.Event]:
    """A folder amid a step that goes on until the event is set."""
    entered, answers = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        answers.wait(PATIENCE)

    hung = Served(tmp_path / "hung", told, 2, hang)
    workers.add([hung])
    workers.start()
    assert entered.wait(PATIENCE)
    return hung, answers


def test_a_removed_folder(tmp_path: Path, workers: Impatient) -> None:
    """It takes its last step though none is due, and no other from then on; the others are served as before."""
    told = list[str]()
    removed, stays = Served(tmp_path / "removed", told), Served(tmp_path / "stays", told)
    workers.add([removed, stays])
    workers.start()
    workers.remove([removed])
    until(lambda: not workers.serves(removed))
    removed.steps = stays.steps = 1
    workers.wake()
    until(lambda: "stays" in told)
    assert told == ["removed ended", "stays"]
    assert workers.serves(stays)
    workers.remove([removed])
    assert told.count("removed ended") == 1


def test_a_removed_folder_that_hangs(tmp_path: Path, workers: Impatient) -> None:
    """It is served until it answers, and takes its last step only then."""
    told = list[str]()
    hung, answers = hanging(tmp_path, workers, told)
    workers.remove([hung])
    workers.relieve()
    assert (workers.serves(hung), workers.is_in(hung), told) == (True, True, [])
    answers.set()
    until(lambda: not workers.serves(hung))
    assert (workers.is_in(hung), told) == (False, ["hung", "hung ended"])


def test_the_end_with_a_folder_that_hangs(tmp_path: Path) -> None:
    """Each folder takes its last step but that one, and nobody waits for it."""
    told, workers = list[str](), Impatient(attempt=survive, progress=itertools.count().__next__, steady=time.monotonic)
    _, answers = hanging(tmp_path, workers, told)
    workers.add([Served(tmp_path / "well", told)])
    workers.close(time.monotonic())
    assert told == ["well ended"]
    answers.set()
    until(lambda: not workers.is_alive())
    assert told == ["well ended", "hung"]


@pytest.mark.parametrize(("answers", "most"), [(False, 40), (True, 500)])
def test_a_step_of_which_nothing_comes(tmp_path: Path, answers: bool, most: int) -> None:  # noqa: FBT001 - a case
    """A folder that is due again at once, again and again, pauses for up to a second, but not where something comes."""
    passed, workers = [0.0], FolderWorkers(attempt=survive, progress=lambda: 0, steady=lambda: passed[0])
    told = list[str]()
    served = Served(tmp_path, told, 1000, lambda: workers.answers(served) if answers else None)  # type: ignore[arg-type]
    workers.add([served])  # type: ignore[list-item]
    for _ in range(500):
        if workers.due(served) <= passed[0]:  # type: ignore[arg-type]
            workers._busy[served] = 0.0  # type: ignore[index]
            workers.serve(served)  # type: ignore[arg-type]
        passed[0] += 0.01
    assert (len(told) == 500) if answers else (20 < len(told) <= most)
