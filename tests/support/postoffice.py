"""A mail server on a real socket, which keeps what it gets, and can be told to refuse, or to be away."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Self

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from email.message import EmailMessage

    from aiosmtpd.smtp import Envelope, Session


@dataclass(frozen=True)
class Posted:
    """A mail as it came in, and for whom."""

    to: list[str]
    message: EmailMessage
    encrypted: bool

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    def part(self, kind: str) -> str:
        """Its part of this kind: plain, or html."""
        body = self.message.get_body((kind,))
        assert body is not None
        return str(body.get_content()).replace("\r\n", "\n")


class PostOffice:
    """The server, until its `with` ends.

    `tls` is spoken from the first byte, `starttls` offered, and wanted where `wants_tls`; `login` is a name and its
    password, which must be given. `refused` are addresses; `answer` is what every mail gets, where it is given; `tried`
    counts them. `coming` is called with each before it is kept.
    """

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        starttls: ssl.SSLContext | None = None,
        wants_tls: bool = False,
        login: tuple[str, str] | None = None,
        port: int = 0,
    ) -> None:
        self.mails: list[Posted] = []
        self.refused: set[str] = set()
        self.answer = ""
        self.tried = 0
        self.coming: Callable[[], object] = lambda: None
        self._login = login
        self._loop = asyncio.new_event_loop()

        def session() -> SMTP:
            return SMTP(
                self,
                loop=self._loop,
                tls_context=starttls,
                require_starttls=wants_tls,
                authenticator=self._authenticate,
                auth_required=login is not None,
                auth_require_tls=False,
            )

        server = self._loop.create_server(session, "127.0.0.1", port, ssl=tls)
        self._server = self._loop.run_until_complete(server)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="post office", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        self._loop.run_until_complete(self._end_tasks())
        self._loop.close()

    def to(self, address: str) -> list[Posted]:
        """What came in for somebody."""
        return [mail for mail in self.mails if address in mail.to]

    def _authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _how: str, data: object
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given = data.login.decode(), data.password.decode()
        return AuthResult(success=given == self._login, handled=False)

    async def _end_tasks(self) -> None:
        """End what is under way: asyncio tells, at any moment, of the task of a handshake that was left."""
        tasks = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.tried += 1
        if self.answer:
            return self.answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        message = message_from_bytes(envelope.original_content or b"", policy=policy.SMTP)
        self.coming()
        self.mails.append(Posted(envelope.rcpt_tos, message, server.transport.get_extra_info("ssl_object") is not None))
        return "250 OK"
