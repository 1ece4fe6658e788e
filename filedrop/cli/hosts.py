"""`filedrop hosts`, and its `drain`, `resume` and `forget`: which hosts share the journal, and which serves what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import open_config, open_journal, shared
from filedrop.cli.show import complain, say, show_json
from filedrop.cli.tables import show_table
from filedrop.journal import sharing
from filedrop.journal.sharing import hosts_of
from filedrop.model.hosts import CHORES, Host, lease_of
from filedrop.times import from_seconds, local

if TYPE_CHECKING:
    from filedrop.config import Config
    from filedrop.journal.postgres import Postgres
    from filedrop.model.hosts import Seen


@click.group(invoke_without_command=True, epilog="\b\nExample: filedrop hosts")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def hosts(context: click.Context, *, as_json: bool) -> None:
    """Show the hosts that share the journal, and which of them serves which account.

    The exit status is 1 if an account is served by no host, or if a host gives no sign of life.
    """
    if context.invoked_subcommand is None:
        config = open_config(context.obj)
        with open_journal(config) as journal:
            seen, _ = hosts_of(shared(journal))
        if as_json:
            show_json(_as_json(seen))
        else:
            _show(seen)
        unserved = _unserved(config, seen)
        if unserved and not as_json:
            complain(f"served by no host: {', '.join(unserved)}")
        if unserved or any(map(Host.silence, seen.hosts.values())) or not all(host.is_stopped for host in seen.gone):
            raise SystemExit(FAILED)


@hosts.command(epilog="\b\nExample: filedrop hosts drain b")
@click.argument("host")
@click.option("--account", "accounts", multiple=True, help="Only this account. It can be repeated.")
@click.pass_obj
def drain(config_option: str | None, host: str, accounts: tuple[str, ...]) -> None:
    """Let the other hosts serve what HOST serves, until `hosts resume`.

    HOST finishes the requests that are under way first. It goes on running, so you can stop or restart it afterwards.
    """
    with open_journal(open_config(config_option)) as journal:
        database = shared(journal)
        if not sharing.drain(database, host, *map(lease_of, accounts)):
            raise click.UsageError(_unknown(database, host, accounts))
    say(f"{host} gives up {', '.join(accounts) or 'all accounts'}; to see how far that is: filedrop hosts")


@hosts.command(epilog="\b\nExample: filedrop hosts resume b")
@click.argument("host")
@click.pass_obj
def resume(config_option: str | None, host: str) -> None:
    """Let HOST serve accounts again. It takes those that no other host serves."""
    with open_journal(open_config(config_option)) as journal:
        database = shared(journal)
        if not sharing.resume(database, host):
            raise click.UsageError(_unknown(database, host))
    say(f"{host} serves again what no other host serves")


@hosts.command(epilog="\b\nExample: filedrop hosts forget b")
@click.argument("host")
@click.pass_obj
def forget(config_option: str | None, host: str) -> None:
    """Forget HOST, which was stopped or has failed and won't come back: it is no longer shown as missing."""
    with open_journal(open_config(config_option)) as journal:
        database = shared(journal)
        if not sharing.forget(database, host):
            if host in hosts_of(database)[0].hosts:
                raise click.UsageError(f"{host} is running, or no other host has replaced it yet: stop it first")
            raise click.UsageError(_unknown(database, host))
    say(f"{host} is forgotten")


def _unknown(database: Postgres, host: str, accounts: tuple[str, ...] = ()) -> str:
    seen, _ = hosts_of(database)
    if host in seen.hosts:
        return f"{host} doesn't serve {' and '.join(accounts)}: see filedrop hosts"
    return f"there is no host {host}; the hosts are: {', '.join(seen.hosts) or 'none is running'}"


def _as_json(seen: Seen) -> dict[str, Any]:
    return {
        "hosts": {
            host.name: {
                "version": host.version,
                "heard": from_seconds(host.at).isoformat(timespec="seconds"),
                "draining": host.is_draining,
                "serves": sorted(seen.leases_of(host.incarnation)),
            }
            for host in seen.hosts.values()
        },
        "gone": {
            host.name: {"heard": from_seconds(host.at).isoformat(timespec="seconds"), "stopped": host.is_stopped}
            for host in seen.gone
        },
        "leases": {
            lease.name: {
                "host": lease.host if lease.incarnation else None,
                "since": from_seconds(lease.since).isoformat(timespec="seconds"),
                "before": (lease.before if lease.incarnation else lease.host) or None,
            }
            for lease in seen.leases.values()
        },
    }


def _show(seen: Seen) -> None:
    rows = [
        [
            host.name,
            _condition(host),
            local(from_seconds(host.at), "seconds"),
            host.version,
            ", ".join(sorted(seen.leases_of(host.incarnation))) or "-",
        ]
        for host in seen.hosts.values()
    ]
    rows += [
        [host.name, "stopped" if host.is_stopped else "silent", local(from_seconds(host.at), "seconds"), "-", "-"]
        for host in seen.gone
    ]
    show_table(["host", "condition", "last sign of life", "version", "serves"], rows)
    if not seen.hosts:
        say("no host is running")


def _condition(host: Host) -> str:
    if host.silence():
        return "silent"
    return "drained" if host.is_draining else "ok"


def _unserved(config: Config, seen: Seen) -> list[str]:
    serving = {host.incarnation for host in seen.hosts.values()}
    served = {lease.name for lease in seen.leases.values() if lease.incarnation in serving}
    return [name for name in (*map(lease_of, config.accounts), CHORES) if name not in served]
