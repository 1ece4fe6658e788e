"""`filedrop sandbox`: an access point of one's own on loopback, for trying out and for tests."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from filedrop.cli.show import say
from filedrop.config.values import duration
from filedrop.process.control import stop_on_signals
from filedrop.sandbox import ODDITIES, SAMPLE_ACCOUNTS, Sandbox, parse_account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from filedrop.sandbox import SandboxAccount

OFTEN = 0.5  # seconds: Windows lets no signal interrupt a wait


def _duration(_ctx: click.Context, _parameter: click.Parameter, text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _accounts(_ctx: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> Sequence[SandboxAccount]:
    try:
        return tuple(parse_account(text) for text in texts) or SAMPLE_ACCOUNTS
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(
    epilog="\b\nExample: filedrop sandbox --port 8080 --state ./sandbox --account acme:secret:0192:987654325"
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port. Default: a free one.")
@click.option("--state", type=click.Path(path_type=Path), required=True, help="The folder for its messages.")
@click.option("--deliver-after", default="1s", callback=_duration, help="How long a delivery takes. Default: 1s.")
@click.option("--quirks", is_flag=True, help="Behave as real servers do where they differ from its documentation.")
@click.option(
    "--oddity",
    "oddities",
    multiple=True,
    type=click.Choice(list(ODDITIES)),
    help="Do what only some servers do. Can be repeated. See above.",
)
@click.option(
    "--account",
    "accounts",
    multiple=True,
    callback=_accounts,
    metavar="NAME:PASSWORD:PARTICIPANT[,PARTICIPANT...]",
    help="An account: its login, and whose documents it receives. Can be repeated. Default: two sample accounts.",
)
def sandbox(
    *,
    port: int,
    state: Path,
    deliver_after: timedelta,
    quirks: bool,
    oddities: Sequence[str],
    accounts: Sequence[SandboxAccount],
) -> None:
    """Run an access point on this computer until stopped, for tests.

    It has the whole interface, keeps its messages in --state, and delivers between its accounts. The first line of its
    output is its base URL.

    \b
    What each --oddity does:
      seconds-cut          An upload's answer has milliseconds in `received`.
                           Later answers have 28.000 for 28.107.
      seconds-rounded      The same, rounded up: they have 29.000.
      another-offset       Later answers show the same local time at +02:00.
      document-elsewhere   A document's address redirects (303) to another host.
      lost-document-empty  A document whose file you removed from the folder
                           documents answers 200 without content.
      fault-after-storing  Each upload is stored, and answered with an empty 400.
      refusal-encoded      A refused upload has Content-Encoding: UTF-8.
      uuid-prefix          A message has its `uuid` once it is delivered, written
                           as uuid:...
    """  # noqa: D301 - by this mark, click doesn't fold what follows
    stopped = threading.Event()
    stop_on_signals(stopped)
    with Sandbox(state, accounts, deliver_after=deliver_after, quirks=quirks, oddities=oddities, port=port) as running:
        say(running.base_url)
        for account in accounts:
            receives = ", ".join(account.participants)
            say(f"account {account.name}, password {account.password}, receives for {receives}")
        while not stopped.wait(OFTEN):
            pass
