"""An SQL statement that SQLAlchemy makes and compiles once, and SQLite runs as often as is wanted.

To make or to compile a statement takes longer than SQLite takes to do what it says, and a document wants a dozen.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from filedrop.journal.schema import DIALECT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy.sql.compiler import SQLCompiler

    _Processor = Callable[[Any], Any]


class Statement:
    """A statement that is compiled when it is first used. Its parameters have names; values are as in the columns.

    `columns`: those that an INSERT or UPDATE without values of its own is given; all, where none are named.
    """

    def __init__(self, statement: sa.ClauseElement, columns: Iterable[str] = ()) -> None:
        self._statement = statement
        self._given = list(columns) or None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Those of the columns that it finds."""
        return tuple(self._found.keys())

    def run(self, connection: sqlite3.Connection, values: Mapping[str, Any]) -> sqlite3.Cursor:
        """Run it, for what it changes."""
        return connection.execute(self._compiled.string, self._in_order(values))

    def run_many(self, connection: sqlite3.Connection, values: Iterable[Mapping[str, Any]]) -> sqlite3.Cursor:
        """Run it with each of these."""
        return connection.executemany(self._compiled.string, map(self._in_order, values))

    def rows(self, connection: sqlite3.Connection, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Run it, for what it finds."""
        found: list[Sequence[Any]] = connection.execute(self._compiled.string, self._in_order(values)).fetchall()
        return [self._as_python(row) for row in found] if self._to_python else found

    @cached_property
    def _compiled(self) -> SQLCompiler:
        return cast("SQLCompiler", self._statement.compile(dialect=DIALECT, column_keys=self._given))

    @cached_property
    def _found(self) -> sa.ColumnCollection[str, sa.ColumnElement[Any]]:
        return self._statement.selected_columns if isinstance(self._statement, sa.SelectBase) else sa.ColumnCollection()

    @cached_property
    def _parameters(self) -> list[tuple[str | None, Any, _Processor | None]]:
        binds = [(name, self._compiled.binds[name]) for name in self._compiled.positiontup or ()]
        return [
            (name if bind.required else None, bind.value, bind.type.dialect_impl(DIALECT).bind_processor(DIALECT))
            for name, bind in binds
        ]

    @cached_property
    def _to_python(self) -> list[tuple[int, _Processor]]:
        kinds = (column.type.dialect_impl(DIALECT) for column in self._found)
        processors = (kind.result_processor(DIALECT, None) for kind in kinds)
        return [(at, to_python) for at, to_python in enumerate(processors) if to_python]

    def _in_order(self, values: Mapping[str, Any]) -> list[Any]:
        given = ((fixed if name is None else values[name], to_sql) for name, fixed, to_sql in self._parameters)
        return [to_sql(value) if to_sql else value for value, to_sql in given]

    def _as_python(self, row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for at, to_python in self._to_python:
            values[at] = to_python(values[at])
        return values


def listed(name: str) -> sa.Select[Any]:
    """The values of a list, however long, that a statement is given under this name."""
    return sa.select(sa.func.json_each(sa.bindparam(name, type_=sa.JSON)).table_valued("value").c.value)
