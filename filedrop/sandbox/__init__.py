"""An access point of one's own: all eleven endpoints of the interface, on loopback, for trying out and for tests.

It is written from the interface document and the field notes alone, by other hands than filedrop's client, and shares
no code with it. By default it follows the document; with `quirks` it follows the notes wherever they differ, which
`dialect` lists. Its parts:

    server     waitress, on a socket and a thread
    app        the endpoints
    front      login, refusals, the Date on every answer
    search     the query of /messages
    upload     a document on its way to disk
    answers    the XML
    dialect    the document's way and the field notes' way
    store      messages, documents, and the network that carries them
    message    the nouns of the store
    network    how ids look, and what participants accept
    accounts   who may log in

Flask and waitress come with `filedrop[sandbox]` and are imported only when a sandbox is made.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from filedrop.errors import FiledropError
from filedrop.sandbox.accounts import SAMPLE_ACCOUNTS, SandboxAccount, homes, parse_account
from filedrop.sandbox.dialect import DOCUMENT, FIELD
from filedrop.sandbox.message import Message
from filedrop.sandbox.store import Store, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from _typeshed.wsgi import WSGIApplication

    from filedrop.sandbox.server import Server

__all__ = ["SAMPLE_ACCOUNTS", "Message", "Sandbox", "SandboxAccount", "Store", "parse_account"]


class Sandbox:
    """A sandbox access point, running between `start` and `stop`.

    Its accounts are exactly `accounts`; the messages in `state` stay from one sandbox to the next. A posted document
    is delivered `deliver_after` later. Port 0 chooses a free port at the first start and keeps it. `app` may be wrapped
    before the start, or served by another server. FiledropError: a library, the folder or the port can't be had.
    """

    def __init__(
        self,
        state: Path,
        accounts: Sequence[SandboxAccount],
        *,
        deliver_after: timedelta = timedelta(seconds=1),
        quirks: bool = False,
        port: int = 0,
        host: str = "127.0.0.1",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        try:
            from filedrop.sandbox.app import AccessPoint  # noqa: PLC0415 - an optional dependency
            from filedrop.sandbox.server import Server  # noqa: PLC0415 - likewise
        except ModuleNotFoundError as error:
            raise FiledropError(
                f"the sandbox needs {error.name}, which isn't installed; write: pip install 'filedrop[sandbox]'"
            ) from error
        participants = homes(accounts)
        self.store = Store(state.absolute(), clock=clock)
        self.store.connect(participants)
        self.app: WSGIApplication = AccessPoint(
            self.store, accounts, FIELD if quirks else DOCUMENT, deliver_after, clock
        ).flask
        self._serve = Server
        self._server: Server | None = None
        self._host = host
        self._port = port

    @property
    def base_url(self) -> str:
        """Where it answers, once it has been started."""
        return f"http://{self._host}:{self._port}"

    def start(self) -> None:
        """Returns when it accepts connections."""
        self._server = self._serve(self.app, self._host, self._port)
        self._port = self._server.port

    def stop(self) -> None:
        """Ends the requests in hand and lets go of port and files; harmless when it isn't running."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        self.store.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
