"""Whether the parts of a configuration agree with one another: names, participants, folders, mapping rules."""

import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filedrop.config.complaints import Complaints, shown
from filedrop.config.effect import check_effect
from filedrop.config.mapping import Lookup, Rule, groups_in
from filedrop.config.models import Config
from filedrop.config.reading import Keys
from filedrop.config.section import advise
from filedrop.document import participant_key


def check_agreement(config: Config, complaints: Complaints) -> None:
    """Complain about all that is sound in itself but doesn't go together."""
    _check_accounts(config, complaints)
    _check_names(config, complaints)
    _check_participants(config, complaints)
    _check_folders(config, complaints)
    for rule in config.mapping:
        _check_rule(rule, config, complaints)
    check_effect(config.mapping, complaints)
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
                    f'"{company.account}" is none of the accounts; {advice}', keys, ("accounts", company.account)
                )
        elif len(config.accounts) > 1:
            complaints.add(f"missing; write one of {', '.join(config.accounts)}", keys)


def _check_names(config: Config, complaints: Complaints) -> None:
    known: dict[str, str] = {}
    for name in config.companies:
        keys = ("companies", name)
        first = known.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if first != name:
            complaints.add(f"is companies.{first} but for its case; write another", keys, ("companies", first))


def _check_participants(config: Config, complaints: Complaints) -> None:
    known: dict[str, str] = {}
    for name, company in config.companies.items():
        for index, participant in enumerate(company.participants):
            first = known.setdefault(participant_key(participant), name)
            if first != name:
                sentence = f'"{participant}" also belongs to companies.{first}; take it out of one of them'
                complaints.add(sentence, ("companies", name, "participants", index), ("companies", first))


def _check_folders(config: Config, complaints: Complaints) -> None:
    folders = list(_folders(config))
    outer, *rest = sorted(
        zip(resolved([path for _, path in folders]), folders, strict=True), key=lambda one: one[0].parts
    )
    for inner in rest:  # so sorted, what is inside a folder comes right after it
        if not inner[0].is_relative_to(outer[0]):
            outer = inner
            continue
        (_, (keys, path)), (_, (others, other)) = inner, outer
        where = "the same folder as" if inner[0] == outer[0] else "inside"
        sentence = f"{path} is {where} {shown(others)} ({other}); write folders that lie apart"
        complaints.add(sentence, keys, others)


def _folders(config: Config) -> Iterator[tuple[Keys, Path]]:
    yield ("state",), config.state
    if config.unassigned is not None:
        yield ("unassigned",), config.unassigned
    for name, company in config.companies.items():
        for index, path in enumerate(company.outbound):
            yield ("companies", name, "outbound", index), path
        yield ("companies", name, "inbound"), company.inbound


def resolved(
    paths: Sequence[Path], resolve: Callable[[Path], str] = os.path.realpath, patience: float = 2.0
) -> list[Path]:
    """Each path as it is compared: links and `..` followed, and in one case where the system doesn't tell cases apart.

    A share that doesn't answer must not keep anybody waiting: after `patience` seconds the rest is taken by its name.
    """
    found = {path: os.path.abspath(path) for path in paths}  # noqa: PTH100 -- pathlib has nothing that takes out `..`

    def follow() -> None:
        for path in paths:
            found[path] = resolve(path)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    thread.join(patience)
    return [Path(os.path.normcase(found[path])) for path in paths]


def _check_rule(rule: Rule, config: Config, complaints: Complaints) -> None:
    keys: Keys = ("mapping", rule.number - 1)
    if rule.company is not None and rule.company not in config.companies:
        advice = advise(rule.company, config.companies)
        sentence = f'"{rule.company}" is none of the companies; {advice}'
        complaints.add(sentence, (*keys, "company"), ("companies", rule.company))
    if not rule.values:
        sets = ((*keys, field) for field in Rule.SETS)
        complaints.add("sets nothing; write what it sets, like receiver:", keys, *sets)
    for field, value in rule.values.items():
        if isinstance(value, Lookup) and value.table not in config.tables:
            sentence = f'"{value.table}" is none of the tables; {advise(value.table, config.tables)}'
            complaints.add(sentence, (*keys, field), ("tables", value.table))
        for group in sorted(groups_in(value).difference(rule.file.groupindex if rule.file else ())):
            sentence = f"{{{group}}} is no group of this rule's file; write it there as (?P<{group}>...)"
            complaints.add(sentence, (*keys, field), (*keys, "file"))
