"""A wire that breaks where a test says: a TCP proxy between filedrop and a server.

    with Wire(sandbox.base_url) as wire:
        wire.next("POST /outbox", Break("answer", 17, "reset"))

An *exchange* is a request and its answer. Bytes pass as they come until `at` bytes of the broken way have passed; where
there are fewer, nothing happens.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import urlsplit

from support.listener import reset_at_end

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

Way = Literal["request", "answer"]


@dataclass(frozen=True, slots=True)
class Break:
    """What happens to an exchange after `at` bytes of one way.

    `cut` ends the connection to both sides in good order (FIN), `reset` tears it off (RST). `drip` lets the rest pass a
    byte at a time, `seconds` apart; `delay` lets it pass after `seconds`, even if nobody waits for it any more.
    """

    way: Way
    at: int
    how: Literal["cut", "reset", "drip", "delay"]
    seconds: float = 0.0


@dataclass(slots=True)
class Exchange:
    """A request and its answer; `came`: how many bytes of each have come."""

    line: str
    to_break: Break | None
    came: dict[Way, int] = field(default_factory=lambda: {"request": 0, "answer": 0})
    broken: bool = False


@dataclass(slots=True)
class _Connection:
    """What is under way between a client and the server. `ended`: whatever still comes is read and thrown away."""

    sides: tuple[StreamWriter, StreamWriter]
    exchange: Exchange | None = None
    ended: bool = False


class Wire:
    """Stands before the server at `url`, at a `url` of its own; `exchanges` are those so far, in order."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url).hostname, urlsplit(url).port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.exchanges: list[Exchange] = []
        self._breaks: list[tuple[str, deque[Break]]] = []
        self._tasks: set[asyncio.Task[None] | None] = set()
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="wire", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def next(self, line: str, *breaks: Break) -> None:
        """Do this to the next exchanges for `line` (a method and the beginning of a path), one each."""
        self._breaks.append((line, deque(breaks)))

    def broken(self) -> list[Break]:
        """What has happened so far."""
        return [exchange.to_break for exchange in list(self.exchanges) if exchange.broken and exchange.to_break]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # cancels at its end what is under way
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connect, sock=self._listener)
        await self._closing.wait()
        server.close()

    async def _connect(self, from_client: StreamReader, to_client: StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection(*self._server)
        except OSError:  # as if nothing listened here either
            self._reset(to_client)
            return
        self._tasks.add(asyncio.current_task())  # the loop itself would forget it
        connection = _Connection((to_client, to_server))
        with suppress(asyncio.CancelledError):  # the end of the wire
            await asyncio.gather(
                self._pass_on(connection, "request", from_client, to_server),
                self._pass_on(connection, "answer", from_server, to_client),
            )
        for side in connection.sides:
            side.transport.abort()

    async def _pass_on(self, connection: _Connection, way: Way, source: StreamReader, sink: StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                exchange = connection.exchange
                if way == "request" and (exchange is None or exchange.came["answer"]):
                    exchange = connection.exchange = self._begin(data)
                if exchange is not None and not connection.ended:
                    await self._pass(connection, exchange, way, data, sink)
        with suppress(OSError):
            sink.write_eof()

    async def _pass(
        self, connection: _Connection, exchange: Exchange, way: Way, data: bytes, sink: StreamWriter
    ) -> None:
        to_break = exchange.to_break
        left = to_break.at - exchange.came[way] if to_break and to_break.way == way else len(data) + 1
        exchange.came[way] += len(data)
        sink.write(data[: max(left, 0)])
        await sink.drain()
        if to_break is None or left > len(data):
            return
        exchange.broken = True
        match to_break.how:
            case "cut":
                connection.ended = True
                for side in connection.sides:
                    side.write_eof()
            case "reset":
                connection.ended = True
                for side in connection.sides:
                    self._reset(side)
            case "delay":
                await asyncio.sleep(to_break.seconds if left >= 0 else 0)
                sink.write(data[max(left, 0) :])
            case "drip":
                for byte in data[max(left, 0) :]:
                    await asyncio.sleep(to_break.seconds)
                    if sink.is_closing():
                        return
                    sink.write(bytes([byte]))

    def _begin(self, data: bytes) -> Exchange:
        line = data.partition(b"\r\n")[0].decode("latin-1")
        breaks = next((breaks for prefix, breaks in self._breaks if line.startswith(prefix) and breaks), None)
        self.exchanges.append(Exchange(line, breaks.popleft() if breaks else None))
        return self.exchanges[-1]

    def _reset(self, side: StreamWriter) -> None:
        reset_at_end(side.get_extra_info("socket"))
        side.transport.abort()
