"""`filedrop config show` and `filedrop config schema`: what the configuration means, and what it may say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from filedrop.cli.opening import open_config
from filedrop.cli.service.naming import EXAMPLE
from filedrop.cli.show import complain, show_json
from filedrop.config.shown import as_yaml, json_schema, shown

if TYPE_CHECKING:
    from filedrop.config import Config

CONFIGURATION = "configuration"
_FOLDER = Path(__file__).parents[1]
FORMS = {
    "sidecar": _FOLDER / "storage" / "sidecar.schema.json",
    "status": _FOLDER / "status" / "status.schema.json",
}


@click.group()
def config() -> None:
    """Show the configuration with all defaults, or its JSON Schema."""


@config.command(epilog="\b\nExample: filedrop config show")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(config_option: str | None, *, as_json: bool) -> None:
    """Show the configuration with all defaults. Secrets are hidden."""
    held: Config = open_config(config_option)
    for warning in held.warnings:
        complain(warning)
    if as_json:
        show_json(shown(held))
    else:
        click.echo(as_yaml(shown(held)), nl=False)


@config.command(
    epilog="\b\nExample: filedrop config schema > filedrop.schema.json\n"
    "Then the first line of your configuration: # yaml-language-server: $schema=filedrop.schema.json"
)
@click.argument("form", type=click.Choice([CONFIGURATION, *FORMS]), default=CONFIGURATION)
def schema(form: str) -> None:
    """Print the JSON Schema of the configuration, of sidecars, or of status.json.

    Editors with the YAML language server complete and check keys of the configuration with its schema.
    """
    if form == CONFIGURATION:
        show_json(json_schema(EXAMPLE.read_text("utf-8")))
    else:
        click.echo(FORMS[form].read_text("utf-8"), nl=False)
