"""Several hosts' parts of one status: what each has reported to the journal that they share, and who serves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from filedrop.model.hosts import lease_of
from filedrop.status.daemon_file import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.config import Config
    from filedrop.model.hosts import Seen
    from filedrop.status.survey import DaemonPart

# Each is reported by the host that serves the account.
_BY_ACCOUNT = ("accounts", "warnings", "refused", "file_systems", "waiting", "strays")


class AmongHosts(Protocol):
    """A host among several (daemon/hosting)."""

    name: str
    seen: Seen | None
    reports: dict[str, str]

    @property
    def does_chores(self) -> bool:
        """Whether it tells people about all: status, pages, alerts."""

    def report(self, content: str) -> None:
        """Have the others know this of it."""


def together(config: Config, own: DaemonPart, host: str, seen: Seen | None, reports: Mapping[str, str]) -> DaemonPart:
    """The part of this `host` with those of the others. What troubles another host says so.

    `seen`: the hosts of the journal, None where that isn't known. `reports`: their parts as JSON.
    """
    others = {name: decoded(said) for name, said in reports.items() if name != host}
    parts = [own, *others.values()]
    told: dict[str, Any] = {}
    for name in _BY_ACCOUNT:
        told[name] = {key: value for part in parts for key, value in getattr(part, name).items()}
    for name in ("tables", "alerts"):
        told[name] = _each_once(why for part in parts for why in getattr(part, name))
    troubles = dict(own.troubles) | (_unserved(config, seen) if seen else {})
    for name, part in others.items():
        troubles |= {f"{about} on {name}": f"host {name}: {why}" for about, why in part.troubles.items()}
        if part.journal:
            troubles[f"journal on {name}"] = f"host {name}: {part.journal}"
    return replace(own, **told, troubles=troubles)


def _unserved(config: Config, seen: Seen) -> dict[str, str]:
    """The sentences about accounts that no host serves, or one that gives no sign of life; each by what it is about."""
    hosts = {host.incarnation: host for host in seen.hosts.values()}
    troubles = {}
    for name in config.accounts:
        lease = seen.leases.get(lease_of(name))
        host = hosts.get(lease.incarnation) if lease else None
        if host is None:
            troubles[f"account {name}"] = f"no host serves account {name}: see `filedrop hosts`"
        elif silence := host.silence():
            troubles[f"account {name}"] = (
                f"account {name} is served by host {host.name}, which has given no sign of life for "
                f"{silence:.0f} seconds: see `filedrop hosts`"
            )
    return troubles


def _each_once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
