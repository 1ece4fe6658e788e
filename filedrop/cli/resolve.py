"""`filedrop resolve`: a person ends a doubt (contract 6)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from filedrop.cli.opening import open_access_point, open_config, open_journal
from filedrop.cli.show import say, show_json
from filedrop.errors import Changed, FiledropError
from filedrop.journal import Outcome
from filedrop.model.document import A_PERSON_SAYS, Document, State
from filedrop.model.message import LARGEST_NUMBER, contradiction
from filedrop.texts.printable import looks_like
from filedrop.times import local

if TYPE_CHECKING:
    from filedrop.config import Account, Config
    from filedrop.journal import Journal
    from filedrop.model.message import Message


@click.command(epilog="\b\nExample: filedrop resolve invoice-1001.xml --sent 4300000017")
@click.argument("name")
@click.option(
    "--sent",
    "msg_no",
    type=click.IntRange(1, LARGEST_NUMBER),
    metavar="MSG_NO",
    help="The access point has the document, under this message number.",
)
@click.option("--send-again", is_flag=True, help="The access point doesn't have the document: send it again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def resolve(config_option: str | None, name: str, *, msg_no: int | None, send_again: bool, as_json: bool) -> None:
    """End a doubt: the document was sent, or filedrop sends it again.

    NAME is the file's name in sending/, or the id that `status` shows. With --sent, filedrop checks at the access point
    that the message has the same sender and receiver.
    """
    if (msg_no is None) == (not send_again):
        raise click.UsageError("write either --sent and the message number, or --send-again")
    config = open_config(config_option)
    with open_journal(config) as journal:
        document = _in_doubt(journal, name)
        now = datetime.now().astimezone()
        if msg_no is None:
            outcome = Outcome(document.not_found(now, event=f"to be sent again{A_PERSON_SAYS}"))
        else:
            message = _message(config, document, msg_no)
            event = f"sent{A_PERSON_SAYS}"
            sent = document.sent(now, msg_no, received=message.received, uuid=message.uuid, event=event)
            outcome = Outcome(sent.later(now + config.outbound.track), message, otherwise=document)
        # As an answer: whose the number is, is decided in the transaction, since a daemon may find it just now.
        (after,) = journal.numbers.record_answers([outcome])
    if isinstance(after, Changed):
        raise FiledropError(f"{name} changed in the meantime: see filedrop status") from after
    if isinstance(after, FiledropError):
        raise after
    if after.state is State.DOUBT:
        raise FiledropError(f"message {msg_no} already belongs to another document")
    if as_json:
        show_json({"id": after.id, "file": after.file, "state": after.state.value, "msg_no": after.msg_no})
    elif msg_no is None:
        say(f"{after.company}: {after.file} will be sent again")
    else:
        say(f"{after.company}: {after.file} was sent as message {msg_no}")


def _in_doubt(journal: Journal, name: str) -> Document:
    doubtful = journal.documents.in_state(State.DOUBT)
    found = [document for document in doubtful if name in (document.id, document.file, document.dropped_as)]
    found = found or [
        document for document in doubtful if looks_like(name, document.file) or looks_like(name, document.dropped_as)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise FiledropError(f"no document in doubt is named {name}: see filedrop status")
    several = "\n".join(
        f"  {document.id}  {document.company}  {document.file}  claimed {local(document.claimed)}" for document in found
    )
    raise FiledropError(f"several documents in doubt are named {name}; write one of these ids instead:\n{several}")


def _message(config: Config, document: Document, msg_no: int) -> Message:
    """The message of that number, if it can be the document's."""
    with open_access_point(_account(config, document)) as access_point:
        message = access_point.status(msg_no)
    if message is None:
        raise FiledropError(f"the access point has sent no message {msg_no} for {document.identity}")
    if otherwise := contradiction(message, document):
        raise FiledropError(f"message {msg_no} isn't {document.file}: {otherwise}")
    return message


def _account(config: Config, document: Document) -> Account:
    for account in config.accounts.values():
        if account.identity == document.identity:
            return account
    gone = f"{document.file} was posted to {document.identity}, an account that the configuration no longer has"
    raise FiledropError(f"{gone}: add it again")
