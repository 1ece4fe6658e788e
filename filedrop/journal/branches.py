"""The branches of a journal, which tell two databases apart that both live.

A standby server is promoted while the former one works on, or a dump is restored beside it: then both have the
journal's id and its rows, and each would serve the same folders. So each database that isn't the one that was last
written to begins a branch, with a name that nobody else has. The journal lists its branches, its own last; the first
one has no name. A folder's marker names the branch that has served it last. Where the journal doesn't know that branch,
it doesn't know what was done there: the folder waits until a person decides (`filedrop journal accept`).

A promoted standby server knows its former branches. A restored or copied database has left them: its former server
may still work, so that all folders wait for the person.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from filedrop.journal import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.journal.engine import Connection

BRANCHES = "branches"  # a key of `about`


def branches_in(about: Mapping[str, str]) -> tuple[str, ...]:
    """The journal's branches, its own last."""
    return as_branches(about.get(BRANCHES, ""))


def as_branches(value: str) -> tuple[str, ...]:
    """The branches in a value of `about`."""
    return tuple(value.split(","))


def begin_branch(connection: Connection, known: Iterable[str]) -> None:
    """Begin a branch that knows these others. Within a transaction."""
    names = dict.fromkeys([*known, secrets.token_hex(8)])
    connection.execute(statements.KEEP, {"key": BRANCHES, "value": ",".join(names)})
