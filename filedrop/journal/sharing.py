"""Which hosts share a journal, and which of them serves what, for commands; and what they are told by commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.model.hosts import Host, Lease, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from filedrop.journal.engine import Connection, Engine

HOSTS = """
    SELECT name, incarnation, beat, takeover, state, boot, version, settings, is_draining, at, takes
    FROM hosts ORDER BY name
"""
LEASES = "SELECT name, incarnation, host, since, before, drained FROM leases ORDER BY name"
REPORTS = "SELECT host, content FROM reports ORDER BY host"
_DRAIN = "UPDATE hosts SET is_draining = :is_draining WHERE name = :name"
_DRAIN_OF = "UPDATE leases SET drained = host WHERE name = :lease AND host = :name AND incarnation <> ''"
_RESUME = "UPDATE leases SET drained = '' WHERE drained = :name"


def drain(engine: Engine, host: str, *leases: str) -> bool:
    """Have a host give up these leases, or all and take none. Returns whether it could be told. Raises JournalError."""

    def work(connection: Connection) -> bool:
        if not leases:
            return connection.execute(_DRAIN, {"name": host, "is_draining": True}).rowcount == 1
        return all(connection.execute(_DRAIN_OF, {"name": host, "lease": lease}).rowcount == 1 for lease in leases)

    return engine.write(work)


def resume(engine: Engine, host: str) -> bool:
    """Have a host take again what is free. Returns whether there is one of this name. Raises JournalError."""

    def work(connection: Connection) -> bool:
        connection.execute(_RESUME, {"name": host})
        return connection.execute(_DRAIN, {"name": host, "is_draining": False}).rowcount == 1

    return engine.write(work)


def hosts_of(engine: Engine) -> tuple[Seen, dict[str, str]]:
    """The hosts of a journal and their reports, for a command. Raises JournalError."""
    with engine.reading() as connection:
        seen = seen_in([], connection.execute(HOSTS).fetchall(), connection.execute(LEASES).fetchall())
        return seen, dict(connection.execute(REPORTS).fetchall())


def seen_in(own: list[Any], hosts: Iterable[Any], leases: Iterable[Any]) -> Seen:
    """What rows of HOSTS and LEASES say; `own`: the row with this host's count, where it has given a sign of life."""
    return Seen(
        own[0][0] if own else None,
        {row[0]: Host(*row) for row in hosts},
        {row[0]: Lease(*row) for row in leases},
    )
