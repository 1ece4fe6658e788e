"""The journal's tables in PostgreSQL, made from SQLite's definitions; the triggers are functions of its own.

SQLite's functions and its `rowid` are made there too, so that the statements are the same for both. Text is compared by
its bytes (`COLLATE "C"`), as in SQLite: places, ids and file names rely on that.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from filedrop.journal.schema import BOOLEANS, DEFINITIONS, MESSAGE_COLUMNS, WITH_ROWID
from filedrop.model.document import State

SCHEMA = "filedrop"  # of the database, not a version
FENCED = "FD001"  # the SQLSTATE of a write by a process that was replaced

_GLOB = (r"\bGLOB '\[0-9\]\[0-9\]\[0-9\]'", "~ '^[0-9]{3}$'")
_FORMS = (
    (r"--.*", ""),
    _GLOB,
    (rf"\b({'|'.join(BOOLEANS)}) INTEGER\b", r"\1 BOOLEAN"),
    (r"\bINTEGER PRIMARY KEY\b", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bx''", "''"),
    (rf"(CREATE TABLE (?:{'|'.join(WITH_ROWID)}) \()", r"\1rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, "),
)


def _defined(definition: str) -> str:
    for pattern, form in _FORMS:
        definition = re.sub(pattern, form, definition)
    return definition


_VALUE = re.compile(r"(?<![:\w]):(\w+)")


@cache
def in_postgres(statement: str) -> str:
    """A statement of the journal as psycopg takes it: with its parameters as `%(name)s`."""
    for pattern, form in (_GLOB, ("%", "%%"), (_VALUE, r"%(\1)s")):
        statement = re.sub(pattern, form, statement)
    return statement


_KEYS: dict[str, tuple[str, ...]] = {"documents": ("id",), "messages": MESSAGE_COLUMNS[:5]}
_TABLE = re.compile(r"\b(?:INSERT INTO|UPDATE) (\w+)")


class Batch(NamedTuple):
    """A statement that writes many rows: those in the JSON list `rows`, as far as it returns their `key`.

    `values`: what of a row it takes.
    """

    statement: str
    key: tuple[str, ...]
    values: frozenset[str]


@cache
def in_batch(statement: str) -> Batch:
    """A statement that writes one row, with the columns of its key, as one that writes many."""
    ((table,),) = [found.groups() for found in _TABLE.finditer(statement)]
    key = _KEYS[table]
    values = frozenset(_VALUE.findall(statement)) - {"before"} | {"revision", *key}
    # In one column, so that no name of the table means another. Of a list without a limit, PostgreSQL expects a hundred
    # rows, for which it would read all of a young table, and keep to that plan while the table grows.
    rows = f"FROM (SELECT new FROM json_populate_recordset(NULL::{table}, %(rows)s) AS new LIMIT %(number)s) AS listed"
    for pattern, form in (
        (r"VALUES \((.*?)\)", rf"SELECT \1 {rows}"),
        (r"\bWHERE\b", f"{rows} WHERE"),
        (r":before\b", "((new).revision - 1)"),
        (_VALUE, r"(new).\1"),
    ):
        statement = re.sub(pattern, form, statement)
    return Batch(f"{statement} RETURNING {', '.join(key)}", key, values)


_FUNCTIONS = (
    """
    CREATE FUNCTION json_each(list TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT value FROM json_array_elements_text(list::json) AS listed(value) $$
    """,
    # Of a path, what is used here: '$.name' and '$[0]'.
    """
    CREATE FUNCTION json_extract(content TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT content::json #>> string_to_array(ltrim(translate(path, '[]$', '.'), '.'), '.') $$
    """,
    """
    CREATE FUNCTION instr(content TEXT, part TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT strpos(content, part) $$
    """,
    """
    CREATE FUNCTION max(one BIGINT, other BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT greatest(one, other) $$
    """,
    "CREATE DOMAIN blob AS BYTEA",
)

_ADD = """
    INSERT INTO totals (company, event, code, number, accepted) {} ON CONFLICT (company, event, code) DO UPDATE
    SET number = totals.number + excluded.number, accepted = excluded.accepted;
"""
_CODE = "coalesce(json_extract(written.error, '$.code'), '')"
_ADD_DOCUMENTS = _ADD.format(
    f"SELECT written.company, written.state, {_CODE}, count(*), max(written.accepted) FROM {{}} GROUP BY 1, 2, 3"
)
_IN_ANOTHER_STATE = """
    written JOIN before USING (id)
    WHERE written.state <> before.state AND before.state <> 'taken'
        AND written.state IN ('sent', 'delivered', 'failed', 'unreachable')
"""
_COUNT = """
    INSERT INTO changes (folder, counted) SELECT folder, count(*) FROM written GROUP BY folder
    ON CONFLICT (folder) DO UPDATE SET counted = changes.counted + excluded.counted;
"""
# What each is for is said at SQLite's triggers, which have the same conditions. Those of documents are called once for
# a statement: for each of its rows, they would write the same row again.
_TRIGGERS = (
    f"""
    CREATE FUNCTION after_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {_COUNT}
        {_ADD_DOCUMENTS.format("written WHERE open AND state IN ('failed', 'unreachable')")}
        RETURN NULL;
    END $$
    """,
    f"""
    CREATE FUNCTION after_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {_COUNT}
        {_ADD_DOCUMENTS.format(_IN_ANOTHER_STATE)}
        INSERT INTO errands (event, company, document, folder, file)
        SELECT event, written.company, written.id, '', ''
        FROM wanted JOIN written ON written.state = event JOIN before USING (id)
        WHERE before.open AND NOT written.open
        AND event IN ('{State.DELIVERED}', '{State.FAILED}', '{State.UNREACHABLE}');
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER after_insert AFTER INSERT ON documents REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION after_insert()
    """,
    """
    CREATE TRIGGER after_update AFTER UPDATE ON documents REFERENCING OLD TABLE AS before NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION after_update()
    """,
    f"""
    CREATE FUNCTION after_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.state IN ('named', 'placing') THEN {_ADD.format("VALUES (NEW.company, 'received', '', 1, NULL)")} END IF;
        IF NEW.page IS NULL AND (OLD.state <> 'read' OR OLD.page IS NOT NULL) THEN
            INSERT INTO errands (event, company, document, msg_no, folder, file, sidecar)
            SELECT event, NEW.company, '', NEW.msg_no, NEW.folder, NEW.file, NEW.sidecar
            FROM wanted WHERE event = 'received' AND NEW.company <> '';
            UPDATE messages SET sidecar = NULL WHERE rowid = NEW.rowid;
        END IF;
        RETURN NULL;
    END $$
    """,
    # The UPDATE in it changes no state and no page.
    """
    CREATE TRIGGER after_message AFTER UPDATE OF state, page ON messages
    FOR EACH ROW WHEN (NEW.state = 'read') EXECUTE FUNCTION after_message()
    """,
)

# postgres_hosts says what they are for. `processes` is apart from `hosts`: a sign of life must not wait for a writer.
_NAME, _MOMENT = 'TEXT COLLATE "C" NOT NULL', "DOUBLE PRECISION NOT NULL"
_HOSTS = (
    f"""
    CREATE TABLE hosts (
        name {_NAME} PRIMARY KEY, incarnation {_NAME}, beat BIGINT NOT NULL, takeover {_MOMENT},
        state {_NAME}, boot {_NAME}, version {_NAME}, settings TEXT NOT NULL, is_draining BOOLEAN NOT NULL,
        at {_MOMENT}, takes TEXT NOT NULL
    ) WITH (fillfactor = 50)
    """,
    f"CREATE TABLE processes (incarnation {_NAME} PRIMARY KEY) WITH (fillfactor = 50)",
    f"CREATE TABLE known_hosts (name {_NAME} PRIMARY KEY, at {_MOMENT}, is_stopped BOOLEAN NOT NULL)",
    f"""
    CREATE TABLE leases (
        name {_NAME} PRIMARY KEY, incarnation {_NAME}, host {_NAME}, since {_MOMENT}, before {_NAME}, drained {_NAME}
    ) WITH (fillfactor = 50)
    """,
    f"CREATE TABLE reports (host {_NAME} PRIMARY KEY, incarnation {_NAME}, content TEXT NOT NULL)",
    "CREATE TABLE writers (only_one BOOLEAN PRIMARY KEY CHECK (only_one))",
    "INSERT INTO writers (only_one) VALUES (TRUE)",
    # It raises, so that what is sent behind it in a pipeline isn't done.
    f"""
    CREATE FUNCTION fence(mine TEXT) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM 1 FROM processes WHERE incarnation = mine FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the process % was replaced', mine USING ERRCODE = '{FENCED}';
        END IF;
    END $$
    """,
)

POSTGRES_DEFINITIONS = (
    f"CREATE SCHEMA {SCHEMA}",
    *_FUNCTIONS,
    *(_defined(definition) for definition in DEFINITIONS if "CREATE TRIGGER" not in definition),
    *_TRIGGERS,
    *_HOSTS,
)
"""The statements that make the schema with its tables, indexes, functions and triggers; `SCHEMA` is the search path."""
