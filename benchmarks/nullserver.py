"""An access point that answers as fast as it can and keeps nothing: `python -m benchmarks.nullserver`.

One thread on raw sockets: it reads a body by its Content-Length, throws it away, and answers with what was prepared.
It prints its address and ends when its standard input does. `--delay` is in seconds, before each answer. `--inbox` and
`--size` say how many messages are unread at the start, and how many bytes each has.

What was posted counts as delivered at once. `GET /times`, which no access point has, tells of each post the number of
the document in it, and when (CLOCK_MONOTONIC, which all processes share) its 201 left; `?index=` from which one on.
"""

from __future__ import annotations

import argparse
import heapq
import select
import socket
import sys
import time
from email.utils import formatdate
from itertools import count, islice
from urllib.parse import parse_qs

from benchmarks.documents import NUMBER, numbered_document
from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER

FIRST_OUT, FIRST_IN = 4_300_000_000, 5_300_000_000  # all numbers have ten digits: the answers' length is constant
PAGE = 25
BLOCK = 1 << 18
SINCE = "2026-11-20T08:00:00.000+01:00"
FORM = 4000  # bytes of a piece in which a document's number is looked for: it stands behind the form's fields
NOT_FOUND = "404 Not Found"

Asked = tuple[bytes, str, bytes]


class AccessPoint:
    """What is answered; `answer` is given a request's line and the document's number, and gives pieces to be sent."""

    def __init__(self, base: str, *, inbox: int, size: int) -> None:
        self.base = base
        self.times: list[tuple[bytes, float]] = []
        self._unread = dict.fromkeys(range(FIRST_IN, FIRST_IN + inbox))
        head, self._rest = numbered_document(size)
        self._head = memoryview(head)
        self._rest_size = len(self._rest)
        self._posted = self._prepared()
        self._date = (0, b"")

    def answer(self, method: bytes, target: str, document: bytes) -> list[memoryview]:
        """The pieces of the answer."""
        if method == b"POST" and target == "/outbox":
            given = FIRST_OUT + len(self.times)
            self.times.append((document, time.monotonic()))
            return [memoryview(self._posted % (self._now(), given, given, given, given))]
        path, _, query = target.partition("?")
        steps = path.strip("/").split("/")
        if method == b"POST" and steps[0] == "inbox" and steps[-1] == "read":
            self._unread.pop(int(steps[1]), None)
            return self._xml(self._list("messages-query-response", self._message(int(steps[1]), "IN", delivered=True)))
        if method != b"GET":
            return self._xml(b"", NOT_FOUND)
        if steps[0] == "messages" and steps[-1] == "xml-document":
            number = steps[1].encode()
            size = len(self._head) + len(number) + self._rest_size
            head = self._head_of("200 OK", size, "", self._now().decode())
            return [memoryview(head + bytes(self._head) + number), memoryview(self._rest)]
        return self._xml(*self._asked(steps, int(parse_qs(query).get("index", ["1"])[0])))

    def _prepared(self) -> bytes:
        """The answer to a post, but for its date and its number."""
        number = f"{FIRST_OUT:010}"
        body = self._list("outbox-post-response", self._message(FIRST_OUT, "OUT"))
        template = self._head_of("201 Created", len(body), f"Location: {self.base}/outbox/{number}\r\n", "%s") + body
        return template.replace(b"%", b"%%").replace(b"%%s", b"%s").replace(number.encode(), b"%d")

    def _asked(self, steps: list[str], page: int) -> tuple[bytes, str]:
        found, start = b"", PAGE * (page - 1)
        match steps:
            case ["inbox"]:
                numbers = list(islice(self._unread, start, start + PAGE))
                found = self._page("inbox", numbers, page, more=start + PAGE < len(self._unread))
            case ["outbox"]:
                found = self._page("outbox", [], page, more=False)
            case ["outbox", number]:
                found = self._list("outbox-query-response", self._message(int(number), "OUT", delivered=True))
            case ["messages"]:
                listed = range(FIRST_OUT, FIRST_OUT + len(self.times))[start : start + PAGE]
                found = self._page("messages", list(listed), page, more=start + PAGE < len(self.times))
            case ["statistics"]:
                sent, unread = len(self.times), len(self._unread)
                found = f"""<statistics><account name="bench" contact_email=""><messages total="{sent + unread}">
<in total="{unread}" undelivered="{unread}"/><out total="{sent}" undelivered="0"/></messages></account></statistics>
""".encode()
            case ["directory", _, *local_name]:
                pair = f"<DocumentID>{INVOICE_ID}</DocumentID><ProcessID>{BILLING_PROCESS}</ProcessID>"
                transfer = f"<accepted-document-transfer>{pair}</accepted-document-transfer>" if local_name else ""
                found = f'<directory-response version="1.0">{transfer}</directory-response>'.encode()
            case ["times"]:
                found = b"".join(b"%s %.6f\n" % one for one in self.times[page - 1 :])
            case _:
                return b"", NOT_FOUND
        return found, "200 OK"

    def _page(self, view: str, numbers: list[int], page: int, *, more: bool) -> bytes:
        following = f"<next>{self.base}/{view}?index={page + 1}</next>" if more else "<next/>"
        direction = "IN" if view == "inbox" else "OUT"
        messages = b"".join(self._message(number, direction, delivered=direction == "OUT") for number in numbers)
        navigation = f"<navigation>{following}</navigation>".encode()
        return self._list(f"{view}-query-response", navigation + b"<messages>" + messages + b"</messages>")

    def _list(self, root: str, inside: bytes) -> bytes:
        return b'<%s version="1.0">%s</%s>' % (root.encode(), inside, root.encode())

    def _message(self, number: int, direction: str, *, delivered: bool = False) -> bytes:
        view = "inbox" if direction == "IN" else "outbox"
        # Who sent what goes out isn't remembered, and not said: an answer needn't.
        sender = f"<sender>{BUYER}</sender>" if direction == "IN" else ""
        receiver = SELLER if direction == "IN" else BUYER
        since = f"<delivered>{SINCE}</delivered>" if delivered else ""
        return f"""<message><self>{self.base}/{view}/{number}</self>
<xml-document>{self.base}/messages/{number}/xml-document</xml-document>
<message-meta-data><msg-no>{number}</msg-no><direction>{direction}</direction><received>{SINCE}</received>{since}
<peppol-header>{sender}<receiver>{receiver}</receiver><channel></channel>
<document-id>{INVOICE_ID}</document-id><process-id>{BILLING_PROCESS}</process-id></peppol-header>
</message-meta-data></message>""".encode()

    def _xml(self, body: bytes, status: str = "200 OK") -> list[memoryview]:
        return [memoryview(self._head_of(status, len(body), "", self._now().decode()) + body)]

    def _head_of(self, status: str, size: int, more: str, date: str) -> bytes:
        kind = "Content-Type: application/xml;charset=UTF-8"
        return f"HTTP/1.1 {status}\r\nDate: {date}\r\n{kind}\r\n{more}Content-Length: {size}\r\n\r\n".encode()

    def _now(self) -> bytes:
        second = int(time.time())
        if self._date[0] != second:
            self._date = (second, formatdate(second, usegmt=True).encode())
        return self._date[1]


class Connection:
    """One socket, the request that comes in by it, and the answer that hasn't left yet."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003 - a C function, which takes no keyword
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.closed = False
        self.leaving: list[memoryview] = []
        self._head = b""
        self._request: tuple[bytes, str] | None = None
        self._missing = 0
        self._number = b""

    def begin(self, method: bytes, target: str) -> None:
        """A request's head has come, and its body isn't asked for yet. A ConnectionError ends the connection here."""

    def close(self) -> None:
        """Answer nothing more by it."""
        self.closed = True
        self.sock.close()

    def take(self, piece: memoryview) -> Asked | None:
        """Take what came in; when it ends a request, its method, target and the number of the document in it.

        Whoever asks waits for the answer before asking again: nothing comes behind a request's end.
        """
        if self._request is None:
            self._head += piece
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return None
            first, _, fields = head.partition(b"\r\n")
            self._request = first.split(b" ")[0], first.split(b" ")[1].decode()
            _, named, value = fields.lower().partition(b"content-length:")
            self._missing = int(value.partition(b"\r")[0]) if named else 0
            self._number = b""
            self.begin(*self._request)
            if b"\r\nexpect: 100-continue" in b"\r\n" + fields.lower():
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        else:
            body = bytes(piece[:FORM]) if not self._number else b""
            self._missing -= len(piece) - len(body)
        self._missing -= len(body)
        if body and not self._number and (found := NUMBER.search(body)):
            self._number = found[1]
        if self._missing > 0:
            return None
        asked = (*self._request, self._number)
        self._request, self._head = None, b""
        return asked

    def send(self, pieces: list[memoryview]) -> bool:
        """Send as much as the socket takes; True when all has left."""
        self.leaving += pieces
        while self.leaving:
            try:
                sent = self.sock.send(self.leaving[0])
            except BlockingIOError:
                return False
            if sent < len(self.leaving[0]):
                self.leaving[0] = self.leaving[0][sent:]
            else:
                del self.leaving[0]
        return True


class Server:
    """The one thread: who has asked gets an answer, `delay` seconds later."""

    def __init__(self, listener: socket.socket, access_point: AccessPoint, delay: float) -> None:
        self._listener = listener
        self._access_point = access_point
        self._delay = delay
        self._poll = select.epoll()
        self._block = memoryview(bytearray(BLOCK))
        self._connections: dict[int, Connection] = {}
        self._waiting: list[tuple[float, int, Connection, Asked]] = []
        self._order = count()

    def serve(self) -> None:
        """Answer until standard input ends."""
        waiting, stdin, listening = self._waiting, sys.stdin.fileno(), self._listener.fileno()
        for descriptor in (stdin, listening):
            self._poll.register(descriptor, select.EPOLLIN)
        while True:
            for descriptor, event in self._poll.poll(max(0.0, waiting[0][0] - time.monotonic()) if waiting else None):
                if descriptor == stdin:
                    return
                if descriptor == listening:
                    self._accept()
                else:
                    self._see_to(self._connections[descriptor], event)
            while waiting and waiting[0][0] <= time.monotonic():
                self._answer(*heapq.heappop(waiting)[2:])

    def connection(self, sock: socket.socket) -> Connection:
        """What serves this socket."""
        return Connection(sock)

    def pause(self, _asked: Asked) -> float:
        """Seconds to wait before this is answered."""
        return self._delay

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        self._connections[sock.fileno()] = self.connection(sock)
        self._poll.register(sock, select.EPOLLIN)

    def _see_to(self, connection: Connection, event: int) -> None:
        if event & select.EPOLLOUT and connection.send([]):
            self._poll.modify(connection.sock, select.EPOLLIN)
        if not event & ~select.EPOLLOUT:
            return
        try:
            size = connection.sock.recv_into(self._block)
            asked = connection.take(self._block[:size]) if size else None
        except ConnectionError:
            size = 0
        if not size:
            self._end(connection)
        elif asked:
            if delay := self.pause(asked):
                heapq.heappush(self._waiting, (time.monotonic() + delay, next(self._order), connection, asked))
            else:
                self._answer(connection, asked)

    def _answer(self, connection: Connection, asked: Asked) -> None:
        if connection.closed:
            return
        try:
            if not connection.send(self._access_point.answer(*asked)):
                self._poll.modify(connection.sock, select.EPOLLIN | select.EPOLLOUT)
        except ConnectionError:
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        del self._connections[connection.sock.fileno()]
        connection.close()


def main() -> None:
    """Serve at a free port of loopback."""
    parser = argparse.ArgumentParser(description="The null access point.")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--inbox", type=int, default=0, metavar="MESSAGES")
    parser.add_argument("--size", type=int, default=20_000, metavar="BYTES")
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(base, flush=True)  # noqa: T201 - whoever started it waits for this line
    Server(listener, AccessPoint(base, inbox=options.inbox, size=options.size), options.delay).serve()


if __name__ == "__main__":
    main()
