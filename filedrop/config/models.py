"""What a configuration says (contract 2), section by section, with its defaults.

A new key is one field here and one line in config.example.yaml.
"""

import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from filedrop.config.account import Account
from filedrop.config.mapping import Rule
from filedrop.config.section import Section
from filedrop.config.values import (
    BesideConfiguration,
    Count,
    Duration,
    FileNames,
    FolderName,
    Folders,
    FullPath,
    Interval,
    MaxSize,
    Participant,
    Size,
    Suffix,
)

_MB = 10**6

Watch = Literal["auto", "events", "scan"]

if sys.platform == "win32":

    def default_folder(environ: Mapping[str, str]) -> Path:
        """Where configuration and state live unless said otherwise."""
        return Path(environ.get("PROGRAMDATA", r"C:\ProgramData"), "filedrop")

    _STATE = default_folder(os.environ) / "state"
    _ROOT = Path(os.environ.get("SYSTEMDRIVE", "C:") + r"\filedrop")
else:

    def default_folder(environ: Mapping[str, str]) -> Path:  # noqa: ARG001 -- only Windows says it there
        """Where the configuration lives unless said otherwise."""
        return Path("/etc/filedrop")

    _STATE = Path("/var/lib/filedrop")
    _ROOT = Path("/srv/filedrop")


class Retry(Section):
    """How long to leave a document alone while the access point is away: doubling from `first` to `longest`."""

    first: Interval = timedelta(seconds=5)
    longest: Interval = timedelta(minutes=15)


class Outbound(Section):
    """The way out."""

    files: FileNames = ("*.xml",)
    watch: Watch = "auto"
    rescan: Interval = timedelta(seconds=30)
    settle: Duration = timedelta(seconds=2)
    incomplete_after: Duration = timedelta(minutes=5)
    ready_suffix: Suffix | None = None
    max_size: MaxSize = 100 * _MB
    workers: Count = 4
    retry: Retry = Retry()
    doubt: Duration = timedelta(minutes=15)
    track: Interval = timedelta(minutes=1)
    overdue: Duration = timedelta(hours=1)
    duplicates: Literal["refuse", "number", "allow"] = "refuse"
    foreign_sender: Literal["refuse", "warn", "allow"] = "refuse"
    directory: Literal["off", "warn", "refuse"] = "warn"
    directory_cache: Duration = timedelta(hours=1)


class Inbound(Section):
    """The way in."""

    poll: Interval = timedelta(minutes=1)
    min_free: Size = 200 * _MB
    max_size: MaxSize = 200 * _MB


class Log(Section):
    """What is logged, how and where; no `file` is the standard error stream."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "console", "json"] = "auto"
    file: FullPath | None = None


class Company(Section):
    """Whose documents are carried, and between which folders.

    `account`, `outbound`, `inbound` and `watch` are as they hold, whether written or not.
    """

    told: ClassVar = frozenset({"name"})

    name: FolderName
    participants: Annotated[tuple[Participant, ...], Field(examples=['["0192:987654321"], or [] if it only sends'])]
    account: str
    outbound: Folders
    inbound: FullPath
    channel: str = ""
    watch: Watch


class Config(Section):
    """The whole configuration."""

    told: ClassVar = frozenset({"source", "warnings"})

    source: str
    """The name of its file, as complaints begin with it."""
    accounts: Annotated[Mapping[str, Account], Field(examples=["and an account below it"])]
    root: FullPath = _ROOT
    state: FullPath = _STATE
    outbound: Outbound = Outbound()
    inbound: Inbound = Inbound()
    companies: Annotated[Mapping[str, Company], Field(examples=["and a company below it"])]
    unassigned: FullPath | None = None
    mapping: tuple[Rule, ...] = ()
    tables: Mapping[str, BesideConfiguration] = {}
    log: Log = Log()
    warnings: tuple[str, ...] = ()

    @field_validator("companies", mode="before")
    @classmethod
    def _complete(cls, companies: Any, info: ValidationInfo) -> Any:
        """What a company leaves out follows from the sections above, which have been checked before it."""
        if not isinstance(companies, dict):
            return companies
        root = info.data.get("root", _ROOT)
        accounts = tuple(info.data.get("accounts", ()))
        outbound: Outbound | None = info.data.get("outbound")

        def complete(name: str, written: Any) -> Any:
            if not isinstance(written, dict):
                return written
            folder = Path(f"{root}/{name}")  # not root / name, which C:x or /x would lead elsewhere
            follows = {
                "account": accounts[0] if len(accounts) == 1 else "",
                "outbound": [folder / "outbound"],
                "inbound": folder / "inbound",
                "watch": outbound.watch if outbound else "auto",
            }
            return follows | {key: value for key, value in written.items() if value is not None}

        return {name: complete(name, written) for name, written in companies.items()}

    @field_validator("unassigned", mode="before")
    @classmethod
    def _left(cls, written: Any) -> Any:
        return None if written == "leave" else written
