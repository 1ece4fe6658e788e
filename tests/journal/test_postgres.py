"""What the engine on PostgreSQL promises beyond what both do."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER
from support.drops import IDENTITY, NOON, drop, posted
from support.pooler import PROGRAM, pooler
from support.postgres import be_a_host
from support.proxy import Proxy

from filedrop.errors import Changed, JournalError
from filedrop.journal import Journal, MessageRow, Outcome, documents, numbers
from filedrop.journal.engine import LINEAGE, UnclearCommit
from filedrop.journal.folders import BRANCHES
from filedrop.model.document import Document
from filedrop.model.fault import Fault
from filedrop.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.postgres import Server

    from filedrop.journal.engine import Connection

pytest.importorskip("psycopg", reason="NOT TRIED ON POSTGRESQL: install the extra `dev`")

import psycopg

from filedrop.journal.postgres import Postgres
from filedrop.journal.postgres_session import Address, end_sessions, has_grown

PACKAGE = Path(__file__).parents[2]
PATIENCE = 2.0  # seconds: that of a session is rounded up to two


@pytest.fixture
def database(postgres: Server) -> str:
    return postgres.emptied()


@pytest.fixture
def proxy(postgres: Server) -> Iterator[Proxy]:
    with closing(Proxy(postgres.folder / ".s.PGSQL.5432")) as proxy:
        yield proxy


@contextmanager
def opened(address: str, host: str | None = "here") -> Iterator[Journal]:
    """A journal, by default the daemon's of a host; None: a command's."""
    with closing(Journal(Postgres(address, is_daemons=host is not None, patience=PATIENCE))) as journal:
        if host:
            be_a_host(journal, host)
        yield journal


def do_all(journal: Journal, works: list[Callable[[Any], object]]) -> list[object]:
    """Do several works in one transaction; where that fails, each in its own."""
    return journal.engine.write_each(lambda connection, todo: [work(connection) for work in todo], works)


def through(proxy: Proxy, database: str) -> str:
    return f"postgresql://filedrop@127.0.0.1:{proxy.port}/{database}"


def files(journal: Journal) -> set[str]:
    return {document.file for document in journal.documents.lying_in("f1", "sending")}


def test_psycopg_is_an_extra() -> None:
    """Who has the journal in a file needs no library for another one, and doesn't wait for its import."""
    code = "import sys, filedrop.cli, filedrop.daemon.daemon, filedrop.journal; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE, check=False).returncode == 0


# Batches

LOGGED = re.compile(r"LOG:  (?:statement|execute [^:]*): *(.*)")


def asked(server: Server, database: str, work: Callable[[Journal], object]) -> list[str]:
    """What the server's log has of a journal's statements while this work is done, without what a start asks."""
    server.sql(f"ALTER DATABASE {database} SET log_statement = 'all'")
    try:
        with opened(server.address(database)) as journal:
            files(journal)  # a session for reading asks once which database it has
            before = (server.folder / "log").stat().st_size
            work(journal)
            with (server.folder / "log").open("rb") as log:
                log.seek(before)
                return LOGGED.findall(log.read().decode())
    finally:
        server.sql(f"ALTER DATABASE {database} RESET log_statement")


def message(number: int) -> MessageRow:
    return MessageRow(identity=IDENTITY, msg_no=number, received="", sender=SELLER, receiver=BUYER, state="named")


def on_their_way(journal: Journal) -> None:
    """Sixteen documents are recorded as about to be posted, as accepted, and as moved."""
    sending = journal.documents.record_sending([posted(drop(nth)) for nth in range(16)], "refuse", warning=str)
    answers = [
        Outcome(document.sent(NOON, nth, received=None, uuid=None), Message(nth), otherwise=document)
        for nth, document in enumerate(sending, start=1)
        if isinstance(document, Document)
    ]
    accepted = journal.numbers.record_answers(answers)
    moved = [document.at("sent", document.file) for document in accepted if isinstance(document, Document)]
    journal.documents.record_places(moved)
    assert len(journal.documents.lying_in("f1", "sent")) == 16


def test_messages_of_a_batch(postgres: Server, database: str) -> None:
    """Sixteen documents are recorded in 18 messages to the server at most, and three commits."""
    statements = asked(postgres, database, on_their_way)
    assert statements.count("COMMIT") == 3
    assert len(statements) - 1 <= 18, statements  # without the look at `sent`


def test_messages_of_received_ones(postgres: Server, database: str) -> None:
    """Each step of sixteen received messages is one statement in one commit."""
    rows = [message(nth) for nth in range(16)]
    statements = asked(postgres, database, lambda journal: journal.messages.record_all(rows))
    assert (len(statements), statements.count("COMMIT")) == (3, 1), statements


def test_questions_of_a_batch_read_no_table(postgres: Server, database: str) -> None:
    """What is asked about a batch goes by an index for each document, and not through all that was ever sent."""
    values = {"meaning": "[1]", "number": "[1]", "numbers": "[1]", "identity": IDENTITY}
    with opened(postgres.address(database)) as journal:
        for statement in (documents._KNOWN_CONTENT, numbers._OWNED_BY_ANY):
            plan = [line for (line,) in journal.engine.read(f"EXPLAIN {statement}", **values)]
            assert not [line for line in plan if "hashed SubPlan" in line], plan


# The fence


def writes(former: Journal) -> bool:
    """Whether a daemon that was replaced still writes."""
    try:
        former.documents.record(drop(2))
    except JournalError as error:
        assert "another host has replaced this one" in str(error)  # noqa: PT017 - its absence is a result, too
    return former.documents.by_id(drop(2).id) is not None


def test_process_that_was_replaced(postgres: Server, database: str) -> None:
    """It writes nothing any more, whatever it had begun; whoever has replaced it does."""
    with opened(postgres.address(database)) as former, opened(postgres.address(database)) as journal:
        journal.documents.record(drop(1))
        assert not writes(former)
        assert files(former) == {"invoice-1.xml"}, "it may read"


def test_a_fence_that_does_not_raise(postgres: Server) -> None:
    """The test before finds it: with a fence that only returns, the former daemon writes."""
    database = postgres.database()
    with opened(postgres.address(database)) as former, opened(postgres.address(database)):
        returning = "CREATE OR REPLACE FUNCTION filedrop.fence(mine TEXT) RETURNS void LANGUAGE sql AS 'SELECT'"
        postgres.sql(returning, database)
        assert writes(former)


def test_command_beside_the_daemon(postgres: Server, database: str) -> None:
    """A command writes without a lease, and the step that the daemon took from the row before is refused."""
    with opened(postgres.address(database)) as journal, opened(postgres.address(database), None) as command:
        document = journal.documents.record(drop(1))
        command.documents.record(document.taken(NOON))
        with pytest.raises(Changed):
            journal.documents.record(posted(document))


def test_two_alike_by_two_processes(postgres: Server, database: str) -> None:
    """Of two documents with the same content, one passes, whoever records them in the same moment."""
    with opened(postgres.address(database)) as journal, opened(postgres.address(database), None) as command:
        alike = [journal.documents.record(drop(number, meaning="the same")) for number in range(1, 21)]
        results: list[object] = []
        begin = threading.Barrier(2)

        def send(journal: Journal, nth: int) -> None:
            begin.wait()
            for document in alike[nth::2]:
                results.extend(journal.documents.record_sending([posted(document)], "refuse", warning=lambda _: ""))

        threads = [threading.Thread(target=send, args=pair) for pair in ((journal, 0), (command, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(not isinstance(result, Exception) for result in results) == 1


# The server


def test_server_that_was_restarted(postgres: Server, database: str) -> None:
    """While it is away, each call says so; afterwards all is as it was recorded, and work goes on."""
    with opened(postgres.address(database)) as journal:
        journal.documents.record(drop(1))
        postgres.stop()
        try:
            with pytest.raises(JournalError, match="nothing is posted until it can"):
                files(journal)
            assert journal.engine.trouble, "what can't be read can't be written"
            with pytest.raises(JournalError, match="nothing is posted until it can"):
                journal.documents.record(drop(2))
            journal.engine.keep_up()
            assert journal.engine.trouble, "it is still away"
        finally:
            postgres.start()
        journal.engine.keep_up()
        assert not journal.engine.trouble, "the daemon's next tick finds it back, although nothing else is written"
        journal.documents.record(drop(3))
        assert files(journal) == {"invoice-1.xml", "invoice-3.xml"}


def test_network_that_swallows_everything(database: str, proxy: Proxy) -> None:
    """No call waits for ever, and once the network is back, work goes on."""
    with opened(through(proxy, database)) as journal:
        journal.documents.record(drop(1))
        proxy.is_silent = True
        proxy.lose(requests=True, answers=True)
        for call in (lambda: journal.documents.record(drop(2)), lambda: files(journal)):
            with pytest.raises(JournalError):
                call()
        proxy.is_silent = False
        journal.documents.record(drop(3))
        assert files(journal) == {"invoice-1.xml", "invoice-3.xml"}


def record_and(journal: Journal, number: int, then: object) -> object:
    """Record a document in a transaction, before the commit of which something happens."""

    def work(connection: Connection) -> object:
        return connection.execute("INSERT INTO restored VALUES (:id)", {"id": str(number)}), then()  # type: ignore[operator]

    return journal.engine.write(work)


def restored(journal: Journal) -> list[object]:
    return [id_ for (id_,) in journal.engine.read("SELECT document FROM restored ORDER BY document")]


def test_commit_whose_answer_is_lost(database: str, proxy: Proxy) -> None:
    """The server is asked whether it happened: it did, so it isn't done again, and nobody is told of an error."""
    calls: list[object] = []
    with opened(through(proxy, database)) as journal:
        record_and(journal, 1, lambda: (calls.append(1), proxy.lose(answers=True)))
        assert restored(journal) == ["1"]
        assert calls == [1]


def test_commit_that_never_arrives(database: str, proxy: Proxy) -> None:
    """The server says that it didn't happen: of several works, each is done again, once."""
    losses = [1]

    def lose() -> None:
        if losses:
            losses.pop()
            proxy.lose(requests=True)

    with opened(through(proxy, database)) as journal:
        works = [lambda connection, id_=id_: connection.execute("INSERT INTO restored VALUES (:id)", {"id": id_})
                 for id_ in "12"]  # fmt: skip
        results = do_all(journal, [*works, lambda _: lose()])
        assert not any(isinstance(result, Exception) for result in results)
        assert restored(journal) == ["1", "2"]


def test_commit_of_a_server_that_stays_away(postgres: Server, database: str) -> None:
    """Nobody knows whether it happened: that is what each work is told, and none is done again."""
    calls: list[object] = []
    with opened(postgres.address(database)) as journal:
        try:
            works = [lambda _: calls.append(1), lambda _: postgres.stop()]
            results = do_all(journal, works)
        finally:
            postgres.start()
        assert [type(result) for result in results] == [UnclearCommit, UnclearCommit]
        assert calls == [1]
        while journal.engine.trouble:  # within a pause after a failed attempt, each write gets that one's error
            journal.engine.keep_up()
        journal.documents.record(drop(1))


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_late_transaction_of_ones_own(postgres: Server, database: str) -> None:
    """What a server has kept for later is never done after what was recorded since: its session is ended first."""
    with opened(postgres.address(database)) as journal:
        document = journal.documents.record(drop(1))
        backend = journal.engine._writer.info.backend_pid  # type: ignore[attr-defined] # it is PostgreSQL's

        def stop(connection: Connection) -> None:
            connection.execute("UPDATE documents SET state = 'sending' WHERE id = :id", {"id": document.id})
            os.kill(backend, signal.SIGSTOP)  # a server's disk or machine stands still

        try:
            with pytest.raises(UnclearCommit):
                journal.engine.write(stop)
            with pytest.raises(JournalError, match="can't be ended"):
                journal.documents.record(document.taken(NOON))
        finally:
            os.kill(backend, signal.SIGCONT)
        taken = journal.documents.record(document.taken(NOON))
        assert journal.documents.by_id(document.id) == taken
        assert (backend,) not in postgres.sql("SELECT pid FROM pg_stat_activity")


def test_sessions_that_cannot_be_ended(postgres: Server, database: str) -> None:
    """However many sessions a server can't end, that is reported, and not that the statement took too long."""
    address = Address(postgres.address(database))
    with closing(address.connect("us", PATIENCE)) as session, ExitStack() as gone:
        stuck = [gone.enter_context(closing(address.connect("gone", PATIENCE))) for _ in range(2)]
        for backend in [session.info.backend_pid for session in stuck]:
            os.kill(backend, signal.SIGSTOP)
            gone.callback(os.kill, backend, signal.SIGCONT)
        with pytest.raises(JournalError, match="a session of gone can't be ended"):
            end_sessions(session, "gone", PATIENCE)
    with closing(address.connect("us", PATIENCE)) as session:
        end_sessions(session, "gone", PATIENCE)


SETTINGS = {
    "default_transaction_isolation": "repeatable read", "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on", "synchronous_commit": "off", "statement_timeout": "99s",
    "lock_timeout": "99s", "idle_in_transaction_session_timeout": "0", "search_path": "public",
    "timezone": "Asia/Tokyo",
}  # fmt: skip


def test_settings_of_the_role(postgres: Server, database: str) -> None:
    """Whatever an administrator has set for role and database, a session is as the journal needs it."""
    for name, value in SETTINGS.items():
        postgres.sql(f"ALTER ROLE filedrop IN DATABASE {database} SET {name} = '{value}'")
    limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    asked = ("transaction_isolation", "transaction_read_only", "transaction_deferrable", "synchronous_commit", *limits)
    text = ", ".join(f"current_setting('{name}')" for name in asked)
    try:
        with opened(postgres.address(database)) as journal:
            found = journal.engine.write(lambda connection: connection.execute(f"SELECT {text}").fetchall())
            journal.documents.record(drop(1))
    finally:
        postgres.sql(f"ALTER ROLE filedrop IN DATABASE {database} RESET ALL")
    assert found == [("read committed", "off", "off", "on", *["1600ms"] * len(limits))]


def test_refused_statement_within_a_reading(postgres: Server, database: str) -> None:
    """A work that goes on after an error of the server has written nothing, and is told so."""

    def work(connection: Connection) -> None:
        connection.execute("INSERT INTO restored VALUES ('1')")
        with pytest.raises(JournalError), journal.engine.reading_with(connection):
            journal.engine.read("SELECT 1 / 0")

    with opened(postgres.address(database)) as journal:
        with pytest.raises(JournalError):
            journal.engine.write(work)
        assert restored(journal) == []


# Values


def test_text_that_postgresql_has_not(postgres: Server, database: str) -> None:
    """A NUL, or half of a pair of surrogates, in a stranger's words keeps no document from being recorded."""
    words = "a \0 and \ud800"
    failed = posted(drop(1, type="a\0b")).failed(NOON, Fault("rejected", words, "ask"))
    with opened(postgres.address(database)) as journal:
        recorded = journal.documents.record(failed)
        found = journal.documents.by_id(recorded.id)
        assert found is not None
        assert found.error is not None
        assert (found.type, found.error.message) == ("a\ufffdb", "a \ufffd and \ufffd")
        assert [(total.event, total.code) for total in journal.totals.events()] == [("failed", "rejected")]


@pytest.mark.parametrize(
    "address",
    ["postgresql://filedrop@a:1,b:2/journal", "postgresql://filedrop@a,b/journal", "postgresql:///journal"],
)
def test_address_as_it_was_written(address: str) -> None:
    """Each server is shown with its own port."""
    assert str(Address(address)) == address


def test_server_that_waits(postgres: Server, database: str) -> None:
    """A statement that takes too long is no question of whether the server runs."""
    address = Address(postgres.address(database))
    with closing(address.connect("waiting", PATIENCE)) as session:
        session.execute("SET statement_timeout = 1")
        with pytest.raises(psycopg.Error) as raised:
            session.execute("SELECT pg_sleep(9)")
    assert "a missing standby" in address.trouble(raised.value)


def test_password_is_not_shown() -> None:
    """Neither the journal's name nor an error has the password."""
    address = "postgresql://filedrop:hunter2@127.0.0.1:9/journal"
    assert str(Address(address)) == "postgresql://filedrop@127.0.0.1:9/journal"
    with pytest.raises(JournalError, match=r"127\.0\.0\.1:9/journal can't be used") as raised:
        Postgres(address, patience=PATIENCE)
    assert "hunter2" not in str(raised.value)
    with pytest.raises(JournalError, match="no address") as raised:
        Address("postgresql://filedrop:hunter2@[::1/journal")
    assert "hunter2" not in str(raised.value)


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer isn't installed: apt install pgbouncer")
@pytest.mark.parametrize("mode", ["transaction", pytest.param("session", marks=pytest.mark.slow)])
def test_pooler_is_refused(postgres: Server, mode: str) -> None:
    """A pooler shares sessions between its clients: it is refused in a sentence, and nothing is created behind it."""
    database = postgres.database()
    address = f"postgresql://filedrop@/{database}"
    with (
        pooler(postgres, mode) as where,
        pytest.raises(JournalError, match="is a connection pooler, such as PgBouncer"),
    ):
        Postgres(address + where)
    assert postgres.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'filedrop'", database) == []


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [("99", r"another version of filedrop \(schema 99"), ("7", "before the first release.*: .*an empty database")],
)
def test_journal_of_another_schema(postgres: Server, schema: str, sentence: str) -> None:
    """A journal of another version of filedrop is left alone, and the sentence says how to go on."""
    database = postgres.database()
    with opened(postgres.address(database)):
        postgres.sql(f"UPDATE filedrop.about SET value = '{schema}' WHERE key = 'schema'", database)  # noqa: S608 - ours
    before = postgres.sql("SELECT key, value FROM filedrop.about ORDER BY key", database)
    for is_daemons in (False, True):
        with pytest.raises(JournalError, match=sentence):
            Postgres(postgres.address(database), is_daemons=is_daemons)
    assert postgres.sql("SELECT key, value FROM filedrop.about ORDER BY key", database) == before


def test_database_of_another_encoding(postgres: Server) -> None:
    """A database that can't hold every name is refused before anything is in it."""
    postgres.sql("DROP DATABASE IF EXISTS latin")
    postgres.sql("CREATE DATABASE latin OWNER filedrop ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    with pytest.raises(JournalError, match="has the encoding LATIN1: create the database with --encoding=UTF8"):
        Postgres(postgres.address("latin"))


def test_doubts_of_a_server(postgres: Server, database: str, proxy: Proxy) -> None:
    """A clear text connection is one; a socket of the same computer is none."""
    with opened(postgres.address(database)) as journal:
        assert not [
            why for why in journal.engine.doubts() if " ms for each record" not in why
        ]  # how slow this machine is
    with opened(through(proxy, database)) as journal:
        assert any("isn't encrypted" in why for why in journal.engine.doubts())


# Copies of the database


def known_folder(journal: Journal) -> None:
    journal.folders.record("f1", Path("/somewhere"))
    journal.documents.record(drop(1))
    journal.folders.mark("f1")


def branches(address: str) -> tuple[str, ...]:
    """The branches of the journal, after a daemon has opened it."""
    with opened(address) as journal:
        return journal.folders.changes("f1").branches


def test_restored_database_waits_for_a_person(postgres: Server) -> None:
    """The other database may still be in use: the copy doesn't know what is done there, until a person accepts it."""
    database, restored = postgres.database(), f"restored_{secrets.token_hex(4)}"
    assert [branches(postgres.address(database)) for _ in range(2)] == [("",), ("",)], "the same database is no copy"
    postgres.sql(f"CREATE DATABASE {restored} TEMPLATE {database} OWNER filedrop")
    (branch,) = branches(postgres.address(restored))
    assert branch
    assert branches(postgres.address(restored)) == (branch,), "one for each database, not for each start"
    with opened(postgres.address(restored)) as journal:
        known_folder(journal)
        assert not journal.folders.knows(journal.folders.changes("f1"), "", 0)
        journal.folders.accept([""])
        changes = journal.folders.changes("f1")
        assert journal.folders.knows(changes, "", 7)
        assert changes.branch not in ("", branch)


def test_promoted_database_knows_what_was_before(postgres: Server) -> None:
    """Only a higher timeline of the same server is accepted without a person, and a server that doesn't say it."""
    address = postgres.address(postgres.database())
    with opened(address) as journal:
        own = journal.engine.kept(LINEAGE)
    assert own
    server, timeline, *tables = own.split("/")
    lower, higher = f"{int(timeline, 16) - 1:08X}", f"{int(timeline, 16) + 1:08X}"
    for before, is_known in ((lower, True), (higher, False)):
        with opened(address) as journal:
            journal.engine.keep(BRANCHES, ",0123456789abcdef")
            journal.engine.keep(LINEAGE, "/".join([server, before, *tables]))
        *known, new = branches(address)
        assert known == (["", "0123456789abcdef"] if is_known else [])
        assert len(new) == 16
    assert has_grown(own, "")


def test_snapshot_of_a_database_is_behind_its_folders(postgres: Server) -> None:
    """Its server and its timeline are those of the original, but what a marker counts is missing in it."""
    with opened(postgres.address(postgres.database())) as journal:
        known_folder(journal)
        changes = journal.folders.changes("f1")
        assert journal.folders.knows(changes, "", changes.marked)
        assert not journal.folders.knows(changes, "", changes.marked + 1)


def test_database_that_is_replaced_while_it_runs(postgres: Server, proxy: Proxy) -> None:
    """A daemon reads and writes nothing in another database than the one that it has begun with."""
    database, restored = postgres.database(), f"restored_{secrets.token_hex(4)}"
    with opened(through(proxy, database)) as journal:
        known_folder(journal)
        postgres.end_sessions(database)
        postgres.sql(f"ALTER DATABASE {database} RENAME TO {restored}")
        postgres.sql(f"CREATE DATABASE {database} TEMPLATE {restored} OWNER filedrop")
        with pytest.raises(JournalError, match="filedrop must start again"):
            files(journal)
        with pytest.raises(JournalError, match="filedrop must start again"):
            journal.documents.record(drop(2))
    with opened(postgres.address(database)) as journal:
        assert files(journal) == {"invoice-1.xml"}
