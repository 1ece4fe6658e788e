"""The reports on outbound folders: what they show, when they are renewed, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.documents import invoice
from support.stepping import RULES, Life

from filedrop.model.report import LISTED
from filedrop.outbound.reporting import EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

INCOMPLETE = b"<Invoice>"


def test_report_of_files_that_wait(make_world: Callable[..., World], clock: Clock) -> None:
    """A report shows the files that weren't ready; it stays as it is, and the next one shows what changed."""
    world = make_world(outbound=RULES | {"settle": "0s"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    assert life.pipeline.report.id == life.pipeline.folder.id != ""
    assert not life.pipeline.report.waiting
    path = world.outbound / "invoice.xml"
    path.write_bytes(INCOMPLETE)
    life.touch()
    life.do_each("step")
    before = life.pipeline.report
    assert ([file.path for file in before.waiting], before.unready, before.has_faults) == ([path], 1, True)
    path.write_bytes(invoice())
    life.report_closed(path.name)
    life.go_on(10)
    assert [file.path for file in before.waiting] == [path]
    assert (life.pipeline.report.waiting, life.pipeline.report.unready, life.pipeline.report.has_faults) == (
        (),
        0,
        False,
    )
    life.stop()


def test_report_of_many_files_that_wait(make_world: Callable[..., World], clock: Clock) -> None:
    """The newest waiting files are chosen once a second, and then without another event; their number is current."""
    world = make_world(outbound=RULES | {"settle": "0s"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for nth in range(LISTED + 1):
        (world.outbound / f"{nth}.xml").write_bytes(INCOMPLETE)
    life.touch()
    life.do_each("step")
    before = life.pipeline.report
    assert (before.unready, len(before.waiting)) == (LISTED + 1, LISTED)
    newest = world.outbound / "newest.xml"
    newest.write_bytes(INCOMPLETE)
    life.touch()
    life.do_each("step")
    assert (life.pipeline.report.unready, life.pipeline.report.waiting) == (LISTED + 2, before.waiting)
    assert not life.pipeline.is_done()
    assert life.pipeline.due() <= clock.steady() + EVERY
    clock.pass_on(EVERY)
    life.do_each("step")
    assert life.pipeline.report.waiting[0].path == newest
    assert life.pipeline.is_done()
    assert life.pipeline.due() > clock.steady() + EVERY
    life.drop()


def test_report_of_a_hold(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder is reported as held from the step on that meets HOLD, until one finds that it is gone."""
    world = make_world(outbound=RULES | {"settle": "0s"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    hold = world.outbound / "HOLD"
    for is_held in (True, False):
        hold.touch() if is_held else hold.unlink()
        life.touch()
        life.go_on(10)
        assert life.pipeline.report.is_held is is_held
    life.stop()


def test_report_of_a_folder_that_hangs(make_world: Callable[..., World], clock: Clock) -> None:
    """The daemon's report shows that a folder hangs, which its own worker can't; the rest is the last it reported."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    (before,) = life.service.report().accounts[0].outbound
    life.hang(life.pipeline)
    life.service.workers.hung_after = -1.0
    (hung,) = life.service.report().accounts[0].outbound
    assert (before.is_hung, hung.is_hung) == (False, True)
    assert (hung.id, hung.last_scan) == (before.id, before.last_scan)
    life.answer(life.pipeline)
    assert not life.service.report().accounts[0].outbound[0].is_hung
    life.stop()
