"""Commands as processes of their own: what they cost, and that they end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import LIVING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROJECT = Path(__file__).parents[1]
PYTHON = sys.executable
FILEDROP = (PYTHON, "-m", "filedrop")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command cost from its start to its exit.

    Wall-clock and CPU seconds; the most memory it had resident, in MB; how often one of its threads waited.
    """

    seconds: float
    cpu: float
    memory: float
    waits: int

    def pace(self, count: int, start: Cost | None = None) -> Pace:
        """The same for so many documents that it has handled. `start`: the cost of a run that handled none."""
        steady = self.cpu - (start.cpu if start else 0.0)
        return Pace(count / self.seconds, 1000 * self.cpu / count, 1000 * steady / count)


@dataclass(frozen=True, slots=True)
class Pace:
    """Documents a second, and milliseconds of CPU for each of them: these vary less with what others do.

    `steady` are those without the CPU of the start.
    """

    rate: float
    cpu: float
    steady: float


SECONDS, RATE, CPU, STEADY = attrgetter("seconds"), attrgetter("rate"), attrgetter("cpu"), attrgetter("steady")


@contextlib.contextmanager
def living(*command: str | Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ours; at the end it is killed if it still runs, with those that it has started."""
    words = [str(word) for word in command]
    process: subprocess.Popen[bytes] = subprocess.Popen(words, cwd=PROJECT, process_group=0, **options)
    LIVING.add(process)
    try:
        yield process
    finally:
        LIVING.discard(process)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def cost_of(*command: str | Path, folder: Path, env: Mapping[str, str] | None = None, status: int = 0) -> Cost:
    """Run a command to its end; what it says goes into files in `folder`. Raises RuntimeError at another status."""
    costs, said, complained = (folder / f"last.{name}" for name in ("cost", "out", "err"))
    launch = (PYTHON, "-I", "-S", Path(__file__).with_name("launch.py"), costs, *command)
    with (
        said.open("wb") as out,
        complained.open("wb") as err,
        living(*launch, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env) as process,
    ):
        process.wait()
    if process.returncode != status:
        last = complained.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(map(str, command))[:200]} ended with {process.returncode}:\n{last}")
    return Cost(**json.loads(costs.read_text()))
