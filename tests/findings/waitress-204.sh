#!/usr/bin/env bash
# waitress 3.0.2: each answer without a body (204, 304) closes the connection.
#
# It says so in `Connection`. So a client that marks messages as read needs a new connection, with TLS a new
# handshake, for each of them. An empty body with `Content-Length: 0` keeps it open.
. "$(dirname "$0")/shared.sh"
python waitress==3.0.2

answers() {
    python3 - <<'END'
import http.client, threading
import waitress

def application(environ, start_response):
    status = environ["PATH_INFO"][1:]
    start_response(f"{status} Answer", [] if status in ("204", "304") else [("Content-Length", "0")])
    return [b""]

server = waitress.create_server(application, host="127.0.0.1", port=0)
threading.Thread(target=server.run, daemon=True).start()
for status in ("200", "204", "304", "404"):
    connection = http.client.HTTPConnection("127.0.0.1", server.effective_port)
    connection.request("GET", f"/{status}")
    answer = connection.getresponse()
    answer.read()
    print(f"{status}: Connection: {answer.getheader('Connection')}, {'open' if connection.sock else 'closed'}")
END
}

expect answers <<'END'
200: Connection: None, open
204: Connection: close, closed
304: Connection: close, closed
404: Connection: None, open
END
