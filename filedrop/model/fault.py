"""Why a document failed, and what a validator has found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from filedrop.texts import Text, joined

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
    """Why a document failed: the sidecar's `error`. `code` is one of docs/errors.md; `findings`, of an invalid one.

    `message` says what is wrong, `hint` what an accountant can do, and `administrator` the rest: nothing else has
    commands, keys of the configuration, and the like. All are in English. `texts` are the forms and values that they
    consist of; () if the fault was read from a sidecar.
    """

    code: str
    message: str
    hint: str = ""
    findings: tuple[Finding, ...] = ()
    administrator: str = ""
    texts: tuple[Text, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, code: str, *texts: Text, findings: tuple[Finding, ...] = ()) -> Self:
        """The fault with this code that these texts describe."""
        return cls(
            code,
            joined(text.message for text in texts),
            joined((text.hint for text in texts), "\n"),
            findings,
            joined((text.administrator for text in texts), "\n"),
            texts,
        )

    @classmethod
    def found(cls, error: DocumentError) -> Self:
        """The fault of a document with which this error was found."""
        return cls.of(error.code, *error.texts)
