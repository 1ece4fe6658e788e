"""`filedrop check FILE`: what would become of files, and which receivers can be reached. Nothing is sent.

One document is shown in full. Several are counted, and those that would fail or can't be reached are named.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from filedrop import cli
from filedrop.cli.dropped import STDIN
from filedrop.cli.opening import act_as_owner, config_if_any, write_new
from filedrop.cli.proposing import propose
from filedrop.cli.rehearsal import (
    ASIDE,
    FAILS,
    HAS_IDS,
    NO_CONFIG,
    NOT_READY,
    REACHABLE,
    SENDS,
    STAYS,
    UNKNOWN,
    UNREACHABLE,
    Rehearsal,
)
from filedrop.cli.show import change_in_words, progress, say, show_json, tell
from filedrop.errors import FiledropError
from filedrop.identify.identity import explained, rule_of
from filedrop.outbound.validating import warnings
from filedrop.outbound.versions import shorter_names
from filedrop.storage.hold import is_hold_name
from filedrop.storage.names import NEVER_DOCUMENTS, PDF_SUFFIXES, matcher, names_document, pdf_name
from filedrop.texts.printable import listed, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from filedrop.cli.proposing import Proposal
    from filedrop.cli.rehearsal import Receiver, Rehearsed
    from filedrop.config import Company, Config
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Try

FIELDS = ("sender", "receiver", "document_id", "process_id", "channel")
SHOWN = 5  # names after which a list ends with "and 7 more"
_ONE = "-o writes what would be posted for one document; name one file, without --json"
_CONTRADICTING = "of these go by other ids than they state (BR-SBDH): an access point may refuse them"
_VERDICTS = {  # what is said of a verdict and, where the directory was asked, of the receiver
    (SENDS, ""): "would be sent",
    (SENDS, REACHABLE): "would be sent; the receiver can be reached",
    (SENDS, UNKNOWN): "would be sent; the directory doesn't say whether the receiver can be reached",
    (SENDS, UNREACHABLE): "would be sent, but the receiver can't be reached",
    (SENDS, "contradicts"): _CONTRADICTING,
    (ASIDE, ""): "would be put into not-on-peppol/ (the directory was asked once; a run asks it twice)",
    (NOT_READY, ""): "would wait",
    (STAYS, ""): "would stay where it is",
    (FAILS, ""): "would fail",
    (HAS_IDS, ""): "has its ids",
}
_GOOD = {(SENDS, REACHABLE), (SENDS, ""), (ASIDE, UNREACHABLE), (HAS_IDS, "")}
_REACHES = {REACHABLE: "can be reached", UNREACHABLE: "can't be reached", UNKNOWN: "unknown"}


class Cause(NamedTuple):
    """The documents that would fail with the same code, and the rule that corrects most of them."""

    code: str
    documents: Sequence[Rehearsed]
    proposal: Proposal | None


class Found(NamedTuple):
    """What was found of all files. `never_sent` are those in folders that no run sends, because of their names."""

    documents: Sequence[Rehearsed]
    receivers: Sequence[Receiver]
    never_sent: Sequence[Path]
    causes: Sequence[Cause]
    troubles: dict[str, str]
    unread: str


def check_files(
    config_option: str | None,
    files: Sequence[Path],
    *,
    company: str | None,
    document: str | None,
    rules: Path | None,
    output: Path | None,
    explain: bool,
    offline: bool,
    as_json: bool,
) -> int:
    """Show what would become of files, and return the exit status. Raises FiledropError, UsageError."""
    config = config_if_any(config_option)
    each = list(dict.fromkeys(_each(files)))
    if output is not None and (as_json or len(each) != 1):
        raise click.UsageError(_ONE)
    if config is not None:
        act_as_owner(config.state)
    with Rehearsal(config or NO_CONFIG, rules, offline or not config, explain, output is not None) as rehearsal:
        found = _found(rehearsal, files, each, company, document or "Invoice")
    if output is not None and not found.documents:
        raise click.UsageError(_ONE)
    content = found.documents[0].content if output is not None else None
    with redirect_stdout(sys.stderr) if output == STDIN else nullcontext():
        if as_json:
            show_json(_as_json(found))
        else:
            _show(found, config.source if config else "")
    if output == STDIN:
        sys.stdout.buffer.write(content or b"")
    elif output is not None and content is not None:
        write_new(output, BytesIO(content), "-o")
    return _exit_status(found)


def _found(rehearsal: Rehearsal, files: Sequence[Path], each: Iterable[Path], company: str | None, kind: str) -> Found:
    config = rehearsal.config
    documents: list[Rehearsed] = []
    receivers: list[Receiver] = []
    never_sent: list[Path] = []
    places = {file: place for place, file in enumerate(each)}
    ends = (*NEVER_DOCUMENTS, *filter(None, (config.outbound.ready_suffix,)))
    with_document = {file.with_name(f"{file.name}{end}") for file in places for end in ends}
    named, is_document = frozenset(files), _documents_names(config)

    def turn(file: Path) -> tuple[int, int]:
        """A file's place, or after all others where it may be another version of one: that has the shorter name."""
        has_other = any(file.with_name(name) in places for name in shorter_names(file.name))
        return len(file.name) if has_other else 0, places[file]

    for file in progress(sorted(places, key=turn), "files"):
        is_named = file == STDIN or is_document(file.name)
        if file in named and file.suffix.lower() == ".csv":
            receivers += rehearsal.look_for(file, _company_of(file, company, config), kind)
        elif file not in named and not is_named:
            never_sent.append(file)
        else:
            whose = _company_of(file, company, config)
            if whose is None:
                names = listed(sorted(config.companies))
                raise click.UsageError(f"{file} is in no company's outbound folder; write --company and one of {names}")
            documents.append(rehearsal.judge(file, whose, is_named=is_named))
            if is_named and whose.prepare.has_pdfs:
                with_document |= {file.with_name(pdf_name(file.name, suffix)) for suffix in PDF_SUFFIXES}
    documents = [judged for judged in documents if judged.verdict != STAYS or judged.file not in with_document]
    documents.sort(key=lambda judged: places[judged.file])
    never_sent = [file for file in never_sent if file not in with_document and not is_hold_name(file.name)]
    never_sent.sort(key=places.__getitem__)
    causes = list(_causes(rehearsal, documents))
    return Found(documents, receivers, never_sent, causes, rehearsal.troubles(), rehearsal.unread)


def _documents_names(config: Config) -> Callable[[str], bool]:
    """A function that returns whether a file in `outbound/` with this name may be a document."""
    matches, ready = matcher(config.outbound.files), config.outbound.ready_suffix

    def is_document(name: str) -> bool:
        is_ready_file = ready is not None and name.lower().endswith(ready.lower())
        return names_document(name) and matches(name) and not (is_ready_file or is_hold_name(name))

    return is_document


def _each(files: Iterable[Path]) -> Iterator[Path]:
    """The files, and those directly in each folder, by name. Raises FiledropError."""
    for file in files:
        if file.is_dir():
            yield from sorted(path for path in file.iterdir() if path.is_file() and not path.name.startswith("."))
        elif file == STDIN or os.path.lexists(file):
            yield file
        else:
            raise FiledropError(f"there is no file {file}; name documents, folders, or CSV files")


def _company_of(file: Path, name: str | None, config: Config) -> Company | None:
    """The company of this name, the only one, or the one in whose outbound folder a file is. Raises UsageError."""
    if name is None and len(config.companies) == 1:
        (name,) = config.companies
    if name is not None:
        if name in config.companies:
            return config.companies[name]
        known = f"write one of {', '.join(config.companies)}" if config.source else "there is no configuration"
        raise click.UsageError(f"there is no company {printable(name)}; {known}")
    is_in = Path(os.path.realpath(file))  # Path.resolve fails for a link that leads to itself
    folders = [(path, company) for company in config.companies.values() for path in company.outbound]
    return next((company for path, company in folders if is_in.is_relative_to(os.path.realpath(path))), None)


def _causes(rehearsal: Rehearsal, documents: Sequence[Rehearsed]) -> Iterator[Cause]:
    """What would fail, by its code, the most frequent first."""
    codes = Counter(rehearsed.fault.code for rehearsed in documents if rehearsed.fault)
    for code, _ in codes.most_common():
        alike = [rehearsed for rehearsed in documents if rehearsed.fault and rehearsed.fault.code == code]
        others = [rehearsed for rehearsed in documents if not rehearsed.fault or rehearsed.fault.code != code]
        yield Cause(code, alike, propose(rehearsal, alike, others))


def _exit_status(found: Found) -> int:
    """0 if all would be sent, and can be reached as far as that was asked; 3 if only the directory gave no answer.

    1 also where nothing could be compared with what was sent before.
    """
    ends = [(rehearsed.verdict, rehearsed.reach, rehearsed.document.account) for rehearsed in found.documents]
    ends += [(SENDS, receiver.reach, receiver.account) for receiver in found.receivers]
    bad = [end for end in ends if end[:2] not in _GOOD]
    if found.documents and found.unread:
        return cli.FAILED
    if all(verdict == SENDS and reach == UNKNOWN and account in found.troubles for verdict, reach, account in bad):
        return cli.UNREACHABLE if bad else 0
    return cli.FAILED


def _show(found: Found, source: str) -> None:
    """`source`: the name of the configuration; "" where there is none."""
    documents, receivers = found.documents, found.receivers
    if any(rehearsed.identity for rehearsed in documents) or len(documents) + len(receivers) == 1:
        for rehearsed in documents:
            _show_whole(rehearsed, found.causes, source)
    elif documents or not receivers:
        _show_several(documents, found.causes)
    if not source:
        say(f"There is no configuration, so {'nothing else was checked' if documents else 'no directory was asked'}.")
    if receivers:
        _show_receivers(receivers)
    if found.unread:
        tell(found.unread)
    for account, why in found.troubles.items():
        tell(f"The directory of account {account} can't be asked: {why}")
    if found.never_sent:
        names = _cut([file.name for file in found.never_sent])
        tell(f"Never sent, because of their names (outbound.files): {names}")


def _show_whole(rehearsed: Rehearsed, causes: Iterable[Cause], source: str) -> None:
    """All that was found of one document."""
    key, fault = _key(rehearsed), rehearsed.fault
    name = "The standard input" if rehearsed.file == STDIN else rehearsed.file.name
    waits = f": {rehearsed.why}" if rehearsed.why and rehearsed.verdict in (NOT_READY, STAYS) else ""
    tell(f"{name} {_VERDICTS[key if key != (SENDS, REACHABLE) else (SENDS, '')]}{waits}. Nothing was sent.")
    for word, fact in _facts(rehearsed):
        tell(f"  {word:<12} {fact}", indent=" " * 15)
    if rehearsed.verdict == ASIDE:
        tell(f"  {rehearsed.why}")
    for cause in (cause for cause in causes if fault and cause.code == fault.code):
        tell(f"  {cause.code}: {rehearsed.says}")
        _show_advice_of(cause, rehearsed, whole=True)
    if rehearsed.advises_aside:
        _show_advice({rehearsed.document.receiver})
    if rehearsed.identity and rehearsed.reading:
        _show_tries(source, rehearsed.identity, rehearsed.reading)


def _facts(rehearsed: Rehearsed) -> Iterator[tuple[str, str]]:
    """The lines of a document, each with the word that says what it is."""
    document, judgement = rehearsed.document, rehearsed.judgement
    for field in FIELDS if document.sources else ():
        value = getattr(document, field)
        origin = document.sources.get(field, "company" if value else "missing")
        if field == "receiver" and rehearsed.reach in (REACHABLE, UNREACHABLE):
            origin += f"; it {_REACHES[rehearsed.reach]}"
        if value or field != "channel":
            yield field, f"{value or '-'}  ({origin})"
    for role, (before, after) in document.prepared.changed.items() if document.prepared else ():
        yield "posted", change_in_words(role, before, after)
    if judgement is not None and not judgement.rules:
        yield "rules", "there are none for this kind of document, so it is sent without validation"
    elif judgement is not None:
        yield "rules", f"{'valid' if judgement.is_valid else 'invalid'} ({', '.join(judgement.rules)})"
        yield from (("", finding) for finding in warnings(judgement))
    yield from (("warning", warning) for warning in document.warnings)


def _show_several(documents: Sequence[Rehearsed], causes: Iterable[Cause]) -> None:
    say(f"{_counted(len(documents), 'document')}; nothing was sent.")
    counts = Counter(map(_key, documents))
    counts[SENDS, "contradicts"] = sum(bool(each.contradicts) for each in documents if each.verdict == SENDS)
    for key, words in _VERDICTS.items():
        if counts[key]:
            say(f"  {counts[key]:>6}  {words}")
    _show_receivers_of(documents)
    _show_advice({rehearsed.document.receiver for rehearsed in documents if rehearsed.advises_aside})
    for cause in causes:
        _show_named(cause.code, cause.documents)
        _show_advice_of(cause, cause.documents[0])
    for rehearsed in documents:
        if rehearsed.why and rehearsed.verdict in (NOT_READY, STAYS):
            tell(f"{rehearsed.file} {_VERDICTS[_key(rehearsed)]}: {rehearsed.why}")


def _key(rehearsed: Rehearsed) -> tuple[str, str]:
    """What a document is counted by in `_VERDICTS`."""
    return rehearsed.verdict, rehearsed.reach if rehearsed.verdict == SENDS else ""


def _show_receivers_of(documents: Sequence[Rehearsed]) -> None:
    sent = [rehearsed for rehearsed in documents if rehearsed.verdict == SENDS]
    for title, named in (
        ("not on Peppol", [rehearsed for rehearsed in documents if rehearsed.verdict == ASIDE]),
        ("receiver can't be reached", [rehearsed for rehearsed in sent if rehearsed.reach == UNREACHABLE]),
        ("receiver unknown", [rehearsed for rehearsed in sent if rehearsed.reach == UNKNOWN]),
        ("other ids than stated (BR-SBDH)", [rehearsed for rehearsed in sent if rehearsed.contradicts]),
        ("with warnings", [each for each in sent if _key(each) in _GOOD and each.says and not each.contradicts]),
    ):
        if named:
            _show_named(title, named)


def _show_advice(absent: Collection[str | None]) -> None:
    if absent:
        them = _counted(len(absent), "receiver")
        tell(f"The directory doesn't have {them}: to send their documents another way, set unreachable: aside")


def _show_receivers(receivers: Sequence[Receiver]) -> None:
    say(f"{_counted(len(receivers), 'receiver')}:")
    counts = Counter(receiver.reach for receiver in receivers)
    for reach, words in _REACHES.items():
        if counts[reach]:
            say(f"  {counts[reach]:>6}  {words}")
    for receiver in receivers:
        if receiver.why:
            say(f"  row {receiver.row}: {receiver.participant or '-'}: {receiver.why}")


def _show_advice_of(cause: Cause, rehearsed: Rehearsed, *, whole: bool = False) -> None:
    """What to do about a cause, by the fault of one document; `whole`: also what an administrator can do."""
    if cause.proposal is None:
        fault = rehearsed.fault
        advice = (fault.hint, fault.administrator if whole else "") if fault else ()
        for line in "\n".join(filter(None, advice)).splitlines():
            if line.startswith(" "):  # a rule, to be copied
                say(f"  {line}")
            else:
                tell(f"  {line}")
        return
    rule, count = cause.proposal, len(cause.documents)
    confirmed = _counted(rule.receivers, "receiver")
    tell(f"  This rule corrects {rule.corrects} of {count}. The directory confirms {confirmed}:")
    for line in rule.lines:
        say(f"    {line}")
    if rule.contradicts:
        tell(f"  {rule.contradicts} {_CONTRADICTING}.")


def _show_named(title: str, documents: Sequence[Rehearsed]) -> None:
    first = documents[0]
    say()
    say(f"{title}: {_counted(len(documents), 'document')}: {_cut([rehearsed.file.name for rehearsed in documents])}")
    if first.says:
        tell(f"  {first.file.name}: {first.says}")


def _cut(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:SHOWN])} and {more} more"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _as_json(found: Found) -> dict[str, Any]:
    return {
        "documents": [_document_as_json(rehearsed) for rehearsed in found.documents],
        "causes": [
            {
                "code": cause.code,
                "documents": len(cause.documents),
                "rule": None if cause.proposal is None else "\n".join(cause.proposal.lines),
                "corrects": 0 if cause.proposal is None else cause.proposal.corrects,
            }
            for cause in found.causes
        ],
        "receivers": [
            {name: value or None for name, value in receiver._asdict().items()} for receiver in found.receivers
        ],
        "unasked": found.troubles,
        "unread": found.unread or None,
        "never_sent": [str(file) for file in found.never_sent],
    }


def _document_as_json(rehearsed: Rehearsed) -> dict[str, Any]:
    document, judgement = rehearsed.document, rehearsed.judgement
    tried = {"tried": _tries_as_json(rehearsed.identity)} if rehearsed.identity else {}
    return {
        "file": str(rehearsed.file),
        "company": document.company or None,
        "verdict": rehearsed.verdict,
        "reach": rehearsed.reach or None,
        **{name: getattr(document, name) for name in FIELDS},
        "sources": document.sources,
        "code": rehearsed.fault.code if rehearsed.fault else None,
        "why": rehearsed.says or None,
        "contradicts": list(rehearsed.contradicts),
        "warnings": list(document.warnings),
        "posted": document.prepared.changed if document.prepared else {},
        "rules": None if judgement is None else list(judgement.rules),
        "findings": [asdict(finding) for finding in judgement.findings] if judgement else [],
        **tried,
    }


def _tries_as_json(identity: Identity) -> list[dict[str, Any]]:
    """Each rule as `--json` has it; `why` is null where a rule applies and where a field wins."""
    return [
        {
            "rule": tried.rule,
            "line": tried.line,
            "applies": not tried.refusal,
            "why": tried.refusal or None,
            "fields": {name: _field_as_json(name, tried, identity) for name in tried.fields},
        }
        for tried in identity.tries
    ]


def _field_as_json(name: str, tried: Try, identity: Identity) -> dict[str, Any]:
    winner = rule_of(name, identity)
    value = tried.values.get(name)
    if value is None:
        why = tried.unset.get(name, "the rule doesn't apply")
    else:
        why = "" if winner is tried else f"{winner} comes first"
    return {"value": value, "wins": not why, "why": why or None}


def _show_tries(source: str, identity: Identity, reading: Reading) -> None:
    """Show each rule of the configuration `source` ("" for none), and where the rest comes from."""
    if not source:
        say("  There is no configuration, so there are no mapping rules.")
    elif not identity.tries:
        say(f"  {source} has no mapping rules.")
    else:
        say(f"  The mapping rules of {source}, for a file of {identity.company}:")
    for tried in identity.tries:
        if tried.refusal:
            say(f"  {tried} doesn't apply: {tried.refusal}")
            say(f"    it would set {', '.join(tried.fields)}")
            continue
        say(f"  {tried} applies")
        for name in tried.fields:
            field = _field_as_json(name, tried, identity)
            said = "sets nothing" if field["value"] is None else field["value"]
            say(f"    {name:<12} {said}" + (f": {field['why']}" if field["why"] else ""))
    rest = [name for name in FIELDS if rule_of(name, identity) is None]
    for name in rest:
        if name == rest[0]:
            say("  Set by no rule:")
        say(f"    {name:<12} {explained(name, identity, reading)}")
