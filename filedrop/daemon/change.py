"""What another configuration changes of the accounts alone. All that the accounts share needs a new daemon."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.files.patience import within

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.daemon.account import Account
    from filedrop.daemon.daemon import Daemon

A_MOMENT = 5.0  # seconds for a ca_file to be read


@dataclass(frozen=True, slots=True)
class Change:
    """The accounts that a daemon gives up for a configuration, and those that it takes then.

    An account of which something changes is among both.
    """

    config: Config
    given_up: tuple[Account, ...]
    taken: tuple[Account, ...]

    def __str__(self) -> str:
        """The names of the accounts."""
        return ", ".join(sorted({account.name for account in (*self.given_up, *self.taken)}))


def change_to(config: Config, daemon: Daemon) -> Change | None:
    """What a configuration changes of a daemon's accounts; None where it changes what they share.

    Raises FiledropError where it can't be used.
    """
    if config.shared_part() != daemon.config.shared_part():
        return None
    names = dict.fromkeys((*config.accounts, *daemon.config.accounts))
    changed = {name for name in names if config.part_of(name) != daemon.config.part_of(name)}
    given_up = tuple(account for account in daemon.accounts if account.name in changed)
    taken = [name for name in config.accounts if name in changed and daemon.serves(name)]
    return Change(config, given_up, tuple(daemon.build(config, name) for name in taken))


def hung_folder(accounts: Iterable[Account], daemon: Daemon) -> Path | None:
    """A folder of these accounts that doesn't answer; None where all do."""
    folders = (served for account in accounts for served in account.folders)
    return next((served.folder.path for served in folders if daemon.workers.is_hung(served)), None)


def check_changed_files(accounts: Iterable[Account], config: Config, former: Config) -> None:
    """Raise ConfigError where a ca_file of these accounts can't be used that a former configuration doesn't name.

    One that can't be used at a start, or doesn't answer, holds up its own account alone.
    """
    for account in accounts:
        before = former.accounts.get(account.name)
        if before is None or before.ca_file != config.accounts[account.name].ca_file:
            with suppress(TimeoutError):
                within(A_MOMENT, account.access_point.read_ca_file)
