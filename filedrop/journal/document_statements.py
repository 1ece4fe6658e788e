"""The statements about documents; what each is for, `documents` says."""

from __future__ import annotations

from dataclasses import fields

from filedrop.document import Document, State

COLUMNS = tuple(field.name for field in fields(Document))
# What is said of the file stays: it needn't be written again, nor what it is found by.
_FIXED = {
    "id",
    "company",
    "folder",
    "account",
    "dropped_as",
    "size",
    "sha256",
    "meaning",
    "type",
    "number",
    "issue_date",
}
_ALL = f"SELECT {', '.join(COLUMNS)} FROM documents WHERE"
_THE_SAME = "id = :id AND revision = :before"
_IS_DUE = "(due IS NULL OR due <= :now OR due > :latest)"  # as `moments.is_due`
_ON_ITS_WAY = f"open AND identity = :identity AND state = '{State.SENT}' AND place = 'sent'"
_STEP = f"{_ALL} open AND folder = :folder AND"
# Each by the index: of one condition with OR, SQLite makes a walk through all that is open.
_ASTRAY = (
    f"{_STEP} state IN ('{State.SENDING}', '{State.DELIVERED}', '{State.FAILED}')"
    f" UNION ALL {_STEP} state = '{State.SENT}' AND place = 'sending'"
)
_WAITING = f"open AND folder = :folder AND state = '{State.WAITING}' AND place = 'sending'"
_IN_ORDER = "ORDER BY id LIMIT :most"

INSERT = f"INSERT INTO documents (open, {', '.join(COLUMNS)}) VALUES (:open, :{', :'.join(COLUMNS)})"
UPDATE = (
    f"UPDATE documents SET open = :open, {', '.join(f'{name} = :{name}' for name in COLUMNS if name not in _FIXED)}"
    f" WHERE {_THE_SAME}"
)
MOVE = f"UPDATE documents SET open = :open, place = :place, file = :file, revision = :revision WHERE {_THE_SAME}"
# A document that has one already leaves the next to another of its content.
WAIVE = "UPDATE OR IGNORE let_through SET sha256 = :id WHERE sha256 IN (:sha256, :id)"
INSERT_WAIVER = "INSERT OR IGNORE INTO let_through VALUES (:sha256)"
STEPS_ASTRAY = f"{_ASTRAY} {_IN_ORDER}"
STEPS_DUE = f"{_ASTRAY} UNION ALL {_ALL} {_WAITING} AND {_IS_DUE} {_IN_ORDER}"
LYING_IN = f"{_ALL} open AND folder = :folder AND place = :place"
FILES_IN = "SELECT file, id FROM documents WHERE open AND folder = :folder AND place = :place"
KEPT_IN_SENDING = (
    "SELECT id, state FROM documents WHERE open AND folder = :folder AND place = 'sending' AND claimed <= :claimed"
    f" AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}')"
)
NAMED = "SELECT 1 FROM documents WHERE open AND folder = :folder AND place = :place AND file = :file LIMIT 1"
IN_STATE = f"{_ALL} open AND state = :state AND (:identity IS NULL OR identity = :identity) ORDER BY id"
OVERDUE = f"{_ALL} open AND state = '{State.SENT}' AND accepted < :accepted_before ORDER BY id"
OPEN_LIKE = f"{_ALL} open AND sha256 = :sha256 AND folder = :folder"
BY_ID = f"{_ALL} id = :id"
BY_IDS = f"{_ALL} id IN (SELECT value FROM json_each(:ids))"
NEXT_DUE = f"SELECT min(due) FROM documents WHERE {_WAITING}"
TRACKED = f"{_ALL} {_ON_ITS_WAY} AND {_IS_DUE} {_IN_ORDER}"
TRACKING_DUE = f"SELECT coalesce(due, 0.0) FROM documents WHERE {_ON_ITS_WAY} ORDER BY due LIMIT 1"
COUNTS = "SELECT state, count(*) FROM documents WHERE open AND folder = :folder GROUP BY state"
OWNED = " UNION ALL ".join(
    f"SELECT msg_no, received FROM {table}"
    " WHERE identity = :identity AND msg_no IN (SELECT value FROM json_each(:numbers))"
    for table in ("documents", "surplus")
)
SURPLUS_OF = """
    SELECT surplus.msg_no, documents.dropped_as FROM surplus JOIN documents ON documents.id = surplus.document
    WHERE surplus.identity = :identity ORDER BY surplus.msg_no
"""
INSERT_SURPLUS = "INSERT OR IGNORE INTO surplus VALUES (:identity, :msg_no, :received, :document)"
SAME_MEANING = f"{_ALL} meaning = :meaning AND id <> :id"
SAME_NUMBER = f"{_ALL} number = :number AND id <> :id"
