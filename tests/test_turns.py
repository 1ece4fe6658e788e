"""So many at a time, out of politeness: nobody is kept waiting for good."""

from __future__ import annotations

import threading

from filedrop.turns import Turns


def test_who_has_waited_goes_on_all_the_same() -> None:
    """Though the only turn is taken, and isn't given back, others do their work; then the turn is there again."""
    turns = Turns(at_once=1, patience=0.001)
    with turns.one(2), turns.one(2), turns.one(2):
        pass
    assert [turns._free.acquire(blocking=False) for _ in range(2)] == [True, False]


def test_others_wait_for_their_turn() -> None:
    """While one works, another waits, but for a single document: that waits for nobody."""
    turns, order = Turns(at_once=1, patience=60), list[str]()

    def other() -> None:
        with turns.one(1):
            order.append("a single one")
        about_to_wait.set()
        with turns.one(2):
            order.append("other")

    about_to_wait, thread = threading.Event(), threading.Thread(target=other)
    with turns.one(2):
        thread.start()
        about_to_wait.wait()
        order.append("one")
    thread.join()
    assert order == ["a single one", "one", "other"]
