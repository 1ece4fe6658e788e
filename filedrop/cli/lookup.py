"""`filedrop lookup`: what the access point's directory says of a receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from filedrop.accesspoint.directory import look_up, nearest, takes
from filedrop.cli import FAILED
from filedrop.cli.archive import ACCOUNT
from filedrop.cli.opening import choose_account, open_access_point, open_config
from filedrop.cli.show import say, show_json
from filedrop.cli.tables import show_table
from filedrop.errors import FiledropError, WrongAddress
from filedrop.identify import codelist, participants
from filedrop.model.document import local_name, without_scheme
from filedrop.model.twins import twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.accesspoint import Pair
    from filedrop.accesspoint.directory import DirectoryAnswer

CONNECTED = {True: "can be reached", False: "is not in the directory", None: "can't be looked up"}


@click.command(epilog="\b\nExample: filedrop lookup 0192:810418052 Invoice")
@click.argument("participant")
@click.argument("document", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@ACCOUNT
@click.pass_obj
def lookup(
    config_option: str | None, participant: str, document: str | None, *, account: str | None, as_json: bool
) -> None:
    """Ask the directory whether PARTICIPANT can be reached, and which kinds of DOCUMENT it accepts.

    PARTICIPANT is a ParticipantID, such as 0192:810418052. DOCUMENT is a type, such as Invoice, or a full document id.
    For a document id, the most similar ids come first.
    """
    receiver = without_scheme(participant)
    wrong = participants.fault(receiver)
    if wrong:
        raise click.UsageError(f'the participant "{participant}" {wrong}')
    wanted = without_scheme(document or "")
    name = local_name(wanted) or wanted
    with open_access_point(choose_account(open_config(config_option), account)) as access_point:
        try:
            known = look_up(access_point, receiver, name)
            other = twin(receiver) if known.connected is False else None
            other = other if other and look_up(access_point, other, "").connected else None
        except WrongAddress as error:
            access_point.probe()  # raises where base_url is wrong
            raise FiledropError(str(error)) from error
    pairs = nearest(known.accepts or (), wanted, "")
    if as_json:
        accepts = [{"document_id": document_id, "process_id": process} for document_id, process in pairs]
        said = None if known.accepts is None else accepts
        show_json(
            {"participant": receiver, "connected": known.connected, "twin": other, "document": name or None}
            | {"accepts": said}
        )
    else:
        _show(receiver, known, name, wanted, pairs)
        if other:
            say(f"The same company is in it as {other}.")
    raise SystemExit(0 if _is_good(known, name, wanted) else FAILED)


def _is_good(known: DirectoryAnswer, name: str, wanted: str) -> bool:
    if not name:
        return known.connected is True
    if wanted == name:
        return bool(known.accepts)
    return any(takes(pair, wanted, pair[1]) for pair in known.accepts or ())


def _show(receiver: str, known: DirectoryAnswer, name: str, wanted: str, pairs: Sequence[Pair]) -> None:
    say(f"{receiver} {CONNECTED[known.connected]}")
    if not name:
        return
    if known.accepts is None:
        say(f"The directory doesn't show what it accepts as {name}.")
    elif not pairs and known.connected:
        say(f"It accepts no {name}. (The type is the name of the root element: Invoice, CreditNote, Order ...)")
    elif pairs:
        no = "" if wanted == name or _is_good(known, name, wanted) else "It doesn't accept that document id. "
        say(f"{no}It accepts as {name}{', the most similar first' if wanted != name else ''}:")
        show_table(["customization", "version", "process", "code list"], map(_row, pairs))


def _row(pair: Pair) -> list[str]:
    document_id, process = pair
    customization, _, version = document_id.partition("##")[2].rpartition("::")
    entry = codelist.document_entry(document_id)
    return [customization or document_id, version, process, entry.state if entry else "not listed"]
