"""`filedrop history`: all that the journal knows of a document or message, also after its file is gone (contract 7)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import open_config, open_journal
from filedrop.cli.show import change_in_words, complain, say, show_json, tell
from filedrop.files.patience import within
from filedrop.journal import Known
from filedrop.model.message import number as as_number
from filedrop.storage import sidecar
from filedrop.storage.company_folders import received_paths
from filedrop.storage.names import POSTED, unnumbered
from filedrop.texts.printable import command, forms
from filedrop.times import here, local, moment, now, stated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from filedrop.journal import GivenAnswer, Journal, MessageRow
    from filedrop.model.document import Document

SHOWN = 20  # documents and messages at most
PATIENCE = 3.0  # seconds for a folder to say whether the file is there
DAY = click.DateTime(["%Y-%m-%d"])  # by this machine's clock
A_DAY = timedelta(days=1) - timedelta(microseconds=1)
LONG_AGO, END_OF_TIME = datetime(1970, 1, 2), datetime(9999, 12, 30, tzinfo=UTC)  # noqa: DTZ001 - of this machine's time
LIES = {True: "is in", False: "was last in", None: "was last in a folder that doesn't answer now:"}


@click.command(epilog="\b\nExample: filedrop history invoice-1001.xml")
@click.argument("name", metavar="NAME|MSG_NO|ID", required=False)
@click.option("--number", help="Find documents by the number in the document, such as an invoice number.")
@click.option("--party", help="Find documents by sender or receiver: a ParticipantID, or a part of the other's name.")
@click.option(
    "--since", type=DAY, metavar="DATE", help="Find documents claimed or placed on this day or later, like 2026-11-01."
)
@click.option("--until", type=DAY, metavar="DATE", help="Find documents claimed or placed on this day or earlier.")
@click.option("--long", "is_long", is_flag=True, help="Show everything about each, not only if it is the only one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@click.pass_obj
def history(
    config_option: str | None,
    name: str | None,
    *,
    number: str | None,
    party: str | None,
    since: datetime | None,
    until: datetime | None,
    is_long: bool,
    as_json: bool,
) -> None:
    """Show everything that happened to a document or a message, also if its file is gone.

    Write the name of its file, its message number, or the id in its sidecar. Or find it by what it contains: the
    options can be combined. If there are several, the newest comes first, and each has one line, with its id or its
    message number in brackets: write that, or --long, to see everything. At most 20 that were sent are shown, and 20
    that were received. For a received document, it also shows when the file was put in place.
    """
    if (name is None) == (number is None and party is None and since is None and until is None):
        raise click.UsageError("write either a name, a message number or an id, or options that say what to find")
    with open_journal(open_config(config_option)) as journal:
        if name is None:
            first, last = (since or LONG_AGO).astimezone(), (until.astimezone() + A_DAY) if until else END_OF_TIME
            known = Known(number or "", party or "", first, last)
            documents = journal.documents.search(known, now(), most=SHOWN + 1)
            messages = journal.messages.search(known, now(), most=SHOWN + 1)
        else:
            named = (journal.documents.called(form, unnumbered(form)) for form in forms(name))
            documents, messages = next(filter(None, named), []), _messages(journal, name)
        dated = [(document.claimed, partial(_of_document, journal, document)) for document in documents]
        dated += [(row.placed or now(), partial(_of_message, journal, row)) for row in messages]
        dated.sort(key=itemgetter(0), reverse=True)
        found = [content() for _, content in dated[:SHOWN]]
    if not found:
        sought = "that fits these options" if name is None else name
        complain(f"the journal has no document or message {sought}; filedrop messages lists the access point's archive")
        raise SystemExit(FAILED)
    _show(found, is_long=is_long, as_json=as_json)
    more = len(dated[SHOWN:])
    if more and name is None:
        complain("and older ones: to see these, write more options, such as --until")
    elif more:
        complain(f"and {more} older ones: to see one of these, write its id or message number")


def _show(found: Sequence[Mapping[str, Any]], *, is_long: bool, as_json: bool) -> None:
    if as_json:
        for content in found:
            show_json(content)
    elif len(found) > 1 and not is_long:
        for content in found:
            tell(_in_a_line(content), indent="      ")
    else:
        for nth, content in enumerate(found):
            if nth:
                say()
            for line in _lines(content):
                tell(line, indent="      ")


def _messages(journal: Journal, name: str) -> list[MessageRow]:
    msg_no = as_number(name)
    rows = journal.messages.placed_as(name) if msg_no is None else journal.messages.numbered(msg_no)
    return sorted(rows, key=lambda row: row.received, reverse=True)


def _of_document(journal: Journal, document: Document) -> dict[str, Any]:
    """What the document's sidecar would say now, and where its file lies."""
    path = journal.folders.path_of(document)
    copy = [path.with_name(f"{path.name}{POSTED}")] if path and document.prepared else []
    has_copy = _whereabouts(*copy)["there"] is not False
    content: dict[str, Any] = json.loads(sidecar.outbound(document, document.file, has_copy=has_copy))
    return content | _whereabouts(*filter(None, [path]))


def _of_message(journal: Journal, row: MessageRow) -> dict[str, Any]:
    """The message in the words of a sidecar, its answers, and where its file lies."""
    given = journal.answers.given(row.company, row.sha256) if row.sha256 else ()
    return {
        "direction": "IN",
        "file": row.file or None,
        "company": row.company,
        "identity": row.identity,
        "state": "received" if row.state == "read" else row.state,
        "document": {"type": row.type, "number": row.number},
        "sender": row.sender,
        "receiver": row.receiver,
        "msg_no": row.msg_no,
        "received": row.received,
        "placed": stated(row.placed),
        "read": row.state == "read",
        "attempts": row.attempts,
        "why": row.why,
        "due": stated(row.due),
        "answers": [_of_answer(answer) for answer in given],
    } | _whereabouts(*(received_paths(Path(row.folder), row.file) if row.file else ()))


def _of_answer(answer: GivenAnswer) -> dict[str, Any]:
    """An answer to a received document: its code, when it was decided on, and what became of it."""
    document = answer.document
    is_replaced = document.is_replaced if document else answer.is_placed
    state = document.state.value if document else "waiting"
    return {
        "at": stated(answer.at),
        "code": answer.code,
        "state": "replaced" if is_replaced else state,
        "file": document.file if document else None,
        "msg_no": document.msg_no if document else None,
        "accepted": stated(document.accepted) if document else None,
        "error": document.error.message if document and document.error else None,
    }


def _whereabouts(*paths: Path) -> dict[str, Any]:
    """The first of these paths where the file is, else the first one, and whether it is there.

    None in place of that where its folder doesn't answer.
    """
    try:
        path = within(PATIENCE, lambda: next(filter(Path.is_file, paths), None))
    except OSError:
        return {"path": str(paths[0]), "there": None}
    last = path or next(iter(paths), None)
    return {"path": last and str(last), "there": path is not None}


def _in_a_line(content: Mapping[str, Any]) -> str:
    """When it was dropped or received, what it is, whose, and its state."""
    is_sent = content["direction"] == "OUT"
    begun = content["history"][0]["at"] if is_sent and content["history"] else content["received"]
    time = moment(begun)
    document = content.get("document") or {}
    kind = f" {document['type']} {document.get('number') or ''}".rstrip() if document.get("type") else ""
    other = f"to {content['receiver'] or 'unknown'}" if is_sent else f"from {content['sender'] or 'unknown'}"
    name = content.get("dropped_as") or content["file"] or "a message"
    known_as = content["id"] if is_sent else content["msg_no"]
    when = f"{here(time):%Y-%m-%d %H:%M}" if time else begun
    return f"{when}  {content['company'] or '-'}: {name}:{kind} {other}: {content['state']} [{known_as}]"


def _lines(content: Mapping[str, Any]) -> Iterator[str]:
    yield from _facts(content)
    for warning in content.get("warnings", ()):
        yield f"  warning: {warning}"
    if error := content.get("error"):
        yield f"  {error['code']}: {error['message'].rstrip('.')}."
        advice = f"{error['hint']}\n{error.get('administrator', '')}"
        yield from (f"    {line}" for line in advice.splitlines())
    if content["direction"] == "IN":
        yield from _lines_of_message(content)
    for step in content.get("history", ()):
        facts = ", ".join(_fact(name, fact) for name, fact in step.items() if name not in ("at", "event"))
        yield f"  {_second(step['at'])}  {step['event']}{': ' if facts else ''}{facts}"


def _facts(content: Mapping[str, Any]) -> Iterator[str]:
    """What it is: its name and state, the document in it, its ids, and where its file is."""
    name = content.get("dropped_as") or content["file"] or "A message"
    number = "" if content["msg_no"] is None else f", message {content['msg_no']}"
    known_as = f" [{content['id']}]" if "id" in content else ""
    yield f"{name} of {content['company'] or 'no company here'}: {content['state']}{number}{known_as}"
    kind = content.get("document") or {}
    if kind.get("type"):
        dated = f" of {kind['issue_date']}" if kind.get("issue_date") else ""
        yield f"  {kind['type']} {kind['number'] or 'without a number'}{dated}"
    sender, receiver = (content[party] or "unknown" for party in ("sender", "receiver"))
    yield f"  from {sender} to {receiver}, by {content['identity'] or content['account']}"
    if content.get("document_id"):
        yield f"  as {content['document_id']} in {content['process_id'] or 'an unknown process'}"
    if content["path"]:
        yield f"  {LIES[content['there']]} {content['path']}"
    if posted := content.get("posted"):
        changes = "; ".join(change_in_words(role, *ids) for role, ids in posted["changed"].items())
        file = posted["file"] or "a file that isn't there any more"
        yield f"  posted as {file}{': ' if changes else ''}{changes}"


def _lines_of_message(content: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {_second(content['received'])}  received by the access point"
    if content["placed"]:
        yield f"  {_second(content['placed'])}  placed, {'then' if content['read'] else 'not yet'} marked as read"
    if content["why"]:
        again = f"; next attempt at {_second(content['due'])}" if content["due"] else ""
        yield f"  failed attempts: {content['attempts']}; the last one: {content['why']}{again}"
    for answer in content["answers"]:
        yield f"  {_second(answer['at'])}  answered with {answer['code']}: {answer['state']}{_details(answer)}"


def _details(answer: Mapping[str, Any]) -> str:
    """What else is known of an answer: its message, when that was accepted, or why it failed, and its file."""
    facts = [
        f"message {answer['msg_no']}" if answer["msg_no"] else "",
        f"accepted {_second(answer['accepted'])}" if answer["accepted"] else "",
        str(answer["error"] or "").rstrip("."),
        f"see filedrop history {command(answer['file'])}" if answer["file"] else "",
    ]
    return "".join(f", {fact}" for fact in facts if fact)


def _fact(name: str, fact: object) -> str:
    match name:
        case "why" | "code" | "what":
            return str(fact)
        case "msg_no":
            return f"message {fact}"
        case "clock":
            return f"at {_second(str(fact))} by the access point's clock"
        case _:
            return f"{name} {fact}"


def _second(timestamp: str) -> str:
    """A moment for people; as it is written where it can't be read."""
    time = moment(timestamp)
    return local(time, "seconds") if time else timestamp
