"""`filedrop run --once --dry-run`: what would be sent as whom.

It touches nothing: no lock, no marker, no folder, no row.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from filedrop.claiming import identified
from filedrop.cli.opening import has_journal, open_journal
from filedrop.cli.show import say, show_json, show_table
from filedrop.document import Document, State
from filedrop.errors import DocumentError, FolderUnavailable
from filedrop.glimpse import NotYetThere, see_ours
from filedrop.identify.mapping import Rules
from filedrop.lane import lane_of
from filedrop.upload import Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.config import Company, Config
    from filedrop.journal import Journal
    from filedrop.lane import Lane

SENDS, FAILS, HELD, NOT_READY = "would send", "would fail", "held", "not ready"


def show_dry_run(config: Config, *, as_json: bool) -> bool:
    """Show what a run would do with each document; False where one would fail or a folder can't be looked into."""
    with ExitStack() as stack:
        journal = stack.enter_context(open_journal(config)) if has_journal(config) else None
        rows = list(_rows(config, journal))
    if as_json:
        for row in rows:
            show_json(row)
    elif rows:
        columns = ("company", "file", "verdict", "sender", "receiver", "why")
        show_table([column.capitalize() for column in columns], [[row[column] for column in columns] for row in rows])
    else:
        say("There is nothing to send.")
    return all(row["verdict"] != FAILS for row in rows)


def _rows(config: Config, journal: Journal | None) -> Iterator[dict[str, Any]]:
    rules = Rules(config.mapping, config.tables, source=config.source)
    held_back = set()
    for company in config.companies.values():
        for path in company.outbound:
            lane = lane_of(config, company, path, rules, wake=lambda: None)
            try:
                see_ours(lane.folder, journal)
                held = lane.folder.held()
                if held:
                    held_back.add(path)
                for name in sorted(lane.folder.dropped()):
                    document, verdict, why = _judged(config, company, lane, name, journal)
                    yield _row(document, HELD if held and verdict == SENDS else verdict, why)
            except NotYetThere:
                continue
            except (FolderUnavailable, OSError) as error:
                nothing = _document(company, lane, "")
                yield _row(nothing, FAILS, f"{path}: {error}")
    for state, verdict, why in (
        (State.WAITING, SENDS, "claimed before"),
        (State.DOUBT, "doubt", "would be looked for first"),
    ):
        for document in journal.in_state(state) if journal else ():
            held = journal is not None and journal.folder_path(document.folder) in held_back
            yield _row(document, HELD if held and verdict == SENDS else verdict, why)


def _judged(
    config: Config, company: Company, lane: Lane, name: str, journal: Journal | None
) -> tuple[Document, str, str]:
    document = _document(company, lane, name)
    try:
        with closing(Opened.open(lane.folder.path / name)) as opened:
            reading = opened.read(config.outbound.max_size, lane.xpaths)
    except (Changing, FileNotFoundError):
        return document, NOT_READY, "somebody is writing it, or took it away"
    except DocumentError as error:
        return document, NOT_READY if error.code == "not-xml" else FAILS, error.message
    except OSError as error:
        return document, FAILS, f"it can't be read: {error.strerror}"
    document = identified(lane, document, reading, config.outbound, document.claimed)
    why = document.error.message if document.error else _duplicate(config, document, journal)
    return document, FAILS if why else SENDS, why or "; ".join(document.warnings)


def _duplicate(config: Config, document: Document, journal: Journal | None) -> str:
    rule = config.outbound.duplicates
    first = journal.duplicate_of(document, by_number=rule == "number") if journal and rule != "allow" else None
    return f"the same document was already sent as {first.dropped_as}" if first else ""


def _document(company: Company, lane: Lane, name: str) -> Document:
    """A document as the claim would make it, but for its id."""
    now = datetime.now().astimezone()
    return Document(
        id="",
        company=company.name,
        folder=lane.folder.id,
        account=company.account,
        file=name,
        dropped_as=name,
        claimed=now,
    )


def _row(document: Document, verdict: str, why: str) -> dict[str, Any]:
    ids = {name: getattr(document, name) for name in ("sender", "receiver", "document_id", "process_id", "channel")}
    return {"company": document.company, "file": document.dropped_as, "verdict": verdict, **ids, "why": why}
