"""Apprise's addresses, told in a child process. An address mostly holds a secret: only its scheme is ever shown.

What the environment says of proxies and logins plays no part (contract 6), and passwords in it are none of Apprise's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from filedrop.alerts.child import NOT_INSTALLED
from filedrop.alerts.mail import NotSent
from filedrop.programs import NO_WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.alerts.memory import Letter

LONGEST = 60.0  # seconds for all addresses together
LONGEST_TEXT = 4000  # letters: chats take no more
# Of the environment: what Python needs, and which certificates are trusted.
_PASSED_ON = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def name_of(url: str) -> str:
    """What an address is remembered by; it tells nothing of it."""
    return hashlib.sha256(url.encode()).hexdigest()


def send(letter: Letter, urls: Mapping[str, str]) -> None:
    """Send it to these addresses, each under what it is remembered by. Raises NotSent."""
    asked = {"urls": dict(urls), "title": letter.subject, "body": letter.plain[:LONGEST_TEXT]}
    why = "can't be told; see that the address is right"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "filedrop.alerts.child"],
            input=json.dumps(asked).encode(),  # not in its arguments: everybody sees those
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # which may hold an address
            timeout=LONGEST,
            check=False,
            env=_environment(),
            creationflags=NO_WINDOW,
        )
    except subprocess.TimeoutExpired as error:
        said, why = error.stdout or b"", f"not told within {LONGEST:g} seconds"
    except OSError as error:
        raise NotSent(f"alerts.urls: Python can't be started: {error.strerror}") from error
    else:
        if done.returncode == NOT_INSTALLED:
            raise NotSent("alerts.urls: Apprise isn't installed: in filedrop's folder, run pip install \".[alerts]\"")
        said = done.stdout
    had = said.decode().split()
    if left := sorted({f"{url.partition(':')[0]}://..." for name, url in urls.items() if name not in had}):
        raise NotSent(f"alerts.urls: {', '.join(left)}: {why}", had=[name for name in urls if name in had])


def _environment() -> dict[str, str]:
    """The child's environment: requests, which Apprise uses, asks no proxy and reads no .netrc.

    Nor does Python run what lies in the working folder.
    """
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "NO_PROXY": "*", "NETRC": os.devnull, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
