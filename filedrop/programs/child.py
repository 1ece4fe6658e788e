"""The child's side: questions on stdin, answers on stdout, until stdin ends or a question takes too long.

A question is a line of JSON and then the document in pieces, each behind its length; an answer is a line of JSON.

The child limits its own memory on Linux. On Windows, its parent does, with a job object; elsewhere nobody does.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

LENGTH = 4  # bytes of the length before each piece; 0 ends the document


if sys.platform == "linux":
    import resource

    def limit_this_process(memory: int) -> None:
        """Let this process have no more bytes of memory than this, and be the first to go where the system lacks some.

        It also writes no core file: what is in its memory is somebody's document. A lower limit of the service stays.
        """
        for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CORE, 0)):
            before, _ = resource.getrlimit(kind)
            least = most if before == resource.RLIM_INFINITY else min(most, before)
            resource.setrlimit(kind, (least, least))
        with suppress(OSError):  # /proc is read-only, say
            Path("/proc/self/oom_score_adj").write_text("1000")

else:

    def limit_this_process(memory: int) -> None:
        """Nothing to do: the process that started this one has limited it, where the system can."""


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _LIMIT_INFORMATION = 9  # JobObjectExtendedLimitInformation
    _PROCESS_MEMORY, _DIE_ON_UNHANDLED_EXCEPTION, _KILL_ON_JOB_CLOSE = 0x100, 0x400, 0x2000

    class _BasicLimits(ctypes.Structure):  # JOBOBJECT_BASIC_LIMIT_INFORMATION of winnt.h
        _fields_ = (
            ("process_time", wintypes.LARGE_INTEGER),
            ("job_time", wintypes.LARGE_INTEGER),
            ("flags", wintypes.DWORD),
            ("least_working_set", ctypes.c_size_t),
            ("largest_working_set", ctypes.c_size_t),
            ("processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority", wintypes.DWORD),
            ("scheduling", wintypes.DWORD),
        )

    class _Limits(ctypes.Structure):  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION
        _fields_ = (
            ("basic", _BasicLimits),
            ("io_counters", ctypes.c_ulonglong * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process_memory", ctypes.c_size_t),
            ("peak_job_memory", ctypes.c_size_t),
        )

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateJobObjectW.restype = wintypes.HANDLE
    _kernel.SetInformationJobObject.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
    _kernel.AssignProcessToJobObject.argtypes = [wintypes.HANDLE, wintypes.HANDLE]
    _kernel.CloseHandle.argtypes = [wintypes.HANDLE]

    class Confinement:
        """A job object with a process in it, which has no more bytes of memory than this. It ends with this process.

        Raises OSError.
        """

        def __init__(self, process: subprocess.Popen[bytes], memory: int) -> None:
            self._job = _kernel.CreateJobObjectW(None, None)
            flags = _PROCESS_MEMORY | _DIE_ON_UNHANDLED_EXCEPTION | _KILL_ON_JOB_CLOSE
            limits = _Limits(basic=_BasicLimits(flags=flags), process_memory=memory)
            size = ctypes.sizeof(limits)
            if not (
                self._job
                and _kernel.SetInformationJobObject(self._job, _LIMIT_INFORMATION, ctypes.byref(limits), size)
                and _kernel.AssignProcessToJobObject(self._job, int(process._handle))  # type: ignore[attr-defined] # noqa: SLF001 - no other way to it
            ):
                error = ctypes.WinError(ctypes.get_last_error())
                self.end()
                raise error

        def end(self) -> None:
            """End the process, if it is still there."""
            if self._job:
                _kernel.CloseHandle(self._job)
                self._job = None

else:

    class Confinement:
        """Nothing: the process limits itself."""

        def __init__(self, process: subprocess.Popen[bytes], memory: int) -> None:
            pass

        def end(self) -> None:
            """Nothing to do."""


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
