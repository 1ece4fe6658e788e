"""Several filedrops and the same folders: one serves them, and any other leaves them alone.

One more with the same state can't start. One with a state of its own sees by the markers whose the folders are, until a
person takes them over for it (`filedrop check --take-over`): when the one that served them has ended, wherever it was,
or has lost its journal. Started again, that one is the other.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from support.rights import as_anyone
from support.stepping import Life
from support.story import lengths, nths
from support.surroundings import Surroundings

from filedrop.errors import ConfigError
from filedrop.journal import Journal
from filedrop.process import lock
from filedrop.status.folders import folders
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World


class Several(Surroundings):
    """`other` is the filedrop that doesn't serve the folders, where it runs; `others_state` is its own."""

    def __init__(self) -> None:
        super().__init__()
        self.other: Life | None = None
        self.others_state = self.base / "other state"
        self.patch.setattr(lock, "A_GLANCE", 0.0)

    @rule(nth=nths, seconds=lengths)
    def one_more_in_between(self, nth: int, seconds: float) -> None:
        self.in_between(nth, seconds, self.one_more)

    @rule(nth=nths, seconds=lengths)
    def another_in_between(self, nth: int, seconds: float) -> None:
        self.in_between(nth, seconds, self.another)

    @precondition(lambda self: self.other is not None)
    @rule(killed=st.booleans())
    def another_ends(self, *, killed: bool) -> None:
        if self.other is not None:
            self.untouched(self.other.drop if killed else self.other.stop)
            self.other = None

    @rule(nth=nths, seconds=lengths, lost=st.booleans())
    def killed_and_taken_over(self, nth: int, seconds: float, *, lost: bool) -> None:
        self.in_between(nth, seconds, self.kill)
        if self.life is not None:  # there weren't so many side effects
            self.life.drop()
            self.life = None
        self.take_over(lost=lost)

    @precondition(lambda self: self.life is None)
    @rule(lost=st.booleans())
    def take_over(self, *, lost: bool) -> None:
        """A person says that the folders are another's: of one that takes the former one's place, or of the other."""
        self.nothing_is_broken()  # what was delivered is seen before it may come again
        self.neighbour.withdraw()
        if lost:
            shutil.rmtree(self.world.state)
            new = Life(self.world, self.clock)
            self.untouched(lambda: _work(new))
            new.drop()
        else:
            self.world.state, self.others_state = self.others_state, self.world.state
            self.life, self.other = self.other, None
        self.ledger.knows_less(takes_turns=not lost)
        with as_anyone():
            take_over(self.world)

    @rule()
    def one_more(self) -> None:
        """Another with the state of the one that runs is started, and says why it can't be."""
        if self.life is not None:
            with pytest.raises(ConfigError, match="another filedrop is running with the state"):
                self.untouched(lambda: Life(self.world, self.clock))

    @rule()
    def another(self) -> None:
        """The other one is started, where it doesn't run, and does whatever it can do now."""
        if not all(os.path.lexists(folder / MARKER) for folder in (self.world.outbound, self.world.inbound)):
            return  # a power cut took what a neighbour had put there: a folder without a marker is anybody's
        if self.other is None:
            self.other = Life(self.world, self.clock, state=self.others_state)
        other = self.other
        self.untouched(lambda: _work(other))

    def untouched(self, move: Callable[[], object]) -> None:
        """A move of a filedrop whose the folders aren't: it changes nothing there, and nothing at the access point."""
        before = self._seen()
        try:
            with as_anyone():
                move()
        finally:
            assert self._seen() == before

    def _seen(self) -> dict[str, object]:
        walk = ((folder, name) for folder, below, files in os.walk(self.world.root) for name in ("", *below, *files))
        looks = {f"{folder}/{name}": os.lstat(f"{folder}/{name}") for folder, name in walk}
        said = {"said": [request.line for request in self.world.front.requests if request.method != "GET"]}
        return said | {path: (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns) for path, one in looks.items()}

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            if self.other is not None:
                self.other.drop()


def _work(life: Life) -> None:
    """Do all that is due now, and what follows from it."""
    for _ in range(3):  # the account is asked whether it is there, then the folders are looked at, then the inbox
        life.turn()
        life.do_all()


def take_over(world: World) -> None:
    """What `filedrop check --take-over` does, beside a filedrop that runs with this state or doesn't."""
    world.state.mkdir(mode=0o700, exist_ok=True)
    with closing(Journal.at(world.state / lock.JOURNAL)) as journal:
        for folder in folders(world.configuration()):
            folder.take_over(journal)
