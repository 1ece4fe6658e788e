from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.bench import Bench
    from support.stepping import Clock, Life
    from support.world import World


@pytest.fixture
def make_bench(make_world: Callable[..., World], clock: Clock) -> Iterator[Callable[..., Bench]]:
    """Makes an outbound folder whose files are claimed and compared one by one."""
    from support.bench import Bench  # noqa: PLC0415 - tests of single rooms need no sandbox
    from support.stepping import RULES, Life  # noqa: PLC0415 - as above

    lives: list[Life] = []

    def make(more: str = "", **outbound: str) -> Bench:
        keys = RULES | {"incomplete_after": "10m"} | outbound
        world = make_world(outbound=keys, inbound={"poll": "5m"}, clock=clock.true, more=more)
        life = Life(world, clock)
        lives.append(life)
        life.turn()
        life.do_all()
        return Bench(world, life, clock)

    yield make
    for life in lives:
        life.drop()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """An outbound folder that has been compared with the journal once, and is empty."""
    return make_bench()
