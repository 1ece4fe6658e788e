"""`filedrop service install | remove | start | stop | status`: filedrop as a service of the system.

    naming      which of several on a machine; the example of a configuration
    systemd     the commands on Linux
      texts       what is written: the unit, its account and folders, and what the configuration says, as a drop-in
      installed   what lies there, and what systemd makes of it: the account, and where it may write
      account     becoming the service's account (`check --as-service`)
    windows     the commands on Windows, and `run`, which its service manager calls
      manager     what is said to the service manager, and what it answers
      access      what the service's account may do with which folder
      inside      `check --as-service`: the service itself runs it, and answers
      hosted      filedrop as the service manager sees it
      eventlog    what the event log is told

Installing follows from the configuration alone, so that doing it again changes nothing.
"""

from __future__ import annotations

import sys

import click

if sys.platform == "win32":
    from filedrop.cli.service.windows import install, remove, run, start, status, stop
else:
    from filedrop.cli.service.systemd import install, remove, start, status, stop


@click.group(epilog="\b\nExample: filedrop service status")
def service() -> None:
    """Install, start, stop or remove filedrop as a service of the system, or show its status.

    INSTANCE names one of several filedrops on a machine. Its configuration is INSTANCE.yaml, next to the usual one.
    """


for command in (install, remove, start, stop, status):
    service.add_command(command)
if sys.platform == "win32":
    service.add_command(run)
