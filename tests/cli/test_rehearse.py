"""`filedrop rehearse`: its verdicts are those of a run, it posts nothing, and the rule that it proposes helps."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask, run_here
from support.corpus import CORPUS, DOCUMENTS, needs_corpus
from support.documents import BUYER, SELLER, credit_note, invoice
from support.faults import answered, instead
from support.matrix import is_full

from filedrop.cli import rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable

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
    said: dict[str, Any] = json.loads(ask(world, "rehearse", str(folder), "--json").output)
    assert not world.front.asked("POST")
    return said


def without_receiver(number: str, tax_number: bytes = TAX_NUMBER) -> bytes:
    """An invoice whose customer has a tax number, and no ParticipantID."""
    return invoice(number, receiver=None).replace(TAX_NUMBER, tax_number)


def test_what_can_be_sent(world: World) -> None:
    """A document whose receiver takes it is all that it takes for status 0."""
    (world.base / "a.xml").write_bytes(invoice())
    said = ask(world, "rehearse", str(world.base / "a.xml"))
    assert (said.status, said.says) == (
        0,
        "1 document; nothing was sent. 1 would be sent; the receiver can be reached",
    )


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
    assert ask(refusing, "rehearse", "--company", "acme", str(folder)).output in page


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
    shown = ask(world, "rehearse", str(world.base / "export"))
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
    shown = ask(world, "rehearse", str(world.base / "export")).output
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
    said = json.loads(run_here("--config", str(config), "rehearse", str(table), "--json").stdout)
    assert [(one["row"], one["participant"], one["reach"]) for one in said["receivers"]] == [
        (2, BUYER, "reachable"), (3, BUYER, "reachable"), (4, BUYER, "unknown"),
    ]  # fmt: skip
    assert "add the sender, or write --company" in said["receivers"][2]["why"]
    said = json.loads(run_here("--config", str(config), "rehearse", "--company", "globex", str(table), "--json").stdout)
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
    shown = ask(refusing, "rehearse", str(folder))
    assert shown.status == 1
    assert "2 would be sent; the directory doesn't say whether the receiver can be reached" in shown.says
    assert "The directory of account main can't be asked" in shown.says


def test_a_table_of_receivers(world: World) -> None:
    """Each row of a CSV file is looked for, by the ParticipantID in it."""
    table = world.base / "customers.csv"
    table.write_text(f"Number;Name;PeppolID\n1042;Kjøper;{BUYER}\n1043;Nobody;{STRANGER}\n1044;Bær AS;\n", "utf-8")
    said = ask(world, "rehearse", str(table), "--json")
    receivers = json.loads(said.output)["receivers"]
    assert [(one["row"], one["participant"], one["reach"]) for one in receivers] == [
        (2, BUYER, "reachable"),
        (3, STRANGER, "unreachable"),
        (4, None, "unknown"),
    ]
    assert said.status == 1
    shown = ask(world, "rehearse", str(table)).says
    assert "3 receivers: 1 can be reached 1 can't be reached 1 unknown" in shown
    assert f"row 3: {STRANGER}: it is not in the directory" in shown
    assert ask(world, "rehearse", str(table), "--document", "Sonnet").says.count("it accepts no Sonnet") == 1


def test_the_other_id_of_a_company(refusing: World) -> None:
    """A receiver whose other id alone is in the directory would fail, and that id is named; so it is for a table."""
    refusing.sandbox.store.connect({"9925:be0123456749": "buyer"})
    (one,) = rehearsed(refusing, a=invoice(receiver="0208:0123456749"))["documents"]
    assert (one["code"], one["reach"]) == ("receiver-unknown", "unreachable")
    assert "9925:BE0123456749" in one["why"]
    table = refusing.base / "customers.csv"
    table.write_text("id\n0208:0123456749\n")
    assert "the same company is in it as 9925:BE0123456749" in ask(refusing, "rehearse", str(table)).says


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
    ask(world, "rehearse", str(table))
    assert len(moments) == 4  # two for each: what it accepts, and whether it is there
    assert moments[-1] - began >= 3 * rehearsal.PAUSE  # a request may be late, but none is early


def test_documents_that_may_not_arrive(world: World) -> None:
    """A document that would be sent to a receiver who can't be reached is named, with the reason."""
    rehearsed(world, good=invoice("1"), lost=invoice("2", receiver=STRANGER))
    printed = ask(world, "rehearse", str(world.base / "export")).says
    assert f"receiver can't be reached: 1 document: lost.xml lost.xml: The receiver {STRANGER} is not in" in printed


def test_files_that_are_never_sent(world: World) -> None:
    """What can't be a document by its name isn't judged in a folder, but listed. Named itself, it is judged."""
    rehearsed(world, good=invoice())
    others = [world.base / "export" / name for name in ("good (conflicted copy).xml", "invoice.pdf", "read.me")]
    for path in others:
        path.write_bytes(b"%PDF-1.4")
    said = ask(world, "rehearse", str(world.base / "export"))
    assert said.status == 0
    assert "1 document; nothing was sent." in said.says
    assert "outbound.files): good (conflicted copy).xml, invoice.pdf, read.me" in said.says
    assert rehearsed(world)["never_sent"] == [str(path) for path in others]
    assert "not-xml" in ask(world, "rehearse", str(others[1])).says


def test_half_a_document(world: World) -> None:
    """What isn't well-formed would fail, once it has been left alone for long enough."""
    (one,) = rehearsed(world, half=invoice()[:500])["documents"]
    assert (one["verdict"], one["code"]) == ("would fail", "not-xml")


def test_whose_a_file_is(make_world: Callable[..., World]) -> None:
    """Among several companies, a file outside of their folders needs --company."""
    world = make_world(companies={"fjord": '{participants: ["0192:974760673"]}'})
    (world.base / "a.xml").write_bytes(credit_note())
    said = ask(world, "rehearse", str(world.base / "a.xml"))
    assert said.status == 2
    assert "write --company and one of acme and fjord" in said.says
    assert ask(world, "rehearse", "--company", "acme", str(world.base / "a.xml")).status == 0


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
    printed = ask(world, "rehearse", str(world.base / "export")).says
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
    said = ask(world, "rehearse", str(folder))
    assert said.status == exit_status
    assert ("1 would be put into not-on-peppol/" in said.says) is (unreachable == "aside")
    assert ("doesn't have 1 receiver: to send their documents another way" in said.says) is (unreachable == "directory")
    checked = world.filedrop("check")
    goes = "documents to receivers that aren't in the directory go to not-on-peppol/ (acme"
    assert (goes in checked.stdout) is (unreachable != "directory")
