"""`filedrop identify`: the ids of files, and where each comes from. It needs no configuration, but uses one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from filedrop.cli import FAILED
from filedrop.cli.show import say, show_json
from filedrop.config import find, load
from filedrop.errors import DocumentError
from filedrop.files import open_regular
from filedrop.identify import demand, read
from filedrop.identify import identify as settle
from filedrop.identify.mapping import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.config import Company

IDS = ("sender", "receiver", "document_id", "process_id", "channel")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.pass_obj
def identify(config_option: str | None, files: Sequence[Path], *, as_json: bool) -> None:
    """Show the ids of files, and where each comes from.

    A file inside a company's outbound folder is identified as that company's.
    """
    setting = _setting(config_option)
    whole = True
    for file in files:
        told = _identified(setting, file)
        whole = whole and told["error"] is None
        if as_json:
            show_json(told)
        else:
            _show(told)
    raise SystemExit(0 if whole else FAILED)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a configuration adds to what the documents say."""

    mapping: Rules | None = None
    max_size: int | None = None
    companies: tuple[tuple[Path, Company], ...] = ()
    """Each company by its outbound folders."""

    def company_of(self, file: Path) -> Company | None:
        """The company in whose outbound folder a file lies."""
        lies_in = file.resolve()
        return next((company for path, company in self.companies if lies_in.is_relative_to(path)), None)


def _setting(config_option: str | None) -> Setting:
    if not (config_option or os.environ.get("FILEDROP_CONFIG") or find(None).exists()):
        return Setting()
    config = load(find(config_option))
    return Setting(
        Rules(config.mapping, config.tables),
        config.outbound.max_size,
        tuple((path.resolve(), company) for company in config.companies.values() for path in company.outbound),
    )


def _identified(setting: Setting, file: Path) -> dict[str, Any]:
    told: dict[str, Any] = {"file": str(file), **dict.fromkeys(IDS), "channel": "", "sources": {}, "warnings": []}
    company = setting.company_of(file)
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
        told |= {name: getattr(identity, name) for name in IDS}
        told |= {"sources": dict(identity.sources), "warnings": list(identity.warnings)}
        demand(identity, reading)
    except DocumentError as error:
        return told | {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    except OSError as error:
        return told | {"error": {"code": "unreadable", "message": f"{error.strerror}.", "hint": ""}}
    return told | {"error": None}


def _show(told: dict[str, Any]) -> None:
    say(told["file"])
    for name in IDS:
        if told[name] or name != "channel":
            say(f"  {name:<12} {told[name] or '-'}  ({told['sources'].get(name, 'missing')})")
    for warning in told["warnings"]:
        say(f"  warning      {warning}")
    if told["error"]:
        say(f"  {told['error']['code']:<12} {told['error']['message']}")
        for line in told["error"]["hint"].splitlines():
            say(f"               {line}")
