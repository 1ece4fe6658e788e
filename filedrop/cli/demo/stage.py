"""The folder of a demo, the daemon in it, and the telling of what happens there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import click
from rich.tree import Tree

from filedrop.cli.show import console, say
from filedrop.errors import FiledropError
from filedrop.sandbox import SAMPLE_ACCOUNTS
from filedrop.service import is_running
from filedrop.wording import printable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MARK = ".filedrop-demo"  # says that the folder is ours to replace
INVOICE = "invoice-1001.xml"
DEADLINE = 40.0  # seconds for each part of the story; all of it takes some five
OFTEN = 0.05  # seconds between two looks
LAST_LINES = 5  # of the log, when something went wrong


@dataclass(slots=True)
class Stage:
    """The folder of a demo. `stopped`: somebody wants it to end. `begun`: when (monotonic)."""

    path: Path
    stopped: threading.Event
    begun: float
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def prepare(cls, folder: Path, stopped: threading.Event) -> Stage:
        """An empty folder; one of an earlier demo is replaced. Raises FiledropError, click.UsageError."""
        path = folder.absolute()
        if path.exists() and not (path / MARK).exists() and not (path.is_dir() and not any(path.iterdir())):
            raise click.UsageError(f"{path} is there, and no demo of filedrop's: name another folder")
        if is_running(path / "state"):
            raise FiledropError(f"a demo is running in {path}: stop it, or name another folder")
        try:
            if path.exists():
                shutil.rmtree(path)
            (path / "companies").mkdir(parents=True)
            (path / MARK).touch()
        except OSError as error:
            raise FiledropError(f"{path} can't be made: {error.strerror}; name another folder") from error
        return cls(path, stopped, time.monotonic())

    @property
    def config(self) -> Path:
        """The configuration that the daemon runs by."""
        return self.path / "config.yaml"

    @property
    def outbound(self) -> Path:
        """Where the sender drops files."""
        return self.path / "companies" / "acme" / "outbound"

    @property
    def inbound(self) -> Path:
        """Where the receiver finds them."""
        return self.path / "companies" / "fjord" / "inbound"

    def configure(self, base_url: str) -> None:
        """Write the configuration, the passwords, and the sample invoice."""
        samples = resources.files("filedrop.cli.demo")
        text = (samples / "config.yaml").read_text(encoding="utf-8").replace("@base_url@", base_url)
        for word, name in (("root", "companies"), ("state", "state"), ("log", "filedrop.log")):
            text = text.replace(f"@{word}@", json.dumps(str(self.path / name), ensure_ascii=False))
        self.config.write_text(text, encoding="utf-8")
        for account in SAMPLE_ACCOUNTS:
            password = self.path / f"{account.name}.password"
            password.touch(mode=0o600)
            password.write_text(account.password, encoding="utf-8")
        (self.path / INVOICE).write_bytes((samples / INVOICE).read_bytes())

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """The daemon, in a process of its own."""
        command = [sys.executable, "-m", "filedrop", "--config", str(self.config), "run"]
        with (self.path / "filedrop.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with self.process:
            try:
                yield
            finally:
                self.process.terminate()

    def drop(self) -> None:
        """Drop the invoice, as an accounting system would."""
        shutil.copy(self.path / INVOICE, self.outbound / INVOICE)
        self.tell(f"dropped    {INVOICE} in acme/outbound/")

    def kept(self, *places: str) -> Path | None:
        """The invoice in one of these folders below `outbound/`."""
        return next((path for place in places for path in self.outbound.glob(f"{place}/{INVOICE}")), None)

    def tell(self, what: str) -> None:
        """Tell what has happened, and when."""
        say(f"{time.monotonic() - self.begun:5.1f} s  {what}")

    def tell_when(self, steps: Mapping[str, Callable[[], str]]) -> None:
        """Tell each step as it happens: once it returns a sentence. Raises FiledropError after the deadline."""
        waiting, deadline = dict(steps), time.monotonic() + DEADLINE
        while waiting:
            for name, happened in list(waiting.items()):
                if sentence := happened():
                    self.tell(f"{name:<10} {sentence}")
                    del waiting[name]
            if waiting and self.stopped.wait(OFTEN):
                raise FiledropError("stopped before its end")
            if waiting and (time.monotonic() > deadline or (self.process and self.process.poll() is not None)):
                raise FiledropError(self._trouble(next(iter(waiting))))

    def show_tree(self) -> None:
        """Show the companies' folders and what lies in them."""
        tree = Tree(printable(self.path / "companies"))
        _grow(tree, self.path / "companies")
        console().print(tree)

    def _trouble(self, step: str) -> str:
        log = self.path / "filedrop.log"
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join([f'it did not come to "{step}"; this is the end of {log}:', *last])


def _grow(tree: Tree, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            _grow(tree.add(printable(f"{path.name}/")), path)
        elif not path.name.startswith("."):
            tree.add(printable(path.name))
