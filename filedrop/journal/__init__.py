"""The journal: what we have said to the access point and what we have heard, durably, in one SQLite file.

A record is on the disk when its call returns. Rows carry a revision, so that a step taken from a stale row (a person's
command meanwhile) is refused with `Changed` instead of overwriting what was heard. No SQL is written elsewhere.

SQLAlchemy would say the same in Python: it took a quarter of the CPU of each document, 28 MB and 150 ms at the start.

    documents, messages, folders    what is asked and recorded, by subject
    document_statements             the SQL for the first of them
    store                           how it is written and read
    schema                          the tables, and what their columns hold
"""

from filedrop.journal.documents import Documents, Duplicate
from filedrop.journal.folders import Folders
from filedrop.journal.messages import Key, MessageRow, Messages, key_of

__all__ = ["Duplicate", "Journal", "Key", "MessageRow", "key_of"]


class Journal(Documents, Messages, Folders):
    """The open journal. Thread-safe. Raises JournalError where it can't be read or written."""
