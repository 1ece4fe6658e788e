from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice
from support.drops import IDENTITY, NOON, accepted, drop, posted

from filedrop import identify
from filedrop.model.fault import Fault
from filedrop.model.message import Message
from filedrop.storage import sidecar
from filedrop.texts import Text
from filedrop.texts.note import FOR_ADMINISTRATOR

if TYPE_CHECKING:
    from pathlib import Path

    from filedrop.model.document import Document

DELIVERED = (
    accepted(drop()).delivered_at(NOON, "2026-11-20T12:00:00.123+01:00", "uuid:1").at("archive/2026-11", "a.xml")
)
NOT_DELIVERED = (
    accepted(drop())
    .failed(NOON, Fault("not-delivered", "The transfer failed.", "Ask.", administrator="See the log."))
    .at("failed", "b.xml")
)
DOUBTED = posted(drop()).doubted(NOON, "no answer").failed(NOON, Fault("no-answer", "ten times")).at("failed", "c.xml")
NOT_XML = drop(sender=None, receiver=None, document_id=None, process_id=None, type=None, number=None, issue_date=None)
FAILED = NOT_XML.failed(NOON, Fault("not-xml", "line 3, column 7: mismatched tag")).at("failed", "d.xml")
MESSAGE = Message(
    msg_no=17, direction="IN", received="2026-11-20T09:00:00.123+01:00", sender=BUYER, receiver=SELLER,
    document_id=INVOICE_ID, process_id=BILLING_PROCESS, uuid="uuid:17",
)  # fmt: skip


def written(document: Document, file: str = "invoice-1.xml") -> dict[str, object]:
    content: dict[str, object] = json.loads(sidecar.outbound(document, file))
    return content


def test_what_stands_beside_a_sent_document() -> None:
    """All of contract 4: where it went, what it is, under which number, and what happened when."""
    content = written(DELIVERED)
    assert content.items() >= {
        "filedrop": 1, "direction": "OUT", "id": drop().id, "file": "invoice-1.xml", "company": "acme",
        "account": "main", "state": "delivered", "sender": SELLER, "receiver": BUYER, "document_id": INVOICE_ID,
        "process_id": BILLING_PROCESS, "channel": "", "size": 1001, "sha256": "sha-1", "msg_no": 7, "uuid": "uuid:1",
        "received": "2026-11-20T12:00:01.000+00:00", "delivered": "2026-11-20T12:00:00.123+01:00",
    }.items()  # fmt: skip
    assert content["sources"] == {"sender": "document"}
    assert content["document"] == {"type": "Invoice", "number": "1", "issue_date": "2026-11-20"}
    assert content["warnings"] == []
    assert content["history"] == [
        {"at": "2026-11-20T12:00:01.000+00:00", "event": "claimed"},
        {"at": "2026-11-20T12:00:00.000+00:00", "event": "sending"},
        {"at": "2026-11-20T12:00:00.000+00:00", "event": "accepted", "msg_no": 7},
        {"at": "2026-11-20T12:00:00.000+00:00", "event": "delivered"},
    ]
    assert not content.keys() & {"error", "dropped_as"}


def test_what_stands_beside_a_failed_document() -> None:
    """The error with its code: what is wrong, what to do, and what the administrator needs to know."""
    assert written(NOT_DELIVERED)["error"] == {
        "code": "not-delivered", "message": "The transfer failed.", "hint": "Ask.", "administrator": "See the log.",
    }  # fmt: skip


def test_another_name_is_kept() -> None:
    """Where the file had to get another name, the sidecar knows the one it was dropped under."""
    assert written(DELIVERED, "invoice-1-2.xml")["dropped_as"] == "invoice-1.xml"


def test_any_name_makes_a_sidecar_in_utf8() -> None:
    """A name that is no valid Unicode doesn't spoil the sidecar, and is read again as it was."""
    name = "faktura-\udce5.xml"  # what os.fsdecode makes of a name in Latin-1
    content = sidecar.outbound(DELIVERED, name)
    assert json.loads(content.decode())["file"] == name
    assert "å" in sidecar.outbound(DELIVERED, "faktura-å.xml").decode()


@pytest.mark.parametrize("document", [DELIVERED, NOT_DELIVERED, DOUBTED, FAILED, accepted(drop()).at("sent", "e.xml")])
def test_a_lost_row_is_made_anew(document: Document) -> None:
    """A sidecar holds all that a journal which was lost knew of the document."""
    restored = sidecar.restore(written(document, document.file), folder="f1", company="acme", place=document.place)
    forgotten = {"attempts": 0, "unclear": 0, "first_attempt": None, "due": None}
    assert restored == replace(document, **forgotten)  # type: ignore[arg-type] # these are of the way there
    assert restored.may_be_accepted == document.may_be_accepted


def test_texts_of_a_restored_document() -> None:
    """A document that is restored from its sidecar has the texts of its error, so its note is in any language."""
    fault = Fault.of(Text.of("no-sender", where="nowhere"), Text.of("ids/add-rule", ids="sender"))
    document = NOT_XML.failed(NOON, fault).at("failed", "d.xml")
    restored = sidecar.restore(written(document, "d.xml"), folder="f1", company="acme", place="failed")
    assert restored
    assert restored.error
    assert restored.error.texts == fault.texts
    assert restored.error.message_in("de") == fault.message_in("de") != fault.message


@pytest.mark.parametrize(
    "texts",
    [
        [{"form": "of another version", "values": {}}],
        [{"form": "no-sender", "values": {"receiver": "no placeholder of this form"}}],
        [{"form": "no-sender", "values": {"where": "x" * 2001}}],
        [{"form": "no-sender", "values": {"where": 7}}],
        [{"form": "no-sender", "values": {}}],
        [{"form": ["no-sender"], "values": {}}],
        [{"form": "not-xml/empty", "values": {}}] * 21,
        ["no-sender"], "no-sender", None, {},
    ],
)  # fmt: skip
def test_texts_that_are_not_ours(texts: object) -> None:
    """Anybody can write a sidecar: if one text isn't as filedrop writes it, none counts, and the error stays."""
    content = written(FAILED, "d.xml")
    content["error"] = {"code": "not-xml", "message": "what is wrong", "hint": "", "texts": texts}
    fault = sidecar.fault_in(content)
    assert fault
    assert (fault.code, fault.message, fault.texts) == ("not-xml", "what is wrong", ())


@pytest.mark.parametrize("key", ["id", "account", "state", "claimed", "size", "sha256", "meaning", "file"])
def test_half_a_sidecar_is_no_row(key: str) -> None:
    """Where a sidecar doesn't say enough, nothing is made up from it."""
    content = written(DELIVERED)
    del content[key]
    assert sidecar.restore(content, folder="f1", company="acme", place="sent") is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"filedrop": 2}', b'{"id": "1"}', b"\xff\xfe", b"[" * 100_000,
     b'{"filedrop": 1, "id": "' + b"1" * 2_000_000 + b'"}'],
    ids=["empty", "cut off", "a list", "null", "of another version", "somebody's", "not UTF-8", "deep", "huge"],
)  # fmt: skip
def test_what_is_no_sidecar_of_ours(tmp_path: Path, content: bytes) -> None:
    """Whatever else is called .json is left alone."""
    path = tmp_path / "a.xml.json"
    path.write_bytes(content)
    assert sidecar.document_id_in(path) is None
    assert sidecar.document_id_in(tmp_path / "gone.json") is None


def test_whose_a_sidecar_is(tmp_path: Path) -> None:
    """A sidecar says whose the name is."""
    (tmp_path / "a.xml.json").write_bytes(sidecar.outbound(DELIVERED, "a.xml"))
    assert sidecar.document_id_in(tmp_path / "a.xml.json") == DELIVERED.id


def test_what_stands_beside_a_received_document() -> None:
    """Contract 4: the same keys where they apply, when it was fetched; no history, no error."""
    content = invoice("1001", sender=BUYER, receiver=SELLER)
    reading = identify.read(io.BytesIO(content))
    beside = json.loads(sidecar.inbound(
        MESSAGE, reading, id="01JD", file="a.xml", company="acme", account="main", identity=IDENTITY, fetched=NOON,
    ))  # fmt: skip
    assert beside.items() >= {
        "filedrop": 1, "direction": "IN", "state": "received", "id": "01JD", "file": "a.xml", "company": "acme",
        "account": "main", "sender": BUYER, "receiver": SELLER, "document_id": INVOICE_ID,
        "process_id": BILLING_PROCESS, "channel": "", "size": len(content), "sha256": reading.sha256, "msg_no": 17,
        "uuid": "uuid:17",
        "received": "2026-11-20T09:00:00.123+01:00", "fetched": "2026-11-20T12:00:00.000+00:00",
    }.items()  # fmt: skip
    assert beside["document"] == {"type": "Invoice", "number": "1001", "issue_date": "2026-11-20"}
    assert not beside.keys() & {"history", "error"}


def test_the_note() -> None:
    """The note says what is wrong and what to do; the rest is for the administrator; Notepad shows its lines."""
    fault = Fault("no-receiver", "Nobody is named.", "Name somebody.", administrator="receiver: looked at /Invoice.")
    note = sidecar.why(drop(receiver=None), fault, "invoice-1.xml").decode()
    assert note.count("\n") == note.count("\r\n") > 5
    head, _, tail = note.partition(f"{sidecar.RULE}\r\n{FOR_ADMINISTRATOR}\r\n")
    assert head.splitlines() == [
        "invoice-1.xml was not sent.", "Invoice 1", "", "Nobody is named.", "", "What you can do:", "Name somebody.",
        (
            "If the file itself is right, and the problem elsewhere is solved, move the file from failed/ back to "
            "outbound/."
        ), "",
    ]  # fmt: skip
    assert tail.splitlines() == [
        "", "receiver: looked at /Invoice.", "", "To try again, run:", "  filedrop retry acme invoice-1.xml", "",
        "Reason: no-receiver", f"Sender: {SELLER}", "Receiver: -", "Document: Invoice 1",
    ]  # fmt: skip


def test_the_note_of_a_duplicate() -> None:
    """It doesn't offer what would only fail again, and has the command that sends it only for the administrator."""
    note = sidecar.why(drop(), Fault("duplicate", "Sent before.", "Delete it."), "invoice-1.xml").decode()
    head, _, tail = note.partition(FOR_ADMINISTRATOR)
    assert "  filedrop retry --anyway acme invoice-1.xml" in tail.splitlines()
    assert "outbound/" not in head


def test_the_note_of_what_was_accepted() -> None:
    """A document that was sent and not delivered isn't said not to have been sent."""
    assert NOT_DELIVERED.error
    note = sidecar.why(NOT_DELIVERED, NOT_DELIVERED.error, "invoice-1.xml").decode()
    assert "invoice-1.xml was not delivered." in note
    assert "Message number at the access point: 7" in note
