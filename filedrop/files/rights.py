"""Who may use a file: whether everybody may read it, and which right filedrop lacks. Operating systems differ here."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from filedrop.files.directory import Entry, Where
from filedrop.files.disk import file_system
from filedrop.files.system import InUse
from filedrop.texts.printable import command

# Everyone, users who have logged in, and users: by the names that SDDL has for them, and by their numbers.
_EVERYBODY = frozenset({"WD", "AU", "BU", "S-1-1-0", "S-1-5-11", "S-1-5-32-545"})
_READING = frozenset({"FA", "FR", "GA", "GR", "CC"})
_READING_BITS = 0x90000001  # GENERIC_READ, GENERIC_ALL, FILE_READ_DATA


_ONE_DISK = "keep filedrop's folder and the folders in it on one disk; mount mergerfs with ignorepponrename=true"


def explain(error: OSError, where: Where | None = None, *, to_write: bool = False) -> str:
    """What the system said of a file or folder, to end a sentence; for a lack of rights, also how to give them.

    `where` is the file, where the error doesn't name it. `to_write`: a file was to be written, not only read. Folders
    are always to be written into.
    """
    said = error.strerror or str(error)
    if error.errno == errno.EXDEV:
        return f"{said}; {_ONE_DISK}"
    name = where.path if isinstance(where, Entry) else where or error.filename
    is_denied = error.errno in (errno.EACCES, errno.EPERM) and not isinstance(error, InUse)
    if not is_denied or not isinstance(name, (str, Path)) or not os.path.isabs(name):  # noqa: PTH117 - a text, too
        return said
    denial = denied(Path(name), to_write=to_write)
    return f"{said} ({denial.facts}); {denial.remedy}" if denial else said


class Denial(NamedTuple):
    """Whose a file or folder is that filedrop may not use, as a clause; and what gives it the right, as another.

    `remedy_beside` gives the right to all that is in the file's folder.
    """

    facts: str
    remedy: str
    remedy_beside: str


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
    _NAME_SAM_COMPATIBLE = 2  # EXTENDED_NAME_FORMAT: DOMAIN\\account

    def denied(path: Path, *, to_write: bool = False) -> Denial | None:
        """What filedrop's account lacks, for a file or folder that it was refused: Windows isn't asked."""
        is_folder = os.path.isdir(path)  # noqa: PTH112 - False where that can't be seen
        right = "(OI)(CI)M" if is_folder else "M" if to_write else "R"
        account = _account()
        run = "run as an administrator: icacls"
        return Denial(
            f"filedrop runs as {account}",
            f'{run} "{path}" /grant "{account}:{right}"',
            f'{run} "{path.parent}" /grant "{account}:(OI)(CI)M" /t',
        )

    def _account() -> str:
        """The account that this process runs as."""
        size = ctypes.c_ulong(1000)
        name = ctypes.create_unicode_buffer(size.value)
        is_named = ctypes.windll.secur32.GetUserNameExW(_NAME_SAM_COMPATIBLE, name, ctypes.byref(size))
        return name.value if is_named else os.environ.get("USERNAME", "ACCOUNT")

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
    import grp
    import pwd

    def denied(path: Path, *, to_write: bool = False) -> Denial | None:
        """The file or folder on the way there that keeps filedrop out; None where owners, modes and lists let it in."""
        found = _lacking(path, to_write=to_write)
        if found is None:
            return None
        shut, rights = found
        try:
            status = shut.stat()
        except OSError:
            return None
        user = _name_of_user(os.geteuid())
        facts = (
            f"{shut} belongs to {_name_of_user(status.st_uid)}, group {_name_of_group(status.st_gid)}, mode "
            f"{stat.S_IMODE(status.st_mode):04o}; filedrop runs as {user}"
        )
        if file_system(shut).network:
            remedy = "give it the right on the server, or by the options uid= and gid= of the mount"
            return Denial(facts, remedy, remedy)
        if status.st_uid == os.geteuid():
            grants: tuple[str, ...] = ("chmod {} u+{}",)
        elif status.st_gid in (os.getegid(), *os.getgroups()):
            grants = ("chmod {} g+{}",)
        elif shutil.which("setfacl"):
            grants = (f"setfacl {{}} -m u:{user}:{{}}",)
        else:  # the package acl isn't installed
            grants = (f"chgrp {{}} {_name_of_group(os.getegid())}", "chmod {} g+{}")

        def run(option: str, rights: str, where: Path) -> str:
            words = [[*grant.format(option, rights).split(), str(where)] for grant in grants]
            return f"run: {' && '.join(command('sudo', *arguments) for arguments in words)}"

        return Denial(facts, run("", rights, shut), run("-R", "rwX", path.parent))

    def _lacking(path: Path, *, to_write: bool) -> tuple[Path, str] | None:
        """The first on the way to a file that this process may not use, and the rights that it lacks there."""
        there = path
        for parent in reversed(path.parents):
            if not os.path.lexists(parent):
                break
            if not _may(parent, os.X_OK):
                return parent, "x"
            there = parent
        there = path if os.path.lexists(path) else there
        if there.is_dir():
            return None if _may(there, os.R_OK | os.W_OK | os.X_OK) else (there, "rwx")
        if to_write:
            return None if _may(there, os.R_OK | os.W_OK) else (there, "rw")
        return None if _may(there, os.R_OK) else (there, "r")

    def _may(path: Path, how: int) -> bool:
        return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)

    def _name_of_user(number: int) -> str:
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:  # a container's user without a name
            return str(number)

    def _name_of_group(number: int) -> str:
        try:
            return grp.getgrgid(number).gr_name
        except KeyError:
            return str(number)

    def how_to_hide(path: Path) -> str:
        """The command that keeps a file from being read by everybody; "" where it needs none, or that isn't told."""
        try:
            mode = path.stat().st_mode
        except OSError:
            return ""
        return f"chmod o-r {path}" if mode & stat.S_IROTH else ""
