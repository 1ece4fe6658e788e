"""The journal: a durable record of all requests to the access point and its answers, in one SQLite file.

A record is on the disk when its call returns. Rows carry a revision, so that a step from a stale row (after a person's
command) is refused with `Changed` and overwrites nothing. No other package but the sandbox contains SQL.

    documents                       documents, and which of them are duplicates
    numbers, messages, folders, waivers    queries and records, by subject
    totals                          how many there have been, and how many are under way
    errands                         commands that are still to be run
    responses, tying                responses to documents: which are meant, and what their sidecars lack
    answering                       answers to received documents, with their SQL
    rows                            rows as the values that they hold
    removal                         rows of what was removed from the archive
    copies                          copies of the file, by a command or each day
    lately                          what happened last, and how much on each day
    statements                      all of the SQL but that of answers and waivers
    store                           transactions, connections, errors
    connection                      how the file is opened, and when it may checkpoint
    schema                          the tables, and the form of their values
    postgres_schema                 the same tables and triggers in PostgreSQL
    migration                       older schemas, and the steps from each to the next
"""

from filedrop.journal.answering import Answering, InvoiceAnswer
from filedrop.journal.connection import SQLITE_VERSION
from filedrop.journal.copies import Copies
from filedrop.journal.documents import Drop, Duplicate, Newest
from filedrop.journal.errands import Errand, Errands
from filedrop.journal.folders import Folders
from filedrop.journal.lately import Days, Lately, Received, Sent
from filedrop.journal.messages import MessageRow, Messages, is_same
from filedrop.journal.numbers import Answer, Numbers
from filedrop.journal.removal import Removal
from filedrop.journal.responses import Responses
from filedrop.journal.rows import Known
from filedrop.journal.totals import Total, Totals, UnderWay
from filedrop.journal.waivers import Waiver, Waivers

__all__ = [
    "JOURNAL",
    "SQLITE_VERSION",
    "Answer",
    "Days",
    "Drop",
    "Duplicate",
    "Errand",
    "InvoiceAnswer",
    "Journal",
    "Known",
    "MessageRow",
    "Newest",
    "Received",
    "Sent",
    "Total",
    "UnderWay",
    "Waiver",
    "is_same",
]

JOURNAL = "journal.sqlite"  # in the state folder


class Journal(Numbers, Responses, Answering, Messages, Folders, Waivers, Totals, Errands, Removal, Copies, Lately):
    """The open journal. Thread-safe. Raises JournalError where it can't be read or written."""
