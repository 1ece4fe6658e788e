"""The limit of a child's memory. The child sets it on Linux, whoever starts the child on Windows, nobody elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

if sys.platform == "linux":
    import resource

    def limit_this_process(memory: int) -> None:
        """Let this process have no more bytes of memory than this, and be the first to go where the system lacks some.

        It also writes no core file: what is in its memory is somebody's document.
        """
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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
