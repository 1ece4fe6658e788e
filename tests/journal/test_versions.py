"""A journal of another version of filedrop is refused and left alone, and a sentence says how to go on."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support import sql
from support.documents import invoice

from filedrop.errors import JournalError
from filedrop.journal import JOURNAL, Journal
from filedrop.journal.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from support.world import World


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def say_schema(path: Path, schema: int) -> list[str]:
    """Write into a journal that it has this schema. Returns its content."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE about SET value = ? WHERE key = 'schema'", (str(schema),))
    return content(path)


def test_journal_of_a_newer_filedrop(world: World) -> None:
    """A newer journal is refused by the service and by each command, and left alone."""
    world.run_once()
    before = say_schema(world.state / JOURNAL, SCHEMA_VERSION + 1)
    for command in (["run", "--once"], ["retry", "--all", "--anyway"]):
        done = world.filedrop(*command)
        assert done.returncode == 2, "systemd doesn't start it again and again"
        assert f"another version of filedrop (schema {SCHEMA_VERSION + 1}" in " ".join(done.stderr.split())
    assert content(world.state / JOURNAL) == before


@pytest.mark.parametrize("schema", range(1, SCHEMA_VERSION))
def test_journal_from_before_the_first_release(path: Path, schema: int) -> None:
    """Each older journal is refused, by the service, too, and left alone."""
    Journal.at(path).close()
    before = say_schema(path, schema)
    for is_daemons in (False, True):
        with pytest.raises(JournalError, match="before the first release"):
            Journal.at(path, is_daemons=is_daemons)
    assert content(path) == before


def test_sentence_about_an_older_journal(world: World) -> None:
    """Whoever does what the sentence says goes on: nothing is lost, nothing is sent or delivered twice."""
    world.drop("1.xml", invoice("1"))
    world.receive(invoice("8"))
    world.settle()
    say_schema(world.state / JOURNAL, SCHEMA_VERSION - 1)
    world.drop("2.xml", invoice("2"))
    world.receive(invoice("9"))
    refused = world.filedrop("run", "--once").stderr
    assert "move the file away, with its -wal and -shm, run `filedrop check --take-over`" in " ".join(refused.split())
    for file in world.state.glob(f"{JOURNAL}*"):
        file.rename(world.base / file.name)
    assert world.filedrop("check", "--take-over").returncode == 0
    world.settle()
    (world.outbound / "again.xml").write_bytes(invoice("1"))  # as a sidecar says, it was sent
    world.run_once()
    assert (world.outbound / "failed" / "again.xml").exists()
    assert world.accepted() == {"1.xml": 1, "2.xml": 1}
    assert len(world.delivered()) == 2


def test_columns_of_inserts() -> None:
    """Each INSERT names its columns: a column that comes later changes none of them."""
    sources = "\n".join(source.read_text("utf-8") for source in sql.JOURNAL.glob("*.py"))
    assert re.findall(r"INSERT INTO (?:\w+|{table}) (?!\s*\(|{}).*", sources) == []
