"""An access point of ordinary misfortunes: `python -m benchmarks.soakserver --rate=36 --minute=60`.

It is the null access point, and besides it makes so many messages a second until `GET /stop`, knows when each
document was received, hands it on a while later, and has back by its number what was posted. A minute is so many
seconds long, so that short runs have all of it. What goes wrong, each by the count of such requests:

    one post in   1,009  503 with Retry-After, not accepted
                    997  answered after two seconds
                 10,007  accepted, and the connection is cut before it can say so
                 60,013  the connection is reset when the request's head has come
                100,003  500, not accepted
    one reading   2,003  500, not marked
    marked in     5,009  marked, and the connection is cut before it can say so
    one download  3,001  500
    one minute   in 20   every connection is reset at its next request

What leaves a document in doubt is rare: each look for one walks the whole archive, of 10,000 pages after two hours.
"""

from __future__ import annotations

import argparse
import socket
import struct
import time
from collections import Counter
from datetime import datetime

from benchmarks import nullserver
from benchmarks.nullserver import FIRST_IN, FIRST_OUT, PAGE, AccessPoint, Asked, Connection
from benchmarks.traffic import SENDERS, company, parts
from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID

BUSY, RESET, SLOW, CUT, FAILED = 1009, 60_013, 997, 10_007, 100_003
UNMARKED, MARKED_CUT, UNREADABLE = 2003, 5009, 3001
SLOWLY = 2.0  # seconds
OUTAGE_EVERY, OUTAGE_AT = 20, 10  # minutes
SOON, LATE, ONE_IN_LATE = 1 / 30, 1.5, 50  # minutes until it is delivered; one in so many is late
OURS = ("/made", "/stop")  # how many messages were made and are unread; from now on none are made
UNAVAILABLE, BROKEN = "503 Service Unavailable", "500 Internal Server Error"


class UnluckyAccessPoint(AccessPoint):
    """The access point. `answer` raises ConnectionError where the answer is lost."""

    def __init__(self, base: str, *, rate: float, minute: float) -> None:
        super().__init__(base, inbox=0, size=0)
        self.counts = Counter[str]()
        self.minute = minute
        self.begun = time.monotonic()
        self._rate = rate
        self._wall = time.time() - self.begun
        self._made = 0
        self._stopped = False
        self._first_open = 0  # of what was posted: all before is delivered

    def is_out(self) -> bool:
        """Is this the minute in which nobody is there?"""
        minutes = (time.monotonic() - self.begun) / self.minute
        return not self._stopped and int(minutes) % OUTAGE_EVERY == OUTAGE_AT

    def nth(self, kind: str, one_in: int) -> bool:
        """Does the turn come to this kind of request now? Half a turn later than by its count, for all to differ."""
        return self.counts[kind] % one_in == one_in // 2

    def answer(self, method: bytes, target: str, document: bytes) -> list[memoryview]:
        """The pieces of the answer."""
        if method == b"POST" and target == "/outbox":
            return self._post(document)
        if target in OURS:
            self._make()
            self._stopped |= target == "/stop"
            return self._xml(b"%d %d" % (self._made, len(self._unread)))
        if method == b"POST":
            return self._read(target)
        if target.endswith("/xml-document"):
            self.counts["download"] += 1
            if self.nth("download", UNREADABLE):
                return self._xml(b"try again", BROKEN)
            return self._document(int(target.split("/")[2]))
        return super().answer(method, target, document)

    def _post(self, document: bytes) -> list[memoryview]:
        if self.nth("post", BUSY):
            return [memoryview(self._head_of(UNAVAILABLE, 0, "Retry-After: 1\r\n", self._now().decode()))]
        if self.nth("post", FAILED):
            return self._xml(b"try again", BROKEN)
        number = FIRST_OUT + len(self.times)
        self.times.append((document, time.monotonic()))
        if self.nth("post", CUT):
            raise ConnectionAbortedError
        body = self._list("outbox-post-response", self._message(number, "OUT"))
        location = f"Location: {self.base}/outbox/{number}\r\n"
        return [memoryview(self._head_of("201 Created", len(body), location, self._now().decode()) + body)]

    def _read(self, target: str) -> list[memoryview]:
        self.counts["read"] += 1
        if self.nth("read", UNMARKED):
            return self._xml(b"try again", BROKEN)
        answer = super().answer(b"POST", target, b"")
        if self.nth("read", MARKED_CUT):
            raise ConnectionAbortedError
        return answer

    def _prepared(self) -> bytes:
        return b""  # each says when it was received

    def _document(self, msg_no: int) -> list[memoryview]:
        number = msg_no - FIRST_IN if msg_no >= FIRST_IN else int(self.times[msg_no - FIRST_OUT][0])
        document = parts(number)
        size = sum(map(len, document))
        return [memoryview(self._head_of("200 OK", size, "", self._now().decode())), *map(memoryview, document)]

    def _asked(self, steps: list[str], page: int) -> tuple[bytes, str]:
        if steps in (["inbox"], ["statistics"]):
            self._make()
        if steps == ["outbox"]:
            opened = self._undelivered()
            start = PAGE * (page - 1)
            return self._page("outbox", opened[start : start + PAGE], page, more=start + PAGE < len(opened)), "200 OK"
        return super()._asked(steps, page)

    def _make(self) -> None:
        """Messages come in as time goes by."""
        wanted = self._made if self._stopped else int((time.monotonic() - self.begun) * self._rate)
        for number in range(self._made + 1, wanted + 1):
            self._unread[FIRST_IN + number] = None
        self._made = wanted

    def _undelivered(self) -> list[int]:
        opened = [nth for nth in range(self._first_open, len(self.times)) if not self._delivered(nth)]
        self._first_open = opened[0] if opened else len(self.times)
        return [FIRST_OUT + nth for nth in opened]

    def _delivered(self, nth: int) -> float | None:
        at = self.times[nth][1] + self.minute * (SOON if nth % ONE_IN_LATE else LATE)
        return at if at <= time.monotonic() else None

    def _message(self, number: int, direction: str, *, delivered: bool = False) -> bytes:
        if direction == "IN":
            nth = number - FIRST_IN
            received, since = self.begun + nth / self._rate, time.monotonic() if delivered else None
            view, sender, receiver = "inbox", BUYER, SENDERS[company(nth)]
        else:
            document, received = self.times[number - FIRST_OUT]
            since = self._delivered(number - FIRST_OUT)
            view, sender, receiver = "outbox", SENDERS[company(int(document))], BUYER
        until = f"<delivered>{self._said(since)}</delivered>" if since is not None else ""
        return f"""<message><self>{self.base}/{view}/{number}</self>
<xml-document>{self.base}/messages/{number}/xml-document</xml-document>
<message-meta-data><msg-no>{number}</msg-no><direction>{direction}</direction>
<received>{self._said(received)}</received>{until}
<peppol-header><sender>{sender}</sender><receiver>{receiver}</receiver><channel></channel>
<document-id>{INVOICE_ID}</document-id><process-id>{BILLING_PROCESS}</process-id></peppol-header>
</message-meta-data></message>""".encode()

    def _said(self, at: float) -> str:
        return datetime.fromtimestamp(self._wall + at).astimezone().isoformat(timespec="milliseconds")


class UnluckyConnection(Connection):
    """A connection that may be reset when a request begins."""

    def __init__(self, sock: socket.socket, access_point: UnluckyAccessPoint) -> None:
        super().__init__(sock)
        self._access_point = access_point

    def begin(self, method: bytes, target: str) -> None:
        """Reset it, if that is its turn."""
        point = self._access_point
        if target in OURS or target.startswith("/times"):
            return
        is_post = (method, target) == (b"POST", "/outbox")
        point.counts["begun"] += is_post
        if point.is_out() or (is_post and point.nth("begun", RESET)):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionResetError


class Server(nullserver.Server):
    """The one thread."""

    def __init__(self, listener: socket.socket, access_point: UnluckyAccessPoint) -> None:
        super().__init__(listener, access_point, 0.0)
        self._unlucky = access_point

    def connection(self, sock: socket.socket) -> Connection:
        """What serves this socket."""
        return UnluckyConnection(sock, self._unlucky)

    def pause(self, asked: Asked) -> float:
        """Seconds to wait before this is answered."""
        if asked[:2] != (b"POST", "/outbox"):
            return 0.0
        self._unlucky.counts["post"] += 1
        return SLOWLY if self._unlucky.nth("post", SLOW) else 0.0


def main() -> None:
    """Serve at a free port of loopback."""
    parser = argparse.ArgumentParser(description="An access point of ordinary misfortunes.")
    parser.add_argument("--rate", type=float, required=True, metavar="MESSAGES", help="a second")
    parser.add_argument("--minute", type=float, required=True, metavar="SECONDS")
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(base, flush=True)  # noqa: T201 - whoever started it waits for this line
    Server(listener, UnluckyAccessPoint(base, rate=options.rate, minute=options.minute)).serve()


if __name__ == "__main__":
    main()
