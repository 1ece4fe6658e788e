from __future__ import annotations

import os
import time
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from support import matrix
from support.scripted import Scripted

from filedrop.porter import Porter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from support.world import World


settings.register_profile("filedrop", deadline=None)  # nothing here depends on how busy the machine is
settings.load_profile("filedrop")


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes a world with these changes; it ends with the test."""
    from support.world import World  # noqa: PLC0415 - tests of single rooms need no sandbox

    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(World(tmp_path, **changes))


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world as it comes."""
    return make_world()


@pytest.fixture(params=[False, True], ids=["as documented", "as in the field"])
def either_world(make_world: Callable[..., World], request: pytest.FixtureRequest) -> World:
    """A world whose access point follows the interface document, and one whose follows the field notes."""
    return make_world(quirks=request.param)


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that answers what a test scripts."""
    server = Scripted()
    yield server
    server.close()


@pytest.fixture
def sample(record_property: Callable[[str, Any], None]) -> matrix.Sample:
    """Draws so many items of a long matrix, or all of them (`support.matrix`), and has the run's summary tell of it."""
    seed = matrix.draw_seed()

    def draw(items: Sequence[Any], count: int) -> list[Any]:
        drawn = matrix.sample(items, count, seed)
        record_property(matrix.PROPERTY, (len(drawn), len(items)))
        return drawn

    return draw


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much of each long matrix was run."""
    reports = chain.from_iterable(terminalreporter.stats.values())
    if lines := list(matrix.told(reports)):
        terminalreporter.section("matrices" if matrix.is_full() else f"matrices ({matrix.MATRIX}=full runs all)")
        terminalreporter.write("\n".join([*lines, ""]))


@pytest.fixture(autouse=True)
def _as_if_very_many_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """FILEDROP_MANY=1: documents go by the porter and several together, however few there are."""
    if os.environ.get("FILEDROP_MANY") == "1":
        make = Porter.__init__

        def make_and_call(porter: Porter, *arguments: Any) -> None:
            make(porter, *arguments)
            porter.see(1, time.monotonic())

        monkeypatch.setattr(Porter, "__init__", make_and_call)
        monkeypatch.setattr("filedrop.porter.MANY", 1)
        monkeypatch.setattr("filedrop.porter.line._AT_ONCE", 0)  # waits for it
        monkeypatch.setattr("filedrop.turns.MANY", 0.001)
