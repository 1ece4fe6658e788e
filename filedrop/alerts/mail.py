"""Mails, by smtplib: to a server whose certificate is verified, or in the clear without a login."""

from __future__ import annotations

import base64
import smtplib
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from errno import EINVAL
from typing import TYPE_CHECKING

from filedrop.alerts.memory import NotSent
from filedrop.files.patience import within
from filedrop.texts.printable import one_line
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.alerts.memory import Letter
    from filedrop.config import Mail

PATIENCE, LONGEST_SENDING = 20.0, 60.0  # seconds for each answer of the server, and for all of them: it may drip
LONGEST_ANSWER = 200  # letters of what a server says
_WITHOUT_TLS = 530  # RFC 3207 section 4: Must issue a STARTTLS command first

_SENTENCES: dict[type[Exception], str] = {
    smtplib.SMTPAuthenticationError: "it refuses the login: check alerts.mail.username and password_file",
    smtplib.SMTPNotSupportedError: "it doesn't support this: check alerts.mail.security and username",
    smtplib.SMTPServerDisconnected: "it closed the connection",
    ssl.SSLError: "it doesn't use TLS on this port: check alerts.mail.security and port",
    TimeoutError: "it doesn't respond",
}


def new_id(mail: Mail) -> str:
    """A new Message-ID."""
    return make_msgid(domain=mail.from_.partition("@")[2])


def send(mail: Mail, letter: Letter, to: Sequence[str]) -> None:
    """Send it in one mail to these addresses. Raises NotSent; ConfigError where the password can't be read."""
    password = mail.read_password()
    host, port = mail.server
    try:
        tls = ssl.create_default_context()
        if mail.ca_file:
            tls.load_verify_locations(mail.ca_file)
        message = _message(mail, letter, to)
        refused = within(LONGEST_SENDING, lambda: _send(mail, password, tls, message, to))
    except OSError as error:  # smtplib's and ssl's errors are OSErrors
        raise NotSent(f"{host}:{port}: {_why(error, mail, password)}") from None  # it may hold the login
    if refused:
        (address, (code, said)), *_ = refused.items()
        said_so = f"{host}:{port}: it refuses {address}: {_answer(code, said, mail, password)}"
        raise NotSent(said_so, had=[address for address in to if address not in refused])


def _send(
    mail: Mail, password: str, tls: ssl.SSLContext, message: EmailMessage, to: Sequence[str]
) -> dict[str, tuple[int, bytes]]:
    with _connected(mail, tls) as server:
        if mail.security == "starttls":
            server.starttls(context=tls)
        if mail.username is not None:
            _log_in(server, mail.username, password)
        return server.send_message(message, mail.from_, list(to))


def _connected(mail: Mail, tls: ssl.SSLContext) -> smtplib.SMTP:
    host, port = mail.server
    try:
        if mail.security == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=PATIENCE, context=tls)
        return smtplib.SMTP(host, port, timeout=PATIENCE)
    except UnicodeError:  # of a part that is empty, or longer than 63 letters
        raise OSError(EINVAL, "no server can have this name: check alerts.mail.host") from None


def _log_in(server: smtplib.SMTP, username: str, password: str) -> None:
    try:
        server.login(username, password)
    except UnicodeError:
        # `from None`: that error carries the password.
        raise OSError(EINVAL, "the user name or password has characters that SMTP can't send: use others") from None


def _message(mail: Mail, letter: Letter, to: Sequence[str]) -> EmailMessage:
    message = EmailMessage(SMTP)
    message["From"] = mail.from_
    message["To"] = ", ".join(to)
    message["Subject"] = letter.subject
    message["Date"] = format_datetime(from_seconds(letter.made))
    message["Message-ID"] = letter.id
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no vacation notes, please
    message.set_content(letter.plain)
    message.add_alternative(letter.html, subtype="html")
    return message


def _why(error: OSError, mail: Mail, password: str) -> str:
    """What is wrong, and what to do."""
    match error:
        case smtplib.SMTPSenderRefused(smtp_code=code) if code == _WITHOUT_TLS and mail.security == "none":
            return "it requires TLS: set alerts.mail.security to starttls or tls"
        case smtplib.SMTPRecipientsRefused():
            (address, (code, said)), *_ = error.recipients.items()
            return f"it refuses {address}: {_answer(code, said, mail, password)}"
        case smtplib.SMTPResponseException() if not isinstance(error, smtplib.SMTPAuthenticationError):
            return f"it returned {_answer(error.smtp_code, error.smtp_error, mail, password)}"
        case ssl.SSLCertVerificationError():
            return f"its certificate isn't trusted ({error.verify_message}): name its CA in alerts.mail.ca_file"
    if isinstance(error.__context__, TimeoutError):  # smtplib says of it that the connection was closed
        error = error.__context__
    sentences = (sentence for kind, sentence in _SENTENCES.items() if isinstance(error, kind))
    return next(sentences, None) or error.strerror or type(error).__name__


def _answer(code: int, said: bytes | str, mail: Mail, password: str) -> str:
    """What a server says, unless it repeats the login."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    known = (password.encode(), f"\0{mail.username}\0{password}".encode())
    secrets = [password, *(base64.b64encode(login).decode() for login in known)] if password else []
    if any(secret in text for secret in secrets):
        return f"{code}"
    return one_line(f"{code} {text}", LONGEST_ANSWER)
