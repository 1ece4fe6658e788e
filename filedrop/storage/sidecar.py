"""The files beside a document: the sidecar (JSON, contract 4) and the notes for people (`.why.txt`, `.rejected.txt`).

Pure except `read`, `document_id_in`, `named_in_note` and `is_rejection_note`. An outbound sidecar is enough to restore
its document's row.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from filedrop.files import NO_FILE, open_regular
from filedrop.model.document import Document, Event, State
from filedrop.model.fault import Fault, Finding
from filedrop.model.prepared import PdfFile, Prepared
from filedrop.storage import checked
from filedrop.storage.names import POSTED, is_pdf_name, pdf_name
from filedrop.texts import FORMS, Text, note
from filedrop.texts.form import filled, kind
from filedrop.texts.languages import ENGLISH, translated
from filedrop.texts.printable import command, printable_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from filedrop.files import Where
    from filedrop.identify import Reading
    from filedrop.model.fault import Code
    from filedrop.model.message import Message

VERSION = 1
DUPLICATE: Code = "duplicate"
NOT_ON_PEPPOL: Code = "not-on-peppol"
ANYWAY: tuple[Code, ...] = (DUPLICATE, "no-answer")  # faults that come back until a person lets the document through
_TEXTS = (
    "sender",
    "receiver",
    "receiver_name",
    "document_id",
    "process_id",
    "type_code",
    "uuid",
    "received",
    "delivered",
)
_UNICODE, _ASCII = json.JSONEncoder(ensure_ascii=False).encode, json.JSONEncoder().encode
_WORD = re.compile(r"[a-z']+[ ,]")
RULE = "-" * 72  # begins the last part of a note
_ENDS = tuple(filled(end, {"file": ""}) for end in note.NOT_DONE.values())  # of the first line of a note
_REJECTED_END = filled(note.REJECTED, {"file": ""})  # of the first line of a rejected document's
_LONGEST_LINE = 4096  # bytes that are read of a note
LARGEST = 1_000_000  # bytes: much more than any sidecar of ours; larger files aren't read

RESPONSE = "response"  # the event: the receiver has answered
MOST_FINDINGS = 100  # findings that are read
MOST_TEXTS, LONGEST_VALUE = 20, 2000  # texts of a fault, and letters of a value, that are accepted


def outbound(document: Document, file: str, *, has_copy: bool = True) -> bytes:
    """The sidecar of an outbound document whose name is now `file`.

    `has_copy`: if anything else was posted in its place, that is next to it; nobody has taken it.
    """
    content: dict[str, Any] = {
        "filedrop": VERSION,
        "direction": "OUT",
        "id": document.id,
        "file": file,
        "company": document.company,
        "account": document.account,
        "identity": document.identity,
        "state": document.state.value,
        "sender": document.sender,
        "receiver": document.receiver,
        "receiver_name": document.receiver_name,
        "document_id": document.document_id,
        "process_id": document.process_id,
        "channel": document.channel,
        "sources": document.sources,
        "document": {"type": document.type, "number": document.number, "issue_date": document.issue_date},
        "type_code": document.type_code,
        "size": document.size,
        "sha256": document.sha256,
        "meaning": document.meaning,
        "claimed": document.claimed.isoformat(timespec="milliseconds"),
        "msg_no": document.msg_no,
        "uuid": document.uuid,
        "received": document.received,
        "delivered": document.delivered,
        "warnings": list(document.warnings),
    }
    if document.dropped_as != file:
        content["dropped_as"] = document.dropped_as
    if document.pdf:
        content["pdf"] = {"file": pdf_name(file, document.pdf.name), **asdict(document.pdf)}
    if document.prepared:
        copy = f"{file}{POSTED}" if has_copy else None
        content["posted"] = {"file": copy, **asdict(document.prepared), "meaning": document.posted_meaning}
    if document.error:
        content["error"] = {
            name: getattr(document.error, name) for name in ("code", "message", "hint", "administrator")
        }
        if document.error.findings:
            content["error"]["findings"] = findings(document.error)
        if document.error.texts:
            content["error"]["texts"] = texts(document.error)
    if answered := responses(document):
        content["responses"] = answered
    content["history"] = [
        {"at": event.at.isoformat(timespec="milliseconds"), "event": event.event, **event.facts}
        for event in document.history
    ]
    return encoded(content)


def name_alone(dropped_as: str, file: str, before: str = "") -> bytes:
    """A sidecar that holds only the name that a file was dropped with, for one whose name is now `file`.

    `before`: the name in `outbound/` that its PDFs go back to, if its move is cut off.
    """
    said = {"filedrop": VERSION, "direction": "OUT", "file": file, "dropped_as": dropped_as}
    return encoded(said | ({"before": before} if before else {}))


def name_before(where: Where) -> str:
    """The name in `outbound/` that the PDFs of a file go back to, by its sidecar; "" for none. Raises OSError."""
    with suppress(ValueError):
        return checked.name((read(where) or {}).get("before"))
    return ""


def inbound(
    message: Message,
    reading: Reading,
    *,
    id: str,  # noqa: A002 - the sidecar's own keys
    file: str,
    company: str,
    account: str,
    identity: str,
    fetched: datetime,
    **more: Any,
) -> bytes:
    """The sidecar of a received document with the name `file`; `more` are further keys (inbound/reserving)."""
    return encoded(
        {
            "filedrop": VERSION,
            "direction": "IN",
            "id": id,
            "file": file,
            "company": company,
            "account": account,
            "identity": identity,
            "state": "received",
            "sender": message.sender,
            "sender_name": reading.sender_name,
            "receiver": message.receiver,
            "document_id": message.document_id,
            "process_id": message.process_id,
            "channel": message.channel or "",
            "document": {"type": reading.root_name, "number": reading.number, "issue_date": reading.issue_date},
            "size": reading.size,
            "sha256": reading.sha256,
            "msg_no": message.msg_no,
            "uuid": message.uuid,
            "received": message.received,
            "fetched": fetched.isoformat(timespec="milliseconds"),
            "warnings": [],
        }
        | more
    )


def read(where: Where) -> dict[str, Any] | None:
    """The unchecked content of a sidecar; None for a file that isn't one of ours. Raises OSError."""
    try:
        content = checked.read_object(where, LARGEST)
    except (FileNotFoundError, PermissionError):
        return None
    return content if content and content.get("filedrop") == VERSION else None


def document_id_in(where: Where) -> str | None:
    """The id of the document that a sidecar belongs to; None for a file that isn't one of ours. Raises OSError."""
    return id_in(read(where) or {})


def id_in(content: dict[str, Any]) -> str | None:
    """The id that a sidecar's unchecked content gives; None where that is none."""
    with suppress(ValueError):
        return checked.drop_id(content.get("id"))
    return None


def named_in_note(path: Where, ends: Sequence[str] = _ENDS) -> str | None:
    """The name of the document in the first line of its note, by how that ends; None for any other file.

    By default, the note is a failed document's. Raises OSError.
    """
    try:
        with open_regular(path) as file:
            first = file.read(_LONGEST_LINE).decode("utf-8", "replace").partition("\r\n")[0]
    except (FileNotFoundError, PermissionError):
        return None
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
    return next((first.removesuffix(end) for end in ends if first.endswith(end)), None)


def is_rejection_note(path: Where) -> bool:
    """Whether this is filedrop's note that a document was rejected. Raises OSError."""
    return named_in_note(path, [_REJECTED_END]) is not None


def fault_in(content: dict[str, Any]) -> Fault | None:
    """Why the document failed, by its sidecar; None where that has no valid fault."""
    try:
        error = content["error"]
        return Fault(
            cast("Code", checked.text(error["code"])),  # another version may have others
            checked.text(error["message"]),
            checked.text(error.get("hint", "")),
            findings_in(error.get("findings", [])),
            checked.text(error.get("administrator", "")),
            texts_in(error.get("texts")),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def restore(content: dict[str, Any], *, folder: str, company: str, place: str) -> Document | None:
    """The row of a document, from its sidecar, for a journal that has lost it.

    None where a value is missing or has the wrong type or form, since the values become names, paths and columns.
    """
    try:
        said = checked.texts(content, _TEXTS)
        about = checked.texts(content.get("document") or {}, ("type", "number", "issue_date"))
        error = fault_in(content)
        if content.get("error") and error is None:
            return None
        history = tuple(map(_event, content.get("history", ())))
        posted = content.get("posted") or {}
        accepted = next((line.at for line in reversed(history) if "msg_no" in line.facts), None)
        return Document(
            id=checked.drop_id(content["id"]),
            company=company,
            folder=folder,
            account=checked.text(content["account"]),
            identity=checked.text(content.get("identity") or ""),
            state=State(checked.text(content["state"])),
            place=place,
            file=checked.name(content["file"]),
            dropped_as=checked.name(content.get("dropped_as") or content["file"]),
            claimed=checked.instant(content["claimed"]),
            size=checked.number(content["size"]),
            sha256=checked.text(content["sha256"]),
            meaning=checked.text(content["meaning"]),
            pdf=_pdf(content["pdf"]) if content.get("pdf") else None,
            prepared=_prepared(posted) if posted else None,
            posted_meaning=checked.text(posted["meaning"]) if posted else None,
            channel=checked.text(content.get("channel") or ""),
            sources={checked.text(what): checked.text(where) for what, where in (content.get("sources") or {}).items()},
            warnings=tuple(map(checked.text, content.get("warnings") or ())),
            msg_no=None if content.get("msg_no") is None else checked.number(content["msg_no"]),
            accepted=accepted,
            error=error,
            history=history,
        ).but(**said, **about)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _pdf(said: dict[str, Any]) -> PdfFile | None:
    name = checked.name(said["name"])
    if not is_pdf_name(name):
        raise ValueError(name)
    return PdfFile(name, checked.number(said["size"]), checked.text(said["sha256"]))


def _prepared(posted: dict[str, Any]) -> Prepared:
    changed = {checked.text(what): [checked.text(id_) for id_ in ids] for what, ids in posted["changed"].items()}
    return Prepared(checked.number(posted["size"]), checked.text(posted["sha256"]), changed)


def _event(line: dict[str, Any]) -> Event:
    facts = {key: fact for key, fact in line.items() if key not in ("at", "event") and isinstance(fact, str | int)}
    return Event(checked.instant(line["at"]), checked.text(line["event"]), facts)


def why(document: Document, fault: Fault, file: str, ready: str | None = None, *, language: str = ENGLISH) -> bytes:
    """The note for people beside a failed document whose name is now `file`; `ready` is the file that signals it.

    Its first line is in English, by which the note is known; the part for the administrator is, too.
    """
    first, dropped = note.NOT_DONE[document.msg_no is not None], {"file": document.dropped_as}
    head = dict.fromkeys((filled(first, dropped), filled(first, dropped, language)))
    lines = [*head, *_named(document, language), "", fault.message_in(language)]
    for number, finding in enumerate(fault.findings, 1):
        said = _sentence(finding.message)
        if finding.line is not None:
            said = filled(note.FINDING, {"line": str(finding.line), "finding": said}, language)
        lines += ["", f"{number}. {said}"]
    hints = fault.hint_in(language).splitlines()
    if fault.code not in (*ANYWAY, NOT_ON_PEPPOL):  # else it only fails again, or its hint says when
        then = f" {filled(note.READY, {'ready': ready}, language)}" if ready else ""
        hints.append(f"{translated(note.MOVE_BACK, language)}{then}")
    lines += ["", translated(note.CAN_DO, language), *hints]
    return _text([*lines, *_for_administrator(_details(document, fault, file), language)])


def _named(document: Document, language: str) -> list[str]:
    named = called(document.type, document.number, document.receiver_name, language)
    return [named] if named else []


def called(type_: str | None, number: str | None, receiver_name: str | None, language: str) -> str:
    """A document as people know it, by its number and its receiver's name: a file may be named by a program.

    "" for a document without a number.
    """
    named = kind(f"{type_ or ''} {number}".strip(), language)
    return ", ".join(filter(None, (named, receiver_name))) if number else ""


def _details(document: Document, fault: Fault, file: str) -> list[str]:
    lines = fault.administrator.splitlines()
    lines += [
        f"{number}. {' at '.join(filter(None, (finding.rule, finding.xpath)))}"
        for number, finding in enumerate(fault.findings, 1)
        if finding.rule or finding.xpath
    ]
    lines += [
        f"Warning: {_sentence(warning)}"
        for warning in document.warnings
        if warning.partition(": ")[2] not in fault.administrator or ": " not in warning
    ]
    again = "To send it all the same, once, run:" if fault.code in ANYWAY else "To try again, run:"
    lines += [
        *([""] if lines else []),
        again,
        f"  {retry(document.company, file, fault.code)}",
        "",
        f"Reason: {fault.code}",
    ]
    if document.sender or document.receiver:
        lines += [f"Sender: {document.sender or '-'}", f"Receiver: {document.receiver or '-'}"]
    if document.type or document.number:
        lines += [f"Document: {document.type or '-'} {document.number or ''}".rstrip()]
    if document.msg_no is not None:
        lines += [f"Message number at the access point: {document.msg_no}"]
    return lines


def _for_administrator(lines: Sequence[str], language: str) -> list[str]:
    """The last part of a note: nothing where it has no lines."""
    return ["", RULE, translated(note.FOR_ADMINISTRATOR, language), "", *lines] if lines else []


def retry(company: str, file: str, code: str) -> str:
    """The command by which a document that failed with this code is tried again."""
    anyway = ["--anyway"] if code in ANYWAY else []  # else it only fails again
    dashes = ["--"] if file.startswith("-") or company.startswith("-") else []  # else read as options
    return command("filedrop", "retry", *anyway, *dashes, company, file)


def not_answered(file: str, reason: Text, *, language: str = ENGLISH) -> bytes:
    """The note for people beside a received document that a person has moved, and that is not answered."""
    lines = [
        filled(note.NOT_ANSWERED, {"file": file}, language),
        "",
        reason.message_in(language),
        "",
        translated(note.CAN_DO, language),
        *reason.hint_in(language).splitlines(),
    ]
    return _text(lines)


def waits(document: Document, reason: Text, *, language: str = ENGLISH) -> bytes:
    """The note for people beside a document that has been in `sending/` for some minutes."""
    head = [filled(note.WAITING, {"file": document.dropped_as}, language), *_named(document, language)]
    lines = [*head, "", reason.message_in(language)]
    lines += ["", translated(note.CAN_DO, language), *reason.hint_in(language).splitlines()]
    details = [_sentence(line) for line in reason.administrator.splitlines()]
    return _text([*lines, *_for_administrator(details, language)])


def rejected(document: Document, lines: Sequence[str], *, language: str = ENGLISH) -> bytes:
    """The note for people beside a rejected document, by whom and why in these lines.

    Its first line is in English, by which the note is known.
    """
    dropped = {"file": document.dropped_as}
    head = dict.fromkeys((filled(note.REJECTED, dropped), filled(note.REJECTED, dropped, language)))
    advice = (translated(text, language) for text in (note.CAN_DO, note.CORRECT, note.NOT_AGAIN))
    return _text([*head, *_named(document, language), "", *lines, "", *advice])


def _sentence(text: str) -> str:
    text = text.strip()
    begins = text[:1].upper() if _WORD.match(text) else text[:1]  # a name or a key keeps its case
    return begins + text[1:] + ("" if text.endswith((".", "!", "?", ":")) or "\n" in text else ".")


def _text(lines: list[str]) -> bytes:
    # Without a BOM, which hurts all but old editors; with CR LF, which helps Notepad and hurts nothing.
    return ("\r\n".join(map(printable_sentence, lines)) + "\r\n").encode()


def encoded(content: dict[str, Any]) -> bytes:
    """The content of a sidecar as it is written."""
    # A name that isn't valid Unicode is escaped, so that the file stays UTF-8.
    try:
        return _in_lines(content, _UNICODE).encode()
    except UnicodeEncodeError:
        return _in_lines(content, _ASCII).encode()


def _in_lines(content: dict[str, Any], json_of: Callable[[object], str]) -> str:
    """JSON with a line for each key and each event. `indent` would need json's slow Python encoder."""
    lines = [
        f' "{key}": {_listed(value, json_of) if key == "history" else json_of(value)}' for key, value in content.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _listed(events: list[Any], json_of: Callable[[object], str]) -> str:
    return "[\n  " + ",\n  ".join(map(json_of, events)) + "\n ]"


def findings(fault: Fault) -> list[dict[str, Any]]:
    """The findings of an invalid document."""
    return [
        {"rule": finding.rule, "message": finding.message, "xpath": finding.xpath, "line": finding.line}
        for finding in fault.findings
    ]


def findings_in(listed: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """The findings in a sidecar, which anybody could have written. Raises ValueError, KeyError, TypeError."""
    return tuple(map(_finding_in, listed[:MOST_FINDINGS]))


def texts(fault: Fault) -> list[dict[str, Any]]:
    """The forms that a fault's texts have, and their values."""
    return [{"form": text.form, "values": dict(text.values)} for text in fault.texts]


def texts_in(listed: object) -> tuple[Text, ...]:
    """The texts in a sidecar, which anybody could have written; () if another version, or a stranger, wrote them."""
    if not isinstance(listed, list) or len(listed) > MOST_TEXTS:
        return ()
    try:
        return tuple(map(_text_in, listed))
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def responses(document: Document) -> list[dict[str, Any]]:
    """The receiver's responses, by the document's history."""
    return [
        {
            "at": event.at.isoformat(timespec="milliseconds"),
            "code": event.facts.get("code"),
            "means": event.facts.get("means"),
            "reason": event.facts.get("reason"),
            "msg_no": event.facts.get("message"),
        }
        for event in document.history
        if event.event == RESPONSE
    ]


def _finding_in(said: dict[str, Any]) -> Finding:
    line = None if said["line"] is None else checked.number(said["line"])
    return Finding(
        checked.text(said["rule"]), checked.text(said["message"]), xpath=checked.text(said["xpath"]), line=line
    )


def _text_in(said: dict[str, Any]) -> Text:
    values = {name: checked.text(value) for name, value in said["values"].items()}
    is_long = any(len(value) > LONGEST_VALUE for value in values.values())
    if is_long or values.keys() != FORMS[said["form"]].placeholders:
        raise ValueError("no text of ours")
    return Text(said["form"], values)
