"""What a configuration says (contract 2), section by section, with its defaults.

A new key is one field of its section, here or in the module of that section; config.example.yaml explains
it, and docs/reference.md takes its words from there (.ci/reference).
"""

import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from filedrop.config.account import Account, read_secret
from filedrop.config.alerts import Alerts, Heartbeat, Mail, Metrics
from filedrop.config.mapping import AnyTable, Rule
from filedrop.config.prepare import Prepare
from filedrop.config.section import TOLD, Section
from filedrop.config.values import (
    LEFT_OUT,
    Addresses,
    BesideConfiguration,
    CommandLine,
    Count,
    Duration,
    FileNames,
    FolderName,
    Folders,
    FullPath,
    IgnoredNames,
    Interval,
    JournalAddress,
    KeptFor,
    MaxSize,
    NotBlank,
    OneOrSeveral,
    Participant,
    ReceivedName,
    ReceiverPattern,
    Size,
    Suffix,
    Takeover,
    TimeOfDay,
    VariableName,
    one_or_several,
)
from filedrop.errors import ConfigError
from filedrop.model.document import same_participant
from filedrop.model.twins import twin
from filedrop.texts.languages import ENGLISH, Language
from filedrop.times import as_duration

_MB = 10**6

Watch = Literal["auto", "events", "scan"]
Strictness = Literal["off", "warn", "refuse"]
Unreachable = Literal["directory", "aside", "send"]
Duplicates = Literal["refuse", "number", "allow"]
Attachments = Literal["leave", "beside"]
Readable = Literal["off", "html"]
Answers = Literal["off", "move"]

if sys.platform == "win32":
    import ctypes

    _PROGRAM_DATA, _LONGEST = 0x23, 260  # CSIDL_COMMON_APPDATA, MAX_PATH

    def default_folder() -> Path:
        """Where configuration and state live unless said otherwise: %PROGRAMDATA%, also where a service lacks that."""
        path = ctypes.create_unicode_buffer(_LONGEST)
        failed = ctypes.windll.shell32.SHGetFolderPathW(None, _PROGRAM_DATA, None, 0, path)
        return Path(r"C:\ProgramData" if failed else path.value, "filedrop")

    _STATE = default_folder() / "state"
    _ROOT = Path(os.environ.get("SYSTEMDRIVE", "C:") + r"\filedrop")
else:

    def default_folder() -> Path:
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
    ignore: IgnoredNames = ()
    watch: Watch = "auto"
    rescan: Interval = timedelta(seconds=30)
    settle: Duration = timedelta(seconds=2)
    incomplete_after: Duration = timedelta(minutes=5)
    ready_suffix: Suffix | None = None
    max_size: MaxSize = 100 * _MB
    workers: Count = 4
    retry: Retry = Retry()
    doubt: Interval = timedelta(minutes=15)
    track: Interval = timedelta(minutes=1)
    overdue: Duration = timedelta(hours=1)
    duplicates: Duplicates = "refuse"
    foreign_sender: Literal["refuse", "warn", "allow"] = "refuse"
    directory: Strictness = "warn"
    unreachable: Unreachable = "directory"
    unreachable_after: Interval = timedelta(minutes=10)
    directory_cache: Duration = timedelta(hours=1)
    validate_: Annotated[Strictness, Field(alias="validate")] = "off"
    prepare: Prepare = Prepare()
    attachment_required: tuple[ReceiverPattern, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether documents are prepared, validated, asked for attachments or put aside before they are posted."""
        is_changed = self.prepare.is_on or self.validate_ != "off"
        return is_changed or bool(self.attachment_required) or self.unreachable == "aside"


class Inbound(Section):
    """The way in."""

    poll: Interval = timedelta(minutes=1)
    min_free: Size = 200 * _MB
    max_size: MaxSize = 200 * _MB
    attachments: Attachments = "leave"
    readable: Readable = "off"
    answers: Answers = "off"
    answer_after: Duration = timedelta(days=5)
    name: ReceivedName | None = None


class ExceptedRule(Section):
    """Rules, by their ids, that aren't applied to a company's documents; where none is named, to no document."""

    rule: Annotated[OneOrSeveral[NotBlank], Field(examples=["PEPPOL-EN16931-R010"])]
    company: str | None = None


class Validation(Section):
    """What documents are validated by: a folder with rules, or a program with its arguments.

    `memory` and `except` are for rules.
    """

    rules: BesideConfiguration | None = None
    command: CommandLine | None = None
    timeout: Interval = timedelta(seconds=30)
    memory: MaxSize = 1000 * _MB
    except_: Annotated[tuple[ExceptedRule, ...], LEFT_OUT, Field(alias="except")] = ()

    def exceptions(self, company: str) -> tuple[str, ...]:
        """The ids of the rules that aren't applied to a company's documents; company "": to a document of nobody's."""
        named = (excepted.rule for excepted in self.except_ if excepted.company in (None, company))
        return tuple(rule for rules in named for rule in rules)


class Commands(Section):
    """Programs, with their arguments, that are run after something has happened to a document."""

    after_received: CommandLine | None = None
    after_failed: CommandLine | None = None
    after_unreachable: CommandLine | None = None
    after_delivered: CommandLine | None = None
    timeout: Interval = timedelta(minutes=1)

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """The programs that are there, by what they come after."""
        events = ("received", "failed", "unreachable", "delivered")
        found = {event: getattr(self, f"after_{event}") for event in events}
        return {event: arguments for event, arguments in found.items() if arguments}


class Keep(Section):
    """How long what is done is kept."""

    archive: KeptFor = "forever"

    def archive_for(self) -> timedelta | None:
        """How long delivered documents are kept; None for ever."""
        return None if self.archive == "forever" else self.archive


class Hosts(Section):
    """How the hosts that share the journal share the accounts."""

    share: bool = True


class Log(Section):
    """What is logged, how and where; no `file` is the standard error stream.

    A file of `max_size` is put aside as `.1`, and what was that as `.2`, up to `keep`.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "console", "json"] = "auto"
    file: FullPath | None = None
    max_size: MaxSize = 20 * _MB
    keep: Count = 5


def _completed(section: type[Section], written: Any, follows: dict[str, Any]) -> Any:
    """What is written of a section, with what follows from other sections where nothing is written."""
    if not isinstance(written, dict) or section.unknown(written):  # an unknown key may be one of those, misspelt
        return written
    return follows | {key: value for key, value in written.items() if value is not None}


class Company(Section):
    """Whose documents are carried, and between which folders.

    A field that `follows` has the value that holds, whether it was written here or taken from other sections.
    """

    elsewhere: ClassVar = ("alerts.mail", frozenset(Mail.known()))
    follows: ClassVar = frozenset(
        {"account", "outbound", "inbound", "watch", "language"}
        | {"validate", "prepare", "directory", "unreachable", "duplicates", "attachments", "readable", "answers"}
        | {"answer_after", "received_name", "keep"}
    )

    name: Annotated[FolderName, TOLD]
    participants: Annotated[tuple[Participant, ...], Field(examples=['["0192:987654325"], or [] if it only sends'])]
    account: str
    outbound: Folders
    inbound: FullPath
    channel: str = ""
    watch: Watch
    language: Language
    mail: Annotated[Addresses, LEFT_OUT] = ()
    validate_: Annotated[Strictness, Field(alias="validate")]
    prepare: Prepare
    directory: Strictness
    unreachable: Unreachable
    duplicates: Duplicates
    attachments: Attachments
    readable: Readable
    answers: Answers
    answer_after: Duration
    received_name: ReceivedName | None = None
    keep: Keep

    @property
    def may_receive(self) -> bool:
        """Whether a message can be for this company. One without participants has no use for its inbound folder."""
        return bool(self.participants)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Its folders for documents."""
        return (*self.outbound, self.inbound) if self.may_receive else self.outbound

    def apply_to(self, common: Outbound) -> Outbound:
        """The common settings of the way out, with this company's own."""
        own = ("validate_", "prepare", "directory", "unreachable", "duplicates")
        return common.model_copy(update={key: getattr(self, key) for key in own})


class Config(Section):
    """The whole configuration."""

    source: Annotated[str, TOLD]
    """The name of its file, as complaints begin with it."""
    accounts: Annotated[Mapping[str, Account], Field(examples=["and an account below it"])]
    root: FullPath = _ROOT
    state: FullPath = _STATE
    journal: Annotated[JournalAddress | None, Field(repr=False)] = None
    journal_password_file: BesideConfiguration | None = None
    host: NotBlank | None = None
    takeover: Takeover = timedelta(seconds=15)
    hosts: Hosts = Hosts()
    outbound: Outbound = Outbound()
    inbound: Inbound = Inbound()
    keep: Keep = Keep()
    language: Language = ENGLISH
    companies: Annotated[Mapping[str, Company], Field(examples=["and a company below it"])]
    unassigned: FullPath | None = None
    mapping: Annotated[tuple[Rule, ...], LEFT_OUT] = ()
    tables: Mapping[str, AnyTable] = {}
    codelists: BesideConfiguration | None = None
    published_lists: Annotated[Mapping[str, Mapping[str, Any]] | None, TOLD, Field(repr=False)] = None
    """What is in the folder `codelists` (config/codelists)."""
    list_trouble: Annotated[str, TOLD] = ""
    """Why that can't be used, so that filedrop's own list counts; among the warnings, too."""
    validation: Validation = Validation()
    commands: Commands = Commands()
    pass_environment: Annotated[tuple[VariableName, ...], BeforeValidator(one_or_several)] = ()
    log: Log = Log()
    alerts: Alerts = Alerts()
    digest: TimeOfDay | None = None
    heartbeat: Heartbeat = Heartbeat()
    metrics: Metrics = Metrics()
    warnings: Annotated[tuple[str, ...], TOLD] = ()

    @cached_property
    def folders(self) -> frozenset[Path]:
        """Every folder that it names for documents."""
        paths = {path for company in self.companies.values() for path in company.folders}
        return frozenset(paths | ({self.unassigned} if self.unassigned else set()))

    def folders_of(self, account: str) -> frozenset[Path]:
        """The folders of the companies of an account."""
        companies = (company for company in self.companies.values() if company.account == account)
        return frozenset(path for company in companies for path in company.folders)

    def read_journal_password(self) -> str:
        """The password of the journal's database as it is now, "" where none is named. Raises `ConfigError`."""
        file = self.journal_password_file
        return read_secret(file, lambda why: ConfigError([f"journal_password_file: {why}"])) if file else ""

    @property
    def password_variables(self) -> frozenset[str]:
        """The environment variables that hold a password."""
        return frozenset(account.password_env for account in self.accounts.values() if account.password_env)

    def company_of_twin(self, participant: str) -> str | None:
        """The company that has the twin of this ParticipantID as a participant."""
        other = twin(participant)
        companies = (
            company.name
            for company in self.companies.values()
            if any(same_participant(own, other) for own in company.participants)
        )
        return next(companies, None) if other else None

    def account_option(self, name: str) -> tuple[str, ...]:
        """The option by which a command goes by this account; none where there is no other."""
        return ("--account", name) if len(self.accounts) > 1 else ()

    def part_of(self, account: str) -> tuple[object, ...]:
        """What it says of one account and its companies, but for their mail: who gets alerts changes no account."""
        companies = {
            name: company.model_copy(update={"mail": ()})
            for name, company in self.companies.items()
            if company.account == account
        }
        return self.accounts.get(account), companies, self.account_option(account)

    def shared_part(self) -> Self:
        """What it says, but for its accounts, companies and warnings."""
        return self.model_copy(update={"accounts": {}, "companies": {}, "warnings": ()})

    @field_validator("companies", mode="before")
    @classmethod
    def _complete(cls, companies: Any, info: ValidationInfo) -> Any:
        """What a company leaves out follows from the sections above, which have been checked before it."""
        if not isinstance(companies, dict):
            return companies
        root = info.data.get("root", _ROOT)
        accounts = tuple(info.data.get("accounts", ()))
        outbound: Outbound = info.data.get("outbound", Outbound())
        inbound: Inbound = info.data.get("inbound", Inbound())
        keep: Keep = info.data.get("keep", Keep())

        def complete(name: str, written: Any) -> Any:
            folder = Path(f"{root}/{name}")  # not root / name, which C:x or /x would lead elsewhere
            follows = {
                "account": accounts[0] if len(accounts) == 1 else "",
                "outbound": [folder / "outbound"],
                "inbound": folder / "inbound",
                "watch": outbound.watch,
                "language": info.data.get("language", ENGLISH),
                "validate": outbound.validate_,
                "prepare": outbound.prepare,
                "directory": outbound.directory,
                "unreachable": outbound.unreachable,
                "duplicates": outbound.duplicates,
                "attachments": inbound.attachments,
                "readable": inbound.readable,
                "answers": inbound.answers,
                "answer_after": as_duration(inbound.answer_after),
                "received_name": inbound.name,
                "keep": keep,
            }
            own = _completed(Company, written, follows)
            if isinstance(own, dict) and "keep" in own:
                own = own | {"keep": _completed(Keep, own["keep"], {"archive": keep.archive})}
            return own

        return {name: complete(name, written) for name, written in companies.items()}

    @field_validator("unassigned", mode="before")
    @classmethod
    def _left(cls, written: Any) -> Any:
        return None if written == "leave" else written
