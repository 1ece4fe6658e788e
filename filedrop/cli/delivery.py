"""`filedrop download --deliver`: a message into its company's inbound folder again, the way the daemon does it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from filedrop.cli.opening import open_journal, open_log
from filedrop.clockwork import now
from filedrop.desk import InboundDesk
from filedrop.document import same_participant
from filedrop.errors import FiledropError
from filedrop.folders import InboundFolder
from filedrop.porter import Porter
from filedrop.receiving import Receiving
from filedrop.standing import Standing

if TYPE_CHECKING:
    from filedrop.accesspoint import AccessPoint, Message
    from filedrop.config import Account, Config


def deliver_again(config: Config, account: Account, access_point: AccessPoint, msg_no: int) -> str:
    """Fetch a message into the folder of its receiver, and return the document's name there.

    Raises FiledropError, OSError.
    """
    message = _message(access_point, msg_no)
    folder = _folder(config, message)
    events: list[Any] = []
    log = open_log(config.log.model_copy(update={"level": "error"}), events.append)
    retry = config.outbound.retry
    with open_journal(config) as journal:
        folder.take_up(journal)
        desk = InboundDesk(
            account=account.name,
            access_point=access_point,
            standing=Standing(
                access_point.probe, first=retry.first, longest=retry.longest, steady=time.monotonic, log=log
            ),
            journal=journal,
            rules=config.inbound,
            folders={},
            unassigned=folder,
            porter=Porter(account.login, access_point, log),  # never called for one message
            now=now,
            steady=time.monotonic,
            log=log,
        )
        row = Receiving(desk).fetch(folder, message)
        journal.record_message(replace(row, state="read"))  # a daemon beside us has nothing left to do
    return next(f"{folder.path / event['file']}" for event in events if event["event"] == "message.received")


def _message(access_point: AccessPoint, msg_no: int) -> Message:
    for message in access_point.messages(direction="IN"):
        if message.msg_no == msg_no and message.direction != "OUT":
            return message
    raise FiledropError(f"the access point has received no message {msg_no}: see filedrop messages --direction IN")


def _folder(config: Config, message: Message) -> InboundFolder:
    receiver = message.receiver or ""
    for company in config.companies.values():
        if any(same_participant(receiver, participant) for participant in company.participants):
            return InboundFolder(company.inbound, company=company.name, below=config.root)
    if config.unassigned is not None:
        return InboundFolder(config.unassigned, company="unassigned", below=config.root)
    raise FiledropError(f"message {message.msg_no} is for {receiver}, which is none of the companies here")
