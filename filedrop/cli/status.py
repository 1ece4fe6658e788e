"""`filedrop status`: what needs attention, how many documents are in each state, and why."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, UNREACHABLE
from filedrop.cli.opening import WHO_MAY, check_company, host_name, journal_if_any, open_config, shared
from filedrop.cli.show import complain, say, show_json, tell
from filedrop.cli.tables import show_table
from filedrop.errors import ConfigError, FiledropError, JournalError
from filedrop.files import is_missing, may_use
from filedrop.files.disk import shortage
from filedrop.journal.sharing import hosts_of
from filedrop.model.obligations import SILENT
from filedrop.model.report import LISTED
from filedrop.process.lock import is_running
from filedrop.status import daemon_file, status_file
from filedrop.status.matters import by_cause, heading, in_a_line, line_of, trouble, unlisted, verdict
from filedrop.status.model import COUNTED_IN, COUNTS, VERSION, Status, folders_of
from filedrop.status.reasons import asked_again, shared_reasons
from filedrop.status.survey import Survey
from filedrop.status.together import together
from filedrop.texts.printable import listed
from filedrop.times import local, moment

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.status.model import AccountStatus, CompanyStatus, Count, DocumentStatus, Matter


MATTERS = ("overdue", "failed", "stuck")  # counts of what needs attention in any case
_WRITTEN = "`state` and `root`"
_MOMENTS: tuple[Literal["written", "configured"], ...] = ("written", "configured")
_FOLDERS: tuple[Literal["root", "state"], ...] = ("root", "state")


@click.command(epilog="\b\nExample: filedrop status --check")
@click.argument("company", required=False)
@click.option("--check", "is_check", is_flag=True, help="For monitoring: one line, and an exit status.")
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.pass_obj
def status(config_option: str | None, company: str | None, *, is_check: bool, as_json: bool) -> None:
    """Show what needs attention, and how many documents each company has in each state, with reasons.

    With COMPANY, leave out what is about other companies and their accounts.

    What only the daemon knows, such as the unread messages, comes from daemon.json in the daemon's state. If you may
    not read the state, or if the configuration has a mistake, this shows what the daemon wrote to status.json in the
    root.

    With --check the exit status is 0 if everything is working, 1 if something needs attention, filedrop isn't running
    or it reported nothing for five minutes, 2 if the configuration is wrong, and 3 if an account can't be used: the
    access point can't be reached or refuses the login, the password can't be read, or base_url is wrong.
    """
    try:
        config = open_config(config_option)
    except ConfigError as error:
        _answer_without_configuration(configuration.find(config_option), error, is_check=is_check, as_json=as_json)
        raise
    if company is not None:
        check_company(config, company)
    if is_missing(config.state) or may_use(config.state):
        _answer(_about(company, _look(config), config), is_check=is_check, as_json=as_json)
    else:
        with _by_anybody():
            _answer(_about(company, _reported(config), config), is_check=is_check, as_json=as_json)


def _answer(now: Status, *, is_check: bool, as_json: bool) -> None:
    if as_json:
        show_json(now)
    if is_check:
        line, exit_status = checked(now, datetime.now().astimezone())
        if not as_json:
            say(line)
        raise SystemExit(exit_status)
    if not as_json:
        _show(now)


def _about(company: str | None, now: Status, config: Config) -> Status:
    """The part of a status that is about this company; all of it for None."""
    if company is None:
        return now
    others = {*config.accounts} - {config.companies[company].account}
    return {
        **now,
        "companies": {name: counts for name, counts in now["companies"].items() if name == company},
        "accounts": {name: account for name, account in now["accounts"].items() if name not in others},
        "matters": [
            matter
            for matter in now["matters"]
            if matter["company"] in ("", company) and matter["about"].removeprefix("account ") not in others
        ],
    }


@contextmanager
def _by_anybody() -> Iterator[None]:
    """A context in which a status.json is shown: anybody may have written it. Raises FiledropError for a wrong form."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FiledropError(f"{status_file.NAME} is damaged; the daemon writes it again within a minute") from error


def checked(status: Status, now: datetime) -> tuple[str, int]:
    """The status in a line, and as an exit status."""
    silent = _silent(status, now)
    line = f"{silent}{in_a_line(status)}"
    if any(matter["kind"] == "account" for matter in status["matters"]):
        return line, UNREACHABLE
    return line, FAILED if silent or status["matters"] else 0


def _silent(status: Status, now: datetime) -> str:
    """The sentence that says so where a daemon should have reported lately and hasn't; "" where it has."""
    heard = moment(status["heard"])
    if status["running"] is False or (heard and abs(now - heard) <= SILENT):
        return ""
    since = f" since {local(heard)}" if heard else ""
    if status["running"]:
        return f"filedrop runs, but reported nothing{since}: check that it can write to {_WRITTEN}. Its last report: "
    return f"filedrop reported nothing{since}: check that it runs and can write to {_WRITTEN}. Its last report: "


def _reported(config: Config) -> Status:
    """What the daemon wrote to status.json, for who may not use its state."""
    status, short = status_file.read(config.root), ""
    with suppress(OSError):  # nor may we ask about the folder that it is in
        short = shortage(config.state)
    why = f"{config.state} can't be used: {short}" if short else f"you may not read {config.state}"
    if status is None:
        raise FiledropError(f"{why}, and there is no {status_file.NAME} in {config.root}: run this as {WHO_MAY}")
    complain(f"{why}: this is what filedrop reported at {status['written']}")
    return status


def _look(config: Config) -> Status:
    """The status now, by a look at everything, and what only the daemon knows."""
    running, part = is_running(config.state), daemon_file.read(config.state)
    if not running:  # it reported the trouble that it had, not what there is now
        troubles = {about: why for about, why in part.troubles.items() if about != "configuration"}
        part = replace(part, journal="", troubles=troubles)
    elif not part.journal and (short := shortage(config.state)):  # of which the daemon can write nothing there
        part = replace(part, journal=f"the journal can't be written in {config.state}: {short}; nothing is posted")
    journal = None
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(journal_if_any(config))
            if journal and not running:  # a daemon has done so at its start
                journal.check_integrity()
            if journal and config.journal is not None:
                seen, reports = hosts_of(shared(journal))
                part = together(part, host_name(config), reports, seen.unserved(config.accounts))
        except JournalError as error:
            journal, part = None, replace(part, journal=str(error))
        return Survey(config, journal).look(part, running=running, now=datetime.now().astimezone())


def _answer_without_configuration(path: Path, error: ConfigError, *, is_check: bool, as_json: bool) -> None:
    """Show what there is to show while the configuration in this file has a mistake, which is part of the answer."""
    root, state = (configuration.named_folder(key, path) for key in _FOLDERS)
    is_stopped = state is not None and is_running(state) is False
    before = None if is_stopped or not root else _by_the_one_before(root)
    if is_check or as_json:
        why = f"the configuration can't be used: {'; '.join(error.complaints)}"
        matters = [*_others(before), trouble("configuration", why)]
        now: Status = {**(before or _nothing_known()), "matters": matters}
        now["troubles"] = {**now["troubles"], "configuration": why}
        now["running"] = False if is_stopped else now["running"]
        if as_json:
            show_json(now)
        else:
            say(in_a_line(now))
    elif is_stopped:
        say("filedrop isn't running, and can't start with this configuration.")
    elif before:
        with suppress(FiledropError), _by_anybody():  # the mistake is what matters
            which = "the configuration before that" if before["troubles"].get("configuration") else "that one"
            written, read = (datetime.fromisoformat(before[key]) for key in _MOMENTS)
            say(f"filedrop read its configuration at {local(read)}, and uses {which}. It reported at {local(written)}:")
            _show(before)


def _by_the_one_before(root: Path) -> Status | None:
    """What the daemon that runs wrote lately; None if it didn't, or if that has a wrong form."""
    with suppress(FiledropError), _by_anybody():
        status = status_file.read(root)
        if status and status["running"]:
            written, _ = (datetime.fromisoformat(status[key]) for key in _MOMENTS)
            in_a_line(status)
            return status if abs(datetime.now().astimezone() - written) <= SILENT else None
    return None


def _others(before: Status | None) -> list[Matter]:
    """What needs attention but for the configuration."""
    return [matter for matter in before["matters"] if matter["about"] != "configuration"] if before else []


def _nothing_known() -> Status:
    return Status(
        filedrop=VERSION, written=datetime.now().astimezone().isoformat(timespec="seconds"), heard=None, running=None,
        journal="", companies={}, accounts={}, tables=[], troubles={}, alerts=[], unassigned=None, configured="",
        keep_archive="forever", matters=[],
    )  # fmt: skip


def _show(now: Status) -> None:
    silent = _silent(now, datetime.now().astimezone())
    running = "filedrop is running. " if now["running"] and not silent else ""
    say(f"{running}{silent}{verdict(now)}")
    for matter in by_cause(now):
        for line in _matter_lines(matter, now):
            tell(line)
    _show_companies(now)
    show_table(
        ["account", "reachable", "login", "unread", "for nobody", "last poll"],
        [_account(name, account) for name, account in now["accounts"].items()],
    )
    if now["heard"]:
        say(f"(accounts at {now['heard']})")
    about_accounts = {matter["about"] for matter in now["matters"] if matter["kind"] == "account"}
    for name, account in now["accounts"].items():
        for line in _account_lines(account, with_why=name not in about_accounts):
            tell(f"{name}: {line}")
    named = {item["known"] for matter in now["matters"] for item in matter["items"]}
    for line in lines_of(now["companies"], [count for count in COUNTS if count not in MATTERS], named):
        tell(line)
    for name, folder in folders_of(now):
        if folder["progress"]:
            tell(f"{name}: {folder['path']}: {folder['progress']}")


def _show_companies(now: Status) -> None:
    """Show what each company has; of many, those that have something."""
    is_used = any(company["unreachable"] for company in now["companies"].values())
    counts = [count for count in COUNTS if is_used or count != "unreachable"]
    is_seen = now["heard"] is not None
    rows = [[name, *_counts(company, counts, is_seen=is_seen)] for name, company in now["companies"].items()]
    shown = [row for row in rows if len(rows) <= LISTED or {*row[1:]} != {"-"}]
    show_table(["company", *counts], shown)
    if quiet := len(rows) - len(shown):
        say(f"{quiet} {'company' if quiet == 1 else 'companies'}: nothing to report")


def _matter_lines(matter: Matter, now: Status) -> Iterator[str]:
    """What needs attention, what to do about it, and its documents and messages."""
    yield f"{heading(matter)}: {matter['advice']}" if matter["advice"] else heading(matter)
    company = now["companies"].get(matter["company"])
    several = company is not None and sum(folder["use"] == "outbound" for folder in company["folders"]) > 1
    whose = ": ".join(filter(None, (matter["company"] or matter["about"], matter["kind"])))
    for item in matter["items"]:
        yield f"{whose}: {line_of(item, in_full=several)}"
    if more := unlisted(matter):
        yield f"{whose}: {more}"


def _counts(company: CompanyStatus, counts: Iterable[Count], *, is_seen: bool) -> Iterator[str]:
    """The counts; `?` for files in a folder that is away. `is_seen`: filedrop ran, so a missing folder isn't new."""
    uses = {folder["use"] for folder in company["folders"] if is_seen and not folder["available"]}
    away = {count for use in uses for count in COUNTED_IN.get(use, ())}
    for count in counts:
        held = " (held)" if count == "waiting" and company["held"] else ""
        nothing = "?" if count in away else "-"
        yield f"{company[count] or nothing}{held}"


def _account(name: str, account: AccountStatus) -> list[object]:
    reachable = {True: "yes", False: "no", None: "unknown"}[account["reachable"]]
    return [name, reachable, account["login"], account["unread"], account["for_nobody"], account["last_poll"]]


def _account_lines(account: AccountStatus, *, with_why: bool) -> Iterator[str]:
    if account["why"] and with_why:
        yield f"{account['why']}{asked_again(account, datetime.now().astimezone())}"
    yield from account["lists"]
    if account["fetched"]:
        yield account["fetched"]
    statuses = account["statuses"] or 0
    if others := (account["for_nobody"] or 0) - statuses:
        receivers = [*account["nobodys"], *(["others"] if others > len(account["nobodys"]) else [])]
        which = f" ({listed(receivers)})" if receivers else ""
        yield (
            f"{others} unread for none of your companies{which}: add their receivers to a company, or set `unassigned`"
        )
    if statuses:
        some, them = ("1 status of access points names", "it")
        if statuses > 1:
            some, them = f"{statuses} statuses of access points name", "them"
        yield f"{some} no document of this filedrop: leave {them}, or set `unassigned` to a folder to keep {them}"
    if account["surplus"]:
        numbers = ", ".join(map(str, account["surplus"][:LISTED]))
        more = f" and {more} more" if (more := len(account["surplus"]) - LISTED) > 0 else ""
        yield f"the access point has these documents twice: {numbers}{more}; inform their receivers, or the operator"


def lines_of(
    companies: Mapping[str, CompanyStatus], counts: Iterable[Count], named: Container[str] = ()
) -> Iterator[str]:
    """The reasons of these counts, each once, and below it the documents and messages that are named.

    Documents whose ids are `named`, in brackets, are left out.
    """
    for reason in shared_reasons(companies, counts):
        if reason.number:
            yield f"{reason.whose}: {reason.number} {reason.state}: {reason.why}"
        for name, company in reason.companies.items():
            for line in _named_below(company, reason.state, named):
                yield f"{name}: {reason.state}: {line}"


def _named_below(company: CompanyStatus, count: Count, named: Container[str]) -> Iterator[str]:
    """A company's documents and messages with this state, and how many more there are."""
    several = sum(folder["use"] == "outbound" for folder in company["folders"]) > 1
    for document in company["documents"]:
        if document["state"] == count and f"[{document['id']}]" not in named:
            yield f"{_named(document, several=several)}: {document['why']}"
    for message in company["messages"] if count == "stuck" else ():
        yield f"message {message['msg_no']} from {message['sender']}: {message['why']}"
    if count in company["unlisted"]:
        yield f"and {company['unlisted'][count]} more"


def _named(document: DocumentStatus, *, several: bool) -> str:
    known = f" [{document['id']}]" if document["state"] == "doubt" else ""
    number = f" (message {document['msg_no']})" if document["msg_no"] is not None else ""
    return f"{document['path'] if several else document['file']}{known}{number}"
