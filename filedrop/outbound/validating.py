"""The validation of documents before they are posted (contract 8, `outbound.validate`).

A document is waiting while it is validated, so that whatever ends filedrop meanwhile leaves nothing in doubt. What may
have been posted before is never validated again: what became of it must be found out, whatever the rules say.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from filedrop.errors import NoVerdict
from filedrop.model.document import Document, Event, Need
from filedrop.model.fault import Fault
from filedrop.outbound.waiting import log_need
from filedrop.texts import Text
from filedrop.texts.printable import in_yaml
from filedrop.validation import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    import structlog

    from filedrop.config import Outbound
    from filedrop.outbound.upload import OpenedDocument
    from filedrop.pauses import Backoff
    from filedrop.process.guard import Guard
    from filedrop.process.pool import Pool
    from filedrop.validation import Validator, Verdict

VALIDATED = "validated"  # the event
LISTED = 20  # findings in the warnings of a document
NAMED = 5  # rules in one sentence


class Judgement(NamedTuple):
    """A document after its validation, and whether it may be posted now."""

    document: Document
    passes: bool


class Validating:
    """Has the documents of all accounts prepared and validated by other threads. Thread-safe.

    `validator` is None where the configuration has none.
    `validators` are the threads in which they are judged.
    `retry`: the pauses of a document that waits for a verdict; it says so itself (`Document.needs`). `guard` reports
    why the last document was sent without a verdict.
    """

    def __init__(
        self,
        validator: Validator | None,
        validators: Pool,
        *,
        retry: Backoff,
        now: Callable[[], datetime],
        guard: Guard,
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self.validators = validators
        self._guard = guard
        self._validator = validator
        self._retry = retry
        self._now = now
        self._log = log
        self._closed = threading.Event()

    def must_judge(self, document: Document, rules: Outbound) -> bool:
        """Whether a document that is about to be posted must be validated before, by its company's settings."""
        return self._validator is not None and rules.validate_ != "off" and document.unclear == 0

    def judge(self, document: Document, opened: OpenedDocument, rules: Outbound, *, local: bool) -> Judgement | None:
        """Validate a waiting document. None where filedrop is stopping: it waits as before.

        `rules`: the settings of its company.
        """
        if self._validator is None:
            raise ValueError(f"{document.id} can't be validated")
        try:
            verdict = ask(self._validator, opened, document.company, local=local)
        except NoVerdict as error:
            return None if self._closed.is_set() else self._unjudged(document, str(error), rules)
        except OSError as error:  # the file can't be read now, or no copy be written
            why = f"the document can't be handed to the validator: {error.strerror or error}"
            return self._unjudged(document, why, rules)
        self._guard.note_success("validation")
        return self._judged(document, verdict, rules)

    def end_if_idle(self) -> None:
        """Let the validator give back what it needs only while there is work. Called now and then."""
        if self._validator is not None:
            self._validator.end_if_idle()

    def close(self) -> None:
        """Break off what is being validated."""
        self._closed.set()
        if self._validator is not None:
            self._validator.close()

    def _judged(self, document: Document, verdict: Verdict, rules: Outbound) -> Judgement:
        now = self._now()
        if rules.validate_ == "refuse" and not verdict.is_valid:
            return Judgement(document.failed(now, invalid(verdict, document.company)), passes=False)
        for warning in warnings(verdict):
            document = document.warned(warning)
        if verdict.rules:  # else nothing was looked at
            document = document.but(history=(*document.history, Event(now, VALIDATED)))
        return Judgement(document, passes=True)

    def _unjudged(self, document: Document, why: str, rules: Outbound) -> Judgement:
        now = self._now()
        due = self._retry.due(now, document.attempts + 1)
        waits = document.waits_for(now, Need.VERDICT, why, due=due)
        log_need(self._log, waits, before=document)
        if rules.validate_ != "refuse":
            self._guard.note("validation", f"documents can't be validated, and are sent with a warning: {why}")
            return Judgement(document.warned(f"it could not be validated: {why}"), passes=True)
        return Judgement(waits.but(attempts=document.attempts + 1), passes=False)


def ask(validator: Validator, opened: OpenedDocument, company: str, *, local: bool) -> Verdict:
    """What a validator says of a company's document that was read. Raises NoVerdict, OSError."""
    reading = opened.reading
    if reading is None:
        raise ValueError("nothing was read that could be validated")
    kind = Kind(reading.root_name, reading.customization, company)
    return validator.judge(kind, opened.upload(local=local).chunks())


def warnings(verdict: Verdict) -> Iterator[str]:
    """What the sidecar of a document says that is sent with these findings."""
    for finding in verdict.findings[:LISTED]:
        yield f"{'breaks a rule' if finding.is_fatal else 'a rule warns'}: {finding}"
    if more := len(verdict.findings[LISTED:]) + verdict.more:
        yield f"and {more} more findings of the rules"


def invalid(verdict: Verdict, company: str) -> Fault:
    """The fault of a company's document that breaks rules."""
    fatal = tuple(finding for finding in verdict.findings if finding.is_fatal)
    rules = list(dict.fromkeys(finding.rule for finding in fatal if finding.rule))
    if not rules:  # a program's words, or an error at which the rules end, which has a place
        has_place = any(finding.xpath for finding in fatal)
        refused = Text.of("invalid/refused", finding=fatal[0])
        return Fault.of(refused, findings=fatal[:LISTED] if has_place else ())
    form = "invalid/rule" if len(rules) == 1 else "invalid/many" if len(rules) > NAMED else "invalid"
    text = Text.of(
        form,
        number=len(rules),
        rules=", ".join(rules[:NAMED]),
        company=company,
        exception=f"{{rule: [{', '.join(map(in_yaml, rules[:LISTED]))}], company: {in_yaml(company)}}}",
    )
    return Fault.of(text, findings=fatal[:LISTED])
