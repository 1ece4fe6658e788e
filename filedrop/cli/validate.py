"""`filedrop validate`: whether files keep the rules, before anybody drops them. It needs only --rules."""

from __future__ import annotations

import errno
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from filedrop.cli import FAILED
from filedrop.cli.identify import A_LINK, company_of, name_of, opened_document, prepare_in_memory
from filedrop.cli.opening import config_if_any
from filedrop.cli.show import complain, say, show_json
from filedrop.cli.tables import show_table
from filedrop.config import Validation
from filedrop.config.rules import load_rules
from filedrop.errors import DocumentError, NoVerdict, Unanswered
from filedrop.files.rights import explain
from filedrop.identify.mapping import Rules
from filedrop.outbound.context import identification_of
from filedrop.outbound.preparing import read_of
from filedrop.outbound.validating import ask
from filedrop.validation import validator_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from filedrop.config import Company, Outbound
    from filedrop.validation import Validator

RESULTS = {True: "valid", False: "invalid", None: "not validated"}


@click.command(epilog="\b\nExample: filedrop validate --rules /etc/filedrop/rules invoice.xml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--rules", metavar="DIR", type=click.Path(path_type=Path), help="A folder with rules and a rules.yaml.")
@click.option("--company", metavar="NAME", help="Treat the files as files of this company.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@click.pass_obj
def validate(
    config_option: str | None, files: Sequence[Path], *, rules: Path | None, company: str | None, as_json: bool
) -> None:
    """Check files against the rules in DIR, or against those of the configuration.

    Each file is valid, invalid, or not validated: then it can't be read, or the validator has no verdict. The exit
    status is 1 unless all are valid. If FILE is -, filedrop reads standard input. The exceptions of a company
    (`validation.except`) apply to the files in its outbound folder.
    """
    companies: Mapping[str, Company] = {}
    mapping = common = None
    if rules is not None:
        load_rules(rules)  # all of its mistakes, at once
        validator = validator_of(Validation(rules=rules.absolute()))
    else:
        config = config_if_any(config_option)
        validator = validator_of(config.validation, passed=config.pass_environment) if config else None
        companies = config.companies if config else {}
        common = config.outbound if config else None
        mapping = Rules(config.mapping, config.tables, source=config.source) if config else None
    if validator is None:
        raise click.UsageError("there are no rules: write --rules DIR, or set validation in the configuration")
    with closing(validator):
        results = []
        for file in files:
            whose = company_of(file, company, companies)
            results.append(_judged(validator, file, whose, mapping, common))
            if as_json:
                show_json(results[-1])
    if not as_json:
        rows = [row for result in results for row in _rows(result)]
        show_table(("result", "file", "line", "rule", "what it says"), rows)
        for result in results:
            if result["error"]:
                complain(f"{result['file']}: {result['error']}")
        if any(result["valid"] and not result["rules"] for result in results):
            say("no rules: rules.yaml has none for documents of this kind, so they are sent without validation")
    raise SystemExit(0 if all(result["valid"] for result in results) else FAILED)


def _judged(
    validator: Validator, file: Path, company: Company | None, mapping: Rules | None, common: Outbound | None
) -> dict[str, Any]:
    result: dict[str, Any] = {"file": str(file), "valid": None, "rules": [], "findings": [], "more": 0, "error": None}
    try:
        by = identification_of(company, mapping) if company and mapping and company.prepare.is_on else None
        with opened_document(file, None, by.xpaths if by else ()) as document:
            if by and company and common:
                identity = by.identify(read_of(document), name_of(file))
                prepare_in_memory(file, document, identity, company, common)
            verdict = ask(validator, document, company.name if company else "", local=True)
    except (DocumentError, NoVerdict, Unanswered) as error:
        return result | {"error": str(error)}
    except OSError as error:
        return result | {"error": A_LINK if error.errno == errno.ELOOP else explain(error)}
    findings = [asdict(finding) for finding in verdict.findings]
    return result | {"valid": verdict.is_valid, "rules": verdict.rules, "findings": findings, "more": verdict.more}


def _rows(result: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    verdict = RESULTS[result["valid"]] if result["valid"] is None or result["rules"] else "no rules"
    yield verdict, result["file"], "", "", ""
    for finding in result["findings"]:
        place = f" ({finding['xpath']})" if finding["xpath"] else ""
        kind = "" if finding["is_fatal"] else "warning"
        yield kind, "", finding["line"], finding["rule"], f"{finding['message']}{place}"
    if result["more"]:
        yield "", "", "", "", f"and {result['more']} more"
