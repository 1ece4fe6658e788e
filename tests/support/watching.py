"""A filedrop that goes a step at a time, and what its status says of it every half a minute.

watching = Watching(world, clock)
watching.pass_on(3600)
watching.troubles        # what stands still, and what failed
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support.stepping import AFTER_FAILURE, Life

from filedrop.daemon import evidence
from filedrop.daemon.evidence import Evidence, Facts
from filedrop.status.survey import Survey, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.stepping import Clock
    from support.world import World

    from filedrop.status.model import Status


class Watching:
    """A life of filedrop without threads: that these are alive, other tests show. `status`: the last one."""

    def __init__(self, world: World, clock: Clock) -> None:
        self.world = world
        self.clock = clock
        self.life = Life(world, clock)
        service = self.life.service
        service.is_healthy = lambda: True  # type: ignore[method-assign] - it has no threads
        self._evidence = Evidence(world._log, service.now, service.steady)
        self._survey = Survey(service.config, service.journal)
        self.status: Status = self._look()

    @property
    def troubles(self) -> Mapping[str, str]:
        """What stands still, and what failed."""
        return self.status["troubles"]

    def pass_on(self, seconds: float) -> None:
        """Let so much time pass, and all be done that is due meanwhile, with a look every half a minute."""
        until = self.clock.passed + seconds
        while self.clock.passed < until:
            self.life.go_on(min(evidence.EVERY, until - self.clock.passed))
            self.life.service.tick()
            self.life.service.guard.attempt("pages", self.life.service.pages.turn)
            self.clock.pass_on(AFTER_FAILURE)
            self._look()

    def _look(self) -> Status:
        service = self.life.service
        snapshots = self._survey.snapshots.items()
        files = {path: there.counts for path, there in snapshots if not there.trouble}
        self._evidence.look(lambda: Facts(service, files, {}, None, ()))
        part = part_of(self._evidence.added_to(service.report()))
        self.status = self._survey.take(replace(part), running=True, now=self.clock.now())
        return self.status
