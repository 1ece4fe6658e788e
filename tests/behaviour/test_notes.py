"""What notes say: sentences for the person who must act, in words, names and times of theirs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

from filedrop.texts.note import FOR_ADMINISTRATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.world import World

XHTML = b"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>Log in</title></head><body>Log in</body></html>"
PAGES = {
    "well-formed": (b"<html><head><title>Log in</title></head><body><p>Log in, please</p></body></html>", "unreadable"),
    "XHTML": (XHTML, "unreadable"),
    "HTML": (b"<!DOCTYPE html>\n<html><head><title>Error</title></head><body><p>Oops<br></body></html>", "doctype"),
    "not well-formed": (b"<HTML><head><title>Error</title></head><body><p>Oops<br></body></HTML>", "not-xml"),
}


def note(world: World, name: str) -> str:
    """What the note beside a failed document says."""
    return (world.outbound / "failed" / f"{name}.why.txt").read_text("utf-8")


@pytest.mark.parametrize(("page", "code"), PAGES.values(), ids=PAGES)
def test_a_web_page(make_world: Callable[..., World], page: bytes, code: str) -> None:
    """A web page that was saved as .xml is called one; no mapping rule is proposed for it."""
    world = make_world(outbound={"incomplete_after": "0s"})
    world.drop("page.xml", page)
    world.run_once()
    assert world.error("page.xml") == code
    assert "a web page" in note(world, "page.xml")
    assert "mapping" not in note(world, "page.xml")
    assert not world.front.asked("POST /outbox")


@pytest.fixture
def in_kathmandu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A computer whose clock shows the time of Kathmandu."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="Windows takes its zone from elsewhere")
@pytest.mark.usefixtures("in_kathmandu")
def test_times_are_local(world: World) -> None:
    """A time in a note is that of the clock on the wall, written out."""
    hours = [time.strftime("%d %B %Y, %H:").lstrip("0")]
    world.drop("one.xml", invoice())
    world.run_once()
    hours.append(time.strftime("%d %B %Y, %H:").lstrip("0"))
    world.put(world.outbound / "again.xml", invoice())
    world.run_once()
    for part in note(world, "again.xml").split(FOR_ADMINISTRATOR):
        assert any(f"on {hour}" in part for hour in hours)
