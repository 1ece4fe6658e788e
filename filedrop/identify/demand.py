"""All the ids of a document, in good form, or a note that says how to mend those that aren't.

The note ends in a mapping rule to be copied. It is for the one file: rules come before what documents say, so a
receiver for every invoice of a company would also replace the one that an invoice names itself. What only a person
knows is a placeholder in it, `<version>`, with which the configuration is refused (config/mapping).
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
from filedrop.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from filedrop.identify.identity import Identity
    from filedrop.identify.reading import Reading

_WANTED = {  # what the note says when one is missing
    "sender": "who sends it",
    "receiver": "who receives it",
    "document_id": "its document id",
    "process_id": "its process id",
}
_URN = re.compile(r"[!-~]+")
_LONGEST = {"document_id": 500, "process_id": 200}  # characters, by the Peppol policy for identifiers
_WILDCARD = "*"  # Peppol policy for identifiers 4.4, peppol-doctype-wildcard
_DOCUMENT = "<namespace>::<name>##<CustomizationID>::<version>"
_DOCUMENT_ID = re.compile(r"[!-)+-z|~]{1,500}")  # no wildcard, and no braces: they mean a group of a rule's `file`
_PLAIN = re.compile(r"(?!(null|true|false)\Z)[a-z][a-z0-9_.-]*", re.IGNORECASE)  # what is text in any YAML
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_LONGEST_NAME = 200  # bytes; a longer name is shortened, and keeps more than half of them (contract 1)


def demand(identity: Identity, reading: Reading) -> Ids:
    """All the ids, in good form.

    Raises DocumentError: `no-sender`, `no-receiver`, `no-document-id`, `no-process-id`, `bad-participant`, by the first
    of its faults. Its message names all of them, and says where each id was looked for or found; its hint ends in the
    rule that would mend them.
    """
    ids = {name: getattr(identity, name) for name in _WANTED}
    faults = {name: (_missing(name), f"nothing says {_WANTED[name]}") for name, id_ in ids.items() if not id_}
    for name in ("sender", "receiver"):
        if name not in faults and (wrong := participants.fault(ids[name])):
            faults[name] = "bad-participant", f'the {name} "{ids[name]}" {wrong}'
    for name in _LONGEST:
        if name not in faults and (wrong := _wrong(name, ids[name])):
            faults[name] = _missing(name), f'the {_called(name)} "{ids[name]}" {wrong}'
    if not faults:
        return Ids(**ids, channel=identity.channel)
    code = next(code for code, _ in faults.values())
    said = _said({name: what for name, (_, what) in faults.items()}, identity, reading)
    # In one line, so that nothing in a document can pass for the rule below it.
    message = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in said)
    raise DocumentError(code, message, _advice(list(faults), identity, reading))


def _wrong(name: str, id_: str) -> str:
    """What is wrong with the form of a document id or process id: half a sentence, or ""."""
    if len(id_) > _LONGEST[name] or not _URN.fullmatch(id_):
        return f"is longer than {_LONGEST[name]} characters, or not all of them are visible ASCII"
    if name == "document_id" and _WILDCARD in id_:
        return f"has a wildcard ({_WILDCARD}): receivers register with wildcards, but a document has an id without one"
    return ""


def _missing(name: str) -> str:
    return f"no-{name.replace('_', '-')}"


def _called(name: str) -> str:
    return name.replace("_", " ")


def _said(faults: Mapping[str, str], identity: Identity, reading: Reading) -> str:
    """All faults in the first sentence, which is all that a page shows; and where each id was looked for or found."""
    what = "; ".join(faults.values())
    where = {name: explained(name, identity, reading) for name in faults}
    first = what[0].upper() + what[1:]
    if len(faults) == 1:
        return f"{first}: {''.join(where.values())}."
    return " ".join([f"{first}.", *(f"{_called(name).capitalize()}: {place}." for name, place in where.items())])


def _advice(names: Sequence[str], identity: Identity, reading: Reading) -> str:
    """What to do about these ids. The last line is a rule as it stands under `mapping:`."""
    conditions = _conditions(identity, reading)
    whose = f"every {conditions.get('document', 'document')}" + (f" of {identity.company}" if identity.company else "")
    wide = f"{whose}, whatever that says itself"
    reach = f"this file alone; without `file:`, for {wide}" if "file" in conditions else wide
    keys = {key: _written(text) for key, text in conditions.items()}
    keys |= {name: _example(name, identity, reading) for name in names}
    return (
        f"{_ways(names, identity)}, with the right {listed(map(_called, names))} in it, and run filedrop reload. It "
        f"holds for {reach}:\n"
        f"  - {{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}"
    )


def _ways(names: Sequence[str], identity: Identity) -> str:
    it = "it" if len(names) == 1 else "them"
    rules = sorted({rule.rule: str(rule) for name in names if (rule := rule_of(name, identity))}.items())
    if rules:
        # Above the first of them, since the first rule that sets an id wins.
        place = "it" if len(rules) == 1 else rules[0][1]
        given = f"{listed(rule for _, rule in rules)} {'gives' if len(rules) == 1 else 'give'}"
        left = [_called(name) for name in names if rule_of(name, identity) is None]
        rest = f" and have the {listed(left)} written into the document" if left else ""
        return f"Mend what {given}{rest}, or put this rule above {place}"
    lacking = [str(tried) for tried in identity.tries if not tried.unset.keys().isdisjoint(names)]
    written = "corrected in" if all(getattr(identity, name) for name in names) else "written into"
    second = f" see to it that {lacking[0]} finds {it}," if lacking else ""
    return f"Have {it} {written} the document,{second} or add this rule at the end of `mapping:` in the configuration"


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


def _written(text: str) -> str:
    """The text in YAML."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _example(name: str, identity: Identity, reading: Reading) -> str:
    """A value in YAML. Nothing is guessed: what nobody has said is a placeholder."""
    if name == "process_id":
        entry = codelist.document_entry(identity.document_id or "")
        return _written(entry.processes[0] if entry is not None and entry.processes else "<process id>")
    if name == "document_id":
        customization = reading.customization or "<CustomizationID>"
        stem = f"{reading.root_namespace}::{reading.root_name}##{customization}"
        whole = document_id(reading.root_namespace, reading.root_name, customization, "") or f"{stem}::<version>"
        return _written(whole if _DOCUMENT_ID.fullmatch(whole) else _DOCUMENT)
    return _written(f"<ParticipantID of the {name}>")
