"""A failed document that a person brings back, in whichever way, has its PDF: it is never sent alone after that."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice, with_pdf
from support.faults import instead
from support.prepared import PDF, Steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

OTHER = PDF.replace(b"1.7", b"1.4")
FOLLOW = [[""], ["", ".json"], ["", ".why.txt"], ["", ".json", ".why.txt"], ["", ".json", ".why.txt", ".posted"]]


@pytest.fixture(params=["embed", "require"])
def steps(make_world: Callable[..., World], clock: Clock, request: pytest.FixtureRequest) -> Steps:
    return Steps(make_world, clock, prepare=f"{{pdf: {request.param}}}")


def fail(steps: Steps) -> Path:
    """Have a document fail that has a PDF. Returns `failed/`."""
    steps.drop("a.xml", invoice("1"), instead(422, "no"), pdf=PDF)
    failed = steps.world.outbound / "failed"
    assert {path.name for path in failed.iterdir()} == {"a.pdf", *(f"a.xml{end}" for end in FOLLOW[-1])}
    return failed


def strays(steps: Steps) -> dict[tuple[str, str], str]:
    """The files that nobody will send, by place and name, and why."""
    return {(stray.place, stray.name): stray.why for stray in steps.life.pipeline.reconciliation.strays.found or ()}


@pytest.mark.parametrize("ends", FOLLOW)
@pytest.mark.parametrize("pdf", [True, False])
def test_moved(steps: Steps, ends: list[str], *, pdf: bool) -> None:
    """Moved with whatever was next to it, the document is sent with its PDF, and nothing is left."""
    failed = fail(steps)
    if pdf:
        (failed / "a.pdf").rename(steps.world.outbound / "a.pdf")
    for end in reversed(ends):
        (failed / f"a.xml{end}").rename(steps.world.outbound / f"a.xml{end}")
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(invoice("1"), "a.pdf", PDF)]
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "by retry"])
def test_better_pdf_in_its_place(steps: Steps, *, by_hand: bool) -> None:
    """A PDF that a person saves over the one in failed/ is the document's."""
    (fail(steps) / "a.pdf").write_bytes(OTHER)
    bring_back(steps, by_hand=by_hand)
    assert steps.sent() == [with_pdf(invoice("1"), "a.pdf", OTHER)]


def bring_back(steps: Steps, *, by_hand: bool) -> None:
    """Bring the document back, alone, and let time pass."""
    if by_hand:
        (steps.world.outbound / "failed" / "a.xml").rename(steps.world.outbound / "a.xml")
    else:
        assert steps.world.filedrop("retry", "acme", "a.xml").returncode == 0
    steps.go_on(3600)


def test_corrected(steps: Steps) -> None:
    """A document that a person corrects and moves back alone isn't sent; its former PDF is reported."""
    (fail(steps) / "a.xml").write_bytes(invoice("2"))
    bring_back(steps, by_hand=True)
    assert not steps.sent()
    assert {"failed/a-2.xml", "failed/a.pdf"} <= steps.lying()
    assert strays(steps)["failed", "a.pdf"] == "it is a PDF, and no document of its name is next to it"
    note = (steps.world.outbound / "failed" / "a-2.xml.why.txt").read_text("utf-8")
    assert "There is no a.pdf, which is to be put into the document." in note


def test_corrected_and_retried(steps: Steps) -> None:
    """By retry, a corrected document takes the PDF that is next to it."""
    (fail(steps) / "a.xml").write_bytes(invoice("2"))
    bring_back(steps, by_hand=False)
    assert steps.sent() == [with_pdf(invoice("2"), "a.pdf", PDF)]


def test_copied(steps: Steps) -> None:
    """A copy of a document that is still in failed/ doesn't get its PDF, and isn't sent alone."""
    shutil.copy(fail(steps) / "a.xml", steps.world.outbound / "a.xml")
    steps.go_on(3600)
    assert not steps.sent()
    assert "failed/a.pdf" in steps.lying()


@pytest.mark.parametrize("name", ["a.xml", "b.xml"])
def test_kept_elsewhere(steps: Steps, name: str) -> None:
    """A document that comes back when its sidecar has been cleared, under any name, has its PDF by its bytes."""
    failed = fail(steps)
    (failed / "a.xml").rename(steps.world.base / "a.xml")
    steps.go_on(3600)
    assert "failed/a.xml.json" not in steps.lying()
    (steps.world.base / "a.xml").rename(steps.world.outbound / name)
    steps.go_on(3600)
    assert steps.sent() == [with_pdf(invoice("1"), name.replace("xml", "pdf"), PDF)]


def test_pdf_that_was_deleted(make_world: Callable[..., World], clock: Clock) -> None:
    """The way out: a document whose PDF a person has deleted from failed/ is sent alone by retry, with embed."""
    steps = Steps(make_world, clock, prepare="{pdf: embed}")
    (fail(steps) / "a.pdf").unlink()
    (steps.world.outbound / "failed" / "a.xml").rename(steps.world.outbound / "a.xml")
    steps.go_on(3600)
    assert steps.world.error("a.xml") == "no-attachment"
    assert steps.world.filedrop("retry", "acme", "a.xml").returncode == 0
    steps.go_on(3600)
    assert steps.sent() == [invoice("1")]


@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "by retry"])
def test_exported_again(steps: Steps, *, by_hand: bool) -> None:
    """A PDF that is exported again into outbound/ is the document's, and the former one is reported."""
    fail(steps)
    steps.world.put(steps.world.outbound / "a.pdf", OTHER)
    bring_back(steps, by_hand=by_hand)
    assert steps.sent() == [with_pdf(invoice("1"), "a.pdf", OTHER)]
    assert strays(steps) == {("failed", "a.pdf"): "it is a PDF, and no document of its name is next to it"}


def test_retry_while_the_next_document_is_exported(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF in outbound/ whose own document follows at once stays with that; the failed one keeps its own."""
    fail(steps)
    steps.world.put(steps.world.outbound / "a.pdf", OTHER)
    with monkeypatch.context() as patched:
        patched.setattr("time.sleep", lambda _: steps.world.put(steps.world.outbound / "a.xml", invoice("2")))
        assert steps.world.filedrop("retry", "acme", "a.xml").returncode == 0
    steps.go_on(3600)
    assert sorted(steps.sent()) == sorted(
        [with_pdf(invoice("1"), "a.pdf", PDF), with_pdf(invoice("2"), "a.pdf", OTHER)]
    )


@pytest.mark.parametrize("names", [["--all"], ["a-2.xml"]], ids=["all", "the second"])
def test_exported_again_for_one_of_two(steps: Steps, names: list[str]) -> None:
    """Where two documents of one name failed, nobody knows whose a newer PDF is: each keeps its own."""
    fail(steps)
    steps.world.front.next("POST /outbox", instead(422, "no"))
    steps.world.put(steps.world.outbound / "a.pdf", OTHER)
    steps.world.put(steps.world.outbound / "a.xml", invoice("2"))
    steps.go_on(20)
    steps.world.put(steps.world.outbound / "a.pdf", PDF.replace(b"1.7", b"1.6"))
    assert steps.world.filedrop("retry", "acme", *names).returncode == 0
    steps.go_on(3600)
    first, second = with_pdf(invoice("1"), "a.pdf", PDF), with_pdf(invoice("2"), "a.pdf", OTHER)
    assert sorted(steps.sent()) == sorted([first, second] if names == ["--all"] else [second])
    assert ("", "a.pdf") in strays(steps)
