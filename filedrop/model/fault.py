"""Why a document failed, and what a validator has found in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filedrop.errors import DocumentError


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of a document: the rule's id, its sentence, the place; `xpath` is "", `line` None if unknown.

    `is_fatal`: the document breaks the rule. If not, the rule only warns.
    """

    rule: str
    message: str
    is_fatal: bool = True
    xpath: str = ""
    line: int | None = None

    def __str__(self) -> str:
        """The finding in one line, for people."""
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.message} ({self.rule})" if self.rule else f"{where}{self.message}"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a document failed: the sidecar's `error`. `code` is one of docs/errors.md; `findings`, of an invalid one."""

    code: str
    message: str
    hint: str = ""
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, error: DocumentError) -> Fault:
        """The fault of a document with which this error was found."""
        return cls(error.code, error.message, error.hint)
