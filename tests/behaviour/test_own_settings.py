"""Companies of one account with different settings: each one's documents go by its own.

`acme` has the common settings, `fjord` and `tind` have others.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice, with_attachments

from filedrop.cli import rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from support.world import World

IDS = {"acme": SELLER, "fjord": "0192:974760673", "tind": "0192:974761076"}
STRANGER = "0192:123456785"  # in no directory here
FORESEEN = {"refuse": "would fail", "warn": "would send", "off": "would send"}


@pytest.fixture
def make(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Makes a world with these companies and their settings."""
    monkeypatch.setattr(rehearsal, "PAUSE", 0.0)

    def make(own: dict[str, str], **changes: Any) -> World:
        companies = {name: f'{{participants: ["{IDS[name]}"], {settings}}}' for name, settings in own.items()}
        world = make_world(companies=companies, **changes)
        world.sandbox.store.connect({**dict.fromkeys(IDS.values(), "acme"), BUYER: "buyer"})
        for name in own:
            outbound(world, name).mkdir(parents=True)
        return world

    return make


def outbound(world: World, company: str) -> Path:
    return world.root / company / "outbound"


def drop(world: World, companies: Iterable[str], name: str, number: str, receiver: str = BUYER, **more: str) -> None:
    """Drop an invoice of each of these companies."""
    for company in companies:
        world.put(outbound(world, company) / f"{name}.xml", invoice(number, IDS[company], receiver, **more))


def sidecar(world: World, company: str, name: str) -> dict[str, Any]:
    """The sidecar of a company's document; nothing where there is none."""
    content: dict[str, Any] = {}
    with suppress(FileNotFoundError):  # it is just being moved
        for path in outbound(world, company).rglob(f"{name}.xml.json"):
            content = json.loads(path.read_bytes())
    return content


def outcome(world: World, company: str, name: str) -> str:
    """What became of a document: the code of its error, or `sent`."""
    beside = sidecar(world, company, name)
    code: str = beside["error"]["code"] if "error" in beside else "sent"
    return code


def foreseen(world: World, companies: Iterable[str]) -> dict[str, str]:
    """What `check` says of the one document in each company's `outbound/`."""
    documents = json.loads(ask(world, "check", *(str(outbound(world, name)) for name in companies), "--json").output)
    return {document["company"]: document["verdict"] for document in documents["documents"]}


def test_duplicates(make: Callable[..., World]) -> None:
    """A company's `duplicates` decides about its documents; `check` and `retry` go by it, too."""
    world = make({"fjord": "duplicates: allow", "tind": "duplicates: number"})
    drop(world, IDS, "first", "1")
    world.run_once()
    drop(world, IDS, "again", "1")
    verdicts = {"acme": "would fail", "fjord": "would send", "tind": "would fail"}
    assert foreseen(world, IDS) == verdicts
    drop(world, IDS, "number", "1", note="Corrected.")
    world.run_once()
    assert {name: outcome(world, name, "again") for name in IDS} == {
        "acme": "duplicate", "fjord": "sent", "tind": "duplicate"
    }  # fmt: skip
    assert {name: outcome(world, name, "number") for name in IDS} == {
        "acme": "sent", "fjord": "sent", "tind": "duplicate"
    }  # fmt: skip
    world._companies["acme"] = world._companies["fjord"].replace(IDS["fjord"], IDS["acme"])
    assert "would fail as a duplicate again" in ask(world, "retry", "tind", "again.xml").says
    (world.state / "journal.sqlite").unlink()  # its sidecar alone has the reason
    assert "would fail as duplicate again" in ask(world, "retry", "tind", "again.xml").says
    assert ask(world, "retry", "acme", "again.xml").status == 0


def test_duplicates_of_another_company(make: Callable[..., World]) -> None:
    """A document is compared with those of all companies, by the setting of the company that drops it."""
    world = make({"fjord": "duplicates: allow"})
    world._companies["fjord"] = "{participants: [], duplicates: allow}"
    for company, name in (("acme", "first"), ("fjord", "second"), ("acme", "third")):
        world.put(outbound(world, company) / f"{name}.xml", invoice("1"))
        world.run_once()
    assert (outcome(world, "fjord", "second"), outcome(world, "acme", "third")) == ("sent", "duplicate")


@pytest.mark.parametrize(
    "rules", [{"acme": "refuse", "fjord": "off", "tind": "warn"}, {"acme": "off", "fjord": "refuse"}]
)
def test_directory(make: Callable[..., World], rules: dict[str, str]) -> None:
    """The directory's answer has for each company the effect of its setting, also where another has just asked."""
    own = {name: f"directory: {rule}" for name, rule in rules.items() if name != "acme"}
    world = make(own, outbound={"directory": rules["acme"]})
    drop(world, rules, "first", "1", STRANGER)
    assert foreseen(world, rules) == {company: FORESEEN[rule] for company, rule in rules.items()}
    world.front.requests.clear()
    world.run_once()
    questions = Counter(request.path for request in world.front.asked("GET /directory"))
    assert set(questions.values()) == {1}, "one answer serves all companies"
    for company, rule in rules.items():
        assert outcome(world, company, "first") == ("receiver-unknown" if rule == "refuse" else "sent")
        warnings = sidecar(world, company, "first")["warnings"]
        assert any("directory" in warning for warning in warnings) is (rule == "warn")


def test_directory_off_for_what_was_not_delivered(make: Callable[..., World]) -> None:
    """The directory isn't asked for the cause where the company of the document doesn't want it asked."""
    world = make({"fjord": 'directory: "off"'}, outbound={"overdue": "300ms"})
    world.sandbox.store.connect({SELLER: "acme"})
    drop(world, ("acme", "fjord"), "lost", "1")
    with world.service():
        world.until(lambda: all(outcome(world, name, "lost") == "not-delivered" for name in ("acme", "fjord")))
    cause = f"The receiver {BUYER} is not in the access point's directory"
    assert cause in sidecar(world, "acme", "lost")["error"]["message"]
    assert cause not in sidecar(world, "fjord", "lost")["error"]["message"]


@pytest.mark.parametrize(
    "rules", [{"acme": "refuse", "fjord": "off", "tind": "warn"}, {"acme": "off", "fjord": "refuse"}]
)
def test_validate(make: Callable[..., World], tmp_path: Path, rules: dict[str, str]) -> None:
    """An invalid document fails, is sent with the findings, or isn't validated, as its company has it."""
    program, calls = tmp_path / "program.py", tmp_path / "calls"
    program.write_text(f"open({str(calls)!r}, 'a').write('x')\nprint('it is wrong')\nraise SystemExit(1)")
    more = f"validation: {{command: [{sys.executable}, {program}], timeout: 10m}}"
    own = {name: f"validate: {rule}" for name, rule in rules.items() if name != "acme"}
    world = make(own, outbound={"validate": rules["acme"]}, more=more)
    drop(world, rules, "first", "1")
    verdicts = {company: FORESEEN[rule] for company, rule in rules.items()}
    assert foreseen(world, rules) == verdicts
    calls.unlink()
    world.run_once()
    assert len(calls.read_text()) == len([rule for rule in rules.values() if rule != "off"])
    for company, rule in rules.items():
        assert outcome(world, company, "first") == ("invalid" if rule == "refuse" else "sent")
        warnings = sidecar(world, company, "first")["warnings"]
        assert any("it is wrong" in warning for warning in warnings) is (rule == "warn")


def test_attachments_and_pages(make: Callable[..., World]) -> None:
    """Each company has beside its received documents what it wants there, also by `download --deliver`."""
    own = {"fjord": "attachments: leave, readable: html", "tind": "attachments: beside, readable: html"}
    world = make(own, inbound={"attachments": "beside"})
    content = with_attachments(invoice(), ("Time sheet.pdf", "application/pdf", b"%PDF-1.7\n"))
    numbers = {
        company: world.sandbox.store.receive(
            sender=BUYER, receiver=receiver, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=content
        )
        for company, receiver in IDS.items()
    }
    wanted = {"acme": [".pdf"], "fjord": [".html"], "tind": [".html", ".pdf"]}
    world.run_once()
    for times in (1, 2):
        for company, beside in wanted.items():
            inbound = world.root / company / "inbound"
            suffixes = [path.suffix for path in inbound.iterdir() if not path.name.startswith(".")]
            assert sorted(suffixes) == sorted([*beside, ".json", ".xml"] * times)
            assert times == 2 or ask(world, "download", str(numbers[company]), "--deliver", "--again").status == 0


def test_names_and_answers(make: Callable[..., World]) -> None:
    """Each company names its received documents by its own pattern, and has folders of answers if it wants them."""
    own = {"fjord": "received_name: '{number}', answers: off", "tind": "received_name: 'x/{number}'"}
    world = make(own, inbound={"answers": "move"})
    for receiver in IDS.values():
        world.sandbox.store.receive(
            sender=BUYER, receiver=receiver, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=invoice("77")
        )
    world.run_once()
    assert (world.root / "fjord" / "inbound" / "77.xml").exists()
    assert (world.root / "tind" / "inbound" / "x" / "77.xml").exists()
    (path,) = (world.root / "acme" / "inbound").glob("*.xml")
    assert path.name != "77.xml"
    folders = [name for name in IDS if (world.root / name / "inbound" / "accepted").is_dir()]
    assert folders == ["acme", "tind"]
