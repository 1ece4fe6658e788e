"""What to do when: each symptom of the manual is produced, and what the manual says about it is true."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING, BUYER, SELLER, invoice
from support.faults import instead
from support.manual import PROJECT, chapter, parts
from support.memory import folder_in_memory
from support.world import PASSWORD, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.faults import Match

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the validator is a script of the shell")

PAGE = chapter("docs/operate.md", "What to do when")
SYMPTOMS = list(parts("docs/operate.md", "What to do when"))
COMPANIES = ("held", "fjord", "away", "foreign")
STRANGER = "0192:123456785"
VALIDATOR = """#!/bin/sh
grep -q UNSOUND "$1" || exit 0
echo 'BR-01: the invoice has no sound total'
exit 1
"""
FAILING = {  # the code that a symptom names: a document that fails so, and why, as its note says
    "no-receiver": (invoice("no receiver", receiver=None), "/Invoice/AccountingCustomerParty/Party/EndpointID"),
    "no-document-id": (invoice("no type", customization=""), "/Invoice/CustomizationID"),
    "no-process-id": (invoice("no process", process="", customization="urn:ours"), "/Invoice/ProfileID"),
    "foreign-sender": (invoice("foreign", sender=BUYER, receiver=SELLER), BUYER),
    "bad-participant": (invoice("bad", receiver="0192:98 76"), "0192:98 76"),
    "receiver-unknown": (invoice("unknown", receiver=STRANGER), f"filedrop lookup {STRANGER}"),
    "not-accepted": (invoice("not accepted", customization="urn:ours", process="urn:ours"), BUYER),
    "rejected": (invoice("REJECTED"), "The total is wrong."),
    "not-xml": (b"<html><p>The export failed.</html>", "column 30"),
    "invalid": (invoice("UNSOUND"), "BR-01: the invoice has no sound total"),
}
TESTS = {  # each symptom of the page: the test that produces it
    "My file stays in outbound/": "status/test_strays.py::test_strays_in_the_command",
    "My file stays in sending/": "test_troubleshooting.py::test_held_company",
    'status says "in doubt"': "cli/test_mending.py::test_resolve_as_sent",
    "My file stays in sent/": "test_troubleshooting.py::test_document_that_is_not_delivered",
    "The receiver says that nothing arrived": "test_troubleshooting.py::test_document_that_was_delivered",
    "I sent something by mistake": "test_troubleshooting.py::test_held_company",
    "Nothing arrives in inbound/": "status/test_words.py::test_a_message_for_nobody_that_can_not_be_taken",
    "The accounting system can't delete the files": "test_troubleshooting.py::test_rights_of_received_files",
    "A document came twice": "test_troubleshooting.py::test_document_that_was_sent_twice",
    "It doesn't start": "test_troubleshooting.py::test_configuration_with_a_mistake",
    "status says that filedrop isn't running, but it is": "test_troubleshooting.py::test_status_of_another_filedrop",
    "The login is refused": "test_troubleshooting.py::test_password_with_a_blank",
    "The access point can't be reached": "test_troubleshooting.py::test_address_without_a_server",
    "A folder is unavailable": "test_troubleshooting.py::test_folder_that_was_created_again",
    '"Another filedrop serves this folder"': "test_troubleshooting.py::test_folder_of_another_filedrop",
    '"The journal doesn\'t know all that was done here"': "cli/test_journal.py::test_accept",
    "No alert comes": "test_troubleshooting.py::test_alerts_that_are_not_configured",
    "The disk is full": "faults/test_disk.py::test_what_a_full_share_holds",
}
CODES = {  # each error code whose cause is looked for often: the test that produces it
    **dict.fromkeys(FAILING, "test_troubleshooting.py::test_documents_that_fail"),
    "no-sender": "test_troubleshooting.py::test_document_without_a_sender",
    "duplicate": "test_troubleshooting.py::test_duplicate",
    "unreadable": "status/test_words.py::test_a_file_that_nobody_may_read",
    "not-delivered": "behaviour/test_sending.py::test_a_transmission_that_died",
}


def posts_of(number: str) -> Match:
    """The posts of the invoice with this number."""
    return lambda request: request.line.startswith("POST /outbox") and f">{number}<".encode() in request.body


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A filedrop after a bad morning: much was dropped, and little of it could be sent."""
    with folder_in_memory(tmp_path_factory.mktemp("troubles")) as base:
        validator = base / "validate"
        validator.write_text(VALIDATOR)
        validator.chmod(0o755)
        with World(
            base,
            deliver_after=3600.0,
            outbound={"directory": "refuse", "validate": "refuse", "overdue": "0s", "incomplete_after": "0s"},
            companies=dict.fromkeys(COMPANIES, "{participants: []}"),
            more=f"validation: {{command: [{validator}]}}\nmapping:\n  - {{file: 'INV-', channel: never}}\n",
        ) as world:
            world.front.always(posts_of("REJECTED"), instead(422, "The total is wrong."))
            for company in COMPANIES:
                outbound(world, company).mkdir(parents=True)
            world.inbound.mkdir()
            world.inbound.chmod(0o2770)
            for code, (content, _) in FAILING.items():
                world.put(world.outbound / f"{code}.xml", content)
            world.put(world.outbound / "INV-1001.xml", invoice("1001"))
            world.put(outbound(world, "fjord") / "no-sender.xml", invoice("no sender", sender=None))
            for name in ("HOLD", "invoice.xml", "mistake.xml"):
                world.put(outbound(world, "held") / name, b"" if name == "HOLD" else invoice(name))
            for _ in range(2):
                world.receive(invoice("2001", sender=BUYER, receiver=SELLER))
            world.run_once()
            world.put(world.outbound / "again.xml", invoice("1001"))
            world.run_once()
            yield world


def outbound(world: World, company: str = "acme") -> Path:
    """The outbound folder of a company."""
    return world.root / company / "outbound"


def code(document: Path) -> str:
    """The error code in the sidecar of a failed document."""
    return str(json.loads(document.with_name(f"{document.name}.json").read_bytes())["error"]["code"])


def note(document: Path) -> str:
    """The note next to a failed document."""
    return document.with_name(f"{document.name}.why.txt").read_text("utf-8")


def test_every_symptom_is_tried() -> None:
    """Each symptom of the page, and each code that is looked for often, has a test that produces it."""
    assert list(TESTS) == SYMPTOMS
    assert len(SYMPTOMS) > 15
    rows = chapter("docs/reference.md", "Error codes")
    assert [code for code in CODES if f"\n| `{code}` |" not in rows] == []
    for test in (*TESTS.values(), *CODES.values()):
        path, _, name = test.partition("::")
        assert f"\ndef {name}(" in (PROJECT / "tests" / path).read_text("utf-8"), test


def test_quotes_are_texts_of_the_program() -> None:
    """Each sentence that the page quotes is in the program."""
    program = "\n".join(path.read_text("utf-8") for path in (PROJECT / "filedrop").rglob("*.py")).lower()
    quoted = re.findall(r'"([^"`]+)"', PAGE)
    assert len(quoted) > 2
    assert [words for words in quoted if words.lower() not in program] == []


@pytest.mark.parametrize("expected", FAILING)
def test_documents_that_fail(office: World, expected: str) -> None:
    """The document is in failed/ with this code, and its note names the cause."""
    failed = outbound(office) / "failed" / f"{expected}.xml"
    assert code(failed) == expected
    assert FAILING[expected][1] in note(failed)
    assert f"{expected}.xml" in office.filedrop("retry", "acme").stdout


def test_document_without_a_sender(office: World) -> None:
    """A company without participants has no default sender."""
    assert code(outbound(office, "fjord") / "failed" / "no-sender.xml") == "no-sender"


def test_duplicate(office: World) -> None:
    """A duplicate stays where it is until somebody runs `retry --anyway`."""
    failed = outbound(office) / "failed" / "again.xml"
    assert code(failed) == "duplicate"
    refused = office.filedrop("retry", "acme", "again.xml")
    assert refused.returncode == 1
    assert "--anyway" in refused.stderr
    assert failed.exists()


def test_lookup_of_a_receiver(office: World) -> None:
    """`lookup` shows whether a receiver is registered, and what it accepts."""
    assert "is not in the directory" in office.filedrop("lookup", STRANGER).stdout
    assert BILLING in office.filedrop("lookup", BUYER, "Invoice").stdout


def test_rule_that_matches_a_part_of_the_name(office: World) -> None:
    """`check --explain` shows where the receiver is from, and that `INV-` doesn't match the whole name."""
    shown = office.filedrop("check", "--company", "acme", "--explain", str(sent(office, "INV-1001.xml"))).stdout
    assert re.search(rf"receiver +{BUYER} +\(document; it can be reached\)", shown)
    assert "mapping 1 (line" in shown
    assert "doesn't apply: the file name doesn't match \"INV-\"" in shown


def sent(world: World, name: str, company: str = "acme") -> Path:
    """A document that was accepted."""
    return outbound(world, company) / "sent" / name


def test_document_that_is_not_delivered(office: World) -> None:
    """After `outbound.overdue`, `status` shows it, with the message number that its sidecar has."""
    beside = json.loads(sent(office, "INV-1001.xml").with_name("INV-1001.xml.json").read_bytes())
    assert re.search(rf"overdue: INV-1001.xml \(message {beside['msg_no']}\)", office.filedrop("status").stdout)


def test_document_that_was_delivered(world: World) -> None:
    """A delivered document is in archive/, and its sidecar has the uuid and the date to ask by."""
    world.drop("invoice.xml", invoice())
    world.settle()
    beside = world.sidecar("invoice.xml")
    assert world.places()["invoice.xml"].startswith("archive/")
    assert beside["uuid"]
    assert beside["delivered"]


def test_held_company(office: World) -> None:
    """Documents of a company with a file HOLD wait in sending/. One that is removed there is never sent."""
    waiting = outbound(office, "held") / "sending"
    assert {path.name for path in waiting.glob("*.xml")} == {"invoice.xml", "mistake.xml"}
    assert "held" in office.filedrop("status").stdout
    (waiting / "mistake.xml").unlink()
    office.run_once()
    assert "is released" in office.filedrop("release", "held").stdout
    assert not (outbound(office, "held") / "HOLD").exists()
    office.run_once()
    assert sent(office, "invoice.xml", "held").exists()
    assert "mistake.xml of held: taken" in office.filedrop("history", "mistake.xml").stdout
    assert not [post for post in office.front.asked("POST /outbox") if b">mistake.xml<" in post.body]


def test_rights_of_received_files(office: World) -> None:
    """In a folder with the setgid bit, the group of the folder can change each file."""
    for path in office.inbound.glob("2*"):
        assert path.stat().st_gid == office.inbound.stat().st_gid
        assert path.stat().st_mode & 0o060 == 0o060


def test_document_that_was_sent_twice(office: World) -> None:
    """The numbers in the two sidecars differ."""
    numbers = [json.loads(path.read_bytes())["msg_no"] for path in office.inbound.glob("*.xml.json")]
    assert len(set(numbers)) == 2


def test_configuration_with_a_mistake(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon ends with status 2, and names the mistake with its line; so does `check`."""
    monkeypatch.setattr(office, "more", f"{office.more}alert: {{}}\n")
    run, check = office.process("run"), office.filedrop("check")
    assert run.returncode == check.returncode == 2
    assert re.search(r"config\.yaml:\d+: alert: unknown key; did you mean", check.stderr)
    assert "alert: unknown key" in run.stderr


def test_status_of_another_filedrop(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` with the daemon's configuration finds the daemon, and with another one it doesn't."""
    with office.daemon() as daemon:
        office.until(lambda: "isn't running" not in office.filedrop("status").stdout)
        monkeypatch.setattr(office, "root", office.base / "another")
        monkeypatch.setattr(office, "state", office.base / "another state")
        office.root.mkdir()
        assert "isn't running" in office.filedrop("status").stdout
        monkeypatch.undo()
        office.stop(daemon)


def test_password_with_a_blank(office: World) -> None:
    """A blank after the password, as Windows' echo writes it, is part of the password; a new one is read at once."""
    office.password_file.write_text(f"{PASSWORD} \n")
    refused = office.filedrop("check")
    office.password_file.write_text(f"{PASSWORD}\n")
    accepted = office.filedrop("check")
    assert refused.returncode == 3
    assert re.search(r"^failed +account main: .*refused", refused.stdout, re.MULTILINE)
    assert re.search(r"^ok +account main: .*login", accepted.stdout, re.MULTILINE)


def test_address_without_a_server(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` names the cause."""
    monkeypatch.setattr(office.front, "url", "http://127.0.0.1:1")
    done = office.filedrop("check")
    assert done.returncode == 3
    assert re.search(r"^failed +account main: .*nothing listens there", done.stdout, re.MULTILINE)


def test_folder_that_was_created_again(office: World) -> None:
    """A folder that is deleted and created again is unavailable until it is taken over."""
    folder = outbound(office, "away")
    folder.rename(office.base / "gone")
    folder.mkdir()
    assert re.search(rf"^failed +{folder}: ", office.filedrop("check").stdout, re.MULTILINE)
    done = office.filedrop("check", "--take-over", "--folder", str(folder))
    assert not re.search(rf"^failed +{folder}: ", done.stdout, re.MULTILINE)


def test_folder_of_another_filedrop(office: World) -> None:
    """The marker of another journal keeps this filedrop out, until it is to take the folder over."""
    folder = outbound(office, "foreign")
    marker = folder / ".filedrop"
    marker.write_text(json.dumps(json.loads(marker.read_bytes()) | {"journal": "another"}))
    assert f"{folder}: another filedrop serves this folder" in office.filedrop("check").stdout
    assert "another filedrop" not in office.filedrop("check", "--take-over", "--folder", str(folder)).stdout


def test_alerts_that_are_not_configured(office: World) -> None:
    """`check --alert` fails where nothing is configured, and says which key is missing."""
    done = office.filedrop("check", "--alert")
    assert done.returncode == 1
    assert re.search(r"^failed +alerts: .*alerts\.mail", done.stdout, re.MULTILINE)
