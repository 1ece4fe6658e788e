"""All the ids of a document, in good form, or a note that says how to mend the first that isn't.

It ends in a mapping rule, to be copied: for the one file, because rules come before what documents say, and a receiver
for every invoice of a company would also be that of all the invoices that name their own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.identify import codelist, participants
from filedrop.identify.content import document_id
from filedrop.identify.identity import explained, rule_of
from filedrop.model.document import Ids

if TYPE_CHECKING:
    from filedrop.identify.identity import Identity
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


_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
_DOCUMENT = "namespace::Invoice##customization::2.1"
_DOCUMENT_ID = re.compile(r"[!-z|~]{1,500}")  # without braces: in a rule they mean a group of its `file`
_PLAIN = re.compile(r"(?!(null|true|false)\Z)[a-z][a-z0-9_.-]*", re.IGNORECASE)  # what is text in any YAML
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_LONGEST_NAME = 200  # bytes; a longer name is shortened, and keeps more than half of them (contract 1)


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
    return DocumentError(code, message, _advice(name, identity, reading))


def _advice(name: str, identity: Identity, reading: Reading) -> str:
    """What to do about an id. The last line is a rule as it stands under `mapping:`."""
    conditions = _conditions(identity, reading)
    whose = f"every {conditions.get('document', 'document')}" + (f" of {identity.company}" if identity.company else "")
    wide = f"{whose}, whatever that says itself"
    reach = f"this file alone; without `file:`, for {wide}" if "file" in conditions else wide
    keys = {key: _written(text) for key, text in conditions.items()} | {name: _example(name, identity, reading)}
    return (
        f"{_ways(name, identity)}, with the right {name.replace('_', ' ')} in it, and run filedrop reload. It holds "
        f"for {reach}:\n"
        f"  - {{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}"
    )


def _ways(name: str, identity: Identity) -> str:
    rule = rule_of(name, identity)
    if rule is not None:
        return f"Mend what {rule} gives, or put this rule above it"
    lacking = next((tried for tried in identity.tries if name in tried.unset), None)
    first = "corrected in the document" if getattr(identity, name) else "written into the document"
    second = f" see to it that {lacking} finds it," if lacking is not None else ""
    return f"Have it {first},{second} or add this rule at the end of `mapping:` in the configuration"


def _conditions(identity: Identity, reading: Reading) -> dict[str, str]:
    conditions = {
        "company": identity.company or "",
        "document": reading.root_name,
        "file": _pattern(identity.file_name),
    }
    # An element's name may have a letter that can't be seen, which the configuration doesn't take.
    return {key: text for key, text in conditions.items() if text and text.isprintable()}


def _pattern(name: str) -> str:
    """A regular expression for a file's name, also where the file has been numbered or its name shortened."""
    if not name:
        return ""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    if len(os.fsencode(name)) <= _LONGEST_NAME:
        return rf"{_literal(stem)}(-\d+)?{_literal(suffix)}"
    while len(os.fsencode(stem)) > _LONGEST_NAME // 2:
        stem = stem[:-1]
    return f"{_literal(stem)}.*"


def _literal(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", text)
    return "".join(letter if letter.isprintable() else "[^!-~]" for letter in escaped)


def _written(text: str) -> str:
    """The text in YAML."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _example(name: str, identity: Identity, reading: Reading) -> str:
    """A value in YAML that has the right form. Nothing is guessed: the right value is for a person to write."""
    if name == "process_id":
        entry = codelist.document_entry(identity.document_id or "")
        return _written(entry.processes[0] if entry is not None and entry.processes else _PROCESS)
    if name == "document_id":
        customization = reading.customization or "customization"
        stem = f"{reading.root_namespace}::{reading.root_name}##{customization}"
        whole = document_id(reading.root_namespace, reading.root_name, customization, "") or f"{stem}::version"
        return _written(whole if _DOCUMENT_ID.fullmatch(whole) else _DOCUMENT)
    return f'"{participants.EXAMPLES[name]}"'
