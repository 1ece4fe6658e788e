r"""What the service's account may do with which folder, as words for icacls, Windows' command for access lists.

The rights are given to the service itself (`NT SERVICE\filedrop`); whatever account it runs as has them then.
The configuration and its passwords it may read, the state nobody else may; in the companies' folders, what others may
do stays as it is. On a share, the server's administrator gives the rights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.files.disk import file_system

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from filedrop.config import Config

SYSTEM, ADMINISTRATORS = "*S-1-5-18", "*S-1-5-32-544"  # by number: their names are translated
INHERITED = "(OI)(CI)"  # by the folders and files in it
READ, USE, MODIFY, ALL = "R", "RX", "M", "F"


def identity(service: str) -> str:
    """The service as one that rights are given to."""
    return rf"NT SERVICE\{service}"


def own(folder: Path, service: str, right: str) -> list[str]:
    """The words of icacls for a folder that is nobody else's but administrators'."""
    grants = [f"{who}:{INHERITED}{ALL}" for who in (SYSTEM, ADMINISTRATORS)]
    return [str(folder), "/inheritance:r", "/grant:r", *grants, f"{identity(service)}:{INHERITED}{right}"]


def shared(folder: Path, service: str) -> list[str]:
    """The words of icacls for a folder that others use, too."""
    return [str(folder), "/grant:r", f"{identity(service)}:{INHERITED}{MODIFY}"]


def single(file: Path, service: str, right: str) -> list[str]:
    """The words of icacls for a file."""
    return [str(file), "/grant:r", f"{identity(service)}:{right}"]


def commands(service: str, configuration: Path, ours: Path, config: Config) -> list[list[str]]:
    """The words of icacls for what this configuration names on our own disks; `ours` is filedrop's own folder.

    What isn't there can't be given rights.
    """
    folders = highest({config.root, *config.folders})
    words = []
    # Where companies have their folders in it, others need to look into it.
    is_own = configuration.is_relative_to(ours) and not any(path.is_relative_to(ours) for path in folders)
    if is_own:
        words.append(own(ours, service, USE))
    words += [
        single(path, service, READ)
        for path in (configuration, *_read_by(config))
        if not (is_own and path.is_relative_to(ours)) and is_here(path)
    ]
    words.append(own(config.state, service, MODIFY))
    words += [shared(path, service) for path in folders if is_here(path)]
    if config.log.file:
        its = config.log.file.parent
        is_its_alone = is_own and its.is_relative_to(ours) and its not in (ours, config.state)
        # Older ones are put aside in its folder, where new files can be made only by who may change that.
        words.append(own(its, service, MODIFY) if is_its_alone else single(config.log.file, service, MODIFY))
    if (metrics := config.metrics.textfile) and is_here(metrics.parent):
        words.append(shared(metrics.parent, service))
    return words


def _read_by(config: Config) -> Iterator[Path]:
    """The files that the service reads besides its configuration."""
    for login in (*config.accounts.values(), config.alerts.mail):
        if login:
            yield from filter(None, (login.password_file, login.ca_file))
    yield from (table.file for table in config.tables.values())


def highest(paths: Iterable[Path]) -> list[Path]:
    """Those that lie in no other of them."""
    every = set(paths)
    return sorted(path for path in every if not any(path.is_relative_to(other) for other in every - {path}))


def is_here(path: Path) -> bool:
    """Whether it is there, on a disk of this computer."""
    return path.exists() and not file_system(path).network
