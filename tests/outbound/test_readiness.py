"""Two promises: a file is never taken before its writer is done, and never left lying when it is."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from filedrop.files import FileStamp
from filedrop.outbound.readiness import (
    LATER,
    SETTLE_ELSEWHERE,
    SOON,
    Clock,
    Seen,
    look_again,
    unchanged_for,
    wait_for_writer,
)

SEAL = FileStamp(100, 1, 1)
OTHER = st.builds(FileStamp, st.integers(0, 200), st.integers(0, 5), st.integers(0, 5)).filter(
    lambda stamp: stamp != SEAL
)
MOMENTS = st.floats(0, 1e9)
SECONDS = st.floats(0, 1e6)
SETTLE = st.integers(0, 3600).map(lambda seconds: timedelta(seconds=seconds))


@given(unchanged=SECONDS, settle=SETTLE, local=st.booleans())
def test_a_closed_file_is_ready(unchanged: float, settle: timedelta, *, local: bool) -> None:
    """Where the system tells that the writer has closed the file, nobody waits."""
    assert wait_for_writer(unchanged, settle=settle, closed=True, local=local) == 0


@given(unchanged=SECONDS, settle=SETTLE)
def test_a_file_settles(unchanged: float, settle: timedelta) -> None:
    """On a local disk a file is ready once it has been unchanged for `settle`, not before and not later."""
    wait = wait_for_writer(unchanged, settle=settle, closed=False, local=True)
    assert (wait == 0) == (unchanged >= settle.total_seconds())
    assert wait_for_writer(unchanged + wait + 0.001, settle=settle, closed=False, local=True) == 0


@given(unchanged=SECONDS, settle=SETTLE)
def test_on_a_network_nothing_settles_sooner_than_in_ten_seconds(unchanged: float, settle: timedelta) -> None:
    """A server's clock and its clients' caches are not ours: a short `settle` holds for local disks only."""
    wait = wait_for_writer(unchanged, settle=settle, closed=False, local=False)
    assert (wait == 0) == (unchanged >= max(settle.total_seconds(), SETTLE_ELSEWHERE))


@given(since=MOMENTS, watched=SECONDS, changed=MOMENTS, wall=MOMENTS)
def test_elsewhere_only_our_own_clock_counts(since: float, watched: float, changed: float, wall: float) -> None:
    """What a network file's time says doesn't make it ready: only how long we have seen it like this."""
    now = Clock(since + watched, wall)
    assert unchanged_for(Seen(SEAL, since), SEAL, changed, now, local=False) == now.steady - since
    assert unchanged_for(None, SEAL, changed, now, local=False) == 0


@given(other=OTHER, since=MOMENTS, watched=SECONDS)
def test_a_change_begins_the_waiting_anew(other: FileStamp, since: float, watched: float) -> None:
    """A file whose size, time or inode is another than before has been unchanged for no time at all."""
    now = Clock(since + watched, wall=0.0)
    assert unchanged_for(Seen(other, since), SEAL, 0.0, now, local=False) == 0


@given(changed=MOMENTS, ago=SECONDS, steady=MOMENTS)
def test_a_file_that_lay_there_before_us_is_old_at_once(changed: float, ago: float, steady: float) -> None:
    """After a start nobody waits for files that have long been finished on a local disk."""
    now = Clock(steady, changed + ago)
    assert unchanged_for(None, SEAL, changed, now, local=True) == now.wall - changed


@given(wall=MOMENTS, ahead=st.floats(0.001, 1e6), since=MOMENTS, watched=SECONDS)
def test_a_clock_that_was_set_back(wall: float, ahead: float, since: float, watched: float) -> None:
    """A change in the future neither makes a file ready nor keeps it waiting longer than our own clock says."""
    now = Clock(since + watched, wall)
    assert unchanged_for(Seen(SEAL, since), SEAL, wall + ahead, now, local=True) == now.steady - since
    assert unchanged_for(None, SEAL, wall + ahead, now, local=True) == 0


@given(wall=MOMENTS, behind=SECONDS, since=MOMENTS, watched=SECONDS)
def test_a_clock_that_was_set_forward(wall: float, behind: float, since: float, watched: float) -> None:
    """A file that we have seen as it is grows older by our own clock alone, however long ago its change now seems."""
    now = Clock(since + watched, wall + behind)
    assert unchanged_for(Seen(SEAL, since), SEAL, wall, now, local=True) == now.steady - since


@given(in_use_for=SECONDS)
def test_a_file_that_somebody_has_open_is_looked_at_again(in_use_for: float) -> None:
    """Whoever has it open for a moment delays it by a moment, whoever has it for long by a tenth; nobody by much."""
    wait = look_again(in_use_for)
    assert SOON <= wait <= LATER
    assert wait == SOON or wait <= in_use_for / 10
