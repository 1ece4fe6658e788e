"""A second process that speaks to the access point and reads documents while very many wait.

Python has one lock for all threads of a process, and to read a document, to post or to fetch it is what takes the time
under it. So while there is a backlog, the porter does that for the account's threads, each on a *line* of its own;
journal and folders stay with us. It is handed open files, and answers what we would have found out ourselves. It is
called when it is worth its start, and sent away when nothing has been to do for a while. Where it is lost, its work is
ours again; what it was posting is in doubt, as it is when a connection breaks. It ends with us, whatever ends us.

Not on Windows, where no file can be handed over so.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import sys
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from filedrop.accesspoint import BrokenOff, Message
from filedrop.errors import Interrupted
from filedrop.porter.line import Gone, Process
from filedrop.upload import IN_MEMORY, Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.document import Ids
    from filedrop.identify import Reading
    from filedrop.login import Login
    from filedrop.porter.line import Line
    from filedrop.upload import Busy

T = TypeVar("T")

MANY = 100  # documents that must wait for the porter to be worth its start, which takes 0.3 s of a processor
REST = 10.0  # seconds without work after which it is sent away; until it is called again when it can't be


class Porter:
    """One account's porter. For any thread."""

    def __init__(self, login: Login, access_point: AccessPoint, log: structlog.stdlib.BoundLogger) -> None:
        self._login = login
        self._access_point = access_point
        self._log = log
        self._process: Process | None = None
        self._own = threading.local()
        self._used = 0.0
        self._closed = False
        self._not_before = -math.inf
        self._asking = 0
        self._keys = itertools.count()
        self._lock = threading.Lock()

    def see(self, waiting: int, now: float) -> None:
        """So many documents wait `now` (steady clock): call it, or send it away, where that is time."""
        if sys.platform == "win32" or self._closed:
            return
        with self._lock:
            if waiting or self._asking:
                self._used = now
            if waiting >= MANY and self._process is None and now >= self._not_before:
                try:
                    self._process = Process(self._login)
                except OSError as error:
                    self._not_before = now + REST
                    self._log.warning("porter.not_called", why=error.strerror or str(error))
                else:
                    self._log.info("porter.called", waiting=waiting)
            elif self._process is not None and now - self._used > REST:
                self._send_away()

    def close(self) -> None:
        """Send it away, whatever it is doing, and call it no more."""
        with self._lock:
            self._closed = True
            self._send_away()

    def open(self, path: Path, *, local: bool) -> Opened:
        """Open a dropped file, to be read and posted by the porter where there is one. Raises OSError.

        `local`: it lies on a disk of this computer. Who waits for another's must do so in our sight (Folder.busy).
        """
        opened = Opened.open(path)
        line = self._line() if local and opened.status.st_size <= IN_MEMORY else None
        return Carried(opened.file, opened.status, porter=self, line=line, key=next(self._keys)) if line else opened

    def read_ahead(self, opened: Iterable[Opened], max_size: int, xpaths: Collection[str] = ()) -> None:
        """Have files read together, before `Opened.read` asks for each: what is said at once is heard at once."""
        together = [one for one in opened if isinstance(one, Carried) and one.line]
        if not together or not together[0].line:
            return
        about = {"keys": [one.key for one in together], "max_size": max_size, "xpaths": tuple(xpaths)}
        try:
            read = self.ask(together[0].line, "read", [one.file for one in together], **about)
        except Gone:
            read = [None] * len(together)
        for one, result in zip(together, read, strict=True):
            one.was_read = result
            if result is None:
                one.line = None

    def post_ahead(self, documents: Iterable[tuple[Opened, Ids]], *, seconds: float, holds: Collection[Path]) -> int:
        """Have documents posted one after the other, before `Opened.post` asks for each; how many were.

        No further one is posted after one that got no clear answer, after so many seconds, and where one of `holds` is.
        """
        together = [(one, ids) for one, ids in documents if isinstance(one, Carried) and one.line and one.reading]
        if not together or not together[0][0].line:
            return 0
        said = [(one.key, one.reading.sha256, ids) for one, ids in together if one.reading]
        unknown = Interrupted("the process that was sending it has ended; it may have been received")
        for one, _ in together:
            one.answer = unknown
        try:
            answers = self.ask(together[0][0].line, "post", documents=said, seconds=seconds, holds=holds)
        except Gone as gone:
            answers = [unknown] * len(together) if gone.asked else []
        for (one, _), answer in itertools.zip_longest(together, answers):
            one.answer = answer
        return len(answers)

    def fetch_ahead(
        self, documents: Sequence[tuple[Message, BinaryIO]], *, max_size: int, seconds: float
    ) -> list[Reading | Exception]:
        """Have messages' documents written to empty files and read, before `fetch` asks for each; what came of them.

        No further one is fetched after a failure, nor after so many seconds. The files are on a disk of this computer:
        see `open`.
        """
        about = {"messages": [message for message, _ in documents], "max_size": max_size, "seconds": seconds}
        return self._ahead("fetch", [file for _, file in documents], **about)

    def fetch(
        self, message: Message, file: BinaryIO, *, max_size: int, ahead: Reading | Exception | None = None
    ) -> Reading | None:
        """Write a message's document to a file and read it; None where that is ours to do, and the file to be emptied.

        `ahead`: what `fetch_ahead` has said of it. Raises as `AccessPoint.download` and `identify.read` do.
        """
        return self._again(ahead, lambda: self.fetch_ahead([(message, file)], max_size=max_size, seconds=0.0))

    def mark_read_ahead(self, numbers: Sequence[int], *, seconds: float) -> list[bool | Exception]:
        """Have messages marked as read, before `mark_read` asks for each; what came of them.

        No further one is marked after a failure, nor after so many seconds.
        """
        return self._ahead("mark_read", numbers=numbers, seconds=seconds) if numbers else []

    def mark_read(self, msg_no: int, *, ahead: bool | Exception | None = None) -> bool:
        """Mark a message as read. Returns and raises as `AccessPoint.mark_read` does.

        `ahead`: what `mark_read_ahead` has said of it.
        """
        was_known = self._again(ahead, lambda: self.mark_read_ahead([msg_no], seconds=0.0))
        return self._access_point.mark_read(msg_no) if was_known is None else was_known

    def _ahead(self, errand: str, files: Collection[BinaryIO] = (), **about: Any) -> list[Any]:
        """What came of an errand for several messages, which may be said twice; nothing where there is no porter."""
        line = self._line()
        if line is not None:
            with contextlib.suppress(Gone):
                came: list[Any] = self.ask(line, errand, files, **about)
                return came
        return []

    def _again(self, ahead: T | Exception | None, ask: Callable[[], list[T | Exception]]) -> T | None:
        """What was said ahead; where that was nothing, or is to be asked again, what is said now."""

        def attempt() -> T | None:
            nonlocal ahead
            came, ahead = ask() if ahead is None else [ahead], None
            result = came[0] if came else None
            if isinstance(result, Exception):
                raise result
            return result

        return self._access_point.again(attempt)

    def ask(self, line: Line, errand: str, files: Collection[BinaryIO] = (), **about: Any) -> Any:
        """Have an errand done, and return or raise what came of it. Raises Gone."""
        with self._lock:
            self._asking += 1
        try:
            result, heard = line.ask(errand, about, [file.fileno() for file in files])
        except Gone:
            self._own.line = None  # it alone may be at its end
            with self._lock:
                if self._process is line.process and line.process.status() is not None:
                    self._log.warning("porter.lost", status=line.process.status())
                    self._send_away()
            raise
        finally:
            with self._lock:
                self._asking -= 1
        self._access_point.hear(heard)
        if isinstance(result, Exception):
            raise result
        return result

    def _line(self) -> Line | None:
        """This thread's line, once there is somebody at its other end."""
        process, line = self._process, getattr(self._own, "line", None)
        if process is None or not process.ready():
            return None
        if line is None or line.process is not process:
            line = self._own.line = process.line()
        return line

    def _send_away(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


@dataclass(slots=True)
class Carried(Opened):
    """An opened file that the porter reads and posts.

    `was_read` and `answer`: what came of it, as long as nobody has asked for that. While it is being posted, the answer
    is that it was interrupted: so that is what is left, whatever happens.
    """

    porter: Porter | None = None
    line: Line | None = None
    key: int = 0
    was_read: Reading | Exception | None = None
    answer: Message | Exception | None = None

    def read(self, max_size: int, xpaths: Collection[str] = ()) -> Reading:
        """As `Opened` does."""
        if self.porter and self.was_read is None:
            self.porter.read_ahead([self], max_size, xpaths)
        was_read, self.was_read = self.was_read, None
        if was_read is None:
            self.file.seek(0)  # it may have begun
            return Opened.read(self, max_size, xpaths)
        if not self.unchanged():
            raise Changing
        if isinstance(was_read, Exception):
            raise was_read
        self.reading = was_read
        return was_read

    def post(self, access_point: AccessPoint, ids: Ids, busy: Busy) -> Message:
        """As `Opened` does."""
        if isinstance(self.answer, Message):  # nothing is to be tried again
            return self._post(ids)
        if self.line or self.is_posted:
            with contextlib.suppress(Gone):
                return access_point.again(partial(self._post, ids))
        if self.reading and self.content is None:
            self._read_again(self.reading.sha256, busy)
        return Opened.post(self, access_point, ids, busy)

    @property
    def is_posted(self) -> bool:
        """As `Opened` does."""
        return self.answer is not None

    def _post(self, ids: Ids) -> Message:
        if self.porter and self.answer is None:
            self.porter.post_ahead([(self, ids)], seconds=0.0, holds=())
        answer, self.answer = self.answer, None
        if answer is None:
            self.line = None
            raise Gone(asked=False)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _read_again(self, sha256: str, busy: Busy) -> None:
        """Have the content here, which the porter had. Raises BrokenOff where it is another one by now."""
        with busy():
            self.file.seek(0)
            self.content = self.file.read(IN_MEMORY + 1)
        if hashlib.sha256(self.content).hexdigest() != sha256:
            raise BrokenOff("the document changed before it was sent")

    def close(self) -> None:
        """As `Opened` does."""
        Opened.close(self)
        if self.line:
            self.line.closed.append(self.key)
