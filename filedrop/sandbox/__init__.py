"""An access point of one's own: the whole interface, on loopback, for trying out and for tests.

It is written from the interface document and the field notes alone, by other hands than filedrop's client, and shares
no code with it. By default it follows the document; with `quirks` it follows the notes wherever they differ, and what
only some servers do is added by name; `dialect` lists all of it. Real clients work with it unchanged. Its parts:

    app        the endpoints
    front      login, refusals, the Date on every answer
    upload     a document on its way to disk
    answers    the XML
    dialect    the document's way and the field notes' way, and a third for tests
    store      messages, documents, and the network that carries them
    message    the nouns of the store, and the query of /messages
    network    how ids look, what participants accept, and who may log in

Flask and waitress come with `filedrop[sandbox]`.
"""

from __future__ import annotations

import socket
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from waitress import create_server, wasyncore  # type: ignore[import-untyped] # waitress has no types

from filedrop.errors import FiledropError
from filedrop.sandbox.app import AccessPoint
from filedrop.sandbox.dialect import DOCUMENT, FIELD, NAMESPACED, ODDITIES, with_oddities
from filedrop.sandbox.message import Message
from filedrop.sandbox.network import SAMPLE_ACCOUNTS, SandboxAccount, homes, parse_account
from filedrop.sandbox.store import Store, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from _typeshed.wsgi import WSGIApplication

    from filedrop.sandbox.dialect import Dialect

__all__ = [
    "NAMESPACED",
    "ODDITIES",
    "SAMPLE_ACCOUNTS",
    "Message",
    "Sandbox",
    "SandboxAccount",
    "Store",
    "parse_account",
]

HOST = "127.0.0.1"
_THREADS = 16  # requests at once; more of them wait


class Sandbox:
    """A sandbox access point, running between `start` and `stop`.

    Its accounts are exactly `accounts`; the messages in `state` stay from one sandbox to the next. A posted document
    is delivered `deliver_after` later. `oddities` are names of `ODDITIES`. Port 0 chooses a free port at the first
    start and keeps it. `app` may be wrapped before the start, or served by another server. FiledropError: the folder or
    the port can't be had.
    """

    def __init__(
        self,
        state: Path,
        accounts: Sequence[SandboxAccount],
        *,
        deliver_after: timedelta = timedelta(seconds=1),
        quirks: bool = False,
        oddities: Iterable[str] = (),
        dialect: Dialect | None = None,
        port: int = 0,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        participants = homes(accounts)
        self.store = Store(state.absolute(), clock=clock)
        self.store.connect(participants)
        speaks = with_oddities(dialect or (FIELD if quirks else DOCUMENT), oddities)
        self.app: WSGIApplication = AccessPoint(self.store, accounts, speaks, deliver_after, clock).flask
        self._server: Server | None = None
        self._port = port

    @property
    def base_url(self) -> str:
        """Where it answers, once it has been started."""
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Returns when it accepts connections."""
        self._server = Server(self.app, HOST, self._port)
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


class Server:
    """Serves a WSGI application on a socket of its own, from a thread of its own, until it is stopped.

    Connections are kept open between requests, but not after a 204 (tests/findings/waitress-204.sh). FiledropError: the
    address can't be had.
    """

    def __init__(self, application: WSGIApplication, host: str, port: int) -> None:
        try:
            # Not waitress's own: on Windows it would share a port that is taken.
            listener = socket.create_server((host, port))
        except (OSError, OverflowError) as error:
            raise FiledropError(
                f"the sandbox can't listen on {host} port {port}: {error}; "
                "if another program has the port, stop it or choose another port"
            ) from error
        self.port: int = listener.getsockname()[1]
        self._stopping = threading.Event()
        self._channels: dict[int, wasyncore.dispatcher] = {}
        self._waitress = create_server(application, map=self._channels, sockets=[listener], threads=_THREADS)
        self._thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the requests in hand, then every connection."""
        self._stopping.set()
        self._waitress.pull_trigger()
        self._thread.join()
        # Only now: until here the trigger, which is one of the channels, must be open to be pulled.
        self._waitress.task_dispatcher.shutdown()
        wasyncore.close_all(self._channels)

    def _serve(self) -> None:
        # Waitress's own loop ends only by an exception; this one at its next turn.
        while not self._stopping.is_set():
            wasyncore.loop(timeout=1, map=self._channels, count=1)
