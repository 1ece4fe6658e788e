"""The endpoints of the interface, and those that servers have beyond it (field notes, Counts and Paths).

The application is WSGI. Whatever the sandbox does, it does here and not in the server, so that any server may serve
it and any wrapper break it.
"""

from __future__ import annotations

import re
import secrets
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import uuid4

from flask import Flask, Response, g, request, send_file
from itsdangerous import BadSignature, URLSafeSerializer
from werkzeug.exceptions import BadRequest, Forbidden, InternalServerError, NotFound, UnsupportedMediaType

from filedrop.sandbox import network, upload
from filedrop.sandbox.answers import Answers
from filedrop.sandbox.front import TEXT, Front
from filedrop.sandbox.message import Direction, Message, Search, read_index, read_search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from werkzeug.routing import Map

    from filedrop.sandbox.dialect import Dialect
    from filedrop.sandbox.network import SandboxAccount
    from filedrop.sandbox.store import Store

_DOCUMENT = "application/xml;charset=UTF-8"
_DOWNLOAD_WITHIN = timedelta(seconds=60)
_NUMBER = re.compile(r"[0-9]{1,18}")
_UNREAD = Search(direction=Direction.IN, listed=True)
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


_ROUTES = (  # method, path, and the endpoint's name in `AccessPoint`
    ("POST", "/outbox", "post"),
    ("GET", "/outbox", "outbox"),
    ("GET", "/outbox/<msg_no>", "outbox_message"),
    ("GET", "/outbox/<msg_no>/xml-document", "outbox_document"),
    ("GET", "/inbox", "inbox"),
    ("GET", "/inbox/count", "inbox_count"),
    ("GET", "/inbox/<msg_no>", "inbox_message"),
    ("POST", "/inbox/<msg_no>/read", "read"),
    ("GET", "/inbox/<msg_no>/xml-document", "inbox_document"),
    ("GET", "/messages", "messages"),
    ("GET", "/messages/count", "messages_count"),
    ("GET", "/messages/<msg_no>", "message"),
    ("GET", "/messages/<msg_no>/xml-document", "xml_document"),
    ("GET", "/directory/<participant>", "participant"),
    ("GET", "/directory/<participant>/<local_name>", "accepted"),
    ("GET", "/statistics", "statistics"),
)
_BLOB = ("GET", "/blobs/<token>", "blob")


@cache
def _compile_routes(elsewhere: bool) -> Map:  # noqa: FBT001 - a quirk of the dialect
    """The paths of every access point, compiled once: an access point needs nothing else that takes as long.

    `elsewhere`: documents are downloaded from another path.
    """
    flask = Flask(__name__, static_folder=None)
    flask.url_map.strict_slashes = False  # field notes, Paths
    for method, path, endpoint in (*_ROUTES, _BLOB) if elsewhere else _ROUTES:
        flask.add_url_rule(path, endpoint, methods=[method])
    return flask.url_map


class AccessPoint:
    """One access point: `flask` is the application that serves it."""

    def __init__(
        self,
        store: Store,
        accounts: Sequence[SandboxAccount],
        dialect: Dialect,
        deliver_after: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._dialect = dialect
        self._deliver_after = deliver_after
        self._clock = clock
        self._numbers = {account.name: number for number, account in enumerate(accounts, 1)}
        self._tokens = URLSafeSerializer(secrets.token_bytes(32))
        self.flask = Flask(__name__, static_folder=None)
        self.flask.url_map = _compile_routes(dialect.download_elsewhere)
        Front(self.flask, accounts, dialect, clock, upload=self.post.__name__, public=self.blob.__name__)
        self.flask.view_functions.update({name: getattr(self, name) for _, _, name in (*_ROUTES, _BLOB)})

    def post(self) -> Response:
        """Queues a document; the form is read to disk, and from there in pieces."""
        if request.mimetype != "multipart/form-data":
            raise UnsupportedMediaType
        ids = {
            name: _NOT_IN_XML.sub("", request.form.get(field, "")).strip()
            for name, field in (
                ("sender", "SenderID"),
                ("receiver", "RecipientID"),
                ("channel", "ChannelID"),
                ("document_id", "DocumentID"),
                ("process_id", "ProcessID"),
            )
        }
        self._check(ids)
        if not self._dialect.channel_kept:
            ids["channel"] = g.account
        uuid = str(uuid4())
        take = upload.keep if self._dialect.document_kept else upload.rewrite
        try:
            take(request.files["file"].stream, self._store.document(uuid))
        except (KeyError, upload.NotXml) as error:
            raise BadRequest("Unable to parse the XML document") from error
        message = self._store.post(account=g.account, uuid=uuid, due=self._clock() + self._deliver_after, **ids)
        if self._dialect.fault_after_storing:
            raise InternalServerError
        return _xml(self._answers.posted(message), HTTPStatus.CREATED, {"Location": self._answers.link(message)})

    def outbox(self) -> Response:
        """What has not been transferred yet."""
        return self._page("outbox-query-response", Search(direction=Direction.OUT, listed=True))

    def outbox_message(self, msg_no: str) -> Response:
        """The status of a message: it stays here when it has left the list."""
        message = self._message(msg_no)
        if message is None or message.direction is not Direction.OUT:
            return _nothing()
        return _xml(self._answers.single("outbox-query-response", message))

    def outbox_document(self, msg_no: str) -> Response:
        """The document of a sent message."""
        message = self._message(msg_no)
        return self._document(message if message and message.direction is Direction.OUT else None)

    def inbox(self) -> Response:
        """What has not been read yet."""
        return self._page("inbox-query-response", _UNREAD)

    def inbox_count(self) -> Response:
        """How many have not been read yet."""
        return self._count(_UNREAD)

    def inbox_message(self, msg_no: str) -> Response:
        """One received message, read or not."""
        message = self._incoming(msg_no)
        return _xml(self._answers.single("inbox-query-response", message)) if message else _nothing()

    def inbox_document(self, msg_no: str) -> Response:
        """The document of a received message."""
        return self._document(self._incoming(msg_no))

    def read(self, msg_no: str) -> Response:
        """Marks a message as read."""
        message = self._incoming(msg_no)
        if message is None:
            return _nothing()
        read = self._store.mark_read(message)
        shows = self._dialect.read_shows_delivered
        return _xml(self._answers.single("messages-query-response", read, delivered=shows))

    def messages(self) -> Response:
        """Everything, or what a search asks for."""
        search = read_search(request.args, self._dialect)
        return self._page("messages-query-response", search, paged=True)

    def messages_count(self) -> Response:
        """How many messages there are."""
        return self._count(Search())

    def message(self, msg_no: str) -> Response:
        """One message, whichever way it goes."""
        message = self._message(msg_no)
        return _xml(self._answers.single("messages-query-response", message)) if message else _nothing()

    def xml_document(self, msg_no: str) -> Response:
        """The document of a message, whichever way that goes."""
        return self._document(self._message(msg_no))

    def blob(self, token: str) -> Response:
        """The other host's side of a download: the token is the permission, and the only one that it takes."""
        if "Authorization" in request.headers:
            raise BadRequest("Only one authentication mechanism allowed")
        try:
            uuid, until = self._tokens.loads(token)
        except BadSignature as error:
            raise Forbidden("This link is not valid") from error
        if self._clock().timestamp() > until:
            raise Forbidden("This link has expired")
        return self._file(uuid)

    def participant(self, participant: str) -> Response:
        """Whether a recipient is connected."""
        if not network.is_participant(participant):
            raise BadRequest(f"Wrong participantId value: {participant}")
        if not self._store.connected(participant):
            return _nothing()
        return _xml(self._answers.directory(())) if self._dialect.directory_body else _nothing(HTTPStatus.OK)

    def accepted(self, participant: str, local_name: str) -> Response:
        """What a recipient accepts under a local name."""
        if not network.is_participant(participant):
            raise BadRequest(f"Wrong participantId value: {participant}")
        pairs = network.accepted(local_name) if self._store.connected(participant) else []
        return _xml(self._answers.directory(pairs)) if pairs else _nothing()

    def statistics(self) -> Response:
        """What the account has sent and received."""
        incoming, outgoing = (self._store.traffic(g.account, way) for way in (Direction.IN, Direction.OUT))
        return _xml(self._answers.statistics(g.account, incoming, outgoing))

    @property
    def _answers(self) -> Answers:
        base = f"{self._dialect.scheme or request.scheme}://{request.host}"
        return Answers(self._dialect, base, self._numbers[g.account])

    def _page(self, root: str, search: Search, *, paged: bool = False) -> Response:
        paged = paged or self._dialect.boxes_have_pages
        index = read_index(request.args) if paged else 1
        messages, more = self._store.page(g.account, search, index)
        neighbours = {"next": index + 1} if paged and more else {}
        neighbours |= {"previous": index - 1} if index > 1 else {}
        links = {
            name: f"{self._answers.base}{request.path}?{urlencode(request.args.to_dict() | {'index': neighbour})}"
            for name, neighbour in neighbours.items()
        }
        return _xml(self._answers.page(root, messages, links))

    def _message(self, msg_no: str) -> Message | None:
        if not (_NUMBER.fullmatch(msg_no) and int(msg_no)):
            raise BadRequest(f"Invalid message number '{msg_no}'")
        return self._store.message(g.account, int(msg_no))

    def _incoming(self, msg_no: str) -> Message | None:
        message = self._message(msg_no)
        if message is not None and message.direction is not Direction.IN:
            raise NotFound(f"Message {msg_no} is not in the inbox")
        return message

    def _count(self, search: Search) -> Response:
        return Response(str(self._store.count(g.account, search)), content_type=TEXT)

    def _document(self, message: Message | None) -> Response:
        """The document of a message, or the way to it."""
        if message is None:
            return _nothing()
        if not self._dialect.download_elsewhere:
            return self._file(message.uuid)
        # The other name of this machine is another host to every client.
        host, _, port = request.host.partition(":")
        elsewhere = "127.0.0.1" if host == "localhost" else "localhost"
        token = self._tokens.dumps([message.uuid, (self._clock() + _DOWNLOAD_WITHIN).timestamp()])
        return _redirect(f"{request.scheme}://{elsewhere}:{port or 80}/blobs/{token}")

    def _file(self, uuid: str) -> Response:
        document = self._store.document(uuid)
        if self._dialect.lost_is_empty and not document.exists():
            return Response(b"", content_type=_DOCUMENT)
        return send_file(document, mimetype=_DOCUMENT, conditional=False, etag=False)

    def _check(self, ids: dict[str, str]) -> None:
        """Raises 400 with one of the texts that the field notes know."""
        if not ids["document_id"]:
            raise BadRequest("DocumentId required")
        if not ids["process_id"]:
            raise BadRequest("ProcessId required")
        if not self._dialect.ids_checked:
            return
        labels = {
            "document_id": "documentId",
            "process_id": "processId",
            "sender": "senderId",
            "receiver": "recipientId",
        }
        for name, label in labels.items():
            if not network.FORMS[name].fullmatch(ids[name]):
                raise BadRequest(f"Wrong {label} value: {ids[name]}")


def _xml(body: bytes, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, content_type="application/xml")


def _nothing(status: HTTPStatus = HTTPStatus.NO_CONTENT) -> Response:
    answer = Response(status=status)
    del answer.headers["Content-Type"]
    return answer


def _redirect(address: str) -> Response:
    return Response("", HTTPStatus.SEE_OTHER, {"Location": address}, content_type=TEXT)
