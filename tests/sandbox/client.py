"""Two accounts, a clock that moves when told, and a client that speaks plain HTTP: what the sandbox's tests share."""

from __future__ import annotations

import base64
import http.client
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from support.documents import BILLING_PROCESS, INVOICE_ID, invoice

from filedrop.sandbox import Sandbox, SandboxAccount

if TYPE_CHECKING:
    from email.message import Message as Headers

ACME = SandboxAccount("acme", "acme-secret", ("0192:987654325", "0192:911111110"))
FJORD = SandboxAccount("fjord", "fjørd-secret", ("0192:123456785",))
DELIVER_AFTER = timedelta(seconds=60)


class Clock:
    """Stands still between two `forward`."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 12, 0, 0, 123000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, by: timedelta = DELIVER_AFTER) -> None:
        self.now += by


@dataclass
class Answer:
    """What came back; the XML with its namespace taken off, as a client by local names sees it."""

    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def xml(self) -> ET.Element:
        root = ET.fromstring(self.body)  # noqa: S314 - the sandbox's own answer
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    @property
    def messages(self) -> list[dict[str, str]]:
        """Each message's leaves by name."""
        return [
            {leaf.tag: leaf.text or "" for leaf in message.iter() if not len(leaf)}
            for message in self.xml.iter("message")
        ]

    @property
    def msg_nos(self) -> list[int]:
        return [int(message["msg-no"]) for message in self.messages]


@dataclass
class Client:
    """Speaks to the sandbox as one account; a login of None sends no credentials."""

    base_url: str
    login: tuple[str, str] | None
    form: dict[str, str] = field(
        default_factory=lambda: {
            "SenderID": ACME.participants[0],
            "RecipientID": FJORD.participants[0],
            "ChannelID": "invoices",
            "DocumentID": INVOICE_ID,
            "ProcessID": BILLING_PROCESS,
        }
    )

    @property
    def headers(self) -> dict[str, str]:
        if self.login is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(":".join(self.login).encode()).decode()}

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.base_url).netloc, timeout=30)
        try:
            connection.request(method, path, body, self.headers | {"Accept": "application/xml"} | headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, content: bytes | None = None, path: str = "/outbox", **changes: str | None) -> Answer:
        """Uploads a document; a field that is changed to None is left out."""
        fields = {name: value for name, value in (self.form | changes).items() if value is not None}
        body, content_type = multipart(fields, invoice() if content is None else content)
        return self.ask("POST", path, body, **{"Content-Type": content_type})


def multipart(fields: dict[str, str], content: bytes) -> tuple[bytes, str]:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="d.xml"\r\nContent-Type: text/xml\r\n\r\n'
    return b"".join([*parts, head, content, b"\r\n--b--\r\n"]), "multipart/form-data; boundary=b"


Login = Callable[..., Client]
Start = Callable[..., Sandbox]
