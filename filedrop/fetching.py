"""Messages are fetched into temporary files, several together: whole, and on the disk, when a row may name them.

What is the same for all is done once: the porter is asked, the folder is looked at and its names are brought to the
disk. Where one comes slowly, or can't be had, nothing is said of those behind it: they are not waited for here.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from filedrop import files, identify
from filedrop.accesspoint import Gone
from filedrop.document import new_id
from filedrop.errors import AccessPointError, DocumentError, FiledropError, FolderUnavailable
from filedrop.journal import MessageRow, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from filedrop.accesspoint import Message
    from filedrop.desk import InboundDesk
    from filedrop.folders import InboundFolder
    from filedrop.identify import Reading
    from filedrop.journal import Key

DRAFT = ".part"
TOGETHER_FOR = 0.5  # seconds after which no further message is fetched, or marked read, together with those so far


class NotTaken(FiledropError):
    """This message can't be taken, and it is its own fault."""


def row_of(desk: InboundDesk, folder: InboundFolder, first: Message | MessageRow, state: str) -> MessageRow:
    """The journal's row of a message that belongs in this folder; `first` says it as it was written first."""
    return MessageRow(
        identity=desk.access_point.identity,
        msg_no=first.msg_no,
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


class _Draft(NamedTuple):
    """A message that is being fetched into its temporary file, which its row names."""

    message: Message
    row: MessageRow
    file: BinaryIO


class Fetched(NamedTuple):
    """A message whose document lies whole in its temporary file, which its row names."""

    message: Message
    row: MessageRow
    reading: Reading


class Fetching:
    """Fetches the messages of one account. For any thread."""

    def __init__(self, desk: InboundDesk) -> None:
        self._desk = desk
        self._left: set[Path] = set()

    def fetch(self, folder: InboundFolder, messages: Sequence[Message]) -> dict[Key, Fetched | Exception]:
        """Fetch messages, each into a temporary file that is on the disk then; nothing is left of one that failed."""
        came: dict[Key, Fetched | Exception] = {}
        drafts: list[_Draft] = []
        try:
            self._begin(folder, messages, drafts)
            came = self._filled(folder, drafts)
        except (FolderUnavailable, OSError) as error:  # it isn't one message's own trouble
            came = dict.fromkeys(map(key_of, messages), error)
        finally:
            for draft in drafts:
                with suppress(OSError), folder.busy():  # what is whole has been brought to the disk
                    draft.file.close()
                if not isinstance(came.get(key_of(draft.message)), Fetched):
                    self._discard(folder.path / draft.row.temporary)
        return came

    def _begin(self, folder: InboundFolder, messages: Sequence[Message], drafts: list[_Draft]) -> None:
        """Make the temporary files, as many as there is room for. Raises OSError where there is none."""
        desk = self._desk
        with folder.busy():
            self._clear(folder)
        first = desk.journal.messages(desk.access_point.identity, [message.msg_no for message in messages])
        for message in messages:
            temporary = folder.draft(new_id(desk.now()), DRAFT)
            row = row_of(desk, folder, first.get(key_of(message), message), "named")
            try:
                with folder.busy():
                    file = files.create_temporary(temporary)
            except OSError:
                self._discard(temporary)
                if not drafts:
                    raise
                return
            drafts.append(_Draft(message, replace(row, temporary=temporary.name), file))

    def _filled(self, folder: InboundFolder, drafts: Sequence[_Draft]) -> dict[Key, Fetched | Exception]:
        desk, since = self._desk, self._desk.steady()
        came: dict[Key, Fetched | Exception] = {}
        ahead: list[Reading | Exception] = []
        if folder.local:
            documents = [(draft.message, draft.file) for draft in drafts]
            ahead = desk.porter.fetch_ahead(documents, max_size=desk.rules.max_size, seconds=TOGETHER_FOR)
        for draft, said in zip_longest(drafts, ahead):
            slow = said is None and desk.steady() - since > TOGETHER_FOR
            if came and (slow or isinstance(said, Exception)):
                break
            came[key_of(draft.message)] = one = self._whole(folder, draft, said)
            if isinstance(one, Exception):
                break
        if not any(isinstance(one, Fetched) for one in came.values()):
            return came
        with folder.busy():
            # The rows will say that the temporary files are there: so they must be our folder's, and on the disk with
            # their names. What was written into an empty mount point would be taken for placed when the share is back.
            folder.take_up(desk.journal)
            for key, one in came.items():
                if isinstance(one, Fetched) and files.is_missing(folder.path / one.row.temporary):
                    came[key] = FolderUnavailable(f"somebody has removed {one.row.temporary} from {folder.path}")
            files.sync_folder(folder.path)
        return came

    def _whole(self, folder: InboundFolder, draft: _Draft, said: Reading | Exception | None) -> Fetched | Exception:
        """A message whose document is in its file, and on the disk, or why it isn't. `said`: see Porter.fetch_ahead."""
        try:
            with folder.busy():
                reading = self._downloaded(folder, draft, said)
                os.fsync(draft.file.fileno())
        except Gone:
            number = draft.message.msg_no
            return NotTaken(f"the access point lists message {number}, but has no document for it")
        except (AccessPointError, DocumentError, OSError) as error:
            return error
        return Fetched(draft.message, draft.row, reading)

    def _downloaded(self, folder: InboundFolder, draft: _Draft, said: Reading | Exception | None) -> Reading:
        desk, max_size, file = self._desk, self._desk.rules.max_size, draft.file
        with folder.not_busy():
            if folder.local:
                reading = desk.porter.fetch(draft.message, file, max_size=max_size, ahead=said)
                if reading is not None:
                    return reading
            target: BinaryIO = _Written(file, folder)  # type: ignore[assignment] # as much of one as is needed
            target.seek(0)
            desk.access_point.download(draft.message, target, max_size=max_size)
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
