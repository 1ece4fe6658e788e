"""Whether everybody on this computer may read a file: a difference between operating systems."""

from __future__ import annotations

import re
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Everyone, users who have logged in, and users: by the names that SDDL has for them, and by their numbers.
_EVERYBODY = frozenset({"WD", "AU", "BU", "S-1-1-0", "S-1-5-11", "S-1-5-32-545"})
_READING = frozenset({"FA", "FR", "GA", "GR", "CC"})
_READING_BITS = 0x90000001  # GENERIC_READ, GENERIC_ALL, FILE_READ_DATA


def lets_everybody_read(sddl: str) -> bool:
    """Whether an access list lets everybody read, as Windows writes it ([MS-DTYP] 2.5.1, SDDL)."""
    if "NO_ACCESS_CONTROL" in sddl:
        return True
    entries = (entry.split(";") for entry in re.findall(r"\(([^()]*)\)", sddl))
    return any(
        kind == "A" and "IO" not in flags and who in _EVERYBODY and _includes_reading(rights)
        for kind, flags, rights, _, _, who, *_ in entries
    )


def _includes_reading(rights: str) -> bool:
    if rights.lower().startswith("0x"):
        return bool(int(rights, 16) & _READING_BITS)
    return not _READING.isdisjoint(re.findall("..", rights))


if sys.platform == "win32":
    import ctypes

    _FILE, _ACCESS_LIST, _REVISION = 1, 4, 1  # SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, SDDL_REVISION_1

    def how_to_hide(path: Path) -> str:
        """The command that keeps a file from being read by everybody; "" where it needs none, or that isn't told."""
        if not lets_everybody_read(_access_list(path)):
            return ""
        return f'icacls "{path}" /inheritance:d /remove:g *S-1-1-0 *S-1-5-11 *S-1-5-32-545'

    def _access_list(path: Path) -> str:
        """The file's access list as text; "" where it can't be read."""
        advapi, free = ctypes.windll.advapi32, ctypes.windll.kernel32.LocalFree
        free.argtypes = [ctypes.c_void_p]
        descriptor, text = ctypes.c_void_p(), ctypes.c_wchar_p()
        nothing = ctypes.c_void_p()
        if advapi.GetNamedSecurityInfoW(
            str(path), _FILE, _ACCESS_LIST, nothing, nothing, nothing, nothing, ctypes.byref(descriptor)
        ):
            return ""
        try:
            advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW(
                descriptor, _REVISION, _ACCESS_LIST, ctypes.byref(text), nothing
            )
            return text.value or ""
        finally:
            free(ctypes.cast(text, ctypes.c_void_p))
            free(descriptor)

else:

    def how_to_hide(path: Path) -> str:
        """The command that keeps a file from being read by everybody; "" where it needs none, or that isn't told."""
        try:
            mode = path.stat().st_mode
        except OSError:
            return ""
        return f"chmod o-r {path}" if mode & stat.S_IROTH else ""
