"""`filedrop messages`, `download`, `read` and `statistics`: the access point's own view, one account at a time."""

from __future__ import annotations

import operator
import re
import shutil
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from heapq import nlargest
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

import click

from filedrop.cli.opening import choose_account, open_access_point, open_config, open_journal, write_new
from filedrop.cli.show import progress, say, show_json
from filedrop.cli.tables import show_table
from filedrop.errors import Changed, FiledropError, FolderUnavailable, NoClearAnswer
from filedrop.files.patience import within
from filedrop.files.rights import explain
from filedrop.inbound.context import MessageSource
from filedrop.inbound.fetcher import fetch
from filedrop.inbound.pages import PageMaker
from filedrop.inbound.placing import place
from filedrop.inbound.reserving import placed_before
from filedrop.model.document import local_name, same_participant
from filedrop.model.message import Message
from filedrop.programs.children import NoAnswer
from filedrop.storage.company_folders import inbound_folder, moved_to, received_paths, unassigned_folder
from filedrop.texts.printable import command
from filedrop.times import local, moment, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    import structlog

    from filedrop.accesspoint import AccessPoint, Flow
    from filedrop.config import Account, Config
    from filedrop.journal import Journal, MessageRow
    from filedrop.storage.company_folders import InboundFolder

COLUMNS = ("message", "way", "received", "delivered", "sender", "receiver", "document")
MISSING_COLUMNS = ("message", "number", "file", "state")
COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}
COMPARISONS |= {"=>": operator.ge, "=<": operator.le}  # as the interface writes them
WINDOWS = (1, 10, 100, 1000)  # days back: the archive is listed oldest first, and may hold years
LONG_AGO = datetime.min.replace(tzinfo=UTC)
PATIENCE = 10.0  # seconds for a folder to answer
ACCOUNT = click.option("--account", metavar="NAME", help="The account. Not needed if there is only one.")


@click.command(epilog="\b\nExample: filedrop messages --direction IN --sent '>=2026-11-01'")
@click.option("--sent", metavar="'>=2026-11-01'", help="Only messages of these days: >=, <=, >, < or =, and a date.")
@click.option("--sender", metavar="PARTICIPANT", help="Only messages from this participant.")
@click.option("--receiver", metavar="PARTICIPANT", help="Only messages to this participant.")
@click.option("--direction", type=click.Choice(["IN", "OUT"], case_sensitive=False), help="Received, or sent.")
@click.option("--limit", type=click.IntRange(1), help="At most this many: the newest.")
@click.option("--missing", is_flag=True, help="Only received ones whose documents aren't in their folders any more.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@ACCOUNT
@click.pass_obj
def messages(
    config_option: str | None,
    /,
    *,
    account: str | None,
    sent: str | None,
    limit: int | None,
    missing: bool,
    as_json: bool,
    **asked_for: str | None,
) -> None:
    """List the messages in the access point's archive, the newest first."""
    first, on_day = _days(sent)
    troubles: list[NoClearAnswer] = []
    config = open_config(config_option)
    with ExitStack() as stack:
        access_point = stack.enter_context(open_access_point(choose_account(config, account)))
        absent = _Missing(stack.enter_context(open_journal(config)), access_point.identity) if missing else None

        def since(day: date | None) -> Iterable[Message]:
            troubles.clear()  # those of fewer days
            archive = progress(access_point.messages(after=day, **asked_for), "messages")
            on_these_days = filter(on_day, _as_far_as_it_leads(archive, troubles))
            return filter(absent.has, on_these_days) if absent else on_these_days

        found = since(first) if sent or not limit else _far_enough(since, limit)
        newest = sorted(found, key=_age, reverse=True) if limit is None else nlargest(limit, found, key=_age)
    if as_json:
        for message in newest:
            show_json(asdict(message) | (absent.of[message.msg_no] if absent else {}))
    elif absent:
        show_table(MISSING_COLUMNS, ([message.msg_no, *absent.of[message.msg_no].values()] for message in newest))
    else:
        show_table(COLUMNS, map(_row, newest))
    if troubles:  # there may be newer ones
        raise troubles[0]


class _Missing:
    """Received messages whose documents aren't in their folders any more; `of` each number, what is known of it."""

    def __init__(self, journal: Journal, identity: str) -> None:
        self._journal = journal
        self._identity = identity
        self.of: dict[int, dict[str, str | None]] = {}

    def has(self, message: Message) -> bool:
        """Whether this is one. Raises FiledropError where its folder can't be read."""
        row = self._journal.messages.known(self._identity, [message]).get(message.msg_no)
        if row is None or row.state != "read" or not row.file:
            return False
        folder = Path(row.folder)
        paths = received_paths(folder, row.file)
        try:
            state = within(PATIENCE, lambda: _why_absent(folder, paths))
        except OSError as error:
            raise FiledropError(f"what is missing can't be told: {explain(error, folder)}") from error
        if state:
            self.of[message.msg_no] = {"number": row.number, "file": str(paths[0]), "state": state}
        return bool(state)


def _why_absent(folder: Path, paths: Sequence[Path]) -> str:
    """What may have become of a document that is at none of these paths; "" where it is at one. Raises OSError."""
    folder.stat()  # a share that is away has nothing, which says nothing
    if any(path.is_file() for path in paths):
        return ""
    return "taken" if paths[0].with_name(f"{paths[0].name}.json").is_file() else "missing or taken"


def _as_far_as_it_leads(archive: Iterable[Message], troubles: list[NoClearAnswer]) -> Iterator[Message]:
    """The messages that could be read; `troubles` gets why there weren't more. Raises where there were none."""
    message = None
    try:
        for message in archive:
            yield message
    except NoClearAnswer as error:
        if message is None:
            raise
        troubles.append(error)


def _far_enough(since: Callable[[date | None], Iterable[Message]], count: int) -> Iterable[Message]:
    """So many messages at least, the newest among them, without reading the whole archive for a few."""
    for days in WINDOWS:
        found = list(since(datetime.now(UTC).date() - timedelta(days=days)))
        if len(found) >= count:
            return found
    return since(None)


def _age(message: Message) -> tuple[datetime, int]:
    return message.received_at or LONG_AGO, message.msg_no


def _row(message: Message) -> list[object]:
    times = [_time(message.received), _time(message.delivered)]
    document = local_name(message.document_id)
    return [message.msg_no, message.direction, *times, message.sender, message.receiver, document]


@click.command(epilog="\b\nExample: filedrop download 4300000017 --deliver")
@click.argument("msg_no", type=click.IntRange(1))
@click.option("-o", "--output", metavar="FILE", help="The new file; - is standard output. Default: MSG_NO.xml.")
@click.option("--deliver", is_flag=True, help="Put it into the inbound folder of its receiver again.")
@click.option("--again", is_flag=True, help="With --deliver: even if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@ACCOUNT
@click.pass_obj
def download(
    config_option: str | None,
    msg_no: int,
    *,
    output: str | None,
    deliver: bool,
    again: bool,
    as_json: bool,
    account: str | None,
) -> None:
    """Download a message's document. No file is ever overwritten."""
    if output and (deliver or (output == "-" and as_json)):
        raise click.UsageError(f"write -o or {'--deliver' if deliver else '--json'}, not both")
    config = open_config(config_option)
    chosen = choose_account(config, account)
    with open_access_point(chosen) as access_point:
        if deliver:
            target = deliver_again(config, chosen, access_point, msg_no, again=again)
        else:
            target = Path(output or f"{msg_no}.xml")
            with cast("BinaryIO", TemporaryFile()) as fetched:  # on Windows it is a wrapper, which is used as any other
                access_point.download(Message(msg_no), fetched, max_size=config.inbound.max_size)
                fetched.seek(0)
                if output == "-":
                    shutil.copyfileobj(fetched, sys.stdout.buffer)
                    return
                write_new(target, fetched, "-o")
    if as_json:
        show_json({"msg_no": msg_no, "file": str(target)})
    else:
        say(target)


@click.command(epilog="\b\nExample: filedrop read 4300000017")
@click.argument("msg_no", type=click.IntRange(1))
@ACCOUNT
@click.pass_obj
def read(config_option: str | None, msg_no: int, *, account: str | None) -> None:
    """Mark a message in the inbox as read, so that filedrop doesn't fetch it."""
    config = open_config(config_option)
    chosen = choose_account(config, account)
    with open_access_point(chosen) as access_point:
        if not access_point.mark_read(msg_no):
            raise FiledropError(f"the inbox has no message {msg_no}: see {_received_messages(config, chosen)}")
    say(f"message {msg_no} is marked as read")


@click.command(epilog="\b\nExample: filedrop statistics")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@ACCOUNT
@click.pass_obj
def statistics(config_option: str | None, *, account: str | None, as_json: bool) -> None:
    """Show the account's figures."""
    with open_access_point(choose_account(open_config(config_option), account)) as access_point:
        figures = access_point.statistics()
    if as_json:
        show_json(asdict(figures))
        return
    say(f"account {figures.account or '-'}, {figures.contact_email or '-'}, {figures.total} messages")
    show_table(
        ["", "total", "undelivered", "oldest undelivered", "last"],
        [_flow("in", figures.incoming), _flow("out", figures.outgoing)],
    )


def _flow(name: str, flow: Flow) -> list[object]:
    return [name, flow.total, flow.undelivered, _time(flow.oldest_undelivered), _time(flow.last)]


def _time(said: str | None) -> str | None:
    time = moment(said)
    return local(time) if time else said


def _days(sent: str | None) -> tuple[date | None, Callable[[Message], bool]]:
    """The first day that is wanted, if there is one, and whether a message is of a day that is."""
    if sent is None:
        return None, lambda _message: True
    match = re.fullmatch(r"(>=|<=|=>|=<|>|<|=)?\s*(\d{4}-\d{2}-\d{2})", sent.strip())
    try:
        day = date.fromisoformat(match[2]) if match else None
    except ValueError:
        day = None
    if match is None or day is None:
        raise click.UsageError(f"--sent: {sent!r} is not a date; write one like '>=2026-11-01'")
    sign, text = match[1] or "=", day.isoformat()
    return None if "<" in sign else day, lambda message: COMPARISONS[sign]((message.received or "")[:10], text)


def deliver_again(
    config: Config, account: Account, access_point: AccessPoint, msg_no: int, *, again: bool = False
) -> Path:
    """Fetch a message into the folder of its receiver, and return the document's path there.

    Raises FiledropError, also where it is there and isn't wanted `again`; OSError.
    """
    message = _message(config, account, access_point, msg_no)
    folder = _folder(config, message)
    from filedrop.process import logs  # noqa: PLC0415 - structlog is a fifth of a start: none for those who read

    log = logs.open_log(config.log.model_copy(update={"level": "error"}))
    logs.log_libraries(log)
    with open_journal(config) as journal:
        folder.take_up(journal)
        source = MessageSource(
            account=account.name,
            access_point=access_point,
            journal=journal,
            rules=config.inbound,
            now=now,
            log=log,
            config=config,
        )
        known = journal.messages.known(access_point.identity, [message]).get(msg_no)
        if not again and known is not None and (path := _document_of(known)):
            raise _is_there(msg_no, path)
        fetched = fetch(source, folder, message, known, set())
        former = None if again else placed_before(folder.at(), fetched, moved_to(folder.at()))
        if former is not None and former.document is not None:
            fetched.discard(folder.at())
            raise _is_there(msg_no, former.document.path)
        folder.at().sync()
        fetched = fetched._replace(row=journal.messages.record(fetched.row))
        (row,) = place(source, folder, {msg_no: fetched}, resumed=False, again=True).values()
        if isinstance(row, Exception):
            raise row
        made = _page(folder, row, journal, log)
        row = journal.messages.record(replace(row, state="read"))  # a daemon has nothing left to do but its page
        if made is not None:
            with suppress(Changed):  # a daemon has just begun with it
                journal.messages.record(replace(row, page=None, sidecar=made.sidecar))
    return folder.path / row.file


def _document_of(row: MessageRow) -> Path | None:
    """Where the document of a message is that was placed, by its name; None where it isn't."""
    paths = received_paths(Path(row.folder), row.file) if row.file else ()
    return next((path for path in paths if path.is_file()), None)


def _is_there(msg_no: int, path: Path) -> FiledropError:
    return FiledropError(f"message {msg_no} is in its folder, as {path}; to put it there once more, add --again")


def _page(
    folder: InboundFolder, row: MessageRow, journal: Journal, log: structlog.stdlib.BoundLogger
) -> MessageRow | None:
    """Make the page of a message that was placed. Returns its row, with its sidecar as that is now.

    None where it isn't wanted, or couldn't be made now: then the daemon tries again.
    """
    if row.page is None:
        return None
    maker = PageMaker(journal, log)
    try:
        return maker.make(folder, row)
    except (NoAnswer, FolderUnavailable, OSError):
        return None
    finally:
        maker.renderer.close()


def _message(config: Config, account: Account, access_point: AccessPoint, msg_no: int) -> Message:
    for message in access_point.messages(direction="IN"):
        if message.msg_no == msg_no and message.direction != "OUT":
            return message
    see = _received_messages(config, account)
    raise FiledropError(f"the access point has received no message {msg_no}: see {see}")


def _received_messages(config: Config, account: Account) -> str:
    """The command that shows what an account has received."""
    return command("filedrop", "messages", "--direction", "IN", *config.account_option(account.name))


def _folder(config: Config, message: Message) -> InboundFolder:
    receiver = message.receiver or ""
    for company in config.companies.values():
        if any(same_participant(receiver, participant) for participant in company.participants):
            return inbound_folder(config, company)
    if unassigned := unassigned_folder(config):
        return unassigned
    twin_of = config.company_of_twin(receiver)
    whose = f"no company, but the other id of {twin_of}: add it there" if twin_of else "no company: add it to one"
    raise FiledropError(
        f"message {message.msg_no} is for {receiver}, which is a participant of {whose}, set `unassigned`, or write "
        "-o FILE instead of --deliver"
    )
