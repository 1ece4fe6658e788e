from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from filedrop.crew import Crew
from filedrop.folders import Folder
from filedrop.loop import attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 30.0  # seconds: bounds only what has gone wrong


class Impatient(Folder):
    """A folder that counts as hung as soon as a thread is in it."""

    patience = 0.0


class Crews:
    """Makes crews that are dismissed at the end; `idle` is set whenever nothing is left to do."""

    def __init__(self) -> None:
        self.idle = threading.Event()
        self.made: list[Crew] = []

    def __call__(self, workers: int) -> Crew:
        self.made.append(Crew(workers, name="crew", attempt=survive, on_idle=self.idle.set))
        return self.made[-1]


def survive(_what: str, job: Callable[[], None]) -> bool:
    job()
    return True


@pytest.fixture
def crew() -> Iterator[Crews]:
    crews = Crews()
    yield crews
    for made in crews.made:
        made.close(0)


def folder(path: Path, kind: type[Folder] = Folder) -> Folder:
    return kind(path, company=path.name, below=path.parent)


def test_companies_take_turns(tmp_path: Path, crew: Crews) -> None:
    """A company with a hundred documents doesn't keep another one's single invoice waiting."""
    big, small = folder(tmp_path / "big"), folder(tmp_path / "small")
    begin, done = threading.Event(), []
    one = crew(1)
    one.give(None, begin.wait)  # type: ignore[arg-type] # what it returns is nobody's concern
    for number in range(100):
        one.give(big, partial(done.append, f"big {number}"))
    one.give(small, partial(done.append, "small"))
    begin.set()
    assert crew.idle.wait(PATIENCE)
    assert done[:3] == ["big 0", "small", "big 1"]
    assert len(done) == 101


def test_no_more_than_its_workers(tmp_path: Path, crew: Crews) -> None:
    """Four workers are four requests at a time, however much there is to do; and all four work."""
    here, together = folder(tmp_path), threading.Barrier(4)
    lock, now, most = threading.Lock(), [0], [0]

    def job() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait(PATIENCE)
        with lock:
            now[0] -= 1

    four = crew(4)
    for _ in range(12):
        four.give(here, job)
    assert crew.idle.wait(PATIENCE)
    assert most == [4]


def test_a_hung_folder_holds_up_only_itself(tmp_path: Path, crew: Crews) -> None:
    """While jobs hang in one folder, all workers go on with the others; nothing more is begun in the hung one."""
    hung, well = folder(tmp_path / "hung", Impatient), folder(tmp_path / "well")
    answers, hanging, done = threading.Event(), threading.Event(), []

    def hang() -> None:
        with hung.busy():
            hanging.set()
            answers.wait()
        done.append("hung")

    two = crew(2)
    two.give(hung, hang)
    assert hanging.wait(PATIENCE)
    two.give(hung, hang)
    together = threading.Barrier(3)
    for _ in range(2):
        two.give(well, partial(together.wait, PATIENCE))  # type: ignore[arg-type] # likewise
    two.relieve()
    together.wait(PATIENCE)
    assert done == []
    answers.set()
    assert crew.idle.wait(PATIENCE)
    assert two.idle()
    assert done == ["hung", "hung"]


def test_a_job_that_fails_is_survived(crew: Crews) -> None:
    """One job's trouble ends neither its thread nor the jobs behind it."""
    troubles: list[str] = []

    class Log:
        def error(self, _event: str, *, what: str, why: str) -> None:
            troubles.append(f"{what}: {why}")

    one = Crew(1, name="crew", attempt=partial(attempt, Log()), on_idle=crew.idle.set)  # type: ignore[arg-type] # as much of a logger as it needs
    crew.made.append(one)
    done = threading.Event()
    one.give(None, partial(open, "/no/such/file"))  # type: ignore[arg-type] # it returns nothing: it raises
    one.give(None, done.set)
    assert done.wait(PATIENCE)
    assert troubles == ["crew: [Errno 2] No such file or directory: '/no/such/file'"]


def test_the_end(crew: Crews) -> None:
    """At the end what is in hand is finished, what has not begun is left, and nothing more is taken."""
    begun, finish, done = threading.Event(), threading.Event(), []
    one = crew(1)

    def job() -> None:
        begun.set()
        finish.wait()
        done.append("in hand")

    one.give(None, job)
    one.give(None, partial(done.append, "not begun"))
    assert begun.wait(PATIENCE)
    assert not one.close(0)
    finish.set()
    assert one.close(PATIENCE)
    one.give(None, partial(done.append, "too late"))
    assert done == ["in hand"]


def test_a_thread_that_cannot_be_started(tmp_path: Path, crew: Crews, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no thread to give, the job waits until it has, and nobody is counted who isn't there."""
    start, done = threading.Thread.start, threading.Event()

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    one = crew(1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    one.give(folder(tmp_path), done.set)
    assert not one.idle()
    monkeypatch.setattr(threading.Thread, "start", start)
    one.relieve()
    assert done.wait(PATIENCE)
    assert one.close(PATIENCE)
