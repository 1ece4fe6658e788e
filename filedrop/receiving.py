"""One received message: fetched into a temporary file, named in the journal, placed in its company's folder.

The order is the safety. The temporary file is whole and on the disk, its name too; then a row names it; then the
sidecar reserves the document's name; then the document is renamed in. Found after a crash with its row: where the
temporary file is there, it isn't placed yet; where it is gone, it is placed, even if it was taken at once.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from filedrop import files, identify, sidecar
from filedrop.accesspoint import Gone
from filedrop.document import new_id
from filedrop.errors import FiledropError, FolderUnavailable
from filedrop.journal import MessageRow, key_of
from filedrop.marker import read_marker
from filedrop.names import inbound_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.accesspoint import Message
    from filedrop.desk import InboundDesk
    from filedrop.folders import InboundFolder
    from filedrop.identify import Reading
    from filedrop.journal import Key

DRAFT = ".part"


class NotTaken(FiledropError):
    """This message can't be taken, and it is its own fault."""


def row_of(desk: InboundDesk, folder: InboundFolder, message: Message, state: str) -> MessageRow:
    """The journal's row of a message that belongs in this folder; as it was written first, where there is a row."""
    identity = desk.access_point.identity
    first = desk.journal.messages(identity, [message.msg_no]).get(key_of(message), message)
    return MessageRow(
        identity=identity,
        msg_no=message.msg_no,
        received=first.received or "",
        sender=first.sender or "",
        receiver=first.receiver or "",
        state=state,
        company=folder.company,
        folder=str(folder.path),
    )


class _Written:
    """A file in a folder: who waits while it is written waits for the folder."""

    def __init__(self, file: BinaryIO, folder: InboundFolder) -> None:
        self._file = file
        self._folder = folder

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, position: int) -> int:
        with self._folder.busy():  # what was written before is brought there first
            return self._file.seek(position)

    def truncate(self) -> int:
        with self._folder.busy():
            return self._file.truncate()

    def write(self, data: bytes) -> int:
        with self._folder.busy():
            return self._file.write(data)


class Receiving:
    """Fetches and places the messages of one account."""

    def __init__(self, desk: InboundDesk) -> None:
        self._desk = desk
        self._unnamed: dict[Key, tuple[MessageRow, Reading]] = {}
        self._left: set[Path] = set()

    def fetch(self, folder: InboundFolder, message: Message) -> MessageRow:
        """Fetch a message and place it. Raises NotTaken, DocumentError, AccessPointError, JournalError, OSError."""
        key = key_of(message)
        fetched = self._unnamed.pop(key, None)
        if fetched is None or not (folder.path / fetched[0].temporary).exists():
            fetched = self._fetched(folder, message)
        # From here on the temporary file stays whatever happens: a row may name it, and where none could be written,
        # the next try begins here.
        self._unnamed[key] = row, reading = fetched
        self._desk.journal.record_message(row)
        del self._unnamed[key]
        with folder.busy():
            self._place(folder, message, row, reading, resumed=False)
        return row

    def _fetched(self, folder: InboundFolder, message: Message) -> tuple[MessageRow, Reading]:
        desk = self._desk
        temporary = folder.draft(new_id(desk.now()), DRAFT)
        row = replace(row_of(desk, folder, message, "named"), temporary=temporary.name)
        with folder.busy():
            self._clear(folder)
        try:
            with folder.busy(), files.create_temporary(temporary) as file:
                reading = self._downloaded(folder, message, file)
                os.fsync(file.fileno())
                # The row will say that the temporary file is there: so it must be our folder's, and on the disk with
                # its name. What was written into an empty mount point would be taken for placed when the share is back.
                folder.take_up(desk.journal)
                temporary.lstat()
                files.sync_folder(folder.path)
        except Gone as error:
            self._discard(temporary)
            raise NotTaken(f"the access point lists message {message.msg_no}, but has no document for it") from error
        except BaseException:
            self._discard(temporary)
            raise
        return row, reading

    def _downloaded(self, folder: InboundFolder, message: Message, file: BinaryIO) -> Reading:
        desk, max_size = self._desk, self._desk.rules.max_size
        with folder.not_busy():
            if folder.local and (reading := desk.porter.fetch(message, file, max_size=max_size)) is not None:
                return reading
            target: BinaryIO = _Written(file, folder)  # type: ignore[assignment] # as much of one as is needed
            desk.access_point.download(message, target, max_size=max_size)
        file.seek(0)
        return identify.read(file, doctype="keep")

    def _discard(self, temporary: Path) -> None:
        """Remove what was fetched in vain; where its share has gone away, before the next is fetched into that."""
        try:
            temporary.unlink()
        except OSError:
            self._left.add(temporary)

    def _clear(self, folder: InboundFolder) -> None:
        for temporary in self._left.copy():
            if temporary.parent == folder.path:
                temporary.unlink(missing_ok=True)
                self._left.discard(temporary)

    def place(self, folder: InboundFolder, message: Message, row: MessageRow) -> None:
        """Place a message that was fetched before; where its temporary file is gone, it has been placed.

        Raises DocumentError, FolderUnavailable, OSError.
        """
        if Path(row.folder) != folder.path:
            self._place_elsewhere(folder, message, row)
            return
        with folder.busy():
            try:
                with (folder.path / row.temporary).open("rb") as file:
                    reading = identify.read(file, doctype="keep")
            except FileNotFoundError:
                folder.take_up(self._desk.journal)  # gone with its share is not placed
                if (folder.path / row.temporary).exists():
                    raise
                files.sync_folder(folder.path)  # whoever renamed it may have been cut off before this
                return
            self._place(folder, message, row, reading, resumed=True)

    def _place_elsewhere(self, folder: InboundFolder, message: Message, row: MessageRow) -> None:
        """It was fetched into a folder that is this company's no more: what isn't placed there is fetched anew."""
        before = Path(row.folder)
        if read_marker(before) is None:
            raise FolderUnavailable(f"message {row.msg_no} was fetched into {before}, which isn't there: bring it back")
        if (before / row.temporary).exists():
            self.fetch(folder, message)
            (before / row.temporary).unlink(missing_ok=True)

    def _place(
        self, folder: InboundFolder, message: Message, row: MessageRow, reading: Reading, *, resumed: bool
    ) -> None:
        """Sidecar first, document last. `resumed`: an earlier process may have begun with this."""
        desk, message_id = self._desk, row.temporary[1:].removesuffix(DRAFT)
        wanted = inbound_name(message, reading.root_name)
        reserved = self._reserved(folder, wanted, message_id) if resumed else ()
        for name in chain(reserved, folder.free_names(folder.path, wanted)):
            beside = folder.path / f"{name}.json"
            content = sidecar.inbound(
                message,
                reading,
                id=message_id,
                file=name,
                company=folder.company,
                account=desk.account,
                identity=desk.access_point.identity,
                fetched=desk.now(),
            )
            try:
                if sidecar.identity_of(beside) != message_id:
                    files.create_whole(beside, content, draft=folder.draft(message_id, ".json"))
                files.place(folder.path / row.temporary, folder.path / name)
            except FileExistsError:
                if sidecar.identity_of(beside) == message_id:  # the name of the document itself was taken meanwhile
                    beside.unlink()
                continue
            files.sync_folder(folder.path)
            desk.log.info("message.received", company=folder.company, file=name, msg_no=message.msg_no)
            return

    def _reserved(self, folder: InboundFolder, wanted: str, message_id: str) -> Iterator[str]:
        """The name that a run that was cut off has reserved for this message."""
        for beside in folder.path.glob(f"{wanted.removesuffix('.xml')}*.xml.json"):
            name = beside.name.removesuffix(".json")
            if sidecar.identity_of(beside) == message_id and not (folder.path / name).exists():
                yield name
