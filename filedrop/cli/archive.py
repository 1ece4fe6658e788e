"""`filedrop messages`, `download`, `read` and `statistics`: the access point's own view, one account at a time."""

from __future__ import annotations

import operator
import re
import shutil
from dataclasses import asdict
from datetime import date
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

import click

from filedrop.accesspoint import Gone, Message
from filedrop.cli.delivery import deliver_again
from filedrop.cli.opening import choose_account, open_access_point, open_config
from filedrop.cli.show import say, show_json, show_table
from filedrop.document import local_name
from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from filedrop.accesspoint import AccessPoint

COLUMNS = ("message", "way", "received", "delivered", "sender", "receiver", "document")
COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}
ACCOUNT = click.option("--account", metavar="NAME", help="Whose; may be left out where there is one account.")


@click.command()
@click.option("--sent", metavar="'>=2026-11-01'", help="A day after one of >= <= > < =")
@click.option("--sender", metavar="PARTICIPANT")
@click.option("--receiver", metavar="PARTICIPANT")
@click.option("--direction", type=click.Choice(["IN", "OUT"], case_sensitive=False))
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@ACCOUNT
@click.pass_obj
def messages(
    config_option: str | None,
    *,
    account: str | None,
    sent: str | None,
    sender: str | None,
    receiver: str | None,
    direction: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the access point's archive: all its pages, all that is asked for."""
    after, on_day = _days(sent)
    with open_access_point(choose_account(open_config(config_option), account)) as access_point:
        archive = access_point.messages(after=after, sender=sender, receiver=receiver, direction=direction)
        found = (message for message in archive if on_day(message))
        if as_json:
            for message in islice(found, limit):
                show_json(asdict(message))
        else:
            show_table(COLUMNS, map(_row, islice(found, limit)))


def _row(message: Message) -> list[object]:
    times = [(moment or "")[:16].replace("T", " ") for moment in (message.received, message.delivered)]
    document = local_name(message.document_id)
    return [message.msg_no, message.direction, *times, message.sender, message.receiver, document]


@click.command()
@click.argument("msg_no", type=click.IntRange(1))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to; MSG_NO.xml if left out.")
@click.option("--deliver", is_flag=True, help="Into the inbound folder of its receiver, again.")
@ACCOUNT
@click.pass_obj
def download(
    config_option: str | None, msg_no: int, *, output: Path | None, deliver: bool, account: str | None
) -> None:
    """Fetch a message's document; no file is ever overwritten."""
    if output and deliver:
        raise click.UsageError("write -o or --deliver, not both")
    config = open_config(config_option)
    chosen = choose_account(config, account)
    with open_access_point(chosen) as access_point:
        if deliver:
            say(deliver_again(config, chosen, access_point, msg_no))
        else:
            target = output or Path(f"{msg_no}.xml")
            _save(access_point, msg_no, target, max_size=config.inbound.max_size)
            say(target)


def _save(access_point: AccessPoint, msg_no: int, target: Path, *, max_size: int) -> None:
    with cast("BinaryIO", TemporaryFile()) as fetched:  # on Windows it is a wrapper, which is used as any other
        try:
            access_point.download(Message(msg_no), fetched, max_size=max_size)
        except Gone as error:
            raise FiledropError(f"the access point has no document for message {msg_no}") from error
        fetched.seek(0)
        try:
            target.touch(exist_ok=False)
            try:
                with target.open("wb") as file:
                    shutil.copyfileobj(fetched, file)
            except BaseException:
                target.unlink()
                raise
        except OSError as error:
            raise FiledropError(f"{target} can't be written: {error.strerror}; name another with -o") from error


@click.command()
@click.argument("msg_no", type=click.IntRange(1))
@ACCOUNT
@click.pass_obj
def read(config_option: str | None, msg_no: int, *, account: str | None) -> None:
    """Mark a message of the inbox as read: filedrop will not fetch it any more."""
    with open_access_point(choose_account(open_config(config_option), account)) as access_point:
        if not access_point.mark_read(msg_no):
            raise FiledropError(f"the inbox has no message {msg_no}: see filedrop messages --direction IN")
    say(f"message {msg_no} is marked as read")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One object.")
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
        [[name, *asdict(flow).values()] for name, flow in (("in", figures.incoming), ("out", figures.outgoing))],
    )


def _days(sent: str | None) -> tuple[date | None, Callable[[Message], bool]]:
    """The first day that is wanted, if there is one, and whether a message is of a day that is."""
    if sent is None:
        return None, lambda _message: True
    match = re.fullmatch(r"(>=|<=|>|<|=)?\s*(\d{4}-\d{2}-\d{2})", sent.strip())
    try:
        day = date.fromisoformat(match[2]) if match else None
    except ValueError:
        day = None
    if match is None or day is None:
        raise click.UsageError(f"--sent: {sent!r} is no day; write one like '>=2026-11-01'")
    sign, text = match[1] or "=", day.isoformat()
    return None if "<" in sign else day, lambda message: COMPARISONS[sign]((message.received or "")[:10], text)
