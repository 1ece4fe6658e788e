"""How hosts share the accounts evenly, by few moves.

What is free goes to the host that serves the fewest accounts. Where one host serves at least two accounts more than
another, it gives one of them up, one at a time. All hosts see about the same, and decide the same by it, so no two move
at once. An account stays for ten minutes (`STAYS`) after it has moved, whatever moved it: nothing goes back and forth,
not even where a host starts and fails again and again. What a person has drained from a host is not given to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.model.hosts import CHORES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from filedrop.model.hosts import Host, Lease, Seen

STAYS = 600.0  # seconds


def to_take(me: Host, able: Collection[Host], seen: Seen, free: Iterable[str]) -> list[str]:
    """The `free` leases that are for this host, of those that are `able` to take something."""
    counts = _counts(able, seen)
    mine = []
    for name in sorted(free):
        drained = seen.leases[name].drained if name in seen.leases else ""
        if takers := [host.name for host in able if host.name != drained]:
            taker = min(takers, key=lambda host: (counts[host], host))
            counts[taker] += name != CHORES
            if taker == me.name:
                mine.append(name)
    return mine


def is_short(me: Host, able: Collection[Host], seen: Seen) -> bool:
    """Whether another host serves so many accounts more than this one that it is to give up one."""
    counts = _counts(able, seen)
    return max(counts.values()) - counts[me.name] > 1


def to_spare(
    me: Host, able: Mapping[Host, Collection[str]], seen: Seen, known: Collection[str], now: float
) -> list[str]:
    """The leases of accounts of which this host is to give up one; none where the accounts are shared evenly.

    `able`: the hosts that can take something, and the leases that each would take from another. `known`: those that
    the configuration has. `now`: seconds since 1970, by this host's clock, which has also written when it took them.
    """
    if not all(map(seen.is_taken, known)):
        return []  # what is free is taken first
    counts = _counts(able, seen)
    fewest, most = min(counts.values()), max(counts.values())
    takers = {host.name: takes for host, takes in able.items() if counts[host.name] == fewest}
    movable: dict[str, list[str]] = {}  # by the hosts that serve most
    for lease in (seen.leases[name] for name in sorted(known) if name != CHORES):
        if counts.get(lease.host) != most or _has_just_moved(lease, now):
            continue
        if any(lease.name in takes for name, takes in takers.items() if name != lease.drained):
            movable.setdefault(lease.host, []).append(lease.name)
    return movable[me.name] if most - fewest > 1 and movable and min(movable) == me.name else []


def _counts(hosts: Iterable[Host], seen: Seen) -> dict[str, int]:
    """How many accounts each host serves, by its name."""
    return {host.name: len(seen.leases_of(host.incarnation) - {CHORES}) for host in hosts}


def _has_just_moved(lease: Lease, now: float) -> bool:
    """Whether another host had it until lately. A clock that was set back says nothing."""
    return bool(lease.before) and 0 <= now - lease.since < STAYS
