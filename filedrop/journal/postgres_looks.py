"""A file that one host has made, and whether the others see it: asked and answered by NOTIFY, and kept nowhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from filedrop.journal.sharing import hosts_of
from filedrop.model.hosts import WITHIN, Look, Sight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from filedrop.journal.postgres import Postgres
    from filedrop.journal.postgres_session import Session
    from filedrop.model.hosts import Host

_ASK, _ANSWER = "filedrop_look", "filedrop_sight"
_NOTIFY = "SELECT pg_notify(%s, %s)"
_BEATS = 0.3  # of `takeover`: in three signs of life, a host is asked and answers


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
