"""The journal's tables, and the form of values that SQLite has no type for.

A file name is a BLOB, because it may be invalid Unicode. A moment is in seconds since 1970, so that moments with
different offsets compare. Lists and dictionaries are JSON.

Also SQL that several parts of the journal share: fragments, and whole statements. Each other one is with its caller.
All SQL is valid in SQLite and in PostgreSQL, whose schema has SQLite's `json_each`, `json_extract`, `instr`, `max` of
two and `rowid`. Hence the aliases and casts, and that a value is compared with NULL after what says its type.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from filedrop.model.document import BILLING_WITH_RESPONSE, BILLS, Document, Event, Need, State, participant_key
from filedrop.model.fault import Fault, Finding
from filedrop.model.prepared import PdfFile, Prepared
from filedrop.model.response import LEVEL_STATUS, REJECTED
from filedrop.model.twins import PAIRS
from filedrop.texts import Text
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from filedrop.model.fault import Code

SCHEMA_VERSION = 9  # the first: 1 to 8 were before the first release
WITH_ROWID = ("documents", "messages", "responses")  # tables whose order of insertion is asked for
BOOLEANS = ("open", "settled", "suspect")  # columns; SQLite has them as numbers

_ADD = """
        INSERT INTO totals (company, event, code, number, accepted) VALUES (NEW.company, {}, {}, 1, {})
        ON CONFLICT (company, event, code) DO UPDATE SET number = totals.number + 1, accepted = excluded.accepted;
"""
_ADD_DOCUMENT = _ADD.format("NEW.state", "coalesce(json_extract(NEW.error, '$.code'), '')", "NEW.accepted")

COLUMNS = tuple(field.name for field in fields(Document))
ALL = f"SELECT {', '.join(COLUMNS)} FROM documents WHERE"
BELIEVED = "(company = :company OR NOT EXISTS (SELECT 1 FROM restored WHERE document = documents.id))"
NEEDY = "open AND needs <> '' AND folder"
# Each once, by steps in an index: it has a row for each document.
EACH = """
    WITH RECURSIVE known(one) AS (
        SELECT min({column}) FROM documents WHERE {rows} UNION ALL
        SELECT (SELECT min({column}) FROM documents WHERE {rows} AND {column} > one) FROM known WHERE one IS NOT NULL
    ) SELECT one FROM known WHERE one IS NOT NULL
"""


def participant(column: str) -> str:
    """The expression for a ParticipantID in the form in which it is compared (as `participant_key`)."""
    return f"replace(lower({column}), 'iso6523-actorid-upis::', '')"


# By what a person knows of a document: "" for what they don't. A party is an id, or a piece of a name.
KNOWN = f"""(:number IN ('', number) AND (:party = ''
    OR :party IN ({participant("sender")}, {participant("receiver")})
    OR instr(lower(coalesce({{name}}, '')), :name) > 0) AND coalesce({{time}}, :now) BETWEEN :since AND :until)"""
BY_IDS = f"{ALL} id IN (SELECT value FROM json_each(:ids))"
NUMBERS = "SELECT CAST(value AS BIGINT) FROM json_each(:numbers)"
# SQLite before 3.39 has no IS NOT DISTINCT FROM, and PostgreSQL no IS of two values.
SAME = "({0} = :{0} OR ({0} IS NULL AND :{0} IS NULL))".format
MESSAGE_COLUMNS = (
    "identity", "msg_no", "received", "sender", "receiver",
    "revision", "state", "company", "folder", "temporary", "file", "attempts", "due", "why", "placed", "page",
    "sidecar", "sender_name", "type", "number", "issue_date", "meaning", "repeats", "wanted", "sha256",
)  # fmt: skip
HAS_DRAFT = "folder = :folder AND state IN ('named', 'placing')"  # as its index has it
# What waits in a folder is to be put in doubt.
SUSPECT = """
    INSERT INTO changes (folder, counted, suspect) SELECT id, 0, TRUE FROM folders WHERE {}
    ON CONFLICT (folder) DO UPDATE SET suspect = TRUE
"""
SUSPECT_ALL = SUSPECT.format("TRUE")
KEEP = "INSERT INTO about (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
SAY_ABOUT = "INSERT INTO about (key, value) VALUES (:key, :value) ON CONFLICT DO NOTHING"
ABOUT = "SELECT key, value FROM about"

NAMES = ("file", "dropped_as")
MOMENTS = ("claimed", "due", "first_attempt", "accepted", "needs_since")


def company(column: str) -> str:
    """The expression that is equal for two ids of one company; Python looks at their whole form (`same_or_twin`)."""
    expression = participant(column)
    for scheme, other, _ in PAIRS:
        expression = f"replace({expression}, '{scheme}', '{other}')"
    return expression


# The indexes of responses repeat these conditions letter by letter.
IS_REJECTION = f"code IN {REJECTED}"
IS_OF_PLATFORM = "code GLOB '[0-9][0-9][0-9]'"  # as `model.response.is_status`
IS_ANSWER = f"({IS_REJECTION} OR words <> '{LEVEL_STATUS}')"  # access points answer where they reject
LAST_ANSWER = f"""FROM responses WHERE document <> '' AND document = {{}} AND {IS_ANSWER}
    ORDER BY at DESC, msg_no DESC, nth DESC LIMIT 1"""
# A received document whose sender expects an answer, and (below) a document of ours that its receiver is to answer.
EXPECTS_ANSWER = "due IS NOT NULL AND state = 'read'"
# No answer by the company has gone out. What was dropped for a later answer, or removed since, has no row.
OWES_ANSWER = """due IS NOT NULL AND repeats IS NULL AND NOT EXISTS (
    SELECT 1 FROM answers AS given LEFT JOIN documents AS sent ON sent.id = given.document
    WHERE given.company = messages.company AND given.sha256 = messages.sha256 AND given.content IS NULL
    AND (sent.id IS NULL OR sent.accepted IS NOT NULL))"""
IS_TO_BE_ANSWERED = f"state = '{State.DELIVERED}' AND process_id = '{BILLING_WITH_RESPONSE}' AND type IN {BILLS}"

DEFINITIONS = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE folders (id TEXT PRIMARY KEY, path BLOB NOT NULL, settled INTEGER NOT NULL)",
    # Changes of a folder's documents: `counted` so far; the folder's marker has at least `least`, else it is another
    # disk's, and at most `marked`, else this journal is an older copy of itself. `suspect`: what waits in the folder is
    # to be put in doubt, because the folder was taken over, or the journal was copied.
    """
    CREATE TABLE changes (
        folder TEXT PRIMARY KEY, counted INTEGER NOT NULL, marked INTEGER NOT NULL DEFAULT 0,
        least INTEGER NOT NULL DEFAULT 0, suspect INTEGER NOT NULL DEFAULT FALSE
    )
    """,
    """
    CREATE TABLE documents (
        id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        open INTEGER NOT NULL, -- unfinished, or finished and not yet put away
        company TEXT NOT NULL, folder TEXT NOT NULL, account TEXT NOT NULL, identity TEXT NOT NULL,
        state TEXT NOT NULL, place TEXT NOT NULL, file BLOB NOT NULL, dropped_as BLOB NOT NULL, claimed REAL NOT NULL,
        size INTEGER NOT NULL, sha256 TEXT NOT NULL, meaning TEXT NOT NULL,
        sender TEXT, receiver TEXT, document_id TEXT, process_id TEXT, channel TEXT NOT NULL, sources TEXT NOT NULL,
        type TEXT, number TEXT, issue_date TEXT, type_code TEXT, receiver_name TEXT, warnings TEXT NOT NULL,
        attempts INTEGER NOT NULL, unclear INTEGER NOT NULL, unexplained INTEGER NOT NULL, due REAL, first_attempt REAL,
        msg_no INTEGER, uuid TEXT, received TEXT, delivered TEXT, accepted REAL, asked INTEGER NOT NULL,
        error TEXT, history TEXT NOT NULL,
        ended REAL, -- when it was delivered, failed, unreachable or taken, by our clock
        -- What it waits for, why, and since when, if that is its own: its ids, a verdict, its file.
        needs TEXT NOT NULL DEFAULT '', needs_why TEXT NOT NULL DEFAULT '', needs_since REAL,
        pdf TEXT, -- of the PDF that was dropped with it
        prepared TEXT, posted_meaning TEXT -- of what was posted in its place, if that is something else
    )
    """,
    "CREATE INDEX documents_msg_no ON documents (identity, msg_no)",
    "CREATE INDEX documents_dropped_as ON documents (dropped_as)",
    "CREATE INDEX documents_meaning ON documents (meaning)",
    "CREATE INDEX documents_posted ON documents (posted_meaning) WHERE posted_meaning IS NOT NULL",
    "CREATE INDEX documents_number ON documents (number)",
    # Partial indexes, because few rows are open.
    "CREATE INDEX documents_content ON documents (sha256, folder) WHERE open",
    "CREATE INDEX documents_step ON documents (folder, state, place, due) WHERE open",
    "CREATE INDEX documents_place ON documents (folder, place, file) WHERE open",
    "CREATE INDEX documents_on_their_way ON documents (state, identity, place, due) WHERE open",
    "CREATE INDEX documents_needs ON documents (folder, needs, due) WHERE open AND needs <> ''",
    # What happened lately, by company.
    "CREATE INDEX documents_accepted ON documents (company, accepted) WHERE accepted IS NOT NULL",
    "CREATE INDEX documents_ended ON documents (company, state, ended) WHERE ended IS NOT NULL",
    f"CREATE INDEX documents_to_be_answered ON documents (ended) WHERE {IS_TO_BE_ANSWERED}",
    # Documents restored from sidecars, which are untrusted: they count for their own company only.
    "CREATE TABLE restored (document TEXT PRIMARY KEY)",
    """
    CREATE TABLE messages (
        identity TEXT,
        msg_no INTEGER,
        -- The number alone would not do: a server set up anew counts from the start again (contract 6).
        received TEXT, sender TEXT, receiver TEXT,
        revision INTEGER NOT NULL DEFAULT 1,
        state TEXT NOT NULL, company TEXT NOT NULL, folder BLOB NOT NULL, temporary BLOB NOT NULL, file BLOB NOT NULL,
        attempts INTEGER NOT NULL,
        due REAL, -- when it is tried again; of what is placed, since when its sender expects an answer
        why TEXT NOT NULL,
        placed REAL, -- when it got its name, by our clock
        page INTEGER, -- attempts at its page while that is owed; NULL: none is owed
        sidecar TEXT, -- from `placing` until it is read and no page is owed
        sender_name TEXT, type TEXT, number TEXT, issue_date TEXT, -- as the document writes them
        meaning TEXT,
        repeats INTEGER, -- the number of the message that had the same document first
        wanted BLOB NOT NULL DEFAULT x'', -- the name that it is to get, unless that is taken, until it is read
        sha256 TEXT, -- of the document's bytes
        PRIMARY KEY (identity, msg_no, received, sender, receiver)
    )
    """,
    "CREATE INDEX messages_number ON messages (msg_no)",
    "CREATE INDEX messages_placed ON messages (company, placed) WHERE placed IS NOT NULL",
    f"""
    CREATE INDEX messages_document ON messages (company, number, issue_date, type, ({company("sender")}))
    WHERE number IS NOT NULL
    """,
    f"""
    CREATE INDEX messages_meaning ON messages (company, meaning, ({company("sender")}))
    WHERE meaning IS NOT NULL
    """,
    "CREATE INDEX messages_content ON messages (company, sha256) WHERE sha256 IS NOT NULL",
    "CREATE INDEX messages_repeats ON messages (company, placed) WHERE repeats IS NOT NULL",
    f"CREATE INDEX messages_expecting ON messages (due) WHERE {EXPECTS_ANSWER}",
    "CREATE INDEX messages_state ON messages (identity, state)",
    "CREATE INDEX messages_drafts ON messages (folder) WHERE state IN ('named', 'placing')",
    "CREATE INDEX messages_pages ON messages (page) WHERE page IS NOT NULL",
    """
    CREATE TABLE surplus (
        identity TEXT, msg_no INTEGER, received TEXT, document TEXT NOT NULL, PRIMARY KEY (identity, msg_no)
    )
    """,
    """
    CREATE TABLE waivers (
        folder TEXT, file BLOB, sha256 TEXT NOT NULL, modified INTEGER NOT NULL, PRIMARY KEY (folder, file)
    )
    """,
    # How many documents have come to a state, and messages into their folders. It outlives their rows.
    """
    CREATE TABLE totals (
        company TEXT,
        event TEXT, -- sent, delivered, failed, unreachable, or received
        code TEXT, -- of what failed or is unreachable
        number INTEGER NOT NULL,
        accepted REAL, -- when the last one was
        PRIMARY KEY (company, event, code)
    )
    """,
    # Restored from a sidecar, it is in its place already: it isn't new.
    f"""
    CREATE TRIGGER total_insert AFTER INSERT ON documents WHEN NEW.open AND NEW.state IN ('failed', 'unreachable') BEGIN
        {_ADD_DOCUMENT}
    END
    """,
    # A document that was taken can only come back to where it was counted.
    f"""
    CREATE TRIGGER total_update AFTER UPDATE OF state ON documents
    WHEN NEW.state <> OLD.state AND OLD.state <> 'taken'
        AND NEW.state IN ('sent', 'delivered', 'failed', 'unreachable') BEGIN
        {_ADD_DOCUMENT}
    END
    """,
    f"""
    CREATE TRIGGER total_received AFTER UPDATE OF state ON messages
    WHEN NEW.state = 'read' AND OLD.state IN ('named', 'placing') BEGIN
        {_ADD.format("'received'", "''", "NULL")}
    END
    """,
    # Responses to documents that we have sent: `document` is '' while it isn't known which is meant, and '?' where
    # several are. `owed_to` is the folder of the document whose row and sidecar lack the response, '' where none does.
    """
    CREATE TABLE responses (
        identity TEXT, msg_no INTEGER, received TEXT, nth INTEGER,
        company TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL, number TEXT NOT NULL,
        type_code TEXT NOT NULL, issue_date TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL,
        document TEXT NOT NULL, owed_to TEXT NOT NULL, words TEXT NOT NULL DEFAULT 'response',
        PRIMARY KEY (identity, msg_no, received, nth)
    )
    """,
    # Partial indexes: however many responses name documents that aren't known, only the first two have them.
    f"""
    CREATE INDEX responses_waiting ON responses (number, ({company("sender")}), at)
    WHERE document = ''
    """,
    f"""
    CREATE INDEX responses_of_platforms ON responses (number, at)
    WHERE document = '' AND {IS_OF_PLATFORM}
    """,
    "CREATE INDEX responses_untied ON responses (at) WHERE document IN ('', '?')",
    "CREATE INDEX responses_tied ON responses (document, code, at) WHERE document <> ''",
    "CREATE INDEX responses_owed ON responses (owed_to) WHERE owed_to <> ''",
    f"""
    CREATE INDEX responses_rejected ON responses (document, sender, number, at)
    WHERE document <> '' AND {IS_REJECTION}
    """,
    "CREATE INDEX documents_uuid ON documents (uuid) WHERE uuid IS NOT NULL",
    # Answers to received documents (`inbound.answers`), by the documents' bytes. Each becomes an outbound document,
    # whose id is decided with the answer.
    """
    CREATE TABLE answers (
        company TEXT, sha256 TEXT, nth INTEGER,
        code TEXT NOT NULL, number TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL, at REAL NOT NULL,
        document TEXT NOT NULL, file TEXT NOT NULL,
        content BLOB, -- NULL as soon as the answer's file is in its place
        PRIMARY KEY (company, sha256, nth)
    )
    """,
    "CREATE INDEX answers_owed ON answers (company) WHERE content IS NOT NULL",
    # After which events commands are run (`commands`), and those that are still to be run.
    "CREATE TABLE wanted (event TEXT PRIMARY KEY)",
    """
    CREATE TABLE errands (
        number INTEGER PRIMARY KEY, event TEXT NOT NULL, company TEXT NOT NULL, document TEXT NOT NULL,
        msg_no INTEGER, folder BLOB NOT NULL, file BLOB NOT NULL,
        sidecar TEXT -- of a message
    )
    """,
    # A document has come to its last place, a message has been marked as read, and its page is owed no more: in the
    # transaction that says so.
    f"""
    CREATE TRIGGER errand_of_document AFTER UPDATE ON documents
    WHEN OLD.open AND NOT NEW.open AND NEW.state IN ('{State.DELIVERED}', '{State.FAILED}', '{State.UNREACHABLE}') BEGIN
        INSERT INTO errands (event, company, document, folder, file)
        SELECT event, NEW.company, NEW.id, x'', x'' FROM wanted WHERE event = NEW.state;
    END
    """,
    """
    CREATE TRIGGER errand_of_message AFTER UPDATE ON messages
    WHEN NEW.state = 'read' AND NEW.page IS NULL AND (OLD.state <> 'read' OR OLD.page IS NOT NULL) BEGIN
        INSERT INTO errands (event, company, document, msg_no, folder, file, sidecar)
        SELECT event, NEW.company, '', NEW.msg_no, NEW.folder, NEW.file, NEW.sidecar
        FROM wanted WHERE event = 'received' AND NEW.company <> '';
        UPDATE messages SET sidecar = NULL WHERE rowid = NEW.rowid;
    END
    """,
    # Each change of a document is counted in its own transaction, so that the marker shows when changes are lost.
    *(
        f"""
        CREATE TRIGGER count_{event} AFTER {event} ON documents BEGIN
            INSERT INTO changes (folder, counted) VALUES (NEW.folder, 1)
            ON CONFLICT (folder) DO UPDATE SET counted = counted + 1;
        END
        """
        for event in ("insert", "update")
    ),
)


"""The statements that create the tables, indexes and triggers."""


def as_name(name: str) -> bytes:
    """A file name as the value of a column."""
    return os.fsencode(name)


def from_name(held: bytes) -> str:
    """A file name from the value of a column."""
    return os.fsdecode(held)


def as_moment(moment: datetime | None) -> float | None:
    """A moment as the value of a column."""
    return None if moment is None else moment.timestamp()


def from_moment(held: float | None) -> datetime | None:
    """A moment from the value of a column, in the local time zone."""
    return None if held is None else from_seconds(held)


@dataclass(frozen=True, slots=True)
class Known:
    """What a person knows of a document: its number, a party by ParticipantID or a piece of its name, and when.

    "" stands for what isn't known; the moments are included.
    """

    number: str
    party: str
    since: datetime
    until: datetime

    def values(self, now: datetime) -> dict[str, object]:
        """As `_SEARCH` takes it."""
        moments = {"since": as_moment(self.since), "until": as_moment(self.until), "now": as_moment(now)}
        name = "".join(letter.lower() if letter.isascii() else letter for letter in self.party)  # as SQLite's `lower`
        return {"number": self.number, "party": participant_key(self.party), "name": name, **moments}


def document_of(row: Sequence[Any]) -> Document:
    """The document in a row that has all of `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    values |= {name: from_name(values[name]) for name in NAMES}
    values |= {name: from_moment(values[name]) for name in MOMENTS}
    values["state"] = State(values["state"])
    values["needs"] = Need(values["needs"]) if values["needs"] else None
    values["sources"] = json.loads(values["sources"])
    values["warnings"] = tuple(json.loads(values["warnings"]))
    values["error"] = _fault(**json.loads(values["error"])) if values["error"] else None
    values["pdf"] = PdfFile(**json.loads(values["pdf"])) if values["pdf"] else None
    values["prepared"] = Prepared(**json.loads(values["prepared"])) if values["prepared"] else None
    history = json.loads(values["history"])
    values["history"] = tuple(Event(datetime.fromisoformat(at), event, facts) for at, event, facts in history)
    return Document(**values)


def _fault(
    code: Code, findings: Iterable[dict[str, Any]] = (), texts: Iterable[dict[str, Any]] = (), **words: str
) -> Fault:
    return Fault(
        code,
        **words,
        findings=tuple(Finding(**finding) for finding in findings),
        texts=tuple(Text(**text) for text in texts),
    )
