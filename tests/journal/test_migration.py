"""A journal that an older filedrop has written is brought up to date, or stays as it was."""

from __future__ import annotations

import json
import sqlite3
import stat
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from structlog.testing import LogCapture
from support.documents import BUYER, SELLER
from support.drops import IDENTITY, NOON, accepted, drop, posted

from filedrop.cli.serving import log_conversion
from filedrop.errors import JournalError
from filedrop.journal import JOURNAL, Duplicate, Journal, Waiver
from filedrop.model.document import Need, State
from filedrop.model.fault import Fault
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from support.world import World

DAY = timedelta(days=1)
OLDER = sorted(Path(__file__).parent.glob("journal-*.sql"))  # as filedrop wrote them with each schema


@pytest.fixture(params=OLDER, ids=[path.stem for path in OLDER])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A journal of an older schema."""
    with closing(sqlite3.connect(tmp_path / JOURNAL)) as connection:
        connection.executescript(request.param.read_text(encoding="utf-8"))
    return tmp_path / JOURNAL


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_what_it_knew(path: Path) -> None:
    """Everything that an older journal knew is known, and what it was is kept beside it."""
    before = content(path)
    with locked_state(path.parent) as journal:
        (copy,) = path.parent.glob("journal-*.sqlite")
        assert journal.engine.former == copy
        log = LogCapture()
        log_conversion(journal, structlog.wrap_logger(None, processors=[log]))
        assert [(entry["event"], entry["copy"]) for entry in log.entries] == [("journal.converted", str(copy))]
        assert journal.folders.path("f1") == Path("/srv/acme/outbound")
        assert journal.folders.is_settled("f1")
        assert journal.documents.by_id(drop(1).id) == drop(1, revision=1)
        assert journal.documents.by_id(drop(5).id).error == Fault("rejected", "it was refused", "mend it")
        states = {
            document.id: document.state for document in journal.documents.by_ids([drop(n).id for n in range(1, 7)])
        }
        assert list(states.values()) == [
            State.WAITING, State.SENDING, State.SENT, State.DOUBT, State.FAILED, State.SENT,
        ]  # fmt: skip
        assert journal.numbers.owned(IDENTITY, [3, 6]) == {
            3: [accepted(drop(3), 3).received],
            6: [accepted(drop(6), 6).received],
        }
        messages = journal.messages.in_states(IDENTITY, "named", "placing", "read", "stuck")
        assert [row.state for row in messages] == ["named", "placing", "read", "stuck"]
        assert journal.messages.drafts("/srv/acme/inbound") == {".01.part", ".02.part"}
        assert journal.waivers.of("f1", "again.xml") == Waiver("sha-9", 123)
        noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
        assert [one.file for one in journal.lately.last_sent("acme", 1)] == ["6.xml"]
        assert [row.msg_no for row in journal.lately.last_received("acme", 9)] == [3, 2]
        assert journal.lately.per_day("acme", [noon - DAY, noon - DAY / 2, noon + DAY]) == ([0, 2], [0, 2], [0, 1])
        (again,) = journal.documents.record_sending(
            [posted(drop(9, meaning="meaning-3", number="3"))], "refuse", warning=str
        )
        assert isinstance(again, Duplicate)
        assert [row and row.revision for row in journal.messages.record_all(messages)] == [2] * 4
    (kept,) = path.parent.glob("journal-*.sqlite")
    assert content(kept) == before
    if sys.platform != "win32":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with locked_state(path.parent):  # and from then on it is one of ours
        assert list(path.parent.glob("journal-*.sqlite")) == [kept]


@pytest.mark.parametrize("path", OLDER[:4], ids=[older.stem for older in OLDER[:4]], indirect=True)
def test_what_waited_for_something_of_its_own(path: Path) -> None:
    """What an older journal's history says last of a waiting document is what it waits for."""
    why = "the table doesn't answer"
    history = json.dumps([[NOON.isoformat(), "claimed", {}], [NOON.isoformat(), "not identified yet", {"why": why}]])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE documents SET history = ? WHERE id = ?", (history, drop(1).id))
    with locked_state(path.parent) as journal:
        document = journal.documents.by_id(drop(1).id)
        assert document is not None
        assert (document.needs, document.needs_why, document.needs_since) == (Need.IDS, why, NOON)
        assert [other.needs for other in journal.documents.by_ids([drop(n).id for n in range(2, 7)])] == [None] * 5


def test_beside_a_service_that_is_not_restarted(path: Path) -> None:
    """A command leaves it to the service to bring the journal up to date, and says so."""
    before = content(path)
    with pytest.raises(JournalError, match="restart the service, which brings it up to date"):
        Journal.at(path)
    assert content(path) == before
    assert not list(path.parent.glob("journal-*.sqlite"))


def test_no_copy_can_be_made(path: Path) -> None:
    """Where there is no room for a copy, say, the journal stays as it was, and a sentence says what to do."""
    before = content(path)
    hindrances = [path.parent / f"{older.stem}.sqlite.tmp" for older in OLDER]
    for hindrance in hindrances:
        hindrance.mkdir()
    with pytest.raises(JournalError, match="It is as it was, and nothing is posted"), locked_state(path.parent):
        pass
    assert content(path) == before
    for hindrance in hindrances:
        hindrance.rmdir()
    with locked_state(path.parent) as journal:
        assert journal.documents.by_id(drop(1).id) is not None


def test_a_step_fails(path: Path) -> None:
    """Where the last step fails, none is taken."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER full BEFORE UPDATE ON about BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    before = content(path)
    with pytest.raises(JournalError), locked_state(path.parent):
        pass
    assert content(path) == before


@pytest.mark.parametrize("path", OLDER[:1], ids=[OLDER[0].stem], indirect=True)
def test_the_first_journals(path: Path) -> None:
    """Those that lack tables which came later are brought up to date, too; what was let through by content is not."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "DROP TABLE only_named; DROP TABLE restored; DROP TABLE waivers; DROP TABLE changes;"
            "DROP TRIGGER count_insert; DROP TRIGGER count_update; "
            "UPDATE documents SET error = 'null' WHERE error IS NULL;"
            "CREATE TABLE let_through (sha256 TEXT PRIMARY KEY); INSERT INTO let_through VALUES ('sha-3')"
        )
    with locked_state(path.parent) as journal:
        assert journal.documents.by_id(drop(1).id) == drop(1, revision=1)
        assert {row.state for row in journal.messages.in_states(IDENTITY, "named", "placing")} == {"placing"}
        (again,) = journal.documents.record_sending(
            [posted(drop(9, sha256="sha-3", meaning="meaning-3", number="3"))], "refuse", warning=str
        )
        assert isinstance(again, Duplicate)


@pytest.mark.parametrize("path", OLDER[3:4], ids=[OLDER[3].stem], indirect=True)
def test_responses_that_wait(path: Path) -> None:
    """Responses that an older version could not tie are tied, or wait on; those that it has tied stay so."""
    at = drop(3).claimed.timestamp()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE documents SET type = 'CrossIndustryInvoice' WHERE number = '3'")
        for msg_no, number, document in (
            (90, "3", ""),
            (91, "3", drop(3).id),
            (92, "9", ""),
            (92, "10", ""),
            (93, "11", ""),
        ):
            sender = "0242:000123" if msg_no == 93 else BUYER
            values = (IDENTITY, msg_no, "acme", sender, SELLER, number, "Invoice", "RE", "No.", at, document)
            connection.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    with locked_state(path.parent) as journal:
        assert journal.engine.read("SELECT DISTINCT words FROM responses WHERE msg_no < 93") == [("response",)]
        assert journal.engine.read("SELECT words FROM responses WHERE msg_no = 93") == [("response_mls",)]
        (owed,) = journal.responses.owed("f1", "acme", NOON)
        assert (owed.msg_no, owed.document, owed.type_code, owed.reason) == (90, drop(3).id, "380", "No.")
        assert journal.engine.read("SELECT msg_no FROM responses WHERE document <> '' ORDER BY msg_no") == [
            (90,),
            (91,),
        ]
        document = journal.documents.record(posted(drop(9)))
        journal.documents.record(document.sent(NOON, 9, received=None, uuid=None))
        assert [response.msg_no for response in journal.responses.owed("f1", "acme", NOON)] == [90, 92]


def test_of_a_newer_filedrop(world: World) -> None:
    """A newer journal is refused by the service and by each command, and left alone."""
    world.run_once()
    path = world.state / JOURNAL
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE about SET value = '99' WHERE key = 'schema'")
        connection.commit()
    before = content(path)
    (world.base / "config.yaml").write_text(world.config_text(), encoding="utf-8")
    for command in (["run", "--once"], ["retry", "--all", "--anyway"]):
        done = world.process(*command)
        assert done.returncode != 0
        assert "was written by another version of filedrop (schema 99" in done.stderr
    assert content(path) == before
