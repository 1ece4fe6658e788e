"""The one place where filedrop starts processes: other people's programs, the system's, and its own.

Whatever is started imports and runs nothing from the current folder, which may be a share that strangers write to: it
begins in the system's own folder, a bare name is looked for in the folders of PATH alone, and a Python of ours is
started with -P. And it gets an environment made for it (contract 6): the variables that programs need, by name, and
none that holds a secret or changes what Python runs.

children  the side that asks: `Child`, a process of our own with limits of memory, time and output
child     the child's side: a loop that reads questions and writes answers, and the limit of memory
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import IO

LONGEST_OUTPUT = 64 * 1024  # bytes that are kept of what a program prints
LAST_WORDS = 1.0  # seconds to end after a kill, and to read what is left in the pipe
_END = b"\0"  # behind what a program has printed
_PASSED_ON = (
    # Who runs it, where its own files and temporary ones are, its language and clock, which certificates are trusted.
    ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LANGUAGE", "TZ"),
    ("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),  # POSIX' own
    ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    # What programs of Windows need to start.
    ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "TEMP", "TMP", "COMPUTERNAME"),
    ("USERNAME", "USERDOMAIN", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE"),
    ("PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES"),
    ("COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"),
)
if sys.platform == "win32":
    NO_WINDOW = subprocess.CREATE_NO_WINDOW
else:
    NO_WINDOW = 0


class Exit(NamedTuple):
    """How a program ended: its exit status (negative: killed by that signal), and the beginning of what it printed."""

    status: int
    output: str


def how_it_ended(status: int) -> str:
    """How a program with this exit status ended, as the end of a sentence."""
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def filedrop_command(*arguments: str) -> list[str]:
    """The command line that starts filedrop once more: an executable of its own, or a module of Python's."""
    # That executable passes -m on to Python, which is isolated there (packaging/windows/build).
    return [sys.executable, *arguments] if _is_executable() else python_command("filedrop", *arguments)


def python_command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of filedrop in a Python process of its own, whose streams are UTF-8."""
    options = [] if _is_executable() else ["-P", "-X", "utf8"]
    return [sys.executable, *options, "-m", module, *arguments]


def _is_executable() -> bool:
    return Path(sys.executable).stem.lower() == "filedrop"


def environment(passed: Iterable[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that filedrop starts.

    `passed` names further variables that are passed on where they are set; `more` is added, with its values.
    """
    names = {*passed, *chain(*_PASSED_ON)}
    made = {name: os.environ[name] for name in sorted(names) if name in os.environ}
    # The last one is for Windows' own shell.
    made |= {"PATH": os.pathsep.join(_search_path()), "NoDefaultCurrentDirectoryInExePath": "1"}
    return made | dict(more or {})


def find(name: str) -> str | None:
    """The path of a program that may be run; None where there is none. A bare name is looked for in PATH alone."""
    folders = [""] if os.path.dirname(name) else _search_path()  # noqa: PTH120 - as it was written
    return next(
        (
            path
            for folder in folders
            for file in _spellings(name)
            for path in [os.path.join(folder, file)]  # noqa: PTH118 - as it was written
            if os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - False where nobody may look, too
        ),
        None,
    )


def _search_path() -> list[str]:
    """The folders of PATH. An empty entry, or one that isn't absolute, would be in the current folder."""
    return [path for path in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(path)]  # noqa: PTH117


def start(
    arguments: Sequence[str],
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    passed: Iterable[str] = (),
    more: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process that leads a group of its own, which `kill_tree` ends as one. Raises OSError.

    `passed` and `more` are those of `environment`.
    """
    return subprocess.Popen(
        _command_line(arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment(passed, more),
        cwd=_own_folder(),
        start_new_session=True,
        creationflags=NO_WINDOW,
    )


def run(
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    seconds: float | None = None,
    passed: Iterable[str] = (),
    more: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a process to its end, and return its exit status, stdout and stderr. `passed`, `more`: as for `environment`.

    Raises OSError, and TimeoutExpired (with what it has printed) after so many seconds.
    """
    return subprocess.run(
        _command_line(arguments),
        input=stdin,
        capture_output=True,
        timeout=seconds,
        check=False,
        env=environment(passed, more),
        cwd=_own_folder(),
        creationflags=NO_WINDOW,
    )


def _command_line(arguments: Sequence[str]) -> list[str]:
    """The arguments, with the path of the program in place of a bare name. Raises FileNotFoundError."""
    name, *others = arguments
    path = find(name)
    if path is None and not os.path.dirname(name):  # noqa: PTH120 - as it was written
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return [path or name, *others]  # a path that is no program: the system says why


class Program:
    """A program that runs, with this on its stdin. Raises OSError where it can't be started. `kill` is thread-safe.

    What it prints on stdout and stderr is kept together. `wait` must be called. `passed`, `more`: as for `environment`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes = b"",
        passed: Iterable[str] = (),
        more: Mapping[str, str] | None = None,
    ) -> None:
        ours, self._theirs = os.pipe()
        self._output = bytearray()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, args=(ours,), name="program", daemon=True)
        try:
            self._reader.start()  # first: without it, a program would run that nobody waits for
        except RuntimeError as error:
            os.close(ours)
            os.close(self._theirs)
            raise OSError(errno.EAGAIN, "the system has no thread for it now") from error
        try:
            with tempfile.TemporaryFile() as given:  # no pipe, which it might never read
                given.write(stdin)
                given.seek(0)
                self._process = start(
                    arguments, stdin=given, stdout=self._theirs, stderr=subprocess.STDOUT, passed=passed, more=more
                )
        except BaseException:
            os.close(self._theirs)  # and so the reader ends
            raise

    def wait(self, seconds: float) -> Exit:
        """Wait for its end. Raises TimeoutError where it takes longer, after killing it."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS)
            raise TimeoutError from None
        finally:
            self._end_reading()
        return Exit(status, self._output.decode("utf-8", "replace"))

    def kill(self) -> None:
        """End it and its children at once."""
        kill_tree(self._process)

    def _end_reading(self) -> None:
        """Have the reader end, even where a child that the program left running holds its output open."""
        self._has_ended = True
        with suppress(OSError):
            os.write(self._theirs, _END)
        os.close(self._theirs)
        self._reader.join(LAST_WORDS)

    def _read(self, ours: int) -> None:
        with open(ours, "rb", buffering=0) as pipe:
            while piece := pipe.read(LONGEST_OUTPUT):
                output, end, _ = piece.partition(_END) if self._has_ended else (piece, b"", b"")
                self._output += output[: LONGEST_OUTPUT - len(self._output)]
                if end:
                    return


def of_windows(name: str) -> str:
    """The path of a program of Windows' own, whatever PATH says."""
    return rf"{os.environ['SYSTEMROOT']}\System32\{name}.exe"


if sys.platform == "win32":

    def _own_folder() -> str:
        """The folder that processes begin in, where nobody but an administrator may write."""
        return rf"{os.environ['SYSTEMROOT']}\System32"

    def _spellings(name: str) -> list[str]:
        """The names of files that a program's name may stand for."""
        endings = list(filter(None, os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(os.pathsep)))
        return [name] if name.lower().endswith(tuple(endings)) else [f"{name}{ending}" for ending in endings]

    def kill_tree(process: subprocess.Popen[bytes]) -> None:
        """End a process and its children at once."""
        if process.poll() is None:
            run([of_windows("taskkill"), "/F", "/T", "/PID", str(process.pid)])
            process.kill()

else:

    def _own_folder() -> str:
        """The folder that processes begin in, where nobody but root may write."""
        return "/"

    def _spellings(name: str) -> list[str]:
        """The names of files that a program's name may stand for."""
        return [name]

    def kill_tree(process: subprocess.Popen[bytes]) -> None:
        """End a process that leads a group, and its children, at once."""
        if process.poll() is None:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
