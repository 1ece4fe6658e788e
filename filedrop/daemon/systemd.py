"""Messages to systemd (sd_notify(3)): READY, STATUS, WATCHDOG, STOPPING. Without systemd, nothing is sent.

And whether filedrop is a service of it, or of Windows.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

from filedrop.text import command

BOOTED = Path("/run/systemd/system")  # sd_booted(3)
ETC = Path("/etc/filedrop")  # config.yaml there is the only filedrop's, each other one an instance's
UNITS = Path("/etc/systemd/system")
VENDOR = Path("/usr/lib/systemd/system")
FOLDERS = (
    UNITS,
    Path("/run/systemd/system"),
    Path("/usr/local/lib/systemd/system"),
    VENDOR,
    Path("/lib/systemd/system"),
)
_SOCKET = "NOTIFY_SOCKET"


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
        path, usual = configuration.absolute(), ETC / "config.yaml"
        instance = instance_by(path)
        unit = "filedrop@.service" if instance else "filedrop.service"
        is_services = instance or path == usual or _is_the_only_ones(path)
        if is_services and BOOTED.is_dir() and any((folder / unit).exists() for folder in FOLDERS):
            return command("filedrop", "service", "start", *filter(None, (instance,)))
        return _by_hand(path, usual)


def _by_hand(configuration: Path, usual: Path) -> str:
    named = () if configuration == usual else ("--config", str(configuration))
    return command("filedrop", *named, "run")


def instance_by(configuration: Path) -> str | None:
    """Which of several filedrops goes by this configuration, None for the only one."""
    if configuration.parent != ETC or configuration.stem == "config" or _is_the_only_ones(configuration):
        return None
    return configuration.stem


def _is_the_only_ones(configuration: Path) -> bool:
    """Whether a drop-in of filedrop.service, which has no instances, names this configuration."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        texts = (
            file.read_text("utf-8") for folder in FOLDERS for file in (folder / "filedrop.service.d").glob("*.conf")
        )
        return any(f"FILEDROP_CONFIG={configuration}" in text for text in texts)
    return False


def notify(state: str) -> None:
    """Send a message to the service manager, such as `READY=1` or `STATUS=...`."""
    address = os.environ.get(_SOCKET, "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return
    if address.startswith("@"):  # Linux's abstract sockets
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(state.encode(), address)


def watchdog_interval() -> float | None:
    """How often, in seconds, the service manager wants a sign of life: half of its time-out. None: it wants none."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdecimal() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(microseconds) / 2_000_000
