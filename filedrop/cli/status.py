"""`filedrop status`: what waits, is on its way, in doubt, overdue or failed, and why."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, get_args

import click

from filedrop import statusfile
from filedrop.cli.opening import has_journal, open_config, open_journal
from filedrop.cli.show import complain, say, show_json, show_table, tell
from filedrop.disk import shortage
from filedrop.errors import FiledropError, JournalError
from filedrop.files import is_missing, may_use
from filedrop.service import is_running
from filedrop.status import Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.config import Config
    from filedrop.status import AccountStatus, CompanyStatus, Status

Count = Literal["waiting", "sending", "doubt", "sent", "overdue", "failed", "received", "stuck"]
COUNTS: tuple[Count, ...] = get_args(Count)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.pass_obj
def status(config_option: str | None, *, as_json: bool) -> None:
    """Show what waits, is on its way, in doubt, overdue or failed, per company, and why.

    What only the daemon knows, it writes to status.json in the root: whether the access point can be reached and lets
    us in, what is unread there. Whoever may not read the daemon's state sees all of it from there.
    """
    now = _look(open_config(config_option))
    if as_json:
        show_json(now)
        return
    try:
        _show(now)
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # anybody may write to the share
        raise FiledropError(f"{statusfile.NAME} doesn't say what it should; the daemon writes it again") from error


def _look(config: Config) -> Status:
    told = statusfile.read(config.root)
    if not is_missing(config.state) and not may_use(config.state):
        short = shortage(config.state)
        why = f"{config.state} can't be used: {short}" if short else f"you may not read {config.state}"
        if told is None:
            raise FiledropError(
                f"{why}, and there is no {statusfile.NAME} in {config.root}: run this as filedrop's user, or as root"
            )
        complain(f"{why}: this is what the daemon wrote at {told['written']}")
        return told
    running, heard = is_running(config.state), statusfile.told_in(told)
    if not running:  # it has told the trouble that it had, not what there is now
        heard = replace(heard, journal="")
    journal = None
    with ExitStack() as stack:
        try:
            if has_journal(config):
                journal = stack.enter_context(open_journal(config))
            if journal and not running:  # a daemon has done so at its start
                journal.see_whole()
        except JournalError as error:
            journal, heard = None, replace(heard, journal=str(error))
        return Survey(config, journal).take(heard, running=running, now=datetime.now().astimezone())


def _show(now: Status) -> None:
    say({True: "filedrop is running", False: "filedrop isn't running", None: ""}[now["running"]])
    show_table(["company", *COUNTS], [[name, *_counts(company)] for name, company in now["companies"].items()])
    show_table(
        ["account", "reachable", "login", "unread", "for nobody", "last poll"],
        [_account(name, account) for name, account in now["accounts"].items()],
    )
    if now["heard"]:
        say(f"(accounts as of {now['heard']})")
    if now["journal"]:
        tell(now["journal"])
    for line in now["tables"]:
        tell(line)
    for name, account in now["accounts"].items():
        for line in _account_lines(account):
            tell(f"{name}: {line}")
    for name, company in now["companies"].items():
        for line in _company_lines(company):
            tell(f"{name}: {line}")
    if now["unassigned"] and not now["unassigned"]["available"]:
        tell(f"unassigned: {now['unassigned']['path']}: {now['unassigned']['why']}")


def _counts(company: CompanyStatus) -> Iterator[str]:
    for count in COUNTS:
        held = " (held)" if count == "waiting" and company["held"] else ""
        yield f"{company[count] or '-'}{held}"


def _account(name: str, account: AccountStatus) -> list[object]:
    reachable = {True: "yes", False: "no", None: "unknown"}[account["reachable"]]
    return [name, reachable, account["login"], account["unread"], account["for_nobody"], account["last_poll"]]


def _account_lines(account: AccountStatus) -> Iterator[str]:
    if account["why"]:
        yield account["why"]
    if account["for_nobody"]:
        yield f"{account['for_nobody']} messages in the inbox are for none of the companies (see `unassigned`)"
    if account["surplus"]:
        yield f"the access point has these messages more than once: {', '.join(map(str, account['surplus']))}"


def _company_lines(company: CompanyStatus) -> Iterator[str]:
    for folder in company["folders"]:
        if not folder["available"]:
            yield f"{folder['path']}: {folder['why']}"
        elif folder["warning"]:
            yield f"{folder['path']}: {folder['warning']}"
    if company["waiting"] and company["why"]:
        yield f"{company['waiting']} waiting: {company['why']}"
    for document in company["documents"]:
        known = f" [{document['id']}]" if document["state"] == "doubt" else ""
        number = f" (message {document['msg_no']})" if document["msg_no"] is not None else ""
        yield f"{document['state']}: {document['file']}{known}{number}: {document['why']}"
    for message in company["messages"]:
        yield f"stuck: message {message['msg_no']} from {message['sender']}: {message['why']}"
    for name in company["ignored"]:
        yield f"ignored: {name} has lain in outbound/ for over an hour, and is no document by its name"
