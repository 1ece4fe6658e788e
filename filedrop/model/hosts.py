"""Hosts that share a journal, and what each of them serves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

CHORES = "chores"
"""The lease of what is done once for all hosts: status, pages, alerts."""


def lease_of(account: str) -> str:
    """The name of an account's lease, which is that of all its companies."""
    return f"account/{account}"


WITHIN = 10.0  # seconds in which a share is to show on one host what another has made there
_SILENT = 2  # times as long as until it is replaced


class Host(NamedTuple):
    """A host's row. `takeover`: after so many seconds without a sign of life it is replaced. `at`: by its own clock."""

    name: str
    incarnation: str  # of its process
    beat: int
    takeover: float
    state: str  # the id of its state folder
    boot: str  # the id of the start of its machine
    version: str
    settings: str  # those that all hosts must have alike, as JSON
    is_draining: bool  # it is to serve nothing
    at: float
    takes: str = "[]"  # the leases that it would take from another host, as JSON

    def silence(self) -> float | None:
        """For how many seconds it has been silent, once somebody should have replaced it; for people alone.

        It compares two clocks. None before that.
        """
        seconds = time.time() - self.at
        return seconds if seconds > _SILENT * self.takeover else None


class Gone(NamedTuple):
    """A host that was one of the hosts. `at`: its last sign of life, by its own clock. `is_stopped`: it left itself."""

    name: str
    at: float
    is_stopped: bool


class Lease(NamedTuple):
    """What is leased, by which process ("" where it is free), on which host, since when, and which had it before.

    A free lease still names the host that had it last. Where that host takes it again, nothing has moved: `since` and
    `before` stay. `drained`: the host that is to give it up, "" where none is; it takes it back only if no other does.
    """

    name: str
    incarnation: str
    host: str
    since: float
    before: str
    drained: str


class Seen(NamedTuple):
    """What a sign of life was answered with: one's own count (None where one was replaced), and all that is there.

    `gone`: the hosts that are there no more, until somebody has them forgotten.
    """

    beat: int | None
    hosts: dict[str, Host]
    leases: dict[str, Lease]
    gone: tuple[Gone, ...] = ()

    def is_taken(self, lease: str, *, but: Host | None = None) -> bool:
        """Whether a process has this lease, other than that of the host `but`."""
        return lease in self.leases and self.leases[lease].incarnation not in ("", but.incarnation if but else "")

    def leases_of(self, incarnation: str) -> frozenset[str]:
        """What a process has."""
        return frozenset(lease.name for lease in self.leases.values() if lease.incarnation == incarnation)

    def unserved(self, accounts: Iterable[str]) -> dict[str, str]:
        """The sentences about those accounts that no host serves, or a silent one; each by what it is about."""
        hosts = {host.incarnation: host for host in self.hosts.values()}
        troubles = {}
        for name in accounts:
            lease = self.leases.get(lease_of(name))
            host = hosts.get(lease.incarnation) if lease else None
            if host is None:
                troubles[f"account {name}"] = f"no host serves account {name}: see `filedrop hosts`"
            elif silence := host.silence():
                troubles[f"account {name}"] = (
                    f"account {name} is served by host {host.name}, which has given no sign of life for "
                    f"{silence:.0f} seconds: see `filedrop hosts`"
                )
        return troubles


class Look(NamedTuple):
    """A file that a host has made in a folder, for the others to look for."""

    folder: str
    file: str


class Sight(NamedTuple):
    """Whether a host has seen such a file within so many seconds (`WITHIN`); None where it hasn't answered."""

    host: str
    look: Look
    is_seen: bool | None


class Me(NamedTuple):
    """This process, as the others see it (`Host`)."""

    name: str
    incarnation: str
    takeover: float
    state: str
    boot: str
    version: str
    settings: str
    takes: str = "[]"
