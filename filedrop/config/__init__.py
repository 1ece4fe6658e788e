"""YAML -> checked models (contract 2).

`find` says which file, `load` reads it: a `Config`, or a `ConfigError` with every complaint at once. Nothing here
changes after that, nothing shows a password, and only `Account.read_password` ever reads one.

    models, account, alerts, prepare, section    what a configuration says; account: where a password is read
    reading, values, complaints         YAML text to values, and every complaint at once
    mapping                             mapping rules
    rules                               the list of a folder of validation rules
    codelists                           a folder with the published files of a Peppol code list
    agreement                           whether the parts agree with one another, and a rule can have an effect
    shown                               what a configuration means, in the words of its file; its JSON Schema

Importing this package costs pydantic and PyYAML; who may do without a configuration imports it late.
"""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from filedrop.config.account import READABLE_BY_ALL, Account, doubts
from filedrop.config.agreement import check_agreement
from filedrop.config.alerts import Alerts, Heartbeat, Mail, Metrics
from filedrop.config.codelists import OWN_COUNTS, PATIENCE, CodeLists, load_lists
from filedrop.config.complaints import Complaints
from filedrop.config.mapping import Lookup, Rule, TableFile, Template, Value, XPath, groups_in, xpath_in
from filedrop.config.models import (
    Commands,
    Company,
    Config,
    Hosts,
    Inbound,
    Keep,
    Log,
    Outbound,
    Retry,
    Validation,
    Watch,
    default_folder,
)
from filedrop.config.reading import Keys, Written, read
from filedrop.config.section import Section
from filedrop.errors import ConfigError
from filedrop.files.patience import within
from filedrop.files.rights import explain

__all__ = [
    "Account",
    "Alerts",
    "Commands",
    "Company",
    "Config",
    "Heartbeat",
    "Hosts",
    "Inbound",
    "Keep",
    "Log",
    "Lookup",
    "Mail",
    "Metrics",
    "Outbound",
    "Retry",
    "Rule",
    "TableFile",
    "Template",
    "Validation",
    "Value",
    "Watch",
    "XPath",
    "default_folder",
    "find",
    "found",
    "groups_in",
    "load",
    "named_folder",
    "parse",
    "xpath_in",
]

_NAMED: dict[str, type[Section]] = {"accounts": Account, "companies": Company}  # sections that are called something


def find(option: str | Path | None) -> Path:
    """The configuration file: that of `--config`, else of $FILEDROP_CONFIG, else the system's."""
    return Path(option or os.environ.get("FILEDROP_CONFIG") or default_folder() / "config.yaml")


def found(option: str | Path | None) -> Path | None:
    """The configuration file, for what can be done without one; None where none is named, and the system has none."""
    path = find(option)
    return path if option or os.environ.get("FILEDROP_CONFIG") or path.exists() else None


def load(path: Path) -> Config:
    """Read and check a configuration file.

    Raises `ConfigError` with every complaint, each `file:line: key: what is wrong, what to write instead`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        is_denied = isinstance(error, PermissionError)
        advice = "or run this as a user who may read it" if is_denied else "create it with filedrop init"
        why = f"{explain(error, path)}; {advice}, or name another file with --config"
        raise ConfigError([f"{path}: can't be read: {why}"]) from error
    try:
        return parse(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    # Outside of the `except`: that error carries the whole text.
    raise ConfigError([f"{path}:{line}: not UTF-8; save the file as UTF-8"])


def named_folder(key: Literal["root", "state"], path: Path) -> Path | None:
    """The `root` or `state` of a configuration file that may be full of mistakes; None where that can't be told."""
    try:
        text = path.read_text("utf-8-sig")
        try:
            values = read(text, str(path)).values
        except ConfigError:  # the rest may be no YAML: from its line alone
            line = re.search(rf"^{key} *:.*", text, re.MULTILINE)
            values = read(line[0] if line else "", str(path)).values
        folder = values.get(key, Config.model_fields[key].default)
    except (OSError, UnicodeDecodeError, ConfigError):
        return None
    return Path(folder) if isinstance(folder, (str, Path)) and Path(folder).is_absolute() else None


def parse(text: str, name: str = "config.yaml") -> Config:
    """Check a configuration that was read from the file `name`, in whose folder relative paths begin.

    Raises `ConfigError` as `load` does.
    """
    written = read(text, name)
    complaints = Complaints(name, written)
    _refuse_told(Config, (), written.values, complaints)
    written.values["source"] = name
    tell = partial(_tell, written, complaints)
    for key in ("accounts", "companies", "mapping"):
        tell(key)
    config = complaints.check(written.values, Path(name).absolute().parent, tell)
    check_agreement(config, complaints)
    complaints.raise_any()
    lists, trouble = None, ""
    try:
        lists = _named_lists(config.codelists)
    except ConfigError as error:
        where = complaints.where(("codelists",))
        trouble = f"{where}: {'; '.join(error.complaints)}{OWN_COUNTS}"
    warnings = [f"{complaints.where(key)}: {doubt}" for key, doubt in _doubts(config)] + [trouble] * bool(trouble)
    return config.model_copy(update={"warnings": tuple(warnings), "published_lists": lists, "list_trouble": trouble})


def _doubts(config: Config) -> Iterator[tuple[tuple[str, ...], str]]:
    """What may be wrong with each password, by its key."""
    for account in config.accounts.values():
        key, of_account = account.doubts()
        yield from ((("accounts", account.name, key), doubt) for doubt in of_account)
    if mail := config.alerts.mail:
        of_mail = doubts(mail.password_file, mail.read_password)
        yield from ((("alerts", "mail", "password_file"), doubt) for doubt in of_mail)
    if config.journal and urlsplit(config.journal).password:
        yield ("journal",), f"{READABLE_BY_ALL}, with journal_password_file"
    of_journal = doubts(config.journal_password_file, config.read_journal_password)
    yield from ((("journal_password_file",), doubt) for doubt in of_journal)


def _named_lists(folder: Path | None) -> CodeLists | None:
    """The code list in the folder `codelists`, None where no folder is named. Raises ConfigError."""
    try:
        return within(PATIENCE, lambda: load_lists(folder)) if folder else None
    except OSError as error:  # it doesn't answer
        raise ConfigError([f"{folder} can't be read: {explain(error)}"]) from error


def _refuse_told(section: type[Section], keys: Keys, body: dict[str, Any], complaints: Complaints) -> None:
    """Complain about keys for what a section is told by its place."""
    for key in section.keyless() & body.keys():
        complaints.add("unknown key; delete it", (*keys, key))
        del body[key]


def _tell(written: Written, complaints: Complaints, named: str) -> None:
    """Tell the sections below a key of the file what they know by their place."""

    def tell(section: type[Section], keys: Keys, body: Any, **facts: str | int) -> Any:
        if body is None:
            body = {}
        if isinstance(body, dict):
            _refuse_told(section, keys, body, complaints)
            body.update(facts)
        return body  # whatever else it is, the check will say so

    values = written.values
    body = values.get(named)
    if named == "mapping" and isinstance(body, list):
        values[named] = [
            tell(Rule, keys := (named, index), rule, number=index + 1, line=written.lines[keys])
            for index, rule in enumerate(body)
        ]
    elif named in _NAMED and not body:
        values.pop(named, None)  # as good as not there
    elif named in _NAMED and isinstance(body, dict):
        values[named] = {key: tell(_NAMED[named], (named, key), value, name=key) for key, value in body.items()}
