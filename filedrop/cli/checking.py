"""What `filedrop check` finds without a folder or an access point: ids, mapping rules, the validator, programs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from filedrop.config.rules import load_rules
from filedrop.config.shown import in_a_line, own_settings
from filedrop.errors import ConfigError, NoVerdict
from filedrop.identify import codelist, participants
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
    """The results for ParticipantIDs: the network knows no scheme that isn't in the code list."""
    for company in config.companies.values():
        key = f"{config.source}: companies.{company.name}.participants:"
        for participant in company.participants:
            result = "warning" if participants.is_listed(participant) else "failed"
            yield from (CheckResult(CONFIGURATION, result, doubt) for doubt in participants.doubts(key, participant))


def code_list_found(folder: Path | None, today: date) -> CheckResult:
    """The result for the Peppol code list, by which ids are judged; `folder` is the one that it is from."""
    edition, own = codelist.edition(), codelist.own_edition()
    says = f"the Peppol code list is version {edition}" + (f", from {folder}" if folder else "")
    if edition.is_older_than(own):
        doubt = f", and filedrop contains version {own}: delete codelists, or put the newest into the folder"
    elif edition.is_old(today):
        newest = f"put the newest into {folder}" if folder else "install a newer filedrop, or name them with codelists"
        doubt = f", and newer ones exist by now: {newest}"
    elif edition.published is None:
        doubt = ", whose age isn't known: put the change log that is published with it into the folder"
    else:
        return CheckResult(CONFIGURATION, "ok", says)
    return CheckResult(CONFIGURATION, "warning", says + doubt)


def own_settings_found(config: Config) -> Iterator[CheckResult]:
    """A result for each company that has settings of its own."""
    for company, own in own_settings(config).items():
        if own:
            yield CheckResult(CONFIGURATION, "ok", f"companies.{company} has settings of its own: {in_a_line(own)}")


def preparation_found(config: Config) -> Iterator[CheckResult]:
    """A result for each company whose documents are changed before they are posted."""
    for company in config.companies.values():
        if company.prepare.is_on:
            says = f"{company.name}: what is posted differs from what is dropped ({company.prepare.what})"
            yield CheckResult(CONFIGURATION, "ok", says)
        if company.unreachable != "directory" and not company.prepare.has_pdfs:
            says = "puts documents into not-on-peppol/ without their PDFs: set prepare.pdf to beside"
            yield CheckResult(CONFIGURATION, "warning", f"{company.name}: unreachable: {company.unreachable} {says}")


def mapping_found(config: Config) -> Iterator[CheckResult]:
    """The results for the mapping rules and their tables."""
    tables = Rules((), config.tables)
    yield from (CheckResult("mapping", "failed", trouble) for trouble in tables.troubles)
    yield from (CheckResult(CONFIGURATION, "warning", f"{config.source}: {doubt}") for doubt in tables.doubts)
    try:
        Rules(config.mapping, {}, source=config.source)
    except ConfigError as error:
        yield from (CheckResult(CONFIGURATION, "failed", complaint) for complaint in error.complaints)


def commands_found(config: Config) -> Iterator[CheckResult]:
    """The results for the programs of `commands`."""
    for event, (program, *_) in config.commands.wanted().items():
        if find(program) is None:
            says = f"{program} doesn't exist, or filedrop may not run it: write the full path of a program"
            yield CheckResult(f"commands.after_{event}", "failed", says)


def validation_found(config: Config) -> Iterator[CheckResult]:
    """The results for the validator and the age of its rules."""
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
    does = {"off": "is off", "warn": "warns", "refuse": "refuses invalid documents"}[rule]
    yield CheckResult(VALIDATION, "ok", f"{by} can be used; outbound.validate {does}")
    if config.validation.rules is not None:
        yield from _mistyped(config, config.validation.rules)


def _mistyped(config: Config, folder: Path) -> Iterator[CheckResult]:
    """The rules of `validation.except` that no file of the rules names. Raises OSError."""
    rules = {rule for excepted in config.validation.except_ for rule in excepted.rule}
    for path in folder.rglob("*.xs*") if rules else ():
        text = path.read_bytes()
        rules = {rule for rule in rules if rule.encode() not in text}
    for rule in sorted(rules):
        says = f"{config.source}: validation.except: no rule in {folder} is named {rule}; correct the name"
        yield CheckResult(CONFIGURATION, "warning", says)


def _age(folder: Path, today: date) -> CheckResult:
    """How old rules are. Raises ConfigError."""
    rules = load_rules(folder)
    if rules.released is None or rules.next_due is None:
        return CheckResult(VALIDATION, "warning", f"{folder}: rules.yaml has no date; write released: and the date")
    due = f"{rules.next_due:%B %Y}"
    if today < rules.next_due:
        return CheckResult(VALIDATION, "ok", f"{folder} has the rules of {rules.released}; the next are due in {due}")
    says = f"{folder} has the rules of {rules.released}, and newer ones were due in {due}: install the newer rules"
    return CheckResult(VALIDATION, "warning", says)
