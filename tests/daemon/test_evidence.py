"""Whatever breaks, status says so: what is owed has a latest moment, and an unforeseen error is shown at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice
from support.stepping import RULES, Clock
from support.watching import Watching

from filedrop.outbound import pipeline
from filedrop.outbound.pipeline import OutboundPipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.world import World

MINUTE = 60.0


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


def test_a_healthy_hour(watching: Watching) -> None:
    """Where all is done, no look reports a standstill: documents and messages, at once and later."""
    found: list[str] = []
    for number in range(6):
        for each in range(4):
            watching.world.drop(f"{number}-{each}.xml", invoice(f"{number}-{each}"))
        watching.world.receive(invoice(f"in-{number}", sender=BUYER, receiver=SELLER))
        for _ in range(20):
            watching.pass_on(MINUTE / 2)
            found += watching.troubles.values()
    assert found == []
    assert len(watching.world.accepted()) == 24


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
