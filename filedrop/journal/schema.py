"""The journal's tables."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

SCHEMA_VERSION = 1
DIALECT = sqlite.dialect(paramstyle="qmark")


class _Name(sa.types.TypeDecorator[str]):
    """A file name as the operating system gave it: bytes, because not each is valid Unicode."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else os.fsencode(value)

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - likewise
        return None if value is None else os.fsdecode(value)


class Moment(sa.types.TypeDecorator[datetime]):
    """A moment with its offset, as seconds: they sort and compare whatever the offset was."""

    impl = sa.Float
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> float | None:  # noqa: ARG002, D102 - likewise
        return None if value is None else value.timestamp()

    def process_result_value(self, value: float | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002, D102 - likewise
        return None if value is None else datetime.fromtimestamp(value).astimezone()


class _Json(sa.types.TypeDecorator[Any]):
    """Lists and dictionaries as JSON text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:  # noqa: ARG002 - likewise
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - likewise
        return None if value is None else json.loads(value)


SCHEMA = sa.MetaData()
ABOUT = sa.Table("about", SCHEMA, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
FOLDERS = sa.Table(
    "folders", SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("path", _Name, nullable=False),
    sa.Column("settled", sa.Boolean, nullable=False),
)  # fmt: skip
# A table of its own: a filedrop that doesn't know of it leaves it alone, and one that does adds it to an older journal.
CHANGES = sa.Table(
    "changes", SCHEMA,
    sa.Column("folder", sa.Text, primary_key=True),
    sa.Column("counted", sa.Integer, nullable=False),
    sa.Column("marked", sa.Integer, nullable=False),
    sa.Column("least", sa.Integer, nullable=False),
)  # fmt: skip
DOCUMENTS = sa.Table(
    "documents", SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    # Unfinished, or finished and not yet put away.
    sa.Column("open", sa.Boolean, nullable=False),
    sa.Column("company", sa.Text, nullable=False),
    sa.Column("folder", sa.Text, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("place", sa.Text, nullable=False),
    sa.Column("file", _Name, nullable=False),
    sa.Column("dropped_as", _Name, nullable=False),
    sa.Column("claimed", Moment, nullable=False),
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
    sa.Column("due", Moment),
    sa.Column("first_attempt", Moment),
    sa.Column("msg_no", sa.Integer),
    sa.Column("uuid", sa.Text),
    sa.Column("received", sa.Text),
    sa.Column("delivered", sa.Text),
    sa.Column("accepted", Moment),
    sa.Column("asked", sa.Integer, nullable=False),
    sa.Column("error", _Json),
    sa.Column("history", _Json, nullable=False),
    sa.Index("documents_msg_no", "identity", "msg_no"),
    sa.Index("documents_meaning", "meaning"),
    sa.Index("documents_number", "number"),
    # What is open is few, however many rows there are.
    *(
        sa.Index(name, *columns, sqlite_where=sa.text("open IS 1"))
        for name, columns in (
            ("documents_content", ("sha256", "folder")),
            ("documents_state", ("folder", "state", "due")),
            ("documents_place", ("folder", "place", "file")),
            ("documents_on_their_way", ("identity", "state", "place", "due")),
        )
    ),
)  # fmt: skip
MESSAGES = sa.Table(
    "messages", SCHEMA,
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
    sa.Column("due", Moment),
    sa.Column("why", sa.Text, nullable=False),
    sa.Index("messages_state", "identity", "state"),
)  # fmt: skip
ACCOUNTS = sa.Table(
    "accounts", SCHEMA,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("inbox_day", sa.Text),
)  # fmt: skip
SURPLUS = sa.Table(
    "surplus", SCHEMA,
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("msg_no", sa.Integer, primary_key=True),
    sa.Column("received", sa.Text),
    sa.Column("document", sa.Text, nullable=False),
)  # fmt: skip
LET_THROUGH = sa.Table("let_through", SCHEMA, sa.Column("sha256", sa.Text, primary_key=True))

# Each change of a document is counted with it, whoever makes it: by that, the folder's marker knows a lost one.
_COUNT_CHANGE = """
CREATE TRIGGER IF NOT EXISTS count_{event} AFTER {event} ON documents BEGIN
    INSERT INTO changes VALUES (NEW.folder, 1, 0, 0) ON CONFLICT DO UPDATE SET counted = counted + 1;
END"""

DEFINITIONS = (
    *(str(CreateTable(table, if_not_exists=True).compile(dialect=DIALECT)) for table in SCHEMA.sorted_tables),
    *(
        str(CreateIndex(index, if_not_exists=True).compile(dialect=DIALECT))
        for table in SCHEMA.sorted_tables
        for index in sorted(table.indexes, key=lambda index: str(index.name))
    ),
    *(_COUNT_CHANGE.format(event=event) for event in ("insert", "update")),
)
"""The SQL that makes whatever of this isn't there yet."""
