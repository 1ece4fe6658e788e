"""SQL that several parts of the journal share: fragments, and whole statements. Each other one is with its caller.

All SQL is valid in SQLite and in PostgreSQL, whose schema has SQLite's `json_each`, `json_extract`, `instr`, `max` of
two and `rowid`. Hence the aliases and casts, and that a value is compared with NULL after what says its type.
"""

from __future__ import annotations

from dataclasses import fields

from filedrop.journal.schema import participant
from filedrop.model.document import Document

COLUMNS = tuple(field.name for field in fields(Document))
ALL = f"SELECT {', '.join(COLUMNS)} FROM documents WHERE"
BELIEVED = "(company = :company OR NOT EXISTS (SELECT 1 FROM restored WHERE document = documents.id))"
NEEDY = "open AND needs <> '' AND folder"
# Each once, by steps in an index: it has a row for each document.
EACH = """
    WITH RECURSIVE known(one) AS (
        SELECT min({column}) FROM documents WHERE {rows} UNION ALL
        SELECT (SELECT min({column}) FROM documents WHERE {rows} AND {column} > one) FROM known WHERE one IS NOT NULL
    ) SELECT one FROM known WHERE one IS NOT NULL
"""
# By what a person knows of a document: "" for what they don't. A party is an id, or a piece of a name.
KNOWN = f"""(:number IN ('', number) AND (:party = ''
    OR :party IN ({participant("sender")}, {participant("receiver")})
    OR instr(lower(coalesce({{name}}, '')), :name) > 0) AND coalesce({{time}}, :now) BETWEEN :since AND :until)"""
BY_IDS = f"{ALL} id IN (SELECT value FROM json_each(:ids))"
NUMBERS = "SELECT CAST(value AS BIGINT) FROM json_each(:numbers)"
# SQLite before 3.39 has no IS NOT DISTINCT FROM, and PostgreSQL no IS of two values.
SAME = "({0} = :{0} OR ({0} IS NULL AND :{0} IS NULL))".format
MESSAGE_COLUMNS = (
    "identity", "msg_no", "received", "sender", "receiver",
    "revision", "state", "company", "folder", "temporary", "file", "attempts", "due", "why", "placed", "page",
    "sidecar", "sender_name", "type", "number", "issue_date", "meaning", "repeats", "wanted", "sha256",
)  # fmt: skip
HAS_DRAFT = "folder = :folder AND state IN ('named', 'placing')"  # as its index has it
# What waits in a folder is to be put in doubt.
SUSPECT = """
    INSERT INTO changes (folder, counted, suspect) SELECT id, 0, TRUE FROM folders WHERE {}
    ON CONFLICT (folder) DO UPDATE SET suspect = TRUE
"""
SUSPECT_ALL = SUSPECT.format("TRUE")
KEEP = "INSERT INTO about (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
SAY_ABOUT = "INSERT INTO about (key, value) VALUES (:key, :value) ON CONFLICT DO NOTHING"
ABOUT = "SELECT key, value FROM about"
