"""The rule that a fault of the ids ends in: whatever things are called, the configuration takes it, and it mends."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest
from support.configuration import BASE
from support.documents import BILLING_PROCESS, SELLER, envelope, invoice
from support.notes import filled_in, hint_of, rule_for, whole

from filedrop.config import Template, parse
from filedrop.errors import ConfigError, DocumentError
from filedrop.identify import demand, identify, read
from filedrop.identify.mapping import Rules

if TYPE_CHECKING:
    from filedrop.identify import Reading

posix = pytest.mark.skipif(sys.platform == "win32", reason="no such names there")


@pytest.mark.parametrize("company", ["acme", "null", "True", "O'Neil & Sons, {GmbH}", "- #1, [x", "Å s", "9930"])
@pytest.mark.parametrize(
    "file_name",
    [
        "",
        "invoice",
        "null",
        "a.b.c.xml",
        "^it's $5 (each) [a-z]{2}|x+?*.xml",
        "#1, 'INV: \"ä\\.xml",
        "İ ß.xml",
        pytest.param("a\nb\t\u202ec\u200d.xml", marks=posix),
        pytest.param(b"\xff\xfe-\x80.xml".decode(errors="surrogateescape"), marks=posix),
        "ü" * 125 + ".xml",
        "x" + "." * 254,
    ],
)
def test_every_name(company: str, file_name: str) -> None:
    """Companies and files of all names: the rule is for that one, also numbered, and for no other."""
    reading = read(io.BytesIO(invoice(receiver=None)))
    line = filled_in(hint_of(reading, company, file_name).splitlines()[-1])
    key = "'" + company.replace("'", "''") + "'"
    config = parse(f"{BASE.replace('acme:', f'{key}:')}mapping:\n{line}\n")
    rules = Rules(config.mapping, config.tables)
    stem, suffix = os.path.splitext(file_name)  # noqa: PTH122 - a name, not a path
    for name in (file_name, f"{stem}-2{suffix}") if len(os.fsencode(file_name)) <= 200 else (file_name,):
        assert identify(reading, company=company, file_name=name, mapping=rules).receiver == "0192:111111111"
    assert identify(reading, company="another", file_name=file_name, mapping=rules).receiver is None
    if file_name:
        assert identify(reading, company=company, file_name=f"0{file_name}", mapping=rules).receiver is None


@pytest.mark.parametrize(
    "document",
    [
        b"<null/>",
        b"<No/>",
        b"<true/>",
        b'<x xmlns="urn:x y"/>',
        b'<x xmlns="urn:{x}"/>',
        b'<x xmlns="it\'s: #"/>',
        b'<x xmlns="%s"/>' % (b"x" * 600),
        "<Größe_1.-/>".encode(),
        "<x\u0e33\u0300/>".encode(),
        b"<x><CustomizationID>urn:x y</CustomizationID></x>",
        envelope(b"<?xml?><x/>", sender="urn:x", receiver=None, document_id=None, process_id="a b"),
        envelope(b"<?xml?>", sender="0192:x y"),
        invoice(receiver="0192:" + "9" * 200, process="x" * 300, customization="x" * 500),
    ],
)
def test_every_document(document: bytes) -> None:
    """Rule by rule, a document of whatever kind comes to all its ids, and they have the form that the network wants."""
    reading = read(io.BytesIO(document))
    lines: list[str] = []
    while fault := fault_by(lines, reading):
        lines.append(filled_in(whole(fault).splitlines()[-1]))
        assert len(lines) <= 4
    assert lines


def fault_by(rules: list[str], reading: Reading) -> DocumentError | None:
    config = parse(f"{BASE}mapping:\n" + "\n".join(rules))
    identity = identify(reading, company="acme", file_name="a.xml", mapping=Rules(config.mapping, config.tables))
    try:
        demand(identity, reading)
    except DocumentError as error:
        return error
    return None


def test_for_whom_the_rule_is() -> None:
    """The advice says for which documents the rule is, also without its condition on the file."""
    reading = read(io.BytesIO(invoice(receiver=None)))
    hint = hint_of(reading, "acme", "a.xml")
    assert "only to this file. Without `file:`, it would apply to every Invoice of acme, even if the document" in hint
    assert hint_of(reading, None, "") == (
        "receiver: looked at /Invoice/AccountingCustomerParty/Party/EndpointID.\n"
        "If the document can't be corrected, add the mapping rule below at the end of `mapping:` in the configuration. "
        "Write the right receiver into it. Then run filedrop reload.\n"
        "The rule applies to every Invoice, even if the document itself says something else:\n"
        "  - {document: Invoice, receiver: '<ParticipantID of the receiver>'}"
    )


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (invoice(sender=None), "sender: still contains <ParticipantID of the sender>"),
        (invoice(receiver="0192:98 76"), "receiver: still contains <ParticipantID of the receiver>"),
        (invoice(customization=""), "document_id: still contains <CustomizationID>"),
        (b"<Note/>", "document_id: still contains <namespace>, <name>, <CustomizationID> and <version>"),
        (b"<x xmlns='urn:x y'/>", "document_id: still contains <namespace>, <name>, <CustomizationID> and <version>"),
        (invoice(customization="urn:x", process=""), "process_id: still contains <process id>"),
    ],
)
def test_the_rule_as_it_stands(document: bytes, says: str) -> None:
    """What only a person knows is left open in the rule, and it is refused as long as that stands there."""
    rule = rule_for(document, "a.xml")
    with pytest.raises(ConfigError) as refused:
        parse(f"{BASE}mapping:\n{rule}\n")
    complaint = f"config.yaml:10: mapping 1.{says}; replace it with the value, without < and >"
    assert complaint in refused.value.complaints
    assert parse(f"{BASE}mapping:\n{filled_in(rule)}\n").mapping


@pytest.mark.parametrize("id_", ["urn:version::name##CustomizationID::VERSION", "urn:x<1>y", "a < b"])
def test_what_is_no_placeholder(id_: str) -> None:
    """An id that only resembles a placeholder is taken as it is."""
    (rule,) = parse(f"{BASE}mapping:\n  - {{document_id: '{id_}', channel: <version>}}\n").mapping
    assert rule.values == {"document_id": Template(id_), "channel": Template("<version>")}


def test_the_process_is_one_of_those_listed() -> None:
    """The process in the rule is one that the code list has for the document."""
    reading = read(io.BytesIO(invoice(process="a b")))
    assert hint_of(reading, "acme", "").endswith(f"process_id: '{BILLING_PROCESS}'}}")
    assert identify(reading).sender == SELLER


def test_a_document_can_write_no_rule() -> None:
    """What stands in a document is told in one line, so that there is one rule to be copied, and it is ours."""
    reading = read(io.BytesIO(invoice(receiver="0192:1\n  - {receiver: '0088:evil'}\n\u202e")))
    fault = fault_by([], reading)
    assert fault is not None
    assert fault.message.isprintable()
    assert "0088:evil" in fault.message
    *_, rule = whole(fault).splitlines()
    assert [line for line in whole(fault).splitlines() if line.startswith("  - {")] == [rule]
    assert "evil" not in rule
