"""Moving the journal: all rows of one are copied into another, in the order in which they were inserted.

It is one transaction of the target. Before that is committed, the source is marked as moved, in a transaction of its
own: killed in between, neither can be used until the move is made again. The target counts one change more of each
folder, so that the source, and each copy of it, is older than the folders' markers as soon as the target is used.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.errors import FiledropError, JournalError
from filedrop.journal.engine import LINEAGE, MOVED, refuse_moved
from filedrop.journal.schema import ABOUT, BOOLEANS, DEFINITIONS, KEEP, WITH_ROWID
from filedrop.journal.sqlite import TABLES, connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from filedrop.journal.engine import Connection, Engine

_COUNT_ALL_ON = """
    INSERT INTO changes (folder, counted) SELECT id, 1 FROM folders WHERE TRUE
    ON CONFLICT (folder) DO UPDATE SET counted = changes.counted + 1
"""

_BATCH = 500  # rows
_MOVES = "moves"  # a key of `about`: how often the journal was moved before it came here
_OF_EACH = ("about", "wanted")  # tables that an unused journal has rows in


class _Stopped(Exception):
    """A FiledropError within a transaction that must be rolled back."""

    def __init__(self, error: FiledropError) -> None:
        super().__init__(error)
        self.error = error


def move(source: Engine, target: Engine, *, is_dry: bool = False) -> dict[str, int]:
    """Move the journal, and return how many rows each table has; none where it was moved there before.

    `is_dry`: only look whether it can be moved. Raises JournalError where it can't.
    """
    if source.place == target.place:
        raise JournalError(f"the journal is in {source.place} already")

    def fill(to: Connection) -> dict[str, int]:
        try:
            _check_unused(target, to)
            return source.write(lambda connection: _move(source, connection, target, to, is_dry=is_dry))
        except FiledropError as error:
            raise _Stopped(error) from error

    try:
        return target.write(fill)
    except _Stopped as stopped:
        raise stopped.error from None


def _check_unused(engine: Engine, connection: Connection) -> None:
    if hosts := ", ".join(engine.keep_hosts_out(connection)):
        raise JournalError(
            f"{engine.place} is in use by: {hosts}. Stop filedrop there first; where it was killed, start and stop it"
        )


def _move(source: Engine, connection: Connection, target: Engine, to: Connection, *, is_dry: bool) -> dict[str, int]:
    _check_unused(source, connection)
    here, there = (dict(each.execute(ABOUT).fetchall()) for each in (connection, to))
    if here.get(MOVED) != target.place:
        refuse_moved(source.place, here)
    rows = {table: _count(connection, table) for table in _tables()}
    if here["id"] == there["id"] and MOVED in here and MOVED not in there:
        return {}
    # What has come from there can go back there: those rows were all moved here.
    was_there = here["id"] == there["id"] and MOVED in there and _moves(there) < _moves(here)
    if not was_there and any(_count(to, table) for table in _tables() if table not in _OF_EACH):
        raise JournalError(f"there is another journal in {target.place}, and it isn't empty: name an empty database")
    if not is_dry:
        with target.without_triggers(to):
            # The documents first: where a trigger has counted them, its counts are replaced.
            for table in sorted(_tables(), key=lambda name: name != "documents"):
                _copy(table, source, connection, target, to)
        for key in (MOVED, LINEAGE):
            to.execute("DELETE FROM about WHERE key = :key", {"key": key})
        to.execute(KEEP, {"key": _MOVES, "value": str(_moves(here) + 1)})
        to.execute(_COUNT_ALL_ON)
        connection.execute(KEEP, {"key": MOVED, "value": target.place})
    return rows


def _copy(table: str, source: Engine, connection: Connection, target: Engine, to: Connection) -> None:
    """Replace the rows of a table, and compare them. Raises JournalError where they differ."""
    columns = _tables()[table]
    names = ", ".join(columns)
    # The primary key is among the first three.
    order = "rowid" if table in WITH_ROWID else "number" if table == "errands" else ", ".join(columns[:3])
    select = f"SELECT {names} FROM {table} ORDER BY {order}"
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in columns)})"

    def values(row: Sequence[Any]) -> dict[str, Any]:
        named = zip(columns, row, strict=True)
        return {name: bool(value) if name in BOOLEANS else target.as_kept(value) for name, value in named}

    to.execute(f"DELETE FROM {table}")
    rows = source.each_row(connection, select)
    while batch := list(islice(rows, _BATCH)):
        to.executemany(insert, map(values, batch))
    pairs: Iterator[tuple[Any, Any]] = zip_longest(source.each_row(connection, select), target.each_row(to, select))
    for row, copied in pairs:
        if row is None or copied is None or values(row) != values(copied):
            raise JournalError(f"a row of {table} differs in {target.place} after it was copied: nothing was moved")


def _count(connection: Connection, table: str) -> int:
    ((number,),) = connection.execute(f"SELECT count(*) FROM {table}")
    return int(number)


def _moves(about: Mapping[str, str]) -> int:
    return int(about.get(_MOVES, "0"))


@cache
def _tables() -> dict[str, tuple[str, ...]]:
    """The columns of each table that are the same for both engines."""
    with closing(connect(Path(":memory:"))) as empty:
        for definition in DEFINITIONS:
            empty.execute(definition)
        tables = {
            name: tuple(column for column, *_ in empty.execute(f"SELECT * FROM {name}").description)
            for (name,) in empty.execute(TABLES).fetchall()
        }
    return tables | {"errands": tuple(column for column in tables["errands"] if column != "number")}
