"""The access point: a thread-safe client of its interface.

    client      the verbs: send, outbox, inbox, messages, status, download, mark_read, directory, accepted, ...
    verdict     the meaning of an answer: contract 6's table as code
    listing     a list of messages, page by page
    answers     XML -> Page, Statistics
    multipart   the body of POST /outbox
    download    a message's document, from base_url or by a link
    links       which links may be followed, and where to
    directory   checks of a receiver in the access point's directory
    breaker     the circuit breaker: whether requests may be made now: outages, a refused login, Retry-After
    transport/  requests over connections of our own: TLS, login, deadlines, retries

The import is cheap: requests and lxml are loaded with the first request.
"""

from filedrop.accesspoint.answers import Flow
from filedrop.accesspoint.client import AccessPoint, Pair
from filedrop.accesspoint.listing import MOST_LISTED, Listing
from filedrop.accesspoint.multipart import BrokenOff

__all__ = [
    "MOST_LISTED",
    "AccessPoint",
    "BrokenOff",
    "Flow",
    "Listing",
    "Pair",
]
