"""The statements of the journal are valid in PostgreSQL, as in SQLite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support import sql

from filedrop.journal.postgres_schema import POSTGRES_DEFINITIONS, SCHEMA, in_postgres

psycopg = pytest.importorskip("psycopg", reason="NOT TRIED ON POSTGRESQL: install the extra `dev`")

if TYPE_CHECKING:
    from support.postgres import Server


def _prepared(statement: str) -> str:
    """A statement as PREPARE takes it, with numbers for the names of its parameters."""
    numbers: dict[str, int] = {}
    text = in_postgres(statement).replace("%%", "%")
    return re.sub(r"%\((\w+)\)s", lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", text)


def test_all_statements(postgres: Server) -> None:
    """Each statement of the journal's modules is prepared by the server, in the tables that are made there."""
    with psycopg.connect(postgres.address(postgres.database()), autocommit=True) as connection:
        connection.execute(f"SET search_path = {SCHEMA}")
        for definition in POSTGRES_DEFINITIONS:
            connection.execute(definition)
        failed = {}
        for name, text in sql.statements().items():
            try:
                connection.execute(f"PREPARE one AS {_prepared(text)}")
                connection.execute("DEALLOCATE one")
            except psycopg.Error as error:
                failed[name] = str(error)
    assert failed == {}
