"""The small inputs in tests/cases, each with the right result by the table in the README.md there.

A test names the folder of its case: `case("page-order")`. A case without a test is in WAITING, with the reason.
"""

from __future__ import annotations

import ast
import io
import json
import re
import unicodedata
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.corpus import RULES as PUBLISHED
from support.corpus import needs_corpus
from support.documents import BILLING_PROCESS, BUYER, SELLER, invoice, listed_as, with_pdf
from support.faults import instead
from support.matrix import quick
from support.pdfs import enveloped
from support.prepared import Steps
from support.responses import tie_responses
from support.rules import published_rules
from support.stepping import RULES, Life

from filedrop.cli import rehearsal
from filedrop.config import parse
from filedrop.identify import codelist, identify, read
from filedrop.identify.mapping import Rules
from filedrop.model.document import BILLING_WITH_RESPONSE
from filedrop.readable import html, sheets
from filedrop.readable.codes import LISTS
from filedrop.status.survey import Survey, part_of
from filedrop.storage.names import PDF_WITH_INVOICE, names_document
from filedrop.validation import ByRules, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

CASES = Path(__file__).parent / "cases"
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)

WAITING = {
    "belgian-0208-with-BE": "a later issue: the form of an id by its scheme",
}
"""The cases without a test, each with the work that it waits for. Whoever adds the test deletes the entry."""


def case(name: str) -> Path:
    """The folder of a case."""
    assert name in cases(), f"there is no case {name}; there are {', '.join(cases())}"
    return CASES / name


def cases() -> list[str]:
    """The names of all cases."""
    return sorted(path.name for path in CASES.iterdir() if path.is_dir())


def test_every_case_has_a_test() -> None:
    """Each folder has a row in the table, and is named here, by its test or in WAITING, and not in both."""
    assert re.findall("^[|] `(.*?)` [|]", (CASES / "README.md").read_text(encoding="utf-8"), re.MULTILINE) == cases()
    nodes = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    named = Counter(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    assert [name for name in cases() if name not in named] == []
    assert [name for name in WAITING if name not in cases()] == []
    assert [name for name in WAITING if named[name] > 1] == []


def test_conflict_copies(world: World) -> None:
    """Of the versions that a client of synchronized folders leaves, the one that kept its name is sent alone."""
    for path in case("conflict-copies").glob("*.xml"):
        world.drop(path.name, path.read_bytes())
    world.run_once()
    assert world.accepted() == {"inv-500.xml": 1}
    assert len(list(world.outbound.glob("*onflict*.xml"))) == 2


def test_conflict_copies_in_german(world: World) -> None:
    """The names that programs give in another language, or in every one, are no documents' either."""
    for path in case("conflict-copies-german").glob("*.xml"):
        world.drop(path.name, path.read_bytes())
    world.run_once()
    assert world.accepted() == {"inv-500.xml": 1}
    assert len(list(world.outbound.glob("*onfli*.xml"))) == 3


def test_ready_file_in_another_case(make_world: Callable[..., World]) -> None:
    """A ready file is one whatever the case of its suffix."""
    world = make_world(outbound={"ready_suffix": ".ready"})
    (path,) = case("ready-suffix-case").glob("c.xml")
    world.drop("c.xml", path.read_bytes())
    world.put(world.outbound / "c.xml.READY", b"")
    world.run_once()
    assert world.accepted() == {"c.xml": 1}


def test_hints_of_a_check(world: World) -> None:
    """Each sentence of advice has its line, as in a note."""
    said = ask(world, "check", "--company", "acme", str(case("check-hint-with-backslash-n") / "two-hints.xml"))
    lines = [line.strip() for line in said.output.splitlines()]
    assert [line for line in lines if "Then export the document again." in line][1:]
    assert "\\n" not in said.output


def test_what_is_above_the_header_of_a_table(world: World) -> None:
    """A `sep=;` or a title above the header is no receiver; an id without the form of its scheme is reported."""
    table = case("check-csv-sep") / "customers.csv"
    said = ask(world, "check", "--company", "acme", str(table))
    assert (said.status, "1 receiver: 1 can be reached" in said.says) == (0, True)
    other = world.base / "titled.csv"
    other.write_bytes(b"Customers, all\n;\n" + table.read_bytes().partition(b"\n")[2] + b" ; \nShort;0192:12\nNo;x\n")
    said = ask(world, "check", "--company", "acme", str(other))
    assert "3 receivers:" in said.says
    assert "row 6: 0192:12: it is not in the directory; receiver 0192:12: it doesn't have the form" in said.says
    assert "row 7: -: no cell of this row is a ParticipantID" in said.says
    other.write_bytes(b"Name;Peppol\n\n")
    assert f"{other} is empty" in ask(world, "check", "--company", "acme", str(other)).says


def test_check_of_ten_files(make_world: Callable[..., World]) -> None:
    """What `check` says of each file is what a run then does with it, by the table beside the files."""
    files = case("check-file")
    table = (files / "README.md").read_text("utf-8")
    rows = re.findall(r"^[|] `(.+)` [|].*[|] `filedrop (.+)` [|] (.+) [|] (.) [|]$", table, re.MULTILINE)
    assert sorted(row[0] for row in rows) == sorted(path.name for path in files.glob("*.xml"))
    rule = "{company: acme, file: 'INV-1042-.*', receiver: \"0192:810418052\"}"
    prepare = {"directory": "refuse", "prepare": "{pdf: embed, pdf_wait: 0s}", "incomplete_after": "0s"}
    world = make_world(outbound=prepare, more=f"mapping: [{rule}]")
    world.put(world.outbound / "before.xml", (files / "invoice-1007.xml").read_bytes())
    world.run_once()
    said = {}
    for name, words, _, status in rows:
        command, _, file = words.partition(" ")
        done = ask(world, command, str(files / file), "--json")
        (document,) = json.loads(done.output)["documents"]
        said[name] = {"would send": "sent"}.get(document["verdict"], document["code"])
        assert (name, str(done.status)) == (name, status)
    assert said == {name: outcome for name, _, outcome, _ in rows}
    world.put(world.outbound / "invoice-1010.pdf", (files / "invoice-1010.pdf").read_bytes())
    for name in said:
        world.put(world.outbound / name, (files / name).read_bytes())
    world.run_once()
    assert {name: _outcome(world, name) for name in said} == said


@pytest.mark.slow
def test_check_of_every_case(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each document here, `check` says what a run then does with it: sent, put aside, or failed, by which code."""
    monkeypatch.setattr(rehearsal, "PAUSE", 0.0)
    rules = {"directory": "refuse", "unreachable": "aside", "unreachable_after": "1s", "incomplete_after": "0s"}
    world = make_world(outbound=rules, companies={"acme": "{participants: []}"})
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", CUSTOMER: "buyer"})
    paths = [path for path in sorted(CASES.rglob("*.xml")) if names_document(path.name)]
    files = {"-".join(path.relative_to(CASES).parts): path.read_bytes() for path in paths}
    export = world.base / "export"
    export.mkdir()
    for name, content in files.items():
        (export / name).write_bytes(content)
    documents = json.loads(ask(world, "check", str(export), "--json").output)["documents"]
    words = {"would send": "sent", "would be put aside": "aside"}
    said = {Path(document["file"]).name: words.get(document["verdict"], document["code"]) for document in documents}
    assert said.keys() == files.keys()
    for name, content in files.items():
        world.put(world.outbound / name, content)
    with world.service():
        world.until(lambda: all(_outcome(world, name) for name in files), what="each document has ended")
    done = {name: _outcome(world, name) for name in files}
    # Of two equal documents, a run may take another one first.
    assert {name: (said[name], done[name]) for name in files if said[name] != done[name] != "duplicate"} == {}
    assert Counter(done.values()) == Counter(said.values())


def _outcome(world: World, name: str) -> str:
    """What became of a dropped file: `sent`, `aside`, the code of its error, or "" while it waits."""
    for place in ("sent", "archive", "not-on-peppol", "failed"):
        for path in (world.outbound / place).rglob(f"{name}.json"):
            error = json.loads(path.read_bytes()).get("error")
            return error["code"] if place == "failed" else {"not-on-peppol": "aside"}.get(place, "sent")
    return ""


def test_document_id_with_its_scheme() -> None:
    """The name of the scheme in an envelope is no part of the document id."""
    with (case("sbdh-documentid-with-scheme") / "sbdh-docid-with-scheme.xml").open("rb") as file:
        identity = identify(read(file))
    root = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice"
    billing = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
    assert identity.document_id == f"{root}##{billing}::2.1"
    assert identity.sources["document_id"] == "envelope"


def test_ids_that_cannot_be_read(world: World) -> None:
    """What an envelope says and filedrop can't read is quoted in the note; GS1's own form is read."""
    names = {
        name: next(case(name).glob("x.xml")) for name in ("envelope-receiver-without-scheme", "envelope-receiver-gs1")
    }
    for name, path in names.items():
        world.drop(f"{name}.xml", path.read_bytes())
    world.drop("docid.xml", (case("envelope-document-id-of-another-type") / "docid-without-form.xml").read_bytes())
    world.drop("no-namespace.xml", (case("no-namespace") / "no-namespace.xml").read_bytes())
    world.run_once()
    unread = world.sidecar("envelope-receiver-without-scheme.xml")["error"]
    assert (unread["code"], '"810418052"' in unread["administrator"]) == ("no-receiver", True)
    assert world.sidecar("envelope-receiver-gs1.xml")["receiver"] == "0088:7300010000001"
    assert world.error("docid.xml") == "no-document-id"
    bare = world.sidecar("no-namespace.xml")["error"]
    assert (bare["code"], "Invoice has no namespace (xmlns)" in bare["administrator"]) == ("no-document-id", True)
    assert "::Invoice##" not in bare["administrator"].replace("<namespace>::", "")


@pytest.mark.parametrize(
    ("name", "edition"), [("codelist-version-10", "10.0 of 16 November 2026"), ("codelist-scheduled", "9.8 of 16 ")]
)
def test_newer_code_list(make_world: Callable[..., World], name: str, edition: str) -> None:
    """A list counts whose version has no minor number, or which has a state that filedrop doesn't know."""
    world = make_world(more=f"codelists: {case(name) / 'list'}")
    world.drop("credit.xml", (case(name) / "x.xml").read_bytes().replace(b"Invoice", b"CreditNote"))
    try:
        assert f"version {edition}" in ask(world, "check").output
        world.run_once()
    finally:
        codelist.use(None)
    assert "code list has" not in "".join(world.sidecar("credit.xml")["warnings"])


def test_document_id_of_another_type() -> None:
    """A document id in the envelope that is of another type than the document inside is a warning."""
    with (case("envelope-document-id-of-another-type") / "x.xml").open("rb") as file:
        identity = identify(read(file))
    assert "document_id: it is an id for CreditNote, but the document is Invoice" in identity.warnings


def test_sender_without_a_scheme(make_world: Callable[..., World]) -> None:
    """An EndpointID without a schemeID is the one own participant with its value; otherwise the sender is foreign."""
    world = make_world(companies={"acme": '{participants: ["0192:987654325", "0088:7300010000001"]}'})
    for path in case("sender-without-scheme").glob("*.xml"):
        world.drop(path.name, path.read_bytes())
    world.run_once()
    assert world.error("x.xml") == "foreign-sender"
    second = world.sidecar("second-noscheme.xml")
    assert (second["sender"], second["sources"]["sender"]) == ("0088:7300010000001", "document")


def test_date_with_an_offset(make_world: Callable[..., World]) -> None:
    """A date with an offset is that day: for duplicates by number, in the sidecar and on the page."""
    world = make_world(outbound={"duplicates": "number"}, inbound={"readable": "html"})
    for name in ("first.xml", "second.xml", "third.xml"):
        world.drop(name, (case("duplicates-date-offset") / name).read_bytes())
        world.run_once()
    assert [world.error(name) for name in ("first.xml", "second.xml", "third.xml")] == [None, "duplicate", "duplicate"]
    for name in ("first.xml", "second.xml"):
        world.receive((case("duplicates-date-offset") / name).read_bytes())
        world.run_once()
    received = sorted(world.inbound.glob("*.xml.json"))
    first, second = (json.loads(path.read_bytes()) for path in received)
    assert first["document"]["issue_date"] == second["document"]["issue_date"] == "2026-11-20"
    assert second["possible_duplicate_of"] == first["msg_no"]
    page = (world.inbound / second["page"]).read_text(encoding="utf-8")
    assert "2026-11-20" in page
    assert "+01:00" not in page.partition("<body>")[2]


def test_name_of_a_file_in_decomposed_letters(tmp_path: Path) -> None:
    """A rule in composed letters applies to a file whose name a Mac has written, and comes before the document."""
    text = (case("mapping-file-nfd") / "config.yaml").read_text(encoding="utf-8")
    config = parse(text.replace("/srv/filedrop", str(tmp_path)))
    (path,) = case("mapping-file-nfd").glob("*.xml")
    with path.open("rb") as file:
        rules = Rules(config.mapping, config.tables)
        identity = identify(read(file, xpaths=rules.xpaths), company="acme", file_name=path.name, mapping=rules)
    assert not unicodedata.is_normalized("NFC", path.name)
    assert (identity.receiver, identity.sources["receiver"]) == ("0192:810418052", "mapping 1")


@needs_corpus
@pytest.mark.parametrize(
    ("name", "says", "xpath", "line"),
    quick(
        [
            ("validate-boolean-True", '"True" is not a value', "/Invoice/AllowanceCharge/ChargeIndicator", 15),
            ("validate-two-prices", "more than one value", "/Invoice/InvoiceLine/Price[2]", 19),
            ("validate-two-profileids", "more than one value", "/Invoice/ProfileID[2]", 4),
        ]
    ),
)
def test_document_at_which_the_rules_end(tmp_path: Path, name: str, says: str, xpath: str, line: int) -> None:
    """What a document contains that the rules can't be applied to makes it invalid, and the finding has its place."""
    (path,) = case(name).glob("*.xml")
    content = path.read_bytes()
    with path.open("rb") as file:
        reading = read(file)
    with closing(ByRules(published_rules(tmp_path / "rules"), seconds=600, memory=10**9)) as validator:
        verdict = validator.judge(Kind(reading.root_name, reading.customization), [content])
    assert not verdict.is_valid
    (finding,) = (one for one in verdict.findings if not one.rule)
    assert says in finding.message
    assert (finding.xpath, finding.line) == (xpath, line)


@pytest.mark.parametrize(
    ("name", "document", "answer", "reason"),
    [
        ("response-to-cii-380", "S-CII380.inv.xml", "S-CII380.ar.xml", "x"),
        (
            "response-reason-imr-code",
            "R-IMR-code.inv.xml",
            "R-IMR-code.ar.xml",
            "Prices incorrect; Requested action: Credit fully",
        ),
        (
            "response-reason-mlr-line",
            "R-MLR-line.inv.xml",
            "R-MLR-line.ar.xml",
            "Number too long for our system (/Invoice/cbc:ID)",
        ),
    ],
)
def test_a_rejection(world: World, name: str, document: str, answer: str, reason: str) -> None:
    """A rejection is tied to its document, with its reason in words: in the sidecar, in history and in `status`."""
    buyer = "0192:123456785"
    world.sandbox.store.connect({SELLER: "acme", buyer: "buyer"})
    world.drop("invoice.xml", (case(name) / document).read_bytes())
    world.run_once()
    number = world.receive((case(name) / answer).read_bytes(), sender=buyer)
    _assert_rejected(world, number, buyer, reason)


@pytest.mark.parametrize("name", ["status-seller-siret", "status-seller-no-scheme", "status-date-offset"])
def test_a_status_that_names_the_seller_otherwise(make_world: Callable[..., World], name: str) -> None:
    """The status of a French invoice is tied by the seller's SIREN, however the platform writes it."""
    seller, buyer = "0225:100000009", "0225:200000008"
    world = make_world(companies={"acme": f'{{participants: ["{seller}", "{seller}_STATUTS"]}}'})
    world.sandbox.store.connect({seller: "acme", f"{seller}_STATUTS": "acme", buyer: "buyer"})
    world.drop("invoice.xml", (case(name) / "invoice.xml").read_bytes())
    world.run_once()
    status = (case(name) / "status.xml").read_bytes()
    world.sandbox.store.receive(
        sender="0225:999999999_PA", receiver=f"{seller}_STATUTS", document_id=listed_as(status), process_id="p",
        content=status,
    )  # fmt: skip
    tie_responses(world)
    assert [response["means"] for response in world.sidecar("invoice.xml")["responses"]] == [
        "Refused" if name == "status-seller-no-scheme" else "Rejected"
    ]


def test_a_message_level_status(world: World) -> None:
    """The status that the receiver's access point sends is tied to the one message with the id that it names."""
    world.drop("invoice.xml", invoice("1001"))
    world.drop("other.xml", invoice("1002"))
    world.run_once()
    sent = {message.msg_no: message.uuid for message in world.sandbox.store.sent("acme")}
    status = (case("response-mls-from-access-point") / "mls.xml").read_bytes()
    message_id = sent[world.sidecar("invoice.xml")["msg_no"]]
    number = world.receive(status.replace(b"ID-OF-THE-MESSAGE", message_id.encode()), sender="0242:000123")
    _assert_rejected(world, number, "the access point 0242:000123", "Number too long for our system (/Invoice/cbc:ID)")
    assert "responses" not in world.sidecar("other.xml")


def test_statuses_for_the_access_point(world: World) -> None:
    """Statuses that are addressed to the access point are recorded at their document; only `RE` is a rejection."""
    path = case("mls-for-nobody")
    world.drop("invoice.xml", (path / "invoice.xml").read_bytes().replace(b"123456785", b"810418052"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    for name in ("AB", "AP", "RE"):
        status = (path / f"mls-{name}.xml").read_bytes().replace(b"ID-OF-THE-MESSAGE", message.uuid.encode())
        number = world.receive_for_access_point(status)
    tie_responses(world)
    assert not world.sandbox.store.inbox("acme")
    responses = world.sidecar("invoice.xml")["responses"]
    assert sorted(response["code"] for response in responses) == ["AB", "AP", "RE"]
    shown = world.filedrop("status").stdout
    assert (
        f"the access point 0242:000123 rejected it in message {number}: The number is longer than 20 characters"
        in shown
    )
    assert shown.count("rejected it in message") == 1
    assert world.filedrop("status", "--check").returncode == 1
    assert not world.delivered()


def test_statuses_of_unknown_documents(world: World) -> None:
    """Statuses that name no document stay unread, nothing is written, and `status` counts them apart."""
    path = case("mls-unknown")
    world.drop("invoice.xml", (case("mls-for-nobody") / "invoice.xml").read_bytes().replace(b"123456785", b"810418052"))
    world.run_once()
    numbers = [world.receive_for_access_point(file.read_bytes()) for file in sorted(path.glob("*.xml"))]
    with world.daemon():
        world.until(lambda: "2 statuses of access points name no document" in world.filedrop("status").stdout)
        shown = world.filedrop("status").stdout
    assert "add their receivers" not in shown
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == numbers
    assert "responses" not in world.sidecar("invoice.xml")
    with world.locked() as journal:
        assert journal.engine.read("SELECT 1 FROM responses UNION SELECT 1 FROM messages") == []


def _assert_rejected(world: World, number: int, sender: str, reason: str) -> None:
    """The message with this number is received, and rejects the document that was dropped as invoice.xml."""
    tie_responses(world)
    (told,) = world.sidecar("invoice.xml")["responses"]
    assert (told["code"], told["means"], told["reason"], told["msg_no"]) == ("RE", "Rejected", reason, number)
    assert f"{sender} rejected it in message {number}: {reason}" in world.filedrop("status").stdout
    assert reason in world.filedrop("history", "invoice.xml").stdout


def test_pdfs_behind_junk(make_world: Callable[..., World]) -> None:
    """A PDF that viewers open is called one, whatever is before its beginning."""
    world = make_world(inbound={"attachments": "beside"})
    world.receive((case("attachment-pdf-behind-junk") / "invoice.xml").read_bytes())
    world.run_once()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
    assert [attached["media_type"] for attached in beside["attachments"]] == ["application/pdf"] * 4
    assert all((world.inbound / attached["file"]).suffix == ".pdf" for attached in beside["attachments"])


@pytest.mark.slow
def test_pdf_in_an_envelope(make_world: Callable[..., World]) -> None:
    """The PDF of Factur-X that an envelope has in place of a document is beside it, and its page links to it."""
    world = make_world(inbound={"attachments": "beside", "readable": "html"})
    document = (case("received-facturx-pdf") / "facturx-sbdh.xml").read_bytes()
    world.receive(document)
    world.run_once()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
    attached, xml = beside["attachments"]
    assert attached["media_type"] == "application/pdf"
    assert (world.inbound / attached["file"]).read_bytes().startswith(b"%PDF-1.7")
    assert "the PDF is damaged" in xml["error"]  # it has no content
    page = (world.inbound / beside["page"]).read_text(encoding="utf-8")
    assert f'href="./{attached["file"]}"' in page
    alone = html.page(sheets.sheet(io.BytesIO(document)), "facturx.xml", {}).decode()
    assert "application/pdf" in alone.partition("<body>")[2]


def test_pdf_in_outbound(make_world: Callable[..., World], clock: Clock) -> None:
    """A PDF is reported as a PDF, and what to do is to export the XML; also renamed, and shown."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    content = (case("pdf-in-outbound-poor-reason") / "facturx.pdf").read_bytes()
    world.put(world.outbound / "facturx.pdf", content)
    world.put(world.outbound / "facturx.xml", content)
    life = Life(world, clock)
    life.go_on(1800)
    status = Survey(world.configuration(), life.journal).look(part_of(life.service.report()), running=True, now=NOON)
    life.drop()
    (matter,) = [matter for matter in status["matters"] if matter["kind"] == "stray"]
    (item,) = matter["items"]
    assert (item["name"], item["why"]) == ("facturx.pdf", PDF_WITH_INVOICE)
    assert "export the XML itself" in matter["advice"]
    assert "ename" not in matter["advice"]
    note = (world.outbound / "failed" / "facturx.xml.why.txt").read_text(encoding="utf-8")
    assert "This is a PDF with an invoice in it (factur-x.xml)." in note
    shown = world.filedrop("show", str(world.outbound / "facturx.pdf")).stderr
    assert "is a PDF with an invoice in it (factur-x.xml): to send it, export the XML itself" in shown


def test_padded_pdf(make_world: Callable[..., World], clock: Clock) -> None:
    """NULs behind the end of a PDF are part of what is sent; a PDF without an end is refused."""
    steps, folder = Steps(make_world, clock, prepare="{pdf: require}"), case("pdf-padded-with-nul")
    for path in sorted(folder.iterdir()):  # each PDF before its document
        steps.world.put(steps.world.outbound / path.name, path.read_bytes())
    steps.go_on(1800)
    expected = [
        with_pdf((folder / f"{name}.xml").read_bytes(), f"{name}.pdf", (folder / f"{name}.pdf").read_bytes())
        for name in ("a", "b")
    ]
    assert sorted(steps.sent()) == sorted(expected)
    assert "failed/half.xml" in steps.lying()


def test_pdf_exported_again(make_world: Callable[..., World], clock: Clock) -> None:
    """`filedrop retry` takes the whole PDF that was exported again in place of the half one."""
    steps, folder = Steps(make_world, clock, prepare="{pdf: require}"), case("pdf-exported-again-retry")
    for name in ("half/b.pdf", "b.xml"):
        steps.world.put(steps.world.outbound / Path(name).name, (folder / name).read_bytes())
    steps.go_on(900)
    whole = (folder / "whole" / "b.pdf").read_bytes()
    steps.world.put(steps.world.outbound / "b.pdf", whole)
    assert steps.world.filedrop("retry", "acme", "b.xml").returncode == 0
    steps.go_on(900)
    assert steps.sent() == [with_pdf((folder / "b.xml").read_bytes(), "b.pdf", whole)]


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("pdf-xml-RE-1001", "x.pdf"),
        ("pdf-xml-kids3", "x.pdf"),
        ("pdf-xml-path-win", "x.pdf"),
        ("pdf-xml-owner-password", "rc4.pdf"),
        ("pdf-xml-owner-password", "aes256.pdf"),
    ],
)
def test_xml_in_a_pdf(make_world: Callable[..., World], folder: str, file: str) -> None:
    """However a PDF has the invoice's XML in it, that is next to the PDF, and the page shows the invoice."""
    world = make_world(inbound={"attachments": "beside", "readable": "html"})
    world.receive(enveloped((case(folder) / file).read_bytes()))
    world.run_once()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
    assert (world.inbound / beside["attachments"][1]["file"]).read_bytes().lstrip().startswith(b"<")
    page = (world.inbound / beside["page"]).read_text(encoding="utf-8")
    assert "C-1" in page
    assert "250.00" in page


def test_answer_that_is_expected(make_world: Callable[..., World]) -> None:
    """The page says what the sidecar says: by the process that the access point lists, else by the document's."""
    world = make_world(inbound={"readable": "html"})
    document = (case("answer-expected-with-scheme") / "x.xml").read_bytes()
    listed = {"": document, BILLING_PROCESS: document, BILLING_WITH_RESPONSE: invoice("1", BUYER, SELLER)}
    for process, content in listed.items():
        world.sandbox.store.receive(
            sender=BUYER, receiver=SELLER, document_id=listed_as(content), process_id=process, content=content
        )
    world.run_once()
    expected, said = [], []
    for path in sorted(world.inbound.glob("*.xml.json")):
        beside = json.loads(path.read_bytes())
        expected.append(beside.get("answer_expected", False))
        said.append("The sender expects an answer." in (world.inbound / beside["page"]).read_text(encoding="utf-8"))
    assert expected == said == [True, False, True]


@needs_corpus
def test_words_for_published_codes() -> None:
    """The types of invoices and credit notes and the categories of tax that the published rules allow have words."""
    rules = (PUBLISHED / "PEPPOL-EN16931-UBL.xslt").read_text(encoding="utf-8")
    listed = [set(codes.split()) for codes in re.findall("tokenize[(]'([^']*)'", rules)]
    for words, known in (("document_type", "380"), ("document_type", "381"), ("tax_category", "AE")):
        (codes,) = {frozenset(codes) for codes in listed if known in codes and len(codes) < 60}
        assert codes - LISTS[words].keys() == set()


@pytest.mark.parametrize(("name", "letter"), [("zwnj.xml", "\u200c"), ("emoji-zwj.xml", "\u200d")])
def test_letters_that_join(name: str, letter: str) -> None:
    """What joins or parts letters belongs to the spelling of a name."""
    document = (case("page-zwnj") / name).read_bytes()
    names = [text for text in re.findall(">([^<]*)<", document.decode()) if letter in text]
    page = unescape(html.page(sheets.sheet(io.BytesIO(document)), name, {}).decode())
    assert names
    assert all(text in page for text in names)


def shown(name: str, file: str) -> str:
    """The text of a page, without its other details, in one line."""
    page = html.page(sheets.sheet(io.BytesIO((case(name) / file).read_bytes())), file, {}).decode()
    body = page.partition("<body>")[2].partition("<h2>Other details</h2>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())


PAGES = {  # by folder and file: what its page says outside of the other details
    ("page-cii-advance-payments", "invoice.xml"): ["Prepayments", "2025-05-11", "291.91 EUR"],
    ("page-cii-en16931-terms", "invoice.xml"): [
        "Tax point: 2026-01-07", "Receipt advice BT15x", "Preceding invoice BT25x 2025-02-26", "93.93", "94.94 %",
        "Invoiced object: BT128x", "Base amount: 137.37", "Percent: 138.38 %", "Tender BT17x", "Invoiced object BT18x",
    ],
    ("page-cii-test-invoice", "invoice.xml"): ["This is a test document."],
    ("page-despatch-advice", "despatch.xml"): [
        "340123450000000014", "340123450000000021", "Serial no.: SER-9", "Best before: 2026-12-01",
        "Expires: 2026-12-31", "Dangerous goods: ADR-1203", "Gross weight 23.7 kg", "Volume 1.9 m³",
        "Consignment CONS-77", "Despatched 2026-11-21", "Instructions Handle with care INFO",
    ],
    ("page-line-references", "line-billingref.xml"): ["Preceding invoice: OLD-77"],
    ("page-line-references", "line-despatchref.xml"): ["Despatch advice: "],
    ("page-line-references", "line-delivery.xml"): ["Delivered: ", "Delivery: "],
    ("page-order", "order.xml"): [
        "Replaces order OLDORD-9", "DP-55", "Contact Kari Lager", "Ordered for: Ward B ORIG-3",
        "Partial delivery allowed: No", "Consignment order (227)", "Item specification: SPEC-4", "Serial no.: SN-8",
    ],
    ("page-pint-line-tax", "line-tax-pint.xml"): ["Tax: 25.07", "Total with tax: 125.07"],
    ("page-type-codes-construction", "71.xml"): ["Type Request for payment (71)"],
    ("page-type-codes-construction", "875.xml"): ["Type Partial construction invoice (875)"],
    ("page-type-codes-construction", "876.xml"): ["Type Partial final construction invoice (876)"],
    ("page-type-codes-construction", "877.xml"): ["Type Final construction invoice (877)"],
    ("page-withholding-tax", "withholding.xml"): ["Withholding tax 15.00 EUR", "IRPF"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "file"), PAGES)
def test_what_pages_show(name: str, file: str) -> None:
    """Each value that was once missing from a page is there, beside its label."""
    text = shown(name, file)
    assert [words for words in PAGES[name, file] if words not in text] == []


CUSTOMER = "0192:123456785"  # the receiver in the cases of `unreachable`
BY_MAIL = """
mapping:
  - receiver: {table: mail, key: {xpath: "//AccountingCustomerParty/Party/EndpointID[@schemeID = 'EM']"}}
tables: {mail: 'MAIL_CSV'}
"""


@pytest.mark.parametrize("has_rule", [True, False])
def test_unreachable_receivers(make_world: Callable[..., World], has_rule: bool) -> None:  # noqa: FBT001 - a column
    """Of an export, what can't be reached is put aside with its PDF, and all else is delivered."""
    files, ends = case("unreachable-mixed"), "not-on-peppol" if has_rule else "failed"
    more = BY_MAIL.replace("MAIL_CSV", str(files / "mail.csv")) if has_rule else ""
    aside = {"unreachable": "aside", "unreachable_after": "2s", "prepare": "{pdf: beside}"}
    companies = {"acme": f'{{participants: ["{SELLER}"], language: nb}}'}
    world = make_world(outbound=aside, more=more, companies=companies)
    world.sandbox.store.connect({SELLER: "acme", CUSTOMER: "buyer"})
    world.put(world.outbound / "7002.pdf", (files / "7002.pdf").read_bytes())
    for path in files.glob("*.xml"):
        world.drop(path.name, path.read_bytes())
    world.settle(ends=("archive", "failed", "not-on-peppol"))
    where = {name: (place.split("/")[0]) for name, place in world.places().items()}
    assert where == {
        "7001.xml": "archive", "7002.xml": "not-on-peppol", "7003.xml": ends, "7004.xml": "not-on-peppol",
        "7005.xml": "archive" if has_rule else "failed",
    }  # fmt: skip
    assert world.accepted() == {name: 1 for name, place in where.items() if place == "archive"}
    assert (world.outbound / "not-on-peppol" / "7002.pdf").exists()
    note = (world.outbound / "not-on-peppol" / "7004.xml.why.txt").read_text(encoding="utf-8")
    assert "\n\nNummeret 910000007 kan ikke stemme: Kontrollsifferet er feil." in note


@pytest.mark.parametrize("mode", ["nobody", "first no", "down"])
def test_directory_that_is_wrong(make_world: Callable[..., World], clock: Clock, mode: str) -> None:
    """A directory that is broken, or was wrong once, puts no document aside."""
    files = case("unreachable-directory")
    world = make_world(outbound=RULES | {"unreachable": "aside"}, inbound={"poll": "5m"}, clock=clock.true)
    world.sandbox.store.connect({SELLER: "acme", CUSTOMER: "buyer"})
    world.front.always("GET /directory", instead(503 if mode == "down" else 204))
    for name in ("reachable.xml", *(["unknown.xml"] if mode != "first no" else [])):
        world.drop(name, (files / name).read_bytes())
    life = Life(world, clock)
    life.go_on(300)
    if mode == "first no":
        world.front.heal()
    life.go_on(1800)
    troubles = list(life.service.guard.troubles)
    life.drop()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert bool(troubles) is (mode == "nobody")
