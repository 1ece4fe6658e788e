"""Who sends what to whom: each id from the first source that has it (contract 3). A missing id stays missing.

And where each comes from, or was looked for in vain: half sentences for an administrator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.identify import codelist
from filedrop.identify.participants import doubts as doubts_of
from filedrop.identify.participants import fault, with_value
from filedrop.model.document import local_name
from filedrop.times import today

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from filedrop.identify.content import Missing
    from filedrop.identify.mapping import Rules, Try
    from filedrop.identify.reading import Reading


@dataclass(frozen=True, slots=True)
class Identity:
    """The ids of a document as far as they are known, and where each comes from.

    `sources` has a key for each id that isn't None, and for a channel that a rule has set: `mapping N`, `envelope`,
    `document`, `company` or `code list`. `company` and `file_name` are whose document it was taken for, and under which
    name; `tries` are all mapping rules, tried on it in their order.
    """

    sender: str | None
    receiver: str | None
    document_id: str | None
    process_id: str | None
    channel: str
    sources: Mapping[str, str]
    warnings: tuple[str, ...]
    company: str | None
    file_name: str
    tries: tuple[Try, ...]


def identify(
    reading: Reading,
    *,
    company: str | None = None,
    file_name: str = "",
    participants: Sequence[str] = (),
    channel: str = "",
    mapping: Rules | None = None,
    prepares: bool = False,
) -> Identity:
    """The ids of a document. `participants` are the company's, the first of them its own sender; `channel` is its.

    `prepares`: the ids are written into the document, so that it can't contradict them.
    """
    ids = {name: found.id for name, found in reading.found.items()}
    sources = {name: found.source for name, found in reading.found.items()}
    tries = tuple(mapping.tries(reading, company=company, file_name=file_name)) if mapping is not None else ()
    for tried in reversed(tries):  # so that the first one wins
        ids |= tried.values
        sources |= dict.fromkeys(tried.values, f"mapping {tried.rule}")
    if "sender" not in ids and (own := _own_sender(reading.missing["sender"], participants)):
        ids["sender"], sources["sender"] = own
    in_vain = [
        f"{name}: {missing}"
        for name, missing in reading.missing.items()
        if missing.because and sources.get(name) in (None, "company")
    ]
    entry = codelist.document_entry(ids.get("document_id", ""))
    is_process_stated = "process_id" in ids or bool(reading.missing["process_id"].because)
    if not is_process_stated and entry is not None and len(entry.processes) == 1:
        ids["process_id"], sources["process_id"] = entry.processes[0], "code list"
    return Identity(
        sender=ids.get("sender"),
        receiver=ids.get("receiver"),
        document_id=ids.get("document_id"),
        process_id=ids.get("process_id"),
        channel=ids.get("channel", channel),
        sources=sources,
        warnings=(*filter(None, [reading.warning]), *in_vain, *_doubts(ids, reading, prepares=prepares)),
        company=company,
        file_name=file_name,
        tries=tries,
    )


def _own_sender(missing: Missing, participants: Sequence[str]) -> tuple[str, str] | None:
    """The company's participant that sends where the document names none, or only its value; and its source."""
    if missing.value and not missing.scheme and (own := with_value(missing.value, participants)):
        return own, "document"
    is_stated = bool(missing.because) and not missing.is_elsewhere
    return (participants[0], "company") if participants and not is_stated else None


def _doubts(ids: Mapping[str, str], reading: Reading, *, prepares: bool) -> list[str]:
    doubts: list[str] = []
    for role in ("sender", "receiver"):
        if role in ids and fault(ids[role]) is None:
            doubts += doubts_of(role, ids[role])
    for role in () if prepares else contradicted(ids, reading):
        rule, written, _ = reading.endpoints[role]
        stated = (
            f"the document's EndpointID is {_with_scheme(written)}" if written else "the document has no EndpointID"
        )
        doubts.append(
            f"{role} {ids[role]}: {stated}. The network's rule {rule} demands the same id, and an access point may "
            "refuse the document. Correct the EndpointID in the accounting system, or set prepare.ids"
        )
    document_id = ids.get("document_id", "")
    if reading.is_another(document_id):
        doubts.append(
            f"document_id: it is an id for {local_name(document_id)}, but the document is {reading.root_name}"
        )
    entry = codelist.document_entry(document_id)
    done, when = codelist.fate(entry, today()) if entry is not None else ("", "")
    if done:
        doubts.append(f"document_id: the Peppol code list has {done} this document type{when}")
    if document_id and not codelist.knows_document(document_id):
        doubts.append("document_id: no code list knows this document type")
    state = codelist.process_state(ids.get("process_id", ""))
    if state is not None and state != "active":
        doubts.append(f"process_id: the Peppol code list has {state} this process")
    return doubts


def contradicted(ids: Mapping[str, str | None], reading: Reading) -> list[str]:
    """The roles whose id isn't the document's EndpointID, where a rule of the network demands that (BR-SBDH)."""
    return [role for role, endpoint in reading.endpoints.items() if ids.get(role) not in (None, endpoint.written)]


def _with_scheme(written: str) -> str:
    return f"{written[1:]} without a schemeID" if written.startswith(":") else written


def rule_of(name: str, identity: Identity) -> Try | None:
    """The rule that has set an id (or the channel)."""
    source = identity.sources.get(name)
    return next((tried for tried in identity.tries if source == f"mapping {tried.rule}"), None)


def explained(name: str, identity: Identity, reading: Reading) -> str:
    """Where an id (or the channel) comes from; where there is none, why."""
    rule = rule_of(name, identity)
    if rule is not None:
        return f"{rule} sets it"
    found = reading.found.get(name)
    if found is not None:
        return f"the {found.source} has it at {found.place}"
    if name == "channel":
        return "it is the company's" if identity.channel else "neither a rule nor the company has one, so it is empty"
    said = [f"looked at {reading.missing[name]}"]
    said += [f"{tried} has none: {tried.unset[name]}" for tried in identity.tries if name in tried.unset]
    if name == "sender":
        said.append(_of_the_company(identity, reading))
    if name == "process_id" and identity.document_id:
        said.append(_of_the_code_list(identity.document_id))
    return "; ".join(said)


def _of_the_company(identity: Identity, reading: Reading) -> str:
    if identity.sources.get("sender") == "document":
        return f"it is the only participant of {identity.company} with this value"
    if identity.sender:
        return "it is the company's first participant"
    if reading.missing["sender"].because and not reading.missing["sender"].is_elsewhere:
        return "so the company's first participant doesn't count"
    if not identity.company:
        return "no company is known that it may be from"
    return f"the company {identity.company} has no participants"


def _of_the_code_list(document_id: str) -> str:
    entry = codelist.document_entry(document_id)
    if entry is None:
        return "the code list doesn't know the document id"
    if len(entry.processes) == 1:
        return "the code list has only this one for the document id"
    return f"the code list has several for the document id ({', '.join(entry.processes)})"
