from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.landing import Landing
    from support.stepping import Clock, Life
    from support.world import World


@pytest.fixture
def make_landing(make_world: Callable[..., World], clock: Clock) -> Iterator[Callable[..., Landing]]:
    """Makes an inbound folder to which messages are brought one by one; `inbound` changes the configuration."""
    from support.landing import Landing  # noqa: PLC0415 - tests of single rooms need no sandbox
    from support.stepping import RULES, Life  # noqa: PLC0415 - as above

    lives: list[Life] = []

    def make(*, min_free: int = 0, **inbound: str) -> Landing:
        world = make_world(outbound=RULES, inbound=inbound, clock=clock.true)
        lives.append(Life(world, clock))
        return Landing(world, lives[-1], min_free)

    yield make
    for life in lives:
        life.drop()


@pytest.fixture
def landing(make_landing: Callable[..., Landing]) -> Landing:
    """An inbound folder that isn't made yet."""
    return make_landing()
