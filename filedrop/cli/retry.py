"""`filedrop retry`: documents that failed, or were put aside, back in line."""

from __future__ import annotations

import hashlib
import math
import os
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from filedrop.cli import FAILED
from filedrop.cli.dropped import as_claimed, duplicate_of, opened_document
from filedrop.cli.opening import WHO_MAY, journal_if_any, open_config, open_journal
from filedrop.cli.show import complain, say, show_json
from filedrop.cli.tables import show_table
from filedrop.errors import ConfigError, DocumentError, FolderUnavailable
from filedrop.files import FileStamp, changed_at, discard_seen, open_regular, stamps
from filedrop.files.rights import explain
from filedrop.identify.mapping import Rules
from filedrop.journal import Waiver
from filedrop.model.document import ENDED_UNSENT, FAILED_IN, UNREACHABLE_IN, Need
from filedrop.outbound.context import identification_of
from filedrop.outbound.sender import duplicate
from filedrop.outbound.upload import Changing
from filedrop.status.folders import folders, why_failed
from filedrop.storage import sidecar
from filedrop.storage.company_folders import OutboundFolder, outbound_folder
from filedrop.storage.folder import NotYetThere
from filedrop.storage.names import BESIDE, POSTED, may_be_given, pdfs_beside, pdfs_of, shortened
from filedrop.storage.own_name import move, own_name_beside
from filedrop.texts.printable import looks_like, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.files import Entry
    from filedrop.journal import Journal


FOLLOWS_WITHIN = 2.0  # seconds: a document comes so soon after the PDF that was written before it


@dataclass(frozen=True, slots=True)
class Failed:
    """A document in a `failed/`, or in the `place` for those whose receivers can't be reached."""

    folder: OutboundFolder
    name: str
    place: str = FAILED_IN

    @property
    def is_aside(self) -> bool:
        """Whether it was put aside: a person may have sent it another way since."""
        return self.place != FAILED_IN

    @property
    def entry(self) -> Entry:
        """What lies there now. Raises OSError."""
        return self.folder.at(self.place) / self.name

    @property
    def path(self) -> Path:
        """Where that is, for people."""
        return self.folder.path / self.place / self.name

    def put_back(self, permitted_by: Journal | None, failed_before: Sequence[Failed]) -> str:
        """Move it to `outbound/`, clear what is beside it, and return its name there. Raises OSError.

        It gets the name there that it was dropped with, where that is free, and its ready file, where it needs one.
        `permitted_by`: the journal that lets it be sent though it is a duplicate. `failed_before`: all documents that
        had failed when the command began.
        """
        here, failed = self.folder.at(), self.entry
        own = own_name_beside(failed) or self.name
        left = list(stamps(map(failed.beside, (POSTED, *BESIDE))))
        pdfs = [failed.with_name(name) for name in pdfs_beside(failed, self.folder.names_document)]
        is_exported_again = self.folder.has_pdfs and _is_exported_again(here / shortened(own), pdfs)
        if is_exported_again and not self._has_namesake(own, failed_before):
            pdfs = []  # the one in `outbound/` comes first
        for name in self.folder.free_names(here, shortened(own), (*BESIDE, *(pdf.name for pdf in pdfs))):
            try:
                with self._permitted(permitted_by, name):
                    move(failed, here / name, own, draft_in=self.folder.at("sending"), pdfs=pdfs)
            except FileExistsError:
                continue
            for entry, seen in left:  # a daemon may have failed the document again meanwhile
                discard_seen(entry, seen)
            self.folder.ready.write(name, self.folder.at("sending"))  # only now: before, another's might lie there
            here.sync()
            return name
        raise AssertionError  # free_names never ends

    def _has_namesake(self, own: str, failed: Iterable[Failed]) -> bool:
        """Whether another of the `failed` documents was dropped with this name: a PDF of the name may be its PDF."""
        others = (other for other in failed if other.folder is self.folder and other.name != self.name)
        return any(may_be_given(other.name, own) and own_name_beside(other.entry) in (own, None) for other in others)

    @contextmanager
    def _permitted(self, journal: Journal | None, name: str) -> Iterator[None]:
        """Written before the file gets this name, so that no step of the daemon comes between. Raises OSError."""
        folder = journal.folders.at(self.folder.path) if journal else None
        if journal is None or folder is None:  # where filedrop never was, nothing has failed as a duplicate
            yield
            return
        with open_regular(self.entry) as file:
            modified = FileStamp.of(os.fstat(file.fileno())).modified
            waiver = Waiver(hashlib.file_digest(file, "sha256").hexdigest(), modified)
        journal.waivers.give(folder, name, waiver)
        try:
            yield
        except OSError:
            journal.waivers.end(folder, [name])
            raise


def _is_exported_again(document: Entry, pdfs: Sequence[Entry]) -> bool:
    """Whether `outbound/` has got a PDF for this document, which isn't there, since it failed with `pdfs`.

    A system that uses the same names each time may have written it for its next document, which then follows soon.
    Raises OSError.
    """
    failed_at = max((changed_at(pdf.lstat()) for pdf in pdfs), default=math.inf)
    exported_at = max((changed_at(status) for _, status in pdfs_of(document)), default=-math.inf)
    if exported_at <= failed_at or document.exists():
        return False
    time.sleep(min(max(exported_at + FOLLOWS_WITHIN - time.time(), 0.0), FOLLOWS_WITHIN))
    return not document.exists()


@click.command(epilog="\b\nExample: filedrop retry acme invoice-1001.xml")
@click.argument("words", nargs=-1, metavar="[COMPANY] [NAME...]")
@click.option("--all", "everything", is_flag=True, help="All failed documents (of the company), except duplicates.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Also duplicates, and receivers that aren't on PEPPOL. With --all, it asks first: only on a terminal.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
@click.pass_obj
def retry(config_option: str | None, words: Sequence[str], *, everything: bool, anyway: bool, as_json: bool) -> None:
    """Send failed documents again: those with these names in failed/ or these numbers, or all of them.

    Without names and --all, it lists the failed documents; on a terminal, it then asks whether to send them all.
    Documents in not-on-peppol/ are listed after them, and are sent only by their names. COMPANY can be left out if the
    name is unique.
    """
    config = open_config(config_option)
    company = words[0] if words and words[0] in config.companies else None
    names = words[1:] if company else words
    if names and everything:
        no = "" if company else f" (there is no company {printable(words[0])}, only {', '.join(config.companies)})"
        raise click.UsageError(f"write names or --all, not both{no}")
    with open_journal(config) if anyway else journal_if_any(config) as journal:
        unseen: list[Path] = []
        ended = list(_ended(config, journal, company, unseen))
        failed = [document for document in ended if not document.is_aside]
        if not (names or everything):
            _list(ended, as_json=as_json)
        if not names and not _shall_retry_all(failed, everything=everything, anyway=anyway, as_json=as_json):
            return
        chosen = _named(ended, names) if names else failed
        done = 0
        for document, name in _retried(config, journal, chosen, failed, anyway=anyway):
            done += 1
            if as_json:
                show_json({"company": document.folder.company, "file": document.name, "retried_as": name})
            else:
                say(f"{document.folder.company}: {document.name} is back in outbound/ as {name}")
    if done < (len(names) or len(chosen)) or unseen:
        raise SystemExit(FAILED)


def _retried(
    config: Config, journal: Journal | None, chosen: Iterable[Failed], failed: Sequence[Failed], *, anyway: bool
) -> Iterator[tuple[Failed, str]]:
    """Move the `chosen` of the `failed` documents back; yields those that were moved, each with its name there.

    The others are complained about.
    """
    rules = None
    with suppress(ConfigError):  # an XPath that is none: the daemon goes by the configuration as it was
        rules = Rules(config.mapping, config.tables) if journal and not anyway else None
    for document in chosen:
        if not anyway and (why := _why_duplicate(config, journal, rules, document)):  # it would only fail once more
            complain(f"{document.path}: {why}")
            continue
        try:
            yield document, document.put_back(journal if anyway else None, failed)
        except OSError as error:
            complain(f"{document.path}: it can't be moved: {explain(error)}")


def _shall_retry_all(failed: Sequence[Failed], *, everything: bool, anyway: bool, as_json: bool) -> bool:
    """Whether all are to be sent again: by --all, or by the answer of a person who has seen the list."""
    if everything:
        if anyway:
            _confirm_all(failed)
        return True
    asked = "Retry all of them, even if they are duplicates?" if anyway else "Retry all of them?"
    return bool(failed) and not as_json and sys.stdin.isatty() and click.confirm(asked)


def _confirm_all(failed: Sequence[Failed]) -> None:
    """Ask on a terminal whether all duplicates are to be sent again; elsewhere that is refused. Raises UsageError."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            "--all --anyway would send every duplicate again: write the names of the files to send, or use a terminal, "
            "where filedrop asks first"
        )
    number = len(failed)
    what = "1 document" if number == 1 else f"{number} documents"
    click.confirm(f"Send {what} again, even if the receiver gets an invoice twice?", abort=True)


def _why_duplicate(config: Config, journal: Journal | None, mapping: Rules | None, document: Failed) -> str:
    """Why a document would fail as a duplicate once more; "" where it wouldn't, or where that can't be told."""
    if journal is None or mapping is None:
        return _why_duplicate_before(config, document)
    company = config.companies[document.folder.company]
    folder, by = outbound_folder(config, company, document.folder.path), identification_of(company, mapping)
    try:
        with opened_document(document.entry, config.outbound.max_size, by.xpaths) as opened:
            claimed = as_claimed(config, by, document.entry, opened, folder=folder, journal=journal)
    except (Changing, DocumentError, OSError):  # the claim says what is wrong with it now
        return ""
    if claimed.why_without(Need.IDS):
        return _why_duplicate_before(config, document)
    first = None if claimed.error else duplicate_of(config, claimed, journal)
    if first is None:
        return ""
    return (
        f"it would fail as a duplicate again. {duplicate(first).message} Delete the file, or send it again with "
        "--anyway."
    )


def _why_duplicate_before(config: Config, document: Failed) -> str:
    """The same by its sidecar alone; "" also where the content isn't the one that this names."""
    content = sidecar.read(document.entry.beside(".json")) or {}
    fault = sidecar.fault_in(content)
    rule = config.companies[document.folder.company].duplicates
    if fault is None or fault.code not in sidecar.ANYWAY or rule == "allow":
        return ""
    with suppress(OSError), open_regular(document.entry) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == content.get("sha256"):
            return f"it would fail as {fault.code} again; delete it, or run filedrop retry --anyway as {WHO_MAY}"
    return ""


def _ended(config: Config, journal: Journal | None, company: str | None, unseen: list[Path]) -> Iterator[Failed]:
    """The documents in `failed/` and `not-on-peppol/`, of this company or of all.

    `unseen` gets the folders that can't be looked into.
    """
    for folder in folders(config):
        if isinstance(folder, OutboundFolder) and company in (None, folder.company):
            try:
                folder.check_ownership(journal)
                names = [(place, sorted(folder.documents(place))) for place in ENDED_UNSENT]
            except NotYetThere:
                continue
            except (FolderUnavailable, OSError) as error:
                complain(f"{folder.path}: {explain(error) if isinstance(error, OSError) else error}")
                unseen.append(folder.path)
                continue
            for place, listed in names:
                yield from (Failed(folder, name, place) for name in listed if folder.names_document(name))


def _named(failed: Sequence[Failed], names: Sequence[str]) -> list[Failed]:
    """The one document of each name or number; one that none or several have is complained about."""
    chosen = []
    for name in names:
        found = [document for document in failed if name in (document.name, str(document.path))]
        found = found or [document for document in failed if _is_called(document, name)]
        found = found or [document for document in failed if _number(document) == name]
        if len(found) == 1:
            chosen += found
        elif found:
            places = ", ".join(str(document.path.parent) for document in found)
            complain(f"{name}: several files have this name, in {places}; add the company, or write the full path")
        else:
            complain(f"{name}: no document in failed/ or not-on-peppol/ has this name; filedrop retry lists them")
    return chosen


def _is_called(document: Failed, name: str) -> bool:
    """Whether a person may mean the document by this name or path, in whichever form the letters are."""
    return looks_like(name, document.name) or looks_like(name, str(document.path))


def _number(document: Failed) -> str | None:
    """The number of an invoice or another document, by its sidecar; None where that doesn't say it."""
    with suppress(OSError, LookupError, AttributeError):  # none, or somebody has written into it
        number: str | None = (sidecar.read(document.entry.beside(".json")) or {})["document"].get("number")
        return number
    return None


def _list(ended: Sequence[Failed], *, as_json: bool) -> None:
    columns = ["company", "file", "why"]
    rows = [[document.folder.company, document.name, why_failed(document.entry)[0]] for document in ended]
    if as_json:
        for document, row in zip(ended, rows, strict=True):
            show_json(dict(zip(columns, row, strict=True)) | ({"place": document.place} if document.is_aside else {}))
        return
    failed = [row for document, row in zip(ended, rows, strict=True) if not document.is_aside]
    aside = [row for document, row in zip(ended, rows, strict=True) if document.is_aside]
    if failed:
        show_table(columns, failed)
        say("To send them again, write their names or --all.")
    else:
        say("Nothing has failed.")
    if aside:
        say()
        say(f"In {UNREACHABLE_IN}/, to be sent another way:")
        show_table(columns, aside)
        say("To try these again, write their names: somebody may have sent them another way.")
