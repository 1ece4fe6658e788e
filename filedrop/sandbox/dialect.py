"""The ways in which the sandbox speaks: as the interface document says, or as the field notes say servers do.

Where the document is silent and the notes are not, all dialects do what the notes say; the endpoint says what that is.
Where they differ, a field of `Dialect` says how. What only some servers do is one of the `ODDITIES`, which can be added
to each dialect. A third dialect is the document's in a namespace, which the interface doesn't have: a client goes by
local names, and tests see that ours does. Not imitated: 503 with `Retry-After`, which comes from a front end (wrap
`Sandbox.app` to have it); a server without /directory at all; a `uuid` that never appears.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Each way in which a server may speak differently; the defaults are the document's."""

    # Shape of the answers
    declaration: bool = True  # answers open with an XML declaration
    namespace: str | None = None  # that of the elements
    single_in_list: bool = True  # a `message` asked for by its number is wrapped like a list
    more_elements: bool = False  # there is more in a message than the document shows
    zone: tzinfo = UTC  # of timestamps, and of the days that `sent` asks for
    timespec: Literal["milliseconds", "seconds"] = "milliseconds"
    # A timestamp goes through a database after the 201 (field notes, Timestamps); by default it comes back unchanged.
    stored_seconds: Literal["cut", "rounded up"] | None = None  # how the database makes whole seconds of it
    stored_zone: tzinfo | None = None  # in which its local time, kept without a zone, is read
    uuid_prefix: str = ""
    uuid_at_once: bool = False  # a message has its uuid before it has been transferred
    scheme: str | None = None  # of the links in answers; None: that of the request
    # of the attributes for the last downloaded, the last sent, the oldest undelivered
    statistics_names: tuple[str, str, str | None] = ("lastDownloaded", "lastSent", None)

    # What the endpoints do
    boxes_have_pages: bool = True  # /inbox and /outbox know `index`, and `navigation` where it holds a link
    operators: frozenset[str] = frozenset({"=", "<", ">", "<=", "=>", ">="})  # of `sent` in /messages
    read_shows_delivered: bool = True  # in the answer to POST /inbox/N/read itself
    directory_body: bool = True  # GET /directory/P answers with a body
    download_elsewhere: bool = False  # a document is a 303 to another host
    lost_is_empty: bool = False  # a document whose file is gone: 200 with 0 bytes; otherwise 500
    refusal_in_html: bool = False  # 401
    bad_request_encoding: str | None = None  # the Content-Encoding that a 400 claims
    upload_encoding: str | None = None  # the Content-Encoding that an answer to POST /outbox claims

    # What an upload goes through
    ids_checked: bool = True  # at the upload; otherwise a wrong one shows at transmission
    channel_kept: bool = True  # otherwise overwritten by the account's name
    document_kept: bool = True  # byte for byte, read as it declares itself; otherwise read as UTF-8 and written anew
    upload_fault: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR  # what a fault of the server's own looks like
    fault_after_storing: bool = False  # each upload ends in such a fault once its message is stored


DOCUMENT = Dialect()

FIELD = Dialect(
    declaration=False,
    single_in_list=False,
    more_elements=True,
    zone=timezone(timedelta(hours=1)),
    timespec="seconds",
    uuid_at_once=True,
    scheme="https",
    statistics_names=("last_downloaded", "last_sent", "oldest_undelivered"),
    boxes_have_pages=False,
    operators=frozenset({"=", "<", ">", "<=", ">="}),
    read_shows_delivered=False,
    directory_body=False,
    refusal_in_html=True,
    bad_request_encoding="UTF-8",
    ids_checked=False,
    channel_kept=False,
    document_kept=False,
    upload_fault=HTTPStatus.BAD_REQUEST,
)

ODDITIES: Mapping[str, Mapping[str, Any]] = {
    "seconds-cut": {"timespec": "milliseconds", "stored_seconds": "cut"},
    "seconds-rounded": {"timespec": "milliseconds", "stored_seconds": "rounded up"},
    "another-offset": {"stored_zone": timezone(timedelta(hours=2))},
    "document-elsewhere": {"download_elsewhere": True},
    "lost-document-empty": {"lost_is_empty": True},
    "fault-after-storing": {"fault_after_storing": True, "upload_fault": HTTPStatus.BAD_REQUEST},
    "refusal-encoded": {"upload_encoding": "UTF-8"},
    "uuid-prefix": {"uuid_prefix": "uuid:", "uuid_at_once": False},
}
"""What only some servers do, by name: the fields that each changes in a dialect."""

NAMESPACED = replace(DOCUMENT, namespace="urn:filedrop:sandbox:access-point")


def with_oddities(dialect: Dialect, names: Iterable[str]) -> Dialect:
    """The dialect with these of the `ODDITIES`. KeyError: one of them isn't known."""
    changes = {field: value for name in names for field, value in ODDITIES[name].items()}
    return replace(dialect, **changes)
