"""A thread that takes turns."""

from __future__ import annotations

import threading

from filedrop.process.guard import Guard
from filedrop.process.loop import Loop


def test_a_stop_just_before_a_turn() -> None:
    """However the moment of a stop falls, the thread ends at once, and doesn't wait for its next turn first."""

    class JustThen(threading.Event):
        def is_set(self) -> bool:
            before = super().is_set()
            self.set()
            loop.wake()
            return before

    stopped = JustThen()
    loop = Loop("loop", lambda: 3600.0, progress=lambda: 0, stopped=stopped, guard=Guard())
    loop.start()
    loop.join(60)
    assert not loop.is_alive()
