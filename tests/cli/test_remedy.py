"""The rule in a note, put where the note says, mends what the note is about: from the drop to the access point."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING, ORDERING_PROCESS, invoice, order
from support.notes import filled_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World

SUPPLIER = "/Invoice/AccountingSupplierParty/Party/EndpointID"
CUSTOMER = "/Invoice/AccountingCustomerParty/Party/EndpointID"
PROFILE = f"<cbc:ProfileID>{ORDERING_PROCESS}</cbc:ProfileID>".encode()
BY_NOTE = """- {document: Invoice, receiver: {xpath: "concat('0192:', //Note)"}}"""
BY_TABLE = r"- {file: 'INV-(?P<customer>\d+)-.*', receiver: {table: customers, key: '{customer}'}}"
BY_NAME = r"- {file: 'INV-(?P<customer>[^.]*)\.xml', receiver: '0192:{customer}'}"
LATER = "- {company: acme, document: Invoice, process_id: urn:ours}"


class Office:
    """An administrator with a note in one hand and the configuration in the other."""

    def __init__(self, world: World, config: Path, filedrop: Filedrop) -> None:
        self.world = world
        self._config = config
        self._filedrop = filedrop
        (config.parent / "customers.csv").write_text("customer,participant\n1042,0192:810418052\n")

    def run(self, rules: list[str], *command: str) -> None:
        """Run a command, and then filedrop once, by these rules."""
        mapping = "".join(f"  {rule}\n" for rule in rules)
        tables = "tables: {customers: customers.csv}\n"
        self._config.write_text(f"{self.world.config_text()}mapping:\n{mapping}{tables}")
        for words in (command, ("run", "--once")):
            done = self._filedrop(*words, config=self._config) if words else None
            assert done is None or done.returncode in (0, 1), done.stderr

    def notes(self) -> list[str]:
        """The notes of what has failed."""
        failed = self.world.outbound / "failed"
        return [note.read_text("utf-8") for note in sorted(failed.glob("*.why.txt"))]

    def mend(self, rules: list[str]) -> list[str]:
        """The rules with the one that stands in the first note, filled in, where the note wants it."""
        note = self.notes()[0]
        (line,) = re.findall(r"^  (- \{.*\})$", note, re.MULTILINE)
        above = re.search(r"Correct what is set by mapping (\d+) .* put the mapping rule below above mapping \1 ", note)
        assert above or "at the end of `mapping:`" in note
        place = int(above[1]) - 1 if above else len(rules)
        return [*rules[:place], filled_in(line), *rules[place:]]


@pytest.fixture
def office(make_world: Callable[..., World], tmp_path: Path, filedrop: Filedrop) -> Office:
    return Office(make_world(companies={"acme": "{participants: []}"}), tmp_path / "config.yaml", filedrop)


@pytest.mark.parametrize(
    ("content", "rules", "code", "says"),
    [
        (invoice(sender=None), [], "no-sender", f"looked at {SUPPLIER}; the company acme has no participants."),
        (invoice(receiver=None), [LATER], "no-receiver", f"receiver: looked at {CUSTOMER}."),
        (invoice(receiver="EM:a@b.no"), [], "no-receiver", f'{CUSTOMER}, where "a@b.no" with schemeID "EM" is no'),
        (order(receiver=None), [], "no-receiver", "looked at /Order/SellerSupplierParty/Party/EndpointID."),
        (invoice(receiver=None), [BY_TABLE], "no-receiver",
         f'{CUSTOMER}; mapping 1 (line ...) has none: the table customers has no "7".'),
        (invoice(customization=""), [], "no-document-id", "document id: looked at /Invoice/Customiz"),
        (invoice(customization="urn:x y"), [], "no-document-id", "the document has it at /Invoice/CustomizationID."),
        (invoice().replace(b"xsd:Invoice-2", b"xsd_Invoice"), [], "no-document-id",
         f'looked at /Invoice/CustomizationID, where "{BILLING}" stands, but without a version.'),
        (order().replace(PROFILE, b""), [], "no-process-id",
         "looked at /Order/ProfileID; the code list has several for the document id (urn:fdc:peppol.eu:poacc:bis:ord"),
        (invoice(customization="urn:x", process=""), [], "no-process-id",
         "looked at /Invoice/ProfileID; the code list doesn't know the document id."),
        (invoice(process="on purchase order"), [], "no-process-id", "the document has it at /Invoice/ProfileID."),
        (invoice(process="on order"), [LATER.replace("urn:ours", "our process")], "no-process-id",
         "mapping 1 (line ...) sets it."),
        (invoice(receiver="0192:98 76"), [LATER], "bad-participant", f"the document has it at {CUSTOMER}."),
        (invoice(sender="0192:blåbær"), [], "bad-participant", f"the document has it at {SUPPLIER}."),
        (invoice(), [LATER, BY_NOTE], "bad-participant", "mapping 2 (line ...) sets it."),
        (invoice(), [BY_NAME], "bad-participant", "mapping 1 (line ...) sets it."),
        (invoice(sender=None, receiver=None, customization="", process=""), [], "no-sender",
         f"\nsender: looked at {SUPPLIER}; the company acme has no participants.\nreceiver: looked"),
        (invoice(sender="0192:blåbær", receiver=None, process="on order"), [], "no-receiver",
         'is missing or not valid. The sender\'s PEPPOL address (ParticipantID) is wrong: "0192:blåbær"'),
        (invoice(receiver=None), [LATER.replace("urn:ours", "our process"), BY_TABLE], "no-receiver",
         ": mapping 1 (line ...) sets it."),
        (invoice(receiver=None), [LATER.replace("process_id: urn:ours", "document_id: our document"),
         LATER.replace("urn:ours", "our process")], "no-receiver", ": mapping 2 (line ...) sets it."),
    ],
)  # fmt: skip
def test_the_rule_in_the_note_mends(office: Office, content: bytes, rules: list[str], code: str, says: str) -> None:
    """A note names all ids that are missing and where each was looked for; with its rule, the document is sent."""
    name = "INV-7-å b's (1).xml"
    office.world.drop(name, content)
    office.run(rules)
    (note,) = office.notes()
    assert f"Reason: {code}" in note
    assert says in re.sub(r"\(line \d+\)", "(line ...)", note)
    office.run(office.mend(rules), "retry", "--all")
    assert not office.notes()
    assert office.world.accepted() == {name: 1}
    assert any(source.startswith("mapping") for source in office.world.sidecar(name)["sources"].values())


@pytest.mark.parametrize(("name", "other"), [("invoice-1.xml", "invoice-10.xml"), ("invoice.xml", "invoice-1002.xml")])
def test_the_rule_is_for_no_other_file(office: Office, name: str, other: str) -> None:
    """The rule in a note leaves what other documents say as it is, also where their names only begin alike."""
    office.world.drop(name, invoice("1", receiver=None))
    office.run([])
    office.world.drop(other, invoice("2", receiver="0192:123456785"))
    office.run(office.mend([]), "retry", "--all")
    assert office.world.sidecar(name)["sources"]["receiver"] == "mapping 1"
    assert office.world.sidecar(other)["receiver"] == "0192:123456785"


@pytest.mark.parametrize("name", ["invoice.xml", f"{'Rechnung für Bücher ' * 10}.xml", f"{'x' * 150}.{'y' * 60}.xml"])
def test_a_name_that_changes_on_its_way(office: Office, name: str) -> None:
    """A file that comes back under a number, or with its long name shortened, is still one of the rule's."""
    for number in ("1", "2"):
        office.world.put(office.world.outbound / name, invoice(number, receiver=None))
        office.run([])
    assert len(office.notes()) == 2
    office.run(office.mend([]), "retry", "--all")
    assert not office.notes()
    assert len(office.world.sandbox.store.sent("acme")) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there, names are Unicode")
def test_a_name_that_is_no_text(office: Office) -> None:
    """A name that isn't valid Unicode, in a receiver by a rule, ends in a note, and its rule is for that name."""
    name = os.fsdecode(b"INV-\xff\n.xml")
    office.world.drop(name, invoice())
    office.run([BY_NAME])
    office.run(office.mend([BY_NAME]), "retry", "--all")
    assert not office.notes()
    assert office.world.accepted() == {name: 1}
