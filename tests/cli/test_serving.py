"""What tells of a daemon, when another host told of it meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.stepping import Life

from filedrop.cli.serving import Serving
from filedrop.model.hosts import CHORES
from filedrop.process.share import Share

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World


class Drained(Share):
    """The share of a host that is to give back the chores."""

    mine = frozenset({CHORES})
    is_draining = True


def test_alerts_in_status_after_the_chores_came_back(
    make_world: Callable[..., World], clock: Clock, tmp_path: Path
) -> None:
    """A host that gets the chores back shows what can't be sent or written now, not what couldn't be before."""
    folder = tmp_path / "figures"
    world = make_world(more=f"metrics: {{textfile: '{folder / 'filedrop.prom'}'}}")
    life = Life(world, clock)
    life.service.share = Drained()
    serving = Serving(life.service.config, life.service, world._log)

    def shows_trouble() -> bool:
        serving.report()
        status = world.root / "status.json"
        return status.exists() and bool(json.loads(status.read_bytes())["alerts"])

    world.until(shows_trouble, what="status shows that the figures can't be written")
    folder.mkdir()
    serving.keep_share()
    world.until(lambda: not shows_trouble(), what="status shows that they can")
    serving._teller.close()
    serving._status_file.wait()
    life.stop()


class Another(Share):
    """The share of a host that serves all accounts, while another one has the chores."""

    does_chores = False


def test_metrics_of_each_host(make_world: Callable[..., World], clock: Clock, tmp_path: Path) -> None:
    """A host without the chores writes the figures of what it serves, and leaves the totals to the other one."""
    file = tmp_path / "filedrop.prom"
    world = make_world(more=f"metrics: {{textfile: '{file}'}}")
    life = Life(world, clock)
    life.service.share = Another()
    serving = Serving(life.service.config, life.service, world._log)
    serving.report()
    world.until(file.exists, what="the figures are there")
    serving._teller.close()
    serving._status_file.wait()
    life.stop()
    said = file.read_text("utf-8")
    assert 'filedrop_documents{company="acme",state="failed"} 0.0' in said
    assert "filedrop_sent_total{" not in said
