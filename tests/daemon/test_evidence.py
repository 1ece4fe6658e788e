"""Whatever breaks, status says so: what is owed has a latest moment, and an unforeseen error is shown at once."""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice
from support.faults import cut_after, instead
from support.matrix import draw_seed, quick
from support.stepping import RULES, Clock
from support.steps import steps
from support.watching import Watching, WatchingAll
from support.world import PATIENCE, World

from filedrop.model.report import Kept
from filedrop.outbound import pipeline
from filedrop.outbound.pipeline import OutboundPipeline
from filedrop.times import from_seconds, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.matrix import Sample
    from support.postoffice import PostOffice

MINUTE = 60.0
STEPS = {str(step): step for step in steps()}
IT = "it@example.com"
BREAKING = str(Path(__file__).parents[1] / "support" / "breaking.py")
FAULTS = ("raises", "nothing", "hangs")
TRIED = [("outbound.tracking.Tracking.track", "raises"), ("inbound.inbox.Inbox.unread", "nothing")]
SAMPLE = 12  # of all steps, with each fault
BLIND = {  # what sees less than there is gives no evidence (docs/design/record.md)
    "inbound.poller.InboxPoller._delivery", "storage.company_folders.OutboundFolder.stamp",
}  # fmt: skip
FILES = ("status.json", "STATUS.html", "filedrop.prom")


@pytest.fixture
def watching(make_world: Callable[..., World]) -> Iterator[Watching]:
    clock = Clock()
    inbound = {"poll": "1m", "readable": "html", "answers": "move"}
    world = make_world(outbound=RULES, inbound=inbound, clock=clock.true, deliver_after=30)
    made = Watching(world, clock)
    made.pass_on(2 * MINUTE)
    yield made
    made.drop()


def broken(*_: object, **__: object) -> None:
    """Fail as nobody foresaw."""
    raise RuntimeError("broken")


def test_a_step_that_nobody_foresaw(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing step is an issue of its folder at once, for two minutes after it has succeeded, and no longer."""
    outbound = str(watching.pipeline.folder.path)
    with monkeypatch.context() as patch:
        patch.setattr(OutboundPipeline, "_take_up_folder", broken)
        watching.pass_on(4 * MINUTE)
        assert outbound in watching.troubles
        assert "an error in filedrop; please report it (RuntimeError: broken)" in watching.troubles[outbound]
        failures = [line for line in watching.world.log() if line["event"] == "work.failed"]
        assert len(failures) < 10, "with growing pauses"
    watching.pass_on(6 * MINUTE)
    assert watching.troubles == {}


def test_an_optional_step_that_fails(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses, answers and the archive's end don't keep a document from being sent, and are reported."""
    for name in ("write_responses", "place_answers"):
        monkeypatch.setattr(pipeline, name, broken)
    monkeypatch.setattr(pipeline.Leftovers, "continue_due", broken)
    watching.world.drop("invoice.xml", invoice("1"))
    watching.pass_on(5 * MINUTE)
    assert len(watching.world.accepted()) == 1
    assert len(watching.troubles) == 3


def test_a_folder_that_cannot_say_when(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in `due` ends no thread: the folder is asked again, and the error is reported."""
    with monkeypatch.context() as patch:
        patch.setattr(OutboundPipeline, "due", broken)
        watching.pass_on(4 * MINUTE)
        assert [about for about in watching.troubles if about.startswith("the next step in")]
    watching.world.drop("invoice.xml", invoice("1"))
    watching.pass_on(4 * MINUTE)
    assert len(watching.world.accepted()) == 1


def test_a_part_of_a_tick_that_fails(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in one part of a tick costs this part alone, and is reported."""
    monkeypatch.setattr(watching.service.commands, "tick", broken)
    watching.pass_on(MINUTE)
    assert list(watching.troubles) == ["commands"]


def test_files_that_nobody_claims(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that does nothing is reported within five minutes and a look, with the moment since when."""
    monkeypatch.setattr(pipeline, "claim_files", lambda *_: ())
    watching.world.drop("invoice.xml", invoice("1"))
    watching.pass_on(4 * MINUTE)
    assert watching.troubles == {}
    watching.pass_on(3 * MINUTE)
    (why,) = watching.troubles.values()
    assert why.startswith("since ")
    assert why.endswith("files aren't claimed: restart filedrop; if this comes again, please report it with the log")


def test_a_restart_lets_no_time_begin_again(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood still before a restart still does, since the same moment; what goes on has a minute for it."""
    world, clock = watching.world, watching._clock
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "claim_files", lambda *_: ())
        world.drop("invoice.xml", invoice("1"))
        watching.pass_on(4 * MINUTE)
        (since,) = (since for what, (_, _, since) in watching.kept.marks.items() if what.endswith("aren't claimed"))
        watching.drop()
        clock.pass_on(60 * MINUTE)  # switched off: that isn't filedrop's time
        second = Watching(world, clock, before=watching.kept)
        second.pass_on(0.5 * MINUTE)
        assert second.troubles == {}
        second.pass_on(3 * MINUTE)
        (why,) = second.troubles.values()
        assert why.startswith(f"since {local(from_seconds(since))}, ")
        second.drop()
    third = Watching(world, clock, before=second.kept)
    for _ in range(8):
        third.pass_on(0.5 * MINUTE)
        assert third.troubles == {}
    assert len(third.kept.starts) == 2, "within the last hour"
    third.drop()


def test_an_account_that_was_away_for_long(watching: Watching) -> None:
    """An account that was away for 12 of the last 24 hours in all is an issue when it is back, until it is less."""
    world, clock = watching.world, watching._clock
    watching.drop()
    hour = int(clock.now().timestamp() // 3600)
    first, others = {str(hour - 23): 3500.0}, {str(hour - hours): 3600.0 for hours in range(1, 12)}
    second = Watching(world, clock, before=Kept(absences={"main": {**first, **others}}))
    second.pass_on(MINUTE)
    assert second.troubles == {}
    world.front.always(lambda _: True, instead(503))
    second.pass_on(4 * MINUTE)
    assert second.status["accounts"]["main"]["reachable"] is False
    assert second.troubles == {}, "its own sentence says so"
    world.front.heal()
    second.pass_on(4 * MINUTE)
    (why,) = second.troubles.values()
    assert "account main couldn't be used for 12 hours in all: it can be used now, but ask the operator" in why
    clock.pass_on(60 * MINUTE)
    second.pass_on(MINUTE)
    assert second.troubles == {}, "the first of them is more than a day ago"
    second.drop()


def test_host_that_is_gone(watching: Watching) -> None:
    """A host without signs of life is an issue at once, until it is back or forgotten."""
    share = watching.service.share
    at = watching.service.now().timestamp()
    for share.missing, issues in ({"a": at}, ["host a"]), ({}, []):
        watching.pass_on(MINUTE)
        assert list(watching.troubles) == issues
        for why in watching.troubles.values():
            assert why.startswith("since ")
            assert "host a has given no sign of life" in why
            assert why.endswith("if it is gone for good: filedrop hosts forget a")


def test_a_healthy_half_hour(watching: Watching) -> None:
    """Where all is done, no look reports a standstill: documents and messages, at once and later."""
    found: list[str] = []
    for number in range(3):
        for each in range(4):
            watching.world.drop(f"{number}-{each}.xml", invoice(f"{number}-{each}"))
        watching.world.receive(invoice(f"in-{number}", sender=BUYER, receiver=SELLER))
        for _ in range(20):
            watching.pass_on(MINUTE / 2)
            found += watching.troubles.values()
    assert found == []
    assert len(watching.world.accepted()) == 12


def test_a_document_whose_ready_file_is_missing(make_world: Callable[..., World]) -> None:
    """A document that waits for what only its people can write is reported after 15 minutes, and not before."""
    clock = Clock()
    world = make_world(outbound=RULES | {"ready_suffix": ".ready"}, inbound={"poll": "1m"}, clock=clock.true)
    watching = Watching(world, clock)
    world.drop("invoice.xml", invoice("1"))
    watching.pass_on(14 * MINUTE)
    assert watching.status["matters"] == []
    watching.pass_on(4 * MINUTE)
    (matter,) = watching.status["matters"]
    assert (matter["kind"], matter["title"]) == ("incomplete", "1 waiting for a file that is missing")
    (item,) = matter["items"]
    assert item["why"] == "it waits for invoice.xml.ready, which must not be older than this file"
    (world.outbound / "invoice.xml.ready").touch()
    watching.pass_on(4 * MINUTE)
    assert watching.status["matters"] == []
    watching.drop()


def test_there_are_many_steps() -> None:
    """The steps are found in the source, so that a new one can't be forgotten."""
    print(*STEPS, sep="\n")  # noqa: T201 - with -s, and where it fails
    assert len(STEPS) >= 100


@pytest.mark.parametrize(("step", "fault"), quick(TRIED))
def test_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: str) -> None:
    """Whichever step fails, does nothing or hangs: either all is done, or status says what stands still."""
    assert outcome(tmp_path, monkeypatch, step, fault) == "spoke up"


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("fault", FAULTS)
def test_each_step(tmp_path: Path, sample: Sample, fault: str) -> None:
    """The same of all steps: `test_a_step`, which shows its figures."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for step in sample(list(STEPS), SAMPLE):
        with pytest.MonkeyPatch.context() as patch:
            found[outcome(tmp_path / step, patch, step, fault)].append(step)
    print({how: len(cases) for how, cases in found.items()})  # noqa: T201 - with -s, and where it fails
    assert set(found["silent"]) <= BLIND


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGTERM")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_daemon(tmp_path: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """The same of a real daemon, ten steps of which are drawn by the run's seed: also on its page, and by mail."""
    from support.postoffice import PostOffice  # noqa: PLC0415 - Windows' kit has no aiosmtpd

    monkeypatch.setattr("filedrop.cli.status.SILENT", timedelta(seconds=30))
    drawn = random.Random(draw_seed()).sample(list(STEPS), 10)  # noqa: S311 - it is to be repeated, not secret
    for step in sample(drawn, 1):
        print(step)  # noqa: T201 - where it fails
        with PostOffice() as office:
            mail = f"{{host: 127.0.0.1, port: {office.port}, security: none, from: filedrop@example.com, to: [{IT}]}}"
            more = f"alerts:\n  mail: {mail}\nmetrics:\n  textfile: '{tmp_path / step / 'root' / FILES[-1]}'"
            with World(tmp_path / step, inbound={"readable": "html"}, more=more) as world:
                _break_daemon(world, office, step, fault)


def _break_daemon(world: World, office: PostOffice, step: str, fault: str) -> None:
    file, begun = world.base / "broken", time.time()
    with world.daemon(under=[sys.executable, BREAKING, step, fault, str(file)]) as daemon:
        world.drop("before.xml", invoice("before"))
        world.receive(from_buyer("before"))
        world.until(lambda: not undone(world, begun), 2 * PATIENCE)
        world.until(lambda: world.filedrop("status", "--check").returncode == 0, 2 * PATIENCE)
        file.touch()
        world.front.next("POST /outbox", cut_after)
        for number in range(3):
            world.drop(f"{number}.xml", invoice(f"after {number}"))
            world.receive(from_buyer(f"after {number}"))
        with suppress(AssertionError):
            world.until(lambda: daemon.poll() is not None or speaks(world), PATIENCE)
        if daemon.poll() is not None or not speaks(world):
            assert daemon.poll() or not undone(world, time.time() - PATIENCE / 2) or step in BLIND
        elif not step.startswith(("alerts", "status", "cli")):  # which are what tells of it
            world.until(lambda: "Everything is working" not in (world.root / "STATUS.html").read_text(), PATIENCE)
            world.until(lambda: office.mails, PATIENCE)


def speaks(world: World) -> bool:
    """Whether `status --check` says that something needs attention."""
    return world.filedrop("status", "--check").returncode != 0


def outcome(base: Path, patch: pytest.MonkeyPatch, step: str, fault: str) -> str:
    """What comes of a fault in a step: `done`, `spoke up` or `silent`."""
    clock, inbound = Clock(), {"poll": "1m", "readable": "html", "answers": "move"}
    more = f"metrics:\n  textfile: '{base / 'root' / FILES[-1]}'"
    with World(base, outbound=RULES, inbound=inbound, clock=clock.true, deliver_after=30, more=more) as world:
        watching = WatchingAll(world, clock)
        try:
            return _outcome(watching, patch, step, fault)
        finally:
            watching.release()
            watching.drop()


def _outcome(watching: WatchingAll, patch: pytest.MonkeyPatch, step: str, fault: str) -> str:
    world = watching.world
    watching.pass_on(2 * MINUTE)
    world.drop("before.xml", invoice("before"))
    first = world.receive(from_buyer("before"))
    watching.pass_on(4 * MINUTE)
    assert (undone(world, 0.0), watching.check()[1]) == ([], 0)
    does = {"raises": broken, "nothing": nothing, "hangs": watching.hang}[fault]
    patch.setattr(STEPS[step].place, STEPS[step].name, does)
    world.front.next("POST /outbox", cut_after)
    for number in range(3):
        world.drop(f"{number}.xml", invoice(f"after {number}"))
        world.receive(from_buyer(f"after {number}"))
    (received,) = (path for path in world.delivered() if f"-{first}-" in path.name)
    with suppress(OSError):
        received.rename(received.parent / "accepted" / received.name)
    watching.pass_on(13 * MINUTE)
    begun = time.time()
    watching.pass_on(3 * MINUTE)
    left = undone(world, begun)
    if fault == "hangs":  # in the daemon, not in the command
        patch.undo()
    has_spoken = watching.check()[1] != 0
    return "spoke up" if has_spoken else "silent" if left else "done"


def from_buyer(number: str) -> bytes:
    """An invoice that acme receives."""
    return invoice(number, sender=BUYER, receiver=SELLER)


def nothing(*_: object, **__: object) -> None:
    """Do nothing, as if there were nothing to do."""


def undone(world: World, since: float) -> list[str]:
    """What isn't done: documents, messages and pages, and files of the status that weren't written since."""
    places = world.places()
    unsent = [
        f"{name}: {places.get(name)}" for name in world.dropped if not places.get(name, "").startswith("archive/")
    ]
    old = [name for name in FILES if not (file := world.root / name).exists() or file.stat().st_mtime < since]
    return [*unsent, *["a message"] * (len(world.received) - len(world.delivered())), *world.pages_owed(), *old]
