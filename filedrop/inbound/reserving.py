"""Names for received documents: a document's sidecar reserves its name, and those of what lies beside it.

A name may lead into folders below the inbound folder, which are made where they are missing: `0192_810418052/1001.xml`.
Where a link or a file is in the place of such a folder, or filedrop may not write there, the document gets its name in
the inbound folder itself. Temporary files and drafts are always in that.
"""

from __future__ import annotations

import errno
import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.files import Drafts, make_folder, open_regular
from filedrop.inbound.attachments import xml_name
from filedrop.inbound.temporary import id_in
from filedrop.model.message import UNASSIGNED
from filedrop.storage import sidecar
from filedrop.storage.company_folders import folder_below
from filedrop.storage.names import numbered, page_name
from filedrop.storage.withdrawal import withdraw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from filedrop.files import Directory, Draft, Entry
    from filedrop.inbound.context import MessageSource
    from filedrop.inbound.fetcher import Fetched
    from filedrop.journal import MessageRow
    from filedrop.storage.company_folders import InboundFolder

# Of a folder below the inbound folder: what is there is no folder, may not be used, or is another disk.
_BLOCKED = {errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV}

FEW = 9  # names that are looked at for a message that may have been placed before


class Former(NamedTuple):
    """The name of a message that was placed before, its sidecar, and where its document is; None where it isn't."""

    name: str
    content: dict[str, Any]
    document: Entry | None


def reserve(
    context: MessageSource, folder: InboundFolder, here: Directory, batch: Mapping[int, Fetched], now: datetime
) -> dict[int, tuple[str, bytes] | OSError]:
    """Reserve names for a batch; its sidecars are brought to the disk together.

    Returns the name and the sidecar of each, or its error.
    """
    results: dict[int, tuple[str, bytes] | OSError] = {}
    names = {msg_no: _free_names(folder, here, fetched, fetched.row.wanted) for msg_no, fetched in batch.items()}
    with Drafts(here) as drafts:
        while left := batch.keys() - results.keys():
            written: dict[int, tuple[str, bytes, Draft]] = {}
            for msg_no in sorted(left):
                try:
                    name = next(names[msg_no])
                    content = sidecar_of(context, folder, batch[msg_no], name, now)
                    written[msg_no] = name, content, drafts.write(content)
                except OSError as error:
                    results[msg_no] = error
            drafts.flush()
            for msg_no, (name, content, draft) in written.items():
                try:
                    drafts.place(draft, here.entry(f"{name}.json"))
                    results[msg_no] = name, content
                except FileExistsError:  # another file took the name meanwhile: the next one
                    continue
                except OSError as error:
                    if "/" in name and error.errno in _BLOCKED:
                        outside = name.rpartition("/")[2]
                        names[msg_no] = _free_names(folder, here, batch[msg_no], outside)
                    else:
                        results[msg_no] = error
    return results


def reserved_before(folder: InboundFolder, here: Directory, fetched: Fetched) -> str | None:
    """The name that an earlier attempt has reserved, if it can still be used; others are given up. Raises OSError."""
    for name in list(reserved(here, fetched.row)):
        content = sidecar.read(here.entry(f"{name}.json")) or {}
        is_as_wanted = bool(content.get("page")) == folder.has_pages
        if is_as_wanted and not (here.entry(name).exists() or content.get("attachments") or fetched.attachments):
            return name
        # Another file took the name meanwhile, attachments may have been placed, or the configuration has changed.
        withdraw(here, name)
    return None


def reserved(here: Directory, row: MessageRow) -> Iterator[str]:
    """The names that earlier attempts have reserved for this message: their sidecars have its id."""
    inside, _, last = row.wanted.rpartition("/")
    may_be = re.compile(rf"{re.escape(last.removesuffix('.xml'))}[-.].*\.json")  # the wanted name, or with a number
    for place in dict.fromkeys((inside, "")):  # in the inbound folder itself where the other was blocked
        try:
            there = here.below(place)
            for beside in there.names():
                if may_be.fullmatch(beside) and sidecar.document_id_in(there / beside) == id_of(row):
                    yield _joined(place, beside.removesuffix(".json"))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            if not place:
                raise


def placed_before(here: Directory, fetched: Fetched, moved_to: Sequence[Directory]) -> Former | None:
    """Where this very message was placed before, though the journal doesn't know it: an older copy was put back.

    By a sidecar under one of the first names that it would get, which has its number and uuid, and the digest of these
    bytes. Both it and the document, which counts only with these bytes, are looked for there and in the folders
    `moved_to`: an earlier document may have been taken, and a person may have moved this one. Raises OSError.
    """
    found = None
    place, _, last = fetched.row.wanted.rpartition("/")
    places = [there for there in (folder_below(here, place), *moved_to) if there]
    is_alone = str(fetched.message.msg_no) in last  # no other message has this name: its first free one ends the search
    for number in range(1, FEW + 1):
        entries = [there / numbered(last, number) for there in places]
        contents = [sidecar.read(entry.beside(".json")) for entry in entries]
        if is_alone and not any(contents):
            break
        for entry, content in zip(entries, contents, strict=True):
            if content is None or not _is_of(content, fetched):
                continue
            document = next((document for document in entries if _has_bytes(document, fetched.reading.sha256)), None)
            found = Former(_joined("" if entry.directory is here else place, entry.name), content, document)
            if document is not None:
                return found
    return found


def _is_of(content: dict[str, Any], fetched: Fetched) -> bool:
    """Whether a sidecar is of this message, but isn't the one that reserves a name for it now."""
    message = fetched.message
    stated = {"direction": "IN", "msg_no": message.msg_no, "uuid": message.uuid, "sha256": fetched.reading.sha256}
    is_known = message.uuid is not None or content.get("received") == message.received is not None
    return is_known and stated.items() <= content.items() and sidecar.id_in(content) != id_of(fetched.row)


def _has_bytes(entry: Entry, sha256: str) -> bool:
    with suppress(FileNotFoundError), open_regular(entry) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    return False


def _free_names(folder: InboundFolder, here: Directory, fetched: Fetched, wanted: str) -> Iterator[str]:
    place, _, last = wanted.rpartition("/")
    there = _made(here, place)
    if there is None:
        place, there = "", here
    for name in folder.free_names(there, last):
        beside = [attachment.named(name) for attachment in fetched.attachments if attachment.temporary]
        if folder.has_pages:
            beside.append(page_name(name))
        if fetched.has_pdf_alone():
            beside.append(xml_name(name))
        if not any((there / target).exists() for target in beside):
            yield _joined(place, name)


def _made(here: Directory, path: str) -> Directory | None:
    """The folder at a path below the inbound folder, made where it is missing; None where it is blocked."""
    there = here
    try:
        for name in path.split("/") if path else ():
            try:
                there = there.folder(name)
            except FileNotFoundError:
                make_folder(there / name, draft_in=here)
                there = there.folder(name)
    except OSError as error:
        if error.errno not in _BLOCKED:
            raise
        return None
    return there


def _joined(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name


def sidecar_of(context: MessageSource, folder: InboundFolder, fetched: Fetched, name: str, now: datetime) -> bytes:
    """The sidecar of a document that gets this name now. It speaks of the files beside it by their names alone."""
    name = name.rpartition("/")[2]
    more: dict[str, object] = {}
    if folder.has_attachments:
        more["attachments"] = [attachment.as_json(name) for attachment in fetched.attachments]
    if folder.has_pages:
        more["page"] = page_name(name)
    if fetched.row.repeats is not None:
        more["possible_duplicate_of"] = fetched.row.repeats
    if fetched.row.due is not None:
        more["answer_expected"] = True
    if folder.company == UNASSIGNED and (company := context.config.company_of_twin(fetched.message.receiver or "")):
        whose = f"receiver {fetched.message.receiver}: this is the other id of {company}"
        more["warnings"] = [f"{whose}; to receive such messages there, add it to companies.{company}.participants"]
    return sidecar.inbound(
        fetched.message,
        fetched.reading,
        id=id_of(fetched.row),
        file=name,
        company=folder.company,
        account=context.account,
        identity=context.access_point.identity,
        fetched=now,
        **more,
    )


def id_of(row: MessageRow) -> str:
    """The id of a message, which its sidecar and the name of its temporary file have."""
    return id_in(row.temporary)
