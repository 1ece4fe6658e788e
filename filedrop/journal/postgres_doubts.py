"""How a PostgreSQL server is set up other than filedrop needs it, in sentences for its administrator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.journal.postgres_session import Session

_SLOW = 0.05  # seconds for a commit
_APART = 2.0  # seconds between two clocks
_COMMIT = "SELECT pg_current_xact_id()"  # what has an id is on the disk when it ends
_SET_UP = """
    SELECT extract(epoch FROM clock_timestamp()), EXISTS (SELECT 1 FROM pg_stat_replication),
        current_setting('synchronous_standby_names') <> '', current_setting('fsync')
"""


def doubts(session: Session) -> Iterator[str]:
    """The sentences about the server of this session, if any. Raises psycopg.Error."""
    begun = time.monotonic()
    session.execute(_COMMIT)
    took = time.monotonic() - begun
    if took > _SLOW:
        yield f"the journal's database takes {1000 * took:.0f} ms for each record, which slows everything down"
    ((now, standbys, synchronous, fsync),) = session.execute(_SET_UP).fetchall()
    apart = abs(float(now) - time.time())
    if apart > _APART:
        yield f"the clock of the journal's database and this one are {apart:.0f} s apart: set both right"
    if standbys and not synchronous:
        yield (
            "the journal's database has a standby server that may lack the last records, so documents may be sent "
            "twice after it takes over: set synchronous_standby_names"
        )
    if fsync != "on":
        yield "the journal's database doesn't wait for its disk, so it may lose records: set fsync to on"
    if not session.info.host.startswith("/") and not session.pgconn.ssl_in_use:
        yield "the connection to the journal's database isn't encrypted: add ?sslmode=verify-full to `journal`"
