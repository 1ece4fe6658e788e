"""`filedrop status` and status.json."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from structlog.testing import LogCapture
from support.commands import ask, run_here
from support.disks import foreign
from support.documents import BUYER, SELLER, invoice, order
from support.faults import cut_after, instead
from support.matrix import quick
from support.rights import as_anyone

from filedrop import config
from filedrop.cli.status import checked
from filedrop.daemon.daemon import Configured, Daemon
from filedrop.model import question
from filedrop.model.document import State
from filedrop.model.report import LISTED, Kept
from filedrop.process.lock import locked_state
from filedrop.status import daemon_file, folders
from filedrop.status.folders import LONGEST_REASON
from filedrop.status.model import CompanyStrays
from filedrop.status.reasons import Left
from filedrop.status.status_file import NAME, StatusFile, read
from filedrop.status.survey import NO_REPORT, DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cli.conftest import Filedrop
    from support.world import World

    from filedrop.status.model import StrayStatus

COUNTS = ("waiting", "sending", "doubt", "sent", "overdue", "failed", "received", "stuck")


def counts(status: dict[str, Any]) -> dict[str, int]:
    """Those of acme that aren't zero."""
    return {count: status["companies"]["acme"][count] for count in COUNTS if status["companies"]["acme"][count]}


def test_before_the_first_start(filedrop: Filedrop, world: World) -> None:
    """Before filedrop ever ran, status counts what lies in the folders, and says that nothing else is known."""
    world.drop("invoice.xml", invoice("1"))
    status = json.loads(filedrop("status", "--json").stdout)
    assert counts(status) == {"waiting": 1}
    assert status["running"] is False
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"], account["unread"]) == (None, "unknown", None)
    assert not world.state.exists()


def test_beside_a_daemon(filedrop: Filedrop, world: World) -> None:
    """Beside a running daemon, status knows the folders, the journal, and what only the daemon knows."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.receive(order("2", receiver=SELLER))
    world.receive(b"no XML at all")
    with world.daemon():
        file = world.root / "status.json"

        def is_seen() -> bool:
            status = json.loads(file.read_text()) if file.exists() else {}
            unread = status and status["accounts"]["main"]["unread"]
            return unread == 1 and counts(status) == {"failed": 1, "received": 1, "stuck": 1}

        world.until(is_seen)
        status = json.loads(filedrop("status", "--json").stdout)
        told = filedrop("status").stdout
    assert status["running"] is True
    assert counts(status) == {"failed": 1, "received": 1, "stuck": 1}
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"], account["unread"]) == (True, "ok", 1)
    assert account["last_poll"]
    assert (
        "failed: nobody.xml (Invoice 1, Kjøper Kommune): The receiver's PEPPOL address (ParticipantID) is missing"
        in told
    )
    assert "stuck: message 2" in told


def test_check(filedrop: Filedrop, world: World) -> None:
    """For monitoring: one line; 0 where all is well, 1 where a person is needed, 3 where the access point is away."""
    with world.daemon():
        world.until(lambda: filedrop("status", "--check").returncode == 0)
        assert filedrop("status", "--check").stdout == "Everything is working.\n"
        world.drop("nobody.xml", invoice("1", receiver=None))
        world.until(lambda: filedrop("status", "--check").returncode == 1)
        assert filedrop("status", "--check").stdout == "1 document needs attention. (acme: 1 failed)\n"
        world.front.close()
        world.until(lambda: filedrop("status", "--check").returncode == 3)
        assert filedrop("status", "--check").stdout == (
            "The access point can't be reached. 1 document needs attention. (account main: the access point can't be "
            "reached; acme: 1 failed)\n"
        )
    done = filedrop("status", "--check")
    assert (done.returncode, done.stdout) == (
        1,
        "filedrop isn't running. 1 document needs attention. (acme: 1 failed)\n",
    )
    (world.base / "config.yaml").write_text("companies: {}\n")
    assert filedrop("status", "--check").returncode == 2


def test_check_before_the_access_point_was_asked(world: World) -> None:
    """After a start or a reload, nothing is amiss with an account that nobody has had time to ask; later, it is."""
    world.run_once()
    now = datetime.now().astimezone()
    for seconds, found in ((5, ("Everything is working.", 0)), (120, ("The access point hasn't answered yet.", 3))):
        configured = (now - timedelta(seconds=seconds)).isoformat()
        told = DaemonPart(heard=now.isoformat(), accounts={"main": NO_REPORT}, configured=configured)
        line, exit_status = checked(Survey(world.configuration(), None).look(told, running=True, now=now), now)
        assert (line.partition(" (")[0], exit_status) == found


def test_who_gets_what_is_for_nobody(filedrop: Filedrop, world: World) -> None:
    """Of messages for none of the companies, status names the first few: who wrote them, and to whom."""
    world.receive_for_nobody(5, sender=SELLER)
    with world.daemon():
        world.until(lambda: "5 unread for none" in filedrop("status").stdout)
        shown = filedrop("status").stdout
    assert (
        f"main: 5 unread for none of your companies (message 1 from {SELLER} for {BUYER}, message 2 from {SELLER} for "
        f"{BUYER}, message 3 from {SELLER} for {BUYER} and others): add their receivers to a company, or set "
        "`unassigned`"
    ) in shown


def test_a_company_that_is_called_otherwise(make_world: Callable[..., World]) -> None:
    """What is on its way or in doubt in a company's folders is told of under the name that it has now."""
    world = make_world(deliver_after=3600, outbound={"overdue": "1ms"})
    world.drop("sent.xml", invoice("1"))
    world.run_once()
    world.front.always("GET /messages", instead(500))
    world.front.next("POST /outbox", cut_after)
    world.drop("doubtful.xml", invoice("2"))
    with world.service() as service:
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))
    world._companies = {
        "norge": f'{{participants: ["{SELLER}"], outbound: {world.outbound}, inbound: {world.inbound}}}'
    }
    with world.service() as service:
        world.until(lambda: all(one.company == "norge" for one in service.journal.documents.in_state(State.SENT)))
    norge = json.loads(ask(world, "status", "--json").output)["companies"]["norge"]
    assert (norge["overdue"], norge["doubt"], norge["sending"]) == (1, 1, 0)


def test_check_where_no_daemon_reports(world: World) -> None:
    """What was written minutes ago says nothing of now: that is told, and isn't well."""
    world.run_once()
    now = datetime.now().astimezone()
    told = DaemonPart(heard=now.isoformat(), accounts={"main": {**NO_REPORT, "reachable": True, "login": "ok"}})
    status = Survey(world.configuration(), None).look(told, running=None, now=now)
    assert checked(status, now) == ("Everything is working.", 0)
    line, exit_status = checked(status, now + timedelta(minutes=6))
    assert (line[:33], exit_status) == ("filedrop reported nothing since 2", 1)
    assert checked({**status, "heard": None}, now)[1] == 1


def test_a_sidecar_that_was_deleted(filedrop: Filedrop, world: World) -> None:
    """Of what lies in failed/ without sidecar and note, status names the command that still knows why."""
    world.drop("invoice.xml", invoice("1", receiver=None))
    world.run_once()
    for beside in ("invoice.xml.json", "invoice.xml.why.txt"):
        (world.outbound / "failed" / beside).unlink()
    assert "its sidecar is missing; filedrop history NAME shows what happened to it" in filedrop("status").stdout
    assert (
        "no-receiver: The receiver's PEPPOL address (ParticipantID) is missing"
        in filedrop("history", "invoice.xml").stdout
    )


@pytest.mark.parametrize(
    ("happens", "verdict", "title"),
    quick(
        [
            ("no password", "The password of an account can't be read.", "the password can't be read: accounts.main."),
            ("wrong address", "The address of the access point is wrong.", "base_url is wrong: "),
        ]
    ),
)
def test_an_account_that_is_not_away(world: World, happens: str, verdict: str, title: str) -> None:
    """A password that can't be read is no refused login, and a wrong base_url no outage; both are status 3."""
    if happens == "no password":
        world.password_file.unlink()
    else:
        world.front.always("GET /", instead(404))
    world.drop("invoice.xml", invoice("1"))
    assert world.filedrop("run", "--once").returncode == 3
    told = daemon_file.read(world.state)
    now = datetime.now().astimezone()
    status = Survey(world.configuration(), None).look(told, running=True, now=now)
    line, exit_status = checked(status, now)
    assert (line.partition(" (")[0], exit_status) == (verdict, 3)
    assert status["accounts"]["main"]["condition"] == happens
    (matter,) = status["matters"]
    assert f"{matter['title']}: {matter['advice']}".startswith(f"account main: {title}")


def test_where_the_share_is_away(filedrop: Filedrop, world: World) -> None:
    """Where the whole root is gone, status says that once, and nothing else."""
    filedrop("run", "--once")
    away = world.root.rename(world.base / "away")
    with locked_state(world.state):
        done, shown = filedrop("status", "--check"), filedrop("status").stdout
    away.rename(world.root)
    found = f"{world.root}: unavailable, with all 2 folders in it: check that it is mounted"
    assert (done.returncode, done.stdout) == (1, f"1 folder needs attention. ({found})\n")
    assert shown.startswith("filedrop is running. 1 folder needs attention.\n")
    assert f"{found}: filedrop continues by itself when it is back; where a folder was deleted, " in shown
    assert shown.count("unavailable") == 1
    assert "reported" not in shown
    assert "access point" not in shown


def test_a_daemon_that_can_not_report(filedrop: Filedrop, world: World) -> None:
    """Where filedrop runs and only its report is missing, status doesn't ask whether it runs."""
    world.run_once()
    with locked_state(world.state):
        done, shown = filedrop("status", "--check"), filedrop("status").stdout
    says = (
        "filedrop runs, but reported nothing: check that it can write to `state` and `root`. Its last report: "
        "Everything is working."
    )
    assert (done.returncode, done.stdout) == (1, f"{says}\n")
    assert shown.startswith(says)


def test_what_the_disk_refuses(world: World) -> None:
    """What waits on a folder in which nothing can be moved waits for that, not for what else is wrong with it."""
    world.run_once()
    world.drop("invoice.xml", invoice("1"))
    folder, refused = str(world.outbound), "files can't be moved or written here: Permission denied"
    told = DaemonPart(warnings={folder: f"{refused}; scanned alone"}, refused={folder: refused})
    status = Survey(world.configuration(), None).look(told, running=True, now=datetime.now().astimezone())
    assert status["companies"]["acme"]["reasons"]["waiting"] == f"{folder}: {refused}"


def test_what_a_person_decides_comes_first(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """What needs a person stands above the tables, first what only a person can decide, with the commands for it."""
    world = make_world(outbound={"doubt": "1h"})
    world.drop("nobody.xml", invoice("1", receiver=None))
    with world.service():
        world.until(lambda: world.places().get("nobody.xml") == "failed")
        world.front.next("POST /outbox", cut_after)
        world.front.always("GET /messages", instead(500))
        world.drop("doubtful.xml", invoice("2"))
        world.until(lambda: asked(filedrop, world)[0]["doubt"])
    with locked_state(world.state) as journal:
        (document,) = journal.documents.in_state(State.DOUBT)
        asks = question.asked(document, datetime.now().astimezone(), {7: "has its time"})
        journal.documents.record(asks)
    _, lines = asked(filedrop, world)
    table = next(number for number, line in enumerate(lines) if line.startswith("company"))
    assert lines[0] == "filedrop isn't running. 2 documents need attention."
    assert (
        lines[2]
        == "acme: 1 to be decided by you: check at the access point which case it is, then run the command for it"
    )
    assert lines[3] == f"acme: decide: doubtful.xml [{document.id}]: {question.question(asks)}"
    assert lines[4].startswith("acme: 1 failed: correct what the note")
    assert lines[5].startswith("acme: failed: nobody.xml (Invoice 1, Kjøper Kommune): The receiver's PEPPOL")
    assert table == 6
    assert not any("doubtful.xml" in line or "nobody.xml" in line for line in lines[table:])


def asked(filedrop: Filedrop, world: World) -> tuple[dict[str, Any], list[str]]:
    """What status says: acme as `--json` has it, and its lines."""
    config_file = world.config_file()
    status = json.loads(filedrop("status", "--json", config=config_file).stdout)
    return status["companies"]["acme"], filedrop("status", config=config_file).stdout.splitlines()


def test_every_count_has_its_reason(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """Each count that isn't 0 has its reason and what is to be done, in the text and in `--json`; no other has."""
    world = make_world(deliver_after=3600, outbound={"doubt": "1h", "overdue": "1ms", "incomplete_after": "1h"})
    world.drop("half.xml", invoice("1")[:500])
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.drop("accepted.xml", invoice("3"))
    world.receive(order("4", receiver=SELLER))
    world.receive(b"no XML at all")
    with world.service():
        world.until(lambda: world.places().get("accepted.xml") == "sent")
        world.until(lambda: asked(filedrop, world)[0]["stuck"] and asked(filedrop, world)[0]["received"])
        world.front.next("POST /outbox", cut_after)
        world.front.always("GET /messages", instead(500))
        world.drop("doubtful.xml", invoice("5"))
        world.until(lambda: asked(filedrop, world)[0]["doubt"])
        acme, lines = asked(filedrop, world)
    (world.outbound / "sending" / "left.xml").write_bytes(invoice("6"))
    stopped, _ = asked(filedrop, world)
    wanted = {"waiting": 1, "doubt": 1, "sent": 1, "overdue": 1, "failed": 1, "received": 1, "stuck": 1}
    assert {count: acme[count] for count in COUNTS if acme[count]} == wanted
    assert acme["reasons"].keys() == wanted.keys()
    for count, number in wanted.items():
        assert f"acme: {number} {count}: {acme['reasons'][count]}" in lines
    assert "filedrop resolve ID --sent MSG_NO" in acme["reasons"]["doubt"]
    assert "filedrop retry acme NAME" in acme["reasons"]["failed"]
    assert acme["reasons"]["received"] == "in inbound/, ready to be taken"
    assert "filedrop read MSG_NO" in acme["reasons"]["stuck"]
    assert "operator" in acme["reasons"]["overdue"]
    assert "isn't running" in stopped["reasons"]["waiting"]
    assert "continues with them" in stopped["reasons"]["sending"]


def test_a_file_that_is_not_finished(filedrop: Filedrop, world: World) -> None:
    """What isn't ready is named, with what is missing and when it fails; gone, it isn't named any more."""
    world.drop("half.xml", invoice("1")[:500])
    filedrop("run", "--once")
    acme, lines = asked(filedrop, world)
    (document,) = acme["documents"]
    assert (document["state"], document["path"]) == ("waiting", str(world.outbound / "half.xml"))
    (line,) = [line for line in lines if line.startswith("acme: waiting: half.xml: ")]
    assert re.search(r"Line \d+, column \d+: .* fails on \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d, unless it changes", line)
    (world.outbound / "half.xml").unlink()
    acme, _ = asked(filedrop, world)
    assert (acme["waiting"], acme["documents"]) == (0, [])


def test_what_the_directory_warns_of(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """With `directory: warn` a document that is under way has its warning in status, and what is to be done."""
    world = make_world(deliver_after=3600)
    world.drop("fine.xml", invoice("1"))
    world.drop("strange.xml", invoice("2", receiver="0192:123456785"))
    world.settle(ends=("sent",))
    acme, lines = asked(filedrop, world)
    assert [document["file"] for document in acme["documents"]] == ["strange.xml"]
    assert "acme: 2 sent: " in "\n".join(lines)
    assert "may not arrive" in acme["reasons"]["sent"]
    (line,) = [line for line in lines if line.startswith("acme: sent: strange.xml (message ")]
    assert "0192:123456785 is not in the access point's directory" in line


def test_lists_are_cut_aloud(filedrop: Filedrop, world: World) -> None:
    """Where more has failed than is named, the newest is named first, and how much isn't is said."""
    for number in range(25):
        world.drop(f"{number}.xml", invoice(str(number), receiver=None))
    world.run_once()
    for number in range(25):
        os.utime(world.outbound / "failed" / f"{number}.xml.json", (10**9 + number, 10**9 + number))
    acme, lines = asked(filedrop, world)
    assert [document["file"] for document in acme["documents"]] == [f"{number}.xml" for number in range(24, 4, -1)]
    assert acme["unlisted"] == {"failed": 5}
    failed = [line for line in lines if line.startswith("acme: failed: ")]
    assert failed[0].startswith("acme: failed: 24.xml (Invoice 24, Kjøper Kommune): ")
    assert failed[20:] == ["acme: failed: and 5 more"]


def test_several_folders(filedrop: Filedrop, make_world: Callable[..., World], tmp_path: Path) -> None:
    """Of a company with several outbound folders, it is said in which one something lies."""
    second = tmp_path / "root" / "second"
    both = f"[{tmp_path / 'root' / 'acme' / 'outbound'}, {second}]"
    world = make_world(companies={"acme": f'{{participants: ["{SELLER}"], outbound: {both}}}'})
    second.mkdir()
    world.put(second / "nobody.xml", invoice("1", receiver=None))
    world.run_once()
    acme, lines = asked(filedrop, world)
    assert acme["documents"][0]["path"] == str(second / "failed" / "nobody.xml")
    assert any(
        line.startswith(f"acme: failed: {second / 'failed' / 'nobody.xml'} (Invoice 1, Kjøper Kommune): The receiver's")
        for line in lines
    )


def test_what_the_access_point_has_too_often(filedrop: Filedrop, make_world: Callable[..., World]) -> None:
    """Messages that are there once too often are named, the newest first, and it is said how many aren't."""
    world = make_world(deliver_after=3600)
    world.drop("invoice.xml", invoice("1", receiver=BUYER))
    world.settle(ends=("sent",))
    with locked_state(world.state) as journal:
        (document,) = journal.documents.in_state(State.SENT)
        for number in range(100, 125):
            journal.numbers.record_surplus(document.identity, number, None, document)
    _, lines = asked(filedrop, world)
    (line,) = [line for line in lines if "twice" in line]
    assert ": 124, 123, " in line
    assert "105 and 5 more; inform" in line


def test_a_wrong_password(filedrop: Filedrop, world: World) -> None:
    """With a wrong password status says that the login is refused, where it stands, and that the document waits."""
    world.drop("invoice.xml", invoice("1"))
    world.password_file.write_text("wrong")
    filedrop("run", "--once")
    status = json.loads(filedrop("status", "--json").stdout)
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (True, "refused")
    assert counts(status) == {"waiting": 1}
    assert "1 waiting: " in filedrop("status").stdout
    where = f"accounts.main.username and accounts.main.password_file ({world.password_file})"
    assert f"refused the login (401); check {where}" in account["why"]


def test_an_outage(filedrop: Filedrop, world: World) -> None:
    """While the access point is away, `run --once` is status 3 and says why, and so does status."""
    world.front.close()
    done = filedrop("run", "--once")
    assert done.returncode == 3
    assert "main: cannot reach" in done.stdout
    assert "Traceback" not in done.stderr
    account = json.loads(filedrop("status", "--json").stdout)["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (False, "unknown")
    assert "cannot reach" in account["why"]


def test_held(filedrop: Filedrop, world: World) -> None:
    """What is held is counted as waiting, and status says why."""
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    status = json.loads(filedrop("status", "--json").stdout)
    assert status["companies"]["acme"]["held"] is True
    assert counts(status) == {"waiting": 1}
    assert "HOLD" in filedrop("status").stdout


def test_held_by_another_spelling(filedrop: Filedrop, world: World) -> None:
    """Status names the file that holds a folder, which is no stray."""
    (world.outbound / "hold.TXT.txt").touch()
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    acme = json.loads(filedrop("status", "--json").stdout)["companies"]["acme"]
    assert (acme["held"], acme["waiting"]) == (True, 1)
    assert not acme["strays"]
    assert f"the file hold.TXT.txt is in {world.outbound}" in acme["why"]
    assert "hold.TXT.txt" in filedrop("status").stdout


def test_a_table_that_is_broken(filedrop: Filedrop, world: World) -> None:
    """A table of the mapping that is spoilt while filedrop runs is named by status, and once in the log."""
    table = world.base / "customers.csv"
    table.write_text("customer,participant\n1,0192:987654325\n")
    config_file = world.base / "config.yaml"
    config_file.write_text(f"{world.config_text()}tables: {{customers: '{table}'}}\n")
    heard = LogCapture()
    log = structlog.wrap_logger(structlog.ReturnLogger(), processors=[heard])
    with locked_state(world.state) as journal:
        service = Daemon(config.load(config_file), journal, stopped=threading.Event(), log=log, watch=False)
        status_file = StatusFile(service.config, journal, log, tables=lambda: service.mapping.troubles)
        service.start()
        table.write_text("customer,participant\n1\n")
        for _ in range(2):
            status_file.close(service.report())
        service.close()
    why = f"table customers: {table}: line 2 has 1 columns; write two, a key and a value"
    assert [event["why"] for event in heard.entries if event["event"] == "table.broken"] == [why]
    assert why in filedrop("status", config=config_file).stdout.splitlines()


def test_one_writes_after_the_other(world: World) -> None:
    """What is written by a configuration that was reloaded isn't replaced by what the former one is slow to write."""
    begun, release = threading.Event(), threading.Event()

    def slow() -> list[str]:
        if threading.current_thread().name == daemon_file.NAME:
            begun.set()
            release.wait(30)
        return ["of the former"]

    with locked_state(world.state) as journal:
        service = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        former = StatusFile(service.config, journal, world._log, alerts=slow)
        following = StatusFile(service.config, journal, world._log, alerts=lambda: ["of the following"])
        former.report(service.report())
        assert begun.wait(30)
        following.follow(former)
        following.report(service.report())
        release.set()

        def is_written() -> bool:
            following.report(service.report())
            return daemon_file.read(world.state).alerts == ["of the following"]

        world.until(is_written)
        for thread in threading.enumerate():
            if thread.name in (NAME, daemon_file.NAME):
                thread.join()
        assert is_written()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_names_drive_no_terminal(filedrop: Filedrop, world: World) -> None:
    """A file's name can neither drive the terminal nor forge a line."""
    name = "\x1b[31mred\nacme: forged.xml"
    world.drop(name, invoice("1", receiver=None))
    world.run_once()
    told = filedrop("status").stdout
    assert "\x1b" not in told
    assert "failed: \\x1b[31mred\\nacme: forged.xml" in told


def test_a_folder_that_hangs(filedrop: Filedrop, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that doesn't answer is reported as such, and nothing waits for it."""
    monkeypatch.setattr(folders, "PATIENCE", 1.0)
    world.run_once()
    (world.inbound / "received.xml").write_bytes(order())
    with foreign(world.outbound, "fuse", answers=False):
        done = filedrop("status", "--json")
    status = json.loads(done.stdout)
    outbound, inbound = status["companies"]["acme"]["folders"]
    assert (outbound["available"], inbound["available"]) == (False, True)
    assert "doesn't respond" in outbound["why"]
    assert counts(status) == {"received": 1}


def test_status_file_while_a_survey_is_slow(filedrop: Filedrop, world: World) -> None:
    """A look at the folders that takes long holds up neither what the daemon knows, nor that an account works."""
    begun, release = threading.Event(), threading.Event()

    def slow(own: DaemonPart) -> DaemonPart:
        begun.set()
        assert release.wait(60)
        return own

    world.run_once()
    with locked_state(world.state) as journal:
        service = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        status_file = StatusFile(service.config, journal, world._log, whole=slow)
        status_file.report(service.report())
        assert begun.wait(60)
        began = time.monotonic()
        assert service.accounts[0].breaker.allows()

        def is_known() -> bool:
            status_file.report(service.report())
            return bool(daemon_file.read(world.state).accounts["main"]["reachable"])

        world.until(is_known)
        assert filedrop("status", "--check").returncode == 0
        assert not read(world.root)
        world.until(lambda: time.monotonic() - began > 1.0)  # REST is 20 times that
        release.set()

        def is_shown() -> bool:
            status_file.report(service.report())
            return bool((status := read(world.root)) and status["accounts"]["main"]["reachable"])

        released = time.monotonic()
        world.until(is_shown)
        assert time.monotonic() - released < 15.0
        status_file.wait()


@pytest.mark.slow
def test_root_that_hangs(world: World) -> None:
    """What only the daemon knows reaches the commands of its own user however long the root doesn't answer."""
    world.run_once()
    with locked_state(world.state) as journal, foreign(world.root, "fuse", answers=False):
        service = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        status_file = StatusFile(service.config, journal, world._log)
        for read_at in ("2026-11-25T12:00:00+00:00", "2026-11-25T12:01:00+00:00"):
            service.configured = Configured(read_at)
            status_file.report(service.report())
            world.until(lambda: daemon_file.read(world.state).configured == read_at)  # noqa: B023


def test_a_folder_that_is_not_mounted(filedrop: Filedrop, world: World) -> None:
    """A folder whose marker is gone is reported as unavailable, with what to do."""
    filedrop("run", "--once")
    (world.outbound / ".filedrop").unlink()
    told = filedrop("status").stdout
    assert re.search(r"acme +\? +\? +- +\? +- +\? +- +-", told)  # what is in outbound/ isn't known
    assert f"{world.outbound}: unavailable: its .filedrop is missing" in told
    assert "filedrop check --take-over" in told


def test_many_companies(make_world: Callable[..., World]) -> None:
    """Of many companies, status lists those with something, and counts the others."""
    world = make_world(companies={f"c{number}": "{participants: []}" for number in range(25)})
    (world.root / "c7" / "outbound").mkdir(parents=True)
    (world.root / "c7" / "outbound" / "a.xml").write_bytes(order())
    told = ask(world, "status").says
    assert "c7 1 - - - - - - -" in told
    assert "c8 " not in told
    assert "25 companies: nothing to report" in told


def test_one_line_for_one_cause(make_world: Callable[..., World]) -> None:
    """What concerns several companies is shown once, with their names, by status and page; one can be asked for."""
    world = make_world(companies={"fjord": '{participants: ["0192:123456785"]}'})
    page = world.root / "STATUS.html"
    world.run_once()
    world.front.close()
    with world.daemon():
        for name, sender in (("acme", SELLER), ("fjord", "0192:123456785")):
            world.put(world.root / name / "outbound" / "invoice.xml", invoice(name, sender=sender))
        world.until(lambda: "acme and fjord: 2 waiting: " in ask(world, "status").says)
        assert "acme " not in ask(world, "status", "fjord").says
        world.until(lambda: page.exists() and "acme and fjord</span> 2 waiting" in page.read_text("utf-8"))
    for name in ("acme", "fjord"):
        (world.root / name / "inbound" / ".filedrop").unlink()
    assert "2 folders: unavailable: its .filedrop is missing" in ask(world, "status").says
    assert "there is no company fjrod; write one of acme, fjord" in ask(world, "status", "fjrod").says


@contextmanager
def closed(state: Path) -> Iterator[None]:
    """A context in which this thread may not use the state, also where it is root's."""
    state.chmod(0o000)
    try:
        with as_anyone():
            yield
    finally:
        state.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no modes")
def test_as_another_user(filedrop: Filedrop, world: World) -> None:
    """Who may not read the state sees what the daemon wrote to the share."""
    world.drop("invoice.xml", invoice("1", receiver=None))
    filedrop("run", "--once")
    with closed(world.state):
        shown, line, done = (filedrop("status", *option) for option in ((), ("--check",), ("--json",)))
    assert "1 document needs attention." in shown.stdout
    assert (line.returncode, line.stdout) == (
        1,
        "filedrop isn't running. 1 document needs attention. (acme: 1 failed)\n",
    )
    assert done.returncode == 0
    assert counts(json.loads(done.stdout)) == {"failed": 1}


@pytest.mark.skipif(sys.platform == "win32", reason="it has no modes")
def test_daemon_file(filedrop: Filedrop, world: World) -> None:
    """What only the daemon knows is for its own user alone, and is read as it was written."""
    filedrop("run", "--once")
    file = world.state / daemon_file.NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    stray: StrayStatus = {"file": "a.pdf", "path": "/a.pdf", "why": "no document", "since": ""}
    part = replace(
        daemon_file.read(world.state),
        warnings={"/a": "b"},
        waiting={Path("/a.xml"): Left("it is in use", "2026-11-25T12:00:00+00:00")},
        strays={"acme": CompanyStrays(5, (stray,))},
        tables=["a table"],
        kept=Kept([1.5], {"main": {"444444": 60.0}}, {"answers": ["mark", 60.0, 1.5]}),  # type: ignore[dict-item]
    )
    assert part.accounts["main"]["login"] == "ok"
    daemon_file.DaemonFile(world.state).write(part)
    assert daemon_file.read(world.state) == part
    for wrong in (b"", b"[]", b'{"filedrop": 1}', b'{"filedrop": 2}', b"\xff"):
        file.write_bytes(wrong)
        assert daemon_file.read(world.state) == DaemonPart()


def test_root_that_can_not_be_written(world: World) -> None:
    """The owner of `state` gets what is now, and reads that status.json can't be written, until it can."""
    world.run_once()
    with locked_state(world.state) as journal:
        service = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        status_file = StatusFile(service.config, journal, world._log)
        (world.root / NAME).mkdir()  # so nothing can replace it
        for _ in range(2):
            status_file.close(service.report())
        said = ask(world, "status", "--check")
        assert said.status == 1
        assert f"{world.root / NAME} can't be written: " in said.says
        (world.root / NAME).rmdir()
        for _ in range(2):
            status_file.close(service.report())
        assert "can't be written" not in ask(world, "status").says
    assert read(world.root)


def test_a_share_full_of_nonsense(filedrop: Filedrop, world: World) -> None:
    """A status.json that somebody else wrote costs the owner of `state` nothing, and others get a sentence."""
    filedrop("run", "--once")
    for nonsense in (
        "[]",
        '{"filedrop": 1}',
        '{"filedrop": 1, "written": "x", "accounts": {"main": {"login": 1}}}',
        "\0",
    ):
        (world.root / "status.json").write_text(nonsense)
        assert read(world.root) is None
        done = filedrop("status", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["accounts"]["main"]["login"] == "ok"


def test_much_to_tell(filedrop: Filedrop, world: World) -> None:
    """What the daemon wrote about hundreds of companies, in each of which all that can go wrong has, is read back."""
    filedrop("run", "--once")
    file = world.root / "status.json"
    told = json.loads(file.read_bytes())
    failed = {"state": "failed", "file": "x.xml", "path": "/x.xml", "why": "y" * LONGEST_REASON, "code": "rejected"}
    told["companies"] |= {
        f"company {number}": told["companies"]["acme"] | {"documents": [failed] * LISTED} for number in range(500)
    }
    file.write_text(json.dumps(told))
    assert read(world.root) == told


@pytest.mark.skipif(sys.platform == "win32", reason="it has no modes")
@pytest.mark.parametrize("key", quick(NO_REPORT, 4))
def test_a_value_that_nobody_would_write(filedrop: Filedrop, world: World, key: str) -> None:
    """A status.json in which somebody else has changed a value ends no command without a sentence."""
    filedrop("run", "--once")
    file = world.root / "status.json"
    told = json.loads(file.read_bytes())
    told["accounts"]["main"] |= {"unread": 5, key: [{"something": "else"}]}
    file.write_text(json.dumps(told))
    with closed(world.state):
        for words in (["status"], ["status", "--check"], ["status", "--json"]):
            done = filedrop(*words)
            assert done.returncode in (0, 1), done.stderr
            assert "Traceback" not in done.stderr
    assert filedrop("status").returncode == 0


def test_answer_with_a_mistaken_configuration(world: World) -> None:
    """Monitoring gets its answer on standard output, whatever is wrong: what the daemon reports, and the mistake."""
    world.run_once()
    mistaken = world.base / "mistaken.yaml"
    mistaken.write_text(world.config_text().replace("root:", "colour: blue\nroot:", 1))
    check = run_here("--config", str(mistaken), "status", "--check")
    assert (check.returncode, len(check.stdout.splitlines())) == (2, 1)
    assert "filedrop isn't running" not in check.stderr
    assert "the configuration can't be used: " in check.stdout
    assert "colour" in check.stdout
    shown = run_here("--config", str(mistaken), "status", "--json")
    status = json.loads(shown.stdout)
    assert (shown.returncode, status["running"]) == (2, False)
    assert "colour" in status["troubles"]["configuration"]
    assert [matter["about"] for matter in status["matters"]] == ["configuration"]
    with world.daemon():
        world.until((world.root / NAME).exists)
        world.until(lambda: (read(world.root) or {}).get("running"))
        beside = json.loads(run_here("--config", str(mistaken), "status", "--json").stdout)
    assert beside["running"]
    assert list(beside["companies"]) == ["acme"]
    assert "colour" in beside["troubles"]["configuration"]
