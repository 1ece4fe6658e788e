"""Passwords stay where they are: whatever goes wrong, nothing that filedrop writes, shows or keeps holds one."""

from __future__ import annotations

import base64
import gc
import os
import ssl
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from support.commands import run_here
from support.documents import BUYER, invoice
from support.faults import cut_after, exactly, instead, unreadable_after
from support.matrix import quick
from support.scripted import Scripted
from support.systems import certificates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.faults import Exchange, Fault
    from support.world import World

PASSWORD, WRONG, PROXYS = "Zq7-right-pass", "Zq8-wrong-pass", "Zq9-proxy-pass"
LOGINS = [f"acme:{PASSWORD}", f"acme:{WRONG}", f"user:{PROXYS}"]
SECRETS = [word.encode() for word in (PASSWORD, WRONG, PROXYS)] + [base64.b64encode(login.encode()) for login in LOGINS]


@pytest.fixture
def secretive(make_world: Callable[..., World]) -> World:
    """A world whose passwords are found again wherever they are."""
    return make_world(password=PASSWORD)


def told_everywhere(world: World, *said: str) -> Iterator[tuple[str, bytes]]:
    """Whatever was said, and each file that filedrop has written, by its name."""
    yield from (("a command", text.encode()) for text in said)
    for folder in (world.state, world.root):
        yield from ((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    yield from ((str(path), path.read_bytes()) for path in world.base.glob("*log*"))


def holds_no_secret(told: Iterator[tuple[str, bytes]]) -> None:
    count = 0
    for where, content in told:
        for secret in SECRETS:
            assert secret not in content, f"{secret.decode()} is in {where}"
        count += 1
    assert count > 5  # there is something that could hold one


def echo(exchange: Exchange) -> None:
    """A server that says in its error what it was asked, login and all, as some gateways do."""
    login = exchange.request.headers.get("authorization", "")
    known = base64.b64decode(login.removeprefix("Basic ")).decode()
    exchange.answer(400, f"Wrong documentId value. Authorization: {login} ({known})")


def echo_forbidden(exchange: Exchange) -> None:
    """The same where it refuses us."""
    login = exchange.request.headers.get("authorization", "")
    exchange.answer(403, f"Forbidden: {login}", [("Location", f"/login?{login}")])


def other_config(world: World, old: str, new: str) -> None:
    """Say something else in the configuration."""
    text = world.config_text()
    assert old in text
    world.config_text = lambda: text.replace(old, new)  # type: ignore[method-assign] # of this world


def command_here(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in this process: here it is the words that matter, of many commands."""
    file = world.base / "config of its own.yaml"
    file.write_text(world.config_text())
    return run_here("--config", str(file), *words)


@pytest.mark.parametrize(
    "fault",
    quick(
        [
            echo,
            echo_forbidden,
            instead(302, "", ("Location", "https://elsewhere.example/")),
            instead(200, "<html>Welcome"),
            instead(503, "Busy", ("Retry-After", "1")),
            cut_after,
        ]
    ),
    ids=["echo", "echo of the refused", "redirect", "unreadable", "busy", "cut"],
)
def test_answers(secretive: World, fault: Fault) -> None:
    """No answer brings a password into a log, the journal, a sidecar, a note, status.json or a command's words."""
    world = secretive
    world.drop("invoice.xml", invoice())
    world.receive(invoice("in"))
    world.front.next("POST /outbox", fault)
    world.front.next(exactly("GET", "/messages"), fault)
    world.front.next(exactly("GET", "/inbox"), fault)
    with world.daemon() as daemon:
        world.until(lambda: not world.sandbox.store.inbox("acme"))
        world.until(lambda: world.places().get("invoice.xml", ".").split("/")[0] in ("sent", "archive", "failed"))
        running = Path("/proc", str(daemon.pid))
        shown = ("cmdline", "environ") if sys.platform == "linux" else ()
        process = [(running / name).read_bytes() for name in shown]
        daemon.kill()  # as it stands, with the journal's -wal
    assert (world.state / "journal.sqlite-wal").stat().st_size > 0
    world.front.always("GET ", fault)
    commands = [["check"], ["messages"], ["lookup", BUYER], ["status"]]
    done = [command_here(world, *command) for command in commands]
    said = [each.stdout + each.stderr for each in done] + [each.decode() for each in process]
    holds_no_secret(told_everywhere(world, *said))


def wrong_password(world: World) -> None:
    world.password_file.write_text(WRONG)


def proxy_away(world: World) -> None:
    other_config(world, f'base_url: "{world.front.url}"', f'base_url: "https://ap.invalid", proxy: "{proxy(9)}"')


def proxy_refuses(world: World) -> None:
    world.front.always("CONNECT", instead(407, "No"))
    address = proxy(world.front.port)
    other_config(world, f'base_url: "{world.front.url}"', f'base_url: "https://ap.invalid", proxy: "{address}"')


def proxy(port: int) -> str:
    return f"http://user:{PROXYS}@127.0.0.1:{port}"


def password_in_two_lines(world: World) -> None:
    world.password_file.write_text(f"{PASSWORD}\n{WRONG}")


def password_not_in_utf8(world: World) -> None:
    world.password_file.write_bytes(PASSWORD.encode() + b"\xff")


def proxy_that_is_none(world: World) -> None:
    other_config(world, f'base_url: "{world.front.url}"', f'base_url: "{world.front.url}", proxy: "socks{proxy(9)}"')


def login_in_base_url(world: World) -> None:
    other_config(world, "//127", f"//user:{PROXYS}@127")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (wrong_password, 3),
        (proxy_away, 3),
        (proxy_refuses, 3),
        (password_in_two_lines, 3),
        (password_not_in_utf8, 3),
        (proxy_that_is_none, 2),
        (login_in_base_url, 2),
    ],
)
def test_setups(secretive: World, fault: Callable[[World], None], status: int) -> None:
    """Nor does any mistake in passwords, addresses and proxies; each is said in a sentence, not in a traceback."""
    world = secretive
    fault(world)
    world.drop("invoice.xml", invoice())
    commands = [["check"], ["status"], ["check", "--json", str(world.root)]]
    with ThreadPoolExecutor() as beside:
        run = beside.submit(world.process, "run", "--once")
        done = [command_here(world, *command) for command in commands]
    assert run.result().returncode == status
    done.append(run.result())
    said = [each.stdout + each.stderr for each in done]
    assert "Traceback" not in "".join(said)
    (world.base / "log of commands").write_text("\n".join(said))
    holds_no_secret(told_everywhere(world, *said))


A_CRASH = """
import sys
from pathlib import Path
from filedrop import config
from filedrop.process import logs
from filedrop.process.guard import Guard

settings = config.load(Path(sys.argv[1]))

def job():
    password = settings.accounts["main"].read_password()
    login = password.encode()
    raise RuntimeError("a crash")

Guard(logs.open_log(settings.log)).attempt("work", job)
"""


@pytest.mark.parametrize("form", quick(["console", "json"]))
def test_a_crash(secretive: World, form: str) -> None:
    """A crash is told with its traceback, and without what was in the variables."""
    world = secretive
    text = world.config_text() + f"log: {{format: {form}}}\n"
    (world.base / "config.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", A_CRASH, world.base / "config.yaml"], capture_output=True, text=True, check=True
    )
    assert "in job" in done.stderr
    assert "RuntimeError: a crash" in done.stderr
    for secret in SECRETS:
        assert secret.decode() not in done.stderr


def test_what_objects_show(secretive: World) -> None:
    """No object of ours, nor of the libraries that carry the login, shows a password by its `repr` or `str`."""
    world = secretive
    address = proxy(9)
    in_file = f"password_file: '{world.password_file}'"
    other_config(world, in_file, f'password: "{PASSWORD}", proxy: "{address}"')
    world.drop("invoice.xml", invoice())
    world.receive(invoice("in"))
    shown: list[str] = []

    def look(exchange: Exchange) -> None:
        """While the request is on its way."""
        gc.collect()  # an answer that repeats the login may lie in a cycle of tenacity's, where nobody shows it
        shown.extend(words(thing) for thing in gc.get_objects() if of_interest(thing))
        unreadable_after(exchange)

    world.front.next("POST /outbox", look)
    with world.service():
        world.until(world.settled)
        gc.collect()
        shown += [words(thing) for thing in gc.get_objects() if of_interest(thing)]
    assert len(shown) > 100
    for secret in SECRETS:
        assert not [text for text in shown if secret.decode() in text]


def of_interest(thing: Any) -> bool:
    return str(type(thing).__module__).split(".")[0] in ("filedrop", "requests", "urllib3", "structlog", "tenacity")


def words(thing: Any) -> str:
    try:
        return f"{thing!r} {thing!s}"
    except Exception:  # noqa: BLE001 - some objects of libraries can't be shown before they are used, or any more
        return ""


@pytest.mark.skipif(sys.platform == "win32", reason="rights by modes are POSIX")
@pytest.mark.parametrize("umask", quick([0o000, 0o077]))
def test_rights(secretive: World, umask: int) -> None:
    """The state is for its owner alone, and what is made in the share is as open as its folder, whatever our umask."""
    world = secretive
    group = 54321 if os.geteuid() == 0 else os.getegid()
    for folder in (world.root, world.root / "acme", world.outbound):
        os.chown(folder, -1, group)
        folder.chmod(0o770)
    ours = world.outbound / "invoice.xml"
    for name, content in (("invoice.xml", invoice()), ("failing.xml", invoice("2", receiver=None))):
        world.drop(name, content)
    dropped = {ours.stat().st_ino, (world.outbound / "failing.xml").stat().st_ino}
    world.receive(invoice("in"))
    done = subprocess.run(world._command("run", "--once"), umask=umask, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout  # failing.xml
    with world.daemon() as daemon:
        world.until((world.root / "status.json").exists)
        for path in [world.state, *world.state.rglob("*")]:
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        daemon.terminate()
        daemon.wait()
    made = [path for path in world.root.rglob("*") if path.stat().st_ino not in dropped]
    assert len(made) > 12
    for path in made:
        status = path.stat()
        assert status.st_gid == group, path
        assert stat.S_IMODE(status.st_mode) == (0o770 if path.is_dir() else 0o660), path


@pytest.fixture
def tls(request: pytest.FixtureRequest) -> Iterator[Scripted]:
    """A server whose TLS is not to be trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    host, keys, oldest = request.param
    request.getfixturevalue("authority").issue_cert(host, **keys).configure_cert(context)
    if oldest:
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            context.minimum_version = context.maximum_version = oldest
    server = Scripted(tls=context)
    yield server
    server.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


LONG_AGO = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2021, 1, 1, tzinfo=UTC)}
HERE = "127.0.0.1"


@pytest.mark.slow
@certificates
@pytest.mark.parametrize(
    ("tls", "trusted", "sentence"),
    [
        (
            (HERE, {}, ssl.TLSVersion.TLSv1),
            True,
            "it offers only TLS versions before 1.2, which filedrop doesn't use; tell",
        ),
        (
            (HERE, {}, ssl.TLSVersion.TLSv1_1),
            True,
            "it offers only TLS versions before 1.2, which filedrop doesn't use; tell",
        ),
        (("ap.example.com", {}, None), True, "its certificate is for another host; check base_url"),
        ((HERE, {}, None), False, "from an authority that is not trusted here; if it is the right one, name it in ca_"),
        ((HERE, LONG_AGO, None), True, "its certificate has expired; tell its operator, and check this computer's cl"),
    ],
    ids=["TLS 1.0", "TLS 1.1", "wrong host", "unknown authority", "expired"],
    indirect=["tls"],
)
def test_untrusted(secretive: World, tls: Scripted, trusted: bool, sentence: str, authority: trustme.CA) -> None:  # noqa: FBT001 - a column
    """Where TLS can't be trusted nothing is said: the document waits, and each command says what to do about it."""
    world, ca_file = secretive, secretive.base / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    new = f'base_url: "{tls.url}"' + (f", ca_file: '{ca_file}'" if trusted else "")
    other_config(world, f'base_url: "{world.front.url}"', new)
    world.drop("invoice.xml", invoice())
    with ThreadPoolExecutor() as beside:
        run = beside.submit(world.process, "run", "--once")
        check = command_here(world, "check")
    for done in (run.result(), check):
        assert done.returncode == 3
        assert sentence in " ".join((done.stdout + done.stderr).split())
        assert "Traceback" not in done.stderr
    assert world.places() == {"invoice.xml": "sending"}
    assert tls.requests == []
