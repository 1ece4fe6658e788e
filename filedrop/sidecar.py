"""What is written beside a document: the sidecar (JSON, contract 4) and, for people, the `.why.txt`.

Pure but for `identity_of`, which reads whose a sidecar is. A sidecar holds enough to make a document's row anew.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from filedrop.document import Document, Event, Fault, State
from filedrop.files import open_regular
from filedrop.wording import command, printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filedrop.accesspoint import Message
    from filedrop.identify import Reading

VERSION = 1
ANYWAY = ("duplicate", "no-answer")  # the faults that come again unless a person lets the document through
_AS_IT_IS, _ESCAPED = json.JSONEncoder(ensure_ascii=False).encode, json.JSONEncoder().encode
LARGEST = 1_000_000  # bytes: no sidecar of ours comes near; whatever else lies there isn't read


def outbound(document: Document, file: str) -> bytes:
    """The sidecar of a document that lies under the name `file`."""
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
        "document_id": document.document_id,
        "process_id": document.process_id,
        "channel": document.channel,
        "sources": document.sources,
        "document": {"type": document.type, "number": document.number, "issue_date": document.issue_date},
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
    if document.error:
        content["error"] = {"code": document.error.code, "message": document.error.message, "hint": document.error.hint}
    content["history"] = [
        {"at": event.at.isoformat(timespec="milliseconds"), "event": event.event, **event.facts}
        for event in document.history
    ]
    return _encode(content)


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
) -> bytes:
    """The sidecar of a received document that lies under the name `file`."""
    return _encode(
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
    )


def read(path: Path) -> dict[str, Any] | None:
    """What a sidecar says; None for whatever isn't one of ours."""
    try:
        with open_regular(path) as file:
            content = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("filedrop") == VERSION else None


def identity_of(path: Path) -> str | None:
    """The id of the document that a sidecar belongs to; None for whatever isn't one of ours."""
    id_ = (read(path) or {}).get("id")
    return id_ if isinstance(id_, str) else None


def restore(content: dict[str, Any], *, folder: str, company: str, place: str) -> Document | None:
    """The row of a document, from its sidecar, for a journal that has lost it. None where that doesn't say enough."""
    try:
        about = content.get("document") or {}
        error = content.get("error")
        history = tuple(
            Event(
                datetime.fromisoformat(line["at"]),
                str(line["event"]),
                {key: value for key, value in line.items() if key not in ("at", "event")},
            )
            for line in content.get("history", ())
        )
        claimed = datetime.fromisoformat(content["claimed"])
        accepted = next((line.at for line in reversed(history) if "msg_no" in line.facts), None)
        return Document(
            id=str(content["id"]),
            company=company,
            folder=folder,
            account=str(content["account"]),
            identity=str(content.get("identity") or ""),
            state=State(content["state"]),
            place=place,
            file=str(content["file"]),
            dropped_as=str(content.get("dropped_as") or content["file"]),
            claimed=claimed,
            size=int(content["size"]),
            sha256=str(content["sha256"]),
            meaning=str(content["meaning"]),
            sender=content.get("sender"),
            receiver=content.get("receiver"),
            document_id=content.get("document_id"),
            process_id=content.get("process_id"),
            channel=str(content.get("channel") or ""),
            sources=dict(content.get("sources") or {}),
            type=about.get("type"),
            number=about.get("number"),
            issue_date=about.get("issue_date"),
            warnings=tuple(map(str, content.get("warnings") or ())),
            msg_no=content.get("msg_no"),
            uuid=content.get("uuid"),
            received=content.get("received"),
            delivered=content.get("delivered"),
            accepted=accepted,
            error=Fault(str(error["code"]), str(error["message"]), str(error.get("hint", ""))) if error else None,
            history=history,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def why(document: Document, fault: Fault, file: str) -> bytes:
    """The note for people beside a document that failed and lies under the name `file`."""
    not_done = "sent" if document.msg_no is None else "delivered"
    lines = [f"{document.dropped_as} was not {not_done}.", "", _sentence(fault.message)]
    if fault.hint:  # its lines as they are: the last may be one to be copied
        lines += ["", "What to do:", *fault.hint.split("\n")]
    anyway = ["--anyway"] if fault.code in ANYWAY else []
    dashes = ["--"] if file.startswith("-") or document.company.startswith("-") else []  # else they were options
    lines += [
        "",
        "To try again, move the file back to outbound/ (with or without this note), or run:",
        f"  {command('filedrop', 'retry', *anyway, *dashes, document.company, file)}",
        "",
        f"Reason: {fault.code}",
    ]
    if document.sender or document.receiver:
        lines += [f"Sender: {document.sender or '-'}", f"Receiver: {document.receiver or '-'}"]
    if document.type or document.number:
        lines += [f"Document: {document.type or '-'} {document.number or ''}".rstrip()]
    if document.msg_no is not None:
        lines += [f"Message number at the access point: {document.msg_no}"]
    return _text(lines)


def waits(document: Document, reason: str) -> bytes:
    """The note for people beside a document that has been in `sending/` for some minutes."""
    return _text(
        [
            f"{document.dropped_as} is waiting here; it is not lost, and nothing need be done about the file itself.",
            "",
            _sentence(reason),
        ]
    )


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ":")) or "\n" in text else ".")


def _text(lines: list[str]) -> bytes:
    # A BOM would help old editors and hurt everything else; CR LF helps Notepad and hurts nothing.
    return ("\r\n".join(map(printable, lines)) + "\r\n").encode()


def _encode(content: dict[str, Any]) -> bytes:
    # Names that aren't valid Unicode become escapes, which keeps the file UTF-8.
    try:
        return _in_lines(content, _AS_IT_IS).encode()
    except UnicodeEncodeError:
        return _in_lines(content, _ESCAPED).encode()


def _in_lines(content: dict[str, Any], json_of: Callable[[object], str]) -> str:
    """A line for each key, and for each event. (`indent` would leave C, and take as long as the rest of a move.)"""
    lines = [
        f' "{key}": {_listed(value, json_of) if key == "history" else json_of(value)}' for key, value in content.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _listed(events: list[Any], json_of: Callable[[object], str]) -> str:
    return "[\n  " + ",\n  ".join(map(json_of, events)) + "\n ]"
