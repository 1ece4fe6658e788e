from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
