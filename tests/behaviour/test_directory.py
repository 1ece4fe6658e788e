"""What the access point's directory says is heard before a document is sent, and what it doesn't say stops nobody."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice
from support.faults import Exchange, answered, exactly, instead, reset_before
from support.matrix import quick

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

STRANGER = "0192:123456785"
OLD = "urn:www.cenbii.eu:transaction:biitrns010:ver2.0:extended:urn:www.peppol.eu:bis:peppol5a:ver2.0"
REFUSE = {"directory": "refuse"}


def note(world: World, name: str) -> str:
    """What the note beside a failed document says."""
    return (world.outbound / "failed" / f"{name}.why.txt").read_text()


def asked(world: World) -> Counter[str]:
    """The questions to the directory, each with how often it was asked."""
    return Counter(request.path for request in world.front.asked("GET /directory"))


def test_a_receiver_that_nobody_knows(make_world: Callable[..., World]) -> None:
    """With `refuse`, a document to somebody who isn't in the directory is never posted; its note says what to do."""
    world = make_world(outbound=REFUSE)
    world.drop("invoice.xml", invoice(receiver=STRANGER))
    world.run_once()
    assert world.error("invoice.xml") == "receiver-unknown"
    assert STRANGER in note(world, "invoice.xml")
    assert "filedrop lookup" in note(world, "invoice.xml")
    assert not world.front.asked("POST /outbox")


@pytest.mark.parametrize("nth", [1, 2], ids=["one account", "one of two accounts"])
def test_the_command_in_the_note(make_world: Callable[..., World], nth: int) -> None:
    """It asks the right account, also where there are several: run as it stands, it says what the note said."""
    world = make_world(outbound=REFUSE, companies={"acme": f'{{participants: ["{SELLER}"], account: main}}'})
    another = f"other: {{base_url: '{world.front.url}', username: buyer, password_file: '{world.password_file}'}}"
    text = world.config_text().replace("root:", f"  {another}\nroot:") if nth == 2 else world.config_text()
    world.config_text = lambda: text  # type: ignore[method-assign] # this world's own accounts
    world.drop("invoice.xml", invoice(receiver=STRANGER))
    world.run_once()
    (command,) = re.findall("filedrop (lookup .*)", note(world, "invoice.xml"))
    done = world.filedrop(*shlex.split(command))
    assert done.stdout == f"{STRANGER} is not in the directory\n", done.stderr


def test_what_the_receiver_accepts_instead(make_world: Callable[..., World]) -> None:
    """The note names what the receiver accepts, the nearest first."""
    world = make_world(outbound=REFUSE)
    world.drop("old.xml", invoice(customization=OLD))
    world.run_once()
    assert world.error("old.xml") == "not-accepted"
    said = [line for line in note(world, "old.xml").splitlines() if " with the process " in line]
    assert INVOICE_ID in said[0]
    assert BILLING_PROCESS in said[0]
    assert "selfbilling" in said[1]


def test_the_names_of_the_code_list(make_world: Callable[..., World]) -> None:
    """What isn't accepted, and what is, have the names that the code list gives them, and a sentence has one id."""
    world = make_world(outbound=REFUSE)
    world.drop("old.xml", invoice(customization=OLD))
    world.run_once()
    said = world.sidecar("old.xml")["error"]["message"]
    assert "doesn't accept PEPPOL Billing profile Invoice V2." in said
    assert "The most similar that it accepts is Peppol BIS Billing UBL Invoice V3" in said
    assert "::Invoice##" not in said
    assert "\n  Peppol BIS Self-Billing UBL Invoice V3: urn:" in note(world, "old.xml")


def test_the_right_document_with_another_process(make_world: Callable[..., World]) -> None:
    """A document id is accepted together with its process only."""
    world = make_world(outbound=REFUSE)
    world.drop("invoice.xml", invoice(process="urn:fdc:peppol.eu:poacc:bis:other:3"))
    world.run_once()
    assert world.error("invoice.xml") == "not-accepted"
    (first, *_) = [line for line in note(world, "invoice.xml").splitlines() if " with the process " in line]
    assert f"{INVOICE_ID} with the process {BILLING_PROCESS}" in first


def test_a_warning_that_stops_nothing(world: World) -> None:
    """By default the document is sent all the same, and its sidecar says what the directory said."""
    world.drop("strange.xml", invoice("1", receiver=STRANGER))
    world.drop("old.xml", invoice("2", customization=OLD))
    world.run_once()
    assert world.accepted() == {"strange.xml": 1, "old.xml": 1}
    assert [one for one in world.sidecar("strange.xml")["warnings"] if "directory" in one and STRANGER in one]
    assert [
        one
        for one in world.sidecar("old.xml")["warnings"]
        if "directory" in one and "Peppol BIS Billing UBL Invoice V3" in one
    ]


def test_off_asks_nothing(make_world: Callable[..., World]) -> None:
    """With `off` nobody is asked."""
    world = make_world(outbound={"directory": "off"})
    world.drop("invoice.xml", invoice(receiver=STRANGER))
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}
    assert not asked(world)


def test_one_question_for_many_documents(make_world: Callable[..., World]) -> None:
    """What the directory says of a receiver and a document type is asked once."""
    world = make_world(outbound=REFUSE)
    for nth in range(12):
        world.drop(f"{nth}.xml", invoice(str(nth)))
    world.run_once()
    assert sum(world.accepted().values()) == 12
    assert asked(world) == {f"/directory/{BUYER}/Invoice": 1}


def test_a_no_is_not_believed_for_long(make_world: Callable[..., World]) -> None:
    """A receiver that has been registered meanwhile is sent to at the next start, not when the cache is old."""
    world = make_world(outbound=REFUSE)
    world.drop("invoice.xml", invoice(receiver=STRANGER))
    world.run_once()
    assert world.error("invoice.xml") == "receiver-unknown"
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", STRANGER: "buyer"})
    (world.outbound / "failed" / "invoice.xml").rename(world.outbound / "invoice.xml")
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}


def silent(exchange: Exchange) -> None:
    """It takes the question and says nothing."""
    exchange.keep_silent()


@pytest.mark.parametrize(
    "trouble",
    quick(
        [instead(404), instead(500), instead(400, "no"), instead(200), instead(200, "<html/>"), reset_before, silent], 3
    ),
    ids=["missing", "broken", "malformed", "empty", "a page", "reset", "silent"],
)
def test_a_directory_that_knows_nothing(make_world: Callable[..., World], trouble: Callable[[Exchange], None]) -> None:
    """A directory that is missing, broken or slow is neither a refusal nor an outage, and is asked a few times only."""
    world = make_world(outbound=REFUSE | {"workers": "1"})
    world.front.always("GET /directory", trouble)
    for nth in range(4):
        world.drop(f"{nth}.xml", invoice(str(nth)))
    world.run_once()
    assert sum(world.accepted().values()) == 4
    assert 1 <= sum(asked(world).values()) <= 2
    assert not any(world.sidecar(name)["warnings"] for name in world.dropped)


def test_connected_but_silent_on_documents(make_world: Callable[..., World]) -> None:
    """Where only the connection is known (field notes: an empty 200), a stranger is refused, and nobody else."""
    world = make_world(outbound=REFUSE)
    for receiver in (BUYER, STRANGER):
        world.front.always(exactly("GET", f"/directory/{receiver}/Invoice"), instead(200))
    world.front.always("GET /directory", answered)
    world.drop("known.xml", invoice("1"))
    world.drop("strange.xml", invoice("2", receiver=STRANGER))
    world.run_once()
    assert world.accepted() == {"known.xml": 1}
    assert world.error("strange.xml") == "receiver-unknown"


def test_a_refused_login_is_not_the_directorys_business(make_world: Callable[..., World]) -> None:
    """A directory that refuses the login says nothing of a document; whether we are let in, the post tells."""
    world = make_world(outbound=REFUSE)
    world.front.always("GET /directory", instead(401))
    world.drop("invoice.xml", invoice())
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}
