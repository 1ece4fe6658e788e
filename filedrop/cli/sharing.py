"""What `filedrop check` finds about the share of several hosts: whether the others see a file that was made here."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING

from filedrop.cli.checking import CheckResult
from filedrop.cli.opening import host_name, shared
from filedrop.files.rights import explain
from filedrop.journal.sharing import ask_others

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.journal import Journal


def share_found(config: Config, journal: Journal) -> Iterator[CheckResult]:
    """The results for each other host that runs. Raises JournalError."""
    with ExitStack() as ends:
        files: dict[str, str] = {}
        for folder in _one_of_each_device(config):
            file = folder / f".filedrop-check-{secrets.token_hex(8)}"
            try:
                file.touch(exist_ok=False)
            except OSError as error:
                yield CheckResult(str(folder), "failed", f"no file can be made there: {explain(error, folder)}")
            else:
                ends.callback(file.unlink, missing_ok=True)
                files[str(folder)] = file.name
        for host, look, is_seen in ask_others(shared(journal), files, host_name(config)):
            if is_seen:
                yield CheckResult(look.folder, "ok", f"host {host} sees a file that was made here")
            elif is_seen is None:
                why = f"host {host} didn't report whether it sees a file that was made here: see its log"
                yield CheckResult(look.folder, "warning", why)
            else:
                why = (
                    f"host {host} doesn't see a file that was made here: mount the same share on both, with the "
                    "options in filedrop manual shares"
                )
                yield CheckResult(look.folder, "failed", why)


def _one_of_each_device(config: Config) -> Iterator[Path]:
    """The root, and a folder of each other share; a folder that doesn't exist is left out."""
    devices = set()
    for folder in (config.root, *config.folders):
        try:
            device = folder.stat().st_dev
        except OSError:
            continue
        if device not in devices:
            devices.add(device)
            yield folder
