"""`filedrop demo`: an invoice on its way from one company to another, step by step, everything real.

An access point of one's own, two companies' folders, a configuration file, and a daemon that runs by it in a process of
its own. Nothing here waits for luck: each step is a condition, with a deadline.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.tree import Tree

from filedrop.cli.show import say
from filedrop.cli.tables import console
from filedrop.errors import FiledropError
from filedrop.process.control import stop_on_signals
from filedrop.process.lock import is_running
from filedrop.programs import filedrop_command, start
from filedrop.sandbox import SAMPLE_ACCOUNTS, Sandbox
from filedrop.status import page_file
from filedrop.storage import sidecar
from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = ".filedrop-demo"  # says that the folder is ours to replace
INVOICE = "invoice-1001.xml"
DEADLINE = 120.0  # seconds for each part of the story; all of it takes some five, and twenty on a busy computer
OFTEN = 0.05  # seconds between two looks
LAST_LINES = 5  # of the log, when something went wrong


@click.command(epilog="\b\nExample: filedrop demo")
@click.argument("folder", default="filedrop-demo", type=click.Path(path_type=Path))
@click.option("--stay", is_flag=True, help="Keep everything running until stopped, so that you can try things out.")
def demo(folder: Path, *, stay: bool) -> None:
    """Watch an invoice travel from one company to another.

    Everything is created in FOLDER (default: ./filedrop-demo): the companies' folders, the configuration, and the
    messages of the access point.
    """
    stopped = threading.Event()
    stop_on_signals(stopped)
    stage = Stage(folder.absolute(), stopped)
    stage.prepare()
    with Sandbox(stage.path / "access-point", SAMPLE_ACCOUNTS, deliver_after=timedelta(seconds=1)) as sandbox:
        stage.configure(sandbox.base_url)
        stage.tell(f"started    an access point on this computer, {sandbox.base_url}")
        with stage.daemon():
            stage.tell_when(started=stage.started)
            stage.drop()
            stage.tell_when(
                claimed=stage.claimed,
                accepted=stage.accepted,
                delivered=stage.delivered,
                received=stage.received,
                read=lambda: _read(sandbox) if stage.received() and stage.has_pages() else "",
            )
            tree = Tree(printable(stage.companies))
            _grow(tree, stage.companies)
            console().print(tree)
            if stay:
                _stay(stage)
    if not stay:
        say(f"Everything is in {stage.path}; the configuration is config.yaml.")
        say("With --stay, the demo keeps running, so that you can try things out.")


def _read(sandbox: Sandbox) -> str:
    return "" if sandbox.store.inbox("fjord") else "marked as read at the access point"


def _stay(stage: Stage) -> None:
    windows = sys.platform == "win32"
    started_as = Path(sys.argv[0])
    again = filedrop_command() if started_as.stem == "__main__" else [str(started_as.absolute())]
    filedrop = [*again, "--config", str(stage.config)]
    invoice = str(stage.path / INVOICE)
    say("The demo keeps running until you stop it (Ctrl-C). In another terminal, try:")
    for what, command in (
        ("show the status", [*filedrop, "status"]),
        (
            "send the same file again: it fails, and a note in failed/ says why",
            ["copy" if windows else "cp", invoice, str(stage.outbound)],
        ),
        ("send it anyway", [*filedrop, "retry", "acme", "--all", "--anyway"]),
        ("show what would become of it now", [*filedrop, "check", "--company", "acme", invoice]),
    ):
        say()
        say(f"# {what}")
        say(subprocess.list2cmdline(command) if windows else shlex.join(command))
    while not stage.stopped.wait(OFTEN):
        pass


class Stage:
    """The folder of a demo, and what has happened in it: each step as a sentence, "" before it has.

    `stopped`: somebody wants it to end.
    """

    def __init__(self, path: Path, stopped: threading.Event) -> None:
        self.path = path
        self.stopped = stopped
        self.config = path / "config.yaml"
        self.companies = path / "companies"
        self.outbound = self.companies / "acme" / "outbound"
        self.inbound = self.companies / "fjord" / "inbound"
        self._log = path / "filedrop.log"
        self._begun = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the folder; one of an earlier demo is replaced. Raises FiledropError, click.UsageError."""
        path = self.path
        if path.exists() and not (path / MARK).exists() and not (path.is_dir() and not any(path.iterdir())):
            raise click.UsageError(f"{path} already exists, and not from filedrop demo: name another folder")
        if is_running(path / "state"):
            raise FiledropError(f"a demo is running in {path}: stop it, or name another folder")
        try:
            if path.exists():
                shutil.rmtree(path)
            self.companies.mkdir(parents=True)
            (path / MARK).touch()
        except OSError as error:
            raise FiledropError(f"{path} can't be created: {error.strerror}; name another folder") from error

    def configure(self, base_url: str) -> None:
        """Write the configuration, the passwords, and the sample invoice."""
        samples = resources.files("filedrop.cli.demo")
        text = (samples / "config.yaml").read_text(encoding="utf-8").replace("@base_url@", base_url)
        for word, path in (("root", self.companies), ("state", self.path / "state"), ("log", self._log)):
            text = text.replace(f"@{word}@", json.dumps(str(path), ensure_ascii=False))
        self.config.write_text(text, encoding="utf-8")
        for account in SAMPLE_ACCOUNTS:
            password = self.path / f"{account.name}.password"
            password.touch(mode=0o600)
            password.write_text(account.password, encoding="utf-8")
        (self.path / INVOICE).write_bytes((samples / INVOICE).read_bytes())

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """The daemon, in a process of its own."""
        command = filedrop_command("--config", str(self.config), "run")
        with self._log.open("ab") as log:
            self._process = start(command, stdout=log, stderr=log)
        with self._process:
            try:
                yield
            finally:
                self._process.terminate()

    def drop(self) -> None:
        """Drop the invoice, as an accounting system would."""
        shutil.copy(self.path / INVOICE, self.outbound / INVOICE)
        self.tell(f"dropped    {INVOICE} in acme/outbound/")

    def started(self) -> str:
        """The daemon has made the folders."""
        return "filedrop, for the companies acme and fjord" if (self.outbound / "sending").is_dir() else ""

    def claimed(self) -> str:
        """The invoice was taken out of `outbound/`."""
        return "" if (self.outbound / INVOICE).exists() else "by filedrop: complete, so it is moved to sending/"

    def accepted(self) -> str:
        """The invoice lies in `sent/`, or further on, with its sidecar."""
        document = self._kept("sent", "archive/*")
        content = document and sidecar.read(document.with_name(f"{INVOICE}.json"))
        return f"by the access point, as message {content['msg_no']}: moved to sent/" if content else ""

    def delivered(self) -> str:
        """The invoice lies in `archive/`."""
        document = self._kept("archive/*")
        return f"to the receiver's access point: moved to archive/{document.parent.name}/" if document else ""

    def received(self) -> str:
        """The receiver has it."""
        document = next(self.inbound.glob("*.xml"), None)
        return f"in fjord/inbound/, as {document.name}" if document else ""

    def has_pages(self) -> bool:
        """Whether both companies have their pages, which are written a moment after their folders are made."""
        return all((folder.parent / page_file.NAME).exists() for folder in (self.outbound, self.inbound))

    def _kept(self, *places: str) -> Path | None:
        return next((path for place in places for path in self.outbound.glob(f"{place}/{INVOICE}")), None)

    def tell(self, what: str) -> None:
        """Tell what has happened, and when."""
        say(f"{time.monotonic() - self._begun:5.1f} s  {what}")

    def tell_when(self, **steps: Callable[[], str]) -> None:
        """Tell each step once it has happened. Raises FiledropError after the deadline."""
        deadline = time.monotonic() + DEADLINE
        while True:
            for name, happened in list(steps.items()):
                if sentence := happened():
                    self.tell(f"{name:<10} {sentence}")
                    del steps[name]
            if not steps:
                return
            if self.stopped.wait(OFTEN):
                raise FiledropError("the demo was stopped before its end")
            if time.monotonic() > deadline or (self._process and self._process.poll() is not None):
                last = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
                what = f'the step "{next(iter(steps))}" did not happen; this is the end of {self._log}:'
                raise FiledropError("\n".join([what, *last]))


def _grow(tree: Tree, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            _grow(tree.add(printable(f"{path.name}/")), path)
        elif not path.name.startswith("."):
            tree.add(printable(path.name))
