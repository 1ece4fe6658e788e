"""The codes of what keeps a document from being sent."""

from __future__ import annotations

from typing import Literal

# Why a document failed, for programs: each is explained in docs/reference.md. `in-use` is only why a file isn't ready.
Code = Literal[
    "bad-participant",
    "changed",
    "doctype",
    "duplicate",
    "foreign-sender",
    "in-use",
    "invalid",
    "no-answer",
    "no-attachment",
    "no-document-id",
    "no-process-id",
    "no-receiver",
    "no-sender",
    "not-accepted",
    "not-delivered",
    "not-on-peppol",
    "not-prepared",
    "not-xml",
    "receiver-unknown",
    "rejected",
    "too-large",
    "unreadable",
]
