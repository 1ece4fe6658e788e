"""The access point: its interface's verbs as a client that any thread may use.

    client      the verbs: send, outbox, inbox, messages, status, download, mark_read, directory, accepted, ...
    verdict     what an answer means: contract 6's table as code
    answers     XML -> Message, Page, Statistics
    multipart   the body of POST /outbox
    download    a document, from wherever the access point keeps it
    links       which links may be followed, and where to
    transport   requests over connections of our own: TLS, login, deadlines, retries

To import this costs little: requests and lxml are loaded when an access point is first spoken to.
"""

from filedrop.accesspoint.answers import Flow, Message, Page, Statistics, clean
from filedrop.accesspoint.client import AccessPoint, Listing, Pair
from filedrop.accesspoint.download import Gone
from filedrop.accesspoint.multipart import BrokenOff, Source

__all__ = [
    "AccessPoint",
    "BrokenOff",
    "Flow",
    "Gone",
    "Listing",
    "Message",
    "Page",
    "Pair",
    "Source",
    "Statistics",
    "clean",
]
