"""What may become of an upload and of a question, by name: the misfortunes of the wire that a story draws from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from support.faults import (
    announced,
    announced_late,
    cut_after,
    failed_after,
    instead,
    reset_before,
    unreadable_after,
)

if TYPE_CHECKING:
    from support.faults import Exchange, Fault

KNOWN_REASON = instead(400, "Wrong recipientId value: 0192:810418052", ("Content-Type", "text/plain;charset=UTF-8"))
A_DATABASE = "could not execute statement: insert into message (document_id) values (?)"
WEB_PAGE = instead(200, "<html>Maintenance</html>", ("Content-Type", "text/html"))


def cut_before(exchange: Exchange) -> None:
    """The request was read, and reached nobody."""
    exchange.cut()


def unexplained_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and a database fault comes back as 400."""
    exchange.arrive()
    exchange.answer(400, A_DATABASE, [("Content-Type", "text/plain;charset=UTF-8")])


def in_another_way(exchange: Exchange) -> None:
    """The access point writes its times as another of its machines would."""
    answer = exchange.arrive()
    body = answer.body.replace(b"+00:00</received>", b"Z</received>").replace(b"+01:00</received>", b"+0100</received>")
    exchange.answer(answer.status, body)


def in_whole_seconds(exchange: Exchange) -> None:
    """The access point's view of this list has no milliseconds."""
    answer = exchange.arrive()
    exchange.answer(answer.status, re.sub(rb"(<received>[^<]{19})[.][0-9]+", rb"\1", answer.body))


def only_a_location(exchange: Exchange) -> None:
    """The answer to an upload names the message, and says nothing more of it."""
    answer = exchange.arrive()
    exchange.answer(answer.status, "", [(name, value) for name, value in answer.headers if name == "Location"])


def of_another(exchange: Exchange) -> None:
    """The answer to an upload describes a message to somebody else."""
    answer = exchange.arrive()
    exchange.answer(answer.status, re.sub(rb"<receiver>[^<]*<", b"<receiver>0192:987654325<", answer.body))


UPLOADS: dict[str, tuple[str, Fault | None]] = {
    "announced": ("accepted", announced),
    "reset": ("unclear", reset_before),
    "cut before": ("unclear", cut_before),
    "cut after": ("unclear", cut_after),
    "500 before": ("unclear", instead(500)),
    "500 after": ("unclear", failed_after),
    "201 unreadable": ("unclear", unreadable_after),
    "201 out of nothing": ("unclear", instead(201, "<a>")),
    "201 of another": ("unclear", of_another),
    "201 with a Location": ("accepted", only_a_location),
    "201 in whole seconds": ("accepted", in_whole_seconds),
    "announced late": ("accepted", announced_late),
    "late": ("unclear", None),
    "400 database": ("unexplained", instead(400, A_DATABASE)),
    "400 database after": ("unexplained", unexplained_after),
    "400 known": ("refused", KNOWN_REASON),
    "413": ("refused", instead(413, "Too large")),
    "401": ("refused", instead(401, "Not your participant")),
    "429": ("never", instead(429)),
    "503 for a while": ("never", instead(503, "", ("Retry-After", "600"))),
    "404": ("never", instead(404)),
}
QUESTIONS: dict[str, Fault] = {
    "reset": reset_before, "cut": cut_after, "500": failed_after, "503": instead(503), "401": instead(401),
    "404": instead(404), "a web page": WEB_PAGE, "204": instead(204), "other times": in_another_way,
    "announced": announced, "announced late": announced_late, "whole seconds": in_whole_seconds,
}  # fmt: skip
ASKED = ("", "GET /messages", "GET /outbox", "GET /inbox", "GET /statistics", "POST /inbox")
TAKING = ("GET /inbox", "GET /messages/", "POST /inbox")
