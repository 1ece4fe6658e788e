"""Mails, by a real server on a real socket: what is sent, how, and what is said where that can't be."""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import trustme
from support.postoffice import PostOffice

from filedrop import alerts
from filedrop.alerts.mail import new_id, send
from filedrop.alerts.memory import Letter, NotSent
from filedrop.config import Mail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # aiosmtpd's
PASSWORD = "Zq7-right-pass"
TO = ("it@example.com", "boss@example.com")
AUTHORITY = trustme.CA()


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Mail]:
    """A configuration for this server."""
    AUTHORITY.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    (tmp_path / "password").write_text(f"{PASSWORD}\n")

    def configured(port: int, *, login: bool = False, **keys: object) -> Mail:
        keys = {"host": "127.0.0.1", "security": "none", "ca_file": tmp_path / "ca.pem"} | keys
        if login:
            keys |= {"username": "filedrop", "password_file": tmp_path / "password"}
        return Mail.model_validate({"port": str(port), "from": "filedrop@example.com", "to": TO} | keys)

    return configured


def posted(mail: Mail, to: tuple[str, ...] = TO) -> None:
    letter = Letter(
        id=new_id(mail), reader="", by="mail", what="alert", subject="Größe", plain="plain <b>\n", html="<p>html</p>",
        made=1_800_000_000.0,
    )  # fmt: skip
    send(mail, letter, to)


def serving(name: str = "127.0.0.1", *, authority: trustme.CA = AUTHORITY) -> ssl.SSLContext:
    """TLS of a server of this name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_as_it_is_read(configured: Callable[..., Mail]) -> None:
    """A mail has its text twice, is to all of its readers, and asks for no answers."""
    with PostOffice() as office:
        posted(configured(office.port))
    (mail,) = office.mails
    assert (mail.to, mail.subject) == (list(TO), "Größe")
    assert (mail.part("plain"), mail.part("html")) == ("plain <b>\n", "<p>html</p>\n")
    assert mail.message["From"] == "filedrop@example.com"
    assert mail.message["To"] == ", ".join(TO)
    assert mail.message["Date"].datetime.timestamp() == 1_800_000_000.0
    assert mail.message["Message-ID"].endswith("@example.com>")
    assert mail.message["Auto-Submitted"] == "auto-generated"


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_encrypted_and_with_a_login(configured: Callable[..., Mail], security: str) -> None:
    """With implicit TLS or STARTTLS, login and all, to a server that is who it says."""
    with PostOffice(**{security: serving()}, login=("filedrop", PASSWORD)) as office:
        posted(configured(office.port, login=True, security=security))
    assert [mail.encrypted for mail in office.mails] == [True]


@pytest.mark.parametrize("security", ["tls", "starttls"])
@pytest.mark.parametrize(
    ("name", "authority"),
    [("127.0.0.1", trustme.CA()), ("mail.example.com", AUTHORITY)],
    ids=["stranger", "other name"],
)
def test_a_bad_certificate(configured: Callable[..., Mail], security: str, name: str, authority: trustme.CA) -> None:
    """A server with a certificate of nobody we trust, or of another name, gets neither mail nor login."""
    with PostOffice(**{security: serving(name, authority=authority)}, login=("filedrop", PASSWORD)) as office:
        mail = configured(office.port, login=True, security=security)
        with pytest.raises(NotSent, match=r"its certificate isn't trusted \(.*\): name its CA in alerts.mail.ca_file"):
            posted(mail)
    assert office.tried == 0


@contextmanager
def answering(*lines: bytes) -> Iterator[int]:
    """A server that says these words, one for each that it hears, and then nothing; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError), closing(listener.accept()[0]) as sock:  # it may have been closed
                for line in lines:
                    sock.sendall(line)
                    sock.recv(4096)
                while sock.recv(4096):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@contextmanager
def dripping() -> Iterator[int]:
    """A server that never comes to the end of its first line."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with closing(listener.accept()[0]) as sock:
                while not done.wait(0.05):
                    sock.sendall(b"2")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        done.set()


def test_a_server_that_hangs(configured: Callable[..., Mail], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says nothing, or never comes to an end, is waited for so long and no longer."""
    monkeypatch.setattr(alerts.mail, "PATIENCE", 0.1)
    with answering() as port, pytest.raises(NotSent, match="doesn't respond"):
        posted(configured(port))
    monkeypatch.setattr(alerts.mail, "LONGEST_SENDING", 0.3)
    with dripping() as port, pytest.raises(NotSent, match="doesn't respond"):
        posted(configured(port))


def test_a_server_that_is_away(configured: Callable[..., Mail]) -> None:
    """Where nobody listens, that is said."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotSent, match=f"127.0.0.1:{port}: Connection refused"):
        posted(configured(port))


@pytest.mark.parametrize("security", ["none", "starttls", "tls"])
def test_a_name_that_no_server_has(configured: Callable[..., Mail], security: str) -> None:
    """A slip in its name is told as one at once, not as a server that doesn't answer."""
    with pytest.raises(NotSent, match=re.escape("mail..example.com:25: no server can have this name")):
        posted(configured(25, host="mail..example.com", security=security, ca_file=None))


def test_a_server_that_wants_tls(configured: Callable[..., Mail]) -> None:
    """One that wants TLS is named as that, with what to write."""
    with PostOffice(starttls=serving(), wants_tls=True) as office:
        with pytest.raises(NotSent, match=r"it requires TLS: set alerts\.mail\.security to starttls or tls"):
            posted(configured(office.port))
        posted(configured(office.port, security="starttls"))
    assert len(office.mails) == 1


@pytest.mark.parametrize(
    ("security", "says"),
    [("starttls", "doesn't support this: check alerts.mail.security"), ("tls", "doesn't use TLS on this port")],
)
def test_a_server_without_tls(configured: Callable[..., Mail], security: str, says: str) -> None:
    """One without TLS, where we want it, gets nothing."""
    with PostOffice() as office, pytest.raises(NotSent, match=says):
        posted(configured(office.port, security=security))
    assert office.tried == 0


def test_a_wrong_password(configured: Callable[..., Mail]) -> None:
    """A login that is refused is said to be, without it."""
    with PostOffice(starttls=serving(), login=("filedrop", "another")) as office, pytest.raises(NotSent) as raised:
        posted(configured(office.port, login=True, security="starttls"))
    assert "it refuses the login" in str(raised.value)
    assert PASSWORD not in str(raised.value)


def test_an_echo(configured: Callable[..., Mail]) -> None:
    """A server that repeats the login in its answer puts it into no sentence."""
    known = base64.b64encode(f"\0filedrop\0{PASSWORD}".encode())
    said = b"220 hello\r\n", b"250-hello\r\n250 AUTH PLAIN\r\n", b"235 yes\r\n", b"550 not with " + known + b"\r\n"
    said += b"250 reset\r\n", b"221 bye\r\n"  # without them, the client waits for its whole patience
    with answering(*said) as port, pytest.raises(NotSent) as raised:
        posted(configured(port, login=True))
    assert str(raised.value) == f"127.0.0.1:{port}: it returned 550"


def test_a_reader_who_is_refused(configured: Callable[..., Mail]) -> None:
    """Where one reader is refused, the others have it, and who has is known; so it is where all are refused."""
    with PostOffice() as office:
        office.refused = {TO[0]}
        with pytest.raises(NotSent, match=r"it refuses it@example\.com: 550 no such user") as raised:
            posted(configured(office.port))
        assert raised.value.had == (TO[1],)
        with pytest.raises(NotSent, match=r"it refuses it@example\.com: 550 no such user") as raised:
            posted(configured(office.port), TO[:1])
        assert raised.value.had == ()
    assert [mail.to for mail in office.mails] == [[TO[1]]]


def test_letters_that_smtp_has_no_form_for(configured: Callable[..., Mail], tmp_path: Path) -> None:
    """A password that SMTP can't carry is said to be one, without it."""
    with PostOffice(login=("filedrop", "pässwörd")) as office:
        mail = configured(office.port, login=True)
        (tmp_path / "password").write_text("pässwörd")
        with pytest.raises(NotSent, match="characters that SMTP can't send") as raised:
            posted(mail)
    assert "pässwörd" not in str(raised.value)
