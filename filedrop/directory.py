"""What the access point's directory knows of a receiver, asked before a document is sent (contract 2, `directory`).

It can object to a document, and it can know nothing: a directory that is missing, slow or broken refuses no document,
and is left alone for a minute, so that it delays few. What it says of a receiver is asked once for all documents; a
"no" is believed for a minute only, so that who mends it needn't wait.
"""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from filedrop.document import Fault, local_name, participant_key
from filedrop.errors import AccessPointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import timedelta

    import structlog

    from filedrop.accesspoint import AccessPoint, Pair
    from filedrop.document import Ids

REST = 60.0  # seconds
MOST = 10_000  # receivers that are remembered at once
SHOWN = 3  # pairs in a note
_SCHEME = re.compile(r"\A[a-z0-9-]+::(?=urn:|http)")  # such as busdox-docid-qns:: or cenbii-procid-ubl::


@dataclass(frozen=True, slots=True)
class Known:
    """What the directory says: is the receiver connected, and which pairs does it accept? None where it doesn't say."""

    connected: bool | None = None
    accepts: tuple[Pair, ...] | None = None


class Directory:
    """One account's directory, for all threads. `cache` is how long it is believed, `steady` a clock in seconds."""

    def __init__(
        self,
        access_point: AccessPoint,
        *,
        cache: timedelta,
        steady: Callable[[], float],
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self._access_point = access_point
        self._cache = cache.total_seconds()
        self._steady = steady
        self._log = log
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, str], tuple[float, Future[Known]]] = {}
        self._rests_until = -1.0

    def objection(self, ids: Ids) -> Fault | None:
        """Why the receiver would not get this document; None where nothing speaks against it.

        The codes are `receiver-unknown` and `not-accepted`; the message is one line. Waits for the directory, not long.
        """
        objection = _objection(self._known(ids, self._cache), ids)
        if objection and self._cache > REST:
            return _objection(self._known(ids, REST), ids)
        return objection

    def _known(self, ids: Ids, oldest: float) -> Known:
        """What is known, from an answer of at most this age in seconds; one thread asks, the others wait for it."""
        key = (participant_key(ids.receiver), local_name(ids.document_id))
        with self._lock:
            now = self._steady()
            asked_at, answer = self._asked.get(key, (now, None))
            if answer is not None and now - asked_at <= oldest:
                mine = False
            elif now < self._rests_until:
                return Known()
            else:
                mine, answer = True, Future()
                if len(self._asked) >= MOST:
                    self._asked.clear()
                self._asked[key] = (now, answer)
        if mine:
            known = Known()
            try:
                known = look_up(self._access_point, ids.receiver, local_name(ids.document_id))
            except AccessPointError as error:
                with self._lock:
                    self._rests_until = self._steady() + REST
                    self._asked.pop(key, None)
                self._log.info("directory.away", why=str(error))
            finally:  # whoever waits for it is never left waiting
                answer.set_result(known)
        return answer.result()


def look_up(access_point: AccessPoint, receiver: str, document: str) -> Known:
    """Ask about a receiver and documents of this local name ("": any). One request where the news are good.

    Raises AccessPointError.
    """
    accepts = access_point.accepted(receiver, document) if document else None
    return Known(True if accepts else access_point.directory(receiver), accepts)


def takes(pair: Pair, document_id: str, process_id: str) -> bool:
    """Whether a document with these ids is one of those that a receiver accepts as `pair`.

    A customization that ends with `*` stands for all that begin so (Peppol policy for identifiers, wildcards).
    """
    accepted, process, wanted, wanted_process = (
        _SCHEME.sub("", id_, count=1) for id_ in (*pair, document_id, process_id)
    )
    if process != wanted_process:
        return False
    before, wildcard, behind = accepted.partition("*")
    if not wildcard:
        return accepted == wanted
    return wanted.startswith(before) and wanted.endswith(behind)


def nearest(accepts: Iterable[Pair], document_id: str, process_id: str) -> list[Pair]:
    """The pairs that a receiver accepts, beginning with the one most like these ids; each once."""

    def distance(pair: Pair) -> tuple[bool, bool, float]:
        likeness = SequenceMatcher(None, pair[0], document_id, autojunk=False).ratio()
        return pair[0] != document_id, pair[1] != process_id, -likeness

    return sorted(dict.fromkeys(accepts), key=distance)


def _objection(known: Known, ids: Ids) -> Fault | None:
    """What speaks against sending a document with these ids."""
    receiver, document = ids.receiver, local_name(ids.document_id)
    if known.connected is False and not known.accepts:
        return Fault(
            "receiver-unknown",
            f"the receiver {receiver} is not in the access point's directory, so nothing can be delivered to it",
            "Ask the receiver for its ParticipantID, and correct it in the document, the table or the rule. Whether it "
            f"is registered: filedrop lookup {receiver}",
        )
    if known.accepts is None or any(takes(pair, ids.document_id, ids.process_id) for pair in known.accepts):
        return None
    if not known.accepts:
        return Fault(
            "not-accepted",
            f"the receiver {receiver} accepts no {document} at all, as the access point's directory says",
            "Send it another way, or ask the receiver to register for such documents.",
        )
    pairs = nearest(known.accepts, ids.document_id, ids.process_id)
    same = pairs[0][0] == ids.document_id
    lacks = f"with the process {ids.process_id}" if same else f"as {_written((ids.document_id, ids.process_id))}"
    lines = [
        "Have the document made as the receiver accepts it. Where only its ids are wrong, set them by a mapping rule.",
        *(f"Accepted: {_written(pair)}" for pair in pairs[:SHOWN]),
    ]
    if len(pairs) > SHOWN:
        lines.append(f"and {len(pairs) - SHOWN} more: filedrop lookup {receiver} {document}")
    return Fault(
        "not-accepted",
        f"the receiver {receiver} doesn't accept this {document} {lacks}, as the access point's directory says; the "
        f"nearest that it accepts is {_written(pairs[0])}",
        "\n".join(lines),
    )


def _written(pair: Pair) -> str:
    return f"{pair[0]} with the process {pair[1]}"
