"""A file's own name: the one that it was dropped with, even while its present name is another (contract 1).

filedrop numbers a name that is taken and shortens one that is too long, but mapping rules, sidecars and notes use the
file's own name. So a file under another name has a sidecar that holds its own name. When the file comes back to
`outbound/`, only its sidecar, its note or the journal can say that a number in its name is filedrop's; any other
number, as mostly in `invoice-2.xml`, is part of its own name.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filedrop.files import Entry, InUse, create_whole, discard, place, replace_whole
from filedrop.model.document import ENDED_UNSENT
from filedrop.storage import checked, sidecar
from filedrop.storage.names import POSTED, beside, may_be_given, may_be_renamed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from filedrop.files import Directory, Identity, Where
    from filedrop.identify import Reading
    from filedrop.journal import Journal
    from filedrop.model.document import Document


def own_name(entry: Where, ended: Iterable[Directory], folder: str, journal: Journal, reading: Reading | None) -> str:
    """The name that a file in `outbound/` was dropped with; `reading` is its content, if that could be read.

    `ended`: where its sidecar may be left. `folder`: the id of its outbound folder. Raises OSError, JournalError.
    """
    if not may_be_renamed(entry.name):
        return entry.name
    dropped_as = own_name_beside(entry)
    if dropped_as is None:
        document = _left(entry.name, ended, folder, journal)
        dropped_as = document.dropped_as if document else None
    if dropped_as is None and reading is not None:
        dropped_as = journal.documents.given_to(folder, entry.name, reading)
    return dropped_as if dropped_as and may_be_given(entry.name, dropped_as) else entry.name


def own_name_beside(where: Where) -> str | None:
    """The name that a file was dropped with, by the sidecar or the note beside it; None where neither has one.

    Both are untrusted. A name is believed only if filedrop may have made the present name from it: then a forger could
    as well have dropped the file under that name. Raises OSError.
    """
    content = sidecar.read(where.with_name(f"{where.name}.json")) or {}
    in_note = sidecar.named_in_note(where.with_name(f"{where.name}.why.txt"))
    for name in (content.get("dropped_as") or content.get("file"), in_note):
        with suppress(ValueError):
            if may_be_given(where.name, checked.name(name)):
                return name
    return None


def moved_back(left: Entry, folder: str, journal: Journal) -> Document | None:
    """The document that ended unsent whose sidecar is left, but whose file isn't. Raises OSError, JournalError."""
    document_id = sidecar.document_id_in(left.beside(".json"))
    document = journal.documents.by_id(document_id) if document_id and not left.exists() else None
    place_in = left.directory.path.name
    is_it = document is not None and (document.folder, document.place, document.file) == (folder, place_in, left.name)
    return document if is_it else None


def _left(name: str, ended: Iterable[Directory], folder: str, journal: Journal) -> Document | None:
    """The first document of this name that was `moved_back` from one of these folders."""
    return next(filter(None, (moved_back(place / name, folder, journal) for place in ended)), None)


def former(entry: Entry, ended: Iterable[Directory], folder: str, journal: Journal) -> Document | None:
    """The unsent document that a file in `outbound/` was, by the sidecar that stayed in its place or came with it.

    Raises OSError, JournalError.
    """
    document = _left(entry.name, ended, folder, journal)
    if document is None and (document_id := sidecar.document_id_in(entry.beside(".json"))):
        document = journal.documents.by_id(document_id)
    return document if document and document.folder == folder and document.place in ENDED_UNSENT else None


def clear_left(left: Entry, folder: str, journal: Journal) -> None:
    """Remove sidecar and note of a document that was moved back. Raises OSError, JournalError."""
    said, note = left.beside(".json"), left.beside(".why.txt")
    if moved_back(left, folder, journal):
        discard(said)
        discard(note)
    elif note.exists() and not said.exists() and not left.exists():  # in the reverse order of their writing
        discard(note)


def clear_copy(left: Entry, folder: str, journal: Journal) -> None:
    """Remove what was posted for a document that was moved back. Raises OSError, JournalError."""
    document = moved_back(left, folder, journal)
    if document is not None and document.prepared is not None:
        discard(left.beside(POSTED))


def move(
    source: Entry,
    target: Entry,
    dropped_as: str,
    identity: Identity | None = None,
    *,
    draft_in: Directory,
    pdfs: Iterable[Entry] = (),
    before: str = "",
) -> None:
    """Rename a document that was dropped as `dropped_as`, after its PDFs. Raises OSError, as `place` does.

    Where the target isn't its own name, or its PDFs go back to the name `before` if the move is cut off, a sidecar with
    these names is written first. `draft_in` is the folder for the sidecar's draft.
    """
    note, has_note = target.beside(".json"), before or target.name != dropped_as
    if has_note:
        create_whole(note, sidecar.name_alone(dropped_as, target.name, before), draft_in=draft_in)
    try:
        with brought(pdfs, target):
            place(source, target, identity)
    except (FileExistsError, FileNotFoundError, InUse):  # after any other error, the document may be there
        if has_note:
            discard(note)
        raise


def note_names(claimed: Entry, dropped_as: str, before: str) -> None:
    """Write the sidecar of a file in `sending/` that says its own name, and `before`, which its PDFs may go back to.

    Raises OSError.
    """
    replace_whole(claimed.beside(".json"), sidecar.name_alone(dropped_as, claimed.name, before))


@contextmanager
def brought(pdfs: Iterable[Entry], document: Entry) -> Iterator[None]:
    """Move PDFs next to a document that follows them; they go back where it certainly didn't. Raises OSError.

    They go first: while the document is in its old place, the names there are its own. A PDF that is gone is left out.
    """
    moved = list[tuple[Entry, Entry]]()
    try:
        for pdf in pdfs:
            with suppress(FileNotFoundError):
                place(pdf, target := beside(document, pdf.name))
                moved.append((pdf, target))
        yield
    except (FileExistsError, FileNotFoundError, InUse):
        for pdf, target in reversed(moved):
            with suppress(FileNotFoundError, FileExistsError):
                place(target, pdf)
        raise
