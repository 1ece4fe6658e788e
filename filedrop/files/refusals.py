"""What the system refuses, where its number says something else than it means: a difference between systems.

Python makes "no such file" of a server that Windows doesn't reach, and an invalid argument of all that it doesn't know.
"""

from __future__ import annotations

import errno
import sys

# An invalid argument is no file to other systems, which say so of names that a share doesn't take.
_NO_FILE_BUT_HERE = frozenset({errno.EINVAL}) if sys.platform != "win32" else frozenset[int]()
# `open_regular` raises these: for links; for folders, pipes and sockets; for a name that no file can have.
NO_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}) | _NO_FILE_BUT_HERE

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
