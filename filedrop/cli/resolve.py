"""`filedrop resolve`: a person ends a doubt (contract 6)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from filedrop.cli.opening import open_access_point, open_config, open_journal
from filedrop.cli.show import say, show_json
from filedrop.document import Document, State, same_participant
from filedrop.errors import Changed, FiledropError

if TYPE_CHECKING:
    from filedrop.accesspoint import Message
    from filedrop.config import Account, Config
    from filedrop.journal import Journal


@click.command()
@click.argument("name")
@click.option("--sent", "msg_no", type=int, metavar="MSG_NO", help="The access point has it under this number.")
@click.option("--send-again", is_flag=True, help="The access point doesn't have it.")
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.pass_obj
def resolve(config_option: str | None, name: str, *, msg_no: int | None, send_again: bool, as_json: bool) -> None:
    """End a doubt: NAME is the file's name in sending/, or the id that `status` shows.

    --sent asks the access point for the message, which must be from and to the same participants.
    """
    if (msg_no is None) == (not send_again):
        raise click.UsageError("write either --sent and the message number, or --send-again")
    config = open_config(config_option)
    with open_journal(config) as journal:
        document = _in_doubt(journal, name)
        now = datetime.now().astimezone()
        if msg_no is None:
            after = document.not_found(now, event="to be sent again, a person says")
        else:
            message = _message(config, journal, document, msg_no)
            sent = document.sent(now, msg_no, received=message.received, uuid=message.uuid, event="sent, a person says")
            after = sent.later(now + config.outbound.track)
        try:
            journal.record(after)
        except Changed as error:
            raise FiledropError(f"{name} was taken a step further meanwhile: see filedrop status") from error
    if as_json:
        show_json({"id": after.id, "file": after.file, "state": after.state.value, "msg_no": after.msg_no})
    elif msg_no is None:
        say(f"{after.company}: {after.file} will be sent again")
    else:
        say(f"{after.company}: {after.file} was sent as message {msg_no}")


def _in_doubt(journal: Journal, name: str) -> Document:
    doubtful = journal.in_state(State.DOUBT)
    found = [document for document in doubtful if name in (document.id, document.file, document.dropped_as)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise FiledropError(f"no document in doubt is called {name}: see filedrop status")
    several = "\n".join(f"  {one.id}  {one.company}  {one.file}  claimed {one.claimed:%Y-%m-%d %H:%M}" for one in found)
    raise FiledropError(f"several documents in doubt are called {name}; write one of these ids instead:\n{several}")


def _message(config: Config, journal: Journal, document: Document, msg_no: int) -> Message:
    """The message of that number, if it can be the document's."""
    if journal.owned(document.identity, [msg_no]):
        raise FiledropError(f"message {msg_no} belongs to another document already")
    with open_access_point(_account(config, document)) as access_point:
        message = access_point.status(msg_no)
    if message is None:
        raise FiledropError(f"the access point has sent no message {msg_no} for {document.identity}")
    for role in ("sender", "receiver"):
        says, wanted = getattr(message, role), getattr(document, role)
        if says is not None and not same_participant(says, wanted):
            raise FiledropError(
                f"message {msg_no} has the {role} {says}, and {document.file} has {wanted}: it is another"
            )
    return message


def _account(config: Config, document: Document) -> Account:
    for account in config.accounts.values():
        if account.identity == document.identity:
            return account
    gone = f"{document.file} was posted to {document.identity}, which the configuration doesn't name any more"
    raise FiledropError(f"{gone}: put that account back")
