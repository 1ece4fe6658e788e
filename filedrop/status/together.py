"""Several hosts' parts of one status: what each has reported to the journal that they share, and who serves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from filedrop.status.daemon_file import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.config import Config
    from filedrop.process.share import Share
    from filedrop.status.model import Status
    from filedrop.status.survey import DaemonPart

# Each is reported by the host that serves the account.
_BY_ACCOUNT = ("accounts", "warnings", "refused", "file_systems", "progress", "waiting", "strays")


def with_others(config: Config, share: Share, own: DaemonPart) -> DaemonPart:
    """The part of this host with those of the others with which it shares the journal."""
    return together(own, share.name, share.reports, share.unserved(config.accounts))


def of_host(status: Status, config: Config, share: Share) -> Status:
    """What a host serves of the status of all."""
    return {
        **status,
        "accounts": {name: account for name, account in status["accounts"].items() if share.serves(name)},
        "companies": {
            name: company
            for name, company in status["companies"].items()
            if share.serves(config.companies[name].account)
        },
        "unassigned": status["unassigned"] if share.serves(None) else None,
    }


def together(own: DaemonPart, host: str, reports: Mapping[str, str], unserved: Mapping[str, str]) -> DaemonPart:
    """The part of this `host` with those of the others. What troubles another host says so.

    `reports`: the parts of all hosts as JSON, by their names. `unserved`: the sentences about accounts that no living
    host serves, each by what it is about.
    """
    others = {name: decoded(said) for name, said in reports.items() if name != host}
    parts = [own, *others.values()]
    values: dict[str, Any] = {}
    for name in _BY_ACCOUNT:
        values[name] = {key: value for part in parts for key, value in getattr(part, name).items()}
    for name in ("tables", "alerts"):
        values[name] = _each_once(why for part in parts for why in getattr(part, name))
    troubles = {**own.troubles, **unserved}
    for name, part in others.items():
        troubles |= {f"{about} on {name}": f"host {name}: {why}" for about, why in part.troubles.items()}
        if part.journal:
            troubles[f"journal on {name}"] = f"host {name}: {part.journal}"
    return replace(own, **values, troubles=troubles)


def _each_once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
