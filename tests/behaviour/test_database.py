"""A filedrop whose journal is in PostgreSQL keeps the same promises as one that has it in a file."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice

from filedrop.cli.serving import serve
from filedrop.config import parse
from filedrop.errors import ConfigError, JournalError
from filedrop.process.control import Control

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.postgres import Server
    from support.world import World


@pytest.fixture
def world(make_world: Callable[..., World], postgres: Server) -> World:
    return make_world(more=f"journal: {postgres.address(postgres.emptied())}", outbound={"doubt": "150s"})


def test_commands(world: World) -> None:
    """Commands work beside the daemon, and say which database it is where they would name a file."""
    world.drop("invoice-1.xml", invoice("1"))
    world.settle()
    assert json.loads(world.filedrop("status", "--json").stdout)["journal"] == ""
    checked = world.filedrop("check")
    assert "the journal is intact (PostgreSQL 1" in checked.stdout
    assert "invoice-1.xml" in world.filedrop("history", "invoice-1.xml").stdout
    refused = world.filedrop("backup", str(world.base / "copy"))
    assert refused.returncode != 0
    assert "copy it with pg_dump" in refused.stderr


def test_check_of_an_empty_database(make_world: Callable[..., World], postgres: Server) -> None:
    """It says so, and leaves nothing behind."""
    database = postgres.database()
    world = make_world(more=f"journal: {postgres.address(database)}", outbound={"doubt": "150s"})
    assert "the journal's database is empty" in world.filedrop("check").stdout
    assert postgres.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'filedrop'", database) == []


def test_start_without_the_database(make_world: Callable[..., World]) -> None:
    """A start while the database can't be reached ends, and logs one sentence: which database, why, and what to do."""
    world = make_world(more="journal: postgresql://filedrop@127.0.0.1:9/filedrop", outbound={"doubt": "150s"})
    config, logged = parse(world.config_text()), list[MutableMapping[str, Any]]()
    with pytest.raises(JournalError):
        serve(config, Control(), reread=lambda: config, hear=logged.append)
    (failure,) = logged
    assert failure["event"] == "service.failed"
    assert "the journal postgresql://filedrop@127.0.0.1:9/filedrop can't be used: " in failure["why"]
    assert failure["why"].endswith("see that the server runs and lets filedrop in")
    assert "exc_info" not in failure


def test_database_that_is_away(world: World, postgres: Server) -> None:
    """Nothing is posted meanwhile, `status` says why, and afterwards all goes on without anybody's help."""
    with world.service() as service:
        postgres.stop()
        try:
            world.drop("invoice-1.xml", invoice("1"))
            world.until(lambda: service.journal.trouble)
            assert "can't be used" in world.filedrop("status").stdout
        finally:
            postgres.start()
        world.until(world.settled)
    world.invariants()


@pytest.mark.slow
def test_reload_to_another_journal(world: World) -> None:
    """The journal can't be another one while filedrop runs."""
    with world.daemon():
        world.until(lambda: world.filedrop("reload").returncode == 0)
        world.more = ""
        assert "journal: it can't be changed while filedrop runs" in world.filedrop("reload").stderr


@pytest.mark.parametrize("address", ["/srv/journal", "postgresql:///filedrop", "postgresql://db/", "https://db/x"])
def test_addresses_that_are_none(make_world: Callable[..., World], address: str) -> None:
    """A database is named with its host, so that nothing else decides where the journal is."""
    world = make_world(more=f"journal: {address}")
    with pytest.raises(ConfigError, match=r"journal: .*postgresql://filedrop@db\.example\.com/filedrop"):
        world.configuration()


def test_password_in_the_address(make_world: Callable[..., World]) -> None:
    """It works and is warned about, and is shown nowhere."""
    world = make_world(
        more="journal: postgresql://filedrop:hunter2@db.example.com/filedrop", outbound={"doubt": "150s"}
    )
    assert any("journal: everybody who may read this file" in warning for warning in world.configuration().warnings)
    assert "hunter2" not in world.filedrop("config", "show").stdout + repr(world.configuration())
