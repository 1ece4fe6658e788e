"""The journal: what we have said to the access point and what we have heard, durably, in one SQLite file.

`record` returns when the disk has it. All writing goes through one connection, one writer at a time; threads that want
to write at the same moment share one commit. Rows carry a revision, so that a step taken from a stale row (a person's
command meanwhile) is refused with `Changed` instead of overwriting what was heard. No SQL is written elsewhere.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from filedrop.document import Document, Event, Fault, State, participant_key
from filedrop.errors import Changed, FiledropError, JournalError

SCHEMA_VERSION = 1
_T = TypeVar("_T")


class _Name(sa.types.TypeDecorator[str]):
    """A file name as the operating system gave it: bytes, because not each is valid Unicode."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else os.fsencode(value)

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - likewise
        return None if value is None else os.fsdecode(value)


class _Moment(sa.types.TypeDecorator[datetime]):
    """A moment with its offset, as seconds: they sort and compare whatever the offset was."""

    impl = sa.Float
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> float | None:  # noqa: ARG002 - likewise
        return None if value is None else value.timestamp()

    def process_result_value(self, value: float | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - likewise
        return None if value is None else datetime.fromtimestamp(value).astimezone()


class _Json(sa.types.TypeDecorator[Any]):
    """Lists and dictionaries as JSON text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:  # noqa: ARG002 - likewise
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - likewise
        return None if value is None else json.loads(value)


_schema = sa.MetaData()
_about = sa.Table("about", _schema, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
_folders = sa.Table(
    "folders", _schema,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("path", _Name, nullable=False),
    sa.Column("settled", sa.Boolean, nullable=False),
)  # fmt: skip
_documents = sa.Table(
    "documents", _schema,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    # Unfinished, or finished and not yet put away: few, however many rows there are.
    sa.Column("open", sa.Boolean, nullable=False),
    sa.Column("company", sa.Text, nullable=False),
    sa.Column("folder", sa.Text, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("place", sa.Text, nullable=False),
    sa.Column("file", _Name, nullable=False),
    sa.Column("dropped_as", _Name, nullable=False),
    sa.Column("claimed", _Moment, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("meaning", sa.Text, nullable=False),
    sa.Column("sender", sa.Text),
    sa.Column("receiver", sa.Text),
    sa.Column("document_id", sa.Text),
    sa.Column("process_id", sa.Text),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("sources", _Json, nullable=False),
    sa.Column("type", sa.Text),
    sa.Column("number", sa.Text),
    sa.Column("issue_date", sa.Text),
    sa.Column("warnings", _Json, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("unclear", sa.Integer, nullable=False),
    sa.Column("unexplained", sa.Integer, nullable=False),
    sa.Column("due", _Moment),
    sa.Column("first_attempt", _Moment),
    sa.Column("msg_no", sa.Integer),
    sa.Column("uuid", sa.Text),
    sa.Column("received", sa.Text),
    sa.Column("delivered", sa.Text),
    sa.Column("accepted", _Moment),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("error", _Json),
    sa.Column("history", _Json, nullable=False),
    sa.Index("documents_msg_no", "identity", "msg_no"),
    sa.Index("documents_meaning", "meaning"),
    sa.Index("documents_sha256", "sha256"),
    sa.Index("documents_number", "number"),
    sa.Index("documents_open", "open", "folder", "state", "place"),
    sa.Index("documents_due", "open", "identity", "state", "due"),
)  # fmt: skip
_open = _documents.c.open.is_(True)
_messages = sa.Table(
    "messages", _schema,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("msg_no", sa.Integer, primary_key=True),
    # The number alone would not do: a server set up anew counts from the start again (contract 6, read means safe).
    sa.Column("received", sa.Text, primary_key=True),
    sa.Column("sender", sa.Text, primary_key=True),
    sa.Column("receiver", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("company", sa.Text, nullable=False),
    sa.Column("folder", _Name, nullable=False),
    sa.Column("temporary", _Name, nullable=False),
    sa.Column("file", _Name, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due", _Moment),
    sa.Column("why", sa.Text, nullable=False),
    sa.Index("messages_state", "identity", "state"),
)  # fmt: skip
_accounts = sa.Table(
    "accounts", _schema,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("inbox_day", sa.Text),
)  # fmt: skip
_surplus = sa.Table(
    "surplus", _schema,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("msg_no", sa.Integer, primary_key=True),
    sa.Column("received", sa.Text),
    sa.Column("document", sa.Text, nullable=False),
)  # fmt: skip
_let_through = sa.Table("let_through", _schema, sa.Column("sha256", sa.Text, primary_key=True))
_COLUMNS = tuple(field.name for field in fields(Document))


class Duplicate(FiledropError):
    """The same content is, or may be, at the access point already; `document` is the one that was first."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"the same document was already sent as {document.dropped_as}")
        self.document = document


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """What we know of a message of the inbox.

    `state`: `named` (whole in its temporary file, which the journal now knows), `placed` (in its folder), `read`
    (marked read at the access point), or `stuck` (couldn't be taken; `attempts`, `due` and `why` say more).
    """

    identity: str
    msg_no: int
    received: str
    sender: str
    receiver: str
    state: str
    company: str = ""
    folder: str = ""
    temporary: str = ""
    file: str = ""
    attempts: int = 0
    due: datetime | None = None
    why: str = ""

    @property
    def key(self) -> tuple[int, str, str, str]:
        """What it is known by, within its account."""
        return (self.msg_no, self.received, self.sender, self.receiver)


class _Ticket:
    """One thread's wish to write, and what came of it."""

    def __init__(self, work: Callable[[sa.Connection], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Journal:
    """The open journal. Thread-safe. Raises JournalError where it can't be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: list[_Ticket] = []
        self._queue_lock = threading.Lock()
        self._writer_lock = threading.Lock()
        self._engine = sa.create_engine(
            f"sqlite:///{path}", connect_args={"timeout": 30, "check_same_thread": False, "isolation_level": None}
        )
        sa.event.listen(self._engine, "connect", _prepare)
        with _translated(path):
            self._writer = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._make()
            about = {row.key: row.value for row in self._writer.execute(sa.select(_about))}
        if about["schema"] != str(SCHEMA_VERSION):
            self.close()
            raise JournalError(
                f"{path} was written by another version of filedrop (schema {about['schema']}, "
                f"this one knows {SCHEMA_VERSION}): install that version again, or a newer one"
            )
        self.id = about["id"]

    def close(self) -> None:
        """Give the file back. Nothing is lost when this is never called."""
        self._writer.close()
        self._engine.dispose()

    # Documents

    def record(self, document: Document) -> Document:
        """Write a document's step durably and return it with its new revision. Raises Changed, JournalError."""
        return self._write(lambda connection: _put(connection, document))

    def record_all(self, documents: Iterable[Document]) -> list[Document]:
        """Write the steps of several documents in one commit, leaving out those that have changed meanwhile."""
        wanted = list(documents)

        def work(connection: sa.Connection) -> list[Document]:
            written = []
            for document in wanted:
                try:
                    written.append(_put(connection, document))
                except Changed:
                    continue
            return written

        return self._write(work) if wanted else []

    def record_sending(self, document: Document, duplicates: str) -> Document:
        """Write durably that a document is about to be posted, unless the same content is or may be out already.

        `duplicates` is the configuration's rule: `refuse`, `number` or `allow`. Check and record are one transaction:
        two identical documents can't both pass. Raises Duplicate, Changed, JournalError.
        """

        def work(connection: sa.Connection) -> Document:
            # The waiver is part of the same transaction: it lets one document through, once.
            waived = connection.execute(
                sa.delete(_let_through).where(_let_through.c.sha256 == document.sha256)
            ).rowcount
            if duplicates != "allow" and not waived:
                first = _duplicate_of(connection, document, by_number=duplicates == "number")
                if first:
                    raise Duplicate(first)
            return _put(connection, document)

        return self._write(work)

    def let_through(self, sha256: str) -> None:
        """Let one document of this content be sent although it is a duplicate (`retry --anyway`)."""
        self._write(
            lambda connection: connection.execute(
                sa.insert(_let_through).prefix_with("OR IGNORE").values(sha256=sha256)
            )
        )

    def steps_due(self, folder: str, now: datetime | None, *, limit: int) -> list[Document]:
        """Documents of a folder that its sweep takes a step further: found as sending, not yet put away, or waiting.

        Of those that wait, the ones that are due `now`; none where that is None.
        """
        c = _documents.c
        waiting = sa.and_(c.state == State.WAITING.value, sa.or_(c.due.is_(None), c.due <= now)) if now else sa.false()
        astray = sa.or_(
            sa.and_(c.state == State.SENT.value, c.place == "sending"),
            c.state.in_([State.DELIVERED.value, State.FAILED.value]),
        )
        query = sa.select(_documents).where(
            c.folder == folder, _open, sa.or_(waiting, c.state == State.SENDING.value, astray)
        )
        return self._documents(query.order_by(c.id).limit(limit))

    def lying_in(self, folder: str, place: str) -> list[Document]:
        """The open documents of a folder that lie in `sending/` or `sent/`, as far as we know."""
        return self._documents(
            sa.select(_documents).where(_documents.c.folder == folder, _documents.c.place == place, _open)
        )

    def in_state(self, state: State, *, identity: str | None = None, due: datetime | None = None) -> list[Document]:
        """Unfinished documents in this state, oldest first; of one account, or due by then, where asked."""
        query = sa.select(_documents).where(_documents.c.state == state.value, _open)
        if identity is not None:
            query = query.where(_documents.c.identity == identity)
        if due is not None:
            query = query.where(sa.or_(_documents.c.due.is_(None), _documents.c.due <= due))
        return self._documents(query.order_by(_documents.c.id))

    def unfinished_like(self, folder: str, sha256: str) -> list[Document]:
        """Unfinished documents of a folder with exactly these bytes."""
        return self._documents(
            sa.select(_documents).where(_documents.c.sha256 == sha256, _documents.c.folder == folder, _open)
        )

    def document(self, document_id: str) -> Document | None:
        """A document by its id."""
        return next(iter(self._documents(sa.select(_documents).where(_documents.c.id == document_id))), None)

    def next_due(self, folder: str) -> datetime | None:
        """When the first of a folder's waiting documents is to be tried again; None where none waits for a moment."""
        c = _documents.c
        return self._moment(
            sa.select(sa.func.min(c.due)).where(c.folder == folder, _open, c.state == State.WAITING.value)
        )

    def first_due(self, state: State, identity: str) -> datetime | None:
        """When the first of an account's documents in this state is due; None where there is none."""
        c = _documents.c
        return self._moment(sa.select(sa.func.min(c.due)).where(_open, c.identity == identity, c.state == state.value))

    def counts(self, folder: str) -> dict[str, int]:
        """How many open documents of a folder are in each state, by the state's name."""
        query = sa.select(_documents.c.state, sa.func.count()).where(_documents.c.folder == folder, _open)
        with _translated(self.path), self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query.group_by(_documents.c.state))}

    def owned(self, identity: str, numbers: Iterable[int]) -> dict[int, list[str | None]]:
        """Which of these message numbers belong to a document, or are known to be surplus; each with its `received`.

        A server set up anew counts from the start again, so a number alone doesn't say that a message is the same.
        """
        wanted = list(numbers)
        owned: dict[int, list[str | None]] = {}
        with _translated(self.path), self._engine.connect() as connection:
            for start in range(0, len(wanted), 500):  # SQLite bounds the number of parameters
                part = wanted[start : start + 500]
                for table in (_documents, _surplus):
                    query = sa.select(table.c.msg_no, table.c.received).where(
                        table.c.identity == identity, table.c.msg_no.in_(part)
                    )
                    for number, received in connection.execute(query):
                        owned.setdefault(number, []).append(received)
        return owned

    def record_surplus(self, identity: str, msg_no: int, received: str | None, document: Document) -> None:
        """Write down that the access point has this document more often than we meant to send it."""
        values = {"identity": identity, "msg_no": msg_no, "received": received, "document": document.id}
        self._write(lambda connection: connection.execute(sa.insert(_surplus).prefix_with("OR IGNORE"), values))

    # Messages

    def record_message(self, row: MessageRow) -> None:
        """Write durably what is known of a message of the inbox."""
        self.record_messages([row])

    def record_messages(self, rows: Sequence[MessageRow]) -> None:
        """Write what is known of several messages in one commit."""
        values = [{field.name: getattr(row, field.name) for field in fields(MessageRow)} for row in rows]
        if values:
            self._write(lambda connection: connection.execute(sa.insert(_messages).prefix_with("OR REPLACE"), values))

    def forget_message(self, row: MessageRow) -> None:
        """Forget a message that was stuck and is gone from the inbox."""
        table = _messages.c
        where = (table.identity == row.identity, table.msg_no == row.msg_no, table.received == row.received)
        self._write(lambda connection: connection.execute(sa.delete(_messages).where(*where, table.state == "stuck")))

    def messages(self, identity: str, numbers: Iterable[int]) -> dict[tuple[int, str, str, str], MessageRow]:
        """What is known of the messages with these numbers, by what they are known by."""
        wanted = list(numbers)
        found: dict[tuple[int, str, str, str], MessageRow] = {}
        with _translated(self.path), self._engine.connect() as connection:
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                query = sa.select(_messages).where(_messages.c.identity == identity, _messages.c.msg_no.in_(part))
                for values in connection.execute(query):
                    row = MessageRow(**values._mapping)  # noqa: SLF001 - SQLAlchemy's documented attribute
                    found[row.key] = row
        return found

    def messages_in(self, identity: str, *states: str) -> list[MessageRow]:
        """The messages of an account in one of these states, by number."""
        query = sa.select(_messages).where(_messages.c.identity == identity, _messages.c.state.in_(states))
        with _translated(self.path), self._engine.connect() as connection:
            return [MessageRow(**row._mapping) for row in connection.execute(query.order_by(_messages.c.msg_no))]  # noqa: SLF001 - likewise

    def inbox_day(self, identity: str) -> str | None:
        """The day from which `/messages` is to be searched for unread messages of an inbox that shows only 25."""
        query = sa.select(_accounts.c.inbox_day).where(_accounts.c.identity == identity)
        with _translated(self.path), self._engine.connect() as connection:
            day = connection.execute(query).scalar()
        return None if day is None else str(day)

    def record_inbox_day(self, identity: str, day: str) -> None:
        """Write that all messages before this day are known."""
        values = {"identity": identity, "inbox_day": day}
        self._write(lambda connection: connection.execute(sa.insert(_accounts).prefix_with("OR REPLACE"), values))

    # Folders

    def folder_path(self, folder: str) -> Path | None:
        """Where a folder was last seen; None for one that this journal doesn't know."""
        with _translated(self.path), self._engine.connect() as connection:
            return _path(connection.execute(sa.select(_folders.c.path).where(_folders.c.id == folder)).scalar())

    def folder_at(self, path: Path) -> str | None:
        """The id of the folder that was last seen there."""
        with _translated(self.path), self._engine.connect() as connection:
            known = connection.execute(sa.select(_folders.c.id).where(_folders.c.path == str(path))).scalar()
        return None if known is None else str(known)

    def record_folder(self, folder: str, path: Path) -> None:
        """Write that a folder is ours and where it lies."""
        insert = sa.insert(_folders).values(id=folder, path=str(path), settled=False)
        update = sa.update(_folders).where(_folders.c.id == folder).values(path=str(path))

        def work(connection: sa.Connection) -> None:
            if not connection.execute(update).rowcount:
                connection.execute(insert)

        self._write(work)

    def is_settled(self, folder: str) -> bool:
        """Has everything that lay in this folder been taken up since the journal first saw it?"""
        with _translated(self.path), self._engine.connect() as connection:
            return bool(connection.execute(sa.select(_folders.c.settled).where(_folders.c.id == folder)).scalar())

    def settle(self, folder: str) -> None:
        """Write that it has: from now on, a file in `sending/` without a row was claimed and never posted."""
        self._write(
            lambda connection: connection.execute(
                sa.update(_folders).where(_folders.c.id == folder).values(settled=True)
            )
        )

    # How it is written and read

    def _make(self) -> None:
        self._writer.exec_driver_sql("BEGIN IMMEDIATE")
        _schema.create_all(self._writer)
        for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
            self._writer.execute(sa.insert(_about).prefix_with("OR IGNORE").values(key=key, value=value))
        self._writer.exec_driver_sql("COMMIT")

    def _moment(self, query: sa.Select[Any]) -> datetime | None:
        with _translated(self.path), self._engine.connect() as connection:
            return connection.execute(
                query.with_only_columns(sa.type_coerce(query.exported_columns[0], _Moment))
            ).scalar()

    def _documents(self, query: sa.Select[Any]) -> list[Document]:
        with _translated(self.path), self._engine.connect() as connection:
            return [_document(row) for row in connection.execute(query)]

    def _write(self, work: Callable[[sa.Connection], _T]) -> _T:
        ticket = _Ticket(work)
        with self._queue_lock:
            self._queue.append(ticket)
        with self._writer_lock:
            # Whoever gets here first commits for all who queued meanwhile: one fsync for many.
            if not ticket.done:
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        if ticket.error is not None:
            raise ticket.error
        result: _T = ticket.result
        return result

    def _commit(self, batch: list[_Ticket]) -> None:
        try:
            with _translated(self.path):
                self._writer.exec_driver_sql("BEGIN IMMEDIATE")
                for ticket in batch:
                    try:
                        ticket.result = ticket.work(self._writer)
                    except FiledropError as error:  # its checks come before its writes: nothing is to be undone
                        ticket.error = error
                self._writer.exec_driver_sql("COMMIT")
        except BaseException as error:  # noqa: BLE001 - each thread that waits must hear it, whatever it is
            self._roll_back()
            if len(batch) > 1:  # one thread's trouble must not be the others'
                for ticket in batch:
                    ticket.error = None
                    self._commit([ticket])
                return
            batch[0].error = error
        finally:
            for ticket in batch:
                ticket.done = True

    def _roll_back(self) -> None:
        try:
            self._writer.exec_driver_sql("ROLLBACK")
        except SQLAlchemyError:  # SQLite has rolled back by itself (disk full), or never began
            return


def _prepare(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise JournalError(
            f"the journal {path} can't be used: {reason}; nothing is posted until it can: "
            "see that its disk has room and that its folder belongs to the service"
        ) from error


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _put(connection: sa.Connection, document: Document) -> Document:
    values = {name: getattr(document, name) for name in _COLUMNS}
    values["state"] = document.state.value
    values["open"] = not document.state.finished or document.place != document.home
    values["error"] = asdict(document.error) if document.error else None
    values["history"] = [[event.at.isoformat(), event.event, event.facts] for event in document.history]
    values["revision"] = document.revision + 1
    if document.revision == 0:
        try:
            connection.execute(sa.insert(_documents), values)
        except IntegrityError:
            raise Changed(f"{document.dropped_as} is in the journal already") from None
    else:
        where = (_documents.c.id == document.id, _documents.c.revision == document.revision)
        if connection.execute(sa.update(_documents).where(*where).values(values)).rowcount != 1:
            raise Changed(f"{document.dropped_as} was taken a step further meanwhile")
    return replace(document, revision=document.revision + 1)


def _document(row: sa.Row[Any]) -> Document:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's documented attribute
    del values["open"]
    values["state"] = State(values["state"])
    values["error"] = Fault(**values["error"]) if values["error"] else None
    values["warnings"] = tuple(values["warnings"])
    values["history"] = tuple(Event(datetime.fromisoformat(at), event, facts) for at, event, facts in values["history"])
    return Document(**values)


def _duplicate_of(connection: sa.Connection, document: Document, *, by_number: bool) -> Document | None:
    alike = _documents.c.meaning == document.meaning
    if by_number and document.number:
        alike = sa.or_(alike, _documents.c.number == document.number)
    rows = connection.execute(sa.select(_documents).where(alike, _documents.c.id != document.id))
    for other in map(_document, rows):
        same_sender = participant_key(other.sender or "") == participant_key(document.sender or "")
        same_receiver = participant_key(other.receiver or "") == participant_key(document.receiver or "")
        same_number = (other.type, other.number, other.issue_date) == (
            document.type,
            document.number,
            document.issue_date,
        )
        same = (other.meaning == document.meaning and same_receiver) or (
            by_number and bool(document.number) and same_number
        )
        if same_sender and same and other.may_be_accepted:
            return other
    return None
