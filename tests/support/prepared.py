"""Documents that are prepared: a rule gives them another receiver than they state, which is posted in its place."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from support.corpus import DOCUMENTS
from support.documents import BUYER, invoice
from support.rules import published_rules
from support.stepping import RULES, Life

from filedrop.config import Validation
from filedrop.errors import DocumentError
from filedrop.identify import read, wire
from filedrop.validation import Kind, validator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

    from filedrop.identify import Reading
    from filedrop.prepare import Edit

PDF = b"%PDF-1.7\n" + bytes(range(256)) + b"\n%%EOF\n"
STATED = "0088:7300010000001"  # the receiver that the documents state, in place of BUYER
PREPARE = {"prepare": "{ids: true}"}  # of `outbound`
WITH_PDFS = {"prepare": "{ids: true, pdf: require}"}
BY_RULE = f"mapping: [{{receiver: '{BUYER}'}}]"


def stated(number: str, **changes: Any) -> bytes:
    """An invoice that states another receiver than the one that it goes to."""
    return invoice(number, receiver=STATED, **changes)


def posted(content: bytes) -> bytes:
    """What is posted of a document."""
    return content.replace(b'schemeID="0088">7300010000001<', b'schemeID="0192">810418052<')


class Steps:
    """A world whose filedrop prepares documents, and goes step by step."""

    def __init__(self, make_world: Callable[..., World], clock: Clock, more: str = "", **outbound: str) -> None:
        keys, more = RULES | PREPARE | outbound, f"{BY_RULE}\n{more}"
        self.world = make_world(outbound=keys, inbound={"poll": "5m"}, clock=clock.true, more=more, posted=posted)
        self.clock = clock
        self.life = Life(self.world, clock)
        self.begin()

    def begin(self) -> None:
        """Let it look at its folders."""
        self.life.turn()
        self.life.do_all()

    def again(self, **outbound: str) -> None:
        """Kill it, and start it with these settings."""
        self.life.drop()
        self.world._keys["outbound"] |= outbound
        self.life = Life(self.world, self.clock)
        self.begin()

    def drop(self, name: str, content: bytes, *faults: Any, seconds: float = 20, pdf: bytes | None = None) -> None:
        """Drop a document, perhaps with a PDF, whose upload meets with these faults."""
        self.world.front.next("POST /outbox", *faults)
        self.world.drop(name, content, pdf=pdf)
        self.go_on(seconds)

    def go_on(self, seconds: float) -> None:
        """Let so much time pass."""
        self.life.touch()
        self.life.go_on(seconds)

    def settle(self) -> None:
        """Let all that is to happen happen; and nothing is lost, sent twice or left behind."""
        self.go_on(3600)
        self.world.invariants()

    def lying(self) -> set[str]:
        """The files below `outbound/`, but the marker."""
        paths = (path for path in self.world.outbound.rglob("*") if path.is_file() and path.name != ".filedrop")
        return {path.relative_to(self.world.outbound).as_posix() for path in paths}

    def sent(self) -> list[bytes]:
        """What the access point has accepted."""
        store = self.world.sandbox.store
        return [store.content(message.msg_no) for message in store.sent("acme")]

    def events(self, name: str) -> list[str]:
        """The events in a document's sidecar."""
        return [event["event"] for event in self.world.sidecar(name)["history"]]


def pieces(document: bytes, size: int) -> Iterator[bytes]:
    """A document in pieces of this size."""
    return (document[place : place + size] for place in range(0, len(document), size))


def on_the_wire(document: bytes) -> bytes:
    """A document as it goes on the wire."""
    return b"".join(wire(io.BytesIO(document), read(io.BytesIO(document))))


def written(edit: Edit) -> bytes:
    """What an edit writes."""
    return b"".join(edit.text)


def undone(posted: bytes, document: bytes, made: list[Edit]) -> bytes:
    """The dropped bytes, taken out of the posted ones."""
    left = posted
    for edit in sorted(made):  # what is before its place has been undone
        assert left[edit.start :].startswith(written(edit))
        left = left[: edit.start] + document[edit.start : edit.end] + left[edit.start + len(written(edit)) :]
    return left


def in_corpus(is_wanted: Callable[[Reading], object]) -> list[Path]:
    """The documents of the corpus that can be read and that this says yes to."""
    found = []
    for path in sorted(DOCUMENTS.rglob("*.xml")):
        with path.open("rb") as file:
            try:
                if is_wanted(read(file)):
                    found.append(path)
            except DocumentError:
                continue
    return found


def newly_broken(paths: Iterable[Path], prepared: Callable[[bytes], bytes], folder: Path) -> dict[str, set[str]]:
    """The published rules that each document breaks once it is prepared, and kept before; without those refused.

    `folder`: where the rules are kept.
    """
    validator = validator_of(Validation(rules=published_rules(folder)), passed=())
    assert validator is not None
    found = dict[str, set[str]]()
    tried = 0
    try:
        for path in paths:
            document = on_the_wire(path.read_bytes())
            reading = read(io.BytesIO(document))
            kind = Kind(reading.root_name, reading.customization)
            try:
                changed = prepared(document)
            except DocumentError:
                continue
            before, after = (
                {each.rule for each in validator.judge(kind, pieces(content, 1 << 16)).findings if each.is_fatal}
                for content in (document, changed)
            )
            found[path.name] = after - before
            tried += 1
    finally:
        validator.close()
    assert tried > 50
    return found
