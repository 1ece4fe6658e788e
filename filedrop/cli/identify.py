"""`filedrop identify`: the ids of files, and where each comes from. It needs no configuration, but uses one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from filedrop.cli import FAILED
from filedrop.cli.explain import FIELDS, rules_told, show_explanation
from filedrop.cli.show import say, show_json
from filedrop.config import find, load
from filedrop.errors import DocumentError
from filedrop.files import open_regular
from filedrop.identify import demand, read
from filedrop.identify import identify as settle
from filedrop.identify.mapping import Rules
from filedrop.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from filedrop.config import Company
    from filedrop.identify import Identity, Reading

    Identified = tuple[Identity, Reading]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Say of each mapping rule why it applies or not, and what it sets.")
@click.option("--company", metavar="NAME", help="Take the files for this company's, wherever they lie.")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.pass_obj
def identify(
    config_option: str | None, files: Sequence[Path], *, explain: bool, company: str | None, as_json: bool
) -> None:
    """Show the ids of files, and where each comes from.

    A file inside a company's outbound folder is identified as that company's.
    """
    setting = _setting(config_option)
    if company is not None and company not in setting.companies:
        known = f"write one of {', '.join(setting.companies)}" if setting.companies else "there is no configuration"
        raise click.UsageError(f"there is no company {printable(company)}; {known}")
    whole = True
    for file in files:
        told, identified = _identified(setting, file, company)
        whole = whole and told["error"] is None
        if as_json:
            show_json(told | {"rules": rules_told(identified[0]) if identified else []} if explain else told)
        else:
            _show(told)
            if explain and identified:
                show_explanation(setting.source, *identified)
    raise SystemExit(0 if whole else FAILED)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a configuration adds to what the documents say. `source` is its file, "" where there is none."""

    source: str = ""
    mapping: Rules | None = None
    max_size: int | None = None
    companies: Mapping[str, Company] = field(default_factory=dict)

    def company_of(self, file: Path) -> Company | None:
        """The company in whose outbound folder a file lies."""
        lies_in = file.resolve()
        folders = ((path.resolve(), company) for company in self.companies.values() for path in company.outbound)
        return next((company for path, company in folders if lies_in.is_relative_to(path)), None)


def _setting(config_option: str | None) -> Setting:
    if not (config_option or os.environ.get("FILEDROP_CONFIG") or find(None).exists()):
        return Setting()
    config = load(find(config_option))
    rules = Rules(config.mapping, config.tables, source=config.source)
    return Setting(config.source, rules, config.outbound.max_size, config.companies)


def _identified(setting: Setting, file: Path, named: str | None) -> tuple[dict[str, Any], Identified | None]:
    """What is told of a file, and what that was taken from; `named` is the company that it shall be taken for."""
    told: dict[str, Any] = {"file": str(file), **dict.fromkeys(FIELDS), "channel": "", "sources": {}, "warnings": []}
    company = setting.companies[named] if named is not None else setting.company_of(file)
    identified = None
    error = None
    try:
        with open_regular(file) as stream:
            reading = read(stream, max_size=setting.max_size, xpaths=setting.mapping.xpaths if setting.mapping else ())
        identity = settle(
            reading,
            company=company.name if company else None,
            file_name=file.name,
            default_sender=company.participants[0] if company and company.participants else None,
            channel=company.channel if company else "",
            mapping=setting.mapping,
        )
        identified = identity, reading
        told |= {name: getattr(identity, name) for name in FIELDS}
        told |= {"sources": dict(identity.sources), "warnings": list(identity.warnings)}
        demand(identity, reading)
    except DocumentError as fault:
        error = {"code": fault.code, "message": fault.message, "hint": fault.hint}
    except OSError as fault:
        error = {"code": "unreadable", "message": f"{fault.strerror}.", "hint": ""}
    return told | {"error": error}, identified


def _show(told: dict[str, Any]) -> None:
    say(told["file"])
    for name in FIELDS:
        if told[name] or name != "channel":
            source = told["sources"].get(name, "company" if name == "channel" else "missing")
            say(f"  {name:<12} {told[name] or '-'}  ({source})")
    for warning in told["warnings"]:
        say(f"  warning      {warning}")
    if told["error"]:
        say(f"  {told['error']['code']:<12} {told['error']['message']}")
        for line in told["error"]["hint"].splitlines():
            say(f"               {line}")
