"""A received document's name is given up again before the document lies there, and its attachments are removed.

Which attachments those are, its sidecar says, which others may have written.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from filedrop.files import NO_FILE, is_missing, open_regular
from filedrop.storage import checked, sidecar
from filedrop.storage.names import is_attachment_of

if TYPE_CHECKING:
    from filedrop.files import Directory, Entry, Where


def withdraw(here: Directory, document: str) -> None:
    """Remove the sidecar of a document that doesn't lie there, and first the attachments that it lists.

    An attachment is removed only where its name and its content are what was written. Raises OSError.
    """
    beside = here.entry(f"{document}.json")
    listed = (sidecar.read(beside) or {}).get("attachments")
    for attachment in listed if isinstance(listed, list) else ():
        name = _unchanged(beside, document.rpartition("/")[2], attachment)
        if name:
            beside.with_name(name).unlink(missing_ok=True)
    beside.unlink(missing_ok=True)


def attachments_beside(document: Where) -> dict[int, str]:
    """The names of the attachments that lie beside a document and that its sidecar lists, by their numbers."""
    try:
        listed = (sidecar.read(document.with_name(f"{document.name}.json")) or {}).get("attachments")
    except OSError:
        return {}
    found: dict[int, str] = {}
    for number, attachment in enumerate(listed if isinstance(listed, list) else (), 1):
        with suppress(KeyError, TypeError, ValueError, OSError):
            name = checked.name(attachment["file"])
            if is_attachment_of(name, document.name) and not is_missing(document.with_name(name)):
                found[number] = name
    return found


def _unchanged(beside: Entry, document: str, attachment: Any) -> str:
    """The name of an attachment that lies beside the sidecar as that says; "" for anything else."""
    try:
        name, size = checked.name(attachment["file"]), checked.number(attachment["size"])
        sha256 = checked.text(attachment["sha256"])
        if not is_attachment_of(name, document):
            return ""
        with open_regular(beside.with_name(name)) as file:
            if os.fstat(file.fileno()).st_size == size and hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                return name
    except (KeyError, TypeError, ValueError):
        return ""
    except OSError as error:
        if error.errno not in NO_FILE | {errno.ENOENT}:
            raise
    return ""
