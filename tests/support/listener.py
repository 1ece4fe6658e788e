"""A server's connections: each is served by a thread of its own, and all end with the server."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


class Listener:
    """Listens on loopback, by TLS where it has that. `connections` counts those that it has accepted."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.closing = threading.Event()
        self.connections = 0
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="listener", daemon=True).start()

    def serve(self, sock: socket.socket, number: int) -> None:
        """Serve a connection, the `number`-th. Raises OSError, which ends it."""
        raise NotImplementedError

    def close(self) -> None:
        """End every connection."""
        self.closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with suppress(OSError), sock:
            wrapped = self._tls.wrap_socket(sock, server_side=True) if self._tls else sock
            with self._lock:
                self._open.add(wrapped)
            with wrapped:
                try:
                    self.serve(wrapped, number)
                finally:
                    with self._lock:
                        self._open.discard(wrapped)


def reset_at_end(sock: socket.socket) -> None:
    """Have a connection reset (RST) when it is closed, and not ended in good order."""
    on_for_no_time = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, on_for_no_time)
