"""An inbound folder to which messages are brought one by one, by a clock that moves when it is told to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from support.documents import invoice

from filedrop.inbound.arrival import Arrival
from filedrop.inbound.delivery import InboundDelivery
from filedrop.inbound.inbox import Inbox
from filedrop.storage.company_folders import InboundFolder

if TYPE_CHECKING:
    from support.stepping import Life
    from support.world import World

    from filedrop.inbound.context import InboundContext
    from filedrop.inbound.inbox import Unread
    from filedrop.journal import MessageRow

STATES = ("named", "placing", "read", "stuck")
FEW = 10  # rounds in which each message has come to its end


class Ending(NamedTuple):
    """What was told of a message that has come as far as it could."""

    unread: Unread
    error: Exception | None
    was_read: bool


@dataclass
class Landing:
    """The folder, the deliveries into it, and the filedrop whose account the messages come from."""

    world: World
    life: Life
    min_free: int = 0
    endings: list[Ending] = field(default_factory=list)
    delivery: InboundDelivery = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self, path: Path | None = None) -> None:
        """Have a filedrop begin with the folder, or with one there, which knows of it what the journal does."""
        settings = self.world.configuration().inbound
        folder = InboundFolder(
            path or self.world.inbound,
            company="acme",
            below=self.world.root,
            settings=settings,
            name=settings.name,
        )
        self.delivery = InboundDelivery(
            folder, self.life.journal, min_free=self.min_free, log=self.world._log, workers=self.life.service.workers
        )

    @property
    def context(self) -> InboundContext:
        """What the account's way in goes by."""
        return self.life.service.accounts[0].poller._context

    def receive(self, *numbers: str) -> None:
        """Have invoices with these numbers lie in the inbox."""
        for number in numbers:
            self.world.receive(invoice(number))

    def listed(self, context: InboundContext | None = None) -> list[Unread]:
        """The unread messages of the account, or of another, as a poll finds them."""
        return Inbox(context or self.context).unread(lambda _: False)

    def bring(self, *numbers: int, context: InboundContext | None = None) -> None:
        """List the inbox, and hand out its messages, or those with these numbers."""
        for one in self.listed(context):
            if not numbers or one.message.msg_no in numbers:
                self.put(one, context)

    def put(self, one: Unread, context: InboundContext | None = None) -> None:
        """Hand out a message."""
        self.delivery.put(Arrival(context or self.context, one, self._ended, self.context.now()))

    def step(self) -> None:
        """Take a step in the folder."""
        self.delivery.step()

    def fetch(self) -> None:
        """Have the fetchers fetch what they are to."""
        self.life.do_each("fetched")

    def fetched(self, *numbers: str) -> None:
        """Invoices with these numbers have come, and were fetched; they are still to be placed."""
        self.receive(*numbers)
        self.bring()
        self.step()
        self.fetch()

    def read(self) -> None:
        """Have what is placed marked as read."""
        self.life.do_each("mark_read")
        self.life.do_each("record")

    def make_pages(self) -> int:
        """Have the pages made that are owed and can be made now. Returns how many turns that took."""
        self.life.service.pages.add([self.delivery])
        turns = 0
        while self.life.service.pages.turn() <= 0:
            turns += 1
            assert turns < FEW
        return turns

    def all(self) -> None:
        """Take what was handed out as far as it goes."""
        for _ in range(FEW):
            if self.delivery.due() > 0 and not {"fetched", "mark_read", "record"} & set(self.life.jobs):
                return
            self.step()
            self.fetch()
            self.read()
        raise AssertionError("it goes on and on")

    def lying(self) -> list[str]:
        """The names of all files in the folder but its marker."""
        walk = (Path(folder, name) for folder, _, names in os.walk(self.world.inbound) for name in names)
        return sorted(path.relative_to(self.world.inbound).as_posix() for path in walk if path.name != ".filedrop")

    def temporaries(self) -> list[str]:
        """Those that have no name yet."""
        return [name for name in self.lying() if name.startswith(".")]

    def rows(self) -> list[MessageRow]:
        """What the journal knows of messages, by number."""
        return self.life.journal.messages.in_states(self.context.access_point.identity, *STATES)

    def states(self) -> list[str]:
        """Their states."""
        return [row.state for row in self.rows()]

    def ended(self) -> list[tuple[int, str, bool]]:
        """Of messages that have come as far as they could, by number: the error, and whether it was marked as read."""
        return sorted((one.unread.message.msg_no, str(one.error or ""), one.was_read) for one in self.endings)

    def downloads(self) -> int:
        """How often a document was asked for."""
        return len(self.world.front.asked("GET /messages/"))

    def told(self, event: str) -> list[dict[str, Any]]:
        """The lines of the log that tell of this."""
        return [line for line in self.world.log() if line["event"] == event]

    def _ended(self, one: Unread, error: Exception | None = None, *, was_read: bool = False) -> None:
        self.endings.append(Ending(one, error, was_read))
