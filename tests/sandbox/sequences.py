"""What real clients ask one after the other, and what they need of each answer: data, replayed by test_clients.

Written by us after what was seen of four clients (field notes): the reference client of two releases, a relay, and the
XML schema of a public body, which wants every element in its place. S is the standard dialect, Q that of `--quirks`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ACME, FJORD = "0192:987654325", "0192:123456785"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One request, and what the client needs of its answer; `{name}` stands for what an earlier step has kept.

    `text`: the whole body. `has`: texts by path; None: there is no such element. `only`: a step for S or Q alone.
    `keep`: names for texts of the answer, by path. `count`: how many messages it has. `form`: fields of an upload that
    differ from a good one. `wait`: let the network deliver first. `document`: the body is the document that came in.
    """

    ask: str
    status: int = 200
    type: str = "application/xml"
    text: str | None = None
    has: dict[str, str | None] = field(default_factory=dict)
    keep: dict[str, str] = field(default_factory=dict)
    count: int | None = None
    form: dict[str, str | None] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    only: str = ""
    wait: bool = False
    document: bool = False


FACTS = "message/message-meta-data"
LISTED = f"messages/{FACTS}"
TEXT = "text/plain;charset=UTF-8"
DOCUMENT = "application/xml;charset=UTF-8"


def refused(ask: str, status: int, text: str | None = None, **more: Any) -> Step:
    """A step that the server refuses, in plain text."""
    return Step(ask=ask, status=status, text=text, type=TEXT, **more)


SEQUENCES: dict[str, list[Step]] = {
    # It counts first, and goes home where there is nothing.
    "reference client 2016, download": [
        Step(ask="GET /inbox/count", type=TEXT, text="1"),
        Step(
            ask="GET /inbox/",
            count=1,
            has={"navigation": None, f"{LISTED}/direction": "IN"},
            keep={"n": f"{LISTED}/msg-no"},
        ),
        Step(ask="GET /messages/{n}/xml-document", type=DOCUMENT, document=True),
        Step(ask="POST /inbox/{n}/read/", has={f".//{FACTS}/msg-no": "{n}"}),
        Step(ask="GET /inbox/count", type=TEXT, text="0"),
        Step(ask="GET /inbox/", count=0, has={"navigation": None}),
        Step(ask="GET /messages/count", type=TEXT, text="1"),
    ],
    # It reads each box by its own path, and its parser wants a UUID.
    "reference client 2017, download": [
        Step(ask="GET /messages/count/", type=TEXT, text="1"),
        Step(ask="GET /inbox/count/", type=TEXT, text="1"),
        Step(ask="GET /inbox", count=1, keep={"n": f"{LISTED}/msg-no", "uuid": f"{LISTED}/uuid"}),
        Step(ask="GET /inbox/{n}", has={f".//{FACTS}/uuid": "{uuid}"}),
        Step(ask="GET /inbox/{n}/xml-document", type=DOCUMENT, document=True),
        Step(ask="GET /messages/{n}", has={f".//{FACTS}/uuid": "{uuid}", f".//{FACTS}/delivered": None}),
        Step(ask="POST /inbox/{n}/read", has={f".//{FACTS}/msg-no": "{n}"}),
        Step(ask="GET /inbox/{n}", has={f".//{FACTS}/msg-no": "{n}"}),
        Step(ask="GET /inbox/count", type=TEXT, text="0"),
    ],
    "reference client 2017, upload": [
        Step(
            ask="POST /outbox",
            form={},
            status=201,
            has={f"{FACTS}/uuid": None, f"{FACTS}/direction": "OUT"},
            keep={"n": f"{FACTS}/msg-no"},
            only="S",
        ),
        Step(
            ask="POST /outbox",
            form={},
            status=201,
            has={f"{FACTS}/direction": "OUT"},
            keep={"n": f"{FACTS}/msg-no", "uuid": f"{FACTS}/uuid"},
            only="Q",
        ),
        Step(ask="GET /outbox/", count=1, has={f"{LISTED}/msg-no": "{n}", "navigation": None}),
        Step(ask="GET /outbox/{n}", has={f".//{FACTS}/msg-no": "{n}", f".//{FACTS}/delivered": None}),
        Step(ask="GET /outbox/{n}/xml-document", type=DOCUMENT),
        Step(ask="GET /outbox/", count=0, wait=True),
        Step(ask="GET /outbox/{n}", has={f".//{FACTS}/uuid": "{uuid}"}, keep={"t": f".//{FACTS}/delivered"}, only="Q"),
        Step(ask="GET /messages/{n}", has={f".//{FACTS}/direction": "OUT"}, keep={"t": f".//{FACTS}/delivered"}),
        Step(ask="GET /messages/count", type=TEXT, text="2"),
    ],
    # It goes by what the lists say, and by the links in them.
    "relay": [
        Step(ask="GET /messages/?direction=IN&index=1", count=1, keep={"document": "messages/message/xml-document"}),
        Step(ask="GET {document}", type=DOCUMENT, document=True),
        Step(ask="GET /inbox/", keep={"self": "messages/message/self", "n": f"{LISTED}/msg-no"}),
        Step(ask="GET {self}", has={f".//{FACTS}/msg-no": "{n}"}),
        Step(ask="POST {self}/read", has={f".//{FACTS}/msg-no": "{n}"}),
        Step(ask="GET /messages/?direction=IN", count=1, keep={"t": f"{LISTED}/delivered"}),
        Step(ask="POST /outbox/", form={"ChannelID": None}, status=201),
    ],
    "search": [
        Step(ask="POST /outbox", form={}, status=201),
        Step(ask="GET /messages", count=2, has={"navigation": None}),
        Step(ask="GET /messages/?sent='%3E2026-11-19'", count=2),
        Step(ask="GET /messages?sent=%3D2026-11-20&direction=OUT", count=1),
        Step(ask=f"GET /messages?sender='{ACME}'&receiver={FJORD}", count=1),
        Step(ask=f"GET /messages?sender='{FJORD}'", count=0),
        Step(ask="GET /messages?index=2", count=0),
        refused("GET /messages?index=0", 400),
        refused("GET /messages?sent='%3D%3E2026-11-20'", 400, only="Q"),
        Step(ask="GET /messages?sent='%3D%3E2026-11-20'", count=2, only="S"),
    ],
    "mistakes": [
        refused("GET /inbox/abc", 400, "Invalid message number 'abc'"),
        refused("GET /inbox/0", 400, "Invalid message number '0'"),
        refused("GET /outbox/-1", 400, "Invalid message number '-1'"),
        refused("GET /messages/abc/xml-document", 400, "Invalid message number 'abc'"),
        refused("POST /inbox/0/read", 400, "Invalid message number '0'"),
        refused("POST /outbox", 400, "ProcessId required", form={"ProcessID": None}),
        refused("POST /outbox", 400, "DocumentId required", form={"DocumentID": None}),
        refused("POST /outbox", 415, headers={"Content-Type": "application/xml"}),
        Step(ask="GET /inbox/4711", status=204, type="", text=""),
        Step(ask="GET /messages/4711", status=204, type="", text=""),
        Step(ask="GET /outbox/4711/xml-document", status=204, type="", text=""),
        Step(ask="GET /messages/count", type=TEXT, text="1"),
    ],
}

_HEADER = ["sender", "receiver", "channel", "document-id", "process-id"]
_HEADER_Q = ["sender", "receiver", "channel", "document-type", "document-id", "process-name", "process-id"]

# What a schema allows below `message`: each element in this order, those in brackets where they are known.
MESSAGE = {
    "S": [
        "self", "xml-document", "message-meta-data",
        ["msg-no", "direction", "received", "(delivered)", "(uuid)", "peppol-header"], _HEADER,
    ],
    "Q": [
        "self", "xml-document", "message-meta-data",
        ["msg-no", "accountId", "direction", "received", "(delivered)", "(uuid)", "peppol-header"], _HEADER_Q,
    ],
}  # fmt: skip
