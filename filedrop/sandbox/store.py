"""The sandbox's messages: rows in SQLite, documents as files beside it, and the network that carries between accounts.

A message that has been posted is `due` some time later. Whoever looks into the store next moves the network first, so
that whatever is due has happened; there is no thread, and what came due while nothing ran happens at the next start. An
OUT message and the IN message that becomes of it share their `uuid`, which also names the file with the document.

A store may be used by many threads, and by other processes on the same state folder.
"""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import sqlalchemy as sa

from filedrop.errors import FiledropError
from filedrop.sandbox import network
from filedrop.sandbox.message import Direction, Message, Search, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGE = 25  # Limits 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Moment(sa.types.TypeDecorator[datetime]):
    """A moment as whole milliseconds, which is what the interface tells, and which SQLite compares rightly."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> int | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else (value - _EPOCH) // timedelta(milliseconds=1)

    def process_result_value(self, value: int | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - likewise
        return None if value is None else _EPOCH + timedelta(milliseconds=value)


_tables = sa.MetaData()
_participant = sa.String(collation="NOCASE")  # ParticipantIDs are compared without case (Policy for identifiers 5)
_participants = sa.Table(
    "participants",
    _tables,
    sa.Column("participant", _participant, primary_key=True),
    sa.Column("account", sa.String, nullable=False),
)
_messages = sa.Table(
    "messages",
    _tables,
    sa.Column("msg_no", sa.Integer, primary_key=True),
    sa.Column("account", sa.String, nullable=False),
    sa.Column("direction", sa.Enum(Direction, native_enum=False), nullable=False),
    sa.Column("sender", _participant, nullable=False),
    sa.Column("receiver", _participant, nullable=False),
    sa.Column("channel", sa.String, nullable=False),
    sa.Column("document_id", sa.String, nullable=False),
    sa.Column("process_id", sa.String, nullable=False),
    sa.Column("uuid", sa.String, nullable=False),
    sa.Column("received", _Moment, nullable=False),
    sa.Column("delivered", _Moment),
    sa.Column("listed", sa.Boolean, nullable=False),
    sa.Column("due", _Moment),
    sa.Index("messages_by_view", "account", "direction", "listed", "msg_no"),
    sa.Index("messages_by_due", "due"),
)
_told = [column for column in _messages.columns if column.name != "due"]
_now = sa.bindparam("now", type_=_Moment)
# Made once: every look asks for them, and to make one takes longer than to execute it.
_due = sa.select(_messages).where(_messages.c.due <= _now).order_by(_messages.c.due, _messages.c.msg_no)
_first_due = _due.limit(1)


def utc_now() -> datetime:
    """The clock of a real sandbox."""
    return datetime.now(UTC)


class Store:
    """The messages in a state folder, which is made where it is missing. FiledropError: the folder can't be used."""

    def __init__(self, state: Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._documents = state / "documents"
        self._writer = threading.Lock()  # one writer at a time, and threads wait better for a lock than for a file
        self._engine = sa.create_engine(
            f"sqlite:///{state / 'sandbox.sqlite'}", connect_args={"timeout": 30, "isolation_level": None}
        )
        sa.event.listen(self._engine, "connect", _prepare)
        try:
            self._documents.mkdir(parents=True, exist_ok=True)
            with self._writing() as connection:
                _tables.create_all(connection)
        except (OSError, sa.exc.DBAPIError) as error:
            reason = error.orig if isinstance(error, sa.exc.DBAPIError) else error.strerror
            raise FiledropError(
                f"{state}: the sandbox can't keep its messages here: {reason}; give it a folder that it may write in"
            ) from error

    def close(self) -> None:
        """Lets go of the files; a store that is used again opens them again."""
        self._engine.dispose()

    def connect(self, homes: Mapping[str, str]) -> None:
        """From now on exactly these participants are in the network, each on its account."""
        with self._writing() as connection:
            connection.execute(_participants.delete())
            for participant, account in homes.items():
                connection.execute(_participants.insert().values(participant=participant, account=account))

    def connected(self, participant: str) -> bool:
        """Whether some account receives for this participant."""
        with self._engine.connect() as connection:
            return _home(connection, participant) is not None

    def document(self, uuid: str) -> Path:
        """The file with the document of that uuid, or where it belongs."""
        return self._documents / f"{uuid}.xml"

    def post(self, *, due: datetime, **header: str) -> Message:
        """A new OUT message, whose document lies in its place already; the network takes it when it is due.

        `header` is account, uuid, sender, receiver, channel, document_id and process_id.
        """
        with self._writing() as connection:
            return _add(connection, **header, direction=Direction.OUT, received=self._clock(), listed=True, due=due)

    def receive(
        self,
        *,
        sender: str,
        receiver: str,
        document_id: str,
        process_id: str,
        content: bytes | Path,
        channel: str = "",
        received: datetime | None = None,
    ) -> int:
        """A message has come in from the network, even one that isn't XML: its msg_no.

        FiledropError: no account receives for `receiver`.
        """
        uuid = str(uuid4())
        with self._writing() as connection:
            account = _home(connection, receiver)
            if account is None:
                raise FiledropError(
                    f"no account of this sandbox receives for {receiver}; "
                    "start it with an account that has this participant"
                )
            if isinstance(content, Path):
                shutil.copyfile(content, self.document(uuid))
            else:
                self.document(uuid).write_bytes(content)
            message = _add(
                connection, account=account, direction=Direction.IN, sender=sender, receiver=receiver, channel=channel,
                document_id=document_id, process_id=process_id, uuid=uuid,
                received=received or self._clock(), listed=True,
            )  # fmt: skip
            return message.msg_no

    def sent(self, account: str) -> list[Message]:
        """Every OUT message of the account, oldest first."""
        return self._found(account, Search(direction=Direction.OUT))

    def inbox(self, account: str) -> list[Message]:
        """The unread messages of the account, oldest first."""
        return self._found(account, Search(direction=Direction.IN, listed=True))

    def content(self, msg_no: int) -> bytes:
        """The document of a message, whole. KeyError: there is no such message."""
        with self._engine.connect() as connection:
            uuid = connection.scalar(sa.select(_messages.c.uuid).where(_messages.c.msg_no == msg_no))
        if uuid is None:
            raise KeyError(msg_no)
        return self.document(uuid).read_bytes()

    def page(self, account: str, search: Search, index: int) -> tuple[list[Message], bool]:
        """The messages of a page, the first being 1, and whether there are more after it."""
        found = self._found(account, search, limit=PAGE + 1, offset=PAGE * (index - 1))
        return found[:PAGE], len(found) > PAGE

    def count(self, account: str, search: Search) -> int:
        """How many messages are asked for."""
        self.deliver()
        counted = sa.select(sa.func.count()).select_from(_messages).where(*_wanted(account, search))
        with self._engine.connect() as connection:
            return connection.scalar(counted) or 0

    def message(self, account: str, msg_no: int) -> Message | None:
        """The account's message of that number; another account's is unknown."""
        self.deliver()
        mine = sa.and_(_messages.c.account == account, _messages.c.msg_no == msg_no)
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(*_told).where(mine)).one_or_none()
        return None if row is None else _message(row)

    def mark_read(self, message: Message) -> Message:
        """The IN message, read now unless it was read before."""
        unread = sa.and_(_messages.c.msg_no == message.msg_no, _messages.c.listed)
        with self._writing() as connection:
            connection.execute(_messages.update().where(unread).values(delivered=self._clock(), listed=False))
            return _message(connection.execute(sa.select(*_told).where(_messages.c.msg_no == message.msg_no)).one())

    def traffic(self, account: str, direction: Direction) -> Traffic:
        """The account's statistics one way; a message that failed stays undelivered."""
        self.deliver()
        received, delivered = _messages.c.received, _messages.c.delivered
        counts = sa.select(
            sa.func.count().label("total"),
            sa.func.count().filter(delivered.is_(None)).label("undelivered"),
            sa.func.max(received).label("last_received"),
            sa.func.max(delivered).label("last_delivered"),
            sa.func.min(received).filter(delivered.is_(None)).label("oldest_undelivered"),
        ).where(_messages.c.account == account, _messages.c.direction == direction)
        with self._engine.connect() as connection:
            return Traffic(**connection.execute(counts).one()._mapping)  # noqa: SLF001 - SQLAlchemy's public name

    def deliver(self) -> None:
        """Moves the network: what is due reaches the account of its receiver, or fails for good."""
        now = self._clock()
        with self._engine.connect() as connection:
            if connection.execute(_first_due, {"now": now}).first() is None:
                return
        with self._writing() as connection:
            for row in connection.execute(_due, {"now": now}).all():
                can_travel = all(form.fullmatch(getattr(row, name)) for name, form in network.FORMS.items())
                home = _home(connection, row.receiver) if can_travel else None
                connection.execute(
                    _messages.update()
                    .where(_messages.c.msg_no == row.msg_no)
                    .values(due=None, listed=False, delivered=now if home else None)
                )
                if home is not None:
                    changes = {"msg_no": None, "account": home, "direction": Direction.IN, "received": now, "due": None}
                    connection.execute(_messages.insert().values({**row._mapping, **changes}))  # noqa: SLF001 - SQLAlchemy's public name

    def _found(
        self, account: str, search: Search, limit: int | None = None, offset: int | None = None
    ) -> list[Message]:
        self.deliver()
        rows = sa.select(*_told).where(*_wanted(account, search)).order_by(_messages.c.msg_no)
        with self._engine.connect() as connection:
            return [_message(row) for row in connection.execute(rows.limit(limit).offset(offset))]

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with self._writer, self._engine.begin() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # a deferred one doesn't wait for another process
            yield connection


def _wanted(account: str, search: Search) -> list[sa.ColumnElement[bool]]:
    columns = _messages.c
    wanted: list[sa.ColumnElement[bool]] = [columns.account == account]
    if search.direction is not None:
        wanted.append(columns.direction == search.direction)
    if search.listed:
        wanted.append(columns.listed)
    if search.sender is not None:
        wanted.append(columns.sender == search.sender)
    if search.receiver is not None:
        wanted.append(columns.receiver == search.receiver)
    if search.since is not None:
        wanted.append(columns.received >= search.since)
    if search.before is not None:
        wanted.append(columns.received < search.before)
    return wanted


def _prepare(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")


def _home(connection: sa.Connection, participant: str) -> str | None:
    return connection.scalar(sa.select(_participants.c.account).where(_participants.c.participant == participant))


def _add(connection: sa.Connection, **row: object) -> Message:
    return _message(connection.execute(_messages.insert().values(row).returning(*_told)).one())


def _message(row: sa.Row[Any]) -> Message:
    return Message(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
