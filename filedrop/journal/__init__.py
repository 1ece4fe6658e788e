"""The journal: a durable record of all requests to the access point and its answers, in one SQLite file or PostgreSQL.

A record is on the disk when its call returns. Rows carry a revision, so that a step from a stale row (after a person's
command) is refused with `Changed` and overwrites nothing. No other package but the sandbox contains SQL.

    documents                       writes of documents, duplicates and their waivers, and rows that are removed
    finding                         reads of documents
    numbers, messages, folders      queries and records, by subject; folders: also databases that both live
    totals                          how much there has been, is under way, happened last, and on each day
    errands                         commands that are still to be run
    responses                       responses to documents: which are meant, and what their sidecars lack
    answering                       answers to received documents
    schema                          the tables, the form of their values, and SQL that several modules share
    engine                          transactions: the writes of many threads in one commit
    sqlite                          the engine in a file: connections, errors, upkeep, copies
    postgres                        the engine in a PostgreSQL database: the lease, the fence, errors
    postgres_session                its sessions: their settings, and the end of each wait
    postgres_schema                 the same tables and triggers there
    postgres_hosts                  this host among those that share a journal in PostgreSQL
    sharing                         which hosts these are, what each of them serves, and whether it sees a file
    moving                          moving all rows from one journal into another
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop.errors import JournalError
from filedrop.journal.answering import Answering, GivenAnswer, InvoiceAnswer
from filedrop.journal.documents import Documents, Duplicate, Removal, Waiver, Waivers
from filedrop.journal.engine import NoJournal
from filedrop.journal.errands import Errand, Errands
from filedrop.journal.finding import Drop, Newest, Version
from filedrop.journal.folders import Folders
from filedrop.journal.messages import MessageRow, Messages, changed, is_same
from filedrop.journal.numbers import Numbers, Outcome
from filedrop.journal.responses import Responses
from filedrop.journal.schema import Known
from filedrop.journal.sqlite import Copies, Sqlite
from filedrop.journal.totals import Days, Lately, PastDue, Received, Sent, Total, Totals, UnderWay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filedrop.journal.engine import Engine

__all__ = [
    "JOURNAL",
    "Database",
    "Days",
    "Drop",
    "Duplicate",
    "Errand",
    "GivenAnswer",
    "InvoiceAnswer",
    "Journal",
    "Known",
    "MessageRow",
    "Newest",
    "NoJournal",
    "Outcome",
    "PastDue",
    "Received",
    "Sent",
    "Total",
    "UnderWay",
    "Version",
    "Waiver",
    "changed",
    "is_same",
]

JOURNAL = "journal.sqlite"  # in the state folder


class Database(NamedTuple):
    """Where the journal is if it isn't in a file: an address of PostgreSQL, and what reads the password, if any.

    `server`: which one of the address is asked first.
    """

    address: str
    password: Callable[[], str] | None = None
    server: str = ""


class Journal:
    """The open journal, by subject. Thread-safe. Raises JournalError where it can't be read or written."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.documents = Documents(engine)
        self.numbers = Numbers(engine)
        self.responses = Responses(engine)
        self.answers = Answering(engine)
        self.messages = Messages(engine)
        self.folders = Folders(engine)
        self.waivers = Waivers(engine)
        self.totals = Totals(engine)
        self.errands = Errands(engine)
        self.removal = Removal(engine)
        self.lately = Lately(engine)

    @classmethod
    def at(cls, path: Path, *, is_daemons: bool = False, is_moving: bool = False) -> Journal:
        """The journal in a file. `is_daemons`: it is the daemon's, which alone checkpoints.

        Raises JournalError where it was moved, unless it `is_moving`.
        """
        return cls(Sqlite(path, is_daemons=is_daemons, is_moving=is_moving))

    @classmethod
    def in_database(
        cls, database: Database, *, is_daemons: bool = False, creates: bool = True, is_moving: bool = False
    ) -> Journal:
        """The journal in a database. `is_daemons`: it writes only while its process is one of the hosts.

        Raises NoJournal where the database is empty, unless this `creates` the tables; JournalError where it was moved,
        unless it `is_moving`.
        """
        try:
            from filedrop.journal.postgres import Postgres  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise JournalError(
                f"`journal` is a PostgreSQL database, and {error.name} isn't installed: in the folder of filedrop's "
                "source run: pip install '.[postgres]'"
            ) from error
        address, password, server = database
        return cls(
            Postgres(address, password, is_daemons=is_daemons, creates=creates, is_moving=is_moving, server=server)
        )

    @property
    def id(self) -> str:
        """The journal's id, which it has in the markers of its folders."""
        return self.engine.id

    @property
    def trouble(self) -> str:
        """Why nothing can be posted: the last write failed, or the journal is damaged; else ""."""
        return self.engine.trouble

    @property
    def commits(self) -> int:
        """How often this process has written to it."""
        return self.engine.commits

    @property
    def copies(self) -> Copies | None:
        """Copies of its file; None where it has none."""
        return Copies(self.engine) if isinstance(self.engine, Sqlite) else None

    def check_writable(self) -> None:
        """Write a test value. Raises JournalError."""
        self.engine.check_writable()

    def check_integrity(self) -> None:
        """Look for damage. Raises JournalError, and the journal is in trouble from then on."""
        self.engine.check_integrity()

    def close(self) -> None:
        """Close it. Nothing is lost without this call."""
        self.engine.close()
