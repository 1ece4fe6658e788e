"""The interface's verbs. One `AccessPoint` for each account; thread-safe.

Errors are those of filedrop/errors.py: Unauthorized, WrongAddress, Unavailable and NoClearAnswer from every verb, and
Rejected and Unexplained from `send`. Before Unavailable is raised, the request has been retried a few times.
"""

from __future__ import annotations

import sys
import time
import warnings
from datetime import timedelta
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from filedrop.accesspoint import answers, verdict
from filedrop.accesspoint.download import fetch
from filedrop.accesspoint.links import Address
from filedrop.accesspoint.listing import listing, pages
from filedrop.accesspoint.multipart import Multipart
from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer, Unauthorized, Unavailable, WrongAddress
from filedrop.model.document import without_scheme
from filedrop.pauses import REQUEST

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from typing import BinaryIO

    from filedrop.accesspoint.answers import Page, Statistics
    from filedrop.accesspoint.listing import Listing
    from filedrop.accesspoint.multipart import Source
    from filedrop.accesspoint.transport import Transport
    from filedrop.config import Account
    from filedrop.model.document import Ids
    from filedrop.model.message import Message
    from filedrop.pauses import Backoff

T = TypeVar("T")
Pair = tuple[str, str]  # a document id and a process id that go together

DIRECTORY_SILENCE = 4.0  # seconds: short, because a document waits for the directory
_READ = (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND)  # contract 6, Read means safe


class _Requests:
    """The requests, loaded with the first one; of two that two threads load, one is left."""

    def __init__(self, load: Callable[[], Transport]) -> None:
        self._load = load

    @cached_property
    def _transport(self) -> Transport:
        return self._load()

    def clock(self) -> datetime | None:
        """The access point's clock now, by its latest answer; None where that is unknown."""
        return self._transport.clock()

    def login_changed(self) -> bool:
        """Whether the login has changed since it was refused."""
        return self._transport.login_changed()

    def read_ca_file(self) -> None:
        """Trust the authorities that are in ca_file by now. Raises ConfigError where it can't be used."""
        self._transport.read_ca_file()

    def distrust(self) -> None:
        """Stop using this thread's connections: its last answer belonged to another request."""
        self._transport.distrust()

    def close(self) -> None:
        """Close all connections."""
        if "_transport" in vars(self):  # else nothing was requested
            self._transport.close()


class AccessPoint(_Requests):
    """One account at an access point.

    When `stopped` is set, there are no more retries and no further pages. `retry` is for requests that never
    arrived, `wall` is our wall clock in seconds since 1970.
    """

    def __init__(
        self,
        login: Account,
        *,
        stopped: threading.Event,
        retry: Backoff = REQUEST,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.identity = login.identity
        self._address = Address(login.base_url)
        self._stopped = stopped
        self.cut_short: dict[str, str] = {}
        """For each list, why its last reading could not reach its end; "" where it did."""
        rules = {"stopped": stopped, "retry": retry, "monotonic": monotonic, "wall": wall}
        super().__init__(partial(_transport, login, self._address, **rules))

    def send(self, ids: Ids, document: Source) -> Message:
        """Post a document and return its message; all other answers raise, by contract 6's table.

        It is posted again where only the document seems to be refused: the login may be good again since just now.

        Raises BrokenOff where the document changes meanwhile, DocumentError for an impossible id, and any error of
        `document` itself: in these three cases it was not accepted.
        """
        body = Multipart(ids, document)
        target = self._address.target("outbox")
        answer = None

        def posted(said: verdict.Answer) -> Message:
            nonlocal answer
            answer = said
            return verdict.posted(said, ids)

        def post() -> Message:
            return self._transport.retried(lambda: self._transport.exchange("POST", target, posted, body))

        def confirm_login(refusal: Unauthorized) -> verdict.Answer:
            if answer is None:  # the password could not be read
                raise refusal
            try:
                self.probe()
            except NoClearAnswer:  # would put the document in doubt, but it was certainly not accepted
                raise refusal from None
            if self.login_changed():  # the one that was refused for the document is no longer asked with
                raise refusal
            return answer

        try:
            return post()
        except Unauthorized as refusal:
            confirm_login(refusal)
        try:
            return post()
        except Unauthorized as refusal:
            raise verdict.rejected_login(confirm_login(refusal)) from refusal

    def outbox(self) -> Listing:
        """The messages that have not been handed on yet."""
        return self._listing("outbox")

    def inbox(self) -> Listing:
        """The messages that have not been marked as read yet."""
        return self._listing("inbox")

    def messages(
        self,
        *,
        after: date | None = None,
        direction: str | None = None,
        sender: str | None = None,
        receiver: str | None = None,
    ) -> Iterator[Message]:
        """The messages in the archive, lazily: all of day `after` and later, perhaps older ones too.

        Ends only at the end of the archive. Raises NoClearAnswer also where the pages form a loop or never end.
        """
        query = {}
        if after is not None:  # of the operators only <, > and = mean the same everywhere (field notes)
            query["sent"] = f"'>{after - timedelta(days=1):%Y-%m-%d}'"
        if sender is not None:
            query["sender"] = f"'{without_scheme(sender)}'"
        if receiver is not None:
            query["receiver"] = without_scheme(receiver)
        if direction is not None:
            query["direction"] = direction
        for page in self._pages("messages", query):
            yield from page.messages

    def status(self, msg_no: int, *, silence: float | None = None) -> Message | None:
        """The present state of an outbox message, also after its delivery; None where its number is unknown.

        `silence`: ask only once, with this time-out in seconds for each read. Raises Interrupted where filedrop is
        being stopped, since callers mostly have many messages to ask for.
        """
        if self._stopped.is_set():
            raise Interrupted(f"filedrop is being stopped, and asks no more for message {msg_no}")
        ask = partial(self._single, "outbox", msg_no, unknown=[HTTPStatus.NO_CONTENT], silence=silence)
        return self._transport.retried(ask) if silence is None else ask()

    def received(self, msg_no: int) -> Message | None:
        """The message that the inbox has under this number now, read or not; None where it has none."""
        unknown = [HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND]  # 404: it was sent from here (field notes)
        return self._transport.retried(lambda: self._single("inbox", msg_no, unknown=unknown))

    def download(self, message: Message, target: BinaryIO, *, max_size: int) -> int:
        """Write a message's document to `target`, which must be seekable, and return its size in bytes.

        A Content-Length is checked. Raises Gone; NoClearAnswer beyond `max_size` bytes; Interrupted on a stop.
        """
        start = target.tell()

        def attempt() -> int:
            target.seek(start)
            target.truncate()
            return fetch(self._transport, self._address, message, target, max_size)

        return self._transport.retried(attempt)

    def mark_read(self, msg_no: int) -> bool:
        """Mark an inbox message as read; False where there is no unread message with this number."""
        target = self._address.target("inbox", msg_no, "read")

        def marked(answer: verdict.Answer) -> bool:
            if answer.status not in _READ:
                raise verdict.refused(answer)
            if answer.status == HTTPStatus.OK and not _is_about(msg_no, answer):
                self._transport.distrust()  # perhaps another's answer; a message that is still unread is listed again
            return answer.status == HTTPStatus.OK

        return self._transport.retried(lambda: self._transport.exchange("POST", target, marked))

    def directory(self, participant: str) -> bool | None:
        """Whether a receiver can be reached; None if this participant can't be looked up (field notes).

        Asks once, with a short time-out, as does `accepted`. Both raise WrongAddress where there is no directory.
        """
        return self._look_up(lambda answer: {200: True, 204: False}.get(answer.status), participant)

    def accepted(self, participant: str, local_name: str) -> tuple[Pair, ...] | None:
        """The pairs of document id and process id accepted for Invoice, Order, ...; None where that is unknown."""

        def accepted(answer: verdict.Answer) -> tuple[Pair, ...] | None:
            if answer.status == HTTPStatus.NO_CONTENT:
                return ()
            if answer.status == HTTPStatus.BAD_REQUEST or not answer.body.strip():
                return None
            return answers.accepted(answer.body)

        return self._look_up(accepted, participant, local_name)

    def statistics(self) -> Statistics:
        """The account's figures."""
        target = self._address.target("statistics")
        return self._transport.retried(lambda: self._get(target, _statistics))

    def probe(self) -> None:
        """Check that requests are answered, with the statistics; where these aren't given out, with the inbox."""

        def let_in(answer: verdict.Answer) -> AccessPointError | None:
            if answer.status == HTTPStatus.OK:
                _statistics(_whole(answer))
                return None
            error = verdict.refused(answer)
            if isinstance(error, Unauthorized) or error.retry_after is not None:
                raise error
            return error

        def attempt() -> None:
            refusal = self._transport.exchange("GET", self._address.target("statistics"), let_in)
            if refusal is None:
                return
            try:
                self._get(self._address.target("inbox"), partial(_page, "inbox"))
            except AccessPointError:
                if isinstance(refusal, Unavailable):
                    raise refusal from None
                raise

        self._transport.retried(attempt)

    def _get(
        self,
        target: str,
        understand: Callable[[verdict.Answer], T],
        *,
        also: Sequence[int] = (),
        silence: float | None = None,
    ) -> T:
        def answered(answer: verdict.Answer) -> T:
            if answer.status not in (HTTPStatus.OK, *also):
                raise verdict.refused(answer)
            return understand(_whole(answer))

        return self._transport.exchange("GET", target, answered, silence=silence)

    def _single(
        self, name: str, msg_no: int, *, unknown: Sequence[int], silence: float | None = None
    ) -> Message | None:
        def single(answer: verdict.Answer) -> Message | None:
            if answer.status in unknown:
                return None
            for message in _page(name, answer).messages:
                if message.msg_no == msg_no:
                    return message
            raise NoClearAnswer(f"{answer.url} answered about something else than message {msg_no}; tell its operator")

        return self._get(self._address.target(name, msg_no), single, also=unknown, silence=silence)

    def note_cut_short(self, name: str, why: str) -> None:
        """Note why a list could not be read to its end; "" where it could, or is read no more."""
        self.cut_short[name] = why

    def _look_up(self, understand: Callable[[verdict.Answer], T], *steps: str) -> T:
        also = [HTTPStatus.NO_CONTENT, HTTPStatus.BAD_REQUEST]
        target = self._address.target("directory", *steps)
        try:
            return self._get(target, understand, also=also, silence=DIRECTORY_SILENCE)
        except WrongAddress as error:  # base_url is right, as the lists show
            raise WrongAddress("this access point has no directory; write directory: off") from error

    def _listing(self, name: str) -> Listing:
        found = listing(self._pages(name))
        self.note_cut_short(name, found.trouble)
        return found

    def _pages(self, name: str, query: Mapping[str, str] | None = None) -> Iterator[Page]:
        def ask(target: str) -> Page:
            return self._transport.retried(lambda: self._get(target, partial(_page, name)))

        why = ""
        try:
            yield from pages(ask, self._address, name, query or {}, stopped=self._stopped)
        except AccessPointError as error:
            why = "" if isinstance(error, Interrupted) else str(error)
            raise
        finally:
            self.note_cut_short(name, why)


def _transport(login: Account, address: Address, **rules: Any) -> Transport:
    """The requests. Only now requests and its libraries are loaded: a tenth of a start."""
    modules: dict[str, object] = sys.modules  # type: ignore[assignment] # None is allowed
    modules.setdefault("charset_normalizer", None)  # requests would guess encodings with it: 3 MB
    warnings.filterwarnings("ignore", "Unable to find acceptable character detection")
    from filedrop.accesspoint.transport import Transport  # noqa: PLC0415

    return Transport(login, address, **rules)


def _page(name: str, answer: verdict.Answer) -> Page:
    return answers.page(answer.body, f"{name}-query-response")


def _statistics(answer: verdict.Answer) -> Statistics:
    return answers.statistics(answer.body)


def _is_about(msg_no: int, answer: verdict.Answer) -> bool:
    try:
        return [message.msg_no for message in answers.page(answer.body).messages] == [msg_no]
    except NoClearAnswer:
        return False


def _whole(answer: verdict.Answer) -> verdict.Answer:
    if answer.flaw:
        raise Unavailable(answer.flaw)
    return answer
