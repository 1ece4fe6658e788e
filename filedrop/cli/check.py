"""`filedrop check` tests the set-up; with FILE, it shows what would become of files. Only what is used is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence


OF_SET_UP: dict[str, Any] = {  # by default
    "take_over": False, "folder": (), "as_service": False, "alert": False, "all": False,
}  # fmt: skip


@click.command(epilog="\b\nExample: filedrop check invoice.xml")
@click.argument("files", nargs=-1, metavar="[FILE...]", type=click.Path(readable=False, path_type=Path))
@click.option("--company", metavar="NAME", help="Treat each FILE as a file of this company.")
@click.option("--explain", is_flag=True, help="Also show for each mapping rule why it applies to FILE or not.")
@click.option("--rules", metavar="DIR", type=click.Path(path_type=Path), help="Validate FILE by the rules in DIR.")
@click.option(
    "-o",
    "--output",
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="Write what would be posted to this new file; - is the standard output.",
)
@click.option("--document", metavar="TYPE", help="What receivers in a CSV file are to accept; Invoice, if not given.")
@click.option("--offline", is_flag=True, help="Don't ask the access point's directory.")
@click.option(
    "--take-over", is_flag=True, help="Serve folders that another filedrop has marked, or that lost their mark."
)
@click.option(
    "--folder",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="With --take-over: only this folder. Can be repeated.",
)
@click.option("--as-service", is_flag=True, help="Test with the rights of the service's account. For administrators.")
@click.option("--alert", is_flag=True, help="Also send a test alert by every way that is configured.")
@click.option("--all", is_flag=True, help="Of many results, also show those that are ok.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object per line; with FILE, one object.")
@click.pass_obj
def check(
    config_option: str | None,
    /,
    *,
    files: Sequence[Path] = (),
    as_json: bool = False,
    **others: Any,
) -> None:
    """Test the set-up; with FILE, show what would become of it. Nothing is sent, and nothing is left behind.

    Without FILE: test the configuration, state, folders, login, TLS and clock.

    FILE is a document, a folder of documents, a CSV file with a receiver's ParticipantID in each row (and the sender's,
    if your companies have several accounts), or - for the standard input. A run would decide the same. Files in a
    folder that filedrop would never send are left out. filedrop asks the directory at most five times a second. For
    documents that fail for the same reason, it proposes the mapping rule that corrects most of them, if the directory
    confirms it. Without a configuration, it shows only the ids, and with --rules what the rules find.

    The exit status is 0 if each document would be sent or put into not-on-peppol/, and each other receiver can be
    reached; 3 if only the directory can't be asked.
    """
    of_set_up = {name: others.pop(name, default) for name, default in OF_SET_UP.items()}
    for name in (name for name, value in (of_set_up if files else others).items() if value):
        raise click.UsageError(f"--{name.replace('_', '-')} {'works only without' if files else 'needs a'} FILE")
    if files:
        from filedrop.cli.rehearsing import check_files  # noqa: PLC0415 - loaded if it is used

        raise SystemExit(check_files(config_option, files, as_json=as_json, **others))
    from filedrop.cli.set_up import check_set_up  # noqa: PLC0415 - loaded if it is used

    raise SystemExit(check_set_up(config_option, as_json=as_json, **of_set_up))
