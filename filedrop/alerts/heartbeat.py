"""The heartbeat: an address that is asked for while everything goes on. Its silence is the alarm, whatever the cause.

The address is a secret, since whoever knows it can feign a heartbeat: no more of it than its host is ever shown.
"""

from __future__ import annotations

import math
import ssl
from errno import EPROTO
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filedrop import __version__
from filedrop.errors import FiledropError
from filedrop.files.patience import within
from filedrop.pauses import EACH_MINUTE
from filedrop.status.model import folders_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.config import Heartbeat
    from filedrop.model.report import DaemonReport
    from filedrop.process.guard import Guard
    from filedrop.status.model import Status

PATIENCE = 10.0  # seconds for the whole of it
_WELL = range(200, 300)


class NotHeard(FiledropError):
    """The heartbeat's address could not be asked for: the sentence says why."""


def ask(url: str) -> None:
    """Ask for this address, without a proxy; a redirection isn't followed. Raises NotHeard."""
    at = urlsplit(url)
    shown = f"heartbeat.url: {at.scheme}://{at.netloc}/..."
    try:
        status = within(PATIENCE, lambda: _get(url))
    except ssl.SSLCertVerificationError as error:
        raise NotHeard(f"{shown}: its certificate isn't trusted ({error.verify_message})") from None
    except TimeoutError:
        raise NotHeard(f"{shown}: it doesn't respond") from None
    except OSError as error:
        raise NotHeard(f"{shown}: it can't be reached: {error.strerror or type(error).__name__}") from None
    if status not in _WELL:
        raise NotHeard(f"{shown}: it returned {status}; check the address")


def _get(url: str) -> int:
    """The status of the answer to a GET. Raises OSError."""
    at = urlsplit(url)
    kind = HTTPSConnection if at.scheme == "https" else HTTPConnection
    connection = kind(at.hostname or "", at.port, timeout=PATIENCE)
    try:
        path = f"{at.path or '/'}{f'?{at.query}' if at.query else ''}"
        connection.request("GET", path, headers={"User-Agent": f"filedrop/{__version__}"})
        return connection.getresponse().status
    except (HTTPException, UnicodeError) as error:  # UnicodeError: of letters that can't be in an address
        raise OSError(EPROTO, f"no HTTP ({type(error).__name__})") from None  # its words may hold the address
    finally:
        connection.close()


class HeartbeatSender:
    """Asks for the address every `every`, as long as everything goes on. For one thread.

    Everything goes on: nothing stands still (`standstills`), all folders are available, all accounts and the journal
    can be used, and since the start each inbox was listed and each outbound folder scanned. `guard` reports why the
    address could not be asked for.
    """

    def __init__(self, settings: Heartbeat, *, steady: Callable[[], float], guard: Guard) -> None:
        self._url = settings.url
        self._every = settings.every.total_seconds()
        self._retry = EACH_MINUTE.within(settings.every)
        self._steady = steady
        self._guard = guard
        self._next = -math.inf

    def turn(self, report: DaemonReport, status: Status) -> None:
        """Ask for the address if that is due; `status` is how it stands now."""
        begun = self._steady()
        if self._url is None or begun < self._next or not self._is_round(report, status):
            return
        try:
            ask(self._url.get_secret_value())
        except NotHeard as error:
            self._guard.note("heartbeat.url", str(error), "heartbeat.failed")
            self._next = begun + self._retry.seconds()
        else:
            self._guard.note_success("heartbeat.url")
            self._next = begun + self._every

    def _is_round(self, report: DaemonReport, status: Status) -> bool:
        """Whether everything can be used, was looked at since the start, and goes on."""
        outbound = [folder for account in report.accounts for folder in account.outbound]
        return (
            not (status["journal"] or report.standstills)
            and all(folder["available"] for _, folder in folders_of(status))
            and all(account.access.condition == "ok" and account.inbox.last_poll for account in report.accounts)
            and not any(folder.trouble or folder.is_hung or folder.last_scan == -math.inf for folder in outbound)
        )
