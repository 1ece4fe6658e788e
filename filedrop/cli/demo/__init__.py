"""`filedrop demo`: an invoice on its way from one company to another, step by step, everything real.

An access point of one's own, two companies' folders, a configuration file, and a daemon that runs by it in a process of
its own. Nothing here waits for luck: each step is a condition, with a deadline.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import click

from filedrop import sidecar
from filedrop.cli.demo.stage import INVOICE, OFTEN, Stage
from filedrop.cli.show import say
from filedrop.sandbox import SAMPLE_ACCOUNTS, Sandbox
from filedrop.service import stop_on_signals


@click.command()
@click.argument("folder", default="filedrop-demo", type=click.Path(path_type=Path))
@click.option("--stay", is_flag=True, help="Keep it running until stopped, to try things out.")
def demo(folder: Path, *, stay: bool) -> None:
    """Watch an invoice go from one company to another.

    Everything is made in FOLDER (./filedrop-demo if left out): the companies' folders, the configuration, what the
    access point keeps.
    """
    stopped = threading.Event()
    stop_on_signals(stopped)
    stage = Stage.prepare(folder, stopped)
    with Sandbox(stage.path / "access-point", SAMPLE_ACCOUNTS, deliver_after=timedelta(seconds=1)) as sandbox:
        stage.configure(sandbox.base_url)
        stage.tell(f"started    an access point of our own, at {sandbox.base_url}")
        with stage.daemon():
            stage.tell_when({"started": lambda: _started(stage)})
            stage.drop()
            stage.tell_when(
                {
                    "claimed": lambda: _claimed(stage),
                    "accepted": lambda: _accepted(stage),
                    "delivered": lambda: _delivered(stage),
                    "received": lambda: _received(stage),
                    "read": lambda: _received(stage) and _read(sandbox),
                }
            )
            stage.show_tree()
            if stay:
                _stay(stage)
    if not stay:
        say(f"It all lies in {stage.path}; the configuration is config.yaml there.")
        say("With --stay it keeps running, to try things out.")


def _started(stage: Stage) -> str:
    ready = (stage.outbound / "sending").is_dir()
    return "filedrop, for the companies acme and fjord" if ready else ""


def _claimed(stage: Stage) -> str:
    return "" if (stage.outbound / INVOICE).exists() else "it is whole, and moved into sending/"


def _accepted(stage: Stage) -> str:
    document = stage.kept("sent", "archive/*")
    content = document and sidecar.read(document.with_name(f"{INVOICE}.json"))
    return f"by the access point, as message {content['msg_no']}: moved into sent/" if content else ""


def _delivered(stage: Stage) -> str:
    document = stage.kept("archive/*")
    return f"to the receiver's access point: moved into archive/{document.parent.name}/" if document else ""


def _received(stage: Stage) -> str:
    document = next(stage.inbound.glob("*.xml"), None)
    return f"in fjord/inbound/, as {document.name}" if document else ""


def _read(sandbox: Sandbox) -> str:
    return "" if sandbox.store.inbox("fjord") else "at the access point it is marked as read"


def _stay(stage: Stage) -> None:
    windows = sys.platform == "win32"
    started_as = Path(sys.argv[0])
    program = [sys.executable, "-m", "filedrop"] if started_as.stem == "__main__" else [str(started_as.absolute())]
    filedrop = [*program, "--config", str(stage.config)]
    invoice = str(stage.path / INVOICE)
    say("It keeps running until you stop it (Ctrl-C). From another terminal, try:")
    for what, command in (
        ("how it stands", [*filedrop, "status"]),
        ("the same again: it fails, and failed/ says why", ["copy" if windows else "cp", invoice, str(stage.outbound)]),
        ("send it all the same", [*filedrop, "retry", "acme", "--all", "--anyway"]),
        ("which ids it has, and where each comes from", [*filedrop, "identify", invoice]),
    ):
        say()
        say(f"# {what}")
        say(subprocess.list2cmdline(command) if windows else shlex.join(command))
    while not stage.stopped.wait(OFTEN):
        pass
