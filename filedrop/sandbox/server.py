"""Serves a WSGI application on a socket of its own, from a thread of its own, until it is stopped.

Connections are kept open between requests, but after a 204 waitress closes them, and says so.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from waitress import create_server, wasyncore  # type: ignore[import-untyped] # waitress has no types

from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_THREADS = 16  # requests at once; more of them wait


class Server:
    """A running server. FiledropError: the address can't be had."""

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
