"""Who sends what to whom: each id from the first source that has it (contract 3). A missing id stays missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.document import Ids
from filedrop.errors import DocumentError
from filedrop.identify import codelist, participants
from filedrop.identify.explanation import explained
from filedrop.identify.remedy import advice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.identify.mapping import Rules, Try
    from filedrop.identify.reading import Reading

_IDS = ("sender", "receiver", "document_id", "process_id")
_WANTED = {  # what the note says when one is missing
    "sender": "who sends it",
    "receiver": "who receives it",
    "document_id": "its document id",
    "process_id": "its process id",
}
_URN = re.compile(r"[!-~]+")
_LONGEST = {"document_id": 500, "process_id": 200}  # characters, by the Peppol policy for identifiers


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
    company: str | None = None
    file_name: str = ""
    tries: tuple[Try, ...] = ()


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
        warnings=(*in_vain, *_doubts(ids)),
        company=company,
        file_name=file_name,
        tries=tries,
    )


def demand(identity: Identity, reading: Reading) -> Ids:
    """All the ids, in good form.

    Raises DocumentError: `no-sender`, `no-receiver`, `no-document-id`, `no-process-id`, `bad-participant`. Its message
    says where the id was looked for or found, its hint ends in the rule that would mend it.
    """
    ids = {name: getattr(identity, name) for name in _IDS}
    for name, id_ in ids.items():
        if not id_:
            raise _fault(f"no-{name.replace('_', '-')}", f"Nothing says {_WANTED[name]}", name, identity, reading)
    for name in ("sender", "receiver"):
        wrong = participants.fault(ids[name])
        if wrong:
            raise _fault("bad-participant", f'The {name} "{ids[name]}" {wrong}', name, identity, reading)
    for name, longest in _LONGEST.items():
        if len(ids[name]) > longest or not _URN.fullmatch(ids[name]):
            wrong = f"is longer than {longest} characters, or not all of them are visible ASCII"
            called = f'The {name.replace("_", " ")} "{ids[name]}"'
            raise _fault(f"no-{name.replace('_', '-')}", f"{called} {wrong}", name, identity, reading)
    return Ids(**ids, channel=identity.channel)


def _fault(code: str, what: str, name: str, identity: Identity, reading: Reading) -> DocumentError:
    said = f"{what}: {explained(name, identity, reading)}."
    # In one line, so that nothing in a document can pass for the rule below it.
    message = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in said)
    return DocumentError(code, message, advice(name, identity, reading))


def _doubts(ids: Mapping[str, str]) -> list[str]:
    doubts: list[str] = []
    for role in ("sender", "receiver"):
        if role in ids and participants.fault(ids[role]) is None:
            doubts += participants.doubts(role, ids[role])
    entry = codelist.document_entry(ids.get("document_id", ""))
    if entry is not None and entry.state != "active":
        doubts.append(f"document_id: the Peppol code list has {entry.state} this document type")
    state = codelist.process_state(ids.get("process_id", ""))
    if state is not None and state != "active":
        doubts.append(f"process_id: the Peppol code list has {state} this process")
    return doubts
