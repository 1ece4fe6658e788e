"""What commands work with: the configuration, the log, the journal, an access point; and as whom they do."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from filedrop import config as configuration
from filedrop import logs
from filedrop.accesspoint import AccessPoint
from filedrop.errors import ConfigError, FiledropError
from filedrop.files import may_use
from filedrop.journal import Journal
from filedrop.service import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping
    from pathlib import Path
    from typing import Any

    import structlog

    from filedrop.config import Account, Config, Log


def open_config(option: str | None) -> Config:
    """The configuration; from now on, root acts as the owner of its `state`. Raises ConfigError."""
    config = configuration.load(configuration.find(option))
    act_as_owner(config.state)
    return config


if sys.platform == "win32":

    def act_as_owner(state: Path) -> None:
        """Nothing to do: what an administrator makes there, the service may use."""

else:
    import pwd

    def act_as_owner(state: Path) -> None:
        """Let root act as the owner of the state, so that nothing comes to belong to root that the daemon needs."""
        if os.geteuid() != 0 or not state.is_dir():
            return
        owner = state.stat()
        if owner.st_uid == 0:
            return
        try:
            os.initgroups(pwd.getpwuid(owner.st_uid).pw_name, owner.st_gid)
        except KeyError:  # a container's user without a name
            os.setgroups([owner.st_gid])
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)


def open_log(log: Log, hear: Callable[[MutableMapping[str, Any]], None] | None = None) -> structlog.stdlib.BoundLogger:
    """The log as the configuration wants it; `hear` is told every event. Raises ConfigError."""
    try:
        return logs.configure(log, hear)
    except OSError as error:
        raise ConfigError([f"log.file: {log.file} can't be written: {error.strerror}; name another"]) from error


def has_journal(config: Config) -> bool:
    """Is there a journal that we may use?"""
    return may_use(config.state / JOURNAL)


@contextmanager
def open_journal(config: Config) -> Iterator[Journal]:
    """The journal, beside a running daemon. Raises FiledropError where there is none that we may use."""
    if not has_journal(config):
        raise FiledropError(
            f"there is no journal in {config.state} that you may use: run this as filedrop's user, or as root"
        )
    journal = Journal(config.state / JOURNAL)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def open_access_point(account: Account) -> Iterator[AccessPoint]:
    """An account's access point. Raises ConfigError, also where its password can't be read."""
    account.login.read_password()
    access_point = AccessPoint(account.login, stopped=threading.Event())
    try:
        yield access_point
    finally:
        access_point.close()


def choose_account(config: Config, name: str | None) -> Account:
    """The account of that name, or the only one."""
    if name is not None and name in config.accounts:
        return config.accounts[name]
    if name is None and len(config.accounts) == 1:
        return next(iter(config.accounts.values()))
    wrong = "there are several accounts" if name is None else f"there is no account {name}"
    raise click.UsageError(f"{wrong}; write --account and one of {', '.join(config.accounts)}")
