"""The front of the access point: who may come in, how it refuses, and what is on every answer."""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import TYPE_CHECKING

from flask import Response, g, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import HTTPException, Unauthorized
from werkzeug.http import http_date

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from flask import Flask

    from filedrop.sandbox.dialect import Dialect
    from filedrop.sandbox.network import SandboxAccount

TEXT = "text/plain;charset=UTF-8"


class Front:
    """Stands before every endpoint of `flask`: behind it, `g.account` is the name of the account that is logged in.

    `upload` is the endpoint whose faults may look like refusals, `public` the one that has a permission of its own.
    """

    def __init__(
        self,
        flask: Flask,
        accounts: Sequence[SandboxAccount],
        dialect: Dialect,
        clock: Callable[[], datetime],
        *,
        upload: str,
        public: str,
    ) -> None:
        self._passwords = {account.name: account.password for account in accounts}
        self._dialect = dialect
        self._clock = clock
        self._upload = upload
        self._public = public
        flask.before_request(self._log_in)
        flask.after_request(self._date)
        flask.register_error_handler(HTTPException, self._refuse)

    def _log_in(self) -> None:
        if request.endpoint == self._public:
            return
        login = request.authorization
        password = self._passwords.get(login.username or "") if login else None
        if login is None or password is None:
            raise _unauthorized()
        if not hmac.compare_digest((login.password or "").encode(), password.encode()):
            raise _unauthorized()
        g.account = login.username

    def _refuse(self, error: HTTPException) -> Response:
        is_upload = request.endpoint == self._upload
        status, text, content_type = HTTPStatus(error.code or 500), error.description or "", TEXT
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            text = "Unknown server error occurred."
            if is_upload and self._dialect.upload_fault is HTTPStatus.BAD_REQUEST:
                status, text = HTTPStatus.BAD_REQUEST, ""
        if status is HTTPStatus.UNAUTHORIZED and self._dialect.refusal_in_html:
            content_type = "text/html;charset=UTF-8"
            text = f"<html><body><h1>{status.phrase}</h1><p>{text}</p></body></html>"
        headers = {name: value for name, value in error.get_headers() if name in {"WWW-Authenticate", "Allow"}}
        encoding = self._dialect.upload_encoding if is_upload else self._dialect.bad_request_encoding
        if status is HTTPStatus.BAD_REQUEST and encoding:
            headers["Content-Encoding"] = encoding
        return Response(text, status, headers, content_type=content_type)

    def _date(self, answer: Response) -> Response:
        answer.headers["Date"] = http_date(self._clock())
        return answer


def _unauthorized() -> Unauthorized:
    return Unauthorized("Log in first", www_authenticate=WWWAuthenticate("basic", {"realm": "PEPPOL AP"}))
