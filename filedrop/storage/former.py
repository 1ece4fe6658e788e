"""Open documents at accounts, and in folders, that the configuration no longer names.

An account is its host and username (contract 6), and documents are followed and looked for where they were posted. So
another host in `base_url`, or another username, leaves open documents behind. Received messages are not affected: they
are known under any host.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from filedrop.files.patience import within
from filedrop.model.document import State
from filedrop.storage.marker import read_marker
from filedrop.texts.printable import listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.journal import Journal

LONGEST_IDENTITY = 200  # characters of an identity: it may come from a forged sidecar
LISTED = 20  # identities at most: for the same reason
NAMED = 3  # files of a folder
PATIENCE = 1.0  # seconds for a folder that nobody serves to say whether it is still there


def left_behind(config: Config, journal: Journal) -> dict[str, list[str]]:
    """Sentences about documents that nobody follows any more and what to do, by their company's present account."""
    found: dict[tuple[str, str], dict[State, int]] = defaultdict(lambda: defaultdict(int))
    identities = [account.identity for account in config.accounts.values()]
    for identity, name, state, number in journal.documents.elsewhere(identities):
        company = config.companies.get(name)
        if company:
            found[company.account, identity][state] += number
    by_account: dict[str, list[str]] = defaultdict(list)
    for (account, before), numbers in found.items():
        by_account[account].append(_sentence(before, config.accounts[account].identity, numbers))
    return {account: _cut(sentences) for account, sentences in by_account.items()}


def served_folders(config: Config, journal: Journal) -> dict[Path, str]:
    """The ids of the configured outbound folders, by their paths; those that were never seen are left out."""
    paths = (path for company in config.companies.values() for path in company.outbound)
    return {path: folder for path in paths if (folder := journal.folders.at(path))}


def left_in_folders(served: Mapping[Path, str], journal: Journal) -> str:
    """The sentence about documents in other folders than those that are served; "" where there are none."""
    left = list(_left_in_folders(frozenset(served.values()), journal))
    return (
        f"{listed(left)}, which the configuration no longer names: filedrop neither sends nor tracks documents there. "
        "Name the folder again until it is empty, or delete its .filedrop to give its documents up"
        if left
        else ""
    )


def _left_in_folders(served: frozenset[str], journal: Journal) -> Iterator[str]:
    for folder in journal.folders.in_use():
        path = journal.folders.path(folder)
        if folder in served or path is None:
            continue
        with suppress(OSError):  # who has removed it with what lay in it knows of that
            names = within(PATIENCE, partial(_names_left, folder, path, journal))
            if names:
                yield _in_folder(path, names)


def _in_folder(path: Path, names: list[str]) -> str:
    number, shown = len(names), [printable(name) for name in names[:NAMED]]
    named = listed(shown) if number <= NAMED else f"{', '.join(shown)} and {number - NAMED} more"
    return f"{number} unfinished {'document is' if number == 1 else 'documents are'} in {printable(path)} ({named})"


def _names_left(folder: str, path: Path, journal: Journal) -> list[str]:
    """The files of a folder's open documents that are still there: a person may have moved them to another folder."""
    marker = read_marker(path)
    if marker is None or marker.folder != folder:
        return []
    left: list[str] = []
    for place in ("sending", "sent"):
        with suppress(FileNotFoundError):
            there = set(os.listdir(path / place))  # noqa: PTH208 - names alone
            left += [name for name, _ in journal.documents.files_in(folder, place) if name in there]
    return left


def _cut(sentences: list[str]) -> list[str]:
    more = len(sentences) - LISTED
    return sentences if more <= 0 else [*sentences[:LISTED], f"and {more} more accounts with unfinished documents"]


def _sentence(before: str, now: str, numbers: dict[State, int]) -> str:
    accepted, doubtful = numbers[State.SENT], numbers[State.SENDING] + numbers[State.DOUBT]
    parts = [f"{accepted} accepted there and not delivered yet, which filedrop no longer tracks"] if accepted else []
    parts += [f"{doubtful} in doubt, which filedrop no longer looks for"] if doubtful else []
    return (
        f"this account is {now} now, but documents were posted to {printable(before)[:LONGEST_IDENTITY]}: "
        f"{' and '.join(parts)}. Restore the former host and username until these documents are finished. Or end them: "
        "remove the files from sent/, and resolve the documents in doubt"
    )
