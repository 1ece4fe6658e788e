"""What the recorder promises: quick answers of a batch share a commit, and no answer waits long for others."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.drops import NOON, drop, posted

from filedrop.daemon import recorder
from filedrop.daemon.recorder import Recorder
from filedrop.journal import Journal, Outcome
from filedrop.model.document import Document, State
from filedrop.outbound.context import Unrecorded
from filedrop.process.guard import unforeseen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from filedrop.errors import FiledropError


class Answers:
    """Three documents that were posted, and their answers on the way through a recorder."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        rows = [posted(journal.documents.record(drop(number))) for number in range(1, 4)]
        self.documents = journal.documents.record_all(rows)
        self.recorded = list[set[State]]()
        self.are_back = threading.Semaphore(0)
        self.recorder = Recorder(journal, attempt=lambda _, step: unforeseen(step))

    def put(self, nth: int) -> None:
        sent = self.documents[nth].sent(NOON, 7 + nth, received=None, uuid=None)
        self.recorder.put(Unrecorded(Outcome(sent), self._return))

    def _return(self, _: Document | FiledropError) -> None:
        self.recorded.append({row.state for row in self.journal.documents.by_ids([one.id for one in self.documents])})
        self.are_back.release()


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Answers]:
    with closing(Journal.at(tmp_path / "journal.sqlite", is_daemons=True)) as journal:
        yield Answers(journal)


def test_a_batch(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a batch are recorded together, as soon as no request is under way, before any is returned."""
    monkeypatch.setattr(recorder, "LONGEST_LULL", 60.0)
    answers.recorder.start()
    for nth in range(3):
        answers.put(nth)
    answers.recorder.note_lull()
    assert all(answers.are_back.acquire(timeout=60) for _ in range(3))
    assert answers.recorded == [{State.SENT}] * 3
    answers.recorder.close(0)


def test_a_slow_access_point(answers: Answers) -> None:
    """An answer is recorded although another request has none for long."""
    answers.recorder.start()
    answers.put(0)
    assert answers.are_back.acquire(timeout=60)
    assert answers.recorded == [{State.SENT, State.SENDING}]
    answers.recorder.close(0)
