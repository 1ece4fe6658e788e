"""A host's share of the work: all of it, unless several hosts share the journal (daemon/hosting)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Iterable, Mapping

    from filedrop.config import Config


class Share:
    """What this host serves, and what it and the other hosts know of each other. This one serves all: it is alone.

    `mine`: the leases that it has. `spare`: those of which it is to give up one, for an even share (`offer`).
    `trouble`: why it takes none, as a sentence, "" where it does. `reports`: what the hosts have reported last, by
    their names, as far as this host does the chores. `missing`: the hosts that were
    replaced and aren't back, with their last signs of life in seconds since 1970.
    """

    name = ""
    mine = frozenset[str]()
    spare: Collection[str] = ()
    trouble = ""
    is_draining = False
    reports: Mapping[str, str] = MappingProxyType({})
    missing: Mapping[str, float] = MappingProxyType({})

    @property
    def does_chores(self) -> bool:
        """Whether this host tells people about all: status, pages, alerts."""
        return True

    def serves(self, account: str | None) -> bool:  # noqa: ARG002 - all
        """Whether this host is to serve an account, or what no account has (None)."""
        return True

    def host_that_keeps(self, company: str, former: str, account: str) -> str | None:  # noqa: ARG002 - none does
        """The host that serves a company for its former account, and must give it up before it is another's.

        None where no other host does; "" where no host serves the account.
        """
        return None

    def is_alive(self) -> bool:
        """Whether the other hosts know that this one is alive."""
        return True

    def enter(self, stopped: threading.Event) -> bool:  # noqa: ARG002 - it waits for nobody
        """Begin to have a share; False if stopped meanwhile. Raises JournalError."""
        return True

    def for_one_run(self, stopped: threading.Event) -> AbstractContextManager[None]:  # noqa: ARG002 - it waits for nobody
        """A context in which this host serves what was free at its beginning. Raises JournalError."""
        return nullcontext()

    def configure(self, config: Config) -> None:
        """Go by this configuration from now on."""

    def offer(self, lease: str) -> None:
        """Have one of the `spare` leases be another host's, as soon as nothing of it is left here."""

    def give_back(self, lease: str) -> None:
        """Nothing of it is left here: another host may serve it."""

    def report(self, content: str) -> None:
        """Have the others know this of this host."""

    def unserved(self, accounts: Iterable[str]) -> dict[str, str]:  # noqa: ARG002 - all are served
        """The sentences about those accounts that no living host serves; each by what it is about."""
        return {}

    def close(self, *, is_clean: bool) -> None:
        """Have no share any more; where nothing is left here (`is_clean`), the others may take all at once."""
