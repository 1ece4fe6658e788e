r"""What the installer has filedrop do: `filedrop.exe -m installation halt | resume | finish | leave`.

    halt    before files are replaced or removed: stop every service that this filedrop.exe runs; remember which ran
    resume  where nothing was: start those again
    finish  after that: register the service, put `filedrop` on the path; start what ran, or what is new and configured
    leave   before files are removed: remove its services, take it off the path

The exit status is that of filedrop's commands: 1, it failed; 2, installed, but the configuration must be corrected
before it can start. What is said is in %PROGRAMDATA%\filedrop\install.log, too, since a silent installer shows nothing.
"""

from __future__ import annotations

import subprocess
import sys
import winreg
from datetime import datetime
from pathlib import Path

from filedrop import config
from filedrop.cli import FAILED, MISUSED
from filedrop.cli.service import eventlog, manager
from filedrop.errors import FiledropError

OURS = config.default_folder()
CONFIGURATION = OURS / "config.yaml"
RAN = OURS / "upgrading.txt"  # which services to start again, also where an upgrade was cut off
LOG = OURS / "install.log"
PROGRAM = Path(sys.executable)
LONGEST = 600  # seconds for a command
ENVIRONMENT = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


def main() -> int:
    """Do what is asked; the exit status."""
    OURS.mkdir(parents=True, exist_ok=True)
    try:
        return {"halt": halt, "resume": resume, "finish": finish, "leave": leave}[sys.argv[1]]()
    except (FiledropError, OSError, subprocess.TimeoutExpired) as error:
        tell(f"{type(error).__name__ if isinstance(error, OSError) else 'Error'}: {error}")
        return FAILED


def halt() -> int:
    """Stop what this program runs, and what goes by the usual name; it is remembered before."""
    ran = [name for name in manager.names() if (name == "filedrop" or is_ours(name)) and is_up(name)]
    if ran:
        RAN.write_text("\n".join(dict.fromkeys([*remembered(), *ran])), encoding="utf-8")
    for name in ran:
        tell(f"{name} is stopped for now.")
        manager.stop(name)
        if is_up(name):
            raise FiledropError(f"{name} doesn't stop")
    return 0


def resume() -> int:
    """Start what is remembered, each by the command that says why it doesn't start."""
    known = [name for name in remembered() if manager.read(name)]
    statuses = [run("service", "start", *filter(None, [name.partition("-")[2]])) for name in known]
    RAN.unlink(missing_ok=True)
    return max(statuses, default=0)


def finish() -> int:
    """Register the service, and start what ran, or, where there was none, what is configured."""
    halt()  # of another program, that is: it is this one's from now on
    on_path(wanted=True)
    is_new, is_configured = manager.read("filedrop") is None, CONFIGURATION.exists()
    status = run("service", "install")
    if not is_configured:
        return 0 if status == MISUSED else status  # there is an example now
    if status not in (0, MISUSED):
        return status
    if not is_new:
        return resume() or status
    if status == 0 and run("check") == 0:
        return run("service", "start")
    tell(f"Correct {CONFIGURATION} first. Then run: filedrop service install --now")
    return MISUSED


def leave() -> int:
    """Stop and remove the services of this program. Configuration, state and folders stay."""
    for name in filter(is_ours, manager.names()):
        manager.stop(name)
        manager.delete(name)
        eventlog.remove_source(name)
        tell(f"{name} is stopped and removed.")
    resume()  # what another program runs
    on_path(wanted=False)
    return 0


def is_ours(name: str) -> bool:
    """Does this very program run that service?"""
    found = manager.read(name)
    return found is not None and found.command.strip('"').lower().startswith(str(PROGRAM).lower())


def is_up(name: str) -> bool:
    """Runs it, or is it on its way there or back?"""
    found = manager.read(name)
    return found is not None and found.state != "stopped"


def remembered() -> list[str]:
    """The services that ran."""
    return RAN.read_text(encoding="utf-8").split() if RAN.exists() else []


def run(*words: str) -> int:
    """Run a command of filedrop, by the configuration in the usual place where it isn't another's; its exit status."""
    usual = () if words[2:] else ("--config", str(CONFIGURATION))
    tell(f"> filedrop {' '.join(words)}")
    done = subprocess.run(
        [PROGRAM, *usual, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace", timeout=LONGEST, check=False,
    )  # fmt: skip
    tell(done.stdout.rstrip())
    return done.returncode


def on_path(*, wanted: bool) -> None:
    """Have the command `filedrop` be found by everybody, or no more. What else is on the path stays as it is."""
    access = winreg.KEY_READ | winreg.KEY_WRITE
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, ENVIRONMENT, 0, access) as key:
        path, kind = winreg.QueryValueEx(key, "Path")
        folder = str(PROGRAM.parent)
        others = [one for one in path.split(";") if one.rstrip("\\").lower() != folder.lower()]
        renewed = ";".join([*others, folder] if wanted else others)
        if renewed != path:
            winreg.SetValueEx(key, "Path", 0, kind, renewed)


def tell(what: str) -> None:
    """Say it, and keep it."""
    sys.stdout.write(f"{what}\n")
    with LOG.open("a", encoding="utf-8") as log:
        log.write("".join(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {line}\n" for line in what.splitlines()))


if __name__ == "__main__":
    sys.exit(main())
