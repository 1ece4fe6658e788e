"""The commands of `filedrop service` on Linux, where systemd runs services.

What is written, and where, follows from the configuration alone. With `--root`, files are written below another folder
(an image, a container), and systemd isn't asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, MISUSED
from filedrop.cli.service.installed import Unit
from filedrop.cli.service.naming import instance_argument, is_written, put_example
from filedrop.cli.service.texts import SHARED, SIGNED, Place, written
from filedrop.cli.show import say, show_json, tell
from filedrop.daemon.systemd import BOOTED, UNITS
from filedrop.errors import FiledropError
from filedrop.text import command

_root = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Work on the files below this folder instead; systemd isn't asked.",
)


@click.command()
@instance_argument
@click.option("--now", is_flag=True, help="Start it, too; restart it where it runs by what was there before.")
@_root
@click.pass_obj
def install(config_option: str | None, instance: str | None, *, now: bool, root: Path | None) -> None:
    """Write the unit, its account and folders, and what the configuration names; then enable it.

    Where there is no configuration, the example is put in its place, to be filled in.
    """
    if now and root:
        raise click.UsageError("--now doesn't go with --root: nothing runs there")
    place = _place(instance, root, config_option)
    _may_change(place)
    config = configuration.load(place.configuration_lies_at) if is_written(place.configuration_lies_at) else None
    changed = _write(place, written(place, config))
    if not root:
        _run("systemd-sysusers", "filedrop.conf")
        _run("systemd-tmpfiles", "--create", "filedrop.conf")
    if config is None:
        put_example(place.configuration_lies_at, place.configuration)
        raise SystemExit(MISUSED)
    if root:
        enable = command("systemctl", "--root", str(root), "enable", place.unit)
        say(f"All that it needs lies in {root}; enable it with: {enable}")
    else:
        _enable(place, changed=changed, now=now)


@click.command()
@instance_argument
@_root
@click.pass_obj
def remove(config_option: str | None, instance: str | None, *, root: Path | None) -> None:
    """Stop and disable it, and take away what `install` has written.

    The account, the configuration, the state and the folders stay.
    """
    place = _place(instance, root, config_option)
    _may_change(place)
    ours = _ours(place)
    if not root and Unit.read(place.unit, place.root) and (_asked("is-enabled", place) == "enabled" or _runs(place)):
        _run("systemctl", "disable", "--now", "--quiet", place.unit)
        say(f"Stopped and disabled {place.unit}.")
    elif not ours:
        say(f"{place.unit} isn't installed: there is nothing to be done.")
        return
    for path in ours:
        place.at(path).unlink()
        say(f"Removed {path}.")
        if path == place.drop_in and not any(place.at(path.parent).iterdir()):
            place.at(path.parent).rmdir()
    if not root:
        _run("systemctl", "daemon-reload")
    tell(f"The account filedrop, {place.configuration.parent}, the state and all folders stay as they are.")


@click.command()
@instance_argument
@click.pass_obj
def start(config_option: str | None, instance: str | None) -> None:
    """Start it, and wait until it is up."""
    place = _place(instance, None, config_option)
    stale = _stale(place) if Unit.read(place.unit) else []
    if _asked("is-active", place) == "active":
        say(f"{place.unit} is running already.")
    else:
        _order("start", place)
    _tell_stale(stale)


@click.command()
@instance_argument
@click.pass_obj
def stop(config_option: str | None, instance: str | None) -> None:
    """Stop it. What is on the wire gets 20 seconds."""
    _order("stop", _place(instance, None, config_option))


@click.command()
@instance_argument
@click.option("--json", "as_json", is_flag=True, help="One object.")
@_root
@click.pass_obj
def status(config_option: str | None, instance: str | None, *, as_json: bool, root: Path | None) -> None:
    """Show whether it is installed, enabled and running, and whether its files are as the configuration wants them.

    Exit status 1 where one of these isn't so.
    """
    place = _place(instance, root, config_option)
    unit = Unit.read(place.unit, place.root)
    stale = _stale(place) if unit else []
    enabled, active = (_asked(f"is-{how}", place) if unit and not root else None for how in ("enabled", "active"))
    if as_json:
        show_json({
            "unit": place.unit, "file": str(unit.path) if unit else None, "account": unit.user if unit else None,
            "enabled": enabled, "active": active, "stale": stale,
        })  # fmt: skip
    elif unit is None:
        say(f"{place.unit} isn't installed: run filedrop service install")
    else:
        say(f"{place.unit} is installed ({unit.path}), for the account {unit.user}.")
        if not root:
            say(f"It is {enabled} and {active}.")
        _tell_stale(stale)
    is_up = root is not None or (enabled, active) == ("enabled", "active")
    raise SystemExit(0 if unit and not stale and is_up else FAILED)


def _stale(place: Place) -> list[str]:
    """The files that aren't as the configuration wants them. Raises ConfigError."""
    texts = written(place, configuration.load(place.configuration_lies_at))
    return [str(path) for path, text in texts.items() if _text(place.at(path)) != text]


def _tell_stale(stale: list[str]) -> None:
    for path in stale:
        tell(f"{path} isn't what the configuration wants: run filedrop service install")


def _place(instance: str | None, root: Path | None, option: str | None) -> Place:
    """Where it is installed. Raises FiledropError where there can be no service."""
    if root is None and shutil.which("systemctl") is None:
        raise FiledropError("there is no systemd here, which runs services: have filedrop run started by what does")
    return Place.choose(instance, root or Path("/"), option)


def _may_change(place: Place) -> None:
    """Raises FiledropError where nothing can be installed or removed."""
    if place.root != Path("/"):
        return
    if sys.platform != "win32" and os.geteuid() != 0:
        raise FiledropError("only root may install or remove a service: run this with sudo")
    if not BOOTED.is_dir():
        raise FiledropError(
            "this system wasn't started by systemd, so nothing here runs services; to write the files only, into an "
            "image, for one, name its folder with --root"
        )


def _write(place: Place, texts: dict[Path, str]) -> bool:
    """Write what isn't there like that yet, and say so. Did anything change?

    Raises FiledropError for what somebody else has written; then nothing is.
    """
    wanted = {path: text for path, text in texts.items() if _text(place.at(path)) != text}
    for path in wanted:
        before = _text(place.at(path))
        if before is not None and not before.startswith(SIGNED):
            edit = command("systemctl", "edit", place.unit)
            raise FiledropError(f"{path} isn't from filedrop service install: move it away (what it changes: {edit})")
    for path, text in wanted.items():
        target = place.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.tmp")  # systemd reads no file that begins with a dot
        draft.write_text(text, "utf-8")
        draft.chmod(0o644)
        draft.replace(target)
        say(f"Wrote {path}.")
    if not wanted:
        say("All files are there already, as the configuration wants them.")
    return bool(wanted)


def _ours(place: Place) -> list[Path]:
    """What `install` has written for this unit, and no other filedrop needs."""
    others = {path for path in place.at(UNITS).glob("filedrop*.service.d") if path != place.at(place.drop_in.parent)}
    files = [place.drop_in]
    if not any(("@" in path.name) == bool(place.instance) for path in others):
        files.append(place.unit_file)
    if not others:
        files += SHARED
    return [path for path in files if (_text(place.at(path)) or "").startswith(SIGNED)]


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except OSError:
        return None


def _enable(place: Place, *, changed: bool, now: bool) -> None:
    if changed:
        _run("systemctl", "daemon-reload")
    if _asked("is-enabled", place) != "enabled":
        _run("systemctl", "enable", "--quiet", place.unit)
        say(f"Enabled {place.unit}: it starts with the system.")
    is_active = _asked("is-active", place) == "active"
    if now and (changed or not is_active):
        _run("systemctl", "restart", place.unit)
        say(f"Started {place.unit}.")
    elif not is_active:
        tell(f"Look it over with: {command(*place.command, 'check', '--as-service')}")
        tell(f"Start it with: {command('systemctl', 'start', place.unit)}")
    elif changed:
        tell(f"It runs by what was there before, until: {command('systemctl', 'restart', place.unit)}")


def _order(order: str, place: Place) -> None:
    """Have systemd start or stop it; it waits for that."""
    _may_change(place)
    _run("systemctl", order, place.unit)
    say(f"{'Started' if order == 'start' else 'Stopped'} {place.unit}.")


def _asked(question: str, place: Place) -> str:
    """What systemctl answers, in its one word."""
    words = ("systemctl", question, place.unit)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _runs(place: Place) -> bool:
    """Does it run, or is it on its way there, between two attempts perhaps?"""
    return _asked("is-active", place) not in ("inactive", "failed", "unknown")


def _run(*words: str) -> None:
    """Run a command of systemd's. Raises FiledropError with what it said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise FiledropError(f"{command(*words)} failed: {said}")
