"""Which of several filedrops on a machine a command is for, and the example that becomes its configuration."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from filedrop.cli.show import complain
from filedrop.config import Config, default_folder

PACKAGE = Path(__file__).parents[2]
TOP = PACKAGE / "service" if (PACKAGE / "service").is_dir() else PACKAGE.parent  # of a wheel; of the project's folder
EXAMPLE = TOP / "config.example.yaml"


def _safe(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    if name is not None and not re.fullmatch(r"[A-Za-z0-9_.]+", name):
        raise click.UsageError(f'"{name}" can\'t name an instance; write letters, digits, _ and . only')
    return name


instance_argument = click.argument("instance", required=False, callback=_safe)


def example() -> str:
    """The example of a configuration, with this system's places."""
    text = EXAMPLE.read_text("utf-8")
    if sys.platform == "win32":
        keys = Config.model_fields
        text = text.replace("password_file: /etc/filedrop/password", "password_file: password")
        text = text.replace("#root: /srv/filedrop", f"#root: {keys['root'].default}")
        text = text.replace("#state: /var/lib/filedrop", f"#state: {keys['state'].default}")
        log = default_folder() / "log" / "filedrop.log"
        text = text.replace("  #file: null", f"  file: {log}")  # a service has no screen
    return text


def is_written(lies_at: Path) -> bool:
    """Whether somebody has written a configuration, and there isn't only the example."""
    return lies_at.exists() and lies_at.read_bytes().split() != example().encode().split()  # lines end as they like


def put_example(lies_at: Path, seen_as: Path) -> None:
    """Put the example where there is no configuration yet, and say what is to be done with it."""
    is_new = not lies_at.exists()
    if is_new:
        lies_at.parent.mkdir(parents=True, exist_ok=True)
        lies_at.write_text(example(), "utf-8")
    complain(
        f"{seen_as} is {'a new' if is_new else 'still the'} example: fill in accounts and companies, write the "
        "password into its file, and run this again."
    )
