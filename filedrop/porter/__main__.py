"""What the porter's process does: it waits on each line for errands."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.accesspoint import AccessPoint
from filedrop.errors import FiledropError
from filedrop.porter.line import hear, say
from filedrop.upload import Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Collection

    from filedrop.accesspoint import Message
    from filedrop.document import Ids
    from filedrop.identify import Reading


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
                try:
                    result = getattr(self, errand)(*files, **about)
                except (FiledropError, OSError, Changing) as error:
                    result = error
                say(line, (result, self._access_point.heard))

    def read(self, file: int, *, key: int, max_size: int, xpaths: Collection[str]) -> Reading:
        """Read a dropped document, and keep it by its key until that is closed."""
        opened = self._opened[key] = Opened(os.fdopen(file, "rb", buffering=0), os.fstat(file))
        return opened.read(max_size, xpaths)

    def read_received(self, file: int) -> Reading:
        """Read a received document."""
        with os.fdopen(file, "rb", buffering=0) as received:
            return identify.read(received, doctype="keep")

    def mark_read(self, *, msg_no: int) -> bool:
        """Mark a message as read."""
        return self._access_point.mark_read(msg_no)

    def post(self, *, key: int, sha256: str, ids: Ids) -> Message:
        """Post a document that was read."""
        opened = self._opened[key]
        if opened.reading is None or opened.reading.sha256 != sha256:
            raise RuntimeError("another document is to be posted than was read")
        return opened.post(self._access_point, ids, contextlib.nullcontext)


def main(control: socket.socket) -> None:
    """Be a porter, until whoever called it hangs up, or is gone."""
    with contextlib.suppress(EOFError, OSError):
        account, _ = hear(control)
        access_point = AccessPoint(account, stopped=threading.Event(), pauses=())
        control.send(b"!")
        while True:
            _, files = hear(control)
            errands = Errands(access_point)
            threading.Thread(target=errands.serve, args=[socket.socket(fileno=files[0])], daemon=True).start()
    os._exit(0)  # at once: nothing that is under way matters to anybody any more


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
