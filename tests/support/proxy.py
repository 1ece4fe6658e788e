"""A network between filedrop and a database, which loses what a test wants it to lose."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class _Link:
    """One connection, with the directions in which it still carries something."""

    def __init__(self, client: socket.socket, server: socket.socket, heard: Callable[[], None]) -> None:
        self.requests = self.answers = True
        self._heard = heard
        self._ends = (client, server)
        threading.Thread(target=self._carry, args=(client, server, "requests"), daemon=True).start()
        threading.Thread(target=self._carry, args=(server, client, "answers"), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, direction: str) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if direction == "requests":
                    self._heard()
                if getattr(self, direction):
                    target.sendall(data)
            if getattr(self, direction):  # else the other end never hears of it
                target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """A port on loopback that leads to the Unix socket of a server. It loses only what is on `links` by then."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._links: list[_Link] = []
        self.requests = 0  # messages of clients
        self.is_silent = False  # new connections get no answer either
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._target)
                except OSError:  # the server is stopped
                    client.close()
                    server.close()
                    continue
                link = _Link(client, server, self._count)
                link.requests = link.answers = not self.is_silent
                self._links.append(link)

    def _count(self) -> None:
        self.requests += 1

    def lose(self, *, requests: bool = False, answers: bool = False) -> None:
        """Lose what comes from now on, in these directions."""
        for link in self._links:
            link.requests = link.requests and not requests
            link.answers = link.answers and not answers

    def lead_to(self, target: Path) -> None:
        """Lead new connections to another server, and end all that there are."""
        self._target = str(target)
        self.cut()

    def cut(self) -> None:
        """End all connections; new ones are carried."""
        links, self._links = self._links, []
        for link in links:
            link.close()

    def close(self) -> None:
        self._listener.close()
        self.cut()
