"""The command that starts a filedrop: its service's, by systemd's files or Windows' registry, or `run`."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from filedrop.process import systemd
from filedrop.text import command

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    import winreg

    from filedrop.config import default_folder

    SERVICES = r"SYSTEM\CurrentControlSet\Services"

    def start_command(configuration: Path) -> str:
        """The command that starts the filedrop of this configuration: its service's, where one is installed."""
        named = f"{configuration.absolute()}"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, SERVICES) as services:
            for number in range(winreg.QueryInfoKey(services)[0]):
                with contextlib.suppress(OSError):  # removed meanwhile, or no program
                    name = winreg.EnumKey(services, number)
                    program, _, instance = name.partition("-")
                    if program == "filedrop" and named in _called(services, name):
                        return command("filedrop", "service", "start", *filter(None, (instance,)))
        return _by_hand(configuration.absolute(), default_folder() / "config.yaml")

    def _called(services: winreg.HKEYType, name: str) -> str:
        """The command line of a service. Raises OSError."""
        with winreg.OpenKey(services, name) as service:
            return str(winreg.QueryValueEx(service, "ImagePath")[0])

else:

    def start_command(configuration: Path) -> str:
        """The command that starts the filedrop of this configuration: its service's, where one is installed."""
        path, usual = configuration.absolute(), systemd.ETC / "config.yaml"
        instance = systemd.instance_by(path)
        unit = "filedrop@.service" if instance else "filedrop.service"
        is_services = instance or path == usual or systemd.is_the_only_ones(path)
        if is_services and systemd.BOOTED.is_dir() and any((folder / unit).exists() for folder in systemd.FOLDERS):
            return command("filedrop", "service", "start", *filter(None, (instance,)))
        return _by_hand(path, usual)


def _by_hand(configuration: Path, usual: Path) -> str:
    named = () if configuration == usual else ("--config", str(configuration))
    return command("filedrop", *named, "run")
