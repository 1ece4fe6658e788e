"""The two ways in which the sandbox speaks: as the interface document says, or as the field notes say servers do.

Where the document is silent and the notes are not, both dialects do what the notes say:

    index             1 is the first page; blank or absent means 1; below 1 or no number: 400; past the end: no messages
    pages             25 messages, ascending msg_no
    order of elements msg-no, direction, received, [delivered], [uuid], peppol-header
    unknown number    204 everywhere; another account's number is unknown
    wrong direction   404 text for /inbox/N and /inbox/N/read, 204 for /outbox/N
    not a number      400 text
    read again        harmless, 200
    login             401 with realm `PEPPOL AP`
    500               text `Unknown server error occurred.`
    400 on POST       the known texts; only ChannelID is optional
    failed transfer   the message leaves the outbox, at its first failure, without `delivered`
    the same twice    two messages
    one account       can be sender and receiver: an OUT and an IN message
    participant id    percent-encoded in the path; malformed: 400
    sent              a day, `YYYY-MM-DD`, compared with `received`; quotes are optional
    null dates        empty strings in /statistics
    xml-document      application/xml;charset=UTF-8

Where the two differ, a field of `Dialect` says how. Not imitated: 503 with `Retry-After`, which comes from a front end
(wrap `Sandbox.app` to have it); a server without /directory at all; a 400 on POST that is empty though the reason is
known; a `uuid` that never appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from http import HTTPStatus
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Each way in which a server may speak differently."""

    # Shape of the answers
    declaration: bool  # answers open with an XML declaration
    namespace: str | None  # that of the elements
    list_element: str  # what holds the `message` elements of a list
    single_in_list: bool  # a `message` asked for by its number is wrapped like a list
    unknown_elements: bool  # there is more in a message than the document tells
    zone: tzinfo  # of timestamps, and of the days that `sent` asks for
    timespec: Literal["milliseconds", "seconds"]
    uuid_prefix: str
    uuid_at_once: bool  # a message has its uuid before it has been transferred
    scheme: str | None  # of the links in answers; None: that of the request
    statistics_names: tuple[str, str, str | None]  # last downloaded, last sent, oldest undelivered

    # What the endpoints do
    boxes_have_pages: bool  # /inbox and /outbox know `index` and have `navigation`
    operators: frozenset[str]  # of `sent` in /messages
    read_shows_delivered: bool  # in the answer to POST /inbox/N/read itself
    directory_body: bool  # GET /directory/P answers with a body
    download_elsewhere: bool  # /messages/N/xml-document: 303 to another host
    wrong_password: HTTPStatus
    refusal_in_html: bool  # 401 and 403
    bad_request_encoding: str | None  # the Content-Encoding that a 400 claims

    # What an upload goes through
    ids_checked: bool  # at the upload; otherwise a wrong one shows at transmission
    channel_kept: bool  # otherwise overwritten by the account's name
    document_kept: bool  # byte for byte, read as it declares itself; otherwise read as UTF-8 and written anew
    upload_fault: HTTPStatus  # what a fault of the server's own looks like


DOCUMENT = Dialect(
    declaration=True,
    namespace="urn:filedrop:sandbox:access-point",  # the document names none; a client must not care
    list_element="messages",
    single_in_list=True,
    unknown_elements=False,
    zone=UTC,
    timespec="milliseconds",
    uuid_prefix="",
    uuid_at_once=False,
    scheme=None,
    statistics_names=("lastDownloaded", "lastSent", None),
    boxes_have_pages=True,
    operators=frozenset({"=", "<", ">", "<=", "=>", ">="}),
    read_shows_delivered=True,
    directory_body=True,
    download_elsewhere=False,
    wrong_password=HTTPStatus.UNAUTHORIZED,
    refusal_in_html=False,
    bad_request_encoding=None,
    ids_checked=True,
    channel_kept=True,
    document_kept=True,
    upload_fault=HTTPStatus.INTERNAL_SERVER_ERROR,
)

FIELD = Dialect(
    declaration=False,
    namespace=None,
    list_element="messageList",
    single_in_list=False,
    unknown_elements=True,
    zone=timezone(timedelta(hours=1)),
    timespec="seconds",
    uuid_prefix="uuid:",
    uuid_at_once=True,
    scheme="https",
    statistics_names=("last_downloaded", "last_sent", "oldest_undelivered"),
    boxes_have_pages=False,
    operators=frozenset({"=", "<", ">", "<=", ">="}),
    read_shows_delivered=False,
    directory_body=False,
    download_elsewhere=True,
    wrong_password=HTTPStatus.FORBIDDEN,
    refusal_in_html=True,
    bad_request_encoding="UTF-8",
    ids_checked=False,
    channel_kept=False,
    document_kept=False,
    upload_fault=HTTPStatus.BAD_REQUEST,
)
