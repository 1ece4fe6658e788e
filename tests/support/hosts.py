"""Several filedrops as real processes on one tree of folders, with one journal in PostgreSQL and one access point.

Each account has one company, and each company sends to the next one. What counts in the end is `wrong`: which documents
the access point has not exactly once, and which were not delivered exactly once.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from support.documents import invoice
from support.faults import Front
from support.memory import folder_in_memory
from werkzeug.http import http_date

from filedrop.daemon.hosting import REPLACED
from filedrop.journal import sharing
from filedrop.journal.postgres import Postgres
from filedrop.model.hosts import CHORES, lease_of
from filedrop.sandbox import Sandbox, SandboxAccount
from filedrop.sandbox.store import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from filedrop.model.hosts import Seen

PROJECT = Path(__file__).parents[2]
NUMBERS = ("987654325", "810418052", "991825827", "974760673")  # organisations, by their check digits
PREPARES = MappingProxyType({"outbound: {": "outbound: {prepare: {ids: true}, "})  # for two accounts, with RECEIVERS
RECEIVERS = f"""mapping:
  - {{company: c0, receiver: "0192:{NUMBERS[1]}"}}
  - {{company: c1, receiver: "0192:{NUMBERS[0]}"}}
"""
PATIENCE = 120.0  # seconds: bounds only what has gone wrong
# As `filedrop run`, but for a shorter time until a host is replaced than a configuration may have.
# Its threads have their names for the kernel, too (support.held), and its clock can be set (`set_clock`).
RUN = """
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from filedrop import config
from filedrop.cli.serving import serve
from filedrop.config.agreement import TAKEOVERS
from filedrop.process import clock
from filedrop.process.control import Control, reload_on_signal, stop_on_signals

true = time.time
run = threading.Thread.run

def run_by_name(thread):
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(thread.name[:15])
    run(thread)

def wrong():
    return true() + float(Path(sys.argv[3]).read_text())

class Wrong(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.fromtimestamp(wrong(), tz)

def load():
    read, takeover = config.load(Path(sys.argv[1])), timedelta(seconds=float(sys.argv[2]))
    outbound = read.outbound.model_copy(update={"doubt": TAKEOVERS * takeover})
    return read.model_copy(update={"takeover": takeover, "outbound": outbound})

threading.Thread.run = run_by_name
time.time = wrong
clock.datetime = Wrong
control = Control()
stop_on_signals(control.stopped)
reload_on_signal(control)
serve(load(), control, reread=load)
"""
_NUMBER = re.compile(rb"<cbc:ID>(N-\d+-\d+)</cbc:ID>")


class SharedTree:
    """The folders, the access point and the hosts `a`, `b` ... It ends with its `with`: all hosts are killed.

    `addresses`: of the database, as each host reaches it; `own`, as the test does. `takeover` is in seconds.
    """

    def __init__(
        self,
        base: Path,
        addresses: Iterable[str],
        *,
        own: str = "",
        accounts: int = 2,
        takeover: float = 3.0,
        latency: float = 0.0,
        shares: bool = False,
    ) -> None:
        self.base = base
        self.root = base / "root"
        self.taken = base / "taken"
        self.takeover = takeover
        self._shares = shares
        self.names = [f"acc{nth}" for nth in range(accounts)]
        self.addresses = dict(zip("abcdef", addresses, strict=False))
        self.dropped: list[str] = []
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._ends = ExitStack()
        self._accounts = [
            SandboxAccount(name, "secret", (f"0192:{number}",))
            for name, number in zip(self.names, NUMBERS, strict=False)
        ]
        elsewhere = self._ends.enter_context(folder_in_memory(base))
        self.sandbox = Sandbox(elsewhere / "access point", self._accounts, deliver_after=timedelta(seconds=latency))
        self.front = Front(self.sandbox.app, date=lambda: http_date(utc_now()))
        for nth in range(accounts):
            (self.root / f"c{nth}" / "outbound").mkdir(parents=True)
        (base / "password").write_text("secret\n")
        (base / "password").chmod(0o600)
        self.engine = Postgres(own or self.addresses["a"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.daemons):
            self.kill(name)
        self.engine.close()
        self.front.close()
        self.sandbox.store.close()
        self._ends.close()

    def config_file(self, host: str, more: str = "", *, instead: Mapping[str, str] = MappingProxyType({})) -> Path:
        """The configuration of a host; `instead`: texts in it, and what is to be there."""
        accounts = "\n".join(
            f'  {name}: {{base_url: "{self.front.url}", username: {name}, password_file: "{self.base}/password"}}'
            for name in self.names
        )
        companies = "\n".join(
            f'  c{nth}: {{participants: ["0192:{NUMBERS[nth]}"], account: {name}}}'
            for nth, name in enumerate(self.names)
        )
        path = self.base / f"{host}.yaml"
        content = f"""
accounts:
{accounts}
root: {self.root}
state: {self.base / host}
journal: "{self.addresses[host]}"
host: {host}
hosts: {{share: {str(self._shares).lower()}}}
companies:
{companies}
outbound: {{settle: 0s, rescan: 500ms, watch: scan, doubt: 150s, track: 200ms, directory: "off",
  retry: {{first: 200ms, longest: 1s}}}}
inbound: {{poll: 500ms, min_free: 1KB}}
log: {{format: json}}
{more}
"""
        for before, after in instead.items():
            assert before in content
            content = content.replace(before, after)
        path.write_text(content)
        return path

    def reload(self, host: str, *, instead: Mapping[str, str]) -> None:
        """Have a host's daemon reload its configuration, in which texts are replaced."""
        self.config_file(host, instead=instead)
        self.daemons[host].send_signal(signal.SIGHUP)

    def start(
        self, host: str, more: str = "", *, instead: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.Popen[bytes]:
        """Start a host's daemon."""
        with (self.base / f"{host}.log").open("ab") as log:
            command = [
                sys.executable,
                "-c",
                RUN,
                str(self.config_file(host, more, instead=instead)),
                str(self.takeover),
                str(self._clock_of(host)),
            ]
            self.daemons[host] = subprocess.Popen(command, stdout=log, stderr=log, cwd=PROJECT)
        return self.daemons[host]

    def set_clock(self, host: str, seconds: float) -> None:
        """Have a host's clock be wrong by so much from now on."""
        path = self._clock_of(host)
        draft = path.with_suffix(".draft")
        draft.write_text(str(seconds))
        draft.replace(path)

    def _clock_of(self, host: str) -> Path:
        path = self.base / f"{host}.clock"
        if not path.exists():
            path.write_text("0")
        return path

    def kill(self, host: str) -> None:
        """Kill a host's daemon, also one that is stopped or has ended."""
        daemon = self.daemons.pop(host)
        with suppress(ProcessLookupError):
            daemon.kill()
        daemon.wait()

    def stop(self, host: str) -> None:
        """Stop a host's daemon, which ends well, unless it was replaced or has just begun."""
        daemon = self.daemons.pop(host)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(PATIENCE) in (0, REPLACED, -signal.SIGTERM), self.log_of(host)[-3000:]

    def log_of(self, host: str) -> str:
        """What a host has logged."""
        return (self.base / f"{host}.log").read_text()

    def seen(self) -> Seen:
        """The hosts and leases now."""
        return sharing.hosts_of(self.engine)[0]

    def drain(self, host: str, *leases: str) -> bool:
        """Have a host give up these leases, or all. Returns whether it could be told."""
        return sharing.drain(self.engine, host, *leases)

    def resume(self, host: str) -> bool:
        """Have a host take again what is free. Returns whether there is one of this name."""
        return sharing.resume(self.engine, host)

    def serving(self) -> dict[str, str]:
        """Which host has which lease now, "" where none has."""
        return {name: lease.host if lease.incarnation else "" for name, lease in self.seen().leases.items()}

    def leases(self) -> set[str]:
        """All that is leased."""
        return {CHORES, *map(lease_of, self.names)}

    def are_served(self, by: Iterable[str] = "abcdef") -> bool:
        """Whether each lease is one of these hosts'."""
        now = self.serving()
        return now.keys() == self.leases() and all(host and host in set(by) for host in now.values())

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE, *, what: str = "") -> None:
        """Wait until a condition holds; seconds only bound what has gone wrong."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{host}: {self.log_of(host)[-3000:]}" for host in self.daemons)
                raise AssertionError(f"not within {seconds:.0f} s: {what}\n{self.serving()}\n{logs}")
            time.sleep(0.05)

    def drop(self, count: int = 1, *, named: str = "", states: str = "") -> None:
        """Drop so many documents into each company's folder, whole: by their numbers, or `named`-1, `named`-2 ...

        `states`: the receiver that they state, in place of the other company (PREPARES gives them that again).
        """
        for index in range(count):
            for nth in range(len(self.names)):
                number = f"N-{nth}-{len(self.dropped)}"
                name = f"{named}-{index + 1}" if named else number
                receiver = states or f"0192:{NUMBERS[(nth + 1) % len(self.names)]}"
                content = invoice(number, sender=f"0192:{NUMBERS[nth]}", receiver=receiver)
                draft = self.root / "draft"
                draft.write_bytes(content)
                draft.rename(self.root / f"c{nth}" / "outbound" / f"{name}.xml")
                self.dropped.append(number)

    def sent(self) -> Counter[str]:
        """How often the access point has each document."""
        store = self.sandbox.store
        return _numbers(store.document(message.uuid) for name in self.names for message in store.sent(name))

    def delivered(self) -> Counter[str]:
        """How often each document is in an inbound folder, or was taken from there."""
        return _numbers([*self.root.glob("c*/inbound/*.xml"), *self.taken.glob("inbound/*.xml")])

    def filed(self) -> Counter[str]:
        """How often each document is in an archive, or was taken from there."""
        taken = [*self.taken.glob("archive/*.xml"), *self.taken.glob("sent/*.xml")]
        return _numbers([*self.root.glob("c*/outbound/archive/*/*.xml"), *taken])

    def take(self, *, sent: bool = False) -> None:
        """Take all that was received and archived (or `sent`), with what is beside it: the folders are empty then."""
        folders = {"inbound": "c*/inbound/*", "archive": "c*/outbound/archive/*/*"}
        for where, pattern in (folders | ({"sent": "c*/outbound/sent/*"} if sent else {})).items():
            folder = self.taken / where
            folder.mkdir(parents=True, exist_ok=True)
            prefix = f"{len(list(folder.iterdir()))}-"
            for path in self.root.glob(pattern):
                if path.is_file() and not path.name.startswith("."):
                    path.rename(folder / (prefix + "-".join(path.relative_to(self.root).parts)))

    def unlike(self) -> list[str]:
        """The archived documents whose sidecar, or copy of what was posted, is about another document."""
        found = []
        for path in [*self.root.glob("c*/outbound/archive/*/*.xml"), *self.taken.glob("archive/*.xml")]:
            sidecar = json.loads(path.with_name(f"{path.name}.json").read_text())
            number, copy = sidecar["document"]["number"], path.with_name(f"{path.name}.posted")
            if list(_numbers([path])) != [number]:
                found.append(f"{path.name} has the sidecar of {number}")
            is_there = bool(sidecar.get("posted", {}).get("file"))
            if copy.exists() != is_there or (is_there and list(_numbers([copy])) != [number]):
                found.append(f"{copy.name} isn't the copy of {number}")
        return found

    def is_settled(self) -> bool:
        """Whether each document was sent, delivered and archived, as far as it is missing nowhere, with its copy."""
        dropped = set(self.dropped)
        if not (dropped <= set(self.delivered()) and dropped <= set(self.filed())):
            return False
        return not any(self.root.glob("c*/outbound/sen*/*.posted"))  # it follows its document

    def wrong(self) -> dict[str, list[str]]:
        """What isn't there exactly once: at the access point, in the inbound folders, in the archives."""
        found = {"sent": self.sent(), "delivered": self.delivered(), "filed": self.filed()}
        return {
            where: wrong
            for where, counts in found.items()
            if (wrong := [f"{number}: {counts[number]}" for number in self.dropped if counts[number] != 1])
        }


def _numbers(paths: Iterable[Path]) -> Counter[str]:
    return Counter(number.decode() for path in paths for number in _NUMBER.findall(path.read_bytes())[:1])
