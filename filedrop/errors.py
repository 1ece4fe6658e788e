"""The tree of errors. The class of an error says what to do next.

    FiledropError
      ConfigError          the administrator must edit the configuration
      DocumentError        this file must be corrected before it can be sent (code, texts)
      Unanswered           the XPath or table of a mapping rule can't be read now: the document waits
      NoVerdict            the validator can't judge the document now: this decides nothing
      FolderUnavailable    this folder can't be used until it is back or a person has looked
      JournalError         the journal can't be read or written: send no request to the access point
        WrongJournal       a person must act first: another version wrote it, or it was moved
        Changed            another writer has changed the row: leave the document or message to the next step
        ClosedJournal      filedrop ends: leave everything to the next start
      AccessPointError
        Rejected           the access point refused this document, and said why
        Gone               it has no document for this message number
        Unauthorized       it refused the login; no document is at fault
        WrongAddress       another server answers at this address; no document is at fault
        Unavailable        it did not receive the request: retry later
        NoClearAnswer      it may have received the request: look for the document before sending again
          Unexplained      it answered 400, and the text names no fault of the document
          Interrupted      filedrop stopped before the answer came; this says nothing about the access point

Each message is a sentence for the person who must act: what, where, what to do.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from filedrop.texts import joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from filedrop.texts import Text


class FiledropError(Exception):
    """The base class of filedrop's own errors."""


class ConfigError(FiledropError):
    """The configuration can't be used; `complaints` are all, each `file:line: key: what is wrong, what to write`."""

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("\n".join(complaints))
        self.complaints = tuple(complaints)


class DocumentError(FiledropError):
    """This file must be corrected: `texts` say what is wrong and what to do; `code` is that of the first.

    As a string: what is wrong, with what the administrator needs to know.
    """

    def __init__(self, *texts: Text) -> None:
        self.code = texts[0].code
        self.texts = texts
        super().__init__(joined((self.message, *(text.administrator for text in texts))))

    @property
    def message(self) -> str:
        """What is wrong, for everybody."""
        return joined(text.message for text in self.texts)


class Unanswered(FiledropError):
    """The XPath or table of a mapping rule can't be read now, so the value that it sets is unknown."""


class NoVerdict(FiledropError):
    """The validator is missing, was broken off, or failed, so whether the document is valid is unknown."""


class Cause(Enum):
    """Why a folder is unavailable, for code; the sentence is for people."""

    NEW = auto()  # filedrop creates it when it runs
    MISSING = auto()  # it was there before: its share may be unmounted
    OUTSIDE = auto()  # what is wrong is with the root that it is in, or with the system
    HUNG = auto()
    OTHER = auto()


class FolderUnavailable(FiledropError):
    """The folder is missing, is another filedrop's, can't be used, or doesn't answer."""

    def __init__(self, why: str, cause: Cause = Cause.OTHER) -> None:
        super().__init__(why)
        self.cause = cause


class JournalError(FiledropError):
    """The journal can't be read or written."""


class OtherDatabase(JournalError):
    """Another database answers by now, which may lack the last records: the process must begin anew with it."""

    def __init__(self, address: object) -> None:
        super().__init__(
            f"the journal {address} was restored, or a standby server has taken its place: filedrop must start again, "
            "and then looks for what is on its way before it sends anything"
        )


class WrongJournal(JournalError):
    """This filedrop can't use this journal before a person acts: it is another version's, or was moved."""


class DamagedJournal(JournalError):
    """The journal's file is damaged."""


class ClosedJournal(JournalError):
    """This process has closed the journal, because it ends."""


class Changed(JournalError):
    """The row in the journal has changed since this step read it."""


class AccessPointError(FiledropError):
    """A request to the access point failed; `retry_after` is the pause that the access point asked for, if any."""

    retry_after: timedelta | None = None


class Rejected(AccessPointError):
    """The access point refused this document; `status` is the HTTP status, `text` its own words, cleaned and cut."""

    def __init__(self, message: str, *, status: int, text: str) -> None:
        super().__init__(message)
        self.status = status
        self.text = text


class Gone(AccessPointError):
    """The access point no longer has this document, or never had it."""


class Unauthorized(AccessPointError):
    """The access point refused our login (401, 403)."""


class WrongAddress(AccessPointError):
    """404, 405 or a redirect where the interface has none: the address is wrong. `answer` says what was answered."""

    def __init__(self, message: str, *, answer: str = "") -> None:
        super().__init__(message)
        self.answer = answer or message


class Unavailable(AccessPointError):
    """The access point certainly did not receive the request."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoClearAnswer(AccessPointError):
    """The access point may have received the request."""


class Interrupted(NoClearAnswer):
    """A filedrop process ended during the request, or is stopping and sends no more."""


class Unexplained(NoClearAnswer):
    """The answer was 400 and named no fault of the document; `text` is what it said, cleaned and cut."""

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text
