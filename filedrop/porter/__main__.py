"""What the porter's process does: it waits on each line for errands."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from filedrop import identify
from filedrop.accesspoint import AccessPoint
from filedrop.errors import AccessPointError, FiledropError, Rejected
from filedrop.porter.line import hear, say
from filedrop.upload import Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from filedrop.accesspoint import Message
    from filedrop.document import Ids
    from filedrop.identify import Reading

T = TypeVar("T")


class Errands:
    """What is asked on one line, as the porter does it: documents are read, and each may be posted then."""

    def __init__(self, access_point: AccessPoint) -> None:
        self._access_point = access_point
        self._opened: dict[int, Opened] = {}

    def serve(self, line: socket.socket) -> None:
        """Do what is asked, until nobody asks any more."""
        with line, contextlib.suppress(EOFError, OSError):
            while True:
                (closed, errand, about), files = hear(line)
                for key in closed:
                    if key in self._opened:  # it may have been closed unread
                        self._opened.pop(key).close()
                say(line, (_result(partial(getattr(self, errand), *files, **about)), self._access_point.heard))

    def read(self, *files: int, keys: list[int], max_size: int, xpaths: Collection[str]) -> list[Reading | Exception]:
        """Read dropped documents, and keep each by its key until that is closed."""
        for key, file in zip(keys, files, strict=True):
            self._opened[key] = Opened(FileIO(file), os.fstat(file))
        return [_result(partial(self._opened[key].read, max_size, xpaths)) for key in keys]

    def fetch(self, *files: int, messages: list[Message], max_size: int, seconds: float) -> list[Reading | Exception]:
        """Write messages' documents to files and read them: see `Porter.fetch_ahead`."""
        with contextlib.ExitStack() as opened:
            documents = [opened.enter_context(os.fdopen(file, "r+b")) for file in files]
            errands = [partial(self._fetch, *one, max_size) for one in zip(messages, documents, strict=True)]
            return _results(errands, seconds)

    def _fetch(self, message: Message, document: BinaryIO, max_size: int) -> Reading:
        with document:  # what can't be written at its end is its own failure
            document.seek(0)  # where an attempt before has left it
            self._access_point.download(message, document, max_size=max_size)
            document.seek(0)
            return identify.read(document, doctype="keep")

    def mark_read(self, *, numbers: list[int], seconds: float) -> list[bool | Exception]:
        """Mark messages as read: see `Porter.mark_read_ahead`."""
        return _results([partial(self._access_point.mark_read, msg_no) for msg_no in numbers], seconds)

    def post(
        self, *, documents: list[tuple[int, str, Ids]], seconds: float, holds: Collection[Path]
    ) -> list[Message | Exception]:
        """Post documents that were read, each by its key, its digest and its ids, and return the answers.

        Those that have none were not posted: see `Porter.post_ahead`.
        """
        answers: list[Message | Exception] = []
        until = time.monotonic() + seconds
        for key, sha256, ids in documents:
            answer = _result(partial(self._post, key, sha256, ids))
            answers.append(answer)
            unclear = isinstance(answer, AccessPointError) and not isinstance(answer, Rejected)
            if unclear or time.monotonic() > until or _is_held(holds):
                break
        return answers

    def _post(self, key: int, sha256: str, ids: Ids) -> Message:
        opened = self._opened[key]
        if opened.reading is None or opened.reading.sha256 != sha256:
            raise RuntimeError("another document is to be posted than was read")
        return opened.post(self._access_point, ids, contextlib.nullcontext)


def _is_held(holds: Collection[Path]) -> bool:
    try:
        return any(hold.exists() for hold in holds)
    except OSError:  # whoever asked finds out more
        return True


def _result(errand: Callable[[], T]) -> T | Exception:
    """What an errand returns or raises."""
    try:
        return errand()
    except (FiledropError, OSError, Changing) as error:
        return error


def _results(errands: Iterable[Callable[[], T]], seconds: float) -> list[T | Exception]:
    """What errands return or raise, one after the other, up to a failure, or until so many seconds are over."""
    results: list[T | Exception] = []
    until = time.monotonic() + seconds
    for errand in errands:
        results.append(_result(errand))
        if isinstance(results[-1], Exception) or time.monotonic() > until:
            break
    return results


def main(control: socket.socket) -> None:
    """Be a porter, until whoever called it hangs up, or is gone."""
    with contextlib.suppress(EOFError, OSError):
        login, _ = hear(control)
        access_point = AccessPoint(login, stopped=threading.Event(), pauses=())
        control.send(b"!")
        while True:
            _, files = hear(control)
            errands = Errands(access_point)
            threading.Thread(target=errands.serve, args=[socket.socket(fileno=files[0])], daemon=True).start()
    os._exit(0)  # at once: nothing that is under way matters to anybody any more


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
