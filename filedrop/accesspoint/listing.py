"""A list of messages, page by page.

An access point may return pages for ever, so lists and walks are limited. The message numbers of successive pages go in
one direction, mostly upwards (field notes), and each page has a number beyond all before it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from filedrop.accesspoint.answers import Page
    from filedrop.accesspoint.links import Address
    from filedrop.model.message import Message

PAGE = 25  # interface, Limits 1
MOST_LISTED = 20_000  # messages that a Listing may hold
MOST_SAID = 64 * 1024 * 1024  # bytes of all pages of a Listing
MOST_WALKED = 250_000  # messages that `pages` passes through


@dataclass(frozen=True, slots=True)
class Listing:
    """The messages of the pages that could be read; `trouble` says why a page could not.

    Where it isn't `complete`, there may be more messages: because of the trouble, or because the access point lists
    only the oldest 25 and links to no others (field notes).
    """

    messages: tuple[Message, ...]
    complete: bool
    pages: int
    trouble: str


def listing(pages: Iterable[Page]) -> Listing:
    """The messages of a list. An error after the first page, except Interrupted, becomes `trouble`.

    Else a page that is never given out would hide those before it. An outage or a refused login is met again by the
    next request.
    """
    messages: dict[int, Message] = {}
    count, said, complete, trouble = 0, 0, False, ""
    try:
        for page in pages:
            count += 1
            messages |= {message.msg_no: message for message in page.messages}
            complete = page.has_navigation or len(page.messages) < PAGE
            said += page.size
            if len(messages) > MOST_LISTED or said > MOST_SAID:
                raise NoClearAnswer(f"there are more than the {len(messages)} messages that are read at once")
    except AccessPointError as error:
        if not count or isinstance(error, Interrupted):
            raise
        complete, trouble = False, str(error)
    return Listing(tuple(messages.values()), complete, count, trouble)


def pages(
    ask: Callable[[str], Page], address: Address, name: str, query: Mapping[str, str], *, stopped: threading.Event
) -> Iterator[Page]:
    """The pages of a list, lazily. Raises NoClearAnswer where they loop or never end, Interrupted on a stop."""
    target, course, passed = address.target(name, query=query), _Course(), 0
    for index in itertools.count(2):  # the number of the next page
        page = ask(target)
        yield page
        following = address.next_page(page.next, target) if page.next else None
        if following is None and name == "messages" and not page.has_navigation and len(page.messages) >= PAGE:
            following = address.target(name, query={**query, "index": str(index)})
        if following is None:
            return
        passed += len(page.messages)
        if not course.goes_on([message.msg_no for message in page.messages]):
            raise NoClearAnswer(f"the pages of {name} lead back to where they came from; tell its operator")
        if passed > MOST_WALKED:
            raise NoClearAnswer(f"the pages of {name} go on after {passed} messages, and are not read further")
        if stopped.is_set():
            raise Interrupted(f"filedrop is being stopped, and reads no further page of {name}")
        target = following


class _Course:
    """The range of message numbers in a list so far, and its direction."""

    def __init__(self) -> None:
        self._range: tuple[int, int] | None = None
        self._rises: bool | None = None  # known from the second page on

    def goes_on(self, numbers: list[int]) -> bool:
        """Whether this page extends the range, in the same direction as the pages before it."""
        if not numbers:
            return False
        if self._range is None:
            self._range = min(numbers), max(numbers)
            return True
        lowest, highest = self._range
        rises, falls = max(numbers) > highest, min(numbers) < lowest
        self._range = min(lowest, *numbers), max(highest, *numbers)
        if self._rises is None:
            self._rises = rises
        return rises if self._rises else falls
