"""What a folder's worker says of what the disk refuses."""

from __future__ import annotations

from errno import EACCES, EIO, ENOSPC, EPERM, EXDEV
from typing import TYPE_CHECKING

import pytest
from support.rights import as_anyone
from support.systems import WINDOWS, modes

from filedrop.files import InUse

if TYPE_CHECKING:
    from support.bench import Bench

ONE_DISK = "keep filedrop's folder and the folders in it on one disk; mount mergerfs with ignorepponrename=true"
RIGHT = "give filedrop's user the right to"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(ENOSPC, "no room", "{}/sent/a"), "here: no room; make room on this disk"),
        (OSError(EIO, "broken", "{}/sent/a"), "here: broken"),
        (OSError(EXDEV, "another disk"), f"here: another disk; {ONE_DISK}"),
        (InUse(EACCES, "somebody has it", "{}/sent/a"), "here: somebody has it"),
        (OSError(EACCES, "no", ".draft.tmp"), f"here: no; {RIGHT}"),
        (OSError(EPERM, "no", "{}/archive/2026-11/a"), f"in {{}}/archive/2026-11: no; {RIGHT}"),
        (OSError(EACCES, "no", "{}/a", None, "{}/sending/a"), f"in {{}} and {{}}/sending: no; {RIGHT}"),
        (OSError(EACCES, "no", "{}/sent/a", None, "{}/sent/b"), f"in {{}}/sent: no; {RIGHT}"),
        (OSError("no number"), "here: no number"),
    ],
)
@pytest.mark.skipif(WINDOWS, reason="there, paths are written otherwise")
def test_what_is_to_be_done(bench: Bench, error: OSError, says: str) -> None:
    """The folder is named where that is told, and what is to be done where that is certain."""
    for name in ("filename", "filename2"):
        if isinstance(path := getattr(error, name), str):
            setattr(error, name, path.replace("{}", str(bench.outbound)))
    bench.desk.health.report_refusal(error)
    assert bench.desk.health.refused == f"files can't be moved or written {says}".replace("{}", str(bench.outbound))


@modes
def test_the_folders_that_are_closed(bench: Bench) -> None:
    """All subfolders that filedrop may not write in are named at once, whichever it was that showed it."""
    for name in ("sent", "failed"):
        (bench.outbound / name).chmod(0o555)
    with as_anyone():
        bench.desk.health.report_refusal(
            PermissionError(EACCES, "no", str(bench.outbound / "a"), None, str(bench.outbound / "sent/a"))
        )
        bench.desk.health.report_refusal(PermissionError(EACCES, "no", ".draft.tmp"))
    closed = " and ".join(
        str(bench.outbound / name) for name in bench.desk.folder.subfolders if name in ("sent", "failed")
    )
    assert bench.desk.health.refused.startswith(f"files can't be moved or written in {closed}: no (")
    assert "mode 0555; filedrop runs as " in bench.desk.health.refused
    assert f"; run: sudo chmod u+rwx {bench.outbound}/" in bench.desk.health.refused
    assert bench.told("folder.refuses") == 1


def test_what_was_told_before(bench: Bench) -> None:
    """Two refusals that take turns are logged once each, until a scan has found none."""
    for _ in range(2):
        for error in (OSError(ENOSPC, "no room"), OSError(EIO, "broken")):
            bench.desk.health.report_refusal(error)
        bench.desk.health.forget_refusals()
    assert bench.told("folder.refuses") == 2
    bench.desk.health.forget_refusals()
    assert not bench.desk.health.refused
    bench.desk.health.report_refusal(OSError(EIO, "broken"))
    assert bench.told("folder.refuses") == 3
