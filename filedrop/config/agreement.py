"""Whether the parts of a configuration agree with one another: names, participants, folders, mapping rules.

Whether a rule can have an effect: its conditions can hold, and its values can win. Only what is certain is a complaint:
a rule that might count for one document, under one name, is left alone.
"""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from filedrop.config.complaints import Complaints, shown
from filedrop.config.mapping import Lookup, NamePattern, Rule, Template, groups_in
from filedrop.config.models import Config
from filedrop.config.reading import Keys
from filedrop.config.section import advise
from filedrop.files.patience import within
from filedrop.model.document import participant_key

TAKEOVERS = 10  # as long as a doubt lasts, a host that is cut off must have been replaced by far
PATIENCE = 2.0  # seconds for all links to be followed
# Namespaces in XML, NCName; `[^\x00-\x7f]`, because a range up to the last character takes Python 10 ms to compile.
_LOCAL_NAME = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w.-]|[^\x00-\x7f])*", re.ASCII)
# A `/` before any group or class, which isn't repeated and has no alternative.
_NEEDS_SLASH = re.compile(r"(?:[^\\/(\[|]|\\[^/])*\\?/(?![*?{])[^|]*")


def check_agreement(config: Config, complaints: Complaints) -> None:
    """Complain about all that is sound in itself but doesn't go together."""
    _check_accounts(config, complaints)
    _check_names(config, complaints)
    _check_participants(config, complaints)
    _check_folders(config, complaints)
    for rule in config.mapping:
        _check_rule(rule, config, complaints)
    _check_mail(config, complaints)
    _check_validation(config, complaints)
    _check_unreachable(config, complaints)
    _check_passed(config, complaints)
    check_effect(config.mapping, complaints)
    if config.journal and config.outbound.doubt < TAKEOVERS * config.takeover:
        shorter = f"shorter than {TAKEOVERS} times takeover; write a longer one"
        complaints.add(shorter, ("outbound", "doubt"), ("takeover",))
    if config.outbound.retry.longest < config.outbound.retry.first:
        retry: Keys = ("outbound", "retry")
        complaints.add("shorter than first; write a longer one", (*retry, "longest"), (*retry, "first"))


def _check_accounts(config: Config, complaints: Complaints) -> None:
    known: dict[str, str] = {}
    for name, account in config.accounts.items():
        first = known.setdefault(account.identity, name)
        if first != name:
            same = f"the same host and user name as accounts.{first}; keep one of them"
            complaints.add(same, ("accounts", name), ("accounts", first))
    for name, company in config.companies.items():
        keys = ("companies", name, "account")
        if company.account:
            if company.account not in config.accounts:
                advice = advise(company.account, config.accounts)
                complaints.add(
                    f'there is no account "{company.account}"; {advice}', keys, ("accounts", company.account)
                )
        elif config.accounts:
            complaints.add(f"missing; write one of {', '.join(config.accounts)}", keys)


def _check_mail(config: Config, complaints: Complaints) -> None:
    """A complaint if mails are to be sent, and there is no mail server."""
    if config.alerts.mail is None:
        wanted: list[Keys] = [("companies", name, "mail") for name, company in config.companies.items() if company.mail]
        for keys in (*wanted, *([("digest",)] if config.digest else [])):
            complaints.add("needs a mail server; write alerts.mail, too", keys, ("alerts", "mail"))


def _check_validation(config: Config, complaints: Complaints) -> None:
    """Complaints if documents are to be validated, and there isn't exactly one validator."""
    rules: Keys = ("validation", "rules")
    command: Keys = ("validation", "command")
    if config.validation.rules is not None and config.validation.command is not None:
        complaints.add("can't be used together with validation.command; keep one of the two", rules, command)
    elif config.validation.rules is None and config.validation.command is None:
        common = config.outbound.validate_
        own = {name: company.validate_ for name, company in config.companies.items() if company.validate_ != common}
        wanted: dict[Keys, str] = {("companies", name, "validate"): value for name, value in own.items()}
        for place, value in ({("outbound", "validate"): common} | wanted).items():
            if value != "off":
                sentence = "needs rules or a program; write validation.rules or validation.command, too"
                complaints.add(sentence, place, rules, command)
    for index, excepted in enumerate(config.validation.except_):
        keys: Keys = ("validation", "except", index)
        if config.validation.command is not None:
            complaints.add("works only with validation.rules, not with a program; delete it", keys, command)
        if excepted.company is not None and excepted.company not in config.companies:
            advice = advise(excepted.company, config.companies)
            complaints.add(f'there is no company "{excepted.company}"; {advice}', (*keys, "company"))


def _check_unreachable(config: Config, complaints: Complaints) -> None:
    """Complaints if receivers are to be looked for in a directory that isn't asked."""
    common = config.outbound.unreachable, config.outbound.directory
    own = {("companies", name): (company.unreachable, company.directory) for name, company in config.companies.items()}
    wanted: dict[Keys, tuple[str, str]] = {place: both for place, both in own.items() if both != common}
    for place, (unreachable, directory) in ({("outbound",): common} | wanted).items():
        if unreachable != "directory" and directory == "off":
            sentence = "goes by the directory, which directory: off never asks; write directory: warn"
            complaints.add(sentence, (*place, "unreachable"), (*place, "directory"), ("outbound", "unreachable"))


def _check_passed(config: Config, complaints: Complaints) -> None:
    """Whether no password is passed on to programs."""
    for name, account in config.accounts.items():
        if account.password_env and account.password_env.upper() in map(str.upper, config.pass_environment):
            sentence = "contains the variable of a password, which programs never get; remove it"
            complaints.add(sentence, ("pass_environment",), ("accounts", name, "password_env"))


def _check_names(config: Config, complaints: Complaints) -> None:
    known: dict[str, str] = {}
    for name in config.companies:
        keys = ("companies", name)
        first = known.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if first != name:
            sentence = f"differs from companies.{first} only in upper and lower case; write another name"
            complaints.add(sentence, keys, ("companies", first))


def _check_participants(config: Config, complaints: Complaints) -> None:
    known: dict[str, str] = {}
    for name, company in config.companies.items():
        for index, participant in enumerate(company.participants):
            first = known.setdefault(participant_key(participant), name)
            if first != name:
                sentence = f'"{participant}" also belongs to companies.{first}; remove it from one of them'
                keys = complaints.written(("companies", name, "participants", index))
                complaints.add(sentence, keys, ("companies", first))


def _check_folders(config: Config, complaints: Complaints) -> None:
    folders = list(_folders(config))
    outer, *rest = sorted(
        zip(resolved([path for _, path in folders]), folders, strict=True), key=lambda pair: pair[0].parts
    )
    for inner in rest:  # so sorted, what is inside a folder comes right after it
        if not inner[0].is_relative_to(outer[0]):
            outer = inner
            continue
        (_, (keys, path)), (_, (others, other)) = inner, outer
        where = "the same folder as" if inner[0] == outer[0] else "inside"
        sentence = f"{path} is {where} {shown(others)} ({other}); write separate folders"
        complaints.add(sentence, complaints.written(keys), complaints.written(others))


def _folders(config: Config) -> Iterator[tuple[Keys, Path]]:
    yield ("state",), config.state
    if config.unassigned is not None:
        yield ("unassigned",), config.unassigned
    for name, company in config.companies.items():
        for index, path in enumerate(company.outbound):
            yield ("companies", name, "outbound", index), path
        yield ("companies", name, "inbound"), company.inbound


def resolved(paths: Sequence[Path]) -> list[Path]:
    """Each path as it is compared: links and `..` followed, and in one case where the system doesn't tell cases apart.

    A share that doesn't answer must not keep anybody waiting: after `PATIENCE` the rest is taken by its name,
    and so is whatever the system can't follow.
    """
    found = {path: os.path.abspath(path) for path in paths}  # noqa: PTH100 -- pathlib has nothing that takes out `..`

    def follow() -> None:
        for path in paths:
            found[path] = os.path.realpath(path)

    with suppress(OSError):
        within(PATIENCE, follow)
    return [Path(os.path.normcase(found[path])) for path in paths]


def _check_rule(rule: Rule, config: Config, complaints: Complaints) -> None:
    keys = _keys_of(rule)
    if rule.company is not None and rule.company not in config.companies:
        advice = advise(rule.company, config.companies)
        sentence = f'there is no company "{rule.company}"; {advice}'
        complaints.add(sentence, (*keys, "company"), ("companies", rule.company))
    if not rule.values:
        sets = ((*keys, field) for field in Rule.SETS)
        complaints.add("sets nothing; write what it sets, like receiver:", keys, *sets)
    for field, value in rule.values.items():
        if isinstance(value, Lookup) and value.table not in config.tables:
            sentence = f'there is no table "{value.table}"; {advise(value.table, config.tables)}'
            complaints.add(sentence, (*keys, field), ("tables", value.table))
        for group in sorted(groups_in(value).difference(rule.file.groupindex if rule.file else ())):
            sentence = f"{{{group}}} is not a group of this rule's file; write it there as (?P<{group}>...)"
            complaints.add(sentence, (*keys, field), (*keys, "file"))


def check_effect(rules: Sequence[Rule], complaints: Complaints) -> None:
    """Complain about each rule that can never apply, and each value that an earlier rule always comes before."""
    sound = [rule for rule in rules if not complaints.flawed(_keys_of(rule))]  # the flaw may be a condition
    for number, rule in enumerate(sound):
        _check_conditions(rule, complaints)
        _check_values(rule, sound[:number], complaints)


def _keys_of(rule: Rule) -> Keys:
    return ("mapping", rule.number - 1)


def _check_conditions(rule: Rule, complaints: Complaints) -> None:
    if rule.document is not None and not _LOCAL_NAME.fullmatch(rule.document):
        bare = re.split(r"[:/}]", rule.document.strip())[-1]
        advice = f'"{bare}"' if _LOCAL_NAME.fullmatch(bare) else "one like Invoice, without a prefix"
        sentence = f'"{rule.document}" is not the name of an element; write {advice}'
        complaints.add(sentence, (*_keys_of(rule), "document"))
    if rule.file is not None and _matches_no_name(rule.file):
        sentence = r"matches no file name, and it is compared only with names; write one like INV-.*\.xml"
        complaints.add(sentence, (*_keys_of(rule), "file"))
    if rule.customization is not None and rule.customization != rule.customization.strip():
        sentence = "begins or ends with a blank, which no CustomizationID does; write it without"
        complaints.add(sentence, (*_keys_of(rule), "customization"))


def _matches_no_name(pattern: NamePattern) -> bool:
    """Whether surely no file's name can match: the pattern is empty, or wants a `/`, which no name has."""
    return not pattern.pattern.strip("^$") or _NEEDS_SLASH.fullmatch(pattern.pattern) is not None


def _check_values(rule: Rule, earlier: Sequence[Rule], complaints: Complaints) -> None:
    values = rule.values
    for field, value in values.items():
        if value == Template(""):
            complaints.add("an empty text sets nothing; write one, or delete the key", (*_keys_of(rule), field))
    lost: dict[str, Rule] = {}
    for other in reversed(earlier):
        if _includes(other, rule):
            lost |= {field: other for field, value in other.values.items() if field in values and _always(value)}
    if lost and lost.keys() == values.keys():
        fields = defaultdict(list)
        for field in values:
            fields[str(lost[field])].append(field)
        sets = ", ".join(f"{winner} sets {' and '.join(won)}" for winner, won in fields.items())
        sentence = f"has no effect: {sets} for all of its documents; delete it, or move it up"
        complaints.add(sentence, _keys_of(rule))
        return
    for field, other in lost.items():
        sentence = f"has no effect: {other} sets it for all of the rule's documents; delete one of them"
        complaints.add(sentence, (*_keys_of(rule), field))


def _includes(other: Rule, rule: Rule) -> bool:
    """Whether each document that a rule is for is certainly one that the other is for."""
    return (
        other.company in (None, rule.company)
        and other.file in (None, rule.file)
        and other.document in (None, rule.document)
        and other.customization in (None, "*", rule.customization)
    )


def _always(value: object) -> bool:
    return isinstance(value, Template) and bool(value.text) and not groups_in(value)
