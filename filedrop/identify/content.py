"""Where a document says who sends what to whom (contract 3), and how these places become ids.

A *place* is a step on the way to a value worth keeping; the places of a document type form a tree that the parser walks
along (see parsing). Elements count in the namespaces of their syntax only: what stands in an extension, an attachment
or an element of somebody else's is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from filedrop.identify import codelist, participants

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SEPARATOR = "\x01"  # between namespace and local name; no XML name or URI can contain it
ENVELOPE = "StandardBusinessDocument"
HEADER = "StandardBusinessDocumentHeader"
_SBDH = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"
_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
_UN = "urn:un:unece:uncefact:data:standard:"
_CII = f"{_UN}CrossIndustryInvoice:"
_COMPONENTS = (
    f"{_UBL}CommonAggregateComponents-2",
    f"{_UBL}CommonBasicComponents-2",
    f"{_UN}ReusableAggregateBusinessInformationEntity:100",
    f"{_UN}UnqualifiedDataType:100",
    f"{_UN}ReusableAggregateBusinessInformationEntity:19",  # D16A, the library before the one that all others use
    f"{_UN}UnqualifiedDataType:19",
)


class Place(dict[str, "Place"]):
    """The places below one, by expanded name; `path` is set where the text itself is wanted."""

    __slots__ = ("path",)

    def __init__(self) -> None:
        super().__init__()
        self.path = ""


class Value(NamedTuple):
    """A text that was found at a place, without the blanks around it, and its schemeID."""

    path: str
    text: str
    scheme: str | None


class Found(NamedTuple):
    """An id and its source: `envelope` or `document`."""

    id: str
    source: str


class Missing(NamedTuple):
    """Where an id was looked for in vain; `because` says what stands there instead, if anything does."""

    place: str
    because: str = ""

    def __str__(self) -> str:
        return f"{self.place}, {self.because}" if self.because else self.place


class Facts(NamedTuple):
    """The places where a syntax states what a document is; paths below the root."""

    customization: str
    process: str
    version: str
    number: str
    issue_date: str


_UBL_FACTS = Facts("CustomizationID", "ProfileID", "UBLVersionID", "ID", "IssueDate")
_UN_FACTS = Facts(
    "ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID",
    "ExchangedDocumentContext/BusinessProcessSpecifiedDocumentContextParameter/ID",
    "",
    "ExchangedDocument/ID",
    "ExchangedDocument/IssueDateTime/DateTimeString",
)
_SENDER = f"{HEADER}/Sender/Identifier"
_RECEIVER = f"{HEADER}/Receiver/Identifier"
_SCOPE = f"{HEADER}/BusinessScope/Scope/Type"
_SCOPED = f"{HEADER}/BusinessScope/Scope/InstanceIdentifier"
_SCOPES = {"DOCUMENTID": "document_id", "PROCESSID": "process_id"}


@dataclass(frozen=True, slots=True)
class Content:
    """What a document says; each of the four ids is in `found` or in `missing`."""

    found: dict[str, Found]
    missing: dict[str, Missing]
    type: str | None = None
    customization: str = ""
    number: str | None = None
    issue_date: str | None = None


def is_envelope(name: str) -> bool:
    """Whether a root element is an SBDH envelope; some write it without its namespace."""
    return name in (ENVELOPE, f"{_SBDH}{SEPARATOR}{ENVELOPE}")


def is_header(name: str) -> bool:
    """Whether an element is an envelope's header; any other element of an envelope is the business document."""
    return name in (HEADER, f"{_SBDH}{SEPARATOR}{HEADER}")


@lru_cache(maxsize=256)
def places(root: str) -> Place:
    """The tree of places of a document with this root element (an expanded name)."""
    namespace, _, local = root.rpartition(SEPARATOR)
    if is_envelope(root) or is_header(root):
        below = f"{HEADER}/" if is_header(root) else ""
        paths = [path.removeprefix(below) for path in (_SENDER, _RECEIVER, _SCOPE, _SCOPED)]
        return _tree(local, paths, ("", _SBDH))
    roles = [path for row in codelist.roles(local) for path in (row.sender, row.receiver)]
    return _tree(local, [*roles, *_facts(namespace)], (namespace, *_COMPONENTS))


def content(root: str, values: Sequence[Value]) -> Content:
    """What a document says of itself; `root` is the expanded name of the business document, "" where there is none."""
    first = {value.path: value for value in reversed(values)}
    said = Content({}, {})
    _take_envelope([value for value in values if HEADER in value.path], said)
    if not root:
        for name, path in (
            ("sender", _SENDER),
            ("receiver", _RECEIVER),
            ("document_id", _SCOPED),
            ("process_id", _SCOPED),
        ):
            _take(name, None, f"/{path}", said)
        return said
    namespace, _, local = root.rpartition(SEPARATOR)
    facts = _facts(namespace)
    customization, process, version, number, issue_date = (_text(first, f"/{local}/{path}") for path in facts)
    roles = codelist.roles_of(local, customization)
    _take_party("sender", f"/{local}/{roles.sender}", first, said)
    _take_party("receiver", f"/{local}/{roles.receiver}", first, said)
    document_id = _document_id(namespace, local, customization, version)
    _take("document_id", document_id, f"/{local}/{facts.customization}", said)
    _take("process_id", process, f"/{local}/{facts.process}", said)
    return Content(said.found, said.missing, local, customization, number or None, _day(issue_date) or None)


def _take_envelope(values: list[Value], said: Content) -> None:
    scope = ""
    for path, text, _ in values:
        if path.endswith("/Scope/Type"):
            scope = text
        elif path.endswith("/Scope/InstanceIdentifier"):
            if scope in _SCOPES:
                said.found.setdefault(_SCOPES[scope], Found(text, "envelope"))
            scope = ""
        else:
            role = "sender" if "/Sender/" in path else "receiver"
            id_ = participants.participant(text, None)
            if id_:
                said.found.setdefault(role, Found(id_, "envelope"))
            else:
                said.missing[role] = Missing(path, f'where "{text[:100]}" is no participant of the network')


def _take_party(role: str, path: str, first: dict[str, Value], said: Content) -> None:
    value = first.get(path)
    if value is None:
        _take(role, None, path, said)
        return
    because = f'where "{value.text[:100]}" with ' + (f'schemeID "{value.scheme}"' if value.scheme else "no schemeID")
    id_ = participants.participant(value.text, value.scheme)
    _take(role, id_, path, said, f"{because} is no participant of the network")


def _take(name: str, id_: str | None, path: str, said: Content, because: str = "") -> None:  # the envelope comes first
    if name in said.found:
        return
    if id_:
        said.found[name] = Found(id_, "document")
        said.missing.pop(name, None)
    else:
        said.missing.setdefault(name, Missing(path, because))


def _document_id(namespace: str, local: str, customization: str, version: str) -> str | None:
    """`<root namespace>::<local name>##<CustomizationID>::<version>`."""
    if not customization:
        return None
    document = f"{namespace}::{local}##{customization}"
    listed = codelist.version(document)
    if listed:
        version = listed
    elif namespace.startswith(_CII):
        version = "D16B"
    elif namespace.startswith(_UBL):
        version = version or "2.1"
    return f"{document}::{version}" if version else None


def _day(text: str) -> str:
    """A date as ISO 8601 writes it: CII writes `20261120`, with or without a time behind it."""
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if text[:8].isdecimal() and len(text) >= len("20261120") else text


def _facts(namespace: str) -> Facts:
    return _UN_FACTS if namespace.startswith(_UN) else _UBL_FACTS


def _text(first: dict[str, Value], path: str) -> str:
    return first[path].text if path in first else ""


def _tree(root: str, paths: Iterable[str], namespaces: tuple[str, ...]) -> Place:
    tree = Place()
    for path in filter(None, paths):
        place = tree
        for step in path.split("/"):
            names = [f"{namespace}{SEPARATOR}{step}" if namespace else step for namespace in namespaces]
            below = place.setdefault(names[0], Place())
            place.update(dict.fromkeys(names, below))
            place = below
        place.path = f"/{root}/{path}"
    return tree
