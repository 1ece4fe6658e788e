"""What an answer means: contract 6's table for `POST /outbox`, and the plain one for everything else.

The difference: an unclear answer to a post leaves a document in doubt, while a question can simply be asked again.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filedrop.accesspoint import answers
from filedrop.accesspoint.answers import Message, clean
from filedrop.errors import (
    AccessPointError,
    NoClearAnswer,
    Rejected,
    Unauthorized,
    Unavailable,
    Unexplained,
    WrongAddress,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_PAUSE = timedelta(hours=1)  # contract 6: Retry-After is honoured up to 1h

# Field notes, "400 on POST /outbox", and the interface's "the documentId value is wrong". Only at the beginning: a
# database fault comes back as 400 too, and may well mention a document_id somewhere.
_NAMES_A_FAULT = re.compile(
    r"""\W*(?:
        (?:wrong|illegal|invalid|missing)\ (?:document|process|sender|recipient)id\b
      | (?:the\ )?(?:document|process|sender|recipient)id\ (?:value\ )?(?:is\ )?
        (?:required|wrong|illegal|invalid|missing|not\ (?:legal|valid))\b
      | unable\ to\ parse\ the\ xml\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer from base_url's own origin; `flaw` says why its body isn't whole, if it isn't."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    flaw: str = ""

    @property
    def text(self) -> str:
        """The body as words to show."""
        return clean(self.body.decode("utf-8", "replace"))


def posted(answer: Answer) -> Message:
    """The message that `POST /outbox` made, or an error of the class that says what is to be done now.

    Raises Rejected, Unauthorized, WrongAddress, Unavailable, Unexplained, NoClearAnswer.
    """
    match answer.status:
        case 201:
            return _accepted(answer)
        case 429:
            raise _busy(answer)
        case 503 if _retry_after(answer.headers) is not None:
            raise _busy(answer)
        case 400 if _NAMES_A_FAULT.match(answer.text):
            raise _rejected(answer)
        case 413 | 415 | 422:
            raise _rejected(answer)
        case 400:
            said = f': "{answer.text}"' if answer.text else " and gave no reason"
            raise Unexplained(f"{answer.url} answered 400{said}", text=answer.text)
        case 401 | 403:
            raise _no_login(answer)
        case 404 | 405 | 301 | 302 | 307 | 308:
            raise _wrong_address(answer)
    raise NoClearAnswer(f"{answer.url} answered {answer.status}, which does not say whether the document was accepted")


def refused(answer: Answer) -> AccessPointError:
    """What it means that a question, or a mark-read, was not answered as the interface says."""
    status = answer.status
    if status in (401, 403):
        return _no_login(answer)
    if status == 429 or status >= 500:  # noqa: PLR2004 - HTTP's own numbers
        return _busy(answer)
    if status in (404, 405) or 300 <= status < 400:  # noqa: PLR2004 - HTTP's own numbers
        return _wrong_address(answer)
    said = f': "{answer.text}"' if answer.text else ""
    return NoClearAnswer(f"{answer.url} answered {status}{said}; tell the access point's operator")


def rejected_login(answer: Answer) -> Rejected:
    """A 401 or 403 that turned out to be about the document: the same login is good for other questions."""
    said = f"{answer.url} answered {answer.status} for this document, but accepts the login otherwise"
    return Rejected(said, status=answer.status, text=answer.text)


def _accepted(answer: Answer) -> Message:
    with suppress(NoClearAnswer):
        messages = answers.page(answer.body).messages
        if len(messages) == 1:
            return messages[0]
    location = answer.headers.get("Location", "")
    with suppress(ValueError):  # a Location that is no URL
        found = re.search(r"/(?:outbox|messages)/([0-9]+)/?$", urlsplit(location).path)
        msg_no = answers.number(found[1]) if found else None
        if msg_no:
            return Message(msg_no)
    raise NoClearAnswer(f"{answer.url} answered 201, but with no readable message number")


def _rejected(answer: Answer) -> Rejected:
    said = f': "{answer.text}"' if answer.text else ""
    return Rejected(
        f"{answer.url} refused the document ({answer.status}){said}", status=answer.status, text=answer.text
    )


def _no_login(answer: Answer) -> Unauthorized:
    return Unauthorized(f"{answer.url} refused the login ({answer.status}); check the account's username and password")


def _busy(answer: Answer) -> Unavailable:
    pause = _retry_after(answer.headers)
    later = f" and asks to be left alone for {pause.total_seconds():.0f} s" if pause else ""
    said = f"{answer.url} is not available (it answered {answer.status}){later}; filedrop will try again"
    return Unavailable(said, retry_after=pause)


def _wrong_address(answer: Answer) -> WrongAddress:
    to = clean(answer.headers.get("Location", ""), 200)
    sent_on = f" and points to {to}" if to else ""
    return WrongAddress(f"{answer.url} answered {answer.status}{sent_on}: no access point is there; correct base_url")


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Seconds, or a date by the access point's own clock (RFC 9110, 10.2.3); None when there is none to be read."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(timedelta(seconds=int(text)), _LONGEST_PAUSE)
    try:
        pause = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError):  # no date; or only one of them has an offset
        return None
    return max(timedelta(0), min(pause, _LONGEST_PAUSE))
