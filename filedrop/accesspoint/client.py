"""The interface's verbs. One `AccessPoint` for each account, for all threads.

Errors are those of filedrop/errors.py: Unauthorized, WrongAddress, Unavailable and NoClearAnswer from every verb, and
Rejected and Unexplained from `send`. What can simply be asked again has been, a few times, when Unavailable is raised.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from filedrop.accesspoint import answers, verdict
from filedrop.accesspoint.download import fetch
from filedrop.accesspoint.links import Address
from filedrop.accesspoint.multipart import Multipart
from filedrop.errors import NoClearAnswer, Unauthorized, Unavailable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime
    from typing import BinaryIO

    from filedrop.accesspoint.answers import Message, Page, Statistics
    from filedrop.accesspoint.multipart import Source
    from filedrop.document import Ids
    from filedrop.login import Login

T = TypeVar("T")
Heard = tuple[str, float]
"""An answer's `Date` and when it came (monotonic)."""
Pair = tuple[str, str]
"""A document id and a process id that go together."""

PAGE = 25  # interface, Limits 1
DIRECTORY_SILENCE = 4.0  # seconds that the directory may be silent: a document waits for it
_READ = (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND)  # contract 6, Read means safe


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages of a list. Not `complete`: there may be more than the oldest 25, and no way to them (field notes)."""

    messages: tuple[Message, ...]
    complete: bool
    pages: int


class AccessPoint:
    """One account at an access point.

    When `stopped` is set, nothing is tried again. `pauses` are the seconds between attempts.
    Raises ConfigError when the login's ca_file can't be used.
    """

    def __init__(
        self,
        login: Login,
        *,
        stopped: threading.Event,
        pauses: Sequence[float] = (0.5, 1.5),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        from filedrop.accesspoint.transport import Transport  # noqa: PLC0415 - 120 ms that `--help` needn't pay

        self.identity = login.identity
        self._address = Address(login.base_url)
        self._transport = Transport(login, self._address, stopped=stopped, pauses=pauses, monotonic=monotonic)

    def clock(self) -> datetime | None:
        """The access point's own time, never ahead of it; None as long as it has said nothing."""
        return self._transport.clock()

    def again(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` until it doesn't raise Unavailable: a few times, not for long, and not when we are to stop."""
        return self._transport.again(attempt)

    @property
    def heard(self) -> Heard | None:
        """What `clock` goes by; None before the first answer."""
        return self._transport.heard

    def hear(self, heard: Heard | None) -> None:
        """Another process of ours has heard this; it may have been before we heard something."""
        ours = self._transport.heard
        if heard and (ours is None or heard[1] > ours[1]):
            self._transport.heard = heard

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def send(self, ids: Ids, document: Source) -> Message:
        """Queue a document; what any other answer than its acceptance means is contract 6's table.

        Raises BrokenOff when the document changes meanwhile, DocumentError for an id that can't be one, and whatever
        `document` itself raises: in all three cases it was not accepted.
        """
        body = Multipart(ids, document)
        target = self._address.target("outbox")
        answer = None

        def post() -> Message:
            nonlocal answer
            answer = self._transport.exchange("POST", target, body)
            return verdict.posted(answer)

        try:
            return self._transport.again(post)
        except Unauthorized as refusal:
            if answer is None:  # there is no password to be read
                raise
            try:
                self.probe()
            except NoClearAnswer:  # must not put a document in doubt that was certainly not accepted
                raise refusal from None
            raise verdict.rejected_login(answer) from refusal

    def outbox(self) -> Listing:
        """What has not been handed on yet."""
        return self._listing("outbox")

    def inbox(self) -> Listing:
        """What has not been marked as read yet."""
        return self._listing("inbox")

    def messages(
        self,
        *,
        after: date | None = None,
        direction: str | None = None,
        sender: str | None = None,
        receiver: str | None = None,
    ) -> Iterator[Message]:
        """The archive, page by page: all messages of day `after` and later, perhaps older ones too.

        Raises, too, when a page can't be had, or leads back: the end of this is the end of the archive.
        """
        query = {}
        if after is not None:  # of the operators only <, > and = mean the same everywhere (field notes)
            query["sent"] = f"'>{after - timedelta(days=1):%Y-%m-%d}'"
        if sender is not None:
            query["sender"] = f"'{sender}'"
        if receiver is not None:
            query["receiver"] = receiver
        if direction is not None:
            query["direction"] = direction
        for page in self._pages("messages", query):
            yield from page.messages

    def status(self, msg_no: int) -> Message | None:
        """An outbox message as it is now, delivered ones too; None when its number is unknown."""
        target = self._address.target("outbox", msg_no)
        answer = self._transport.again(lambda: self._ask(target, also=HTTPStatus.NO_CONTENT))
        if answer.status == HTTPStatus.NO_CONTENT:
            return None
        for message in answers.page(answer.body).messages:
            if message.msg_no == msg_no:
                return message
        raise NoClearAnswer(f"{answer.url} answered about something else than message {msg_no}; tell its operator")

    def download(self, message: Message, target: BinaryIO, *, max_size: int) -> int:
        """Write a message's document to `target`, which must be seekable, and return its size in bytes.

        The length is checked where the access point gives one. Raises Gone; NoClearAnswer beyond `max_size` bytes.
        """
        start = target.tell()

        def attempt() -> int:
            target.seek(start)
            target.truncate()
            return fetch(self._transport, self._address, message, target, max_size)

        return self._transport.again(attempt)

    def mark_read(self, msg_no: int) -> bool:
        """Mark an inbox message as read; False where there is none of that number, which is as good."""
        target = self._address.target("inbox", msg_no, "read")

        def post() -> bool:
            answer = self._transport.exchange("POST", target)
            if answer.status not in _READ:
                raise verdict.refused(answer)
            return answer.status == HTTPStatus.OK

        return self._transport.again(post)

    def directory(self, participant: str) -> bool | None:
        """Whether a receiver can be reached; None where this participant can't be looked up (field notes).

        Asked once and with a short patience, as `accepted`. Both raise WrongAddress where there is no directory.
        """
        answer = self._look_up(self._address.target("directory", participant))
        return {200: True, 204: False}.get(answer.status)

    def accepted(self, participant: str, local_name: str) -> tuple[Pair, ...] | None:
        """The pairs of document id and process id accepted for Invoice, Order, ...; None where nothing is said."""
        answer = self._look_up(self._address.target("directory", participant, local_name))
        if answer.status == HTTPStatus.NO_CONTENT:
            return ()
        if answer.status == HTTPStatus.BAD_REQUEST or not answer.body.strip():
            return None
        return answers.accepted(answer.body)

    def statistics(self) -> Statistics:
        """The account's figures."""
        target = self._address.target("statistics")
        return answers.statistics(self._transport.again(lambda: self._ask(target)).body)

    def probe(self) -> None:
        """Return if we are let in. Asks for the statistics; where there are none, for the inbox."""
        self._transport.again(self._probe)

    def _probe(self) -> None:
        answer = self._transport.exchange("GET", self._address.target("statistics"))
        if answer.status == HTTPStatus.OK:
            answers.statistics(_whole(answer).body)
            return
        error = verdict.refused(answer)
        if isinstance(error, Unauthorized | Unavailable):
            raise error
        answers.page(self._ask(self._address.target("inbox")).body)

    def _ask(self, target: str, *, also: int = HTTPStatus.OK) -> verdict.Answer:
        answer = self._transport.exchange("GET", target)
        if answer.status not in (HTTPStatus.OK, also):
            raise verdict.refused(answer)
        return _whole(answer)

    def _look_up(self, target: str) -> verdict.Answer:
        answer = self._transport.exchange("GET", target, silence=DIRECTORY_SILENCE)
        if answer.status not in (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.BAD_REQUEST):
            raise verdict.refused(answer)
        return _whole(answer)

    def _listing(self, name: str) -> Listing:
        pages = list(self._pages(name, {}))
        messages = {message.msg_no: message for page in pages for message in page.messages}
        complete = pages[-1].has_navigation or len(pages[-1].messages) < PAGE
        return Listing(tuple(messages.values()), complete, len(pages))

    def _pages(self, name: str, query: dict[str, str]) -> Iterator[Page]:
        target: str | None = self._address.target(name, query=query)
        seen: set[str] = set()
        numbers: list[int] | None = None
        while target is not None:
            at = target
            page = answers.page(self._transport.again(partial(self._ask, at)).body)
            before, numbers = numbers, [message.msg_no for message in page.messages]
            seen.add(at)
            target = self._address.next_page(page.next, at) if page.next else None
            if target is None and name == "messages" and not page.has_navigation and len(numbers) >= PAGE:
                target = self._address.target(name, query=query | {"index": str(len(seen) + 1)})
            if target in seen or numbers == before:
                raise NoClearAnswer(f"the pages of {name} lead back to where they came from; tell its operator")
            yield page


def _whole(answer: verdict.Answer) -> verdict.Answer:
    if answer.flaw:
        raise Unavailable(answer.flaw)
    return answer
