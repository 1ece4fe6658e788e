from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.landing import Landing
    from support.stepping import Clock, Life
    from support.world import World

    from filedrop.inbound.context import InboundContext


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


@pytest.fixture
def other(landing: Landing) -> Iterator[InboundContext]:
    """Another account, at another access point, which has a message with the same number."""
    from support.backoffs import ONCE  # noqa: PLC0415 - as above
    from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice  # noqa: PLC0415 - as above
    from support.faults import Front  # noqa: PLC0415 - as above
    from werkzeug.http import http_date  # noqa: PLC0415 - as above

    from filedrop import config  # noqa: PLC0415 - as above
    from filedrop.accesspoint import AccessPoint  # noqa: PLC0415 - as above
    from filedrop.sandbox import Sandbox, SandboxAccount  # noqa: PLC0415 - as above

    world, clock = landing.world, landing.life._clock
    sandbox = Sandbox(
        world.base / "another access point",
        [SandboxAccount("other", world.password_file.read_text(), (SELLER,))],
        clock=clock.true,
    )
    front = Front(sandbox.app, date=lambda: http_date(clock.true()))
    text = world.config_text().replace(world.front.url, front.url).replace("username: acme", "username: other")
    access_point = AccessPoint(
        config.parse(text).accounts["main"], stopped=threading.Event(), retry=ONCE, monotonic=clock.steady
    )
    content = invoice("other")
    sandbox.store.receive(
        sender=BUYER, receiver=SELLER, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=content
    )
    yield replace(landing.context, account="other", access_point=access_point)
    access_point.close()
    front.close()
    sandbox.store.close()
