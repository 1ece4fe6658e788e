"""The journal's tables, and how its columns hold what SQLite has no type for.

A file name is the bytes that the operating system gave, because not each is valid Unicode. A moment is its seconds, so
that moments sort and compare whatever their offset was. Lists and dictionaries are JSON.
"""

from __future__ import annotations

import os
from datetime import datetime

SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);

CREATE TABLE folders (id TEXT PRIMARY KEY, path BLOB NOT NULL, settled INTEGER NOT NULL);

-- A table of its own: who doesn't know of it leaves it alone, and who does adds it to an older journal.
CREATE TABLE changes (
    folder TEXT PRIMARY KEY, counted INTEGER NOT NULL, marked INTEGER NOT NULL, least INTEGER NOT NULL
);

CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    open INTEGER NOT NULL, -- unfinished, or finished and not yet put away
    company TEXT NOT NULL, folder TEXT NOT NULL, account TEXT NOT NULL, identity TEXT NOT NULL,
    state TEXT NOT NULL, place TEXT NOT NULL, file BLOB NOT NULL, dropped_as BLOB NOT NULL, claimed REAL NOT NULL,
    size INTEGER NOT NULL, sha256 TEXT NOT NULL, meaning TEXT NOT NULL,
    sender TEXT, receiver TEXT, document_id TEXT, process_id TEXT, channel TEXT NOT NULL, sources TEXT NOT NULL,
    type TEXT, number TEXT, issue_date TEXT, warnings TEXT NOT NULL,
    attempts INTEGER NOT NULL, unclear INTEGER NOT NULL, unexplained INTEGER NOT NULL, due REAL, first_attempt REAL,
    msg_no INTEGER, uuid TEXT, received TEXT, delivered TEXT, accepted REAL, asked INTEGER NOT NULL,
    error TEXT, history TEXT NOT NULL
);
CREATE INDEX documents_msg_no ON documents (identity, msg_no);
CREATE INDEX documents_meaning ON documents (meaning);
CREATE INDEX documents_number ON documents (number);
-- What is open is few, however many rows there are.
CREATE INDEX documents_content ON documents (sha256, folder) WHERE open;
CREATE INDEX documents_step ON documents (folder, state, place, due) WHERE open;
CREATE INDEX documents_place ON documents (folder, place, file) WHERE open;
CREATE INDEX documents_on_their_way ON documents (state, identity, place, due) WHERE open;

CREATE TABLE messages (
    identity TEXT,
    msg_no INTEGER,
    -- The number alone would not do: a server set up anew counts from the start again (contract 6, read means safe).
    received TEXT, sender TEXT, receiver TEXT,
    state TEXT NOT NULL, company TEXT NOT NULL, folder BLOB NOT NULL, temporary BLOB NOT NULL, file BLOB NOT NULL,
    attempts INTEGER NOT NULL, due REAL, why TEXT NOT NULL,
    PRIMARY KEY (identity, msg_no, received, sender, receiver)
);
CREATE INDEX messages_state ON messages (identity, state);
CREATE INDEX messages_named ON messages (folder) WHERE state = 'named';

CREATE TABLE accounts (identity TEXT PRIMARY KEY, inbox_day TEXT);

CREATE TABLE surplus (
    identity TEXT, msg_no INTEGER, received TEXT, document TEXT NOT NULL, PRIMARY KEY (identity, msg_no)
);

CREATE TABLE let_through (sha256 TEXT PRIMARY KEY)
"""
# Each change of a document is counted with it, whoever makes it: by that, the folder's marker knows a lost one.
_COUNT_CHANGE = """
CREATE TRIGGER count_{event} AFTER {event} ON documents BEGIN
    INSERT INTO changes VALUES (NEW.folder, 1, 0, 0) ON CONFLICT (folder) DO UPDATE SET counted = counted + 1;
END"""

DEFINITIONS = tuple(
    statement.replace(f"CREATE {kind} ", f"CREATE {kind} IF NOT EXISTS ", 1)
    for statement in (*_TABLES.split(";\n"), *(_COUNT_CHANGE.format(event=event) for event in ("insert", "update")))
    for kind in ("TABLE", "INDEX", "TRIGGER")
    if f"CREATE {kind} " in statement
)
"""The statements that make whatever of this isn't there yet."""


def as_name(name: str) -> bytes:
    """A file name as a column holds it."""
    return os.fsencode(name)


def from_name(held: bytes) -> str:
    """A file name as it was."""
    return os.fsdecode(held)


def as_moment(moment: datetime | None) -> float | None:
    """A moment as a column holds it."""
    return None if moment is None else moment.timestamp()


def from_moment(held: float | None) -> datetime | None:
    """The moment, with the offset that holds here."""
    return None if held is None else datetime.fromtimestamp(held).astimezone()
