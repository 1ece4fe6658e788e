"""Download of a message's document, from base_url or from another host (contract 6, Credentials).

Of a link to base_url's host, the path is requested on base_url, with the login; where nothing is there, as behind a
proxy that has a path of its own, the documented path is. For a link to another host, the documented path on base_url is
tried first, then the link itself, without the login. A 303 to a blob store is followed without it, too (field notes).
Such addresses expire soon: a failure there is Unavailable; retries begin at base_url.
"""

from __future__ import annotations

from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from filedrop.accesspoint import verdict
from filedrop.errors import Gone, Interrupted, NoClearAnswer, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from filedrop.accesspoint.links import Address
    from filedrop.accesspoint.transport import Transport
    from filedrop.accesspoint.transport.incoming import Incoming
    from filedrop.model.message import Message

_HOPS = 3  # contract 6, Credentials
_REDIRECTS = (301, 302, 303, 307, 308)
_NOT_THERE = (204, 404, 410)


def fetch(transport: Transport, address: Address, message: Message, target: BinaryIO, max_size: int) -> int:
    """Write the document to `target` and return its size, in one attempt. Raises as `AccessPoint.download` does."""
    size = 0
    with _found(transport, address, message) as incoming:
        for chunk in incoming.chunks(max_size):
            if size and transport.stopped.is_set():  # a small one comes in one piece, and is soon at its end
                raise Interrupted(f"filedrop is stopping, and fetches message {message.msg_no} later")
            size += len(chunk)
            target.write(chunk)
        if not size:
            raise NoClearAnswer(f"{incoming.url} answered 200 with nothing in it; tell its operator")
    return size


@contextmanager
def _found(transport: Transport, address: Address, message: Message) -> Iterator[Incoming]:
    linked, documented = address.own(message.link), address.target("messages", message.msg_no, "xml-document")
    places = list(dict.fromkeys((linked or documented, documented)))  # on base_url, each for where the last has nothing
    elsewhere, seen_at = (None if linked else message.link), ""  # where to look when base_url doesn't have it
    for hops in range(_HOPS, 0, -1):  # noqa: B007 - what is left of them counts elsewhere, too
        target = places.pop(0)
        with transport.asked("GET", target) as incoming:
            if incoming.status == HTTPStatus.OK:
                yield incoming
                return
            moved = incoming.headers.get("Location") if incoming.status == HTTPStatus.SEE_OTHER else None
            if moved is None and incoming.status not in _NOT_THERE:
                raise verdict.refused(incoming.read())
        if moved is not None:
            elsewhere, seen_at, here = moved, incoming.url, address.own(moved, target)
            # Not the same again: on another host; or a store with the same paths at another port of this one.
            places = [here] if here and here != target else []
        if not places:
            break
    if elsewhere is None:
        raise Gone(f"the access point has no document for message {message.msg_no}; ask its operator")
    with _found_elsewhere(transport, address, elsewhere, seen_at, hops) as incoming:
        yield incoming


@contextmanager
def _found_elsewhere(transport: Transport, address: Address, link: str, seen_at: str, hops: int) -> Iterator[Incoming]:
    for _ in range(hops):
        url = address.elsewhere(link, seen_at)
        if url is None:
            raise NoClearAnswer("the access point keeps this document at no https address; tell its operator")
        with transport.asked_elsewhere(url) as incoming:
            if incoming.status == HTTPStatus.OK:
                yield incoming
                return
            if incoming.status not in _REDIRECTS or "Location" not in incoming.headers:
                raise Unavailable(f"the place where the access point keeps this document answered {incoming.status}")
            link, seen_at = incoming.headers["Location"], url
    raise NoClearAnswer("the access point keeps this document behind too many redirects; tell its operator")
