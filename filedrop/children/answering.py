"""The child's side: questions on stdin, answers on stdout, until stdin ends or a question takes too long.

A question is a line of JSON and then the document in pieces, each behind its length; an answer is a line of JSON.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from filedrop.children.limits import limit_this_process

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 4  # bytes of the length before each piece; 0 ends the document


class Pieces(io.RawIOBase):
    """A document that arrives in pieces, as a file that is read once."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._left = -1  # of this piece; 0: there are no more pieces

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As RawIOBase.readinto. Ends the process where the document breaks off, as its parent is gone."""
        if self._left < 0:
            self._left = int.from_bytes(self._taken(LENGTH))
        if not self._left:
            return 0
        piece = self._taken(min(len(buffer), self._left))
        buffer[: len(piece)] = piece
        self._left = self._left - len(piece) or -1
        return len(piece)

    def _taken(self, size: int) -> bytes:
        taken = self._source.read(size)
        if len(taken) < size:
            raise SystemExit
        return taken


def answer_questions(answer: Callable[[dict[str, Any], BinaryIO], dict[str, Any]]) -> None:
    """Answer questions until stdin ends. The first argument of the program is the most memory, in bytes."""
    limit_this_process(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints isn't an answer
    questions = sys.stdin.buffer
    while line := questions.readline():
        asked = json.loads(line)
        # By a thread of C, which ends the process also where the parent is gone, and while a library computes.
        faulthandler.dump_traceback_later(asked["seconds"], exit=True)
        document = io.BufferedReader(Pieces(questions))
        said = answer(asked, document)
        while document.read(io.DEFAULT_BUFFER_SIZE):  # what no answer needed: the parent is still writing it
            continue
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(said).encode() + b"\n")
        answers.flush()
