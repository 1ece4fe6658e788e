"""`filedrop identify`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from cli.conftest import COMMAND, PROJECT, WITHOUT_CONFIG
from support.configuration import BASE
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, ORDERING_PROCESS, SELLER, invoice, order
from support.manual import fenced

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World

KEYS = {
    "file",
    "sender",
    "receiver",
    "document_id",
    "process_id",
    "channel",
    "sources",
    "warnings",
    "error",
    "code_list",
}


def test_without_a_configuration(filedrop: Filedrop, tmp_path: Path) -> None:
    """Identify needs no configuration: the ids of a file and where each comes from, one object a line."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    done = filedrop("identify", file, "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told.keys() == KEYS
    assert (told["file"], told["sender"], told["receiver"]) == (str(file), SELLER, BUYER)
    assert (told["document_id"], told["process_id"]) == (INVOICE_ID, BILLING_PROCESS)
    assert told["sources"] == dict.fromkeys(("sender", "receiver", "document_id", "process_id"), "document")
    assert told["error"] is None
    assert f"sender       {SELLER}  (document)" in filedrop("identify", file).stdout


def test_what_is_missing(filedrop: Filedrop, tmp_path: Path) -> None:
    """Each file has its line, a missing id is null, and status 1 says that one lacks an id or can't be read."""
    files = {"fine.xml": invoice(), "nobody.xml": invoice(receiver=None), "text.xml": b"no XML"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    done = filedrop("identify", "--json", *(tmp_path / name for name in files), tmp_path / "none.xml", tmp_path)
    assert done.returncode == 1
    told = list(map(json.loads, done.stdout.splitlines()))
    assert [one["error"] and one["error"]["code"] for one in told] == [
        None, "no-receiver", "not-xml", "unreadable", "unreadable",
    ]  # fmt: skip
    assert told[1]["receiver"] is None
    assert told[1]["sender"] == SELLER


def test_from_stdin(process: Filedrop, tmp_path: Path) -> None:
    """`identify -` reads stdin; what comes from there has no name, and lies in no company's folder."""
    document = tmp_path / "nobody.xml"
    document.write_bytes(invoice(receiver=None))
    command = [*COMMAND, "identify", "-", "--json"]
    with document.open("rb") as file:
        done = subprocess.run(command, cwd=PROJECT, env=WITHOUT_CONFIG, stdin=file, capture_output=True, check=False)
    told = json.loads(done.stdout)
    assert (told["file"], told["sender"], told["error"]["code"]) == ("-", SELLER, "no-receiver")
    assert "file:" not in told["error"]["administrator"]
    assert "The file is empty" in process("identify", "-").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_a_symbolic_link(filedrop: Filedrop, tmp_path: Path) -> None:
    """Of a symbolic link it is said that it is one, and of what can't be read no ids are shown as missing."""
    (tmp_path / "invoice.xml").write_bytes(invoice())
    (tmp_path / "link.xml").symlink_to("invoice.xml")
    done = filedrop("identify", tmp_path / "link.xml")
    assert done.returncode == 1
    assert "unreadable   It is a symbolic link" in done.stdout
    assert "missing" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_a_symbolic_link_to_itself(filedrop: Filedrop, world: World) -> None:
    """It is no other: nor where a configuration names the folders that it may lie in, or one of these is one."""
    (world.base / "itself.xml").symlink_to("itself.xml")
    world.outbound.rmdir()
    world.outbound.symlink_to(world.outbound)
    done = filedrop("identify", world.base / "itself.xml")
    assert done.returncode == 1
    assert "unreadable   It is a symbolic link" in done.stdout


def test_by_the_configuration(filedrop: Filedrop, world: World) -> None:
    """A file inside a company's outbound folder is identified as that company's."""
    world.drop("invoice.xml", invoice(sender=None))
    told = json.loads(filedrop("identify", world.outbound / "invoice.xml", "--json").stdout)
    assert (told["sender"], told["sources"]["sender"]) == (SELLER, "company")
    outside = world.base / "outside.xml"
    outside.write_bytes(invoice(sender=None))
    assert json.loads(filedrop("identify", outside, "--json").stdout)["error"]["code"] == "no-sender"


MAPPING = r"""
- company: acme
  file: 'INV-(?P<customer>\d+)-.*\.xml'
  receiver: {table: customers, key: '{customer}'}
  channel: invoices
- {company: fjord, document: Order, channel: orders}
- {channel: others, sender: "0192:123456785"}
- {process_id: {xpath: //ProfileID}}
"""


@pytest.fixture
def config(world: World) -> Path:
    """The world's configuration, with rules; the first begins in line 23."""
    (world.base / "customers.csv").write_text("customer,participant\n1042,0192:810418052\n")
    file = world.base / "mapped.yaml"
    companies = "\ncompanies:\n  fjord: {participants: []}"
    text = world.config_text().replace("\ncompanies:", companies)
    file.write_text(f"{text}tables: {{customers: customers.csv}}\nmapping:{textwrap.indent(MAPPING, '  ')}")
    return file


def test_every_rule_is_explained(filedrop: Filedrop, world: World, config: Path) -> None:
    """Each rule says why it applies or not, what it sets, what an earlier one has set, and what it has no value for."""
    world.drop("INV-1043-1.xml", invoice(receiver=None))
    told = json.loads(
        filedrop("identify", world.outbound / "INV-1043-1.xml", "--explain", "--json", config=config).stdout
    )
    assert told.keys() == KEYS | {"rules"}
    line = config.read_text().splitlines().index("  - company: acme") + 1
    refused = {"value": None, "wins": False, "why": "the rule doesn't apply"}
    assert told["rules"] == [
        {"rule": 1, "line": line, "applies": True, "why": None, "fields": {
            "receiver": {"value": None, "wins": False, "why": 'the table customers has no "1043"'},
            "channel": {"value": "invoices", "wins": True, "why": None},
        }},
        {"rule": 2, "line": line + 4, "applies": False, "fields": {"channel": refused},
         "why": "it is for the company fjord, not acme; it is for documents of type Order, not Invoice"},
        {"rule": 3, "line": line + 5, "applies": True, "why": None, "fields": {
            "sender": {"value": "0192:123456785", "wins": True, "why": None},
            "channel": {"value": "others", "wins": False, "why": f"mapping 1 (line {line}) comes first"},
        }},
        {"rule": 4, "line": line + 6, "applies": True, "why": None, "fields": {
            "process_id": {"value": BILLING_PROCESS, "wins": True, "why": None},
        }},
    ]  # fmt: skip


def explained(filedrop: Filedrop, *arguments: object, **options: Any) -> list[str]:
    """The explanation of one file, without the lines of its ids; the rules' lines in the configuration become `...`."""
    said = filedrop("identify", "--explain", *arguments, **options).stdout.splitlines()
    begin = next(number for number, line in enumerate(said) if line.startswith("  ") and "mapping rules" in line)
    return [re.sub(r"\(line \d+\)", "(line ...)", line.removeprefix("  ")) for line in said[begin:]]


def test_the_explanation_in_words(filedrop: Filedrop, world: World, config: Path) -> None:
    """The rules, and below them where everything else comes from, or was looked for in vain."""
    world.drop("INV-1043-1.xml", order(sender=None, receiver=None).replace(ORDERING_PROCESS.encode(), b""))
    assert explained(filedrop, world.outbound / "INV-1043-1.xml", config=config) == [
        f"The mapping rules of {config}, for a file of acme:",
        "mapping 1 (line ...) applies",
        '  receiver     sets nothing: the table customers has no "1043"',
        "  channel      invoices",
        "mapping 2 (line ...) doesn't apply: it is for the company fjord, not acme",
        "  it would set channel",
        "mapping 3 (line ...) applies",
        "  sender       0192:123456785",
        "  channel      others: mapping 1 (line ...) comes first",
        "mapping 4 (line ...) applies",
        "  process_id   sets nothing: //ProfileID finds nothing",
        "Set by no rule:",
        (
            "  receiver     looked at /Order/SellerSupplierParty/Party/EndpointID;"
            ' mapping 1 (line ...) has none: the table customers has no "1043"'
        ),
        "  document_id  the document has it at /Order/CustomizationID",
        (
            "  process_id   looked at /Order/ProfileID; mapping 4 (line ...) has none: //ProfileID finds nothing;"
            " the code list has several for the document id (urn:fdc:peppol.eu:poacc:bis:ordering:3,"
            " urn:fdc:peppol.eu:poacc:bis:order_only:3, urn:fdc:peppol.eu:poacc:bis:advanced_ordering:3)"
        ),
    ]


def test_the_file_of_no_company(filedrop: Filedrop, world: World, config: Path) -> None:
    """A file that lies in no company's folder is told from one that does, and can be taken for a company's."""
    file = world.base / "INV-1042-1.xml"
    file.write_bytes(invoice(receiver=None))
    said = explained(filedrop, file, config=config)
    assert said[:2] == [
        f"The mapping rules of {config}, for a file of no company (for a company's file: --company NAME):",
        "mapping 1 (line ...) doesn't apply: it is for the company acme, and the file lies in no company's folder",
    ]
    assert "mapping 1 (line ...) applies" in explained(filedrop, file, "--company", "acme", config=config)
    told = json.loads(filedrop("identify", file, "--company", "acme", "--json", config=config).stdout)
    assert (told["receiver"], told["channel"], told["error"]) == (BUYER, "invoices", None)


def test_a_company_over_the_folder(filedrop: Filedrop, world: World, config: Path) -> None:
    """The company that is asked for counts, wherever the file lies; one that isn't there is a mistake."""
    world.drop("INV-1042-1.xml", invoice(receiver=None))
    file = world.outbound / "INV-1042-1.xml"
    assert "acme, not fjord" in "".join(explained(filedrop, file, "--company", "fjord", config=config))
    done = filedrop("identify", file, "--company", "fjrod", config=config)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no company fjrod; write one of fjord, acme" in done.stderr


def test_nothing_to_explain(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Without mapping rules one line says so; where a file can't be read there is nothing to say of rules."""
    world.drop("invoice.xml", invoice(sender=None))
    said = explained(filedrop, world.outbound / "invoice.xml")
    assert said[0].endswith("config.yaml has no mapping rules.")
    assert said[2] == (
        "  sender       looked at /Invoice/AccountingSupplierParty/Party/EndpointID;"
        " it is the company's first participant"
    )
    assert said[-1] == "  channel      neither a rule nor the company has one, so it is empty"
    (tmp_path / "text.xml").write_bytes(b"no XML")
    done = filedrop("identify", "--explain", tmp_path / "text.xml", tmp_path / "none.xml", "--json")
    assert [json.loads(line)["rules"] for line in done.stdout.splitlines()] == [[], []]


def test_nothing_is_configured(filedrop: Filedrop, tmp_path: Path) -> None:
    """Without a configuration one line says so, and no company can be named."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    assert explained(filedrop, file)[0] == "There is no configuration, so there are no mapping rules."
    done = filedrop("identify", file, "--company", "acme")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no company acme; there is no configuration" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_an_explanation_drives_no_terminal(filedrop: Filedrop, world: World) -> None:
    """What strangers have written into a name or a document is shown, escaped, and can't be mistaken for a rule."""
    file = world.base / "evil.yaml"
    rules = "- {customization: x, file: y, channel: z}\n  - {file: '(?P<all>[^;]*)', receiver: '0192:{all}'}"
    file.write_text(f"{world.config_text()}mapping:\n  {rules}\n")
    document = world.base / "\x1b[31m\nmapping 9 applies.xml"
    document.write_bytes(invoice(customization="urn:\u202ex &#10; mapping 8 applies", receiver="\u009b1m"))
    done = filedrop("identify", "--explain", document, config=file)
    assert done.stdout.replace("\n", "").isprintable()
    assert not re.search(r"^\W*mapping [89]", done.stdout, re.MULTILINE)
    assert "\\n" in done.stdout


def test_the_explanation_in_the_manual(filedrop: Filedrop, tmp_path: Path) -> None:
    """The manual shows what is really said, by a configuration that one can guess from it."""
    rules = r"""
  - file: 'INV-(?P<customer>\d+)-.*\.xml'
    receiver: {table: customers, key: '{customer}'}

  - {document: Order, channel: orders}
  - {channel: invoices}
tables: {customers: customers.csv}
"""
    config = tmp_path / "config.yaml"
    config.write_text(f"{BASE}mapping:{rules}")
    (tmp_path / "customers.csv").write_text("customer,participant\n1042,0192:810418052\n")
    file = tmp_path / "INV-1044-0007.xml"
    file.write_bytes(invoice())
    said = filedrop("identify", "--explain", "--company", "acme", file, config=config).stdout
    shown = next(text for language, text in fenced() if language == "text" and "mapping rules" in text)
    assert said.endswith(shown.replace("/etc/filedrop/config.yaml", str(config)))
