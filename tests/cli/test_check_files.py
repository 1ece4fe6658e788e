"""`filedrop check FILE`: its verdicts are those of a run, it posts nothing, and the rule that it proposes helps."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.conftest import COMMAND, PROJECT, WITHOUT_CONFIG, everything_below
from support.commands import ask, run_here
from support.configuration import BASE
from support.corpus import CORPUS, DOCUMENTS, needs_corpus
from support.documents import (
    BILLING_PROCESS,
    BUYER,
    INVOICE_ID,
    ORDERING_PROCESS,
    SELLER,
    credit_note,
    invoice,
    order,
)
from support.faults import answered, instead
from support.manual import fenced
from support.matrix import is_full
from support.prepared import PDF
from support.rules import own_rules

from filedrop.cli import rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Filedrop
    from support.faults import Exchange
    from support.world import World

STRANGER = "0192:974760673"  # in good form, and in no directory here
TAX_NUMBER = b"NO810418052MVA"  # the buyer's, in each invoice


@pytest.fixture(autouse=True)
def _without_pauses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "with_pauses" not in request.fixturenames:
        monkeypatch.setattr(rehearsal, "PAUSE", 0.0)


@pytest.fixture
def with_pauses() -> None:
    """The pauses between two questions stay as they are."""


@pytest.fixture
def refusing(make_world: Callable[..., World]) -> World:
    """A world whose directory stops what it objects to."""
    return make_world(outbound={"directory": "refuse"})


def rehearsed(world: World, **documents: bytes) -> dict[str, Any]:
    """What is said of these documents, which lie in a folder of their own. Nothing is posted, whatever they are."""
    folder = world.base / "export"
    folder.mkdir(exist_ok=True)
    for name, content in documents.items():
        (folder / f"{name}.xml").write_bytes(content)
    said: dict[str, Any] = json.loads(ask(world, "check", str(folder), "--json").output)
    assert not world.front.asked("POST")
    return said


def without_receiver(number: str, tax_number: bytes = TAX_NUMBER) -> bytes:
    """An invoice whose customer has a tax number, and no ParticipantID."""
    return invoice(number, receiver=None).replace(TAX_NUMBER, tax_number)


def test_what_can_be_sent(world: World) -> None:
    """A document whose receiver takes it is all that it takes for status 0."""
    (world.base / "a.xml").write_bytes(invoice())
    said = ask(world, "check", str(world.base / "a.xml"))
    assert (said.status, said.output.splitlines()[:3]) == (0, [
        "a.xml would be sent. Nothing was sent.",
        f"  sender       {SELLER}  (document)",
        f"  receiver     {BUYER}  (document; it can be reached)",
    ])  # fmt: skip


def test_as_the_manual_shows_it(refusing: World) -> None:
    """The page of the manual has what the command prints, the rule included."""
    folder = refusing.base / "export"
    folder.mkdir()
    for number in range(3):
        (folder / f"INV-{1001 + number}.xml").write_bytes(without_receiver(str(number)))
    for number in range(2):
        (folder / f"INV-{1101 + number}.xml").write_bytes(invoice(f"{number + 10}"))
    (folder / "INV-1201.xml").write_bytes(invoice("20", receiver=STRANGER))
    page = (Path(__file__).parents[2] / "docs" / "receivers.md").read_text("utf-8")
    assert ask(refusing, "check", "--company", "acme", str(folder)).output in page
    (refusing.base / "invoice-1001.xml").write_bytes(invoice())
    assert ask(refusing, "check", str(refusing.base / "invoice-1001.xml")).output in page


def test_one_rule_for_all(make_world: Callable[..., World]) -> None:
    """What fails for the same reason is told once, with a rule that corrects it when it is applied."""
    world = make_world(outbound={"directory": "refuse"})
    documents = {f"i{number}": without_receiver(str(number)) for number in range(3)} | {"good": invoice("9")}
    said = rehearsed(world, **documents)
    assert [(cause["code"], cause["documents"], cause["corrects"]) for cause in said["causes"]] == [
        ("no-receiver", 3, 3)
    ]
    world.more = said["causes"][0]["rule"] + "\n"
    after = rehearsed(world)
    assert {one["verdict"] for one in after["documents"]} == {"would send"}
    assert {one["receiver"] for one in after["documents"]} == {BUYER}
    shown = ask(world, "check", str(world.base / "export"))
    assert shown.status == 0


def test_one_rule_by_the_scheme_of_another_number(refusing: World) -> None:
    """A number that states its scheme makes the rule, which leaves documents without such a number as they are."""
    number = f'<cbc:CompanyID schemeID="0192">{BUYER.removeprefix("0192:")}</cbc:CompanyID>'.encode()
    stated = without_receiver("1").replace(b"</cbc:RegistrationName>", b"</cbc:RegistrationName>" + number)
    said = rehearsed(refusing, stated=stated, good=invoice("2"))
    assert [(cause["code"], cause["corrects"]) for cause in said["causes"]] == [("no-receiver", 1)]
    assert "PartyLegalEntity/CompanyID[@schemeID]" in said["causes"][0]["rule"]


def test_a_rule_sets_only_what_is_confirmed(refusing: World) -> None:
    """A customer who isn't in the directory is left out of the rule; where none is in it, no rule is proposed."""
    some = rehearsed(refusing, a=without_receiver("1"), b=without_receiver("2", b"NO974760673MVA"))
    (cause,) = some["causes"]
    assert (cause["documents"], cause["corrects"]) == (2, 1)
    refusing.more = cause["rule"] + "\n"
    after = {Path(one["file"]).name: one["receiver"] for one in rehearsed(refusing)["documents"]}
    assert after == {"a.xml": BUYER, "b.xml": None}
    refusing.more = ""
    refusing.sandbox.store.connect({SELLER: "acme"})
    assert [cause["rule"] for cause in rehearsed(refusing)["causes"]] == [None]


def test_a_rule_changes_no_other_document(refusing: World) -> None:
    """A rule that would set an id of a document that has its ids is not proposed."""
    wrong = invoice("1", process="urn:fdc:peppol.eu:2017:poacc:billing:99:1.0")
    alone = rehearsed(refusing, wrong=wrong)
    assert [(cause["code"], cause["corrects"]) for cause in alone["causes"]] == [("not-accepted", 1)]
    among = rehearsed(refusing, wrong=wrong, good=invoice("2"))
    assert [(cause["code"], cause["rule"]) for cause in among["causes"]] == [("not-accepted", None)]


def test_duplicates(world: World) -> None:
    """One of two equal documents would fail, and so would what was sent before."""
    world.drop("sent.xml", invoice("1"))
    world.run_once()
    world.front.requests.clear()
    said = rehearsed(world, a=invoice("1"), b=invoice("2"), c=invoice("2"))
    assert [(one["verdict"], one["code"]) for one in said["documents"]] == [
        ("would fail", "duplicate"),
        ("would send", None),
        ("would fail", "duplicate"),
    ]
    assert said["documents"][0]["why"].startswith("The same Invoice 1 was sent before, as sent.xml, on ")
    assert said["documents"][2]["why"] == "The same document is among these files as b.xml."
    shown = ask(world, "check", str(world.base / "export")).output
    assert "\n  Is it really a second document?" in shown, "in a line of its own"


def test_table_of_several_companies(make_world: Callable[..., World]) -> None:
    """Each row of a table is asked for at the access point of its sender; a row without one says what to do."""
    other = "0192:974760673"
    world = make_world(companies={"globex": f"{{participants: ['{other}'], account: second}}"})
    second = f"  second: {{base_url: '{world.front.url}', username: buyer, password_file: '{world.password_file}'}}"
    text = world.config_text().replace("root:", f"{second}\nroot:", 1)
    text = text.replace("acme: {", "acme: {account: main, ")
    config = world.base / "two.yaml"
    config.write_text(text)
    table = world.base / "customers.csv"
    table.write_text(f"customer,from,id\nOne,{SELLER},{BUYER}\nTwo,{other},{BUYER}\nThree,,{BUYER}\n")
    said = json.loads(run_here("--config", str(config), "check", str(table), "--json").stdout)
    assert [(one["row"], one["participant"], one["reach"]) for one in said["receivers"]] == [
        (2, BUYER, "reachable"), (3, BUYER, "reachable"), (4, BUYER, "unknown"),
    ]  # fmt: skip
    assert "add the sender, or write --company" in said["receivers"][2]["why"]
    said = json.loads(run_here("--config", str(config), "check", "--company", "globex", str(table), "--json").stdout)
    assert {one["reach"] for one in said["receivers"]} == {"reachable"}


@pytest.mark.parametrize(("rule", "verdict"), [("refuse", "would fail"), ("warn", "would send"), ("off", "would send")])
def test_who_is_in_no_directory(make_world: Callable[..., World], rule: str, verdict: str) -> None:
    """Whether a document would fail by it is the configuration's; that its receiver can't be reached is said anyway."""
    world = make_world(outbound={"directory": rule})
    (one,) = rehearsed(world, a=invoice(receiver=STRANGER))["documents"]
    assert (one["verdict"], one["reach"]) == (verdict, "unreachable")


def test_unknown_is_not_reachable(refusing: World) -> None:
    """While the directory can't be asked, nobody is reachable; it is asked once, and why it can't be asked is said."""
    refusing.front.always("GET /directory", instead(500))
    folder = refusing.base / "export"
    said = rehearsed(refusing, a=invoice("1"), b=invoice("2", receiver=STRANGER))
    assert [(one["verdict"], one["reach"]) for one in said["documents"]] == [("would send", "unknown")] * 2
    assert list(said["unasked"]) == ["main"]
    shown = ask(refusing, "check", str(folder))
    assert shown.status == 3
    assert "2 would be sent; the directory doesn't say whether the receiver can be reached" in shown.says
    assert "The directory of account main can't be asked" in shown.says


def test_a_table_of_receivers(world: World) -> None:
    """Each row of a CSV file is looked for, by the ParticipantID in it."""
    table = world.base / "customers.csv"
    table.write_text(f"Number;Name;PeppolID\n1042;Kjøper;{BUYER}\n1043;Nobody;{STRANGER}\n1044;Bær AS;\n", "utf-8")
    said = ask(world, "check", str(table), "--json")
    receivers = json.loads(said.output)["receivers"]
    assert [(one["row"], one["participant"], one["reach"]) for one in receivers] == [
        (2, BUYER, "reachable"),
        (3, STRANGER, "unreachable"),
        (4, None, "unknown"),
    ]
    assert said.status == 1
    shown = ask(world, "check", str(table)).says
    assert "3 receivers: 1 can be reached 1 can't be reached 1 unknown" in shown
    assert f"row 3: {STRANGER}: it is not in the directory" in shown
    assert ask(world, "check", str(table), "--document", "Sonnet").says.count("it accepts no Sonnet") == 1


def test_the_other_id_of_a_company(refusing: World) -> None:
    """A receiver whose other id alone is in the directory would fail, and that id is named; so it is for a table."""
    refusing.sandbox.store.connect({"9925:be0123456749": "buyer"})
    (one,) = rehearsed(refusing, a=invoice(receiver="0208:0123456749"))["documents"]
    assert (one["code"], one["reach"]) == ("receiver-unknown", "unreachable")
    assert "9925:BE0123456749" in one["why"]
    table = refusing.base / "customers.csv"
    table.write_text("id\n0208:0123456749\n")
    assert "the same company is in it as 9925:BE0123456749" in ask(refusing, "check", str(table)).says


@pytest.mark.usefixtures("with_pauses")
def test_five_questions_a_second(world: World) -> None:
    """The directory gets at most five requests a second, and each question once."""
    table = world.base / "customers.csv"
    table.write_text("id\n" + "".join(f"0192:{number}\n" for number in (987654321, 987654322, 987654321)))
    moments: list[float] = []

    def noted(exchange: Exchange) -> None:
        moments.append(time.monotonic())
        answered(exchange)

    world.front.always("GET /directory", noted)
    began = time.monotonic()
    ask(world, "check", str(table))
    assert len(moments) == 4  # two for each: what it accepts, and whether it is there
    assert moments[-1] - began >= 3 * rehearsal.PAUSE  # a request may be late, but none is early


def test_documents_that_may_not_arrive(world: World) -> None:
    """A document that would be sent to a receiver who can't be reached is named, with the reason."""
    rehearsed(world, good=invoice("1"), lost=invoice("2", receiver=STRANGER))
    printed = ask(world, "check", str(world.base / "export")).says
    assert f"receiver can't be reached: 1 document: lost.xml lost.xml: The receiver {STRANGER} is not in" in printed


def test_files_that_are_never_sent(world: World) -> None:
    """What can't be a document by its name isn't judged in a folder, but listed. Named itself, it is judged."""
    rehearsed(world, good=invoice())
    others = [world.base / "export" / name for name in ("good (conflicted copy).xml", "invoice.pdf", "read.me")]
    for path in others:
        path.write_bytes(b"%PDF-1.4")
    said = ask(world, "check", str(world.base / "export"))
    assert said.status == 0
    assert said.says.startswith("good.xml would be sent. Nothing was sent.")
    assert "outbound.files): good (conflicted copy).xml, invoice.pdf, read.me" in said.says
    assert rehearsed(world)["never_sent"] == [str(path) for path in others]
    assert "not-xml" in ask(world, "check", str(others[1])).says


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
def test_progress(world: World) -> None:
    """How far a check is goes to stderr, if that is a terminal, and nowhere else; stdout is the same."""
    import pty  # noqa: PLC0415 - Windows has none

    export = world.base / "export"
    export.mkdir()
    for number in ("1", "2"):
        (export / f"{number}.xml").write_bytes(invoice(number))
    command = [*COMMAND, "--config", str(world.config_file()), "check", str(export)]
    piped = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)
    ours, theirs = pty.openpty()
    shown = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    assert (piped.stderr, piped.stdout) == (b"", shown.stdout)
    assert b"files" in os.read(ours, 1 << 16)
    os.close(ours)


AS_ROOT = """
import os, sys
from click.testing import CliRunner
from filedrop.cli import filedrop
for owner in 0, 12345:  # the first one loads the modules, which another user may not be able to read
    os.chown(sys.argv[1], owner, owner)
    done = CliRunner().invoke(filedrop, sys.argv[2:])
print(os.geteuid(), done.output, done.exit_code)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as another")
def test_file_of_root(make_world: Callable[..., World]) -> None:
    """As root, a file is read that filedrop's user may not read, with its PDF; all else is done as that user."""
    world = make_world(outbound={"prepare": "{pdf: require}"})
    world.state.mkdir()
    (world.base / "invoice.xml").write_bytes(invoice())
    (world.base / "invoice.pdf").write_bytes(PDF)
    world.base.chmod(0o700)
    words = ["--config", str(world.config_file()), "check", "--offline", str(world.base / "invoice.xml")]
    command = [sys.executable, "-c", AS_ROOT, str(world.state), *words]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("12345 invoice.xml would be sent."), done.stdout
    assert "invoice.pdf is put into the document" in done.stdout
    assert "What was sent before isn't known: you may not use the journal" in done.stdout
    assert done.stdout.split()[-1] == "1", "it may be a duplicate"


def test_what_a_run_leaves_in_place(world: World) -> None:
    """Other versions of documents, and files that are never sent for their names, would stay, as a run leaves them."""
    world.drop("500.xml", invoice("500"))
    world.run_once()
    stay = {
        "500 (copy).xml": invoice("500", note="corrected"),
        "600 - Kopie.xml": invoice("600", note="another"),
        "700.xml.tmp": invoice("700"),
        "~800.xml": invoice("800"),
        "HOLDER.xml.bak": invoice("900"),
    }
    for name, content in {**stay, "600.xml": invoice("600"), "1000.xml": invoice("500", note="again")}.items():
        world.drop(name, content)
    world.put(world.outbound / "customers.csv", b"Number;Name\n1;\xe5\n")
    named = [str(path) for path in world.outbound.iterdir() if path.suffix not in (".csv", "") and path.is_file()]
    said = json.loads(ask(world, "check", "--json", *named, *named[:1]).output)["documents"]
    verdicts = {Path(one["file"]).name: one["verdict"] for one in said}
    assert verdicts == {**dict.fromkeys(stay, "would stay"), "600.xml": "would send", "1000.xml": "would send"}
    shown = ask(world, "check", str(world.outbound))
    assert "2 would be sent; the receiver can be reached 2 would stay where it is with warnings" in shown.says
    assert "1000.xml: Invoice 500 of 2026-11-20 was dropped before as 500.xml" in shown.says
    assert "600 - Kopie.xml would stay where it is: it has the number, type and date of 600.xml" in shown.says
    assert "outbound.files): 700.xml.tmp, HOLDER.xml.bak, customers.csv, ~800.xml" in shown.says
    world.run_once()
    left = {path.name for path in world.outbound.iterdir() if path.is_file()}
    assert left - {".filedrop", "customers.csv"} == set(stay)
    assert world.sidecar("1000.xml")["warnings"] == next(one["warnings"] for one in said if "1000.xml" in one["file"])


def test_numbers_among_these_files(world: World) -> None:
    """Two documents of one number, with other content and no similar names, are sent; the second with a warning."""
    said = rehearsed(world, a=invoice("1"), b=invoice("1", note="another"))["documents"]
    assert [one["verdict"] for one in said] == ["would send"] * 2
    assert [warning.partition(",")[0] for one in said for warning in one["warnings"]] == ["a.xml is among these files"]


def test_a_held_folder(world: World) -> None:
    """A document in a folder that is held says so, and what would become of it once that is released."""
    world.put(world.outbound / "hold.txt", b"")
    for number in ("1", "2"):
        world.drop(f"{number}.xml", invoice(number))
    said = ask(world, "check", str(world.outbound / "1.xml"))
    assert said.status == 0
    assert f"it waits while there is {world.outbound / 'hold.txt'}; to send it: filedrop" in said.says
    said = ask(world, "check", str(world.outbound))
    assert "with warnings: 2 documents: 1.xml, 2.xml 1.xml: it waits while there is" in said.says
    assert "Never sent" not in said.says


def test_a_pdf_that_stayed(make_world: Callable[..., World]) -> None:
    """A document that is moved back from `failed/` without its PDF is judged, as it is sent, with that PDF."""
    world = make_world(outbound={"prepare": "{pdf: require}"})
    world.drop("1.xml", invoice("1", sender=STRANGER), pdf=b"%PDF-1.4\n%%EOF")
    world.run_once()
    (world.outbound / "failed" / "1.xml").rename(world.outbound / "1.xml")
    world.more = f'mapping: [{{company: acme, sender: "{SELLER}"}}]'
    posted = world.base / "posted.xml"
    said = ask(world, "check", str(world.outbound / "1.xml"), "-o", str(posted))
    assert (said.status, "1.pdf is put into the document" in said.says) == (0, True)
    world.run_once()
    (of_run,) = world.outbound.rglob("1.xml.posted")  # in sent/, or delivered by now
    assert of_run.read_bytes() == posted.read_bytes()


def test_nothing_to_write(world: World) -> None:
    """`-o` is for a document: for a table or a folder without one, it is a mistake."""
    table = world.base / "customers.csv"
    table.write_text(f"id\n{BUYER}\n")
    for file in (table, world.base / "none"):
        (world.base / "none").mkdir(exist_ok=True)
        said = ask(world, "check", str(file), "-o", str(world.base / "posted.xml"))
        assert (said.status, "one document; name one file" in said.says) == (2, True)


def test_that_nothing_is_touched(filedrop: Filedrop, world: World) -> None:
    """Next to what was sent before, `check` says what would become of each file in `outbound/`, and touches nothing."""
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    for name, content in (
        ("again.xml", invoice("1")), ("fine.xml", invoice("2")), ("foreign.xml", invoice("3", sender="0192:123456785")),
    ):  # fmt: skip
        world.put(world.outbound / name, content)
    before = everything_below(world.base)
    done = filedrop("check", world.outbound, "--json")
    assert everything_below(world.base) == before
    ends = {Path(one["file"]).name: (one["verdict"], one["code"]) for one in json.loads(done.stdout)["documents"]}
    assert ends == {
        "again.xml": ("would fail", "duplicate"),
        "fine.xml": ("would send", None),
        "foreign.xml": ("would fail", "foreign-sender"),
    }
    shutil.rmtree(world.state)
    assert filedrop("check", world.outbound / "fine.xml").returncode == 0
    assert not world.state.exists()


def test_without_a_ready_file(make_world: Callable[..., World]) -> None:
    """With a `ready_suffix`, a file in `outbound/` waits for its ready file."""
    world = make_world(outbound={"ready_suffix": ".ready"})
    for number, name in enumerate(("alone.xml", "both.xml")):
        world.drop(name, invoice(str(number)))
    world.put(world.outbound / "both.xml.ready", b"")
    said = ask(world, "check", str(world.outbound))
    assert (said.status, "alone.xml would wait: it waits for alone.xml.ready" in said.says) == (1, True)
    assert "1 would be sent; the receiver can be reached 1 would wait" in said.says


def test_half_a_document(world: World) -> None:
    """What isn't well-formed would fail, once it has been left alone for long enough."""
    (one,) = rehearsed(world, half=invoice()[:500])["documents"]
    assert (one["verdict"], one["code"]) == ("would fail", "not-xml")


def test_whose_a_file_is(make_world: Callable[..., World]) -> None:
    """Among several companies, a file outside of their folders needs --company."""
    world = make_world(companies={"fjord": '{participants: ["0192:974760673"]}'})
    (world.base / "a.xml").write_bytes(credit_note())
    said = ask(world, "check", str(world.base / "a.xml"))
    assert said.status == 2
    assert "write --company and one of acme and fjord" in said.says
    assert ask(world, "check", "--company", "acme", str(world.base / "a.xml")).status == 0


def settled(world: World) -> bool:
    return all(place.split("/")[0] in ("archive", "failed") for place in world.places().values())


@needs_corpus
def test_the_corpus(make_world: Callable[..., World]) -> None:
    """What is said of real documents is what a run then does with them."""
    world = make_world(outbound={"directory": "refuse"}, companies={"acme": "{participants: []}"})
    with (CORPUS / "expected.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = rows if is_full() else rows[:: len(rows) // 30]
    known = {row["receiver"].lower(): "buyer" for row in chosen[::2] if row["receiver"]}
    world.sandbox.store.connect(known | {SELLER: "acme", BUYER: "buyer"})
    documents = {f"{number:03}": (DOCUMENTS / row["file"]).read_bytes() for number, row in enumerate(chosen)}
    said = {Path(one["file"]).name: one for one in rehearsed(world, **documents)["documents"]}
    for name, content in documents.items():
        world.drop(f"{name}.xml", content)
    with world.service():
        world.until(lambda: settled(world), 900 if is_full() else 100, what="each document is in archive/ or failed/")
    for name, one in said.items():
        code = (world.sidecar(name).get("error") or {}).get("code")
        assert one["verdict"] == ("would fail" if code else "would send"), name
        # Of two equal documents, a run may refuse the second before it knows that the first one fails.
        assert code in (one["code"], "duplicate"), name


def test_ids_against_the_rules_of_the_network(make_world: Callable[..., World]) -> None:
    """Documents whose receiver isn't their EndpointID are counted in a line of their own, and after a proposed rule."""
    world = make_world(more=f'mapping: [{{company: acme, file: "new.*", receiver: "{BUYER}"}}]')
    documents = {"new1": invoice("1", receiver=STRANGER), "new2": invoice("2"), "old": without_receiver("3")}
    said = rehearsed(world, **documents)
    assert [told["contradicts"] for told in said["documents"]] == [["receiver"], [], []]
    printed = ask(world, "check", str(world.base / "export")).says
    assert (
        "2 would be sent; the receiver can be reached 1 of these go by other ids than they state (BR-SBDH)" in printed
    )
    assert "other ids than stated (BR-SBDH): 1 document: new1.xml new1.xml: receiver" in printed
    assert printed.endswith("1 of these go by other ids than they state (BR-SBDH): an access point may refuse them.")


@pytest.mark.parametrize(("unreachable", "exit_status"), [("aside", 0), ("send", 1), ("directory", 1)])
def test_receivers_who_are_not_on_peppol(make_world: Callable[..., World], unreachable: str, exit_status: int) -> None:
    """What would be put aside is shown as such; without the setting, it is proposed."""
    world = make_world(outbound={"unreachable": unreachable, "prepare": "{pdf: beside}"})
    folder = world.base / "export"
    folder.mkdir()
    (folder / "1.xml").write_bytes(invoice("1"))
    (folder / "2.xml").write_bytes(invoice("2", receiver=STRANGER))
    said = ask(world, "check", str(folder))
    assert said.status == exit_status
    assert ("1 would be put into not-on-peppol/" in said.says) is (unreachable == "aside")
    assert ("doesn't have 1 receiver: to send their documents another way" in said.says) is (unreachable == "directory")
    checked = world.filedrop("check")
    goes = "documents to receivers that aren't in the directory go to not-on-peppol/ (acme"
    assert (goes in checked.stdout) is (unreachable != "directory")


def told(filedrop: Filedrop, *arguments: object, **options: Any) -> list[dict[str, Any]]:
    """What `check --json` says of each document."""
    documents: list[dict[str, Any]] = json.loads(filedrop("check", *arguments, "--json", **options).stdout)["documents"]
    return documents


def test_without_a_configuration(filedrop: Filedrop, tmp_path: Path) -> None:
    """Without a configuration, `check` shows the ids of a file and where each comes from, and says that it is all."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    (one,) = told(filedrop, file)
    assert (one["file"], one["sender"], one["receiver"]) == (str(file), SELLER, BUYER)
    assert (one["document_id"], one["process_id"]) == (INVOICE_ID, BILLING_PROCESS)
    assert one["sources"] == dict.fromkeys(("sender", "receiver", "document_id", "process_id"), "document")
    assert (one["verdict"], one["reach"], one["code"], one["company"]) == ("has its ids", None, None, None)
    done = filedrop("check", file)
    assert done.returncode == 0
    assert "invoice.xml has its ids. Nothing was sent." in done.stdout
    assert f"sender       {SELLER}  (document)" in done.stdout
    assert "There is no configuration, so nothing else was checked." in done.stdout


def test_what_is_missing(filedrop: Filedrop, tmp_path: Path) -> None:
    """A missing id is null, and status 1 says that a file lacks an id or can't be read."""
    files = {"fine.xml": invoice(), "nobody.xml": invoice(receiver=None), "text.xml": b"no XML"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    ends = told(filedrop, *(tmp_path / name for name in files))
    assert [one["code"] for one in ends] == [None, "no-receiver", "not-xml"]
    assert (ends[1]["receiver"], ends[1]["sender"]) == (None, SELLER)
    done = filedrop("check", *(tmp_path / name for name in files))
    assert (done.returncode, "1  has its ids" in done.stdout, "2  would fail" in done.stdout) == (1, True, True)
    done = filedrop("check", tmp_path / "none.xml")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"there is no file {tmp_path / 'none.xml'}" in done.stderr


def test_from_stdin(process: Filedrop, tmp_path: Path) -> None:
    """`check -` reads stdin; what comes from there has no name, and is in no company's folder."""
    document = tmp_path / "nobody.xml"
    document.write_bytes(invoice(receiver=None))
    command = [*COMMAND, "check", "-"]
    with document.open("rb") as file:
        done = subprocess.run(command, cwd=PROJECT, env=WITHOUT_CONFIG, stdin=file, capture_output=True, check=False)
    shown = done.stdout.decode()
    assert f"sender       {SELLER}" in shown
    assert "no-receiver: " in shown
    assert "file:" not in shown
    assert "The file is empty" in process("check", "-").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_a_symbolic_link(filedrop: Filedrop, tmp_path: Path) -> None:
    """Of a symbolic link it is said that it is one, and of what can't be read no ids are shown as missing."""
    (tmp_path / "invoice.xml").write_bytes(invoice())
    (tmp_path / "link.xml").symlink_to("invoice.xml")
    done = filedrop("check", tmp_path / "link.xml")
    assert done.returncode == 1
    assert "unreadable: It is a symbolic link" in done.stdout
    assert "missing" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_a_symbolic_link_to_itself(filedrop: Filedrop, world: World) -> None:
    """It is no other: nor where a configuration names the folders that it may lie in, or one of these is one."""
    (world.base / "itself.xml").symlink_to("itself.xml")
    world.outbound.rmdir()
    world.outbound.symlink_to(world.outbound)
    done = filedrop("check", world.base / "itself.xml")
    assert done.returncode == 1
    assert "unreadable: It is a symbolic link" in done.stdout


def test_by_the_configuration(filedrop: Filedrop, world: World) -> None:
    """A file is judged as one of the company whose outbound folder it is in, or else of the only one."""
    world.drop("invoice.xml", invoice(sender=None))
    outside = world.base / "outside.xml"
    outside.write_bytes(invoice("2", sender=None))
    for one in told(filedrop, world.outbound / "invoice.xml", outside):
        assert (one["sender"], one["sources"]["sender"], one["company"]) == (SELLER, "company", "acme")


def test_rules_of_a_folder(filedrop: Filedrop, tmp_path: Path) -> None:
    """`--rules` is enough: a document that breaks a rule would fail, and each finding has its place."""
    rules = own_rules(tmp_path / "rules")
    files = {"good.xml": invoice(), "broken.xml": invoice(note="broken"), "none.xml": order(), "text.xml": b"no"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    ends = told(filedrop, "--rules", rules, *(tmp_path / name for name in files))
    assert [one["code"] for one in ends] == [None, "invalid", None, "not-xml"]
    assert [one["rules"] for one in ends] == [["own.xslt"], ["own.xslt"], [], None]
    (finding,) = ends[1]["findings"]
    assert (finding["rule"], finding["line"], finding["xpath"]) == ("OWN-1", 11, "/Invoice/Note")
    shown = {
        name: filedrop("check", "--rules", rules, tmp_path / name) for name in ("good.xml", "broken.xml", "none.xml")
    }
    assert [done.returncode for done in shown.values()] == [0, 1, 0]
    assert "rules        valid (own.xslt)" in shown["good.xml"].stdout
    assert "rules        invalid (own.xslt)\n" + " " * 15 + "breaks a rule: line 11: " in shown["broken.xml"].stdout
    assert "rules        there are none for this kind of document" in shown["none.xml"].stdout


def test_rules_for_the_standard_input(tmp_path: Path) -> None:
    """What another program writes can be validated, too."""
    command = [*COMMAND, "check", "--rules", str(own_rules(tmp_path / "rules")), "--json", "-"]
    content = invoice(note="broken")
    done = subprocess.run(command, cwd=PROJECT, env=WITHOUT_CONFIG, input=content, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    (one,) = json.loads(done.stdout)["documents"]
    assert (one["file"], [finding["rule"] for finding in one["findings"]]) == ("-", ["OWN-1"])


def test_mistakes_in_the_rules(filedrop: Filedrop, tmp_path: Path) -> None:
    """A rules.yaml with a mistake is a configuration to be corrected: exit status 2, file and line."""
    rules = own_rules(tmp_path / "rules")
    (rules / "rules.yaml").write_text("documents:\n  - {document: Invoice}\n")
    (tmp_path / "a.xml").write_bytes(invoice())
    done = filedrop("check", "--rules", rules, tmp_path / "a.xml")
    assert done.returncode == 2
    assert f"{rules / 'rules.yaml'}:2: documents 1.rules: missing" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("invoice.xml", "--take-over"), ("invoice.xml", "--alert"), ("--explain",), ("--offline",), ("-o", "posted.xml")],
)
def test_options_of_the_other_use(filedrop: Filedrop, words: tuple[str, ...]) -> None:
    """No option of the set-up goes with FILE, and none of FILE without one."""
    done = filedrop("check", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "works only without FILE" in done.stderr or "needs a FILE" in done.stderr


def test_output(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """`-o` writes what would be posted, in UTF-8: to a new file, or alone to the standard output."""
    file, new = tmp_path / "invoice.xml", tmp_path / "new.xml"
    file.write_bytes(invoice().decode().replace("UTF-8", "ISO-8859-1", 1).encode("latin-1"))
    done = filedrop("check", "-o", "-", file)
    assert (done.returncode, "Blåbær" in done.stdout, "would be sent" in done.stderr) == (0, True, True)
    assert filedrop("check", "-o", new, file).returncode == 0
    assert new.read_text("utf-8") == done.stdout
    assert filedrop("check", "-o", new, file).returncode == 1
    assert not world.front.asked("POST")


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
    (one,) = told(filedrop, world.outbound / "INV-1043-1.xml", "--explain", config=config)
    line = config.read_text().splitlines().index("  - company: acme") + 1
    refused = {"value": None, "wins": False, "why": "the rule doesn't apply"}
    assert one["tried"] == [
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
    said = filedrop("check", "--explain", *arguments, **options).stdout.splitlines()
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


def test_company_of_a_file(filedrop: Filedrop, world: World, config: Path) -> None:
    """Among several companies, a file in none's folder is judged as one of the company that is named."""
    file = world.base / "INV-1042-1.xml"
    file.write_bytes(invoice(receiver=None))
    assert "mapping 1 (line ...) applies" in explained(filedrop, file, "--company", "acme", config=config)
    (one,) = told(filedrop, file, "--company", "acme", config=config)
    assert (one["receiver"], one["channel"], one["code"]) == (BUYER, "invoices", None)


def test_a_company_over_the_folder(filedrop: Filedrop, world: World, config: Path) -> None:
    """The company that is asked for counts, wherever the file lies; one that isn't there is a mistake."""
    world.drop("INV-1042-1.xml", invoice(receiver=None))
    file = world.outbound / "INV-1042-1.xml"
    assert "acme, not fjord" in "".join(explained(filedrop, file, "--company", "fjord", config=config))
    done = filedrop("check", file, "--company", "fjrod", config=config)
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
    (one,) = told(filedrop, "--explain", tmp_path / "text.xml")
    assert "tried" not in one


def test_nothing_is_configured(filedrop: Filedrop, tmp_path: Path) -> None:
    """Without a configuration one line says so, and no company can be named."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    assert explained(filedrop, file)[0] == "There is no configuration, so there are no mapping rules."
    done = filedrop("check", file, "--company", "acme")
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
    done = filedrop("check", "--explain", document, config=file)
    assert done.stdout.replace("\n", "").isprintable()
    assert not re.search(r"^\W*mapping [89]", done.stdout, re.MULTILINE)
    assert "\\n" in done.stdout


def test_the_explanation_in_the_manual(filedrop: Filedrop, tmp_path: Path) -> None:
    """The manual shows what is really said, by a configuration that one can guess from it."""
    rules = r"""
  - file: 'INV-(?P<customer>\d+)-.*\.xml'
    receiver: {table: customers, key: '{customer}'}

  - {document: Order, channel: orders}
tables: {customers: customers.csv}
"""
    config = tmp_path / "config.yaml"
    config.write_text(f"{BASE}mapping:{rules}")
    (tmp_path / "customers.csv").write_text("customer,participant\n1042,0192:810418052\n")
    file = tmp_path / "INV-1044-0007.xml"
    file.write_bytes(invoice())
    said = filedrop("check", "--offline", "--explain", "--company", "acme", file, config=config).stdout
    shown = next(text for language, text in fenced() if language == "text" and "sets nothing: the table" in text)
    assert re.sub(r"line \d+", "line ...", shown) in re.sub(r"line \d+", "line ...", said)
