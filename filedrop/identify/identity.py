"""Who sends what to whom: each id from the first source that has it (contract 3). A missing id stays missing.

And where each comes from, or was looked for in vain: half sentences for an administrator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.identify import codelist, participants

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    default_sender: str | None = None,
    channel: str = "",
    mapping: Rules | None = None,
) -> Identity:
    """The ids of a document. `default_sender` is the company's first participant, `channel` the company's channel."""
    ids = {name: found.id for name, found in reading.found.items()}
    sources = {name: found.source for name, found in reading.found.items()}
    tries = tuple(mapping.tries(reading, company=company, file_name=file_name)) if mapping is not None else ()
    for tried in reversed(tries):  # so that the first one wins
        ids |= tried.values
        sources |= dict.fromkeys(tried.values, f"mapping {tried.rule}")
    in_vain = [f"{name}: {missing}" for name, missing in reading.missing.items() if missing.because and name not in ids]
    if "sender" not in ids and default_sender:
        ids["sender"], sources["sender"] = default_sender, "company"
    entry = codelist.document_entry(ids.get("document_id", ""))
    if "process_id" not in ids and entry is not None and len(entry.processes) == 1:
        ids["process_id"], sources["process_id"] = entry.processes[0], "code list"
    return Identity(
        sender=ids.get("sender"),
        receiver=ids.get("receiver"),
        document_id=ids.get("document_id"),
        process_id=ids.get("process_id"),
        channel=ids.get("channel", channel),
        sources=sources,
        warnings=(*filter(None, [reading.warning]), *in_vain, *_doubts(ids)),
        company=company,
        file_name=file_name,
        tries=tries,
    )


def _doubts(ids: Mapping[str, str]) -> list[str]:
    doubts: list[str] = []
    for role in ("sender", "receiver"):
        if role in ids and participants.fault(ids[role]) is None:
            doubts += participants.doubts(role, ids[role])
    document_id = ids.get("document_id", "")
    entry = codelist.document_entry(document_id)
    if entry is not None and entry.state != "active":
        doubts.append(f"document_id: the Peppol code list has {entry.state} this document type")
    if document_id and not codelist.knows_document(document_id):
        doubts.append("document_id: no code list knows this document type")
    state = codelist.process_state(ids.get("process_id", ""))
    if state is not None and state != "active":
        doubts.append(f"process_id: the Peppol code list has {state} this process")
    return doubts


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
        said.append(_of_the_company(identity))
    if name == "process_id" and identity.document_id:
        said.append(_of_the_code_list(identity.document_id))
    return "; ".join(said)


def _of_the_company(identity: Identity) -> str:
    if identity.sender:
        return "it is the company's first participant"
    if identity.company is None:
        return "the file lies in no company's folder"
    return f"the company {identity.company} has no participants"


def _of_the_code_list(document_id: str) -> str:
    entry = codelist.document_entry(document_id)
    if entry is None:
        return "the code list doesn't know the document id"
    if len(entry.processes) == 1:
        return "the code list has only this one for the document id"
    return f"the code list has several for the document id ({', '.join(entry.processes)})"
