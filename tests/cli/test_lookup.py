"""`filedrop lookup`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING, BILLING_PROCESS, BUYER, INVOICE_ID
from support.faults import instead, reset_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Filedrop
    from support.faults import Exchange
    from support.world import World

STRANGER = "0192:999999990"


@pytest.mark.usefixtures("world")
def test_connected(filedrop: Filedrop) -> None:
    """Somebody in the directory can be reached (status 0), anybody else can't (status 1)."""
    done = filedrop("lookup", BUYER)
    assert (done.returncode, done.stdout) == (0, f"{BUYER} can be reached\n")
    done = filedrop("lookup", f"iso6523-actorid-upis::{STRANGER}")
    assert (done.returncode, done.stdout) == (1, f"{STRANGER} is not in the directory\n")


@pytest.mark.usefixtures("world")
def test_what_it_accepts(filedrop: Filedrop) -> None:
    """A type of document is answered by a table of what is accepted, each with its process."""
    done = filedrop("lookup", BUYER, "Invoice")
    rows = [line.split() for line in done.stdout.splitlines()[3:]]
    assert done.returncode == 0
    assert [BILLING, "2.1", BILLING_PROCESS, "active"] in rows
    assert filedrop("lookup", BUYER, "Sonnet").returncode == 1


@pytest.mark.usefixtures("world")
def test_a_whole_document_id(filedrop: Filedrop) -> None:
    """A document id is looked for among what is accepted: the nearest first, and whether it is there is the status."""
    wanted = INVOICE_ID.replace("billing:3.0", "selfbilling:3.0")
    done = filedrop("lookup", BUYER, wanted, "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0
    assert (said["participant"], said["connected"], said["document"]) == (BUYER, True, "Invoice")
    assert [pair["document_id"] for pair in said["accepts"]] == [wanted, INVOICE_ID]
    assert filedrop("lookup", BUYER, f"{wanted}.9", "--json").returncode == 1


@pytest.mark.usefixtures("world")
def test_no_participant(filedrop: Filedrop) -> None:
    """What is no ParticipantID is a mistake on the command line."""
    done = filedrop("lookup", "999999990")
    assert done.returncode == 2
    assert "0192:" in done.stderr


@pytest.mark.parametrize(
    ("trouble", "status", "word"),
    [
        (instead(404), 1, "no directory"),
        (instead(401), 3, "login"),
        (instead(500), 3, "not available"),
        (reset_before, 3, "cannot reach"),
        (instead(400), 1, "can't be looked up"),
    ],
)
def test_trouble(filedrop: Filedrop, world: World, trouble: Callable[[Exchange], None], status: int, word: str) -> None:
    """Whether it is the directory, the login or the way there: it is said, and is the status."""
    world.front.always("GET /directory", trouble)
    done = filedrop("lookup", BUYER)
    assert done.returncode == status
    assert word in done.stdout + done.stderr
    assert "no access point is there" not in done.stderr


def test_wrong_address(filedrop: Filedrop, world: World) -> None:
    """Where nothing of an access point is there, the address is named, and not the directory."""
    for path in ("GET /directory", "GET /statistics", "GET /inbox"):
        world.front.always(path, instead(404))
    done = filedrop("lookup", BUYER)
    assert done.returncode == 3
    assert "no access point is there; correct base_url" in done.stderr
