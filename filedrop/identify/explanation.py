"""Where each id comes from, and where it was looked for in vain: half sentences for an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.identify import codelist

if TYPE_CHECKING:
    from filedrop.identify.identity import Identity
    from filedrop.identify.mapping import Try
    from filedrop.identify.reading import Reading


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
