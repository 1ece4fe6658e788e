"""The administrator's programs, run after something has happened to a document (configuration, `commands`).

The journal keeps what is to be run until the program has ended: each is run at least once, and again where filedrop was
stopped meanwhile. Those of a company are run one after the other, and nothing waits for them.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.errors import JournalError
from filedrop.files import NO_FILE, Directory, open_regular
from filedrop.files.patience import within
from filedrop.pauses import EACH_MINUTE
from filedrop.process.pool import Task
from filedrop.programs import Program, how_it_ended
from filedrop.storage import sidecar
from filedrop.texts.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from filedrop.config import Commands
    from filedrop.journal import Errand, Journal
    from filedrop.process.guard import Guard
    from filedrop.process.pool import Pool

COMPANIES_AT_ONCE = 4  # companies
ANSWERS_WITHIN = 10.0  # seconds for a document's folder to answer: other companies' commands wait
LOOK_ANYWAY = 60.0  # seconds until the journal is looked at, though we have written nothing
LONGEST_SAID = 500  # characters of what a program says


class CommandRunner:
    """Runs the commands that are due. Thread-safe. `pool` makes threads, `guard` survives a task's errors.

    `passed` names the variables that are passed on to them (`programs.environment`). Companies take turns: each turn is
    one command. A reload changes what is run (`configure`), and what runs comes to its end.
    """

    def __init__(
        self, commands: Commands, journal: Journal, *, passed: Sequence[str] = (), pool: type[Pool], guard: Guard
    ) -> None:
        self._journal = journal
        self._pool = pool(COMPANIES_AT_ONCE, name="commands", attempt=self._survive)
        self._change = threading.Lock()
        self._busy: dict[str, Program | None] = {}  # by company
        self._not_before: dict[str, float] = {}
        self._ended: set[Errand] = set()  # have been run, which the journal couldn't record; numbers come again
        self._closed = threading.Event()
        self._anyway = 0.0  # when it is looked though we have written nothing: `download --deliver` is another process
        self.configure(commands, passed=passed, guard=guard)

    def configure(self, commands: Commands, *, passed: Sequence[str], guard: Guard) -> None:
        """Run these commands from now on. Those that run go on to their end."""
        self._programs = commands.wanted()
        self._seconds = commands.timeout.total_seconds()
        self._passed = tuple(passed)
        self._guard = guard
        self._is_told = False  # does the journal know after which events?
        self._seen = -1
        with self._change:
            self._not_before.clear()  # what couldn't be started may be another program now

    def _survive(self, name: str, task: Callable[[], object]) -> None:
        self._guard.attempt(name, task)  # `configure` changes it

    def start(self) -> None:
        """Tell the journal after which events a command is to be run; each look does where it can't be written now."""
        self._guard.attempt("commands", self._tell)

    def _tell(self) -> None:
        self._journal.errands.want(self._programs)
        self._is_told = True

    def tick(self, serves: Callable[[str], bool]) -> None:
        """Begin what is due for the companies that this host serves. Called each second."""
        self._pool.tick()
        if not self._is_told:
            with suppress(JournalError):  # `status` says so
                self._tell()
        # A copy of the times, as the threads that run the programs change them.
        commits, now = self._journal.commits, time.monotonic()
        retries = any(due <= now for due in (*list(self._not_before.values()), self._anyway))
        if self._closed.is_set() or (commits == self._seen and not retries):
            return
        self._seen, self._anyway = commits, now + LOOK_ANYWAY
        with suppress(JournalError):  # `status` says so
            for errand in self._journal.errands.first():
                if serves(errand.company):
                    self._begin(errand)

    def is_done(self, serves: Callable[[str], bool]) -> bool:
        """Whether nothing is left that can be run here now. Raises JournalError."""
        left = {errand.company for errand in self._journal.errands.first() if serves(errand.company)}
        return not self._busy and left <= self._not_before.keys()

    def close(self, patience: float) -> None:
        """End: what runs has so many seconds, and is run again after the next start where that isn't enough."""
        self._closed.set()
        deadline = time.monotonic() + patience
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.02)
        with self._change:
            for program in self._busy.values():
                if program is not None:
                    program.kill()
        self._pool.close(patience)

    def _begin(self, errand: Errand) -> None:
        company = errand.company
        with self._change:
            if company in self._busy or self._not_before.get(company, 0.0) > time.monotonic():
                return
            self._busy[company] = None
            self._not_before.pop(company, None)
        self._queue(company)

    def _queue(self, company: str) -> None:
        self._pool.submit(Task(partial(self._run_next, company), partial(self._release, company), company))

    def _release(self, company: str) -> None:
        with self._change:
            self._busy.pop(company, None)
        self._seen = -1  # there may be more by now

    def _run_next(self, company: str) -> None:
        """Run a company's next command. For the one after it, the company waits for its turn again."""
        goes_on = False
        try:
            if not self._closed.is_set():
                errand = next((errand for errand in self._journal.errands.first() if errand.company == company), None)
                goes_on = errand is not None and self._run(errand)
        finally:
            if goes_on:
                self._queue(company)
            else:
                self._release(company)

    def _run(self, errand: Errand) -> bool:
        """Run a command to its end. Returns whether it has come to one. Raises JournalError."""
        arguments, seconds = self._programs.get(errand.event), self._seconds
        if arguments is None or errand in self._ended:  # the configuration names it no more, or it has been run
            self._end(errand)
            return True
        about = f"commands.after_{errand.event} of {errand.company}"
        folder, inside, content = self._document_of(errand)
        path = str(folder / inside) if inside else ""
        env = {"FILEDROP_EVENT": errand.event, "FILEDROP_COMPANY": errand.company, "FILEDROP_FILE": path}
        if self._closed.is_set():
            return False
        try:
            # Without the lock: both may lie on a share that hangs, and so may not this thread.
            why = within(ANSWERS_WITHIN, partial(_why_not, folder, inside)) if inside else ""
            program = None if why else Program(arguments, stdin=content, passed=self._passed, more=env)
        except (OSError, ValueError) as error:  # ValueError: a NUL in a name
            why = f"can't be started: {getattr(error, 'strerror', None) or error}; it is tried again each minute"
            self._fails(about, f"{arguments[0]} {why}", path)
            self._not_before[errand.company] = time.monotonic() + EACH_MINUTE.seconds()
            return False
        if program is None:
            why = f"{arguments[0]} was not run for {path}: {why}"
        else:
            why = self._wait(program, errand, (arguments[0], path), seconds)
            if self._closed.is_set() and why:  # we have ended it
                return False
        if why:
            self._fails(about, why, path)
        else:
            self._guard.note_success(about)
        self._end(errand)
        return True

    def _wait(self, program: Program, errand: Errand, words: tuple[str, str], seconds: float) -> str:
        """Wait for a program's end. Returns how it has failed, or "". `words`: its name, and its document's path."""
        with self._change:
            self._busy[errand.company] = program
            if self._closed.is_set():  # `close` may not have seen it
                program.kill()
        why = ""
        try:
            status, said = program.wait(seconds)
            if status:
                said = one_line(said, LONGEST_SAID)
                why = f"{words[0]} {how_it_ended(status)} for {words[1]}{f': {said}' if said else ''}"
        except TimeoutError:
            why = f"{words[0]} took longer than {seconds:g} seconds for {words[1]} (commands.timeout)"
        with self._change:
            self._busy[errand.company] = None
        return why

    def _end(self, errand: Errand) -> None:
        """Record that a command has come to its end. Raises JournalError: then only this is tried again."""
        self._ended.add(errand)
        try:
            self._journal.errands.end(errand)
        except JournalError:
            self._not_before[errand.company] = time.monotonic() + EACH_MINUTE.seconds()
            raise
        self._ended.discard(errand)

    def _fails(self, about: str, why: str, path: str) -> None:
        self._guard.note(about, f"{about}: {why}", "command.failed", command=about, file=path, why=why)

    def _document_of(self, errand: Errand) -> tuple[Path, str, bytes]:
        """The document's folder, its path in there ("" where that isn't known), and its sidecar as the journal has it.

        What is in the file beside the document now, whoever may write into the folder may have written.
        """
        document = self._journal.documents.by_id(errand.document) if errand.document else None
        if document is not None:
            folder = self._journal.folders.path(document.folder)
            inside = f"{document.place}/{document.file}" if folder else ""
            return folder or Path(), inside, sidecar.outbound(document, document.file)
        content: dict[str, Any] = {"filedrop": sidecar.VERSION, "direction": "IN", "file": errand.file}
        content |= {"company": errand.company, "msg_no": errand.msg_no}
        content |= json.loads(errand.sidecar) if errand.sidecar else {}
        return Path(errand.folder), errand.file, sidecar.encoded(content)


def _why_not(folder: Path, inside: str) -> str:
    """Why no program is to be given this file, "" where it is a regular one, or was taken. Raises OSError."""
    *places, name = Path(inside).parts
    try:
        here = Directory.open(folder)
        for place in places:
            here = here.folder(place)
        open_regular(here / name).close()
    except FileNotFoundError:
        return ""
    except PermissionError as error:
        return f"it can't be opened: {error.strerror}"
    except OSError as error:
        if error.errno in NO_FILE or isinstance(error, NotADirectoryError):
            return "somebody has replaced it with a link, a folder or something else"
        raise
    return ""
