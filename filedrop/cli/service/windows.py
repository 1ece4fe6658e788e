"""The commands of `filedrop service` on Windows, and `run`, which its service manager calls."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, MISUSED
from filedrop.cli.service import access, eventlog, hosted, inside, manager
from filedrop.cli.service.naming import instance_argument, is_written, put_example
from filedrop.cli.show import complain, say, show_json, tell
from filedrop.errors import ConfigError, FiledropError
from filedrop.files.disk import file_system
from filedrop.programs import of_windows
from filedrop.programs import run as run_program

OURS = configuration.default_folder()
WITHOUT_PASSWORD = ("NT SERVICE\\", "NT AUTHORITY\\", "LOCALSYSTEM")  # as these begin; a managed account ends with $


@dataclass(frozen=True, slots=True)
class Service:
    """Which service it is, and by which configuration."""

    name: str
    configuration: Path

    @classmethod
    def choose(cls, instance: str | None, option: str | None) -> Service:
        """For this instance, by the configuration of `--config`, else the usual one."""
        if option is None and instance:
            option = str(OURS / f"{instance}.yaml")
        return cls(f"filedrop-{instance}" if instance else "filedrop", configuration.find(option).absolute())

    @property
    def command(self) -> str:
        """What the service manager calls."""
        return inside.command(self.configuration)


@click.command()
@instance_argument
@click.option(
    "--account", metavar="NAME", help="The account that it runs as. Default: one that Windows creates for it."
)
@click.option("--now", is_flag=True, help="Also start it, or restart it if it is running.")
@click.pass_obj
def install(config_option: str | None, instance: str | None, *, account: str | None, now: bool) -> None:
    """Set up the service, so that it starts with the system.

    filedrop registers the service with Windows, and gives it the rights that your configuration needs. If there is no
    configuration, it creates an example for you to fill in.
    """
    service = Service.choose(instance, config_option)
    _may_change()
    _can_be_seen()
    before = manager.read(service.name)
    _register(service, account)
    if not is_written(service.configuration):
        put_example(service.configuration, service.configuration)
        if service.configuration.is_relative_to(OURS):
            _icacls(access.own(OURS, service.name, access.USE))
        raise SystemExit(MISUSED)
    _give_rights(service)
    if now and before and before.state == "running":
        manager.stop(service.name)
    if now:
        _start(service)
    elif before and before.state == "running":
        tell(f"It still runs as before. Restart it with: {_command(service, 'stop')}, {_command(service, 'start')}")
    else:
        tell(f"Start it with: {_command(service, 'start')}")


@click.command()
@instance_argument
@click.pass_obj
def remove(config_option: str | None, instance: str | None) -> None:
    """Stop and remove the service. The configuration, the state and the folders stay."""
    service = Service.choose(instance, config_option)
    _may_change()
    if manager.read(service.name) is None:
        say(f"{service.name} isn't installed: there is nothing to do.")
        return
    manager.stop(service.name)
    manager.delete(service.name)
    eventlog.remove_source(service.name)
    say(f"Stopped and removed {service.name}.")
    tell(f"{service.configuration.parent}, the state and all folders stay as they are.")


@click.command()
@instance_argument
@click.pass_obj
def start(config_option: str | None, instance: str | None) -> None:
    """Start the service, and wait until it works. One that runs already keeps its configuration."""
    _may_change()
    _start(Service.choose(instance, config_option))


@click.command()
@instance_argument
@click.pass_obj
def stop(config_option: str | None, instance: str | None) -> None:
    """Stop the service. Requests under way get 20 seconds to finish."""
    service = Service.choose(instance, config_option)
    _may_change()
    manager.stop(service.name)
    say(f"Stopped {service.name}.")


@click.command()
@instance_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def status(config_option: str | None, instance: str | None, *, as_json: bool) -> None:
    """Show whether the service is installed and running.

    It also shows whether the service starts with the system, and whether it starts this filedrop. The exit status is 1
    if one of these isn't true.
    """
    service = Service.choose(instance, config_option)
    found = manager.read(service.name)
    is_stale = found is not None and found.command != service.command
    if as_json:
        show_json({
            "service": service.name, "command": found.command if found else None,
            "account": found.account if found else None, "enabled": found.start if found else None,
            "active": found.state if found else None, "exit": found.exit_status if found else None,
            "stale": is_stale,
        })  # fmt: skip
    elif found is None:
        say(f"{service.name} isn't installed: run filedrop service install")
    else:
        say(f"{service.name} is installed ({found.command}), for the account {found.account}.")
        ended = f"; it ended with {found.exit_status}" if found.state == "stopped" and found.exit_status else ""
        say(f"Its start type is {found.start}, and it is {found.state}{ended}.")
        if is_stale:
            tell(f"It doesn't start this filedrop ({service.command}): run filedrop service install")
    is_up = found is not None and (found.start, found.state) == ("automatic", "running")
    raise SystemExit(0 if is_up and not is_stale else FAILED)


@click.command(hidden=True)
@click.pass_obj
def run(config_option: str | None) -> None:
    """What the service manager calls."""
    hosted.host(configuration.find(config_option))


def _command(service: Service, verb: str) -> str:
    instance = service.name.partition("-")[2]
    return " ".join(filter(None, ("filedrop service", verb, instance)))


def _may_change() -> None:
    if sys.platform == "win32" and not ctypes.windll.shell32.IsUserAnAdmin():
        raise FiledropError(
            "only an administrator may change services: run this in a terminal that was opened as administrator"
        )


def _can_be_seen() -> None:
    """Raises FiledropError where this filedrop lies in somebody's home, which a service's account can't look into."""
    homes = Path.home().parent
    for path in (Path(sys.executable), Path(sys.base_prefix), Path(__file__)):
        if path.is_relative_to(homes):
            raise FiledropError(
                f"{path} is in somebody's home, which a service can't look into: install Python for all users, and "
                "filedrop with it, for example into C:\\Program Files"
            )


def _register(service: Service, account: str | None) -> None:
    password = None
    if account and not (account.upper().startswith(WITHOUT_PASSWORD) or account.endswith("$")):
        is_asked = sys.stdin.isatty()
        password = click.prompt(f"Password of {account}", hide_input=True) if is_asked else sys.stdin.readline().strip()
        manager.let_log_on(account)
    for what in manager.register(service.name, service.command, account, password):
        complain(f"{service.name}: Windows did not accept {what}")
    eventlog.add_source(service.name)
    say(f"Registered {service.name}: it starts with the system.")


def _give_rights(service: Service) -> None:
    """Make what is filedrop's own, and give the service its rights. Raises ConfigError."""
    config = configuration.load(service.configuration)
    config.state.mkdir(parents=True, exist_ok=True)
    if config.root == configuration.Config.model_fields["root"].default:
        config.root.mkdir(exist_ok=True)
    if config.log.file:
        config.log.file.parent.mkdir(parents=True, exist_ok=True)
        config.log.file.touch()
    else:
        tell("Without log.file in the configuration, only alarms are logged, in the event log.")
    for words in access.commands(service.name, service.configuration, OURS, config):
        _icacls(words)
    for path in access.highest({config.root, *config.folders}):
        if file_system(path).network:
            tell(f"{path} is on another computer: give this service's account the right to change files there.")
        elif not path.exists():
            tell(f"{path} doesn't exist: create it, and run this again, so that the service gets its rights on it.")


def _icacls(words: list[str]) -> None:
    call, letters = [of_windows("icacls"), *words], "oem"  # a console's
    done = run_program(call)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(letters, "replace").strip()
        complain(f"{words[0]}: the service can't be given its rights on it: {said}")
    else:
        say(f"Rights set on {words[0]}.")


def _start(service: Service) -> None:
    """Start it, and wait. Raises FiledropError with the reason why it doesn't."""
    try:
        found = manager.start(service.name)
    except manager.AsWanted:
        say(f"{service.name} is already running.")
        return
    if found.state == "running":
        say(f"Started {service.name}.")
        return
    if found.exit_status == MISUSED:
        configuration.load(service.configuration)  # says so
        raise ConfigError([f"{service.name} didn't start: the event log says what to correct first"])
    raise FiledropError(f"{service.name} didn't keep running: the event log (Windows Logs, Application) says why")
