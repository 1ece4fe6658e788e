"""filedrop under strace: the calls by which it changes the world, and what strikes it at one of them.

A *place* is a call that a dry run has made. strace counts the calls of each name for each thread by itself, and
strikes every thread that comes to the n-th; a kill, the first that does. So a place is looked for by the path that its
call is about, if that is known beforehand: strace then counts the calls about that path alone, and hardly ever does
more than one thread make them. Where it isn't, at sockets and at drafts, whose names are drawn by lot, the first calls
of a thread may lie in the shadow of another's; but what is done for the first document is done for the next, out of the
shadow. One call lies behind the hundreds that a start makes, always: the one that opens a draft. A kill at the first
bytes that are written into it leaves the same world and an empty draft; one without it, `support.plug` makes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from support.world import World

# Whatever outlives the process: names, contents, rights, what is brought to the disk, what the access point hears.
TRACED = (
    "/^rename,/^link,/^symlink,/^unlink,?rmdir,/^mkdir,/^mknod,/sync,/^open,?creat,/^p?write,/truncate,?fallocate,"
    "/chmod,/chown,connect,/^send,?copy_file_range"
)
_CALL = re.compile(r"(\d+) +(\w+)\((.*)")
_PATH = re.compile(r'"(/[^"]*)"|\d<(/[^>]*)>')
_DRAFT = re.compile(r"\.[0-9A-Z]{26}\.")


@dataclass(frozen=True, slots=True)
class Call:
    """A call as strace shows it: `said` is its arguments, and its result if that came at once."""

    thread: str
    name: str
    said: str

    @property
    def changes(self) -> bool:
        """Does it change the world? All that are traced do, except for opening what is there."""
        return not self.name.startswith("open") or "O_CREAT" in self.said or "O_TRUNC" in self.said

    @property
    def paths(self) -> list[str]:
        """What it is about, as far as strace's `-P` sees it: of a plain `rename`, that is the first name alone."""
        first_alone = self.name == "rename" or self.name.startswith(("write", "pwrite", "send"))
        arguments = self.said.partition(", ")[0] if first_alone else self.said
        return [named or opened for named, opened in _PATH.findall(arguments)]


@dataclass(frozen=True, slots=True)
class Place:
    """The `number`-th call of this name in a thread; with a path (below the world's base), of those about it."""

    name: str
    path: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} {self.number}" + (f" of {self.path}" if self.path else "")

    def struck(self, world: World, fate: str, *, lasting: bool = False) -> list[str]:
        """The options by which this happens there, `signal=KILL` or `error=EIO`; `lasting`: and from there on."""
        path = ["-P", str(world.base / self.path)] if self.path else []
        return [*path, "-e", f"inject={self.name}:{fate}:when={self.number}{'+' if lasting else ''}"]


@cache
def missing() -> str:
    """Why nothing can be traced here; "" where it can."""
    if shutil.which("strace") is None:
        return "strace isn't installed"
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace may not trace here ({tried.stderr.strip()})" if tried.returncode else ""


def strace(trace: Path, *options: str) -> list[str]:
    """The beginning of a command that is to run under strace, which writes `trace`.

    `-D` makes the command, and not strace, our child. Without bytecode, a new checkout's first run is like the others.
    """
    command = ["strace", "-D", "-f", "-y", "-s", "64", "-E", "PYTHONDONTWRITEBYTECODE=1", "-o", str(trace)]
    return [*command, "-e", f"trace={TRACED}", *options]


def calls(trace: Path) -> list[Call]:
    """The calls in a trace, in the order in which they began."""
    found = (_CALL.match(line) for line in trace.read_text(errors="replace").splitlines())
    return [Call(*match.groups()) for match in found if match]


def ended(trace: Path, process: int) -> bool:
    """Has strace seen this process's end? Then the trace is whole."""
    return re.search(rf"^{process} +\+\+\+ ", trace.read_text(errors="replace"), re.MULTILINE) is not None


def places(world: World, calls: list[Call]) -> dict[Place, Call]:
    """The places of a dry run's calls, in this order; where several threads share one, the first thread's call."""
    found: dict[Place, Call] = {}
    counts = Counter[tuple[str, str, str]]()
    base = f"{world.base}/"
    for call in calls:
        known = [path.removeprefix(base) for path in call.paths if path.startswith(base) and not _DRAFT.search(path)]
        for path in {"", *known}:
            counts[call.thread, call.name, path] += 1
        path = known[-1] if known else ""
        found.setdefault(Place(call.name, path, counts[call.thread, call.name, path]), call)
    return found
