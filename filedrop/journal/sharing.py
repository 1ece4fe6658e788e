"""Which hosts share a journal, and which of them serves what, for commands; and what they are told by commands.

And a file that one host has made, and whether the others see it: asked and answered by NOTIFY, and kept nowhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from filedrop.model.hosts import WITHIN, Gone, Host, Lease, Look, Seen, Sight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from filedrop.journal.engine import Connection, Engine
    from filedrop.journal.postgres import Postgres
    from filedrop.journal.postgres_session import Session

HOSTS = """
    SELECT name, incarnation, beat, takeover, state, boot, version, settings, is_draining, at, takes
    FROM hosts ORDER BY name
"""
LEASES = "SELECT name, incarnation, host, since, before, drained FROM leases ORDER BY name"
GONE = """
    SELECT name, at, is_stopped FROM known_hosts WHERE name NOT IN (SELECT name FROM hosts) ORDER BY name
"""
REPORTS = "SELECT host, content FROM reports ORDER BY host"
_DRAIN = "UPDATE hosts SET is_draining = :is_draining WHERE name = :name"
_DRAIN_OF = "UPDATE leases SET drained = host WHERE name = :lease AND host = :name AND incarnation <> ''"
_FORGET = "DELETE FROM known_hosts WHERE name = :name AND name NOT IN (SELECT name FROM hosts)"
_RESUME = "UPDATE leases SET drained = '' WHERE drained = :name"

_ASK, _ANSWER = "filedrop_look", "filedrop_sight"
_NOTIFY = "SELECT pg_notify(%s, %s)"
_BEATS = 0.3  # of `takeover`: in three signs of life, a host is asked and answers


def drain(engine: Engine, host: str, *leases: str) -> bool:
    """Have a host give up these leases, or all and take none. Returns whether it could be told. Raises JournalError."""

    def drain_host(connection: Connection) -> bool:
        if not leases:
            return connection.execute(_DRAIN, {"name": host, "is_draining": True}).rowcount == 1
        return all(connection.execute(_DRAIN_OF, {"name": host, "lease": lease}).rowcount == 1 for lease in leases)

    return engine.write(drain_host)


def resume(engine: Engine, host: str) -> bool:
    """Have a host take again what is free. Returns whether there is one of this name. Raises JournalError."""

    def resume_host(connection: Connection) -> bool:
        connection.execute(_RESUME, {"name": host})
        return connection.execute(_DRAIN, {"name": host, "is_draining": False}).rowcount == 1

    return engine.write(resume_host)


def forget(engine: Engine, host: str) -> bool:
    """Forget a host that is gone. Returns whether there is one of this name. Raises JournalError."""
    return engine.write(lambda connection: connection.execute(_FORGET, {"name": host}).rowcount == 1)


def hosts_of(engine: Engine) -> tuple[Seen, dict[str, str]]:
    """The hosts of a journal and their reports, for a command. Raises JournalError."""
    with engine.reading() as connection:
        seen = seen_in([], *(connection.execute(rows).fetchall() for rows in (HOSTS, LEASES, GONE)))
        return seen, dict(connection.execute(REPORTS).fetchall())


def seen_in(own: list[Any], hosts: Iterable[Any], leases: Iterable[Any], gone: Iterable[Any]) -> Seen:
    """What rows of HOSTS, LEASES and GONE say; `own`: the row with this host's count, where it gave a sign of life."""
    return Seen(
        own[0][0] if own else None,
        {row[0]: Host(*row) for row in hosts},
        {row[0]: Lease(*row) for row in leases},
        tuple(Gone(*row) for row in gone),
    )


def listen(session: Session, asked: list[Look]) -> None:
    """Have looks that others ask for added to `asked`, whenever this session is used. Raises psycopg.Error."""
    session.add_notify_handler(lambda notice: asked.append(Look(*json.loads(notice.payload))))
    session.execute(f"LISTEN {_ASK}")


def answer(session: Session, sight: Sight) -> None:
    """Report what this host has seen. Raises psycopg.Error."""
    session.execute(_NOTIFY, (_ANSWER, json.dumps(sight)))


def ask_others(engine: Postgres, files: Mapping[str, str], host: str) -> Iterator[Sight]:
    """What each other living host sees of files that `host` has made, as `ask` returns it. Raises JournalError."""
    others = [other for other in hosts_of(engine)[0].hosts.values() if other.name != host and not other.silence()]
    with engine.own_session() as session:
        yield from ask(session, others, files)


def ask(session: Session, hosts: Iterable[Host], files: Mapping[str, str]) -> Iterator[Sight]:
    """What each of these hosts sees of files, as soon as it reports it. Raises psycopg.Error.

    `files`: their names by their folders.
    """
    takeovers = {host.name: host.takeover for host in hosts}
    looks = [Look(*file) for file in files.items()]
    missing = [Sight(host, look, None) for look in looks for host in takeovers]
    if not missing:
        return
    session.execute(f"LISTEN {_ANSWER}")
    for look in looks:
        session.execute(_NOTIFY, (_ASK, json.dumps(look)))
    session.patience = WITHIN + _BEATS * max(takeovers.values())
    for notice in session.notifies(timeout=session.patience):
        host, look, is_seen = json.loads(notice.payload)
        if (awaited := Sight(host, Look(*look), None)) in missing:
            missing.remove(awaited)
            yield awaited._replace(is_seen=is_seen)
        if not missing:
            return
    yield from missing
