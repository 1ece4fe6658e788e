"""A small world for tests: an access point on real sockets, a company's folders, and a filedrop that serves them.

    with World(tmp_path) as world:
        world.drop("invoice.xml", invoice("1"))
        world.run_once()
        world.invariants()

The company `acme` sends to `buyer`, who lives at the same sandbox, and receives what `world.receive` puts into its
inbox. Durations are short, so that tests wait for conditions (`until`) and never for the clock. What filedrop promises
of every document and message, whatever happened, is `invariants` (see `promises`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import structlog
from support import promises
from support.commands import run_here
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice, listed_as, with_pdf
from support.faults import Front
from support.memory import folder_in_memory
from support.postgres import be_a_host
from werkzeug.http import http_date

from filedrop import config, files
from filedrop.cli.opening import database
from filedrop.daemon.daemon import Daemon
from filedrop.process.lock import locked_state
from filedrop.sandbox import Sandbox, SandboxAccount
from filedrop.sandbox.app import AccessPoint
from filedrop.sandbox.store import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from filedrop.journal import Journal
    from filedrop.outbound.pipeline import OutboundPipeline
    from filedrop.sandbox.dialect import Dialect

PROJECT = Path(__file__).parents[2]
PASSWORD = "secret"
READ_TIMEOUT = "30s"  # on a busy machine, an upload takes seconds: one that is given up is soon sent again (`doubt`)
OUTBOUND = {
    "settle": "0s",
    "rescan": "500ms",
    "doubt": "500ms",
    "track": "100ms",
    "retry": "{first: 100ms, longest: 500ms}",
}
PATIENCE = 90.0  # seconds: bounds only what has gone wrong, and a busy machine takes half a minute to start a daemon
INBOUND = {"poll": "300ms", "min_free": "1KB"}


class World:
    """Sandbox, folders and configuration below `base`.

    `front` is the server in front of the sandbox: faults are told to it. `outbound` and `inbound` change the
    configuration's keys there; `companies` says more of them in YAML, or other things of acme; `more` is more of the
    configuration. `posted`: what is posted of a dropped document. `clock` is the access point's, which `sandbox` makes.
    It ends with its `with`.
    """

    def __init__(
        self,
        base: Path,
        *,
        quirks: bool = False,
        oddities: Sequence[str] = (),
        dialect: Dialect | None = None,
        deliver_after: float = 0.0,
        outbound: dict[str, str] | None = None,
        inbound: dict[str, str] | None = None,
        companies: dict[str, str] | None = None,
        unassigned: str = "leave",
        read_timeout: str = READ_TIMEOUT,
        password: str = PASSWORD,
        clock: Callable[[], datetime] = utc_now,
        more: str = "",
        posted: Callable[[bytes], bytes] = lambda content: content,
        sandbox: Callable[..., Sandbox] = Sandbox,
    ) -> None:
        self.base = base
        self.more = more
        self.posted = posted
        self.clock = clock
        self.root = base / "root"
        self.state = base / "state"
        self.outbound = self.root / "acme" / "outbound"
        self.inbound = self.root / "acme" / "inbound"
        self.password_file = base / "password"
        self.dropped: dict[str, bytes] = {}
        self.pdfs: dict[str, bytes] = {}  # by the name of the document that they were dropped with
        self.received: dict[int, bytes] = {}
        self._keys = {"outbound": OUTBOUND | (outbound or {}), "inbound": INBOUND | (inbound or {})}
        self._companies = {"acme": f'{{participants: ["{SELLER}"]}}'} | (companies or {})
        self._unassigned = unassigned
        self._read_timeout = read_timeout
        self._accounts = [SandboxAccount("acme", password, (SELLER,)), SandboxAccount("buyer", PASSWORD, (BUYER,))]
        self._sandbox_keys: dict[str, Any] = {
            "deliver_after": timedelta(seconds=deliver_after), "quirks": quirks, "oddities": oddities,
            "dialect": dialect, "clock": clock,
        }  # fmt: skip
        self._ends = ExitStack()
        self._elsewhere = self._ends.enter_context(folder_in_memory(base))  # the access point's disk isn't filedrop's
        self._make_sandbox = sandbox
        self.sandbox = sandbox(self._elsewhere / "access point", self._accounts, **self._sandbox_keys)
        self.servers = [self.sandbox]
        self.front = Front(self.sandbox.app, date=lambda: http_date(clock()))
        self.outbound.mkdir(parents=True)
        self.password_file.write_text(password)
        self.password_file.chmod(0o600)
        self._log_file = (base / "log").open("a")
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(self._log_file),
            processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info,
                        structlog.processors.JSONRenderer(default=str)],
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.front.close()
        for server in self.servers:
            server.store.close()
        self._log_file.close()
        self._ends.close()

    def config_text(self) -> str:
        """The configuration as YAML."""
        keys = {name: "".join(f"\n  {key}: {value}" for key, value in self._keys[name].items()) for name in self._keys}
        companies = "".join(f"\n  {name}: {company}" for name, company in self._companies.items())
        login = f"password_file: '{self.password_file}'"
        return f"""
accounts:
  main: {{base_url: "{self.front.url}", username: acme, {login}, read_timeout: {self._read_timeout}}}
root: {self.root}
state: {self.state}
unassigned: {self._unassigned}
companies:{companies}
outbound:{keys["outbound"]}
inbound:{keys["inbound"]}
{self.more}
"""

    def config_file(self) -> Path:
        """The configuration in a file, which is replaced whole where it says something else: a daemon may read it."""
        file, draft = self.base / "config.yaml", self.base / f"config.{threading.get_ident()}.yaml"
        if not (file.exists() and file.read_text() == self.config_text()):  # Windows replaces none that is being read
            draft.write_text(self.config_text())
            draft.replace(file)
        return file

    def configuration(self) -> config.Config:
        """The configuration, as if it had been read from a file in `base`."""
        return config.parse(self.config_text(), str(self.base / "config.yaml"))

    def drop(self, name: str, content: bytes, *, pdf: bytes | None = None) -> None:
        """Drop a document into `outbound/`, renamed in whole, after the PDF of its name. Each name and content once."""
        if name in self.dropped or content in self.dropped.values():
            raise ValueError(f"{name}: the invariants count documents by name and content; make it another one")
        self.dropped[name] = content
        if pdf is not None:
            self.pdfs[name] = pdf
            self.put((self.outbound / name).with_suffix(".pdf"), pdf)
        self.put(self.outbound / name, content)

    def posted_of(self, content: bytes) -> bytes:
        """What is posted of a dropped document."""
        names = (name for name, other in self.dropped.items() if other == content and name in self.pdfs)
        name = next(names, None)
        posted = self.posted(content)
        return posted if name is None else with_pdf(posted, Path(name).with_suffix(".pdf").name, self.pdfs[name])

    def put(self, path: Path, content: bytes) -> None:
        """Write a file beside the folders and rename it in, as a careful writer would. The invariants don't know it."""
        draft = self.root / "draft"
        draft.write_bytes(content)
        draft.rename(path)

    def receive(self, content: bytes, *, sender: str = BUYER) -> int:
        """Put a message into acme's inbox and return its number."""
        number = self.sandbox.store.receive(
            sender=sender, receiver=SELLER, document_id=listed_as(content), process_id=BILLING_PROCESS, content=content
        )
        self.received[number] = content
        return number

    def receive_for_nobody(self, count: int = 1, *, sender: str = BUYER) -> None:
        """Have so many messages lie in the inbox whose receiver is none of the companies."""
        self.sandbox.store.connect({SELLER: "acme", BUYER: "acme"})
        for number in range(count):
            self.sandbox.store.receive(
                sender=sender, receiver=BUYER, document_id=INVOICE_ID, process_id=BILLING_PROCESS,
                content=invoice(f"nobody-{number}"),
            )  # fmt: skip

    def receive_for_access_point(
        self, content: bytes, *, sender: str = "0242:000123", document_id: str | None = None
    ) -> int:
        """Put a message into acme's inbox that is addressed to the access point itself, and return its number."""
        self.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", "0242:000456": "acme"})
        return self.sandbox.store.receive(
            sender=sender, receiver="0242:000456", document_id=document_id or listed_as(content),
            process_id="urn:peppol:edec:mls", content=content,
        )  # fmt: skip

    def copy_of_journal(self) -> dict[str, bytes]:
        """The journal as it is now."""
        return {path.name: path.read_bytes() for path in self.state.glob("journal.sqlite*")}

    def put_back(self, copy: dict[str, bytes]) -> None:
        """Have the journal be as it was then. No filedrop runs."""
        for path in self.state.glob("journal.sqlite*"):
            path.unlink()
        for name, content in copy.items():
            (self.state / name).write_bytes(content)

    def send_from_elsewhere(self, content: bytes) -> None:
        """Another system sends a document through the same account."""
        uuid, store = str(uuid4()), self.sandbox.store
        store.document(uuid).write_bytes(content)
        due = self._sandbox_keys["clock"]() + self._sandbox_keys["deliver_after"]
        store.post(
            account="acme", uuid=uuid, sender=SELLER, receiver=BUYER, channel="", document_id=INVOICE_ID,
            process_id=BILLING_PROCESS, due=due,
        )  # fmt: skip

    @property
    def deliver_after(self) -> float:
        """After so many seconds a document is delivered."""
        seconds: float = self._sandbox_keys["deliver_after"].total_seconds()
        return seconds

    def set_up_anew(self, *, deliver_after: float = 0.0) -> None:
        """Set the access point up anew: it has forgotten everything, and counts from the start again.

        `servers` has what it was before.
        """
        self._sandbox_keys["deliver_after"] = timedelta(seconds=deliver_after)
        state = self._elsewhere / f"access point {len(self.servers)}"
        self.sandbox = self._make_sandbox(state, self._accounts, **self._sandbox_keys)
        self.servers.append(self.sandbox)
        self.front.application = self.sandbox.app

    def speak(self, dialect: Dialect) -> None:
        """Let the access point answer in another dialect from now on; its messages stay."""
        after = self._sandbox_keys["deliver_after"]
        speaks = AccessPoint(self.sandbox.store, self._accounts, dialect, after, self.clock)
        self.front.application = self.sandbox.app = speaks.flask

    @contextmanager
    def locked(self) -> Iterator[Journal]:
        """The daemon's journal; in a database, that of the only host."""
        with self._locked(self.configuration()) as journal:
            yield journal

    @contextmanager
    def _locked(self, configuration: config.Config) -> Iterator[Journal]:
        with locked_state(self.state, database(configuration)) as journal:
            if configuration.journal:
                be_a_host(journal, "here")
            yield journal

    @contextmanager
    def service(self, *, watch: bool = False) -> Iterator[Daemon]:
        """A daemon in this process, with a state and threads of its own, for as long as the `with` lasts."""
        configuration, stopped = self.configuration(), threading.Event()
        with self._locked(configuration) as journal:
            service = Daemon(configuration, journal, stopped=stopped, log=self._log, watch=watch)
            service.start()
            looks = threading.Thread(target=_tick, args=(service, stopped))
            looks.start()
            try:
                yield service
            finally:
                service.close()
                looks.join()

    def run_once(self) -> None:
        """What `filedrop run --once` does, in this process."""
        configuration = self.configuration()
        with self._locked(configuration) as journal:
            service = Daemon(configuration, journal, stopped=threading.Event(), log=self._log, watch=False)
            service.run_once(lambda _service: None)

    @contextmanager
    def daemon(self, *, under: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
        """The daemon as a process of its own; it is killed at the end, if it still runs.

        `under` begins the command: what it is to run under (`strace`), which must make it our child.
        """
        with (self.base / "daemon.log").open("ab") as log:
            process = subprocess.Popen([*under, *self._command("run")], stdout=log, stderr=log, cwd=PROJECT)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def stop(self, daemon: subprocess.Popen[bytes], seconds: float = PATIENCE) -> None:
        """Stop the daemon, which ends well. Windows has no SIGTERM: it is killed there, and another tidies up."""
        if sys.platform == "win32":
            daemon.kill()
            daemon.wait()
            self.run_once()
        else:
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(seconds) == 0

    def filedrop(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in this process."""
        return run_here("--config", str(self.config_file()), *arguments)

    def process(self, *arguments: str, under: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, as a process of its own; `under` as for the daemon."""
        command = [*under, *self._command(*arguments)]
        return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "filedrop", "--config", str(self.config_file()), *arguments]

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE, *, what: str = "") -> None:
        """Wait until a condition holds; seconds only bound what has gone wrong. AssertionError shows the folders."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:.0f} s: {what or 'the condition'}\n{self}")
            time.sleep(0.02)

    def compared(self, pipeline: OutboundPipeline, seconds: float = PATIENCE) -> None:
        """Wait until an outbound folder has been compared with the journal once more, or that was tried."""
        compared = pipeline.reconciliation

        def tried() -> float:
            return max(compared.next, pipeline._not_before)

        before = tried()
        self.until(lambda: tried() > before and not compared.is_under_way, seconds)

    def settle(self, seconds: float = PATIENCE, *, ends: tuple[str, ...] = ("archive", "failed")) -> None:
        """Run a daemon in this process until `settled`."""
        with self.service():
            self.until(lambda: self.settled(ends), seconds, what="everything settles")

    def settled(self, ends: tuple[str, ...] = ("archive", "failed")) -> bool:
        """Is each dropped document in one of these places, each message read with its page, and all cleared away?"""
        places = self.places()
        return (
            all(places.get(name, "").split("/")[0] in ends for name in self.dropped)
            and not self.sandbox.store.inbox("acme")
            and len(self.delivered()) >= len(self.received)
            and not any(promises.leftovers(self))
            and not self.pages_owed()
        )

    def pages_owed(self) -> list[str]:
        """The pages that sidecars name and that aren't there."""
        named = []
        for document in self.delivered():
            with suppress(OSError, ValueError):  # it is just being written, or somebody's
                beside = document.with_name(f"{document.name}.json")
                named.append((document, json.loads(beside.read_bytes()).get("page")))
        return [name for document, name in named if name and not document.with_name(name).exists()]

    def places(self) -> dict[str, str]:
        """Where each dropped document lies, by the name it was dropped under; several places are joined by " + "."""
        by_content: dict[bytes, list[str]] = {}
        for path in self.files():
            with suppress(FileNotFoundError, PermissionError):  # it is just being moved; Windows says the latter
                by_content.setdefault(_read(path), []).append(path.parent.relative_to(self.outbound).as_posix())
        return {
            name: " + ".join(by_content[content]) for name, content in self.dropped.items() if content in by_content
        }

    def files(self) -> list[Path]:
        """All documents below `outbound/`: what is neither sidecar, note nor hidden."""
        # os.walk goes by a folder that has just got its name; rglob doesn't.
        paths = (Path(folder, name) for folder, _, names in os.walk(self.outbound) for name in names)
        return [path for path in sorted(paths) if promises.is_regular(path) and promises.is_document(path)]

    def delivered(self) -> list[Path]:
        """The received documents in `inbound/`, and in the folders there."""
        walk = (Path(folder, name) for folder, _, names in os.walk(self.inbound) for name in names)
        paths = sorted(path for path in walk if path.suffix == ".xml")  # no attachment, no page
        return [path for path in paths if path.is_file() and promises.is_document(path)]

    def sidecar(self, name: str) -> dict[str, Any]:
        """What is written beside a dropped document; nothing where no sidecar lies, or it is just being moved."""
        for path in self.files():
            with suppress(FileNotFoundError):
                if _read(path) == self.dropped[name]:
                    content: dict[str, Any] = json.loads(_read(path.with_name(f"{path.name}.json")))
                    return content
        return {}

    def error(self, name: str) -> str | None:
        """The error code of a dropped document that failed; None where it didn't, or not yet."""
        if self.places().get(name) != "failed":
            return None
        code: str = self.sidecar(name).get("error", {}).get("code", "without a sidecar")
        return code

    def accepted(self) -> Counter[str]:
        """How often each dropped document was accepted by the access point, by name; `?` for what nobody dropped."""
        names = {}
        for name, content in self.dropped.items():
            with suppress(ET.ParseError):  # then it can't have been accepted
                names[promises.meaning(self.posted_of(content))] = name
        sent = (self.sandbox.store.content(message.msg_no) for message in self.sandbox.store.sent("acme"))
        return Counter(names.get(promises.meaning(content), "?") for content in sent)

    def invariants(self) -> None:
        """Assert what filedrop promises of every document and message (see `promises`)."""
        problems = list(promises.broken(self))
        assert not problems, "\n".join([*problems, str(self)])
        self.until(lambda: not any(promises.leftovers(self)), what="nothing is left behind")  # it may just be writing

    def log(self) -> list[dict[str, Any]]:
        """What the service in this process has logged."""
        self._log_file.flush()
        return [json.loads(line) for line in whole_lines(self.base / "log")]

    def __str__(self) -> str:
        """The folders, what was accepted and the end of the log: what one wants to see of a world gone wrong."""
        self._log_file.flush()
        folders = [str(path.relative_to(self.base)) for path in sorted(self.root.rglob("*")) if path.is_file()]
        log = [
            line
            for path in (self.base / "log", self.base / "daemon.log")
            if path.exists()
            for line in path.read_text().splitlines()[-30:]
        ]
        return "\n".join([*folders, f"accepted: {dict(self.accepted())}", *log])


def whole_lines(file: Path) -> list[str]:
    """The lines of a file that is being written: who reads meanwhile may see a part of the last one."""
    return file.read_text().rpartition("\n")[0].splitlines()


def events(world: World, name: str) -> list[dict[str, str]]:
    """These events of the daemon's log so far."""
    lines = whole_lines(world.base / "daemon.log")
    return [event for line in lines if line.startswith("{") and (event := json.loads(line))["event"] == name]


def unavailable(service: Daemon) -> list[Path]:
    """The inbound folders that nothing can be put into now, as the daemon reports them."""
    report = service.report()
    folders = [folder for account in report.accounts for folder in account.inbound]
    folders += [report.unassigned] if report.unassigned else []
    return [folder.path for folder in folders if folder.trouble or folder.warnings]


def _read(path: Path) -> bytes:
    """The content of a file, read as filedrop does: on Windows, reading in another way keeps it from being moved."""
    with files.open_regular(path) as file:
        return file.read()


def _tick(service: Daemon, stopped: threading.Event) -> None:
    """What the daemon's main thread does each second."""
    while not stopped.wait(0.1):
        service.tick()
