"""This host among those that share the journal: its signs of life, and what it serves.

A thread gives a sign of life every few seconds, replaces a host that gives none any more, and takes what is free. As
long as the database answers, this process is certain that nobody has replaced it (files/certainty). If it was replaced,
the process ends at once, with all that it was about to do: it is started again by its service manager.

Before it takes an account from a host that serves it, it looks whether both have the same share: for a file that
`filedrop check` has made there, or for the markers of the account's folders.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from filedrop.daemon.balance import is_short, to_spare, to_take
from filedrop.errors import JournalError, OtherDatabase
from filedrop.files.certainty import CERTAINTY, elapsed
from filedrop.model.hosts import CHORES, WITHIN, Sight, lease_of
from filedrop.process.guard import log_failure, unforeseen
from filedrop.process.share import Share
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping

    import structlog

    from filedrop.config import Config
    from filedrop.journal.postgres_hosts import Hosts
    from filedrop.model.hosts import Host, Look, Seen

BEATS = 10.0  # signs of life within the time after which a host is replaced
MARGIN = 0.2  # of that time, before whose end a host stops changing anything
A_GLANCE = 0.02  # seconds between two looks whether the first sign of life was answered
ACCOUNTS = "accounts of companies"  # one of the settings that all hosts must have alike
REPLACED = 1  # exit status: a service manager starts it again

_LOOK_AGAIN = 0.2  # seconds between two looks
_MOST_LOOKS = 16  # looks at once; a share that hangs keeps its own


class SignsOfLife:
    """Since when the counts of the others have stood still, by this process's own clock."""

    def __init__(self, steady: Callable[[], float] = elapsed) -> None:
        self._steady = steady
        self._stood: dict[str, tuple[Host, float]] = {}  # by incarnation

    def see(self, hosts: Mapping[str, Host]) -> None:
        """What was read just now."""
        now, before = self._steady(), self._stood
        self._stood = {}
        for host in hosts.values():
            seen, since = before.get(host.incarnation, (host, now))
            self._stood[host.incarnation] = (host, since if seen.beat == host.beat else now)

    def forget(self) -> None:
        """Nothing could be read: whoever stood still may have done so for want of a database."""
        self._stood.clear()

    def stood_still(self, host: Host) -> float:
        """For how many seconds a host has given no sign of life, as far as we have watched."""
        seen, since = self._stood.get(host.incarnation, (host, self._steady()))
        return self._steady() - since if seen.beat == host.beat else 0.0


class Hosting(Share):
    """This host's share among several: it keeps the host alive, by a configuration.

    `known`: the leases that the configuration is good for.
    """

    def __init__(
        self,
        hosts: Hosts,
        config: Config,
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self.name = hosts.me.name
        self.seen: Seen | None = None
        self._hosts = hosts
        self._takeover = hosts.me.takeover
        self._log = log
        self._watch = SignsOfLife()
        self._offered = ""
        self._takes = True  # what is free
        self._in_sight = AccountsInSight()
        self._looked = -math.inf
        self._drained: frozenset[str] = frozenset()
        self._free_since: dict[str, float] = {}
        self._asked = self._beat = 0  # signs of life: asked for, and the last one that was answered
        self._given_up: set[str] = set()  # but the database may not know it yet
        self._report = self._reported = ""
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hosting", daemon=True)
        self._is_heard = True
        self._looking = Looking(self.name)
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Go by this configuration from now on; what the others must know of it is in the next sign of life."""
        self.known = frozenset({*map(lease_of, config.accounts), CHORES})
        self._folders = frozenset({config.root, *config.folders})
        self._folders_of = {lease_of(name): config.folders_of(name) for name in config.accounts}
        self._shares = config.hosts.share
        self._settings = settings_of(config)
        self._hosts.say(json.dumps(self._settings))

    def serves(self, account: str | None) -> bool:
        """Whether this host is to serve an account, or what no account has (None)."""
        lease = CHORES if account is None else lease_of(account)
        return lease in self.mine and lease not in self._drained and lease != self._offered and not self.is_draining

    def offer(self, lease: str) -> None:
        """Give one of the `spare` leases to another host, as soon as nothing of it is left here."""
        if self._offered:
            return
        self._offered, self.spare = lease, ()
        self._log.info("lease.offered", lease=lease, why="another host serves fewer accounts")

    def host_that_keeps(self, company: str, former: str, account: str) -> str | None:
        """The host that serves a company for its former account, and must give it up before it is another's.

        None where this host does, or where the other has given it up; "" where no host serves the account.
        """
        if self.seen is None or len(self.seen.hosts) == 1 or lease_of(former) in self.mine:
            return None
        lease = self.seen.leases.get(lease_of(former))
        host = self.seen.hosts.get(lease.host) if lease and lease.incarnation else None
        if host and json.loads(host.settings)[ACCOUNTS].get(company) == account:
            return None
        return host.name if host else ""

    def enter(self, stopped: threading.Event) -> bool:
        """Become one of the hosts; False if stopped meanwhile. Raises JournalError.

        Where another process has our name, it is replaced: at once if it was started with our state folder since this
        machine has started, since we have the lock on that; else when it gives no sign of life. If it is unknown when
        this machine has started, the state folder may be a copy's.
        """
        me, is_draining, has_waited = self._hosts.me, False, False
        while not stopped.is_set():
            seen = self._hosts.look()
            self._watch.see(seen.hosts)
            before = seen.hosts.get(me.name)
            if before is None:
                if self._hosts.enter(is_draining=is_draining):
                    CERTAINTY.last_until(-math.inf)  # until the first sign of life is answered
                    self._thread.start()
                    return True
            elif (me.boot and (before.state, before.boot) == (me.state, me.boot)) or self._stands_still(before):
                is_draining = before.is_draining
                self._replace(before)
                continue
            elif not has_waited:
                has_waited = True
                why = (
                    f"another filedrop goes by the name {me.name}, with another state folder or before a restart of "
                    f"its machine. This one waits until that gives no sign of life for {self._takeover:.0f} seconds. "
                    "If both are to run, give one another name: host"
                )
                self._log.warning("host.waits", why=why)
            stopped.wait(self._takeover / BEATS)
        return False

    @contextmanager
    def for_one_run(self, stopped: threading.Event) -> Iterator[None]:
        """A context in which this host serves what was free at its beginning. Raises JournalError."""
        try:
            if self.enter(stopped):
                while self.seen is None and not stopped.wait(A_GLANCE):
                    pass
                self._takes = False
            yield
        finally:
            self.close(is_clean=True)

    def give_back(self, lease: str) -> None:
        """Nothing of it is left here: another host may serve it."""
        with self._lock:
            self.mine -= {lease}
            self._given_up.add(lease)
        self._wake.set()

    def report(self, content: str) -> None:
        """Have the others know this of this host, with its next sign of life."""
        self._report = content

    def unserved(self, accounts: Iterable[str]) -> dict[str, str]:
        """The sentences about those accounts that no living host serves; none where that isn't known."""
        return self.seen.unserved(accounts) if self.seen else {}

    def close(self, *, is_clean: bool) -> None:
        """Stop; where nothing is left here (`is_clean`), the others may take all at once."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        if is_clean:
            self._hosts.leave()
            CERTAINTY.last_until(math.inf)
        self._hosts.close()

    @property
    def does_chores(self) -> bool:
        """Whether this host tells people about all: status, pages, alerts."""
        return CHORES in self.mine and not self.is_draining

    def is_alive(self) -> bool:
        """Whether signs of life are given."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.is_set():
            error = unforeseen(self._turn)
            if isinstance(error, OtherDatabase):
                self._lose(str(error))
            elif error is not None:  # a turn without a sign of life, whatever it was
                self._watch.forget()
                self._free_since.clear()
                if self._is_heard and isinstance(error, JournalError):
                    self._log.warning("host.unheard", why=str(error))
                elif self._is_heard:
                    log_failure(self._log, "hosting", error)
                self._is_heard = False
            self._wake.wait(self._takeover / BEATS)
            self._wake.clear()

    def _turn(self) -> None:
        asked = elapsed()
        self._asked += 1
        seen = self._hosts.beat()
        self._beat, why = _own_beat(seen.beat, asked=self._asked, answered=self._beat)
        if why:
            self._lose(why)
        CERTAINTY.last_until(asked + self._takeover * (1 - MARGIN))
        if not self._is_heard:
            self._log.info("host.heard")
        self._is_heard = True
        self._watch.see(seen.hosts)
        self.is_draining = seen.hosts[self.name].is_draining
        self._drained = frozenset(name for name, lease in seen.leases.items() if lease.drained == self.name)
        for host in seen.hosts.values():
            if host.incarnation != self._hosts.me.incarnation and self._stands_still(host):
                self._replace(host)
        with self._lock:
            given_up = self._given_up.copy()
            self.mine |= (
                seen.leases_of(self._hosts.me.incarnation) - given_up
            )  # also one whose take has lost its answer
        for lease in sorted(given_up):
            self._hosts.give_back(lease)
            with self._lock:
                self._given_up.discard(lease)  # now, not before: the database may not have answered
            self._log.info("lease.given_back", lease=lease)
        self._balance(seen)
        if self._report != self._reported:
            report = self._report
            self._hosts.report(report)
            self._reported = report
        for look in self._hosts.looks():
            self._looking.begin(look, self._folders)
        for sight in self._looking.ended():
            self._hosts.answer(sight)
        if CHORES in self.mine:
            self.reports = self._hosts.reports()
        self.missing = {host.name: host.at for host in seen.gone if not host.is_stopped}
        self.seen = seen

    def _balance(self, seen: Seen) -> None:
        """Take what is free and this host's, and after a while what no host takes; look for what it is to give up."""
        now, me = elapsed(), seen.hosts[self.name]
        self._free_since = {name: self._free_since.get(name, now) for name in self.known if not seen.is_taken(name)}
        trouble = _objection(seen, me, self._settings)
        if trouble and trouble != self.trouble:
            self._log.error("host.takes_nothing", why=trouble)
        self.trouble, self.spare = trouble, ()
        if self.is_draining or self.trouble or not self._takes:
            return
        able = [host for host in seen.hosts.values() if host == me or self._may_take(host)]
        late = {name for name, since in self._free_since.items() if now - since > 2 * self._takeover}
        self._lease(late.union(to_take(me, able, seen, self._free_since)))
        if self._offered not in self.known or seen.is_taken(self._offered, but=me):
            self._offered = ""
        if self._shares and not self._offered and not self._drained & self.mine:
            takes = {host: json.loads(host.takes) for host in able}
            self.spare = to_spare(me, takes, seen, self.known, time.time())
        self._look_for_folders(is_wanted=self._shares and is_short(me, able, seen))

    def _lease(self, leases: Iterable[str]) -> None:
        for name in sorted(leases):
            if self._hosts.lease(name):
                self._drained -= {name}  # first: who finds it among ours is to serve it
                self._offered = "" if name == self._offered else self._offered
                with self._lock:
                    self.mine |= {name}
                self._log.info("lease.taken", lease=name)

    def _look_for_folders(self, *, is_wanted: bool) -> None:
        """Have the next sign of life say which accounts this host would take from another: it sees their folders."""
        if not is_wanted:
            self._in_sight.forget()
            self._looked = -math.inf
        elif elapsed() - self._looked > self._takeover:
            self._looked = elapsed()
            self._in_sight.look(self._folders_of)
        self._hosts.say(json.dumps(self._settings), takes=json.dumps(self._in_sight.leases))

    def _may_take(self, host: Host) -> bool:
        """Whether a host can take what is free: it lives, by the same settings."""
        is_alike = json.loads(host.settings) == self._settings
        return is_alike and not host.is_draining and not self._stands_still(host)

    def _stands_still(self, host: Host) -> bool:
        return self._watch.stood_still(host) >= max(self._takeover, host.takeover)

    def _replace(self, host: Host) -> None:
        if self._hosts.replace(host):
            self._log.warning("host.replaced", host=host.name, beat=host.beat)
            self._wake.set()  # what it served is free

    def _lose(self, why: str) -> NoReturn:
        self._log.error("host.lost", why=why)
        os._exit(REPLACED)


def _own_beat(beat: int | None, *, asked: int, answered: int) -> tuple[int, str]:
    """The sign of life that was just given, and why the process isn't the host any more that has `answered` before."""
    if beat is None:
        return 0, "another host has replaced it"
    if beat > 1 + asked:
        return beat, "another process goes by its name"
    is_missing = beat <= answered
    return beat, "the journal's database was restored: it lacks this host's last sign of life" if is_missing else ""


def settings_of(config: Config) -> dict[str, Any]:
    """The settings that all hosts must have alike: by another, one would work against the others."""
    folders = sorted(map(str, config.folders))
    return {
        ACCOUNTS: {name: company.account for name, company in sorted(config.companies.items())},
        "doubt": config.outbound.doubt.total_seconds(),
        "duplicates": {name: company.duplicates for name, company in sorted(config.companies.items())},
        "folders": hashlib.sha256("\n".join(folders).encode(errors="surrogateescape")).hexdigest(),
        "root": str(config.root),
    }


def _objection(seen: Seen, me: Host, settings: dict[str, Any]) -> str:
    """Why this host takes nothing: a host that serves has other settings for the same folders; "" where none has."""
    serving = {lease.incarnation for lease in seen.leases.values()}
    for host in seen.hosts.values():
        theirs = json.loads(host.settings)
        differ = sorted(key for key in {*settings, *theirs} if settings.get(key) != theirs.get(key))
        if differ and host.incarnation in serving and host.incarnation != me.incarnation:
            return (
                f"this host takes nothing, because host {host.name} has another configuration: "
                f"{', '.join(differ)}. Make them the same, and run on both: filedrop reload"
            )
    return ""


class Looking:
    """The looks of this host, each for so many `seconds`. A thread makes each, since a share may hang."""

    def __init__(self, host: str, seconds: float = WITHIN) -> None:
        self._host = host
        self._seconds = seconds
        self._seen: SimpleQueue[Sight] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def begin(self, look: Look, folders: Container[Path]) -> None:
        """Look for a file, if its folder is one of these: nobody is told of any other."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if Path(look.folder) in folders and len(self._threads) < _MOST_LOOKS:
            thread = threading.Thread(target=self._look, args=(look,), name="look", daemon=True)
            thread.start()
            self._threads.append(thread)

    def ended(self) -> list[Sight]:
        """What was seen, or not, since the last call."""
        return [self._seen.get() for _ in range(self._seen.qsize())]

    def _look(self, look: Look) -> None:
        deadline = time.monotonic() + self._seconds
        is_seen = False
        while not is_seen and time.monotonic() < deadline:
            is_seen = _is_listed(look)
            time.sleep(0 if is_seen else _LOOK_AGAIN)
        self._seen.put(Sight(self._host, look, is_seen=is_seen))


class AccountsInSight:
    """The accounts, by their leases, all of whose folders this host sees with their markers. Each has its thread."""

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._in_sight: set[str] = set()

    @property
    def leases(self) -> list[str]:
        """Those that were in sight at the last look, since they were forgotten."""
        return sorted(self._in_sight)

    def look(self, folders: Mapping[str, Collection[Path]]) -> None:
        """Look again for the folders of each lease, but where a look still hangs."""
        for lease, paths in folders.items():
            if lease not in self._threads or not self._threads[lease].is_alive():
                arguments = (self._in_sight, lease, paths)
                self._threads[lease] = threading.Thread(target=_see, args=arguments, name="look", daemon=True)
                self._threads[lease].start()

    def forget(self) -> None:
        """Have nothing in sight until the next look, also where a look goes on."""
        self._in_sight = set()


def _see(in_sight: set[str], lease: str, folders: Collection[Path]) -> None:
    if all((folder / MARKER).is_file() for folder in folders):
        in_sight.add(lease)
    else:
        in_sight.discard(lease)


def _is_listed(look: Look) -> bool:
    """Whether the folder lists the file, as it would list a document; its name alone may be found earlier."""
    try:
        return any(path.name == look.file for path in Path(look.folder).iterdir())
    except OSError:
        return False
