"""The commands of `filedrop service` on Linux, where systemd runs services.

What is written, and where, follows from the configuration alone. With `--root`, files are written below another folder
(an image, a container), and systemd isn't asked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, MISUSED
from filedrop.cli.service.installed import Unit
from filedrop.cli.service.naming import instance_argument, is_written, put_example
from filedrop.cli.service.texts import SHARED, SIGNED, Site, written
from filedrop.cli.show import say, show_json, tell
from filedrop.errors import FiledropError
from filedrop.process.systemd import BOOTED, UNITS
from filedrop.programs import find, run
from filedrop.texts.printable import command

_root = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Work on the files below this folder, without systemd.",
)


@click.command()
@instance_argument
@click.option("--now", is_flag=True, help="Also start it, or restart it if something changed.")
@_root
@click.pass_obj
def install(config_option: str | None, instance: str | None, *, now: bool, root: Path | None) -> None:
    """Set up the service, and enable it.

    filedrop creates the unit, its account and its folders, as your configuration needs them. If there is no
    configuration, it creates an example for you to fill in.
    """
    if now and root:
        raise click.UsageError("--now doesn't work with --root: nothing runs there")
    site = _site(instance, root, config_option)
    _may_change(site)
    config = configuration.load(site.configuration_lies_at) if is_written(site.configuration_lies_at) else None
    changed = _write(site, written(site, config))
    if not root:
        _run("systemd-sysusers", "filedrop.conf")
        _run("systemd-tmpfiles", "--create", "filedrop.conf")
    if config is None:
        put_example(site.configuration_lies_at, site.configuration)
        raise SystemExit(MISUSED)
    if root:
        enable = command("systemctl", "--root", str(root), "enable", site.unit)
        say(f"All files are in {root}. To enable the service: {enable}")
    else:
        _enable(site, changed=changed, now=now)


@click.command()
@instance_argument
@_root
@click.pass_obj
def remove(config_option: str | None, instance: str | None, *, root: Path | None) -> None:
    """Stop and disable the service, and remove what `install` wrote.

    The account, the configuration, the state and the folders stay.
    """
    site = _site(instance, root, config_option)
    _may_change(site)
    ours = _ours(site)
    if not root and Unit.read(site.unit, site.root) and (_asked("is-enabled", site) == "enabled" or _runs(site)):
        _run("systemctl", "disable", "--now", "--quiet", site.unit)
        say(f"Stopped and disabled {site.unit}.")
    elif not ours:
        say(f"{site.unit} isn't installed: there is nothing to do.")
        return
    for path in ours:
        site.at(path).unlink()
        say(f"Removed {path}.")
        if path == site.drop_in and not any(site.at(path.parent).iterdir()):
            site.at(path.parent).rmdir()
    if not root:
        _run("systemctl", "daemon-reload")
    tell(f"The account filedrop, {site.configuration.parent}, the state and all folders stay as they are.")


@click.command()
@instance_argument
@click.pass_obj
def start(config_option: str | None, instance: str | None) -> None:
    """Start the service, and wait until it works. One that runs already keeps its configuration."""
    site = _site(instance, None, config_option)
    stale = _stale(site) if Unit.read(site.unit) else []
    if _asked("is-active", site) == "active":
        say(f"{site.unit} is already running.")
    else:
        _order("start", site)
    _tell_stale(stale)


@click.command()
@instance_argument
@click.pass_obj
def stop(config_option: str | None, instance: str | None) -> None:
    """Stop the service. Requests under way get 20 seconds to finish."""
    _order("stop", _site(instance, None, config_option))


@click.command()
@instance_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_root
@click.pass_obj
def status(config_option: str | None, instance: str | None, *, as_json: bool, root: Path | None) -> None:
    """Show whether the service is installed and running.

    It also shows whether the service is enabled, and whether its files match the configuration. The exit status is 1 if
    one of these isn't true.
    """
    site = _site(instance, root, config_option)
    unit = Unit.read(site.unit, site.root)
    stale = _stale(site) if unit else []
    enabled, active = (_asked(f"is-{how}", site) if unit and not root else None for how in ("enabled", "active"))
    if as_json:
        show_json({
            "unit": site.unit, "file": str(unit.path) if unit else None, "account": unit.user if unit else None,
            "enabled": enabled, "active": active, "stale": stale,
        })  # fmt: skip
    elif unit is None:
        say(f"{site.unit} isn't installed: run filedrop service install")
    else:
        say(f"{site.unit} is installed ({unit.path}), for the account {unit.user}.")
        if not root:
            say(f"It is {enabled} and {active}.")
        _tell_stale(stale)
    is_up = root is not None or (enabled, active) == ("enabled", "active")
    raise SystemExit(0 if unit and not stale and is_up else FAILED)


def _stale(site: Site) -> list[str]:
    """The files that aren't as the configuration wants them. Raises ConfigError."""
    texts = written(site, configuration.load(site.configuration_lies_at))
    return [str(path) for path, text in texts.items() if _text(site.at(path)) != text]


def _tell_stale(stale: list[str]) -> None:
    for path in stale:
        tell(f"{path} doesn't match the configuration: run filedrop service install")


def _site(instance: str | None, root: Path | None, option: str | None) -> Site:
    """Where it is installed. Raises FiledropError where there can be no service."""
    if root is None and find("systemctl") is None:
        raise FiledropError("this system has no systemd: have its own service manager start the command filedrop run")
    return Site.choose(instance, root or Path("/"), option)


def _may_change(site: Site) -> None:
    """Raises FiledropError where nothing can be installed or removed."""
    if site.root != Path("/"):
        return
    if sys.platform != "win32" and os.geteuid() != 0:
        raise FiledropError("only root may install or remove a service: run this with sudo")
    if not BOOTED.is_dir():
        raise FiledropError(
            "this system wasn't started by systemd, so it runs no services; to only write files, for example into an "
            "image, add --root FOLDER"
        )


def _write(site: Site, texts: dict[Path, str]) -> bool:
    """Write what isn't there like that yet, and say so. Returns whether anything changed.

    Raises FiledropError for what somebody else has written; then nothing is.
    """
    wanted = {path: text for path, text in texts.items() if _text(site.at(path)) != text}
    for path in wanted:
        before = _text(site.at(path))
        if before is not None and not before.startswith(SIGNED):
            edit = command("systemctl", "edit", site.unit)
            raise FiledropError(f"{path} is not from filedrop service install: move it away, and change with {edit}")
    for path, text in wanted.items():
        target = site.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.tmp")  # systemd reads no file that begins with a dot
        draft.write_text(text, "utf-8")
        draft.chmod(0o644)
        draft.replace(target)
        say(f"Wrote {path}.")
    if not wanted:
        say("All files already match the configuration.")
    return bool(wanted)


def _ours(site: Site) -> list[Path]:
    """What `install` has written for this unit, and no other filedrop needs."""
    others = {path for path in site.at(UNITS).glob("filedrop*.service.d") if path != site.at(site.drop_in.parent)}
    files = [site.drop_in]
    if not any(("@" in path.name) == bool(site.instance) for path in others):
        files.append(site.unit_file)
    if not others:
        files += SHARED
    return [path for path in files if (_text(site.at(path)) or "").startswith(SIGNED)]


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except OSError:
        return None


def _enable(site: Site, *, changed: bool, now: bool) -> None:
    if changed:
        _run("systemctl", "daemon-reload")
    if _asked("is-enabled", site) != "enabled":
        _run("systemctl", "enable", "--quiet", site.unit)
        say(f"Enabled {site.unit}: it starts with the system.")
    is_active = _asked("is-active", site) == "active"
    if now and (changed or not is_active):
        _run("systemctl", "restart", site.unit)
        say(f"Started {site.unit}.")
    elif not is_active:
        tell(f"Check it with: {command(*site.command_prefix, 'check', '--as-service')}")
        tell(f"Start it with: {command('systemctl', 'start', site.unit)}")
    elif changed:
        tell(f"It still runs with the old files. Restart it with: {command('systemctl', 'restart', site.unit)}")


def _order(order: str, site: Site) -> None:
    """Have systemd start or stop it; it waits for that."""
    _may_change(site)
    _run("systemctl", order, site.unit)
    say(f"{'Started' if order == 'start' else 'Stopped'} {site.unit}.")


def _asked(question: str, site: Site) -> str:
    """What systemctl answers, in its one word."""
    words = ("systemctl", question, site.unit)
    return run(words).stdout.decode("utf-8", "replace").strip() or "unknown"


def _runs(site: Site) -> bool:
    """Whether it runs or starts, perhaps between two attempts."""
    return _asked("is-active", site) not in ("inactive", "failed", "unknown")


def _run(*words: str) -> None:
    """Run a command of systemd's. Raises FiledropError with what it said."""
    done = run(words)
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        raise FiledropError(f"{command(*words)} failed: {said}")
