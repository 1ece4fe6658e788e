"""Values from sidecars and markers, checked: every user of a folder can write these files.

Only regular files are read, up to a size limit. Each function returns the value, or raises ValueError for a wrong one.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.files import NO_FILE, open_regular
from filedrop.storage.names import names_document
from filedrop.times import EARLIEST, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.files import Where

_LATEST = datetime(9000, 1, 1, tzinfo=UTC)
_MOST = 2**63 - 1  # the largest integer of a column in the journal
_TOKEN = re.compile("[!-~]{1,64}")
_BRANCH = re.compile("(?:[0-9a-f]{16})?")  # as journal/folders makes them
_DROP_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")  # as document.new_id makes them
_LONGEST_NAME = 1000  # bytes: more than any file system allows


def read_object(where: Where, largest: int) -> dict[str, Any] | None:
    """The JSON object in a file of at most `largest` bytes; None for any other file. Raises OSError."""
    try:
        with open_regular(where) as file:
            found = file.read(largest + 1)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
    if len(found) > largest:
        return None
    try:
        content = json.loads(found)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def text(value: object) -> str:
    """A string that can be encoded in UTF-8."""
    if not isinstance(value, str):
        raise ValueError("no text")  # noqa: TRY004 - callers catch one class of error
    value.encode()
    return value


def number(value: object, most: int = _MOST) -> int:
    """A count: an integer from 0 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError("no number")
    return value


def instant(value: object) -> datetime:
    """A moment with its offset, between 1970 and 9000: every platform can convert it."""
    time = moment(text(value))
    if time is None or not EARLIEST < time < _LATEST:
        raise ValueError("no moment")
    return time


def name(value: object) -> str:
    """A name that a document can have; paths are refused."""
    if not isinstance(value, str) or not names_document(value) or Path(value).name != value or "\0" in value:
        raise ValueError("no name")
    if len(os.fsencode(value)) > _LONGEST_NAME:  # fsencode raises for a string that can't be a file name
        raise ValueError("no name")
    return value


def drop_id(value: object) -> str:
    """The id of a drop; it becomes part of file names."""
    return _like(_DROP_ID, value)


def token(value: object) -> str:
    """The id of a folder or a journal."""
    return _like(_TOKEN, value)


def branch(value: object) -> str:
    """The name of a branch of a journal; "" is the first."""
    return _like(_BRANCH, value)


def _like(pattern: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError("no id")
    return value


def texts(content: Mapping[str, Any], keys: Iterable[str]) -> dict[str, str | None]:
    """The texts under these keys; None for each that is missing."""
    return {key: None if content.get(key) is None else text(content[key]) for key in keys}
