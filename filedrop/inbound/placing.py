"""A whole received document gets its name in its company's folder, by the worker in the folder.

The order is the safety:

1. A row names the temporary file, and the name that the document is to get. If the file is gone now, somebody removed
   it: the message is fetched again.
2. The sidecar reserves the document's name, or the next free one, and those of its attachments.
3. The row says that the file is about to be renamed (`placing`). If it is gone now, it was placed, and perhaps taken.
4. The attachments are renamed in, and their folder brought to the disk: where the document lies, they are whole.
5. The document is renamed in, and its folder brought to the disk.

Until 5, the attachments can be made again of the document: an attempt that was cut short is undone and begun anew.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop import files, identify
from filedrop.errors import Changed, DocumentError, FolderUnavailable
from filedrop.files import Directory
from filedrop.files.patience import asking
from filedrop.inbound.fetcher import Fetched, unpacked
from filedrop.inbound.reserving import placed_before, reserve, reserved, reserved_before, sidecar_of
from filedrop.inbound.temporary import check_there, pieces_of
from filedrop.journal import changed
from filedrop.model.document import expects_answer
from filedrop.model.message import UNASSIGNED
from filedrop.readable.response import is_response, responses_of
from filedrop.storage import checked
from filedrop.storage.company_folders import moved_to
from filedrop.storage.marker import read_marker
from filedrop.storage.withdrawal import withdraw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from filedrop.files import Entry
    from filedrop.inbound.context import MessageSource
    from filedrop.inbound.reserving import Former
    from filedrop.journal import MessageRow
    from filedrop.model.message import Message
    from filedrop.model.response import Response
    from filedrop.storage.company_folders import InboundFolder


class Placed(NamedTuple):
    """A document that lies in its place, or has been taken from there, with its row."""

    row: MessageRow


def resume(
    context: MessageSource, folder: InboundFolder, message: Message, row: MessageRow
) -> Fetched | Placed | MessageRow:
    """How far an earlier fetch has come. The row alone, as it is now: the message is to be fetched anew.

    Raises FolderUnavailable, JournalError (Changed), OSError.
    """
    message = replace(message, received=row.received or message.received)  # as the sidecar has it, and its name
    belongs = Path(row.folder) == folder.path
    away = FolderUnavailable(f"message {row.msg_no} was fetched into {row.folder}, which isn't there: bring it back")
    try:
        here = folder.at() if belongs else Directory.open(Path(row.folder))
    except (FileNotFoundError, NotADirectoryError):
        raise away from None
    marker = read_marker(here)
    if marker is None or (belongs and marker.folder != folder.id):  # a missing share isn't a missing file
        raise away
    temporary = here / row.temporary
    _end_link(here, row)
    if temporary.is_file():  # a folder or link isn't what was fetched
        row = _not_placed(context, row)
        if belongs:  # else it is fetched into the folder where it belongs now
            try:
                with files.open_regular(temporary) as file:
                    reading = identify.read(file, doctype="keep")
                    attachments = unpacked(folder, file, reading, temporary, set(), ask=asking(local=True))
                    return Fetched(message, row, reading, here.whereabouts(), attachments)
            except DocumentError:  # somebody has written into it
                pass
        temporary.unlink(missing_ok=True)
    elif row.state == "placing" or _lies_there(here, row):
        name = row.file or next(reserved(here, row), "")  # "": it was taken, all of it
        _sync(here, [name])  # the process that renamed it may have ended before this
        return Placed(replace(row, state="placing", file=name, wanted=""))
    for name in list(reserved(here, row)):
        withdraw(here, name)
    for piece in list(pieces_of(here, row.temporary)):
        piece.unlink(missing_ok=True)
    return row


def place(
    context: MessageSource, folder: InboundFolder, whole: Mapping[int, Fetched], *, resumed: bool, again: bool = False
) -> dict[int, MessageRow | Exception]:
    """Place whole documents that are named, and bring that to the disk. Returns each one's row or error.

    `resumed`: an earlier attempt may have begun with these. `again`: a person wants them again. Raises JournalError.
    """
    if not whole:
        return {}
    try:
        here = folder.at()  # opened once: the folder of the temporary files
    except OSError as error:
        return dict.fromkeys(whole, error)
    return _Placing(context, folder, here, _with_facts(context, folder, whole)).place(resumed=resumed, again=again)


class _Placing:
    """The documents of a batch on the way to their names; `_results` gets what became of each."""

    def __init__(
        self, context: MessageSource, folder: InboundFolder, here: Directory, whole: Mapping[int, Fetched]
    ) -> None:
        self._context = context
        self._folder = folder
        self._here = here
        self._whole = {**whole}
        self._now = context.now()
        self._names: dict[int, str] = {}
        self._sidecars: dict[int, bytes] = {}  # what commands are told of them: people may write into the files
        self._rows: dict[int, MessageRow] = {}
        self._results: dict[int, MessageRow | Exception] = {}

    @cached_property
    def _moved_to(self) -> list[Directory]:
        """The folders for answers, opened once for all. Raises OSError."""
        return moved_to(self._here)

    def place(self, *, resumed: bool, again: bool) -> dict[int, MessageRow | Exception]:
        """Place all. Raises JournalError."""
        for msg_no, fetched in list(self._whole.items()):
            try:
                for temporary in fetched.temporaries():
                    check_there(self._here / temporary)
                former = None if again else placed_before(self._here, fetched, self._moved_to)
                if former is not None and former.document is not None:
                    self._results[msg_no] = self._learned(fetched, former)
                elif former is not None:  # somebody has taken the document, or a crash came before it
                    row = replace(fetched.row, repeats=fetched.row.repeats or msg_no)
                    self._whole[msg_no] = fetched._replace(row=row)
                elif resumed and (name := reserved_before(self._folder, self._here, fetched)):
                    self._names[msg_no] = name
                    self._sidecars[msg_no] = sidecar_of(self._context, self._folder, fetched, name, self._now)
            except (FolderUnavailable, OSError) as error:
                self._results[msg_no] = error
        self._reserve(
            {msg_no: fetched for msg_no, fetched in self._whole.items() if msg_no not in self._names | self._results}
        )
        # Before the first rename: a start must know which of the missing temporary files may be placed.
        changes: dict[str, Any] = {"state": "placing", "placed": self._now}
        self._rows = {
            msg_no: replace(self._placed(msg_no), **changes, page=0 if self._is_owed(msg_no) else None)
            for msg_no in self._names
        }
        self._context.journal.responses.record(list(self._responses()))
        self._record(self._left())
        if any(self._whole[msg_no].attachments for msg_no in self._rows):
            self._sync()  # the sidecars first: by them, attachments are found again
            self._each(self._rename_attachments)
        self._each(self._rename)
        for msg_no in self._left():
            name = self._names[msg_no]
            sidecar = self._sidecars[msg_no].decode()
            self._results[msg_no] = replace(self._rows[msg_no], file=name, wanted="", sidecar=sidecar)
            self._context.log.info("message.received", company=self._folder.company, file=name, msg_no=msg_no)
        return self._results

    def _learned(self, fetched: Fetched, former: Former) -> MessageRow:
        """The row of a message whose document is in its place: read, so that no command is run for it again.

        Raises OSError, JournalError.
        """
        journal, row = self._context.journal, replace(fetched.row, state="read", file=former.name, placed=self._now)
        with suppress(ValueError):
            row = replace(row, placed=checked.instant(former.content.get("fetched")))
        if is_response(row.type):
            with files.open_regular(self._here / row.temporary) as file:
                journal.responses.record(list(responses_of(file, row, self._folder.company, self._now)))
        journal.messages.forget(fetched.row)
        row = journal.messages.record(replace(row, revision=0, wanted="", repeats=None))
        fetched.discard(self._here)
        self._context.log.info("message.known", company=self._folder.company, file=row.file, msg_no=row.msg_no)
        return row

    def _record(self, left: Sequence[int]) -> None:
        """Write these rows. Where one has changed meanwhile, what lies there for it is given up."""
        written = self._context.journal.messages.record_all([self._rows[msg_no] for msg_no in left])
        for msg_no, row in zip(left, written, strict=True):
            if row is not None:
                self._rows[msg_no] = row
                continue
            self._results[msg_no] = changed(self._rows[msg_no])
            with suppress(OSError):  # the next start removes it
                withdraw(self._here, self._names[msg_no])

    def _placed(self, msg_no: int) -> MessageRow:
        """The row of a message with its sidecar."""
        return replace(self._whole[msg_no].row, sidecar=self._sidecars[msg_no].decode())

    def _is_owed(self, msg_no: int) -> bool:
        """Whether something is made beside the document later (pages)."""
        return self._folder.has_pages or self._whole[msg_no].has_pdf_alone()

    def _reserve(self, left: Mapping[int, Fetched]) -> None:
        for msg_no, result in reserve(self._context, self._folder, self._here, left, self._now).items():
            if isinstance(result, OSError):
                self._results[msg_no] = result
            else:
                self._names[msg_no], self._sidecars[msg_no] = result

    def _responses(self) -> Iterator[Response]:
        """What the documents answer that are responses. Before they are placed, so that a crash loses none."""
        for msg_no in self._left():
            if not is_response(self._whole[msg_no].reading.root_name):
                continue
            row = self._rows[msg_no]
            try:
                with files.open_regular(self._here / row.temporary) as file:
                    yield from responses_of(file, row, self._folder.company, self._context.now())
            except OSError as error:  # it is placed when it can be read
                self._results[msg_no] = error

    def _left(self) -> list[int]:
        return [msg_no for msg_no in self._rows if msg_no not in self._results]

    def _each(self, rename: Callable[[Fetched, str], str]) -> None:
        """Rename something of each document, which may get another name by it, and bring all that to the disk."""
        for msg_no in self._left():
            try:
                self._names[msg_no] = rename(self._whole[msg_no], self._names[msg_no])
            except OSError as error:
                self._results[msg_no] = error
                if isinstance(error, FileNotFoundError) or _is_there(self._here / self._rows[msg_no].temporary):
                    with suppress(Changed):
                        # If it is missing from now on, somebody removed it.
                        _not_placed(self._context, self._rows[msg_no])
        self._sync()

    def _sync(self) -> None:
        try:
            _sync(self._here, [self._names[msg_no] for msg_no in self._left()])
        except OSError as error:
            self._results |= dict.fromkeys(self._left(), error)

    def _rename_attachments(self, fetched: Fetched, name: str) -> str:
        """Rename a document's attachments to their names, or to those of its next free name. Returns the document's."""
        while True:
            placed: list[tuple[str, str]] = []
            try:
                for temporary, target in _pairs(fetched, name):
                    files.place(self._here / temporary, self._here.entry(target))
                    placed.append((temporary, target))
            except FileExistsError:  # another file took the name meanwhile
                name = self._rename_back(fetched, name, placed)
            else:
                return name

    def _rename(self, fetched: Fetched, name: str) -> str:
        """Rename a document to its reserved name, or to the next free one. Returns the name."""
        while True:
            try:
                files.place(self._here / fetched.row.temporary, self._here.entry(name))
            except FileExistsError:  # another file took the name meanwhile
                name = self._rename_back(fetched, name, _pairs(fetched, name))
                if fetched.attachments:
                    name = self._rename_attachments(fetched, name)
                    _sync(self._here, [name])
            else:
                return name

    def _rename_back(self, fetched: Fetched, name: str, placed: Iterable[tuple[str, str]]) -> str:
        """Give up a name and the attachments that have theirs by it, and reserve another."""
        for temporary, target in placed:
            files.place(self._here.entry(target), self._here / temporary)
        self._here.entry(f"{name}.json").unlink(missing_ok=True)
        msg_no = fetched.row.msg_no
        result = reserve(self._context, self._folder, self._here, {msg_no: fetched}, self._now)[msg_no]
        if isinstance(result, OSError):
            raise result
        name, self._sidecars[msg_no] = result
        return name


def _with_facts(context: MessageSource, folder: InboundFolder, whole: Mapping[int, Fetched]) -> dict[int, Fetched]:
    """The documents, with what they say in their rows, and which message had the same document before."""
    facts = ("sender_name", "number", "issue_date", "meaning", "sha256")
    rows = {
        msg_no: replace(
            fetched.row,
            type=fetched.reading.root_name,
            due=context.now() if _expects_answer(fetched) else None,
            **{name: getattr(fetched.reading, name) for name in facts},
        )
        for msg_no, fetched in whole.items()
    }
    # A response twice does no harm, and many have the same number. Nobody's messages are for different companies.
    asked = [row for row in rows.values() if not is_response(row.type) and folder.company != UNASSIGNED]
    before = context.journal.messages.repeated(folder.company, asked)
    return {
        msg_no: fetched._replace(row=replace(rows[msg_no], repeats=before.get(msg_no)))
        for msg_no, fetched in whole.items()
    }


def _expects_answer(fetched: Fetched) -> bool:
    """Whether the sender expects an answer, by the message's process, or where the list has none, by the document's."""
    said = fetched.reading.found.get("process_id")
    return expects_answer(fetched.message.process_id or (said.id if said else None), fetched.reading.root_name)


def _pairs(fetched: Fetched, document: str) -> list[tuple[str, str]]:
    """The temporary name of each attachment, with the one that it gets beside a document of this name."""
    return [
        (attachment.temporary, attachment.named(document)) for attachment in fetched.attachments if attachment.temporary
    ]


def _not_placed(context: MessageSource, row: MessageRow) -> MessageRow:
    """The row, which is set back from `placing`: it only names the temporary file again."""
    if row.state == "placing":
        row = context.journal.messages.record(replace(row, state="named"))
    return row


def _end_link(here: Directory, row: MessageRow) -> None:
    """Remove the temporary file of a document that a killed process has placed by a link, which may not be counted."""
    if row.state == "placing" and not here.abilities.inodes:
        temporary = here / row.temporary
        if any(files.are_same(temporary, here.entry(name)) for name in reserved(here, row)):
            temporary.unlink(missing_ok=True)


def _lies_there(here: Directory, row: MessageRow) -> bool:
    """Whether the document lies beside its sidecar although the rename seemed to fail."""
    return any(here.entry(name).exists() for name in reserved(here, row))


def _sync(here: Directory, names: Iterable[str]) -> None:
    """Bring these names of documents, and the folders that they lead through, to the disk. Raises OSError."""
    here.sync()
    for path in {name.rpartition("/")[0] for name in names} - {""}:
        there = here
        with suppress(FileNotFoundError, NotADirectoryError):  # somebody has taken the documents, and the folder
            for folder in path.split("/"):
                there = there.folder(folder)
                there.sync()


def _is_there(temporary: Entry) -> bool:
    """Whether the file certainly exists; False where that can't be determined."""
    try:
        return temporary.exists()
    except OSError:
        return False
