"""Findings, texts and responses as lists, in the form that they have in a sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from filedrop.model.fault import Finding
from filedrop.storage import checked
from filedrop.texts import FORMS, Text

if TYPE_CHECKING:
    from filedrop.model.document import Document
    from filedrop.model.fault import Fault

RESPONSE = "response"  # the event: the receiver has answered
MOST = 100  # findings that are read
MOST_TEXTS, LONGEST_VALUE = 20, 2000  # texts of a fault, and letters of a value, that are accepted


def findings(fault: Fault) -> list[dict[str, Any]]:
    """The findings of an invalid document."""
    return [
        {"rule": finding.rule, "message": finding.message, "xpath": finding.xpath, "line": finding.line}
        for finding in fault.findings
    ]


def findings_in(listed: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """The findings in a sidecar, which anybody could have written. Raises ValueError, KeyError, TypeError."""
    return tuple(map(_finding, listed[:MOST]))


def texts(fault: Fault) -> list[dict[str, Any]]:
    """The forms that a fault's texts have, and their values."""
    return [{"form": text.form, "values": dict(text.values)} for text in fault.texts]


def texts_in(listed: object) -> tuple[Text, ...]:
    """The texts in a sidecar, which anybody could have written; () if another version, or a stranger, wrote them."""
    if not isinstance(listed, list) or len(listed) > MOST_TEXTS:
        return ()
    try:
        return tuple(map(_text, listed))
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


def _finding(said: dict[str, Any]) -> Finding:
    line = None if said["line"] is None else checked.number(said["line"])
    return Finding(
        checked.text(said["rule"]), checked.text(said["message"]), xpath=checked.text(said["xpath"]), line=line
    )


def _text(said: dict[str, Any]) -> Text:
    values = {name: checked.text(value) for name, value in said["values"].items()}
    is_long = any(len(value) > LONGEST_VALUE for value in values.values())
    if is_long or values.keys() != FORMS[said["form"]].placeholders:
        raise ValueError("no text of ours")
    return Text(said["form"], values)
