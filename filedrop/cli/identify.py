"""`filedrop identify`: the ids of files, and where each comes from. It needs no configuration, but uses one."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import config_if_any
from filedrop.cli.show import change_in_words, say, show_json, tell
from filedrop.errors import DocumentError, Unanswered
from filedrop.files import open_regular
from filedrop.files.rights import explain
from filedrop.identify import demand
from filedrop.identify import identify as settle
from filedrop.identify.codelist import edition
from filedrop.identify.identity import explained, rule_of
from filedrop.identify.mapping import Rules
from filedrop.model.fault import Fault
from filedrop.outbound.pdfs import pdf_for
from filedrop.outbound.preparing import in_memory, post_instead, read_of
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.storage.own_name import own_name_beside
from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from filedrop.config import Company, Outbound
    from filedrop.files import Where
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Try
    from filedrop.model.document import Document

    Identified = tuple[Identity, Reading]

FIELDS = ("sender", "receiver", "document_id", "process_id", "channel")
STDIN = Path("-")
BELOW = " " * 15  # the indent of what stands below a word that says what it is
A_LINK = "It is a symbolic link, and filedrop doesn't follow or send links. Name the file itself."


@click.command(epilog="\b\nExample: filedrop identify --explain invoice.xml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Also show for each mapping rule why it applies or not.")
@click.option("--company", metavar="NAME", help="Treat the files as files of this company.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@click.pass_obj
def identify(
    config_option: str | None, files: Sequence[Path], *, explain: bool, company: str | None, as_json: bool
) -> None:
    """Show the ids of files, and where each id comes from.

    A file in a company's outbound folder is treated as a file of that company. If FILE is -, filedrop reads standard
    input, which has no file name for mapping rules.
    """
    config = config_if_any(config_option)
    rules = Rules(config.mapping, config.tables, source=config.source) if config else None
    companies = config.companies if config else {}
    whole = True
    for file in files:
        whose = company_of(file, company, companies)
        record, identified = _identified(file, whose, rules, config.outbound if config else None)
        whole = whole and record["error"] is None
        if as_json:
            show_json(record | {"rules": _rules_as_json(identified[0]) if identified else []} if explain else record)
        else:
            _show(record, is_read=identified is not None)
            if explain and identified:
                _explain(config.source if config else "", *identified)
    raise SystemExit(0 if whole else FAILED)


def opened(file: Path) -> BinaryIO:
    """A file, or a copy of what comes in at the standard input, so that it can be read twice. Raises OSError."""
    if file != STDIN:
        return cast("BinaryIO", open_regular(file))
    copy = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.seek(0)
    return copy


@contextmanager
def opened_document(file: Path, max_size: int | None, xpaths: Collection[str] = ()) -> Iterator[OpenedDocument]:
    """A file, or what comes in at the standard input, opened and read. Raises DocumentError, OSError."""
    stream = opened(file)
    with closing(OpenedDocument(stream, os.fstat(stream.fileno()))) as document:
        try:
            document.read(max_size, xpaths)
            yield document
        except Changing:
            raise OSError(errno.EAGAIN, "somebody is writing it") from None


def prepare_in_memory(
    file: Where, document: OpenedDocument, identified: Document | Identity, company: Company, rules: Outbound
) -> None:
    """Have posted what would be posted for a company. `rules`: the common settings. Raises DocumentError, OSError."""
    rules = company.apply_to(rules)
    reading, prepare = read_of(document), rules.prepare
    pdf = pdf_for(file, document.status, reading, company.name, prepare) if file != STDIN else None
    keep = partial(in_memory, rules.max_size, document.status)
    post_instead(document, identified, rules, company.name, keep, pdf=pdf)


def name_of(file: Path) -> str:
    """The name that the mapping rules see: the one with which a file was dropped; "" for the standard input."""
    return "" if file == STDIN else own_name_beside(file) or file.name


def company_of(file: Path, name: str | None, companies: Mapping[str, Company]) -> Company | None:
    """The company of this name, or the one in whose outbound folder a file is. Raises UsageError."""
    if name is not None:
        if name in companies:
            return companies[name]
        known = f"write one of {', '.join(companies)}" if companies else "there is no configuration"
        raise click.UsageError(f"there is no company {printable(name)}; {known}")
    if file == STDIN:
        return None
    lies_in = Path(os.path.realpath(file))  # Path.resolve fails for a link that leads to itself
    folders = [(path, company) for company in companies.values() for path in company.outbound]
    return next((company for path, company in folders if lies_in.is_relative_to(os.path.realpath(path))), None)


def _identified(
    file: Path, company: Company | None, mapping: Rules | None, rules: Outbound | None
) -> tuple[dict[str, Any], Identified | None]:
    """What is shown of a file, and what that was taken from; `company` is whose it is taken for."""
    record: dict[str, Any] = {"file": str(file), **dict.fromkeys(FIELDS), "channel": "", "sources": {}, "warnings": []}
    record["code_list"] = edition().version
    identified = None
    try:
        with opened_document(file, rules.max_size if rules else None, mapping.xpaths if mapping else ()) as document:
            reading = read_of(document)
            identity = settle(
                reading,
                company=company.name if company else None,
                file_name=name_of(file),
                participants=company.participants if company else (),
                channel=company.channel if company else "",
                mapping=mapping,
                prepares=company is not None and company.prepare.ids,
            )
            identified = identity, reading
            record |= {name: getattr(identity, name) for name in FIELDS}
            record |= {"sources": dict(identity.sources), "warnings": list(identity.warnings)}
            demand(identity, reading)
            if company is not None and rules is not None:
                prepare_in_memory(file, document, identity, company, rules)
            if document.copy is not None:
                record["prepared"] = document.copy.prepared.changed
    except DocumentError as found:
        fault = Fault.of(*found.texts)
    except Unanswered as found:
        fault = Fault("unreadable", f"{found}.")
    except OSError as found:
        fault = Fault("unreadable", A_LINK if found.errno == errno.ELOOP else f"{explain(found)}.")
    else:
        return record | {"error": None}, identified
    words = {"code": fault.code, "message": fault.message, "hint": fault.hint, "administrator": fault.administrator}
    return record | {"error": words}, identified


def _show(record: dict[str, Any], *, is_read: bool) -> None:
    say(record["file"])
    for name in FIELDS if is_read else ():
        if record[name] or name != "channel":
            source = record["sources"].get(name, "company" if name == "channel" else "missing")
            say(f"  {name:<12} {record[name] or '-'}  ({source})")
    if is_read:
        say(f"  code list    {edition()}")
    for role, (before, after) in record.get("prepared", {}).items():
        tell(f"  prepared     {change_in_words(role, before, after)}", indent=BELOW)
    for warning in record["warnings"]:
        tell(f"  warning      {warning}", indent=BELOW)
    if record["error"]:
        tell(f"  {record['error']['code']:<12} {record['error']['message']}", indent=BELOW)
        for line in (record["error"]["hint"] + "\n" + record["error"]["administrator"]).split("\n"):
            if line.startswith(" "):  # a rule, to be copied
                say(line)
            else:
                tell(f"{BELOW}{line}", indent=BELOW)


def _rules_as_json(identity: Identity) -> list[dict[str, Any]]:
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


def _explain(source: str, identity: Identity, reading: Reading) -> None:
    """Show the rules of the configuration `source` ("" for none), and where the rest comes from."""
    _show_rules(source, identity)
    rest = [name for name in FIELDS if rule_of(name, identity) is None]
    if rest:
        say("  Set by no rule:")
    for name in rest:
        say(f"    {name:<12} {explained(name, identity, reading)}")


def _show_rules(source: str, identity: Identity) -> None:
    if not source:
        say("  There is no configuration, so there are no mapping rules.")
    elif not identity.tries:
        say(f"  {source} has no mapping rules.")
    elif identity.company is None:
        say(f"  The mapping rules of {source}, for a file of no company (for a company's file: --company NAME):")
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
