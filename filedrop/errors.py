"""The tree of errors. The class answers the only question that is asked of an error: what is to be done now?

    FiledropError
      ConfigError          the administrator must edit the configuration
      DocumentError        this file can't be sent as it is (code, message, hint)
      FolderUnavailable    nothing can be done in this folder until it is back or a person has looked
      JournalError         the journal can't be read or written: say nothing to the access point
        Changed            somebody else has taken the document a step further meanwhile: leave it to the next sweep
      AccessPointError
        Rejected           it refused this document, and said why
        Unauthorized       it refused us; no document is at fault
        WrongAddress       what answers there isn't an access point; no document is at fault
        Unavailable        it did not receive the request: try again later
        NoClearAnswer      it may have received the request: look before sending again
          Unexplained      it said 400, but nothing that names a fault of the document
          Interrupted      a process of ours ended before the answer came, which says nothing of the access point

Each message is a sentence for the person who must act: what, where, what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta


class FiledropError(Exception):
    """Whatever filedrop itself has to say. Can be handed from one process to another."""

    def __reduce__(self) -> tuple[object, ...]:
        """As it is, without being made anew: the kinds are made of different things."""
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[FiledropError], args: tuple[object, ...], facts: dict[str, object]) -> FiledropError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class ConfigError(FiledropError):
    """The configuration can't be used: every complaint, each as `file:line: key: what is wrong, what to write`."""

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("\n".join(complaints))
        self.complaints = tuple(complaints)


class DocumentError(FiledropError):
    """This file can't be sent as it is.

    `code` is one of contract 4's error codes, `message` says what is wrong, `hint` what to do about it.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class FolderUnavailable(FiledropError):
    """The folder isn't there, isn't ours, or doesn't answer."""


class JournalError(FiledropError):
    """The journal can't be read or written."""


class Changed(JournalError):
    """The journal's row is no longer what this step started from."""


class AccessPointError(FiledropError):
    """A request to the access point did not do what it was for."""


class Rejected(AccessPointError):
    """It refused this document, and said why.

    `status` is the HTTP status, `text` the access point's own words, cleaned and cut.
    """

    def __init__(self, message: str, *, status: int, text: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.text = text


class Unauthorized(AccessPointError):
    """It refused our login (401, 403)."""


class WrongAddress(AccessPointError):
    """404, 405 or a redirect where the interface has none: the address is wrong."""


class Unavailable(AccessPointError):
    """It certainly did not receive the request; `retry_after` is what it asked for, if it did."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoClearAnswer(AccessPointError):
    """It may have received the request."""


class Interrupted(NoClearAnswer):
    """A process of ours ended while it asked."""


class Unexplained(NoClearAnswer):
    """400 with a text that names no fault of the document; `text` is that text, cleaned and cut."""

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text
