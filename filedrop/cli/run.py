"""`filedrop run`: the daemon; with `--once`, what is there now; with `--dry-run`, what would be sent as whom."""

from __future__ import annotations

import gc
import threading

import click

from filedrop.cli import FAILED
from filedrop.cli.dryrun import show_dry_run
from filedrop.cli.once import run_once
from filedrop.cli.opening import open_config, open_log
from filedrop.cli.show import complain
from filedrop.service import Service, sole_use, stop_on_signals
from filedrop.statusfile import StatusFile


@click.command()
@click.option("--once", is_flag=True, help="Send and fetch what is there now, then exit.")
@click.option("--dry-run", is_flag=True, help="With --once: only say what would be sent as whom.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: one object a line.")
@click.pass_obj
def run(config_option: str | None, *, once: bool, dry_run: bool, as_json: bool) -> None:
    """Watch, send, track and fetch until stopped.

    What is on the wire when it is stopped gets 20 seconds. With --once it waits for `settle` and for what is in doubt,
    not for delivery.
    """
    if dry_run and not once:
        raise click.UsageError("--dry-run goes with --once")
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run")
    config = open_config(config_option)
    for warning in config.warnings:
        complain(warning)
    if dry_run:
        raise SystemExit(0 if show_dry_run(config, as_json=as_json) else FAILED)
    stopped = threading.Event()
    stop_on_signals(stopped)
    gc.freeze()  # what is loaded by now stays: looking through it again and again finds nothing
    if once:
        raise SystemExit(run_once(config, stopped))
    log = open_log(config.log)
    with sole_use(config.state) as journal:
        service = Service(config, journal, stopped=stopped, log=log)
        status_file = StatusFile(config, journal, log)
        service.run(status_file.report)
        status_file.close(service)
