"""All the ids of a document, in good form, or a note that says how to correct those that aren't.

The note's part for the administrator ends in a mapping rule to be copied. It is for the one file: rules come before
what documents say, so a receiver for every invoice of a company would also replace the one that an invoice names
itself. What only a person knows is a placeholder in it, `<version>`, with which the configuration is refused
(config/mapping).
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
from filedrop.texts import Text
from filedrop.texts.printable import in_yaml, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.identify.identity import Identity
    from filedrop.identify.reading import Reading

_WANTED = ("sender", "receiver", "document_id", "process_id")
_URN = re.compile(r"[!-~]+")
_LONGEST_ID = {"document_id": 500, "process_id": 200}  # characters, by the Peppol policy for identifiers
_WILDCARD = "*"  # Peppol policy for identifiers 4.4, peppol-doctype-wildcard
_DOCUMENT = "<namespace>::<name>##<CustomizationID>::<version>"
_DOCUMENT_ID = re.compile(r"[!-)+-z|~]{1,500}")  # no wildcard, and no braces: they mean a group of a rule's `file`
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_LONGEST_NAME = 200  # bytes; a longer name is shortened, and keeps more than half of them (contract 1)


def demand(identity: Identity, reading: Reading) -> Ids:
    """All the ids, in good form.

    Raises DocumentError: `no-sender`, `no-receiver`, `no-document-id`, `no-process-id`, `bad-participant`, by the first
    of its faults. It names all of them, and says where each id was looked for or found, and its last line is the rule
    that would correct them.
    """
    ids = {name: getattr(identity, name) for name in _WANTED}
    missing_first = sorted(ids.items(), key=lambda item: bool(item[1]))
    faults = {name: text for name, id_ in missing_first if (text := _fault(name, id_, identity, reading))}
    if not faults:
        return Ids(**ids, channel=identity.channel)
    raise DocumentError(*faults.values(), *_advice(list(faults), identity, reading))


def _fault(name: str, id_: str | None, identity: Identity, reading: Reading) -> Text | None:
    """What is wrong with an id, and where it was looked for or found; None if nothing is wrong."""
    missing = f"no-{name.replace('_', '-')}"
    if not id_:
        return Text.of(missing, where=explained(name, identity, reading))
    wrong = _wrong(name, id_) if name in _LONGEST_ID else participants.fault(id_)
    if not wrong:
        return None
    facts = {"id": id_, "wrong": wrong, "where": explained(name, identity, reading)}
    if name in _LONGEST_ID:
        return Text.of(f"{missing}/form", **facts)
    by = "-by-rule" if rule_of(name, identity) else ""
    return Text.of(f"bad-participant/{name}{by}", **facts, example=participants.EXAMPLE)


def _wrong(name: str, id_: str) -> str:
    """What is wrong with the form of a document id or process id: half a sentence, or ""."""
    if len(id_) > _LONGEST_ID[name] or not _URN.fullmatch(id_):
        return f"is longer than {_LONGEST_ID[name]} characters, or not all of them are visible ASCII"
    if name == "document_id" and (":" not in id_ or not all(id_.replace("##", "::").split("::"))):
        return f"has an empty part, or is no document id at all; it must look like {_DOCUMENT}"
    if name == "document_id" and _WILDCARD in id_:
        return f"has a wildcard ({_WILDCARD}): receivers register with wildcards, but a document has an id without one"
    return ""


def _advice(names: Sequence[str], identity: Identity, reading: Reading) -> tuple[Text, Text]:
    """What to do about these ids. The last line is a rule as it stands under `mapping:`."""
    conditions = _conditions(identity, reading)
    documents = f"every {conditions.get('document', 'document')}"
    documents += f" of {identity.company}" if identity.company else ""
    keys = {key: in_yaml(text) for key, text in conditions.items()}
    keys |= {name: _example(name, identity, reading) for name in names}
    reach = "ids/rule-for-file" if "file" in conditions else "ids/rule-for-all"
    rule = ", ".join(f"{key}: {value}" for key, value in keys.items())
    return _way(names, identity), Text.of(reach, documents=documents, rule=rule)


def _way(names: Sequence[str], identity: Identity) -> Text:
    ids = listed(name.replace("_", " ") for name in names)
    rules = sorted({rule.rule: str(rule) for name in names if (rule := rule_of(name, identity))}.items())
    if rules:  # above the first of them, since the first rule that sets an id wins
        return Text.of("ids/correct-rules", ids=ids, rules=listed(rule for _, rule in rules), first=rules[0][1])
    lacking = [tried for tried in identity.tries if not tried.unset.keys().isdisjoint(names)]
    if lacking:
        return Text.of("ids/complete-rule", ids=ids, rule=lacking[0])
    return Text.of("ids/add-rule", ids=ids)


def _conditions(identity: Identity, reading: Reading) -> dict[str, str]:
    conditions = {
        "company": identity.company or "",
        "document": reading.root_name,
        "file": _pattern(identity.file_name),
    }
    # An element's name may have a letter that can't be seen, which the configuration doesn't take.
    return {key: text for key, text in conditions.items() if text and text.isprintable()}


def _pattern(name: str) -> str:
    """A regular expression for a file's name, also where the file has been numbered or its name shortened.

    A number of one digit: with any, that for `invoice.xml` would be for `invoice-1002.xml`, too.
    """
    if not name:
        return ""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    if len(os.fsencode(name)) <= _LONGEST_NAME:
        return rf"{_literal(stem)}(-[2-9])?{_literal(suffix)}"
    while len(os.fsencode(stem)) > _LONGEST_NAME // 2:
        stem = stem[:-1]
    return f"{_literal(stem)}.*"


def _literal(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", text)
    return "".join(letter if letter.isprintable() else "[^!-~]" for letter in escaped)


def _example(name: str, identity: Identity, reading: Reading) -> str:
    """A value in YAML. Nothing is guessed: what nobody has said is a placeholder."""
    if name == "process_id":
        entry = codelist.document_entry(identity.document_id or "")
        return in_yaml(entry.processes[0] if entry is not None and entry.processes else "<process id>")
    if name == "document_id":
        customization = reading.customization or "<CustomizationID>"
        stem = f"{reading.root_namespace}::{reading.root_name}##{customization}"
        whole = document_id(reading.root_namespace, reading.root_name, customization, "") or f"{stem}::<version>"
        return in_yaml(whole if _DOCUMENT_ID.fullmatch(whole) and not _wrong(name, whole) else _DOCUMENT)
    return in_yaml(f"<ParticipantID of the {name}>")
