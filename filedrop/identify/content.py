"""Where a document says who sends what to whom (contract 3), and how these places become ids.

A *place* is a step on the way to a value worth keeping; the places of a document type form a tree that the parser walks
along (see parsing). Elements count in the namespaces of their syntax only: what stands in an extension, an attachment
or an element of somebody else's is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from filedrop.identify import codelist, participants
from filedrop.model.document import BILLING_WITH_RESPONSE, same_participant, without_scheme
from filedrop.times import calendar_day

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.etree import _Element

SEPARATOR = "\x01"  # between namespace and local name; no XML name or URI can contain it
ENVELOPE = "StandardBusinessDocument"
HEADER = "StandardBusinessDocumentHeader"
_SBDH = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"
_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
_UN = "urn:un:unece:uncefact:data:standard:"
_CII = f"{_UN}CrossIndustryInvoice:"
_REGISTRY = "urn:oasis:names:tc:ebxml-regrep:xsd:"
COMPONENTS = (
    f"{_UBL}CommonAggregateComponents-2",
    f"{_UBL}CommonBasicComponents-2",
    f"{_UN}ReusableAggregateBusinessInformationEntity:100",
    f"{_UN}UnqualifiedDataType:100",
    f"{_UN}ReusableAggregateBusinessInformationEntity:19",  # D16A, the library before the one that all others use
    f"{_UN}UnqualifiedDataType:19",
    f"{_REGISTRY}rim:4.0",
)


_BILLS = [f"{_UBL}{name}-2{SEPARATOR}{name}" for name in ("Invoice", "CreditNote")]


class Place(dict[str, "Place"]):
    """The places below one, by expanded name; `path` is set where the text itself is wanted.

    Where `named`, the step to the next place is the value of the element's attribute `name`.
    """

    __slots__ = ("named", "path")

    def __init__(self) -> None:
        super().__init__()
        self.path = ""
        self.named = False


class Value(NamedTuple):
    """A text that was found at a place, without the blanks around it, and its schemeID (in an envelope: Authority).

    `inside` is the number of the element around it among all that have places in them: the values of one scope of an
    envelope have the same.
    """

    path: str
    text: str
    scheme: str | None
    inside: int


class Found(NamedTuple):
    """An id, its source (`envelope` or `document`) and the place where it stands."""

    id: str
    source: str
    place: str


class Missing(NamedTuple):
    """Where an id was looked for in vain; `because` says what stands there instead, if anything does.

    No other place and no other source counts for an id where something stands that can't be read. `value` and `scheme`
    are what stands there for a party, in one EndpointID.
    """

    place: str
    because: str = ""
    value: str = ""
    scheme: str = ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is the address of a party in no network of ParticipantIDs, such as its mail address."""
        return self.scheme in _ELSEWHERE

    def __str__(self) -> str:
        return f"{self.place}, {self.because}" if self.because else self.place


class Endpoint(NamedTuple):
    """The EndpointID of a party as it is written, `schemeID:value` ("" where there is none), and the network's rule.

    The rule demands this id in the envelope that the access point makes (BR-SBDH, Peppol BIS Billing 3.0.21). `place`
    is the EndpointID's path below the root.
    """

    rule: str
    written: str
    place: str


class Answered(NamedTuple):
    """The number of the document that an Invoice Response answers, and the code of its answer."""

    number: str
    code: str


class Facts(NamedTuple):
    """The places where a syntax states what a document is, and of a response, what it answers; paths below the root."""

    customization: str
    process: str
    number: str
    issue_date: str
    type_code: str = ""
    version: str = ""
    answered: str = ""
    answer: str = ""


_UN_FACTS = Facts(
    "ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID",
    "ExchangedDocumentContext/BusinessProcessSpecifiedDocumentContextParameter/ID",
    "ExchangedDocument/ID",
    "ExchangedDocument/IssueDateTime/DateTimeString",
    "ExchangedDocument/TypeCode",
)
_REGISTRY_FACTS = Facts(  # the notices of Peppol pre-award: transactions T011, T012 and T015
    "Slot[@name='SpecificationIdentification']/SlotValue/Value",
    "Slot[@name='BusinessProcessTypeIdentifier']/SlotValue/Value",
    "",
    "Slot[@name='IssueDateTime']/SlotValue/Value",
)
_INVOICE_RESPONSE = ":invoice_response:"  # in its CustomizationID
_ANSWERED, _ANSWER = (f"DocumentResponse/{path}" for path in ("DocumentReference/ID", "Response/ResponseCode"))
_SENDER = f"{HEADER}/Sender/Identifier"
_RECEIVER = f"{HEADER}/Receiver/Identifier"
_PARTIES = (f"{HEADER}/Sender", f"{HEADER}/Receiver")  # whose text is the Identifier's, or stands in its place
_SCOPE = f"{HEADER}/BusinessScope/Scope/Type"
_SCOPED = f"{HEADER}/BusinessScope/Scope/InstanceIdentifier"
_IN_THE_ENVELOPE = {"sender": _SENDER, "receiver": _RECEIVER, "document_id": _SCOPED, "process_id": _SCOPED}
_ID_STEPS = ("/EndpointID", "/URIUniversalCommunication/URIID")  # of a party, which the steps to its name replace
_NAME_STEPS = ("PartyName/Name", "PartyLegalEntity/RegistrationName", "Name")
_SCOPES = {"DOCUMENTID": "document_id", "PROCESSID": "process_id"}
_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
_SELF_BILLING = _BILLING.replace(":billing:", ":selfbilling:")
_SUPPLIER, _CUSTOMER = (f"Accounting{role}Party/Party/EndpointID" for role in ("Supplier", "Customer"))
_BILLED = {"receiver": ("BR-SBDH-1", _CUSTOMER), "sender": ("BR-SBDH-2", _SUPPLIER)}
_SELF_BILLED = {"receiver": ("BR-SBDH-3", _SUPPLIER), "sender": ("BR-SBDH-4", _CUSTOMER)}
_ENVELOPE_RULES = {  # by CustomizationID and ProfileID of an Invoice or CreditNote in UBL: rule and place by role
    (_BILLING, "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"): _BILLED,
    (_BILLING, BILLING_WITH_RESPONSE): _BILLED,
    (_SELF_BILLING, "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0"): _SELF_BILLED,
}
MAIL = "EM"
_ELSEWHERE = ("AN", "AQ", "AS", "AU", MAIL)  # OFTP, X.400, AS2, FTP, mail: in the list of EAS codes, but no ICD
_AUTHORITIES = {"GS1": "GLN"}  # who gives the id of a party, and by which scheme: GS1's standard for the envelope


@dataclass(frozen=True, slots=True)
class Content:
    """What a document says; each of the four ids is in `found` or in `missing`. `names` are the parties', by role.

    `endpoints` are the ids that the network wants in the envelope, by role; empty for documents without such a rule.
    """

    found: dict[str, Found]
    missing: dict[str, Missing]
    customization: str = ""
    number: str | None = None
    issue_date: str | None = None
    type_code: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    answers: Answered | None = None


def is_envelope(name: str) -> bool:
    """Whether a root element is an SBDH envelope; some write it without its namespace."""
    return name in (ENVELOPE, f"{_SBDH}{SEPARATOR}{ENVELOPE}")


def is_header(name: str) -> bool:
    """Whether an element is an envelope's header; any other element of an envelope is the business document."""
    return name in (HEADER, f"{_SBDH}{SEPARATOR}{HEADER}")


def business_document(root: _Element) -> _Element:
    """The element of the business document: the root, or within an envelope, the element after its header."""
    within = root.iterchildren("*") if is_envelope(_expanded(root)) else ()
    return next((child for child in within if not is_header(_expanded(child))), root)


def _expanded(element: _Element) -> str:
    return str(element.tag).removeprefix("{").replace("}", SEPARATOR)


@lru_cache(maxsize=256)
def places(root: str) -> Place:
    """The tree of places of a document with this root element (an expanded name)."""
    namespace, _, local = root.rpartition(SEPARATOR)
    if is_envelope(root) or is_header(root):
        below = f"{HEADER}/" if is_header(root) else ""
        paths = [path.removeprefix(below) for path in (*_PARTIES, _SENDER, _RECEIVER, _SCOPE, _SCOPED)]
        return _tree(local, paths, ("", _SBDH))
    roles = [path for row in codelist.roles(local) for path in (row.sender, row.receiver)]
    names = [path for role in roles for path in _name_paths(role)]
    return _tree(local, [*roles, *names, *_facts(namespace, local)], (namespace, *COMPONENTS))


def content(root: str, values: Sequence[Value]) -> Content:
    """What a document says of itself; `root` is the expanded name of the business document, "" where there is none."""
    envelope = _in_the_envelope([value for value in values if HEADER in value.path])
    if not root:
        return Content(*_settled(envelope, {name: Missing(f"/{path}") for name, path in _IN_THE_ENVELOPE.items()}))
    first = {value.path: value.text for value in reversed(values)}
    namespace, _, local = root.rpartition(SEPARATOR)
    facts = _facts(namespace, local)
    customization, process, number, issue_date, type_code, version, *answered = (
        first.get(f"/{local}/{path}", "") for path in facts
    )
    roles = codelist.roles_of(local, customization, type_code)
    whole = document_id(namespace, local, customization, version)
    unknown = _why_unknown(namespace, local, customization)
    document = {
        "sender": _party(local, roles.sender, values),
        "receiver": _party(local, roles.receiver, values),
        "document_id": _made(whole, values, f"/{local}/{facts.customization}", unknown),
        "process_id": _made(without_scheme(process), values, f"/{local}/{facts.process}"),
    }
    stated = (number or None, calendar_day(issue_date) or None, type_code or None)
    names = {
        role: name
        for role, place in (("sender", roles.sender), ("receiver", roles.receiver))
        if (name := next(filter(None, (first.get(f"/{local}/{path}") for path in _name_paths(place))), ""))
    }
    rules = _ENVELOPE_RULES.get((customization, process), {}) if root in _BILLS else {}
    endpoints = {
        role: Endpoint(rule, _written(f"/{local}/{place}", values), place) for role, (rule, place) in rules.items()
    }
    is_answer = _INVOICE_RESPONSE in customization and all(answered)
    answers = Answered(*answered) if is_answer else None
    return Content(*_settled(envelope, document), customization, *stated, names, endpoints, answers)


def _why_unknown(namespace: str, local: str, customization: str) -> str:
    """Why such a document has no document id, as the end of a sentence; "" where only its place is missing."""
    if not namespace and (customization or codelist.roles(local) is not codelist.roles("*")):
        return f"but the element {local} has no namespace (xmlns), so the document is neither UBL nor CII"
    return f'where "{customization[:100]}" stands, but without a version' if customization else ""


def _written(path: str, values: Sequence[Value]) -> str:
    """The id at a place, as the rules for envelopes write it; "" where there is none."""
    stands = next((value for value in values if value.path == path), None)
    return f"{stands.scheme or ''}:{' '.join(stands.text.split())}" if stands else ""


@lru_cache
def _name_paths(party: str) -> tuple[str, ...]:
    """Where the name of a party stands whose id stands in this place, the best first."""
    above = next((party.removesuffix(steps) for steps in _ID_STEPS if party.endswith(steps)), "")
    return tuple(f"{above}/{steps}" for steps in _NAME_STEPS) if above else ()


def _settled(
    envelope: dict[str, Found | Missing], document: dict[str, Found | Missing]
) -> tuple[dict[str, Found], dict[str, Missing]]:
    """What is found and what is missing: what stands in the envelope comes first, also if it can't be read."""
    found: dict[str, Found] = {}
    missing: dict[str, Missing] = {}
    for name in envelope | document:
        answers = [said[name] for said in (envelope, document) if name in said]
        answer = next((answer for answer in answers if isinstance(answer, Found) or answer.because), answers[0])
        if isinstance(answer, Found):
            found[name] = answer
        else:
            missing[name] = answer
    return found, missing


def _in_the_envelope(values: list[Value]) -> dict[str, Found | Missing]:
    said: dict[str, Found | Missing] = {}
    stated: dict[str, dict[str, str]] = {}  # the ids under each name, each with its path
    scopes = {
        value.inside: _SCOPES[value.text]
        for value in values
        if value.path.endswith("/Scope/Type") and value.text in _SCOPES
    }
    for value in values:
        id_ = without_scheme(value.text)
        if not id_:  # the name of an id's scheme alone is nothing
            continue
        if "/Scope/" in value.path:
            if not value.path.endswith("/InstanceIdentifier") or value.inside not in scopes:
                continue
            stated.setdefault(scopes[value.inside], {}).setdefault(id_, value.path)
            continue
        role = "sender" if "/Sender" in value.path else "receiver"
        scheme = value.scheme or ""
        participant = participants.participant(id_, _AUTHORITIES.get(scheme.upper(), scheme))
        if participant:
            stated.setdefault(role, {}).setdefault(participant, value.path)
        else:
            because = f'where "{value.text[:100]}" is no participant of the network'
            said.setdefault(role, Missing(value.path, because))
    return {name: _only(list(ids), next(iter(ids.values())), "envelope") for name, ids in stated.items()} | said


def _party(local: str, place: str, values: Sequence[Value]) -> Found | Missing:
    if not place:
        return Missing(f"/{local}, in which no element states it")
    path = f"/{local}/{place}"
    stand = [value for value in values if value.path == path]
    if not stand:
        return Missing(path)
    ids = [participants.participant(value.text, value.scheme) for value in stand]
    unreadable = [value for value, id_ in zip(stand, ids, strict=True) if not id_]
    # An address of another network may stand beside an id; whatever else can't be read may be another company.
    if (found := list(filter(None, ids))) and all(value.scheme in _ELSEWHERE for value in unreadable):
        return _only(found, path, "document")
    text, scheme = unreadable[0].text, unreadable[0].scheme or ""
    by = f'schemeID "{scheme}"' if scheme else "no schemeID"
    because = f'where "{text[:100]}" with {by} is no participant of the network'
    return Missing(path, because, text, scheme) if len(stand) == 1 else Missing(path, because)


def _only(ids: Sequence[str], path: str, source: str) -> Found | Missing:
    """The id that stands at a place; of two that differ none is picked."""
    for other in ids:
        if not same_participant(other, ids[0]):
            return Missing(path, f'where both "{ids[0][:200]}" and "{other[:200]}" stand')
    return Found(ids[0], source, path)


def _made(id_: str | None, values: Sequence[Value], path: str, because: str = "") -> Found | Missing:
    """The id that was made of what stands at a place, unless two that differ stand there."""
    if not id_:
        return Missing(path, because)
    stated = _only([value.text for value in values if value.path == path], path, "document")
    return stated._replace(id=id_) if isinstance(stated, Found) else stated


def document_id(namespace: str, local: str, customization: str, version: str) -> str | None:
    """`<root namespace>::<local name>##<CustomizationID>::<version>`; None where one of them isn't known."""
    if not namespace or not customization:
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


@lru_cache
def _facts(namespace: str, local: str) -> Facts:
    if namespace.startswith(_UN):
        return _UN_FACTS
    if namespace.startswith(_REGISTRY):
        return _REGISTRY_FACTS
    stated = Facts("CustomizationID", "ProfileID", "ID", "IssueDate", f"{local}TypeCode", "UBLVersionID")
    return stated._replace(answered=_ANSWERED, answer=_ANSWER) if local == "ApplicationResponse" else stated


def _tree(root: str, paths: Iterable[str], namespaces: tuple[str, ...]) -> Place:
    tree = Place()
    for path in filter(None, paths):
        place = tree
        for step in path.split("/"):
            element, _, attribute = step.partition("[@name=")
            names = [f"{namespace}{SEPARATOR}{element}" if namespace else element for namespace in namespaces]
            below = place.setdefault(names[0], Place())
            place.update(dict.fromkeys(names, below))
            place = below
            if attribute:
                place.named = True
                place = place.setdefault(attribute.strip("']"), Place())
        place.path = f"/{root}/{path}"
    return tree
