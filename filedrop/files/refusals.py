"""What the system refuses, where its number says something else than it means: a difference between systems.

Python makes "no such file" of a server that Windows doesn't reach, and an invalid argument of all that it doesn't know.
"""

from __future__ import annotations

import errno
import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from filedrop.files.abilities import Abilities

T = TypeVar("T")

# An invalid argument is no file to other systems, which say so of names that a share doesn't take.
_NO_FILE_BUT_HERE = frozenset({errno.EINVAL}) if sys.platform != "win32" else frozenset[int]()
# `open_regular` raises these: for links; for folders, pipes and sockets; for a name that no file can have.
NO_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}) | _NO_FILE_BUT_HERE

# A kernel's client of SMB answers these, for about a second, for a name that another computer is changing.
PASSING = frozenset({errno.EINVAL, errno.ESTALE}) if sys.platform != "win32" else frozenset[int]()
PASSING_FOR_MOVES = PASSING | {errno.EACCES} if PASSING else PASSING  # while a file is being closed
PASSES_WITHIN, _AGAIN = 1.5, 0.05  # seconds

_MEANT = {  # by Windows' number, which no other system's error has
    53: errno.EIO,  # ERROR_BAD_NETPATH: the server
    67: errno.EIO,  # ERROR_BAD_NET_NAME: the share
    123: errno.ENAMETOOLONG,  # ERROR_INVALID_NAME
}


def meant(error: OSError, where: object) -> OSError:
    """What is to be raised for this error of the file there."""
    code = _MEANT.get(getattr(error, "winerror", None) or 0)
    if code is not None:
        return OSError(code, error.strerror, str(where))
    error.filename = str(where)
    return error


def means_no_file(error: OSError) -> bool:
    """Whether an error means that no file has this name, or can have it."""
    code = _MEANT.get(getattr(error, "winerror", None) or 0, error.errno)
    return code in (errno.ENOENT, errno.ENAMETOOLONG)


def outlasting(call: Callable[[], T], abilities: Abilities, passing: Container[int | None] = PASSING) -> T:
    """The result of a call in a folder with these abilities; where others use it, errors that pass are waited for.

    Raises what the call raises.
    """
    deadline = 0.0
    while True:
        try:
            return call()
        except OSError as error:
            if abilities.local or error.errno not in passing:
                raise
            deadline = deadline or time.monotonic() + PASSES_WITHIN
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN)
