"""Apprise's addresses, told in a child process. An address mostly holds a secret: only its scheme is ever shown.

What the environment says of proxies and logins plays no part (contract 6), and passwords in it are none of Apprise's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from typing import TYPE_CHECKING

from filedrop.alerts.child import NOT_INSTALLED
from filedrop.alerts.memory import NotSent
from filedrop.programs import how_it_ended, python_command, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.alerts.memory import Letter

LONGEST_SENDING = 60.0  # seconds for all addresses together
LONGEST_TEXT = 4000  # letters: chats take no more
_ENVIRONMENT = {"NO_PROXY": "*", "NETRC": os.devnull}  # requests, which Apprise uses, asks no proxy and reads no .netrc


def name_of(url: str) -> str:
    """What an address is remembered by; it tells nothing of it."""
    return hashlib.sha256(url.encode()).hexdigest()


def send(letter: Letter, urls: Mapping[str, str]) -> None:
    """Send it to these addresses, each under what it is remembered by. Raises NotSent."""
    asked = {"urls": dict(urls), "title": letter.subject, "body": letter.plain[:LONGEST_TEXT]}
    why = "the message was not accepted; check the address"
    try:
        given = json.dumps(asked).encode()  # not in its arguments: everybody sees those
        done = run(python_command("filedrop.alerts.child"), stdin=given, seconds=LONGEST_SENDING, more=_ENVIRONMENT)
    except subprocess.TimeoutExpired as error:
        said, why = error.stdout or b"", f"the message was not accepted within {LONGEST_SENDING:g} seconds"
    except OSError as error:
        raise NotSent(f"alerts.urls: Python can't be started: {error.strerror}") from error
    else:
        if done.returncode == NOT_INSTALLED:
            raise NotSent("alerts.urls: Apprise isn't installed: filedrop manual alerts shows how to install it")
        if done.returncode:
            why = f"its process {how_it_ended(done.returncode)}"
        said = done.stdout  # and no word of stderr, which may hold an address
    had = said.decode().split()
    if left := sorted({f"{url.partition(':')[0]}://..." for name, url in urls.items() if name not in had}):
        raise NotSent(f"alerts.urls: {', '.join(left)}: {why}", had=[name for name in urls if name in had])
