"""Open documents at accounts that the configuration no longer names.

An account is its host and username (contract 6), and documents are followed and looked for where they were posted. So
another host in `base_url`, or another username, leaves open documents behind. Received messages are not affected: they
are known under any host.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from filedrop.model.document import State
from filedrop.text import printable

if TYPE_CHECKING:
    from filedrop.config import Config
    from filedrop.journal import Journal

LONGEST = 200  # characters of an identity: it may come from a forged sidecar
LISTED = 20  # identities at most: for the same reason


def left_behind(config: Config, journal: Journal) -> dict[str, list[str]]:
    """Sentences about documents that nobody follows any more and what to do, by their company's present account."""
    found: dict[tuple[str, str], dict[State, int]] = defaultdict(lambda: defaultdict(int))
    for identity, name, state, number in journal.elsewhere(one.identity for one in config.accounts.values()):
        company = config.companies.get(name)
        if company:
            found[company.account, identity][state] += number
    by_account: dict[str, list[str]] = defaultdict(list)
    for (account, before), numbers in found.items():
        by_account[account].append(_sentence(before, config.accounts[account].identity, numbers))
    return {account: _cut(sentences) for account, sentences in by_account.items()}


def _cut(sentences: list[str]) -> list[str]:
    more = len(sentences) - LISTED
    return sentences if more <= 0 else [*sentences[:LISTED], f"and {more} more accounts were left behind like this"]


def _sentence(before: str, now: str, numbers: dict[State, int]) -> str:
    accepted, doubtful = numbers[State.SENT], numbers[State.SENDING] + numbers[State.DOUBT]
    parts = [f"{accepted} accepted there and not delivered yet, which nobody asks after"] if accepted else []
    parts += [f"{doubtful} in doubt, which nobody looks for there"] if doubtful else []
    return (
        f"this account is {now} now, and documents were posted to {printable(before)[:LONGEST]}: "
        f"{' and '.join(parts)}. Put its host and username back until they are done, or end them: take what is in "
        "sent/ away, and resolve what is in doubt"
    )
