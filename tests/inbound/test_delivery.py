"""A message's way into its folder, a step at a time: what lies there, what the journal says, and what is told of it."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.disks import mounted
from support.documents import invoice, with_attachments
from support.faults import instead
from support.plug import tapped
from support.rights import as_anyone
from support.sharing import SHARE, copied
from support.systems import folders_flushed, modes
from support.unwritable import refuse_writes

from filedrop.cli.archive import deliver_again
from filedrop.errors import FolderUnavailable, JournalError
from filedrop.files import Directory
from filedrop.files.disk import free_space, is_local
from filedrop.inbound.arrival import LookAgain, Refused
from filedrop.model.document import new_id
from filedrop.storage import sidecar
from filedrop.storage.marker import Marker
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Exchange
    from support.landing import Landing
    from support.stepping import Clock

    from filedrop.inbound.context import InboundContext

EMBEDDING = with_attachments(invoice("1"), ("a.pdf", "application/pdf", b"%PDF-1"))
NAME = "20200601-{}-Invoice-0192_810418052.xml"


def pair(*numbers: int) -> list[str]:
    """The names of the documents with these message numbers, and of their sidecars."""
    return sorted(f"{NAME.format(number)}{end}" for number in numbers for end in ("", ".json"))


@contextmanager
def unwritable(landing: Landing) -> Iterator[None]:
    """The journal can't be written while this lasts."""
    refuse_writes(landing.life.journal)
    yield
    refuse_writes(landing.life.journal, refuses=False)


def unnamed(landing: Landing, *numbers: str) -> list[str]:
    """Have these invoices fetched while the journal can't be written. Returns the names of their temporary files."""
    landing.fetched(*numbers)
    with unwritable(landing), pytest.raises(JournalError):
        landing.step()
    landing.endings.clear()
    return landing.temporaries()


def step_to_commit(landing: Landing, nth: int, *, done: bool = False) -> None:
    """Take a step whose n-th commit fails, though it may have been `done`."""

    def fail(what: str) -> None:
        if what == "commit" and tap.steps.count("commit") == nth:
            if done:
                landing.life.journal.engine._writer.execute("COMMIT")
            raise sqlite3.OperationalError("disk I/O error")

    with tapped(fail) as tap, pytest.raises(JournalError):
        landing.step()


def named(landing: Landing, *numbers: str) -> list[str]:
    """Have these invoices fetched and named, but not placed. Returns the names of their temporary files."""
    landing.fetched(*numbers)
    step_to_commit(landing, 2)
    landing.endings.clear()
    assert landing.states() == ["named"] * len(numbers)
    return landing.temporaries()


def stuck(landing: Landing, number: int = 1) -> None:
    """Have the journal know a message as stuck."""
    (one,) = [one for one in landing.listed() if one.message.msg_no == number]
    landing.life.journal.messages.record(landing.context.row_of(landing.delivery.folder, one.message, "stuck"))


def away(landing: Landing) -> Path:
    """Have the folder be missing, as if its share weren't mounted. Returns where it is meanwhile."""
    elsewhere = landing.world.base / "elsewhere"
    landing.world.inbound.rename(elsewhere)
    return elsewhere


# One message


def test_before_anything_has_happened(landing: Landing) -> None:
    """A step is due at once, nothing is wrong, and it isn't said yet that nothing is left to do."""
    delivery = landing.delivery
    assert delivery.due() == -math.inf
    assert delivery.is_idle() is False
    assert (delivery.trouble, delivery.refused, delivery.has_unnamed()) == ("", "", False)
    landing.step()
    assert delivery.due() == math.inf
    assert delivery.is_idle() is True
    assert landing.lying() == []
    assert delivery.folder.local is is_local(landing.world.inbound)


def test_a_message(landing: Landing) -> None:
    """It is fetched, named, placed and marked as read, one after the other, and told of once."""
    landing.step()
    landing.receive("1")
    landing.bring()
    assert landing.delivery.due() == -math.inf
    assert not landing.delivery.is_idle()
    landing.step()
    assert landing.lying() == landing.rows() == landing.ended() == []
    assert landing.delivery.is_idle()
    landing.fetch()
    assert landing.delivery.due() == -math.inf
    assert len(landing.temporaries()) == 1
    assert landing.states() == landing.ended() == []
    landing.step()
    assert landing.lying() == pair(1)
    assert [(row.state, row.wanted, row.file) for row in landing.rows()] == [("placing", NAME.format(1), "")]
    assert landing.ended() == []
    landing.read()
    assert [(row.state, row.wanted, row.file) for row in landing.rows()] == [("read", "", NAME.format(1))]
    assert landing.ended() == [(1, "", True)]
    assert landing.delivery.due() == math.inf
    landing.world.invariants()


def test_in_batches(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes some of the messages, and the next is due at once for the others."""
    monkeypatch.setattr("filedrop.inbound.delivery.BATCH", 2)
    landing.receive("1", "2", "3")
    landing.bring()
    landing.step()
    assert landing.life.jobs.count("fetched") == 2
    assert landing.delivery.due() == -math.inf
    assert not landing.delivery.is_idle()
    landing.step()
    assert landing.life.jobs.count("fetched") == 3
    assert landing.delivery.due() == math.inf
    landing.all()
    landing.world.invariants()


def test_turns(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    """While messages are fetched quickly, a step is due when a batch was fetched, and hands out the next one."""
    monkeypatch.setattr("filedrop.inbound.delivery.BATCH", 2)
    landing.fetched("1")
    landing.step()
    for _ in range(2):
        landing.context.fetchers.pace.note(0.0, 0.0)
    landing.receive("2", "3", "4")
    landing.bring(2, 3, 4)
    landing.step()
    assert landing.life.jobs.count("fetched") == 2
    assert landing.delivery.due() == math.inf
    assert not landing.delivery.is_idle()
    landing.life.do(landing.life.jobs.index("fetched"))
    assert 0 < landing.delivery.due() < math.inf
    landing.fetch()
    assert landing.delivery.due() == -math.inf
    landing.step()
    assert landing.life.jobs.count("fetched") == 1
    landing.all()
    landing.world.invariants()


@modes
def test_one_that_a_killed_filedrop_had_linked(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document whose two names look like two files, as on sshfs, is delivered once."""
    monkeypatch.setattr("filedrop.files.trial.file_system", lambda _: SHARE)
    (temporary,) = named(landing, "1")
    landing.life.journal.messages.record(replace(landing.rows()[0], state="placing"))
    copied(Directory.open(landing.world.inbound) / temporary, Directory.open(landing.world.inbound) / NAME.format(1))
    landing.bring()
    landing.all()
    assert landing.lying() == pair(1)
    assert landing.downloads() == 1


def test_one_that_was_stuck(landing: Landing) -> None:
    """It is fetched anew."""
    landing.receive("1")
    stuck(landing)
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", True)]
    landing.world.invariants()


@pytest.mark.parametrize("taken", [False, True])
def test_one_that_was_marked_as_read_and_is_still_listed(landing: Landing, *, taken: bool) -> None:
    """It is marked once more, and isn't fetched again, whether or not somebody has taken it meanwhile."""
    landing.receive("1")
    landing.world.front.next("POST /inbox", instead(204))
    landing.bring()
    landing.all()
    assert landing.states() == ["read"]
    if taken:
        for name in pair(1):
            (landing.world.inbound / name).unlink()
    landing.endings.clear()
    landing.bring()
    landing.step()
    assert landing.ended() == []
    landing.all()
    assert landing.ended() == [(1, "", False)]
    assert landing.downloads() == 1
    assert landing.lying() == ([] if taken else pair(1))
    assert not landing.world.sandbox.store.inbox("acme")


def test_writes_of_our_own_that_come_late(landing: Landing) -> None:
    """The database carries them out once more, in any order: the row stays, and the message is delivered once."""
    landing.receive("1")
    landing.world.front.next("POST /inbox", instead(204))
    said: list[str] = []
    landing.life.journal.engine._writer.set_trace_callback(said.append)
    landing.bring()
    landing.all()
    landing.life.journal.engine._writer.set_trace_callback(None)
    for name in pair(1):
        (landing.world.inbound / name).unlink()
    rows = landing.rows()
    late = dict.fromkeys(statement for statement in said if re.match("(INSERT INTO|UPDATE) messages", statement))
    assert len(late) >= len(["named", "placing", "read"])
    with closing(sqlite3.connect(landing.life.journal.engine.path)) as connection:
        for statement in reversed(late):
            connection.execute(statement)
            connection.commit()
    assert landing.rows() == rows
    landing.bring()
    landing.all()
    assert landing.lying() == []
    assert landing.downloads() == 1


@pytest.mark.parametrize("moved", ["1.xml 1.xml.json", "1.xml", ""], ids=["both", "document", "left"])
def test_one_that_the_journal_has_forgotten(make_landing: Callable[..., Landing], moved: str) -> None:
    """It isn't placed again where a person has moved it, or has taken the one whose name it would get now."""
    landing = make_landing(name='"{number}"')
    inbound = landing.world.inbound
    landing.receive(*([] if moved else ["1"]), "1")
    landing.world.front.next("POST /inbox", *[instead(204)] * 2)
    landing.bring()
    landing.all()
    if moved:
        (inbound / "accepted").mkdir()
        for name in moved.split():
            (inbound / name).rename(inbound / "accepted" / name)
    else:
        for name in ("1.xml", "1.xml.json"):
            (inbound / name).unlink()
    there = landing.lying()
    landing.life.journal.engine.write(lambda connection: connection.execute("DELETE FROM messages"))
    landing.bring(2 - bool(moved))
    landing.all()
    assert landing.lying() == there
    assert [(row.state, row.file) for row in landing.rows()] == [("read", "1.xml" if moved else "1-2.xml")]


@pytest.mark.parametrize("when", ["fetched", "reserved"])
def test_one_that_a_command_delivers_meanwhile(landing: Landing, when: str) -> None:
    """It lies there once, and nothing else of it is left."""
    world = landing.world

    def command(what: str = "place") -> None:
        if what == "place" and landing.states() in ([], ["named"]):
            configuration = world.configuration()
            deliver_again(configuration, configuration.accounts["main"], landing.context.access_point, 1)

    landing.fetched("1")
    if when == "fetched":
        command()
        landing.step()
    else:
        with tapped(command):
            landing.step()
    landing.all()
    assert landing.ended() == [(1, "message 1 was taken a step further meanwhile", False)]
    assert landing.lying() == pair(1)
    assert landing.states() == ["read"]
    assert landing.downloads() == 2
    landing.bring()
    landing.all()
    world.invariants()


def test_one_that_gets_a_page(make_landing: Callable[..., Landing]) -> None:
    """It is recorded as read before its page is made, which is owed from then on, and then lies beside it."""
    landing = make_landing(readable="html")
    landing.receive("1")
    landing.bring()
    landing.all()
    assert landing.lying() == pair(1)
    assert [(row.state, row.page) for row in landing.rows()] == [("read", 0)]
    assert landing.ended() == [(1, "", True)]
    assert landing.make_pages() == 1
    assert landing.lying() == [NAME.format(1).replace(".xml", ".html"), *pair(1)]
    assert [(row.state, row.page) for row in landing.rows()] == [("read", None)]
    landing.world.invariants()


def test_a_page_that_ends_filedrop(make_landing: Callable[..., Landing]) -> None:
    """Attempts are counted before they begin. After two that came to no end, sidecar and log say why there is none."""
    landing = make_landing(readable="html")
    landing.receive("1")
    landing.bring()
    landing.all()
    (row,) = landing.rows()
    for attempt in (1, 2):  # filedrop is killed, twice
        row = landing.life.journal.messages.record(replace(row, page=attempt))
    assert landing.make_pages() == 1
    assert landing.lying() == pair(1)
    (told,) = landing.told("page.not_made")
    assert told["why"] == f"filedrop was ended twice while it made the files beside {NAME.format(1)}"
    content = sidecar.read(landing.world.inbound / f"{NAME.format(1)}.json")
    assert content is not None
    assert (content["page"], content["warnings"]) == (None, [f"there is no page: {told['why']}"])
    assert landing.make_pages() == 0


def test_a_page_for_a_folder_that_is_away(make_landing: Callable[..., Landing]) -> None:
    """While the folder can't be used, the page stays owed, and no attempt counts."""
    landing = make_landing(readable="html")
    landing.receive("1")
    landing.bring()
    landing.all()
    away = landing.world.inbound.with_name("away")
    landing.world.inbound.rename(away)
    landing.make_pages()
    assert [row.page for row in landing.rows()] == [0]
    assert landing.life.service.pages.is_done()  # nothing that can be done now
    away.rename(landing.world.inbound)
    landing.life.service.pages._not_before.clear()  # a minute later
    landing.make_pages()
    assert [row.page for row in landing.rows()] == [None]
    assert len(landing.lying()) == 3


def test_pages_of_two_folders(make_landing: Callable[..., Landing], tmp_path: Path) -> None:
    """The folders take turns: who gets very much keeps nobody waiting."""
    landing = make_landing(readable="html")
    landing.receive("1", "2", "3")
    landing.bring()
    landing.all()
    pages, first = landing.life.service.pages, landing.delivery
    other = tmp_path / "other"
    other.mkdir()
    landing.start(other)
    landing.receive("4")
    landing.bring()
    landing.all()
    pages.add([first, landing.delivery])
    assert (pages.turn(), pages.turn()) == (0, 0)
    assert [len(list(folder.glob("*.html"))) for folder in (landing.world.inbound, other)] == [1, 1]


def test_a_document_taken_before_its_page(make_landing: Callable[..., Landing]) -> None:
    """Where somebody has taken the document, nobody is left a page, and nothing is owed."""
    landing = make_landing(readable="html")
    landing.receive("1")
    landing.bring()
    landing.all()
    (landing.world.inbound / NAME.format(1)).unlink()
    landing.make_pages()
    assert landing.lying() == [f"{NAME.format(1)}.json"]
    assert [row.page for row in landing.rows()] == [None]


# Requests that fail, and those that are never made


def test_a_message_that_cannot_be_fetched(landing: Landing) -> None:
    """Its error is told, once, and nothing is left of it."""
    landing.receive("1")
    landing.world.front.next("GET /messages/1/", instead(404))
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "the access point lists message 1, but has no document for it", False)]
    assert landing.lying() == landing.rows() == []
    assert landing.delivery.is_idle()


def test_an_access_point_that_is_away(landing: Landing) -> None:
    """No message is asked for, and none is blamed."""
    landing.receive("1")
    landing.bring()
    landing.world.front.always("GET", instead(503))
    landing.all()
    assert landing.ended() == [(1, "", False)]
    assert landing.downloads() == 0


def test_a_fetch_that_never_begins(landing: Landing) -> None:
    """Where filedrop is stopped before it, it is told that the message has come no further, and nothing is blamed."""
    landing.receive("1")
    landing.bring()
    landing.step()
    landing.life.service.accounts[0].fetchers.close()
    assert landing.ended() == [(1, "", False)]


def test_mark_at_a_stop(landing: Landing) -> None:
    """A stop cancels no mark: the message is marked as read, and recorded."""
    landing.fetched("1")
    landing.step()
    landing.life.service.accounts[0].fetchers.close()
    assert landing.states() == ["placing"]
    landing.all()
    assert landing.ended() == [(1, "", True)]
    assert landing.downloads() == 1
    landing.world.invariants()


def test_a_mark_that_fails(landing: Landing) -> None:
    """It is told with the row of a message that is placed: such a message isn't at fault."""
    landing.world.front.next("POST /inbox", instead(500))
    landing.fetched("1")
    landing.step()
    landing.read()
    ((unread, error, was_read),) = landing.endings
    (row,) = landing.rows()
    assert row.state == "placing"
    assert unread.row == replace(row, file=NAME.format(1), wanted="")
    assert "500" in str(error)
    assert not was_read


@pytest.mark.parametrize(("seconds", "questions"), [(2.9, 0), (3.1, 1)])
def test_a_mark_that_waits(landing: Landing, clock: Clock, seconds: float, questions: int) -> None:
    """Where time has passed since it was fetched, it is asked first whose its number is now."""
    landing.fetched("1")
    clock.pass_on(seconds)
    landing.all()
    assert len(landing.world.front.asked("GET /inbox/1")) == questions
    assert landing.ended() == [(1, "", True)]


def test_a_mark_whose_question_fails(landing: Landing, clock: Clock) -> None:
    """It isn't marked: the next list tells whether it is there."""
    landing.fetched("1")
    clock.pass_on(10)
    landing.world.front.next("GET /inbox/1", instead(500))
    landing.all()
    ((_, error, was_read),) = landing.endings
    assert "500" in str(error)
    assert not was_read
    assert landing.states() == ["placing"]
    landing.bring()
    landing.all()
    landing.world.invariants()


def test_a_mark_of_one_whose_number_is_anothers_now(landing: Landing, clock: Clock) -> None:
    """That one isn't marked, and nothing is at fault; it comes when it's listed."""
    landing.fetched("1")
    landing.step()
    landing.world.set_up_anew()
    landing.world.received.clear()
    clock.pass_on(10)
    landing.receive("2")
    landing.all()
    assert landing.ended() == [(1, "", False)]
    assert list(landing.world.sandbox.store.inbox("acme"))
    landing.bring()
    landing.all()
    assert sorted(path.read_bytes() for path in landing.world.delivered()) == [invoice("1"), invoice("2")]
    assert not landing.world.sandbox.store.inbox("acme")


# The folder


def test_a_folder_that_is_away(landing: Landing) -> None:
    """Nothing is made at the mount point, it is logged once why, and all is taken up when the folder is back."""
    landing.step()
    elsewhere = away(landing)
    landing.receive("1", "2")
    for _ in range(2):
        landing.bring()
        landing.step()
    assert landing.ended() == [(1, "", False)] * 2 + [(2, "", False)] * 2
    assert not landing.world.inbound.exists()
    assert landing.downloads() == 0
    (line,) = landing.told("folder.unavailable")
    assert (line["company"], line["folder"]) == ("acme", str(landing.world.inbound))
    assert line["why"] == landing.delivery.trouble
    assert landing.delivery.trouble.startswith(f"{landing.world.inbound}: it is missing")
    (elsewhere / ".filedrop").rename(elsewhere / "marker")
    elsewhere.rename(landing.world.inbound)
    landing.delivery.put(LookAgain())
    landing.step()
    assert [line["why"] for line in landing.told("folder.unavailable")][1:] == [landing.delivery.trouble]
    (landing.world.inbound / "marker").rename(landing.world.inbound / ".filedrop")
    landing.bring()
    landing.step()
    assert landing.delivery.trouble == ""
    landing.all()
    landing.world.invariants()


def test_a_folder_that_is_to_be_looked_at_again(landing: Landing) -> None:
    """A step is due then though no message came, and what was refused is no longer held against the folder."""
    landing.step()
    landing.delivery.put(Refused(OSError(errno.ENOSPC, "No space left on device")))
    landing.step()
    assert landing.delivery.refused
    assert landing.delivery.due() == math.inf
    landing.delivery.put(LookAgain())
    assert landing.delivery.due() == -math.inf
    assert landing.delivery.is_idle() is False
    landing.step()
    assert landing.delivery.refused == ""


def test_what_cannot_be_put_there(landing: Landing) -> None:
    """The cause is told in a sentence, and logged once for each cause, until something could be put there."""
    full, beginning = OSError(errno.ENOSPC, "No space left"), "nothing can be put into it now: "
    for _ in range(2):
        landing.delivery.put(Refused(full))
        landing.step()
        assert landing.delivery.refused == f"{beginning}No space left"
    landing.delivery.put(Refused(FolderUnavailable("somebody has removed it")))
    landing.step()
    assert landing.delivery.refused == f"{beginning}somebody has removed it"
    assert [line["why"] for line in landing.told("folder.unavailable")] == [
        f"{landing.world.inbound}: {beginning}No space left",
        f"{landing.world.inbound}: {beginning}somebody has removed it",
    ]
    landing.receive("1")
    landing.bring()
    landing.all()
    assert landing.delivery.refused == ""


def test_a_disk_with_too_little_left(make_landing: Callable[..., Landing], tmp_path: Path) -> None:
    """Nothing is fetched while less than `min_free` is left; as much as that is enough."""
    with mounted(tmp_path / "root"):
        landing = make_landing()
        landing.step()
        landing.receive("1")
        free = free_space(landing.world.inbound)
        assert free
        landing.min_free = free + 1
        landing.start()
        landing.bring()
        landing.step()
        assert landing.delivery.trouble == (
            f"the disk of {landing.world.inbound} has less than {size(free + 1)} left (inbound.min_free): make room"
        )
        assert landing.ended() == [(1, "", False)]
        landing.min_free = free
        landing.start()
        landing.bring()
        landing.step()
        assert landing.delivery.trouble == ""
        assert "fetched" in landing.life.jobs


def test_a_disk_that_does_not_say_how_much_is_left(make_landing: Callable[..., Landing], tmp_path: Path) -> None:
    """It isn't taken for full."""
    with mounted(tmp_path / "root", size="0", inodes=0):
        landing = make_landing(min_free=1)
        assert landing.world.root.is_mount()
        landing.receive("1")
        landing.bring()
        landing.all()
        landing.world.invariants()


# Several messages, and several accounts


def whose(landing: Landing) -> set[tuple[str, str]]:
    """The account and the number of each invoice that lies there."""
    said = [(path, sidecar.read(path) or {}) for path in landing.world.inbound.glob("*.json")]
    numbers = {"1": b">1<", "other": b">other<"}
    for path, one in said:
        assert numbers[one["document"]["number"]] in path.with_suffix("").read_bytes()
    return {(one["account"], one["document"]["number"]) for _, one in said}


def test_two_accounts(landing: Landing, other: InboundContext) -> None:
    """The messages of each, which may have the same numbers, come into the folder that they share."""
    landing.receive("1")
    landing.bring()
    landing.bring(context=other)
    landing.step()
    assert landing.life.jobs.count("fetched") == 2
    landing.fetch()
    landing.step()
    landing.read()
    assert landing.ended() == [(1, "", True)] * 2
    assert landing.temporaries() == []
    assert whose(landing) == {("main", "1"), ("other", "other")}


def test_two_accounts_in_two_processes(landing: Landing, other: InboundContext) -> None:
    """What one has fetched into the folder that they share, and not yet named, stays when the other begins there."""
    landing.fetched("1")
    fetching = landing.delivery
    landing.start()
    landing.bring(context=other)
    landing.step()
    assert len(landing.temporaries()) == 1
    fetching.step()
    landing.all()
    assert landing.ended() == [(1, "", True)] * 2
    assert landing.downloads() == 1
    assert landing.temporaries() == []
    assert whose(landing) == {("main", "1"), ("other", "other")}


@pytest.mark.parametrize("later", [0, 60])
def test_two_accounts_while_nothing_can_be_named(landing: Landing, other: InboundContext, later: int) -> None:
    """What was fetched of a message is kept for its account, and isn't taken for another's of that number."""
    landing.life._clock.pass_on(later)
    landing.receive("1")
    for context in (landing.context, other):
        landing.bring(context=context)
        landing.step()
        landing.fetch()
        with unwritable(landing), pytest.raises(JournalError):
            landing.step()
    assert len(landing.temporaries()) == 2
    landing.endings.clear()
    for context in (landing.context, other):
        landing.bring(context=context)
    landing.step()
    assert landing.temporaries() == []
    landing.read()
    assert landing.ended() == [(1, "", True)] * 2
    assert whose(landing) == {("main", "1"), ("other", "other")}


def test_one_that_is_placed_beside_one_that_is_not(landing: Landing) -> None:
    """Where the disk refuses one its name, the other has its own, and each is told of once."""
    landing.delivery.put(Refused(OSError(errno.ENOSPC, "No space left")))
    landing.fetched("1", "2")

    def refuse(what: str) -> None:
        if what == "place" and tap.steps.count("place") == 4:  # after two sidecars and a document
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with tapped(refuse) as tap:
        landing.step()
    assert [(number, "No space" in error, was_read) for number, error, was_read in landing.ended()] == [
        (2, True, False)
    ]
    assert landing.states() == ["placing", "named"]
    assert landing.delivery.refused == ""
    landing.bring(2)
    landing.all()
    assert landing.lying() == pair(1, 2)
    landing.world.invariants()


# What an earlier step, or an earlier filedrop, has begun


def test_one_that_was_named(landing: Landing) -> None:
    """It gets the name that was reserved for it, beside one that is new, and isn't fetched again."""
    (temporary,) = named(landing, "1")
    assert landing.lying() == [temporary, f"{NAME.format(1)}.json"]
    landing.receive("2")
    landing.bring()
    landing.step()
    assert landing.lying() == pair(1)
    landing.all()
    assert landing.lying() == pair(1, 2)
    assert landing.ended() == [(1, "", True), (2, "", True)]
    assert landing.downloads() == 2
    landing.world.invariants()


def test_its_row_is_told_when_it_is_not_placed(landing: Landing) -> None:
    """Of a message that was named in this step, whoever hears that it has come no further hears that it has a row."""
    landing.fetched("1")
    step_to_commit(landing, 2)
    ((unread, error, _),) = landing.endings
    assert ([unread.row], error) == (landing.rows(), None)
    assert len(landing.temporaries()) == 1


def test_drafts_of_an_earlier_filedrop(landing: Landing) -> None:
    """What the journal names stays and is placed; what it doesn't is removed."""
    named(landing, "1")
    (landing.world.inbound / f".{new_id(landing.context.now())}.part").write_bytes(b"a part")
    landing.start()
    landing.bring()
    landing.step()
    assert landing.lying() == pair(1)
    landing.all()
    assert landing.downloads() == 1
    landing.world.invariants()


def test_one_that_was_named_and_removed(landing: Landing) -> None:
    """It is fetched again, if it is still to be read."""
    (temporary,) = named(landing, "1")
    (landing.world.inbound / temporary).unlink()
    landing.bring()
    landing.step()
    assert landing.ended() == []
    landing.all()
    assert landing.downloads() == 2
    landing.world.invariants()


def test_one_that_was_named_and_removed_and_read_elsewhere(landing: Landing) -> None:
    """It is forgotten: whoever has read it has it."""
    (temporary,) = named(landing, "1")
    (landing.world.inbound / temporary).unlink()
    landing.world.sandbox.store.mark_read(landing.world.sandbox.store.inbox("acme")[0])
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", False)]
    assert landing.rows() == landing.lying() == []
    assert landing.downloads() == 1


@pytest.mark.parametrize("mounted_there", [None, "another disk"])
def test_one_that_lies_in_a_folder_that_is_away(landing: Landing, mounted_there: str | None) -> None:
    """It isn't fetched again, since it may lie there whole; why, is told, and others are delivered meanwhile."""
    (temporary,) = named(landing, "1")
    former = landing.world.base / "former"
    landing.life.journal.messages.record(replace(landing.rows()[0], folder=str(former)))
    if mounted_there:
        former.mkdir()
    landing.receive("2")
    landing.bring()
    landing.all()
    (first, second) = landing.ended()
    assert str(former) in first[1]
    assert second == (2, "", True)
    assert landing.downloads() == 2
    assert landing.states() == ["named", "read"]
    assert (landing.world.inbound / temporary).exists()


def test_a_name_that_is_taken_after_it_was_reserved(landing: Landing) -> None:
    """The message gets the next name at once, and nothing of ours stays beside what somebody has put there."""
    document = landing.world.inbound / NAME.format(1)

    def take(what: str) -> None:
        if what == "place" and document.with_name(f"{document.name}.json").exists():
            document.write_bytes(b"<another/>")

    landing.fetched("1")
    with tapped(take):
        landing.step()
    assert document.read_bytes() == b"<another/>"
    second = f"{document.stem}-2.xml"
    assert landing.lying() == sorted([document.name, second, f"{second}.json"])
    landing.read()
    assert landing.ended() == [(1, "", True)]


# What couldn't be named


@folders_flushed
def test_a_folder_that_can_not_be_brought_to_the_disk(landing: Landing) -> None:
    """What was fetched is removed, why is told of each, and all are fetched again when it can be."""

    def refuse(what: str) -> None:
        if what == "fsync" and tap.steps.count("fsync") == 3:  # after the two documents
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    landing.fetched("1", "2")
    with tapped(refuse) as tap:
        landing.step()
    why = str(OSError(errno.EIO, os.strerror(errno.EIO), str(landing.world.inbound)))
    assert landing.ended() == [(1, why, False), (2, why, False)]
    assert landing.lying() == landing.rows() == []
    landing.bring()
    landing.all()
    assert landing.lying() == pair(1, 2)
    landing.world.invariants()


def test_what_could_not_be_named(landing: Landing) -> None:
    """It stays, and is named when the journal can be written, whether or not it was called stuck meanwhile."""
    landing.fetched("1", "2")
    with unwritable(landing), pytest.raises(JournalError):
        landing.step()
    assert landing.ended() == [(1, "", False), (2, "", False)]
    assert len(landing.temporaries()) == 2
    assert landing.delivery.has_unnamed()
    assert landing.rows() == []
    stuck(landing, 2)
    landing.endings.clear()
    landing.bring()
    landing.step()
    assert not landing.delivery.has_unnamed()
    assert landing.lying() == pair(1, 2)
    landing.all()
    assert landing.ended() == [(1, "", True), (2, "", True)]
    assert landing.downloads() == 2
    landing.world.invariants()


def test_what_waits_for_the_journal_beside_another(landing: Landing) -> None:
    """It isn't given up for one that comes later and has to wait, too, nor while nothing comes."""
    first = unnamed(landing, "1")
    landing.receive("2")
    landing.bring(2)
    landing.step()
    landing.fetch()
    with unwritable(landing), pytest.raises(JournalError):
        landing.step()
    landing.delivery.put(LookAgain())
    landing.step()
    assert len(landing.temporaries()) == 2
    assert set(first) < set(landing.temporaries())
    landing.endings.clear()
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", True), (2, "", True)]
    assert landing.downloads() == 2
    landing.world.invariants()


def test_what_could_not_be_named_and_is_listed_no_more(make_landing: Callable[..., Landing]) -> None:
    """It is removed, with what was embedded in it, as soon as the journal can be written."""
    landing = make_landing(attachments="beside")
    landing.world.receive(EMBEDDING)
    assert len(unnamed(landing)) == 2
    landing.delivery.put(LookAgain())
    landing.step()
    assert len(landing.temporaries()) == 2
    landing.life.journal.check_writable()
    landing.delivery.put(LookAgain())
    landing.step()
    assert landing.lying() == []
    assert not landing.delivery.has_unnamed()


def test_what_could_not_be_named_and_is_still_to_be_taken(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    """It isn't removed while it waits for its turn, though the journal can be written."""
    monkeypatch.setattr("filedrop.inbound.delivery.BATCH", 1)
    unnamed(landing, "1")
    landing.receive("2")
    landing.life.journal.check_writable()
    landing.bring(2)
    landing.bring(1)
    landing.step()
    assert len(landing.temporaries()) == 1
    landing.all()
    assert landing.ended() == [(1, "", True), (2, "", True)]
    assert landing.downloads() == 2
    landing.world.invariants()


def test_what_was_named_though_the_journal_said_otherwise(landing: Landing) -> None:
    """It stays, since a row says that it is there, and is placed by that row."""
    landing.fetched("1")
    step_to_commit(landing, 1, done=True)
    (temporary,) = landing.temporaries()
    assert landing.states() == ["named"]
    landing.life.journal.check_writable()
    landing.delivery.put(LookAgain())
    landing.step()
    assert landing.lying() == [temporary]
    assert not landing.delivery.has_unnamed()
    landing.endings.clear()
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", True)]
    assert landing.downloads() == 1
    landing.world.invariants()


def test_what_could_not_be_named_and_was_removed(make_landing: Callable[..., Landing]) -> None:
    """It is fetched again, and what was embedded in it isn't left over."""
    landing = make_landing(attachments="beside")
    landing.world.receive(EMBEDDING)
    for name in unnamed(landing):
        if name.endswith(".part"):
            (landing.world.inbound / name).unlink()
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", True)]
    assert landing.temporaries() == []
    assert landing.downloads() == 2
    landing.world.invariants()


def test_what_could_not_be_named_of_a_server_that_was_set_up_anew(landing: Landing) -> None:
    """Another message of the same number isn't taken for it, and what was fetched of it is removed."""
    unnamed(landing, "1")
    landing.life._clock.pass_on(60)
    landing.world.set_up_anew()
    landing.world.received.clear()
    landing.receive("another")
    landing.bring()
    landing.all()
    assert landing.ended() == [(1, "", True)]
    assert landing.lying() == pair(1)
    assert b"another" in (landing.world.inbound / NAME.format(1)).read_bytes()


# What was fetched and can't be named any more


def test_what_was_fetched_and_removed(landing: Landing) -> None:
    """It is told, and the others are delivered; the next poll fetches it again."""
    landing.fetched("1")
    (temporary,) = landing.temporaries()
    landing.receive("2")
    landing.bring(2)
    (landing.world.inbound / temporary).unlink()
    landing.step()
    landing.all()
    assert landing.ended() == [
        (1, f"somebody has removed {landing.world.inbound / temporary}", False),
        (2, "", True),
    ]
    assert landing.states() == ["read"]
    landing.bring()
    landing.all()
    landing.world.invariants()


@pytest.mark.parametrize("waited", [False, True])
def test_a_folder_that_went_away_and_is_back(landing: Landing, *, waited: bool) -> None:
    """A row would name what may lie in another folder: what was fetched is removed, and why is told.

    `waited`: it had to wait for the journal before.
    """
    if waited:
        unnamed(landing, "1")
        landing.life.journal.check_writable()
    else:
        landing.fetched("1")
    elsewhere = away(landing)
    shutil.copytree(elsewhere, landing.world.inbound)
    assert len(landing.temporaries()) == 1
    if waited:
        landing.bring()
    landing.step()
    why = f"{landing.world.inbound} was unavailable while messages were fetched into it, and is back"
    assert landing.ended() == [(1, why, False)]
    assert landing.lying() == landing.rows() == []
    landing.bring()
    landing.all()
    landing.world.invariants()


@pytest.mark.parametrize("was_stuck", [False, True])
def test_a_folder_that_goes_away_after_a_fetch(make_landing: Callable[..., Landing], *, was_stuck: bool) -> None:
    """What was fetched, and embedded in it, is removed when the folder is back, and only that."""
    landing = make_landing(attachments="beside")
    landing.world.receive(EMBEDDING)
    landing.step()
    if was_stuck:
        stuck(landing)
    landing.fetched()
    temporaries = landing.temporaries()
    assert len(temporaries) == 2
    elsewhere = away(landing)
    landing.step()
    assert landing.ended() == [(1, "", False)]
    elsewhere.rename(landing.world.inbound)
    assert landing.temporaries() == temporaries
    landing.delivery.put(LookAgain())
    landing.step()
    assert landing.lying() == []
    landing.bring()
    landing.all()
    landing.world.invariants()


def test_a_folder_that_goes_away_after_a_second_fetch(landing: Landing) -> None:
    """What was fetched anew, since somebody had removed what a row names, is removed when the folder is back, too."""
    (temporary,) = named(landing, "1")
    (landing.world.inbound / temporary).unlink()
    landing.bring()
    landing.step()
    landing.fetch()
    assert len(landing.temporaries()) == 1
    elsewhere = away(landing)
    landing.step()
    elsewhere.rename(landing.world.inbound)
    landing.bring()
    landing.all()
    landing.world.invariants()


@pytest.mark.parametrize("who", ["filedrop", "somebody else"])
def test_what_is_removed_is_removed_once(landing: Landing, who: str) -> None:
    """Whoever has removed what was left over: a file that is later given its name is left alone."""
    landing.fetched("1")
    (temporary,) = landing.temporaries()
    elsewhere = away(landing)
    landing.step()
    if who == "somebody else":
        (elsewhere / temporary).unlink()
    elsewhere.rename(landing.world.inbound)
    landing.step()
    assert landing.lying() == []
    (landing.world.inbound / temporary).write_bytes(b"somebody's")
    landing.step()
    assert landing.lying() == [temporary]


@modes
def test_what_cannot_be_removed_yet(landing: Landing) -> None:
    """What a failed fetch leaves in a folder that has just become read-only is removed when it can be."""
    landing.step()

    def take_rights_away(exchange: Exchange) -> None:
        landing.world.inbound.chmod(0o555)
        exchange.answer(500, "Unknown server error occurred.")

    landing.world.front.next("GET /messages/1/", take_rights_away)
    landing.receive("1")
    landing.bring()
    with as_anyone():
        landing.step()
        landing.fetch()
        ((_, error, _),) = landing.endings
        assert "500" in str(error)
        assert len(landing.temporaries()) == 1
        landing.delivery.put(LookAgain())
        landing.step()
        assert len(landing.temporaries()) == 1
        assert landing.delivery.trouble == ""
        landing.world.inbound.chmod(0o755)
        landing.delivery.put(LookAgain())
        landing.step()
    assert landing.lying() == []
    landing.bring()
    landing.all()
    landing.world.invariants()


def begun(landing: Landing, state: str) -> None:
    """Have an invoice lie in its temporary file, in this state by the journal."""
    named(landing, "1")
    landing.life.journal.messages.record(replace(landing.rows()[0], state=state))


def goes_on(landing: Landing, there: Path) -> list[str]:
    """See a filedrop that begins with the folder there bring the only message to its end. Returns what lies there."""
    landing.start(there)
    landing.step()
    landing.bring()
    landing.all()
    assert landing.states() == ["read"]
    return sorted(path.name for path in there.iterdir() if path.name != ".filedrop")


@pytest.mark.parametrize("state", ["named", "placing", "placed"])
def test_a_folder_that_was_moved(landing: Landing, state: str) -> None:
    """What was begun in an inbound folder before it was moved goes on at its new place, and lies there once."""
    if state == "placed":  # and filedrop was stopped before it could mark it as read
        landing.fetched("1")
        landing.step()
        landing.life.service.accounts[0].fetchers.close()
    else:
        begun(landing, state)
    new = landing.world.base / "moved"
    landing.world.inbound.rename(new)
    assert goes_on(landing, new) == pair(1)


def test_a_former_folder_that_is_gone(landing: Landing) -> None:
    """Where a message was fetched into a folder that is nowhere any more, that is said by its name."""
    named(landing, "1")
    landing.life.journal.messages.record(replace(landing.rows()[0], folder=str(landing.world.base / "former")))
    landing.bring()
    landing.all()
    (ending,) = landing.endings
    assert str(ending.error) == (
        f"message 1 was fetched into {landing.world.base / 'former'}, which isn't there: bring it back"
    )


@pytest.mark.parametrize("state", ["named", "placing"])
@pytest.mark.parametrize("first", [0, 1])
def test_two_folders_change_places(landing: Landing, state: str, first: int) -> None:
    """What was begun in one of two folders that changed places goes on in it, whichever is taken up first."""
    one, other = landing.world.inbound, landing.world.base / "other"
    landing.start(other)
    landing.step()
    landing.start(one)
    landing.step()
    begun(landing, state)
    one.rename(landing.world.base / "between")
    other.rename(one)
    (landing.world.base / "between").rename(other)
    for path in (one, other) if first else (other, one):
        landing.start(path)
        landing.step()
    assert goes_on(landing, other) == pair(1)
    assert [path.name for path in one.iterdir()] == [".filedrop"]


def test_taken_over_before_its_mark_is_recorded(landing: Landing) -> None:
    """A take-over sets back what is being placed: the next listing finds that it lies there, and doesn't fetch it."""
    landing.fetched("1")
    landing.step()
    landing.life.do_each("mark_read")
    landing.delivery.folder.take_over(landing.life.journal)
    landing.read()
    assert landing.states() == ["named"]
    landing.bring()
    landing.all()
    assert landing.states() == ["read"]
    assert landing.lying() == pair(1)
    assert landing.downloads() == 1


@pytest.mark.parametrize("state", ["named", "placing"])
def test_taken_over_with_anothers_marker(landing: Landing, state: str) -> None:
    """Another filedrop has marked the folder anew: after a take-over, what had been begun there is fetched again."""
    landing.step()
    begun(landing, state)
    for path in landing.world.inbound.iterdir():
        path.unlink()
    Marker("f" * 16, "e" * 16).create(Directory.open(landing.world.inbound))
    landing.delivery.folder.take_over(landing.life.journal)
    assert goes_on(landing, landing.world.inbound) == pair(1)
