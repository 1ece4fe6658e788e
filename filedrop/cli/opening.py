"""A command's configuration, journal, access point and new files, and the user that it acts as."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from contextlib import ExitStack, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, cast

import click

from filedrop import config as configuration
from filedrop.accesspoint import AccessPoint
from filedrop.errors import FiledropError
from filedrop.files import may_use
from filedrop.identify import codelist
from filedrop.journal import JOURNAL, Database, Journal, NoJournal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from filedrop.config import Account, Config
    from filedrop.journal.postgres import Postgres


def open_config(option: str | None) -> Config:
    """The configuration; from now on, its code list counts, and root acts as the owner of its `state`.

    Raises ConfigError.
    """
    config = configuration.load(configuration.find(option))
    act_as_owner(config.state)
    codelist.use(config.published_lists)
    return config


def config_if_any(option: str | None) -> Config | None:
    """The configuration, for what can be done without one; None where none is named, and the system has none.

    Raises ConfigError.
    """
    path = configuration.found(option)
    config = configuration.load(path) if path else None
    codelist.use(config.published_lists if config else None)
    return config


if sys.platform == "win32":
    WHO_MAY = "an administrator"

    def act_as_owner(state: Path) -> None:
        """Nothing to do: what an administrator makes there, the service may use."""

    as_caller = nullcontext  # nobody acts as another

else:
    import pwd

    WHO_MAY = "filedrop's user, or as root"

    def act_as_owner(state: Path) -> None:
        """Let root act as the owner of the state, so that nothing comes to belong to root that the daemon needs."""
        if os.geteuid() != 0 or not os.path.isdir(state):  # noqa: PTH112 - False where nobody may look, too
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

    @contextmanager
    def as_caller() -> Iterator[None]:
        """For a while, act as whoever called filedrop: root, for one, who wants a file in a folder of root's own."""
        user, group = os.geteuid(), os.getegid()
        os.seteuid(os.getuid())
        os.setegid(os.getgid())
        try:
            yield
        finally:
            os.setegid(group)
            os.seteuid(user)


def write_new(target: Path, content: BinaryIO, option: str) -> None:
    """Write a new file as the caller, whole or not at all. Raises FiledropError, with the option that names another."""
    with as_caller(), ExitStack() as at_failure:
        try:
            with target.open("xb") as file:
                at_failure.callback(target.unlink)
                shutil.copyfileobj(content, file)
            at_failure.pop_all()
        except OSError as error:
            raise FiledropError(f"{target} can't be written: {error.strerror}; name another with {option}") from error


def has_journal(config: Config) -> bool:
    """Whether there is a journal that we may use; whether a database lets us in, opening it tells."""
    return config.journal is not None or may_use(config.state / JOURNAL)


def database(config: Config) -> Database | None:
    """The database that the journal is in, by the server that the daemon used last; None where it is in a file."""
    if config.journal is None:
        return None
    from filedrop.status.daemon_file import read  # noqa: PLC0415 - few have a database

    password = config.read_journal_password if config.journal_password_file else None
    return Database(config.journal, password, read(config.state).server)


def open_journal(config: Config) -> closing[Journal]:
    """The journal for a `with`, beside a running daemon. Raises FiledropError where there is none that we may use."""
    if place := database(config):
        return closing(Journal.in_database(place, creates=False))
    if not has_journal(config):
        raise FiledropError(f"there is no journal in {config.state}, or you may not use it: run this as {WHO_MAY}")
    return closing(Journal.at(config.state / JOURNAL))


def new_journal(config: Config) -> closing[Journal]:
    """The journal for a `with`, which is made where there is none. Raises FiledropError."""
    place = database(config)
    return closing(Journal.in_database(place) if place else Journal.at(config.state / JOURNAL))


def shared(journal: Journal) -> Postgres:
    """The database of a journal that several hosts can share. Raises FiledropError where it is in a file."""
    if journal.copies is not None:
        raise FiledropError("the journal is in a file, which only this host can use: see filedrop manual hosts")
    return cast("Postgres", journal.engine)


def host_name(config: Config) -> str:
    """The name of this host among those that share a journal."""
    return config.host or socket.gethostname()


def journal_if_any(config: Config) -> AbstractContextManager[Journal | None]:
    """The journal for a `with`; None where there is none that we may use."""
    try:
        return open_journal(config) if has_journal(config) else nullcontext()
    except NoJournal:
        return nullcontext()


def open_access_point(account: Account) -> closing[AccessPoint]:
    """An account's access point for a `with`. Raises ConfigError where its password or its ca_file can't be read."""
    account.read_password()
    access_point = AccessPoint(account, stopped=threading.Event())
    access_point.read_ca_file()
    return closing(access_point)


def check_company(config: Config, name: str) -> None:
    """Raise UsageError where there is no company of that name."""
    if name not in config.companies:
        raise click.UsageError(f"there is no company {name}; write one of {', '.join(config.companies)}")


def choose_account(config: Config, name: str | None) -> Account:
    """The account of that name, or the only one."""
    if name is not None and name in config.accounts:
        return config.accounts[name]
    if name is None and len(config.accounts) == 1:
        return next(iter(config.accounts.values()))
    wrong = "there are several accounts" if name is None else f"there is no account {name}"
    raise click.UsageError(f"{wrong}; write --account and one of {', '.join(config.accounts)}")
