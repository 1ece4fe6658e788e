from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.files import Seal
from filedrop.folders import OutboundFolder
from filedrop.identify import identify
from filedrop.lane import CLAIMS_AT_ONCE, CLOSED, Lane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_what_is_closed_while_somebody_looks_is_not_forgotten(tmp_path: Path) -> None:
    """A file that is moved in after the folder was listed goes at the next look, without having to settle."""
    lane = lane_of(tmp_path)
    for name in ("gone.xml", "there.xml"):
        lane.was_closed(name)

    def names() -> Iterator[str]:
        lane.was_closed("new.xml")
        yield "there.xml"

    assert lane.take_ready(names(), now=0.0) == ["there.xml"]
    assert lane.closed == {"there.xml", "new.xml"}
    assert lane.may_be_ready("new.xml", now=0.0)


def test_where_many_are_given_out_nothing_is_forgotten(tmp_path: Path) -> None:
    """While as many jobs as there may be are under way, the others stay as they are known, until there is room."""
    lane, names = lane_of(tmp_path), [f"{number:05}.xml" for number in range(CLAIMS_AT_ONCE)]
    lane.take_ready(reversed(names), now=0.0)
    lane.was_closed("new.xml")
    assert lane.take_ready(["new.xml"], now=0.0) == []
    lane.woken = False
    for name in names:
        lane.done_with(name)
    assert lane.woken
    assert "new.xml" in lane.closed
    assert lane.take_ready(["new.xml"], now=0.0) == ["new.xml"]


def test_not_all_of_very_many_are_known_as_closed(tmp_path: Path) -> None:
    """However many files are dropped at once, the memory for what their writers did is bounded; each is looked at."""
    lane, names = lane_of(tmp_path), [f"{number:05}.xml" for number in range(CLOSED + 1)]
    for name in names:
        lane.was_closed(name)
    assert lane.closed == set(names[:-1])
    assert lane.may_be_ready(names[-1], now=0.0)


def test_what_is_not_ready_is_looked_at_once_and_hides_nothing(tmp_path: Path) -> None:
    """However many files aren't ready, all are looked at in turn, each once: then their folder rests."""
    lane, names = lane_of(tmp_path, ready_suffix=".ready"), [f"{number:05}.xml" for number in range(MANY)]
    assert sorted(looks(lane, names)) == names
    assert sorted(looks(lane, names)) == names


def test_what_happens_to_a_file_among_many_is_seen(tmp_path: Path) -> None:
    """While the others are looked at, one whose writer closes it, or has its ready file put there, is looked at again.

    So is one whose moment has come.
    """
    lane, names = lane_of(tmp_path, ready_suffix=".ready"), [f"{number:05}.xml" for number in range(MANY)]
    for name in lane.take_ready(names, now=0.0):
        lane.remember(name, SEAL, 0.0, look_again=3.0 if name == "00002.xml" else 30.0)
        lane.done_with(name)
    lane.look_now("00000.xml")
    lane.look_now("00001.xml.ready")
    assert lane.take_ready(names, now=5.0)[:4] == ["00000.xml", "00001.xml", "00002.xml", names[CLAIMS_AT_ONCE]]


def test_what_one_job_leaves_the_next_gets(tmp_path: Path) -> None:
    """A job takes as many as it may, and no more than there are."""
    lane, names = lane_of(tmp_path), [f"{number:05}.xml" for number in range(CLAIMS_AT_ONCE)]
    lane.take_ready(names, now=0.0)
    assert lane.next_ready(16) == names[:16]
    assert lane.next_ready(1) == names[16:17]
    assert lane.next_ready(CLAIMS_AT_ONCE) == names[17:]
    assert lane.next_ready(16) == []


def test_no_more_jobs_wait_than_there_are_workers(tmp_path: Path) -> None:
    """However many files are ready, as many jobs wait as can begin at once; whoever has begun takes no part in it."""
    lane, names = lane_of(tmp_path), [f"{number:05}.xml" for number in range(10)]
    assert not lane.takes_one_more(workers=4, together=1)
    lane.take_ready(names, now=0.0)
    assert [lane.takes_one_more(workers=4, together=1) for _ in range(5)] == [True] * 4 + [False]
    assert lane.next_ready(8) == names[:8]
    assert not lane.takes_one_more(workers=4, together=1)
    assert [lane.next_ready(8) for _ in range(3)] == [names[8:], [], []]
    assert lane.claims == 0
    lane.take_ready([f"new-{number}.xml" for number in range(3)], now=0.0)
    assert [lane.takes_one_more(workers=4, together=2) for _ in range(3)] == [True, True, False]


def test_what_settles_while_others_go_on_is_looked_at_then(tmp_path: Path) -> None:
    """A file whose moment comes while its job is still busy with others is due when that job is done."""
    lane = lane_of(tmp_path)
    lane.next_full = 60.0
    lane.take_ready(["a.xml", "b.xml"], now=0.0)
    lane.woken = False
    lane.remember("a.xml", SEAL, 0.0, look_again=0.3)
    assert lane.take_ready(["a.xml", "b.xml"], now=1.0) == []
    assert lane.due() == 60.0
    for name in ("a.xml", "b.xml"):
        lane.done_with(name)
    assert lane.due() == 0.3


MANY = 2 * CLAIMS_AT_ONCE + 1
SEAL = Seal(size=1, modified=1, inode=1)


def looks(lane: Lane, names: list[str]) -> list[str]:
    """The names that sweeps give out until the lane rests, none of which can be claimed."""
    given: list[str] = []
    lane.look_now()
    while lane.woken and len(given) <= 2 * len(names):
        lane.woken = False
        taken = lane.take_ready(names, now=0.0)
        given += taken
        for name in taken:
            lane.done_with(name)
    return given


def lane_of(path: Path, ready_suffix: str | None = None) -> Lane:
    """The lane of a folder that nobody wakes."""
    return Lane(
        folder=OutboundFolder(path, company="acme", below=path, patterns=["*"], ready_suffix=ready_suffix),
        participants=(), identify=lambda reading, name: identify(reading, file_name=name),
        xpaths=(), watch="events", wake=lambda: None,
    )  # fmt: skip
