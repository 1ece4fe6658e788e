from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.postoffice import PostOffice
from support.stepping import RULES, Clock, Life, touch

from filedrop.alerts.teller import EVERY, Teller
from filedrop.process.clock import Clockwork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.postoffice import Posted
    from support.world import World

IT = "it@example.com"
LOOKS = 30  # in one length of time that is `LONG`: more tell nothing new
LONG = 1800.0  # seconds


class Telling:
    """A filedrop that goes a step at a time, and a teller that looks at it every few seconds."""

    def __init__(self, world: World, clock: Clock, office: PostOffice) -> None:
        self.world = world
        self.clock = clock
        self.office = office
        self.start()

    def start(self) -> None:
        """Start both."""
        self.life = Life(self.world, self.clock)
        clockwork = Clockwork(self.clock.now, self.clock.steady)
        self.teller = Teller(self.life.service.config, self.life.journal, self.world._log, clockwork=clockwork)

    def restart(self) -> None:
        """End as if killed, and start again."""
        self.life.drop()
        self.start()

    def look_now(self) -> None:
        """Look for what has been dropped."""
        for account in self.life.service.accounts:
            for pipeline in account.pipelines:
                touch(pipeline)

    def pass_on(self, seconds: float) -> None:
        """Let so much time pass, and all be done that is due meanwhile; where that is hours, with fewer looks."""
        until, each = self.clock.passed + seconds, seconds / LOOKS if seconds >= LONG else EVERY
        while self.clock.passed < until:
            self.life.go_on(min(each, until - self.clock.passed))
            self.teller.turn(self.life.service.report())

    def told(self, seconds: float) -> list[Posted]:
        """The mails that come while so much time passes."""
        before = len(self.office.mails)
        self.pass_on(seconds)
        return self.office.mails[before:]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with PostOffice() as office:
        yield office


def alerts(port: int, *, more: str = "") -> str:
    """Alerts by this server, in YAML."""
    mail = f"{{host: 127.0.0.1, port: {port}, security: none, from: filedrop@example.com, to: [{IT}]}}"
    return f"alerts:\n  mail: {mail}\n{more}"


@pytest.fixture
def make_telling(
    make_world: Callable[..., World], clock: Clock, office: PostOffice
) -> Iterator[Callable[..., Telling]]:
    """Makes one with these changes to its world."""
    made: list[Telling] = []

    def make(*, port: int = 0, more: str = "", **changes: object) -> Telling:
        world = make_world(
            **{
                "outbound": RULES,
                "inbound": {"poll": "1m"},
                "clock": clock.true,
                "more": alerts(port or office.port, more=more),
            }
            | changes
        )
        made.append(Telling(world, clock, office))
        return made[-1]

    yield make
    for one in made:
        one.life.drop()


@pytest.fixture
def telling(make_telling: Callable[..., Telling]) -> Telling:
    """One as it comes."""
    return make_telling()
