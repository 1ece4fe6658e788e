"""Which machine it is, and what else it is doing meanwhile."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filedrop.files.disk import file_system

if TYPE_CHECKING:
    import subprocess

TICK = os.sysconf("SC_CLK_TCK")  # of /proc, proc(5)
LIVING: set[subprocess.Popen[bytes]] = set()
"""Our processes that haven't been waited for: what they do is no one else's work."""


def describe(folder: Path) -> dict[str, Any]:
    """The machine, and the file system that is measured."""
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    models = {line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")}
    return {
        "cpu": ", ".join(sorted(models)),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "file_system": file_system(folder).kind,
        "folder": str(folder),
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }


class Load:
    """With it, what others do meanwhile: `others` is in cores, all of the machine's work but that of our processes."""

    others = 0.0

    def __enter__(self) -> Self:
        self._begun = (time.monotonic(), _all_work(), _our_work())
        return self

    def __exit__(self, *_: object) -> None:
        begun, everybodys, ours = self._begun
        passed = max(time.monotonic() - begun, 1 / TICK)
        self.others = round(max(0.0, _all_work() - everybodys - (_our_work() - ours)) / passed, 2)


def family(pid: int) -> list[int]:
    """A living process and its living children, of filedrop: the daemon and its porter."""
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found += map(int, path.read_text(encoding="utf-8").split())
    return found


def cpu_seconds(pid: int) -> float:
    """The CPU time of a living process and its children, living and ended, its ended threads included."""
    return sum(_cpu_seconds(one) for one in family(pid))


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) / TICK


def _all_work() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK  # but idle and iowait; stolen time is others' work


def _our_work() -> float:
    waited_for = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    living = sum(cpu_seconds(process.pid) for process in LIVING if process.returncode is None)
    return living + sum(usage.ru_utime + usage.ru_stime for usage in waited_for)
