"""The meaning of an answer: by contract 6's table for `POST /outbox`, by a simpler one for other requests.

They differ because an unclear answer to a post leaves a document in doubt; other requests can be repeated.
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
from filedrop.accesspoint.answers import clean
from filedrop.errors import (
    AccessPointError,
    NoClearAnswer,
    Rejected,
    Unauthorized,
    Unavailable,
    Unexplained,
    WrongAddress,
)
from filedrop.model.message import Message, contradiction, number
from filedrop.pauses import LONGEST_ASKED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.model.document import Ids

# Field notes, "400 on POST /outbox", and the interface's "the documentId value is wrong". Only at the beginning: a
# database error is answered with 400 too, and may contain "document_id".
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
    """An answer from base_url's own origin; `flaw` says why its body is incomplete, "" where it is whole.

    `login_keys`: where the login of its request stands, for people, in an answer that isn't one of success.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    flaw: str
    login_keys: str = ""

    @property
    def text(self) -> str:
        """The body as text, safe to show."""
        return clean(self.body.decode("utf-8", "replace"))

    @property
    def quoted(self) -> str:
        """The text as the end of a sentence; "" where there is none."""
        return f': "{self.text}"' if self.text else ""


def posted(answer: Answer, ids: Ids) -> Message:
    """The message that `POST /outbox` with these ids created.

    Raises Rejected, Unauthorized, WrongAddress, Unavailable, Unexplained, NoClearAnswer.
    """
    match answer.status:
        case 201:
            message = _accepted(answer)
            if otherwise := contradiction(message, ids):
                raise NoClearAnswer(f"{answer.url} answered about another document: {otherwise}; tell the operator")
            return message
        case 429:
            raise _busy(answer)
        case 503 if _retry_after(answer.headers) is not None:
            raise _busy(answer)
        case 400 if _NAMES_A_FAULT.match(answer.text):
            raise _rejected(answer)
        case 413 | 415 | 422:
            raise _rejected(answer)
        case 400:
            raise Unexplained(f"{answer.url} answered 400{answer.quoted or ' and gave no reason'}", text=answer.text)
        case 401 | 403:
            raise _no_login(answer)
        case 404 | 405 | 301 | 302 | 307 | 308:
            raise _wrong_address(answer)
    raise NoClearAnswer(f"{answer.url} answered {answer.status}, which does not say whether the document was accepted")


def refused(answer: Answer) -> AccessPointError:
    """The error for an answer to a GET or a mark-read that isn't one of the interface's."""
    status = answer.status
    if status in (401, 403):
        return _no_login(answer)
    if status == 429 or status >= 500:  # noqa: PLR2004 - HTTP's own numbers
        return _busy(answer)
    if status in (404, 405) or 300 <= status < 400:  # noqa: PLR2004 - HTTP's own numbers
        return _wrong_address(answer)
    return NoClearAnswer(f"{answer.url} answered {status}{answer.quoted}; tell the access point's operator")


def rejected_login(answer: Answer) -> Rejected:
    """The error for a 401 or 403 that is about the document, since other requests with the login succeed."""
    said = f"{answer.url} answered {answer.status} for this document, but accepts the login otherwise"
    return Rejected(said, status=answer.status, text=answer.text)


def _accepted(answer: Answer) -> Message:
    with suppress(NoClearAnswer):
        messages = answers.page(answer.body, "outbox-post-response").messages
        if len(messages) == 1:
            return messages[0]
    location = answer.headers.get("Location", "")
    with suppress(ValueError):  # a Location that is no URL
        found = re.search(r"/(?:outbox|messages)/([0-9]+)/?$", urlsplit(location).path)
        msg_no = number(found[1]) if found else None
        if msg_no:
            return Message(msg_no)
    raise NoClearAnswer(f"{answer.url} answered 201, but with no readable message number")


def _rejected(answer: Answer) -> Rejected:
    said = f"{answer.url} refused the document ({answer.status}){answer.quoted}"
    return Rejected(said, status=answer.status, text=answer.text)


def _no_login(answer: Answer) -> Unauthorized:
    return Unauthorized(f"{answer.url} refused the login ({answer.status}); check {answer.login_keys}")


def _busy(answer: Answer) -> Unavailable:
    pause = _retry_after(answer.headers)
    later = f" and asks for a pause of {pause.total_seconds():.0f} s" if pause else ""
    said = f"{answer.url} is not available (it answered {answer.status}){later}; filedrop will try again"
    return Unavailable(said, retry_after=pause)


def _wrong_address(answer: Answer) -> WrongAddress:
    to = clean(answer.headers.get("Location", ""), 200)
    sent_on = f" and points to {to}" if to else ""
    said = f"{answer.url} answered {answer.status}{sent_on}"
    return WrongAddress(f"{said}: no access point is there; correct base_url", answer=said)


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """The pause, in seconds or to a date by the access point's clock (RFC 9110, 10.2.3); None where there is none."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(timedelta(seconds=int(text)), LONGEST_ASKED)
    try:
        pause = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError, OverflowError):  # no date; or only one of them has an offset
        return None
    return max(timedelta(0), min(pause, LONGEST_ASKED))
