"""The account of the service: who it is, and becoming it for good, to try what the service may do."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop import config as configuration
from filedrop.cli.service.installed import Unit, unit_name
from filedrop.errors import FiledropError
from filedrop.process.systemd import instance_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.config import Config

    AtEnd = Callable[[Callable[[], object]], object]


if sys.platform == "win32":

    def owner_of_service(_: Path) -> tuple[int, int] | None:
        """None: `service install` gives its account the rights on folders that somebody else created."""
        return None

else:
    import grp
    import pwd

    def owner_of_service(configuration_path: Path) -> tuple[int, int] | None:
        """The user and group of the service that goes by this configuration, if we are root and there is one."""
        unit = Unit.read(unit_name(instance_by(configuration_path))) if os.geteuid() == 0 else None
        try:
            account = pwd.getpwnam(unit.user) if unit else None
        except KeyError:
            account = None
        return (account.pw_uid, account.pw_gid) if account else None

    def become_service(option: str | None, at_end: AtEnd) -> Unit:
        """Become the account of the unit that goes by this configuration; what `at_end` gets is done in the end.

        Raises FiledropError where there is no such unit, or nobody may.
        """
        path = configuration.find(option).absolute()
        name = unit_name(instance_by(path))
        unit = Unit.read(name)
        if unit is None:
            raise FiledropError(f"{name} isn't installed, so it has no account yet: run filedrop service install")
        become(unit, at_end)
        return unit

    def become(unit: Unit, at_end: AtEnd) -> None:
        """Give up all rights but those that the service's account has, its groups' among them; and get its credentials.

        `at_end` is told how the copies of the credentials are taken away. Raises FiledropError.
        """
        if os.geteuid() != 0:
            raise FiledropError(f"only root can test with the rights of {unit.user}: run this with sudo")
        try:
            account = pwd.getpwnam(unit.user)
            group = grp.getgrnam(unit.last("Group")).gr_gid if unit.last("Group") else account.pw_gid
            more = [grp.getgrnam(name).gr_gid for name in unit.words("SupplementaryGroups")]
        except KeyError as error:
            advice = "run filedrop service install, which creates it, or correct the unit"
            raise FiledropError(
                f"{unit.name} names an account or group that doesn't exist ({error}): {advice}"
            ) from None
        _hand_over_credentials(unit, account.pw_uid, at_end)
        for setting in unit.words("Environment"):
            name, _, value = setting.partition("=")
            os.environ[name] = value
        os.environ["HOME"] = account.pw_dir
        os.setgroups(sorted({*os.getgrouplist(unit.user, group), *more}))
        os.setresgid(group, group, group)
        os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)

    def _hand_over_credentials(unit: Unit, user: int, at_end: AtEnd) -> None:
        # As systemd does: root reads, and the service gets a copy.
        wanted = [word.partition(":") for word in unit.words("LoadCredential")]
        if not wanted:
            return
        folder = Path(tempfile.mkdtemp(prefix="filedrop-credentials-"))
        at_end(partial(shutil.rmtree, folder, ignore_errors=True))
        for name, _, source in wanted:
            with suppress(OSError):  # then the account says which credential it misses
                copy = folder / name
                copy.touch(0o400)
                copy.write_bytes(Path(source).read_bytes())
                os.chown(copy, user, -1)
        os.chown(folder, user, -1)
        os.environ["CREDENTIALS_DIRECTORY"] = str(folder)


def kept_from(unit: Unit, config: Config) -> dict[Path, str]:
    """Each folder of the configuration that the unit keeps from the service, whatever the account's rights, and why."""
    found = {}
    writable = unit.writable
    for path in sorted({*config.folders, config.root, config.state}):
        if not any(path.is_relative_to(folder) for folder in writable):
            found[path] = f"{unit.name} doesn't let filedrop write there: run filedrop service install"
    return found
