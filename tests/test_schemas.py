"""The JSON Schemas of sidecars and status.json describe what filedrop writes, with every key."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask
from support.documents import BUYER, SELLER, invoice, with_attachments
from support.schemas import wrong

from filedrop.cli.config import FORMS
from filedrop.status import model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World


def sidecars(world: World) -> list[dict[str, Any]]:
    """All sidecars in a world's folders."""
    return [json.loads(path.read_bytes()) for path in (world.root / "acme").rglob("*.xml.json")]


def test_sidecars(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Those of documents that were delivered, failed or were received, with all that is in them, keep to the schema."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('BR-1: No number.')\nsys.exit('invalid.xml' in sys.argv[-1])")
    world = make_world(
        inbound={"attachments": "beside", "readable": "html"},
        outbound={"validate": "refuse"},
        more=f"validation: {{command: ['{sys.executable}', '{program}'], timeout: 60s}}",
    )
    world.drop("fine.xml", invoice("1"))
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.drop("invalid.xml", invoice("3"))
    world.drop(f"{'long' * 60}.xml", invoice("4"))
    for _ in range(2):
        world.receive(
            with_attachments(invoice("5", sender=BUYER, receiver=SELLER), ("a.pdf", "application/pdf", "JVBERi0x"))
        )
    world.settle()
    found = sidecars(world)
    assert not [problem for one in found for problem in wrong("sidecar", one)]
    assert {one["state"] for one in found} >= {"delivered", "failed", "received"}
    assert {
        "dropped_as",
        "error",
        "attachments",
        "page",
        "receiver_name",
        "sender_name",
        "possible_duplicate_of",
    } <= set().union(*found)
    assert {one["receiver_name"] for one in found if one["direction"] == "OUT"} == {"Kjøper Kommune"}
    assert {one["sender_name"] for one in found if one["direction"] == "IN"} == {"Blåbær og Bær AS"}


OLDER = (
    # From the versions before `type_code`, `receiver_name`, `sender_name` and `administrator`.
    """{"filedrop": 1, "direction": "OUT", "id": "01M8ASQQV6PCCDMMD1XHGVPJ5B", "file": "dup.xml", "company": "acme",
    "account": "main", "identity": "", "state": "failed", "sender": "0192:987654325", "receiver": "0192:810418052",
    "document_id": "urn:oasis:names:specification:ubl:schema:xsd:Order-2::Order##urn:fdc:peppol.eu:poacc:2.1::2.1",
    "process_id": "urn:fdc:peppol.eu:poacc:bis:ordering:3", "channel": "",
    "sources": {"sender": "document", "receiver": "document", "document_id": "document", "process_id": "document"},
    "document": {"type": "Order", "number": "1", "issue_date": "2026-11-20"}, "size": 3655,
    "sha256": "e560f43c865b7f7cc1b807e7f3226b8e9c2e8ce3948d0273c34efa7e418611fc",
    "meaning": "765c6556b1523a6a809385197e4eea29d94e3f12a6befce927b0c6b53f2bc74d",
    "claimed": "2026-11-23T02:07:46.534+00:00", "msg_no": null, "uuid": null, "received": null, "delivered": null,
    "warnings": [], "error": {"code": "duplicate", "message": "sent before", "hint": "Delete it."},
    "history": [{"at": "2026-11-23T02:07:46.534+00:00", "event": "claimed"},
    {"at": "2026-11-23T02:07:46.766+00:00", "event": "failed", "code": "duplicate"}]}""",
    """{"filedrop": 1, "direction": "IN", "id": "01M8ASQQG31THZE2SA61YN6ACY", "file": "20261123-1-Order-a.xml",
    "company": "acme", "account": "main", "identity": "acme@127.0.0.1", "state": "received",
    "sender": "0192:810418052", "receiver": "0192:987654325",
    "document_id": "urn:oasis:names:specification:ubl:schema:xsd:Order-2::Order##urn:fdc:peppol.eu:poacc:2.1::2.1",
    "process_id": "urn:fdc:peppol.eu:poacc:bis:ordering:3", "channel": "",
    "document": {"type": "Order", "number": "5", "issue_date": "2026-11-20"}, "size": 2105,
    "sha256": "faa807208da11d2b59070dd8a8605ffd284bce7efbb6cb2ad86382848548204a", "msg_no": 1,
    "uuid": "e7352b18-4e38-48ef-a89e-0e253ba01bcf", "received": "2026-11-23T02:07:45.041+00:00",
    "fetched": "2026-11-23T02:07:46.203+00:00", "warnings": []}""",
)


@pytest.mark.parametrize("sidecar", OLDER)
def test_sidecars_of_older_versions(sidecar: str) -> None:
    """A sidecar that an older version wrote stays in the archive, and keeps to the schema."""
    assert not list(wrong("sidecar", json.loads(sidecar)))


def test_status(make_world: Callable[..., World]) -> None:
    """status.json and `status --json` keep to the schema, with documents, messages and matters in them."""
    world = make_world(deliver_after=3600, outbound={"incomplete_after": "1h", "overdue": "1ms"})
    world._unassigned = str(world.root / "unassigned")
    world.drop("fine.xml", invoice("1"))
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.drop("half.xml", invoice("3")[:500])
    world.receive(b"no XML at all")
    (world.outbound / "letter.pdf").touch()
    (world.outbound / "sent").mkdir(exist_ok=True)
    with world.daemon():
        world.until(lambda: {"failed", "stuck", "overdue"} <= {one["kind"] for one in written(world)["matters"]})
        told = json.loads(ask(world, "status", "--json").output)
        status = written(world)
    assert status["companies"]["acme"]["messages"]
    for content in (status, told, json.loads(ask(world, "status", "--json").output)):
        assert not list(wrong("status", content))


def written(world: World) -> dict[str, Any]:
    """What status.json says; no matters where there is none."""
    file = world.root / "status.json"
    content: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"matters": []}
    return content


def test_the_schema_of_status_names_all_keys() -> None:
    """Every key that filedrop may write into status.json is in the schema, and required there."""
    schema = json.loads(FORMS["status"].read_text("utf-8"))
    forms = {name: schema["$defs"][name] for name in ("company", "account", "folder", "matter")} | {"": schema}
    types = {"company": "CompanyStatus", "account": "AccountStatus", "folder": "FolderStatus", "matter": "Matter"}
    for name, form in forms.items():
        keys = set(getattr(model, types.get(name, "Status")).__annotations__)
        assert keys <= set(form["properties"]), name
        assert set(form["required"]) == set(form["properties"])


@pytest.mark.parametrize("form", FORMS)
def test_the_command_prints_it(world: World, form: str) -> None:
    """`filedrop config schema FORM` prints the schema that the tests keep to."""
    assert json.loads(ask(world, "config", "schema", form).output) == json.loads(FORMS[form].read_text("utf-8"))


def test_what_is_wrong_is_found() -> None:
    """A missing key, a wrong type and a key that the schema doesn't name are mistakes."""
    assert list(wrong("sidecar", {"filedrop": 1, "direction": "IN", "file": "a.xml"}))
    assert list(wrong("sidecar", {"filedrop": 1, "direction": "OUT", "file": 1, "dropped_as": "b.xml"}))
    assert list(wrong("sidecar", {"filedrop": 1, "direction": "OUT", "file": "a.xml", "dropped_as": "b.xml", "new": 1}))
    assert not list(wrong("sidecar", {"filedrop": 1, "direction": "OUT", "file": "a.xml", "dropped_as": "b.xml"}))
