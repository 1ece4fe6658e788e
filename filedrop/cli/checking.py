"""What `filedrop check` finds without a folder or an access point: ids, mapping rules, the validator, programs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from filedrop.config.rules import load_rules
from filedrop.errors import ConfigError, NoVerdict
from filedrop.identify import participants
from filedrop.identify.mapping import Rules
from filedrop.programs import find
from filedrop.validation import validator_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date
    from pathlib import Path

    from filedrop.config import Config

CONFIGURATION = "configuration"
VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was found about one thing; `result` is ok, warning or failed."""

    about: str
    result: str
    says: str


def participants_found(config: Config) -> Iterator[CheckResult]:
    """Is each one that may exist? The network knows no scheme that isn't in the code list."""
    for company in config.companies.values():
        key = f"{config.source}: companies.{company.name}.participants:"
        for participant in company.participants:
            result = "warning" if participants.is_listed(participant) else "failed"
            yield from (CheckResult(CONFIGURATION, result, doubt) for doubt in participants.doubts(key, participant))


def mapping_found(config: Config) -> Iterator[CheckResult]:
    """Are the mapping rules and their tables as they should be?"""
    tables = Rules((), config.tables)
    yield from (CheckResult("mapping", "failed", trouble) for trouble in tables.troubles)
    yield from (CheckResult(CONFIGURATION, "warning", f"{config.source}: {doubt}") for doubt in tables.doubts)
    try:
        Rules(config.mapping, {}, source=config.source)
    except ConfigError as error:
        yield from (CheckResult(CONFIGURATION, "failed", complaint) for complaint in error.complaints)


def commands_found(config: Config) -> Iterator[CheckResult]:
    """Are the programs of `commands` there?"""
    for event, (program, *_) in config.commands.wanted().items():
        if find(program) is None:
            says = f"there is no program {program}, or it may not be run: name another, with its whole path"
            yield CheckResult(f"commands.after_{event}", "failed", says)


def validation_found(config: Config) -> Iterator[CheckResult]:
    """Does the validator work, and are its rules the newest?"""
    validator = validator_of(config.validation, passed=config.pass_environment)
    if validator is None:
        return
    try:
        if config.validation.rules is not None:
            yield _age(config.validation.rules, datetime.now().astimezone().date())
        with closing(validator):
            by = validator.check()
    except ConfigError as error:
        yield from (CheckResult(CONFIGURATION, "failed", complaint) for complaint in error.complaints)
        return
    except NoVerdict as error:
        yield CheckResult(VALIDATION, "failed", f"{error}")
        return
    rule = config.outbound.validate_
    does = {"off": "is off, so that nothing is", "warn": "warns", "refuse": "refuses what is invalid"}[rule]
    yield CheckResult(VALIDATION, "ok", f"{by} can be used; outbound.validate {does}")


def _age(folder: Path, today: date) -> CheckResult:
    """How old rules are. Raises ConfigError."""
    rules = load_rules(folder)
    if rules.released is None or rules.next_due is None:
        return CheckResult(VALIDATION, "warning", f"{folder}: rules.yaml doesn't say how old they are; write released:")
    due = f"{rules.next_due:%B %Y}"
    if today < rules.next_due:
        return CheckResult(VALIDATION, "ok", f"{folder} has the rules of {rules.released}; the next are due in {due}")
    says = f"{folder} has the rules of {rules.released}, and newer ones were due in {due}: put these there"
    return CheckResult(VALIDATION, "warning", says)
