"""Bringing a journal up to date that an older filedrop has written: a copy first, then all steps in one transaction."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from filedrop.errors import JournalError
from filedrop.files import Directory
from filedrop.journal.connection import FileConnection, connect
from filedrop.journal.schema import DEFINITIONS, IS_OF_PLATFORM, SCHEMA_VERSION
from filedrop.journal.tying import tie_all
from filedrop.model.document import Need
from filedrop.model.response import LEVEL_STATUS

if TYPE_CHECKING:
    from pathlib import Path

_SAY_SCHEMA = "UPDATE about SET value = :value WHERE key = 'schema'"

STEPS = {
    "1": (
        # Schema 1 had `placing` as `named`, but for what stood in a second table; the first journals lacked that.
        "CREATE TABLE IF NOT EXISTS only_named (identity, msg_no, received, sender, receiver)",
        """
        UPDATE messages SET state = 'placing' WHERE state = 'named' AND NOT EXISTS (
            SELECT 1 FROM only_named AS one WHERE one.identity = messages.identity AND one.msg_no = messages.msg_no
            AND one.received = messages.received AND one.sender = messages.sender AND one.receiver = messages.receiver
        )
        """,
        "DROP TABLE only_named",
        "DROP INDEX IF EXISTS messages_named",
        "DROP TABLE IF EXISTS let_through",
        "UPDATE documents SET error = NULL WHERE error = 'null'",
    ),
    "2": (),  # the schema's definitions add the index that it lacks
    "3": (
        "ALTER TABLE documents ADD COLUMN ended REAL",
        """
        UPDATE documents SET ended = CAST(strftime('%s', json_extract(history, '$[#-1][0]')) AS REAL)
        WHERE state IN ('delivered', 'failed', 'taken')
        """,
        "ALTER TABLE messages ADD COLUMN placed REAL",
        # By the access point's clock, which is near enough for the days before.
        """
        UPDATE messages SET placed = CAST(strftime('%s', received) AS REAL) WHERE state IN ('placing', 'read')
        """,
    ),
    "4": (
        "ALTER TABLE messages ADD COLUMN page INTEGER",
        # Pages were made before their messages were recorded as read. Where none was wanted, the sidecar names none.
        "UPDATE messages SET page = 0 WHERE state = 'placing'",
        "DROP TRIGGER IF EXISTS errand_of_message",  # the schema's definitions make it again
        "ALTER TABLE documents ADD COLUMN type_code TEXT",
        # Responses had the name of a root element in place of the code; journals before schema 4 have no such table.
        """
        CREATE TABLE IF NOT EXISTS responses (
            identity TEXT, msg_no INTEGER, company TEXT, sender TEXT, receiver TEXT, number TEXT, type TEXT, code TEXT,
            reason TEXT, at REAL, document TEXT
        )
        """,
        "ALTER TABLE responses RENAME TO responses_before",
        """
        CREATE TABLE responses (
            identity TEXT, msg_no INTEGER, received TEXT, nth INTEGER,
            company TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL, number TEXT NOT NULL,
            type_code TEXT NOT NULL, issue_date TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL,
            at REAL NOT NULL, document TEXT NOT NULL, owed_to TEXT NOT NULL,
            PRIMARY KEY (identity, msg_no, received, nth)
        )
        """,
        """
        INSERT INTO responses
        SELECT identity, msg_no, coalesce((
                SELECT received FROM messages AS message WHERE message.identity = before.identity
                AND message.msg_no = before.msg_no AND message.sender = before.sender
                AND message.receiver = before.receiver ORDER BY message.rowid DESC LIMIT 1
            ), ''),
            row_number() OVER (PARTITION BY identity, msg_no ORDER BY rowid) - 1,
            company, sender, receiver, coalesce(number, ''),
            CASE type WHEN 'Invoice' THEN '380' WHEN 'CreditNote' THEN '381' WHEN 'Order' THEN '220' ELSE '' END,
            '', code, reason, at, document, ''
        FROM responses_before AS before
        """,
        "DROP TABLE responses_before",
        "ALTER TABLE messages ADD COLUMN sidecar TEXT",
        # Journals older than the fourth have none.
        """
        CREATE TABLE IF NOT EXISTS errands (
            number INTEGER PRIMARY KEY, event TEXT NOT NULL, company TEXT NOT NULL, document TEXT NOT NULL,
            msg_no INTEGER, folder BLOB NOT NULL, file BLOB NOT NULL
        )
        """,
        "ALTER TABLE errands ADD COLUMN sidecar TEXT",
        "ALTER TABLE documents ADD COLUMN receiver_name TEXT",
        "ALTER TABLE messages ADD COLUMN sender_name TEXT",
        "ALTER TABLE messages ADD COLUMN type TEXT",
        "ALTER TABLE messages ADD COLUMN number TEXT",
        "ALTER TABLE messages ADD COLUMN issue_date TEXT",
        "ALTER TABLE messages ADD COLUMN meaning TEXT",
        "ALTER TABLE messages ADD COLUMN repeats INTEGER",
        "ALTER TABLE messages ADD COLUMN wanted BLOB NOT NULL DEFAULT x''",
        "ALTER TABLE messages ADD COLUMN sha256 TEXT",
        # What a document waited for was the last event of its history.
        "ALTER TABLE documents ADD COLUMN needs TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN needs_why TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN needs_since REAL",
        f"""
        UPDATE documents SET needs = json_extract(history, '$[#-1][1]'),
            needs_why = coalesce(json_extract(history, '$[#-1][2].why'), ''),
            needs_since = CAST(strftime('%s', json_extract(history, '$[#-1][0]')) AS REAL)
        WHERE open AND state = 'waiting'
        AND json_extract(history, '$[#-1][1]') IN ('{Need.IDS}', '{Need.VERDICT}', '{Need.FILE}')
        """,
    ),
    "5": (
        "ALTER TABLE messages ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
        "DROP TABLE IF EXISTS accounts",  # how far the archive was read: each start reads it anew
        "ALTER TABLE responses ADD COLUMN words TEXT NOT NULL DEFAULT 'response'",
        # Their kind went by the sender.
        f"UPDATE responses SET words = 'process_condition' WHERE {IS_OF_PLATFORM}",
        f"UPDATE responses SET words = '{LEVEL_STATUS}' WHERE sender LIKE '0242:%' AND NOT {IS_OF_PLATFORM}",
    ),
    "6": (
        "ALTER TABLE documents ADD COLUMN pdf TEXT",
        "ALTER TABLE documents ADD COLUMN prepared TEXT",
        "ALTER TABLE documents ADD COLUMN posted_meaning TEXT",
    ),
}
"""The statements that lead from each older schema to the next."""


def migrate(connection: FileConnection, path: Path, schema: str) -> Path:
    """Bring the journal at `path` up to date from an older schema, within a transaction of the connection.

    What it was is kept beside it: `journal-1.sqlite`, which is returned. Raises JournalError, and after a rollback it
    is as it was.
    """
    copy = path.with_name(f"{path.stem}-{schema}{path.suffix}")
    try:
        _copy(path, copy)
        for older in range(int(schema), SCHEMA_VERSION):
            for statement in STEPS[str(older)]:
                connection.execute(statement)
        connection.execute(_SAY_SCHEMA, {"value": str(SCHEMA_VERSION)})
        for definition in DEFINITIONS:
            connection.execute(definition)
        tie_all(connection)  # older versions have tied less
    except (sqlite3.Error, OSError) as error:
        raise JournalError(
            f"{path} could not be brought up to date from schema {schema}: {error}. It is as it was, and nothing is "
            "posted: see that its disk has room for a copy and that its folder belongs to the service, and start "
            "filedrop again; or install the version that has written it"
        ) from error
    return copy


def _copy(path: Path, target: Path) -> None:
    draft = target.with_name(f"{target.name}.tmp")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(connect(path)) as source, closing(connect(draft)) as copy:
        source.backup(copy)
    draft.replace(target)
    Directory.open(target.parent).sync()
