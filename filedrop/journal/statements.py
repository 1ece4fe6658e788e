"""The SQL statements of the journal, by subject; their callers say what each is for.

Each is valid in SQLite and in PostgreSQL, whose schema has SQLite's `json_each`, `json_extract`, `instr`, `max` of two
and `rowid`. Hence the aliases and casts, and that a value is compared with NULL after what says its type.
"""

from __future__ import annotations

from dataclasses import fields

from filedrop.journal.schema import IS_ANSWER, IS_OF_PLATFORM, IS_REJECTION, OWES_ANSWER, company, participant
from filedrop.model.document import Document, State
from filedrop.model.response import AMBIGUOUS, KEPT, REJECTED, Response

# Documents

COLUMNS = tuple(field.name for field in fields(Document))
# Columns that never change: an UPDATE without them leaves their indexes alone.
_FIXED = (
    "id", "company", "folder", "account", "dropped_as", "size", "sha256", "meaning", "type", "number", "issue_date",
    "type_code", "receiver_name",
)  # fmt: skip
_ALL = f"SELECT {', '.join(COLUMNS)} FROM documents WHERE"
_THE_SAME = "id = :id AND revision = :before"
_IS_DUE = "(due IS NULL OR due <= :now OR due > :latest)"  # as `pauses.Backoff.is_due`
_ON_ITS_WAY = f"open AND identity = :identity AND state = '{State.SENT}' AND place = 'sent'"
_STEP = f"{_ALL} open AND folder = :folder AND"
_WAITING = f"open AND folder = :folder AND state = '{State.WAITING}' AND place = 'sending'"
_IN_ORDER = "ORDER BY id LIMIT :most"
_BELIEVED = "(company = :company OR NOT EXISTS (SELECT 1 FROM restored WHERE document = documents.id))"

INSERT = (
    f"INSERT INTO documents (open, ended, {', '.join(COLUMNS)}) VALUES (:open, :ended, :{', :'.join(COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
UPDATE = (
    "UPDATE documents SET open = :open, ended = coalesce(ended, :ended),"
    f" {', '.join(f'{name} = :{name}' for name in COLUMNS if name not in _FIXED)}"
    f" WHERE {_THE_SAME}"
)
MOVE = f"UPDATE documents SET open = :open, place = :place, file = :file, revision = :revision WHERE {_THE_SAME}"
LEFT_IN_STATE = f"{_STEP} state = :state {_IN_ORDER}"
ACCEPTED_IN_SENDING = f"{_STEP} state = '{State.SENT}' AND place = 'sending' {_IN_ORDER}"
WAITING_DUE = f"{_ALL} {_WAITING} AND {_IS_DUE} {_IN_ORDER}"
_LIES = "open AND folder = :folder AND place = :place"
LYING_IN = f"{_ALL} {_LIES}"
FILES_IN = f"SELECT file, id FROM documents WHERE {_LIES} AND (file, id) > (:file, :id) ORDER BY file, id LIMIT 1000"
KEPT_IN_SENDING = (
    "SELECT id, state, needs <> '' OR due IS NOT NULL FROM documents"
    " WHERE open AND folder = :folder AND place = 'sending'"
    f" AND (claimed <= :before OR claimed > :now) AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}')"
)
_NEEDY = "open AND needs <> '' AND folder"
NEEDY = f"SELECT count(*) FROM documents WHERE {_NEEDY} = :folder AND due > :now"
NEEDY_IN = f"{_ALL} {_NEEDY} = :folder AND id > :after ORDER BY id LIMIT 200"
RETRY_NEEDY = f"UPDATE documents SET due = :now WHERE {_NEEDY} = :folder AND due > :now"
FIRST_WITHOUT = f"""
    SELECT count(*), min(id) FROM documents
    WHERE {_NEEDY} IN (SELECT value FROM json_each(:folders)) AND needs = :need
"""
HAS_HAD = (
    "SELECT 1 FROM documents WHERE dropped_as IN (:file, :unnumbered) AND folder = :folder AND file = :file LIMIT 1"
)
ANOTHER_COMPANYS = "SELECT 1 FROM documents WHERE open AND folder = :folder AND company <> :company LIMIT 1"
HAND_TO = "UPDATE documents SET company = :company WHERE open AND folder = :folder AND company <> :company"
# File names are bytes, which no JSON holds: each is a parameter.
NAMED = f"SELECT file FROM documents WHERE {_LIES} AND file IN ({{files}})"
KNOWN_OF = f"""
    SELECT 'sha256', CAST(sha256 AS BLOB) FROM documents
        WHERE open AND folder = :folder AND sha256 IN (SELECT value FROM json_each(:digests))
    UNION ALL SELECT 'file', file FROM ({NAMED}) AS named
    UNION ALL SELECT 'waiver', file FROM waivers WHERE folder = :folder AND file IN ({{names}})
"""
IN_STATE = f"{_ALL} open AND state = :state AND (identity = :identity OR :identity IS NULL) ORDER BY id"
_UNFINISHED = "SELECT id, company, {kind} AS kind FROM documents WHERE open AND state = "
_SENT_KINDS = "CASE WHEN accepted < :accepted_before THEN 'overdue' ELSE 'sent' END"
# The inner SELECTs read few columns, in one scan for each state.
NEWEST = f"""
    SELECT company, kind, id, total FROM (
        SELECT company, kind, id, count(*) OVER (PARTITION BY company, kind) AS total,
            row_number() OVER (PARTITION BY company, kind ORDER BY id DESC) AS nth
        FROM (
            {_UNFINISHED.format(kind="'doubt'")} '{State.DOUBT}'
            UNION ALL {_UNFINISHED.format(kind="'waiting'")} '{State.WAITING}' AND due IS NOT NULL
            UNION ALL {_UNFINISHED.format(kind=_SENT_KINDS)} '{State.SENT}'
                AND (accepted < :accepted_before OR warnings <> '[]')
        ) AS unfinished
    ) AS ordered WHERE nth <= :most ORDER BY id DESC
"""
OPEN_LIKE = f"{_ALL} open AND sha256 = :sha256 AND folder = :folder"
OTHER_ROWS = (
    "SELECT received FROM documents WHERE identity = :identity AND msg_no = :msg_no AND folder = :folder AND id <> :id"
)
BY_ID = f"{_ALL} id = :id"
# Each once, by steps in an index: it has a row for each document.
_EACH = """
    WITH RECURSIVE known(one) AS (
        SELECT min({column}) FROM documents WHERE {rows} UNION ALL
        SELECT (SELECT min({column}) FROM documents WHERE {rows} AND {column} > one) FROM known WHERE one IS NOT NULL
    ) SELECT one FROM known WHERE one IS NOT NULL
"""
_IDENTITIES = _EACH.format(column="identity", rows="TRUE")
OPEN_FOLDERS = _EACH.format(column="folder", rows="open")
CALLED = f"""
    {_ALL} id IN (
        SELECT id FROM documents WHERE id = :name OR dropped_as = :file
        UNION SELECT id FROM documents WHERE dropped_as = :unnumbered AND file = :file
        UNION SELECT id FROM documents WHERE identity IN ({_IDENTITIES}) AND msg_no = :msg_no
        UNION SELECT document FROM surplus WHERE msg_no = :msg_no
    ) ORDER BY id DESC
"""
# By what a person knows of a document: "" for what they don't. A party is an id, or a piece of a name.
_KNOWN = f"""(:number IN ('', number) AND (:party = ''
    OR :party IN ({participant("sender")}, {participant("receiver")})
    OR instr(lower(coalesce({{name}}, '')), :name) > 0) AND coalesce({{time}}, :now) BETWEEN :since AND :until)"""
SEARCH = f"{_ALL} {_KNOWN.format(name='receiver_name', time='claimed')} ORDER BY id DESC LIMIT :most"
BY_IDS = f"{_ALL} id IN (SELECT value FROM json_each(:ids))"
NEXT_DUE = f"SELECT min(due) FROM documents WHERE {_WAITING}"
TRACKED = f"{_ALL} {_ON_ITS_WAY} AND {_IS_DUE} {_IN_ORDER}"
TRACKING_DUE = f"SELECT coalesce(due, 0.0) FROM documents WHERE {_ON_ITS_WAY} ORDER BY due LIMIT 1"
COUNTS = "SELECT state, count(*) FROM documents WHERE open AND folder = :folder GROUP BY state"
# By the index of what has ended: the oldest first.
ARCHIVED = (
    f"SELECT id FROM documents WHERE company = :company AND state = '{State.DELIVERED}' AND ended < :before"
    " AND folder = :folder AND NOT open AND place >= 'archive/' AND place < :first_kept ORDER BY ended LIMIT :most"
)
FORGET = (
    "DELETE FROM restored WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM surplus WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM responses WHERE document <> '' AND document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(:ids))",
)
_NUMBERS = "SELECT CAST(value AS BIGINT) FROM json_each(:numbers)"
_NUMBERED = f"identity = :identity AND msg_no IN ({_NUMBERS})"
OWNED = (
    f"SELECT msg_no, received FROM documents WHERE {_NUMBERED} AND {_BELIEVED}"
    f" UNION ALL SELECT msg_no, received FROM surplus WHERE {_NUMBERED}"
)
OWNED_BY_ANY = """
    SELECT one FROM (SELECT CAST(value AS BIGINT) AS one FROM json_each(:numbers)) AS numbers
    WHERE EXISTS (SELECT 1 FROM documents WHERE identity = :identity AND msg_no = one)
        OR EXISTS (SELECT 1 FROM surplus WHERE identity = :identity AND msg_no = one)
"""
ELSEWHERE = (
    "SELECT identity, company, state, count(*) FROM documents"
    f" WHERE open AND state IN ('{State.SENDING}', '{State.DOUBT}', '{State.SENT}') AND identity <> ''"
    " AND identity NOT IN (SELECT value FROM json_each(:identities)) GROUP BY identity, company, state"
)
OWNERS = (
    f"{_ALL} {_NUMBERED} AND {_BELIEVED} UNION ALL"
    f" SELECT {', '.join('surplus.msg_no' if name == 'msg_no' else f'documents.{name}' for name in COLUMNS)}"
    " FROM surplus JOIN documents ON documents.id = surplus.document"
    f" WHERE surplus.identity = :identity AND surplus.msg_no IN ({_NUMBERS})"
)
# Of several requests, any may have made the message; and one without a clear answer may have made it long after.
_TIMED = """identity = :identity AND msg_no > 0 AND first_attempt > 0 AND received > '' AND unclear = 0
    AND (SELECT count(*) FROM json_each(history) WHERE json_extract(value, '$[1]') = 'sending') = 1"""
# By number, and by rowid, the order of insertion: a server set up anew has lower numbers. '' || keeps their index out.
TIMES = f"""
    SELECT * FROM (
        SELECT first_attempt, received FROM documents WHERE {_TIMED} ORDER BY msg_no DESC LIMIT :most
    ) AS numbered
    UNION SELECT * FROM (
        SELECT first_attempt, received FROM documents
        WHERE rowid > (SELECT max(rowid) - 10000 FROM documents) AND '' || {_TIMED} ORDER BY rowid DESC LIMIT :most
    ) AS inserted
"""
RECEIVED_BEFORE = """
    SELECT received FROM (
        SELECT id, identity, received FROM documents WHERE rowid < (SELECT rowid FROM documents WHERE id = :id)
        ORDER BY rowid DESC LIMIT 10000
    ) AS before WHERE identity = :identity AND received IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM restored WHERE document = before.id) LIMIT :most
"""
SURPLUS_OF = """
    SELECT surplus.msg_no, documents.dropped_as FROM surplus JOIN documents ON documents.id = surplus.document
    WHERE surplus.identity = :identity ORDER BY surplus.msg_no
"""
INSERT_SURPLUS = (
    "INSERT INTO surplus VALUES (:identity, :msg_no, :received, :document)"
    " ON CONFLICT (identity, msg_no) DO UPDATE SET received = excluded.received, document = excluded.document"
)
# SQLite before 3.39 has no IS NOT DISTINCT FROM, and PostgreSQL no IS of two values.
_SAME = "({0} = :{0} OR ({0} IS NULL AND :{0} IS NULL))".format
_GIVEN = "SELECT id, dropped_as FROM documents WHERE folder = :folder AND file = :file"
GIVEN_TO = f"""
    SELECT dropped_as FROM (
        {_GIVEN} AND meaning = :meaning
        UNION ALL {_GIVEN} AND number = :number AND type = :type AND {_SAME("issue_date")}
    ) AS given ORDER BY id DESC LIMIT 1
"""
# One row for each value, however many documents have it.
KNOWN_CONTENT = """
    SELECT 'meaning', value FROM json_each(:meaning) WHERE EXISTS (SELECT 1 FROM documents WHERE meaning = value)
    UNION ALL SELECT 'number', value FROM json_each(:number) WHERE EXISTS (SELECT 1 FROM documents WHERE number = value)
"""
SAME_MEANING = f"{_ALL} meaning = :meaning AND id <> :id AND {_BELIEVED}"
SAME_NUMBER = f"{_ALL} number = :number AND id <> :id AND {_BELIEVED}"
# Bounded: some systems give one number to all documents of a type.
SAME_NUMBER_LATELY = (
    f"{_ALL} rowid IN (SELECT rowid FROM documents WHERE number = :number ORDER BY rowid DESC LIMIT 1000)"
    f" AND {_SAME('type')} AND {_SAME('issue_date')} AND id <> :id AND {_BELIEVED} ORDER BY id LIMIT 20"
)
INSERT_RESTORED = "INSERT INTO restored VALUES (:id) ON CONFLICT DO NOTHING"

# Messages of the inbox

MESSAGE_COLUMNS = (
    "identity", "msg_no", "received", "sender", "receiver",
    "revision", "state", "company", "folder", "temporary", "file", "attempts", "due", "why", "placed", "page",
    "sidecar", "sender_name", "type", "number", "issue_date", "meaning", "repeats", "wanted", "sha256",
)  # fmt: skip
MESSAGE_KEY = MESSAGE_COLUMNS[:5]
_THIS_MESSAGE = " AND ".join(f"{name} = :{name}" for name in MESSAGE_KEY) + " AND revision = :before"
_MESSAGES = f"SELECT {', '.join(MESSAGE_COLUMNS)} FROM messages WHERE"
_OF_NUMBERS = f"msg_no IN ({_NUMBERS})"
INSERT_MESSAGE = (
    f"INSERT INTO messages ({', '.join(MESSAGE_COLUMNS)}) VALUES (:{', :'.join(MESSAGE_COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
UPDATE_MESSAGE = (
    f"UPDATE messages SET {', '.join(f'{name} = :{name}' for name in MESSAGE_COLUMNS[5:])} WHERE {_THIS_MESSAGE}"
)
_HAS_DRAFT = "folder = :folder AND state IN ('named', 'placing')"  # as its index has it
NAME_ALL = f"UPDATE messages SET state = 'named', revision = revision + 1 WHERE {_HAS_DRAFT} AND state = 'placing'"
FORGET_MESSAGE = f"DELETE FROM messages WHERE {_THIS_MESSAGE}"
NUMBERED = f"{_MESSAGES} identity = :identity AND {_OF_NUMBERS}"
NUMBERED_ANYWHERE = f"{_MESSAGES} {_OF_NUMBERS}"
PLACED_AS = f"{_MESSAGES} file = :file OR substr(file, CAST(length(file) + 1 - :length AS INTEGER)) = :inside"
SEARCH_MESSAGES = f"""
    {_MESSAGES} {_KNOWN.format(name="sender_name", time="placed")} ORDER BY coalesce(placed, :now) DESC LIMIT :most
"""
# The first message of a company with the same document, for each that is asked about; an index has it at once.
_ASKED = "{0} = json_extract(asked.value, '$.{0}')".format
_FIRST = f"""SELECT msg_no FROM messages WHERE company = :company AND {{}} AND state IN ('placing', 'read')
    AND {company("sender")} = {company("json_extract(asked.value, '$.sender')")} ORDER BY rowid LIMIT 1"""
_BY_NUMBER = _FIRST.format(" AND ".join(map(_ASKED, ("number", "issue_date", "type"))))
REPEATED = f"""
    SELECT CAST(json_extract(asked.value, '$.msg_no') AS BIGINT),
        coalesce(({_BY_NUMBER}), ({_FIRST.format(_ASKED("meaning"))}))
    FROM json_each(:asked) AS asked
"""
REPEATS = f"{_MESSAGES} company = :company AND repeats >= 0 AND placed >= :since ORDER BY placed DESC LIMIT 200"
# The plus makes SQLite sort the result; else it would read all messages ever received, in the order of an index.
IN_STATES = f"{_MESSAGES} identity = :identity AND state IN (SELECT value FROM json_each(:states)) ORDER BY +msg_no"
ADOPT = f"""
    UPDATE messages SET identity = :ours, revision = :revision WHERE {_THIS_MESSAGE} AND NOT EXISTS (
        SELECT 1 FROM messages AS other WHERE other.identity = :ours
        AND {" AND ".join(f"other.{name} = :{name}" for name in MESSAGE_KEY[1:])}
    )
"""
DRAFTS = f"SELECT temporary FROM messages WHERE {_HAS_DRAFT}"
OWED_PAGES = f"""
    SELECT {", ".join(MESSAGE_COLUMNS)} FROM (
        SELECT {", ".join(MESSAGE_COLUMNS)}, row_number() OVER (PARTITION BY folder ORDER BY placed) AS nth
        FROM messages WHERE page >= 0 AND state = 'read'
    ) AS owed WHERE nth = 1
"""

# How many

TOTALS = "SELECT company, event, code, number, accepted FROM totals"
UNDER_WAY = (
    "SELECT company, state, count(*), min(coalesce(accepted, claimed)) FROM documents"
    f" WHERE open AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}', '{State.SENT}')"
    " GROUP BY company, state"
)

# What happened lately

# With the receiver's last answer.
_ANSWER = f"""coalesce((SELECT code FROM responses WHERE document <> '' AND document = documents.id
    AND {IS_ANSWER} ORDER BY at DESC, msg_no DESC LIMIT 1), '')"""
LAST_SENT = f"""SELECT accepted, company, file, type, number, receiver, receiver_name, msg_no, state, {_ANSWER}
    FROM documents WHERE company = :company AND accepted IS NOT NULL ORDER BY accepted DESC LIMIT :most"""
LAST_RECEIVED = (
    f"SELECT placed, company, file, type, number, sender, sender_name, msg_no, {OWES_ANSWER} FROM messages"
    " WHERE company = :company AND placed IS NOT NULL AND file <> '' ORDER BY placed DESC LIMIT :most"
)
# By name, the last attempt alone: one that was put back and sent by now has not failed.
FAILED_SINCE = f"""
    SELECT dropped_as FROM documents AS one WHERE company = :company AND state = '{State.FAILED}' AND ended > :since
    AND NOT EXISTS (
        SELECT 1 FROM documents AS later
        WHERE later.dropped_as = one.dropped_as AND later.folder = one.folder AND later.claimed > one.claimed
    ) ORDER BY ended DESC
"""
# A SELECT for each day, which only counts entries of an index; a join would sort them first.
_PER_DAY = """
    SELECT (SELECT count(*) FROM {of} AND company = :company AND {moment} >= day AND {moment} < next) FROM (
        SELECT day, lead(day) OVER (ORDER BY day) AS next
        FROM (SELECT CAST(value AS DOUBLE PRECISION) AS day FROM json_each(:days)) AS listed
    ) AS days WHERE next IS NOT NULL ORDER BY day
"""
SENT_PER_DAY = _PER_DAY.format(of="documents WHERE accepted IS NOT NULL", moment="accepted")
RECEIVED_PER_DAY = _PER_DAY.format(of="messages WHERE placed IS NOT NULL", moment="placed")
FAILED_PER_DAY = _PER_DAY.format(of=f"documents WHERE state = '{State.FAILED}'", moment="ended")

# Folders

FOLDER_PATHS = "SELECT id, path FROM folders"
FOLDER_PATH = "SELECT path FROM folders WHERE id = :id"
MOVE_MESSAGES = (
    "UPDATE messages SET folder = :path, revision = revision + 1 WHERE folder <> :path AND "
    + _HAS_DRAFT.replace(":folder", f"({FOLDER_PATH})")
)
FOLDER_AT = "SELECT id FROM folders WHERE path = :path"
RECORD_FOLDER = "INSERT INTO folders VALUES (:id, :path, FALSE) ON CONFLICT (id) DO UPDATE SET path = excluded.path"
SETTLED = "SELECT settled FROM folders WHERE id = :id"
SETTLE = "UPDATE folders SET settled = :settled WHERE id = :id"
CHANGES = "SELECT counted, marked, least FROM changes WHERE folder = :id"
COUNT_ON = """
    INSERT INTO changes VALUES (:id, :seen + 1, 0, 0)
    ON CONFLICT (folder) DO UPDATE SET counted = max(changes.counted, :seen) + 1
"""
MARK = "UPDATE changes SET marked = counted WHERE folder = :id"
MARK_AT = "UPDATE changes SET marked = :seen WHERE folder = :id AND marked < :seen"
COUNT_AS_OLDER = """
    INSERT INTO changes SELECT id, 0, -1, 0 FROM folders WHERE TRUE
    ON CONFLICT (folder) DO UPDATE SET marked = changes.marked - 1
"""
COUNT_ALL_ON = """
    INSERT INTO changes SELECT id, 1, 0, 0 FROM folders WHERE TRUE
    ON CONFLICT (folder) DO UPDATE SET counted = changes.counted + 1
"""
LEAST = "UPDATE changes SET least = counted, marked = counted - 1 WHERE folder = :id"

# Responses

RESPONSE_COLUMNS = tuple(field.name for field in fields(Response))
RESPONSE_KEY = ("identity", "msg_no", "received", "nth")
_RESPONSES = f"SELECT {', '.join(RESPONSE_COLUMNS)} FROM responses WHERE"
_THIS_RESPONSE = " AND ".join(f"{name} = :{name}" for name in RESPONSE_KEY)
RECORD_RESPONSE = (
    f"INSERT INTO responses (owed_to, {', '.join(RESPONSE_COLUMNS)}) VALUES ('', :{', :'.join(RESPONSE_COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
# The conditions repeat those of the partial indexes; none of the statements reads what waits for other numbers.
_WAITS = "document = ''"
FORGET_UNTIED = f"DELETE FROM responses WHERE document IN ('', '{AMBIGUOUS}') AND at < :since"
# The last ones: a receiver may answer one number thousands of times, and each costs a look for what it may be about.
_OF_NUMBER = f"{_RESPONSES} {_WAITS} AND at >= :since AND number = :number AND"
_LAST = f"ORDER BY at DESC LIMIT {KEPT}"
WAITING_FOR = f"""
    SELECT * FROM ({_OF_NUMBER} {company("sender")} = {company(":receiver")} {_LAST}) AS by_sender
    UNION SELECT * FROM ({_OF_NUMBER} {IS_OF_PLATFORM} {_LAST}) AS by_platform
    UNION {_RESPONSES} {_WAITS} AND at >= :since AND number IN (:uuid, 'uuid:' || :uuid)
    ORDER BY at, msg_no, nth
"""
WAITED_FOR = f"""
    SELECT value FROM json_each(:references) WHERE EXISTS (SELECT 1 FROM responses WHERE {_WAITS} AND number = value)
"""
UNTIED = f"{_RESPONSES} {_WAITS} ORDER BY at, msg_no, nth"
MEANT = f"""
    {_ALL} id IN (
        SELECT id FROM documents WHERE number = :number
            AND {company("receiver")} = {company(":from_party")} AND {company("sender")} = {company(":to_party")}
        UNION SELECT id FROM documents WHERE uuid = :uuid
        UNION SELECT id FROM documents WHERE :is_status AND number = :number AND issue_date = :issue_date
    ) AND (msg_no IS NOT NULL OR state IN ('{State.SENDING}', '{State.DOUBT}')) AND {_BELIEVED} ORDER BY id
"""
# Each by one step in an index, however many there are.
_FIRST_OF = "SELECT min(at) AS at FROM responses WHERE document <> '' AND document = value AND code = '{}'".format
_FIRST_OF_EACH = " UNION ALL ".join(map(_FIRST_OF, REJECTED))
FIRST_REJECTIONS = f"SELECT value, (SELECT min(at) FROM ({_FIRST_OF_EACH}) AS firsts) FROM json_each(:ids)"
TIE = f"UPDATE responses SET document = :document, owed_to = :folder WHERE {_THIS_RESPONSE}"
OWED = f"""
    {_RESPONSES} owed_to <> '' AND (owed_to = :folder OR (company = :company AND at >= :since))
    ORDER BY owed_to = :folder DESC, at, msg_no, nth LIMIT :most
"""
WRITTEN = f"UPDATE responses SET owed_to = '' WHERE {_THIS_RESPONSE}"
# The last one of each document; of each number, where several documents may be meant. However often a receiver rejects
# one, and however many one company's are, the others are in it.
REJECTIONS = f"""
    SELECT {", ".join(RESPONSE_COLUMNS)} FROM (
        SELECT *, row_number() OVER (PARTITION BY company ORDER BY at DESC) AS newest FROM responses WHERE rowid IN (
            SELECT max(rowid) FROM responses WHERE document <> '' AND {IS_REJECTION} AND at >= :since
            GROUP BY document, sender, number
        )
    ) AS last WHERE newest <= 200 ORDER BY at DESC
"""

# Errands

WANTED = "SELECT event FROM wanted ORDER BY event"
WANT_NONE = "DELETE FROM wanted"
WANT = "INSERT INTO wanted VALUES (:event)"
ERRANDS = """
    SELECT number, event, company, document, msg_no, folder, file, sidecar FROM errands
    WHERE number IN (SELECT min(number) FROM errands GROUP BY company) ORDER BY number
"""
END_ERRAND = "DELETE FROM errands WHERE number = :number"

# About the journal itself

KEEP = "INSERT INTO about VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
KEPT_TEXT = "SELECT value FROM about WHERE key = :key"
SAY_ABOUT = "INSERT INTO about VALUES (:key, :value) ON CONFLICT DO NOTHING"
SAY_SCHEMA = "UPDATE about SET value = :value WHERE key = 'schema'"
ABOUT = "SELECT key, value FROM about"
