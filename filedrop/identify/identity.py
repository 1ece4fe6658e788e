"""Who sends what to whom: each id from the first source that has it (contract 3). A missing id stays missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.document import Ids
from filedrop.errors import DocumentError
from filedrop.identify import codelist, participants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.identify.mapping import Rules
    from filedrop.identify.reading import Reading

_IDS = ("sender", "receiver", "document_id", "process_id")
_WANTED = {  # what the note says when one is missing, and the value in the line that mends it
    "sender": ("who sends it", '"0192:987654325"'),
    "receiver": ("who receives it", '"0192:810418052"'),
    "document_id": ("its document id", '"root-namespace::Invoice##customization::2.1"'),
    "process_id": ("its process id", "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"),
}
_URN = re.compile(r"[!-~]+")
_LONGEST = {"document_id": 500, "process_id": 200}  # characters, by the Peppol policy for identifiers


@dataclass(frozen=True, slots=True)
class Identity:
    """The ids of a document as far as they are known, and where each comes from.

    `sources` has a key for each id that isn't None, and for a channel that a rule has set: `mapping N`, `envelope`,
    `document`, `company` or `code list`.
    """

    sender: str | None
    receiver: str | None
    document_id: str | None
    process_id: str | None
    channel: str
    sources: Mapping[str, str]
    warnings: tuple[str, ...]


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
    if mapping is not None:
        for name, (value, rule) in mapping.values(reading, company=company, file_name=file_name).items():
            ids[name], sources[name] = value, f"mapping {rule}"
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
    )


def demand(identity: Identity, reading: Reading) -> Ids:
    """All the ids, in good form.

    Raises DocumentError: `no-sender`, `no-receiver`, `no-document-id`, `no-process-id`, `bad-participant`; its hint is
    the rule that would mend it.
    """
    ids = {name: getattr(identity, name) for name in _IDS}
    for name, id_ in ids.items():
        if not id_:
            looked_at = f": looked at {reading.missing[name]}" if name in reading.missing else ""
            raise _fault(name, reading, f"no-{name.replace('_', '-')}", f"Nothing says {_WANTED[name][0]}{looked_at}.")
    for name in ("sender", "receiver"):
        wrong = participants.fault(ids[name])
        if wrong:
            raise _fault(name, reading, "bad-participant", f'The {name} "{ids[name]}" {wrong}.')
    for name, longest in _LONGEST.items():
        if len(ids[name]) > longest or not _URN.fullmatch(ids[name]):
            wrong = (
                f'{_WANTED[name][0].capitalize()} can\'t be "{ids[name]}": at most {longest} visible ASCII characters.'
            )
            raise _fault(name, reading, f"no-{name.replace('_', '-')}", wrong)
    return Ids(**ids, channel=identity.channel)


def _fault(name: str, reading: Reading, code: str, message: str) -> DocumentError:
    condition = f"document: {reading.type}, " if reading.type else ""
    return DocumentError(
        code,
        message,
        "Have it written into the document, or add a rule under `mapping:` in the configuration, such as:\n"
        f"  - {{{condition}{name}: {_WANTED[name][1]}}}",
    )


def _doubts(ids: Mapping[str, str]) -> list[str]:
    doubts = []
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
