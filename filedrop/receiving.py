"""Received messages: fetched into temporary files, named in the journal, placed in their company's folder.

The order is the safety. The temporary file is whole and on the disk, its name too; then a row names it; then the
sidecar reserves the document's name; then the document is renamed in. Found after a crash with its row: where the
temporary file is there, it isn't placed yet; where it is gone, it is placed, even if it was taken at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop import files, identify, sidecar
from filedrop.errors import AccessPointError, DocumentError, FolderUnavailable
from filedrop.fetching import DRAFT, Fetched, Fetching, NotTaken
from filedrop.journal import key_of
from filedrop.marker import read_marker
from filedrop.names import inbound_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from filedrop.accesspoint import Message
    from filedrop.desk import InboundDesk
    from filedrop.folders import InboundFolder
    from filedrop.identify import Reading
    from filedrop.journal import Key, MessageRow


@dataclass(frozen=True, slots=True)
class Unread:
    """A message of the inbox, what it is known by, and what the journal knew of it when it was listed."""

    key: Key
    message: Message
    row: MessageRow | None

    @property
    def is_new(self) -> bool:
        """Is it still to be fetched?"""
        return self.row is None or self.row.state == "stuck"


class Receiving:
    """Fetches and places the messages of one account."""

    def __init__(self, desk: InboundDesk) -> None:
        self._desk = desk
        self._fetching = Fetching(desk)
        self._unnamed: dict[Key, Fetched] = {}

    def take(self, folder: InboundFolder, unread: Sequence[Unread]) -> dict[Key, MessageRow | Exception]:
        """Have messages lie in their folder; what has come of each: its row, or what keeps it from that.

        Nothing has come of those behind one that comes slowly, or can't be had. Raises JournalError.
        """
        came: dict[Key, MessageRow | Exception] = {}
        new: list[Message] = []
        for one in unread:
            if one.row is None or one.is_new:
                new.append(one.message)
                continue
            came[one.key] = one.row
            if one.row.state == "named":
                try:
                    self._resume(folder, one.message, one.row)
                except (AccessPointError, NotTaken, DocumentError, FolderUnavailable, OSError) as error:
                    came[one.key] = error
        return came | self._fetch(folder, new)

    def fetch(self, folder: InboundFolder, message: Message) -> MessageRow:
        """Fetch a message and place it.

        Raises NotTaken, DocumentError, AccessPointError, FolderUnavailable, JournalError, OSError.
        """
        (came,) = self._fetch(folder, [message]).values()
        if isinstance(came, Exception):
            raise came
        return came

    def _fetch(self, folder: InboundFolder, messages: Sequence[Message]) -> dict[Key, MessageRow | Exception]:
        """Fetch messages and place them: named in one commit, and brought to the disk together."""
        fetched: dict[Key, Fetched | Exception] = {}
        for key in map(key_of, messages):
            before = self._unnamed.get(key)
            if before is not None and not files.is_missing(folder.path / before.row.temporary):
                fetched[key] = before
        new = [message for message in messages if key_of(message) not in fetched]
        if new:
            fetched |= self._fetching.fetch(folder, new)
        whole = {key: one for key, one in fetched.items() if isinstance(one, Fetched)}
        # From here on the temporary files stay whatever happens: rows may name them, and where none could be written,
        # the next try begins here.
        self._unnamed |= whole
        self._desk.journal.record_messages([one.row for one in whole.values()])
        for key in whole:
            del self._unnamed[key]
        return {key: one for key, one in fetched.items() if isinstance(one, Exception)} | self._placed(folder, whole)

    def _placed(self, folder: InboundFolder, whole: dict[Key, Fetched]) -> dict[Key, MessageRow | Exception]:
        """Place what is whole and named, and bring that to the disk; what has come of each."""
        came: dict[Key, MessageRow | Exception] = {}
        names: dict[Key, str] = {}
        for key, one in whole.items():
            try:
                with folder.busy():
                    names[key] = self._place(folder, one.message, one.row, one.reading, resumed=False)
            except OSError as error:
                came[key] = error
        if names:
            try:
                with folder.busy():
                    files.sync_folder(folder.path)
            except OSError as error:
                return came | dict.fromkeys(names, error)
        for key, name in names.items():
            came[key] = whole[key].row
            self._tell(folder, whole[key].message, name)
        return came

    def _tell(self, folder: InboundFolder, message: Message, name: str) -> None:
        self._desk.log.info("message.received", company=folder.company, file=name, msg_no=message.msg_no)

    def _resume(self, folder: InboundFolder, message: Message, row: MessageRow) -> None:
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
            name = self._place(folder, message, row, reading, resumed=True)
            files.sync_folder(folder.path)
        self._tell(folder, message, name)

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
    ) -> str:
        """Sidecar first, document last. `resumed`: an earlier process may have begun with this. Returns the name."""
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
            return name
        raise AssertionError  # there is always another name

    def _reserved(self, folder: InboundFolder, wanted: str, message_id: str) -> Iterator[str]:
        """The name that a run that was cut off has reserved for this message."""
        for beside in folder.path.glob(f"{wanted.removesuffix('.xml')}*.xml.json"):
            name = beside.name.removesuffix(".json")
            if sidecar.identity_of(beside) == message_id and not (folder.path / name).exists():
                yield name
