"""Starting, stopping, starting again; many at once; what it says when it can't."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from wsgiref.simple_server import make_server

import pytest
from sandbox.client import ACME, FJORD

from filedrop.errors import FiledropError
from filedrop.sandbox import Sandbox, Server, Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from sandbox.client import Clock, Login, Start

    from filedrop.sandbox import SandboxAccount


def test_everything_is_kept_over_a_restart(start: Start, login: Login, clock: Clock, *, quirks: bool) -> None:
    """Messages, numbers and documents stay, and what came due meanwhile is delivered afterwards."""
    first = start(quirks=quirks)
    client = login(first)
    (posted,) = client.post().msg_nos
    before = client.get("/messages").messages
    first.stop()

    second = start(quirks=quirks, port=urlsplit(first.base_url).port)
    assert login(second).get("/messages").messages == before
    second.stop()
    clock.forward(timedelta(hours=1))
    third = start(quirks=quirks)
    client = login(third)
    (out,) = client.get(f"/outbox/{posted}").messages
    assert ":00:00" in out["delivered"]
    assert out["delivered"] != out["received"]
    assert len(third.store.inbox(FJORD.name)) == 1
    assert client.post().msg_nos > [posted]
    assert len(third.store.sent(ACME.name)) == 2


def test_accounts_are_those_of_this_start(
    start: Start, login: Login, acme: SandboxAccount, fjord: SandboxAccount
) -> None:
    """An account that isn't given any more can't log in or receive; its messages wait for it."""
    first = start()
    login(first).post()
    first.stop()
    second = start(accounts=(fjord,))
    assert login(second).get("/inbox").status == 401
    assert login(second, fjord).get(f"/directory/{acme.participants[0]}").status == 204
    second.stop()
    assert len(login(start()).get("/messages").messages) == 1


def test_start_and_stop_again(tmp_path: Path, acme: SandboxAccount, login: Login) -> None:
    """One sandbox can be stopped and started again at the same address; stopping twice is harmless."""
    sandbox = Sandbox(tmp_path, (acme,))
    with sandbox:
        address = sandbox.base_url
        assert login(sandbox).get("/inbox").status == 200
    sandbox.stop()
    with pytest.raises(ConnectionRefusedError):
        login(sandbox).get("/inbox")
    with sandbox:
        assert sandbox.base_url == address
        assert login(sandbox).get("/inbox").status == 200


def test_stopping_finds_the_loop_already_ended() -> None:
    """A server whose loop has seen the stop before `stop` could wake it stops cleanly all the same."""
    server = Server(lambda _environ, _start_response: [], "127.0.0.1", 0)
    server._stopping.set()
    server._thread.join()
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_a_connection_is_kept_open(either: Sandbox, login: Login) -> None:
    """Requests follow each other on one connection, through lists, refusals and a download.

    (Waitress ends it after a 204, and says so in `Connection: close`.)
    """
    client = login(either)
    (msg_no,) = client.post().msg_nos
    connection = http.client.HTTPConnection(urlsplit(either.base_url).netloc, timeout=30)
    connection.connect()
    own = connection.sock
    for path, headers in (
        ("/inbox", client.headers),
        ("/inbox/x", client.headers),
        ("/inbox", {}),
        (f"/messages/{msg_no}/xml-document", client.headers),
        ("/directory/0192:123456785", client.headers),
        ("/outbox", client.headers),
    ):
        connection.request("GET", path, headers=headers)
        connection.getresponse().read()
        assert connection.sock is own
    connection.close()


def test_stop_ends_open_connections(either: Sandbox, login: Login) -> None:
    """A client that keeps its connection open doesn't keep the sandbox from stopping."""
    connection = http.client.HTTPConnection(urlsplit(either.base_url).netloc, timeout=30)
    connection.request("GET", "/inbox", headers=login(either).headers)
    connection.getresponse().read()
    either.stop()
    assert connection.sock.recv(1) == b""
    connection.close()


def test_many_clients_at_once(
    either: Sandbox, login: Login, clock: Clock, acme: SandboxAccount, fjord: SandboxAccount
) -> None:
    """Uploads, lists and marks from many threads: each upload is one message, delivered and read once."""
    client, receiver = login(either), login(either, fjord)
    with ThreadPoolExecutor(16) as pool:
        posted = list(pool.map(lambda _: client.post(), range(60)))
        assert {answer.status for answer in posted} == {201}
        assert len({answer.msg_nos[0] for answer in posted}) == 60
        clock.forward()
        lists = list(pool.map(lambda _: receiver.get("/inbox"), range(16)))
        assert {tuple(answer.msg_nos) for answer in lists} == {tuple(lists[0].msg_nos)}
        arrived = [message.msg_no for message in either.store.inbox(fjord.name)]
        assert len(arrived) == 60
        read = list(pool.map(lambda msg_no: receiver.ask("POST", f"/inbox/{msg_no}/read"), arrived * 2))
        assert {answer.status for answer in read} == {200}
    assert either.store.inbox(fjord.name) == []
    assert all(message.delivered for message in either.store.sent(acme.name))


def test_any_server_may_serve_it(tmp_path: Path, acme: SandboxAccount, login: Login) -> None:
    """The application does without our server, and may be wrapped."""
    sandbox = Sandbox(tmp_path, (acme,))

    def counted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        asked.append(environ["PATH_INFO"])
        return application(environ, start_response)

    asked, application = [], sandbox.app
    sandbox.app = counted
    with sandbox:
        login(sandbox).get("/inbox")
    assert asked == ["/inbox"]
    with make_server("127.0.0.1", 0, application) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.handle_request)
        client = login(sandbox)
        client.base_url = f"http://127.0.0.1:{server.server_port}"
        assert client.get("/outbox").status == 200
    sandbox.stop()


def test_a_port_that_is_taken(tmp_path: Path, acme: SandboxAccount) -> None:
    """The complaint names host and port and says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        sandbox = Sandbox(tmp_path, (acme,), port=port)
        with pytest.raises(FiledropError, match=rf"can't listen on 127\.0\.0\.1 port {port}.*choose another port"):
            sandbox.start()
        sandbox.stop()


def test_a_folder_that_cannot_be_used(tmp_path: Path, acme: SandboxAccount) -> None:
    """The complaint names the folder, whether it can't be made or isn't a database that lies there."""
    (tmp_path / "file").touch()
    with pytest.raises(FiledropError, match=r"file.*can't keep its messages here"):
        Sandbox(tmp_path / "file", (acme,))
    (tmp_path / "sandbox.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(FiledropError, match="can't keep its messages here: file is not a database"):
        Store(tmp_path)


@pytest.mark.parametrize("library", ["flask", "waitress"])
def test_a_library_that_is_missing(library: str) -> None:
    """Without the extra `sandbox`, the command says what is missing, and what to install."""
    script = f"import sys; sys.modules[{library!r}] = None; from filedrop.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script, "sandbox"], capture_output=True, text=True, check=False)
    assert f"filedrop sandbox needs libraries that aren't installed here ({library} is missing)" in done.stderr
    assert done.returncode == 1
