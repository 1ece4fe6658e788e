"""Findings and responses as lists, in the form that they have in a sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from filedrop.model.fault import Finding
from filedrop.storage import checked

if TYPE_CHECKING:
    from filedrop.model.document import Document
    from filedrop.model.fault import Fault

RESPONSE = "response"  # the event: the receiver has answered
MOST = 100  # findings that are read


def findings(fault: Fault) -> list[dict[str, Any]]:
    """The findings of an invalid document."""
    return [
        {"rule": finding.rule, "message": finding.message, "xpath": finding.xpath, "line": finding.line}
        for finding in fault.findings
    ]


def findings_in(listed: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """The findings in a sidecar, which anybody could have written. Raises ValueError, KeyError, TypeError."""
    return tuple(map(_finding, listed[:MOST]))


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
