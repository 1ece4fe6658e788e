"""Why a document failed, and what a validator has found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from filedrop.texts import Code, Text, joined

__all__ = ["Code", "Fault", "Finding"]


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
    """Why a document failed: the sidecar's `error`. `findings`: of an invalid one.

    `message` says what is wrong, `hint` what an accountant can do, and `administrator` the rest: nothing else has
    commands, keys of the configuration, and the like. All are in English. `texts` are the forms and values that they
    consist of; () if it comes from a sidecar that has none.
    """

    code: Code
    message: str
    hint: str = ""
    findings: tuple[Finding, ...] = ()
    administrator: str = ""
    texts: tuple[Text, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, *texts: Text, findings: tuple[Finding, ...] = ()) -> Self:
        """The fault that these texts describe, with the code of the first."""
        return cls(
            texts[0].code,
            joined(text.message for text in texts),
            joined((text.hint for text in texts), "\n"),
            findings,
            joined((text.administrator for text in texts), "\n"),
            texts,
        )

    def message_in(self, language: str) -> str:
        """What is wrong, in a language; in English if there are no texts."""
        return joined(text.message_in(language) for text in self.texts) or self.message

    def hint_in(self, language: str) -> str:
        """What an accountant can do, in a language; in English if there are no texts."""
        return joined((text.hint_in(language) for text in self.texts), "\n") or self.hint
