#!/usr/bin/env bash
# urllib3 2.8.0: the body of a request is sent within the time-out for connecting.
#
# The time-out for reading is only set once the whole request is sent. So a document that a slow server takes in pieces
# fails after the few seconds that are right for a connection, and maybe the server has it.
. "$(dirname "$0")/shared.sh"
python urllib3==2.8.0

post() {
    python3 - <<'END'
import socket, threading, time
import urllib3

listener = socket.create_server(("127.0.0.1", 0))
accepted = []
threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True).start()  # and reads nothing
times = urllib3.Timeout(connect=1, read=60)
pool = urllib3.HTTPConnectionPool("127.0.0.1", listener.getsockname()[1], timeout=times, retries=False)
begun = time.monotonic()
try:
    pool.request("POST", "/outbox", body=bytes(50_000_000))
except urllib3.exceptions.ProtocolError as error:
    print(f"after {time.monotonic() - begun:.0f} s: {error.args[1]!r}")
END
}

expect post <<'END'
after 1 s: TimeoutError('timed out')
END
