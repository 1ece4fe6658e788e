"""Parsers of the access point's XML: messages, pages, accepted pairs and statistics.

Elements are found by local name, in any namespace and order; unknown ones are ignored (field notes). XML that is no
answer of the interface raises `NoClearAnswer`: a proxy's web page must not look like an empty inbox. All input is
untrusted: a DOCTYPE is refused, entities aren't expanded, texts are cleaned; the caller limits the size.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.errors import NoClearAnswer
from filedrop.model.document import without_scheme
from filedrop.model.message import Message, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

_LISTS = frozenset({"outbox-query-response", "inbox-query-response", "messages-query-response", "outbox-post-response"})
_WRAPPERS = frozenset({"messages", "messageList"})
_DATA = frozenset({"message-meta-data", "peppol-header"})
_LONGEST_VALUE = 2000
_MOST_MARKS = 300_000  # tags, or attributes: each takes 20 times its bytes in memory; a page has about 1,000
_NEVER = "0001-"  # the year that some servers write where a moment is missing
_MOST_PAIRS = 1000  # that one receiver accepts under one name
_local = threading.local()  # holds each thread's parser
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]")  # what drives a terminal (ECMA-48)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, or the one message of a single answer.

    `has_navigation`: whether it has a `navigation` element; without, a full page may have a next one. `size`: bytes.
    """

    messages: tuple[Message, ...]
    next: str | None
    has_navigation: bool
    size: int


@dataclass(frozen=True, slots=True)
class Flow:
    """The figures of one direction; `last` is the time of the last transfer, as written."""

    total: int | None
    undelivered: int | None
    oldest_undelivered: str | None
    last: str | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """The account's figures."""

    account: str | None
    contact_email: str | None
    total: int | None
    incoming: Flow
    outgoing: Flow


def page(body: bytes, kind: str | None = None) -> Page:
    """The messages of a list or of a single answer, with or without a wrapper around them; `kind` is its root's name.

    Raises NoClearAnswer, also where a message has no readable number: leaving it out would make it look absent.
    """
    root = _root(body)
    if _name(root) not in ({kind} if kind else _LISTS):
        raise _unexpected(root)
    messages: list[Message] = []
    following, has_navigation = None, False
    for element in root:
        name = _name(element)
        if name == "message":
            messages.append(_message(element))
        elif name in _WRAPPERS:
            messages.extend(_message(child) for child in element if _name(child) == "message")
        elif name == "navigation":
            has_navigation = True
            following = _texts(element).get("next", following)
    return Page(tuple(messages), following, has_navigation, len(body))


def accepted(body: bytes) -> tuple[tuple[str, str], ...]:
    """The pairs of document id and process id that a receiver accepts. Raises NoClearAnswer."""
    root = _root(body)
    if _name(root) != "directory-response":
        raise _unexpected(root)
    transfers = [_texts(element) for element in root if _name(element) == "accepted-document-transfer"]
    if len(transfers) > _MOST_PAIRS:
        raise NoClearAnswer("the directory's answer has more documents than any receiver accepts; tell its operator")
    return tuple(
        (without_scheme(transfer["DocumentID"]), without_scheme(transfer["ProcessID"]))
        for transfer in transfers
        if "DocumentID" in transfer and "ProcessID" in transfer
    )


def statistics(body: bytes) -> Statistics:
    """The account's figures, with attributes in camelCase or snake_case. Raises NoClearAnswer."""
    root = _root(body)
    if _name(root) != "statistics":
        raise _unexpected(root)
    found: dict[str, dict[str, str]] = {}
    for element in root.iter("{*}account", "{*}messages", "{*}in", "{*}out"):
        attributes = {str(key).replace("_", "").lower(): clean(str(text)) for key, text in element.attrib.items()}
        found.setdefault(_name(element), attributes)
    account, total = found.get("account", {}), found.get("messages", {})
    return Statistics(
        account.get("name") or None,
        account.get("contactemail") or None,
        number(total.get("total")),
        _flow(found.get("in", {}), "lastdownloaded"),
        _flow(found.get("out", {}), "lastsent"),
    )


def clean(text: str, longest: int = 500) -> str:
    """The access point's text made safe to show: one line, no control characters, at most `longest` characters."""
    if text.isprintable() and len(text) <= longest and "  " not in text:
        return text.strip()
    text = _ESCAPE.sub("", text[: longest * 8])
    shown = (" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text)
    line = " ".join("".join(shown).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _root(body: bytes) -> _Element:
    from lxml import etree  # noqa: PLC0415 - saves 20 ms in commands that make no request

    if max(body.count(b"<"), body.count(b"=")) > _MOST_MARKS:
        raise NoClearAnswer("the access point's answer has more parts than any of the interface; tell its operator")
    if not hasattr(_local, "parser"):  # making one takes longer than parsing an answer
        _local.parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    if not body.strip():
        raise NoClearAnswer("the access point's answer is empty; check base_url, and any proxy in front of it")
    try:
        root: _Element = etree.fromstring(body, _local.parser)
    except etree.XMLSyntaxError as error:
        raise NoClearAnswer(
            "the access point's answer is not XML; check base_url, and any proxy in front of it"
        ) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise NoClearAnswer("the access point's answer has a DOCTYPE, which none of the interface has; check base_url")
    return root


def _unexpected(root: _Element) -> NoClearAnswer:
    name = clean(_name(root), 40)
    return NoClearAnswer(
        f'the access point answered with "{name}", which is not an answer to this request; check base_url'
    )


def _message(element: _Element) -> Message:
    texts = _texts(element, _DATA)
    msg_no = number(texts.get("msg-no"))
    if not msg_no:
        raise NoClearAnswer("the access point lists a message without a readable number; tell its operator")
    return Message(
        msg_no=msg_no,
        direction=texts.get("direction"),
        received=texts.get("received"),
        delivered=None if texts.get("delivered", "").startswith(_NEVER) else texts.get("delivered"),
        uuid=texts.get("uuid", "").removeprefix("uuid:") or None,
        sender=_id(texts, "sender"),
        receiver=_id(texts, "receiver"),
        channel=texts.get("channel"),
        document_id=_id(texts, "document-id"),
        process_id=_id(texts, "process-id"),
        link=texts.get("xml-document"),
    )


def _id(texts: dict[str, str], name: str) -> str | None:
    return without_scheme(texts.get(name, "")) or None


def _texts(element: _Element, within: frozenset[str] = frozenset()) -> dict[str, str]:
    """The texts of an element's children by name, the first of each; those named in `within` are descended into."""
    found: dict[str, str] = {}
    for name, text in _leaves(element, within):
        found.setdefault(name, text)
    return found


def _leaves(element: _Element, within: frozenset[str]) -> Iterator[tuple[str, str]]:
    for child in element:
        name = _name(child)
        if name in within:
            yield from _leaves(child, within)
        elif child.text and (text := clean(child.text, _LONGEST_VALUE)):
            yield name, text


def _name(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _flow(attributes: dict[str, str], last: str) -> Flow:
    return Flow(
        number(attributes.get("total")),
        number(attributes.get("undelivered")),
        attributes.get("oldestundelivered") or None,
        attributes.get(last) or None,
    )
