"""Which hosts share a journal in PostgreSQL, and which of them serves what: signs of life, and leases.

Each host counts its signs of life in its row. No clock is compared with another, not even the database's: the others
watch a count by their own clocks (daemon/hosting), and replace a host whose count has stood still for so long. First
its sessions are ended, so it is amid no write; then, in one transaction in which the count is still as it was watched,
its process may write no more (the fence reads `processes`) and what it served is free. A host that finds that it was
replaced ends its process: nothing that was made before lives on.

An account, with all its companies, is leased as a whole, and so are the chores of all hosts (status, alerts). What is
free is taken by the host that serves least.

A host that was replaced or has left itself stays in `known_hosts`, until somebody has it forgotten: so one that died is
reported for as long as it is missing.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psycopg

from filedrop import __version__
from filedrop.errors import JournalError, OtherDatabase
from filedrop.journal import sharing
from filedrop.journal.engine import refuse_moved
from filedrop.journal.postgres_session import end_sessions, lineage_of
from filedrop.journal.sharing import GONE, HOSTS, LEASES, REPORTS, seen_in
from filedrop.model.hosts import Host, Me, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from filedrop.journal.postgres import Postgres
    from filedrop.journal.postgres_session import Address, Session
    from filedrop.model.hosts import Look, Sight

_ENTER = """
    INSERT INTO hosts (
        name, incarnation, beat, takeover, state, boot, version, settings, is_draining, at, takes
    ) VALUES (
        %(name)s, %(mine)s, 1, %(takeover)s, %(state)s, %(boot)s, %(version)s, %(settings)s, %(is_draining)s, %(at)s,
        %(takes)s
    )
    ON CONFLICT DO NOTHING RETURNING name
"""
_MOVED = "SELECT key, value FROM about WHERE key = 'moved'"  # a move lets nobody enter, and then marks the journal
_MAY_WRITE = "INSERT INTO processes (incarnation) VALUES (%(mine)s)"
# Three statements: one that writes and reads would show what was there before it had waited for another's write.
_BEAT = f"""
    UPDATE hosts SET beat = beat + 1, settings = %(settings)s, takes = %(takes)s, at = %(at)s
    WHERE name = %(name)s AND incarnation = %(mine)s RETURNING beat;
    {HOSTS};
    {LEASES};
    {GONE}
"""
_AS_WATCHED = """
    SELECT 1 FROM hosts WHERE name = %(name)s AND incarnation = %(incarnation)s AND beat = %(beat)s FOR UPDATE
"""
_REPLACE = (
    """
    INSERT INTO known_hosts (name, at, is_stopped)
    SELECT name, at, %(is_stopped)s FROM hosts WHERE incarnation = %(incarnation)s
    ON CONFLICT (name) DO UPDATE SET at = excluded.at, is_stopped = excluded.is_stopped
    """,
    "DELETE FROM processes WHERE incarnation = %(incarnation)s",
    "UPDATE leases SET incarnation = '' WHERE incarnation = %(incarnation)s",
    "DELETE FROM reports WHERE incarnation = %(incarnation)s",
    "DELETE FROM hosts WHERE incarnation = %(incarnation)s",
)
_KNOW = """
    INSERT INTO leases (name, incarnation, host, since, before, drained) VALUES (%(lease)s, '', '', %(at)s, '', '')
    ON CONFLICT DO NOTHING
"""
_FENCE = "SELECT fence(%(mine)s)"
# One host at a time takes something, so each sees what the hosts before it have taken.
_TAKE_TURNS = "SELECT pg_advisory_xact_lock(hashtext('filedrop leases'))"
_TAKE = """
    UPDATE leases SET incarnation = %(mine)s, host = %(name)s,
        since = CASE host WHEN %(name)s THEN since ELSE %(at)s END,
        before = CASE host WHEN %(name)s THEN before ELSE host END,
        drained = coalesce(nullif(drained, %(name)s), '')
    WHERE name = %(lease)s AND incarnation = '' AND NOT EXISTS (
        SELECT 1 FROM leases AS theirs JOIN hosts USING (incarnation)
        WHERE hosts.incarnation <> %(mine)s AND settings::jsonb <> %(settings)s::jsonb
    )
"""
_GIVE_BACK = "UPDATE leases SET incarnation = '' WHERE name = %(lease)s AND incarnation = %(mine)s"
_REPORT = """
    INSERT INTO reports (host, incarnation, content) VALUES (%(name)s, %(mine)s, %(content)s)
    ON CONFLICT (host) DO UPDATE SET incarnation = excluded.incarnation, content = excluded.content
"""


class Hosts:
    """The hosts of a journal, by a session of its own: a sign of life must wait for no other work.

    Each call raises JournalError where the database doesn't answer in time; the next one connects anew. It raises
    OtherDatabase where another one answers by then.
    """

    def __init__(self, address: Address, me: Me, *, patience: float) -> None:
        self.me = me
        self._address = address
        self._patience = patience
        self._session: Session | None = None
        self._lineage: str | None = None
        self._looks: list[Look] = []  # asked for

    def say(self, settings: str, *, takes: str = "[]") -> None:
        """Have the next sign of life say these settings, and what this host would take from another one."""
        self.me = self.me._replace(settings=settings, takes=takes)

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def look(self) -> Seen:
        """What is there, without a sign of life."""
        with self._open() as session:
            return seen_in([], *(session.execute(rows).fetchall() for rows in (HOSTS, LEASES, GONE)))

    def enter(self, *, is_draining: bool) -> bool:
        """Be one of the hosts. Returns whether that is possible: another process may have the name."""
        values = self._values(is_draining=is_draining)
        with self._open() as session, session.transaction():
            entered = bool(session.execute(_ENTER, values).fetchall())
            refuse_moved(str(self._address), dict(session.execute(_MOVED).fetchall()))
            if entered:
                session.execute(_MAY_WRITE, values)
        return entered

    def beat(self) -> Seen:
        """Give a sign of life, and see what is there."""
        with self._open() as session:
            cursor = psycopg.ClientCursor(session)
            cursor.execute(_BEAT, self._values())
            found = [cursor.fetchall()]
            while cursor.nextset():
                found.append(cursor.fetchall())
            return seen_in(*found)

    def replace(self, host: Host) -> bool:
        """Have a host serve nothing and write no more, if it is still as it was seen. Returns whether it was."""
        with self._open() as session:
            end_sessions(session, host.incarnation, self._patience)
            with session.transaction():
                if not session.execute(_AS_WATCHED, host._asdict()).fetchall():
                    return False
                _remove(session, host.incarnation, is_stopped=False)
        return True

    def lease(self, lease: str) -> bool:
        """Take what is free, unless a host serves by other settings. Returns whether it is ours now."""
        values = self._values(lease=lease)
        with self._open() as session, session.transaction():
            session.execute(_FENCE, values)
            session.execute(_TAKE_TURNS)
            session.execute(_KNOW, values)
            return session.execute(_TAKE, values).rowcount == 1

    def give_back(self, lease: str) -> None:
        """Have something free for the others: nothing of it is left here."""
        with self._open() as session:
            session.execute(_GIVE_BACK, self._values(lease=lease))

    def leave(self) -> None:
        """Be no host any more, after all was given up; where that can't be said, the others watch."""
        with suppress(JournalError), self._open() as session, session.transaction():
            _remove(session, self.me.incarnation, is_stopped=True)

    def report(self, content: str) -> None:
        """Write what this host reports of itself, for the one that does the chores and for commands."""
        values = self._values(content=content)
        with self._open() as session, session.transaction():
            session.execute(_FENCE, values)
            session.execute(_REPORT, values)

    def reports(self) -> dict[str, str]:
        """What each host has reported last, by its name."""
        with self._open() as session:
            return dict(session.execute(REPORTS).fetchall())

    def looks(self) -> list[Look]:
        """The looks that another host has asked for by the last sign of life."""
        asked, self._looks[:] = self._looks.copy(), []
        return asked

    def answer(self, sight: Sight) -> None:
        """Report what this host has seen."""
        with self._open() as session:
            sharing.answer(session, sight)

    def _values(self, **more: Any) -> dict[str, Any]:
        return self.me._asdict() | {"mine": self.me.incarnation, "at": time.time()} | more

    @contextmanager
    def _open(self) -> Iterator[Session]:
        try:
            if self._session is None or not self._session.is_clear:
                self.close()
                self._session = self._connect()
            yield self._session
        except psycopg.Error as error:
            raise JournalError(self._address.trouble(error)) from error

    def _connect(self) -> Session:
        session = self._address.connect(self.me.incarnation, self._patience)
        try:
            lineage = lineage_of(session)
            if self._lineage not in (None, lineage):
                raise OtherDatabase(self._address)
            sharing.listen(session, self._looks)
        except BaseException:
            session.close()
            raise
        self._lineage = lineage
        return session


def hosts_among(engine: Postgres, name: str, *, takeover: float, state: str, boot: str) -> Hosts:
    """The hosts that share a journal, for this process; the rest is as `Me` has it."""
    me = Me(name, engine.incarnation, takeover, state, boot, __version__, settings="{}")
    return Hosts(engine.address, me, patience=min(engine.patience, takeover / 5))


def _remove(session: Session, incarnation: str, *, is_stopped: bool) -> None:
    for statement in _REPLACE:
        session.execute(statement, {"incarnation": incarnation, "is_stopped": is_stopped})
