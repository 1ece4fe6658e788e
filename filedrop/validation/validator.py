"""What a validator is, and the one that is a program; process has the other, which goes by rules.

Both judge a document as it would be sent, within a time limit.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from filedrop.errors import NoVerdict
from filedrop.model.fault import Finding
from filedrop.programs import Program, find, how_it_ended
from filedrop.texts.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VALID, INVALID = 0, 1  # exit statuses of a program (contract 8)
LONGEST_SAID = 2000  # characters that are kept of what a program says


class Kind(NamedTuple):
    """What rules are chosen by: the local name of the root element, the CustomizationID, and whose document it is."""

    root: str
    customization: str
    company: str = ""


class Verdict(NamedTuple):
    """What a validator says of a document. `rules` are the files that were applied; none: there are none for it.

    `more` is the number of findings that aren't listed.
    """

    findings: tuple[Finding, ...]
    rules: tuple[str, ...] = ()
    more: int = 0

    @property
    def is_valid(self) -> bool:
        """Whether the document breaks no rule."""
        return not any(finding.is_fatal for finding in self.findings)


class Validator(Protocol):
    """Judges documents. Thread-safe."""

    def judge(self, kind: Kind, content: Iterable[bytes]) -> Verdict:
        """Judge a document; `content` is it in UTF-8. Raises NoVerdict, and whatever `content` raises."""

    def check(self) -> str:
        """Try it without a document. Returns what it judges by, in half a sentence. Raises NoVerdict."""

    def end_if_idle(self) -> None:
        """Give back what it needs only while there is work. Called now and then."""

    def close(self) -> None:
        """End it; whatever is being judged has no verdict."""


class ByProgram:
    """Judges by a program, which is given a copy in a folder that only filedrop's user sees.

    `passed` names the variables that are passed on to it (`programs.environment`).
    """

    def __init__(
        self, command: Sequence[str], *, seconds: float, folder: Path | None, passed: Sequence[str] = ()
    ) -> None:
        self._command = tuple(command)
        self._seconds = seconds
        self._folder = folder
        self._passed = tuple(passed)
        self._running: set[Program] = set()
        self._change = threading.Lock()
        self._closed = threading.Event()

    def judge(self, kind: Kind, content: Iterable[bytes]) -> Verdict:  # noqa: ARG002 - the program looks for itself
        """As `Validator.judge`."""
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as folder:
            # A name of our own: what somebody has called a document is no argument for a program.
            copy = Path(folder, "document.xml")
            with copy.open("wb") as file:
                for piece in content:
                    file.write(piece)
            status, said = self._run(str(copy))
        if status == VALID:
            return Verdict((), self._command[:1])
        if status == INVALID:
            return Verdict((Finding("", said or "the validator gave no reason"),), self._command[:1])
        how = how_it_ended(status) if status < 0 else f"{how_it_ended(status)}, which is neither 0 nor 1"
        raise NoVerdict(f"{self._command[0]} {how}{f': {said}' if said else ''}")

    def check(self) -> str:
        """As `Validator.check`."""
        if find(self._command[0]) is None:
            raise NoVerdict(f"{self._command[0]} isn't there, or filedrop's user may not run it")
        return self._command[0]

    def end_if_idle(self) -> None:
        """As `Validator.end_if_idle`: nothing is kept."""

    def close(self) -> None:
        """As `Validator.close`."""
        with self._change:
            self._closed.set()
            for program in self._running:
                program.kill()

    def _run(self, path: str) -> tuple[int, str]:
        """Run it on this file. Returns its exit status and what it said, in one line. Raises NoVerdict."""
        if self._closed.is_set():
            raise NoVerdict("filedrop is stopping")
        try:
            # Without the lock: it may lie on a share that hangs.
            program = Program([*self._command, path], passed=self._passed)
        except OSError as error:
            raise NoVerdict(f"{self._command[0]} can't be started: {error.strerror or error}") from error
        with self._change:
            self._running.add(program)
            if self._closed.is_set():  # `close` may not have seen it
                program.kill()
        try:
            status, output = program.wait(self._seconds)
        except TimeoutError:
            why = f"{self._command[0]} took longer than {self._seconds:g} seconds (validation.timeout)"
            raise NoVerdict(why) from None
        finally:
            with self._change:
                self._running.discard(program)
        if self._closed.is_set():  # Windows ends a program with status 1, as if it had refused the document
            raise NoVerdict("filedrop is stopping")
        return status, one_line(output, LONGEST_SAID)
