"""The benchmarks' command, with tiny numbers: what it shows then means nothing, and no figure is judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.matrix import Sample

PROJECT = Path(__file__).parents[1]
SOURCES = sorted((PROJECT / "benchmarks" / "cases").glob("*.py"))
CASES = [name for path in SOURCES for name in re.findall(r'^@case\("([^"]+)"', path.read_text("utf-8"), re.MULTILINE)]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks measure by /proc and inotify")


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "benchmarks", *map(str, arguments))
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


def test_the_list() -> None:
    """The command lists every case, with a line that says what it measures."""
    listed = [line.split(maxsplit=1) for line in benchmarks("--list").stdout.splitlines()]
    assert sorted(CASES) == sorted(name for name, _ in listed)


@pytest.mark.slow
@pytest.mark.timeout(600)  # several in one
def test_each_case_runs(tmp_path: Path, sample: Sample) -> None:
    """Each case runs to its end, and its figures are in the report; or it says what it lacks."""
    for name in sample(sorted(CASES), 2):
        folder = tmp_path / name
        folder.mkdir()
        report = folder / "report.json"
        done = benchmarks(name, "--tiny", "--folder", folder, "--json", report)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(report.read_text())
        assert found["figures"] or found["not_run"][name].startswith("skipped: ")
        assert name in done.stdout
