"""What filedrop promises of every document and message, at every rest, whatever has happened.

Every dropped document lies, unchanged, in exactly one folder. What lies in `sent/` or `archive/` was accepted exactly
once, under its number and with its ids, and its sidecar says so; what lies in `failed/` as `rejected` was never
accepted; nothing was accepted twice. Every message was delivered exactly once, with its sidecar, and is marked read.
What was embedded in it lies beside it where it is to, byte for byte, once. Nothing temporary is left, and no sidecar,
note or attachment without its document.
"""

from __future__ import annotations

import io
import json
import os
import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections import Counter
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.schemas import wrong

from filedrop.files.directory import SILLY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from support.world import World

    from filedrop.sandbox import Message

TEMPORARY = (".tmp", ".part", ".draft")


def broken(world: World) -> Iterator[str]:
    """Every promise of a document or message that doesn't hold in this world, as a sentence."""
    return chain(_of_documents(world), _of_messages(world))


def leftovers(world: World) -> Iterator[str]:
    """What ought to have been cleared away."""
    # os.walk goes by a folder that has just got its name; rglob doesn't.
    walk = ((Path(folder), name) for folder, folders, files in os.walk(world.root) for name in (*folders, *files))
    for folder, name in walk:
        path = folder / name
        if path.parent == world.root and (name.strip(".").startswith("status.json") or name.endswith(".tmp")):
            continue  # the daemon's own
        if name.endswith(".tmp") and path.with_name("outbound").exists():
            continue  # a draft of a company's page, which a killed daemon leaves to the next one
        if SILLY.fullmatch(name) and folder_is_read(path.parent):
            continue  # these tests had it open when the mount died
        if (name.startswith(".") and name != ".filedrop") or name.endswith(TEMPORARY):
            yield f"{path.relative_to(world.root)} was left behind"
        for suffix in (".json", ".why.txt", ".posted", ".rejected.txt"):
            if name.endswith(suffix) and not path.with_name(name.removesuffix(suffix)).exists():
                yield f"{path.relative_to(world.root)} lies beside nothing"


def folder_is_read(folder: Path) -> bool:
    """Do people read files here, and filedrop removes nothing that somebody else has left?"""
    return folder.name not in ("outbound", "sending")


def is_document(path: Path) -> bool:
    """Is this a document, and not a sidecar, a note, a hold file, hidden or temporary?"""
    is_hold = path.name.partition(".")[0].lower() == "hold" and path.parent.name == "outbound"
    return not (
        is_hold
        or path.name.startswith(".")
        or path.name.endswith((".json", ".why.txt", ".posted", ".rejected.txt", ".pdf", *TEMPORARY))
    )


def is_regular(path: Path) -> bool:
    """Is it a file, and no link, pipe or device that somebody has planted?"""
    return path.is_file() and not path.is_symlink()


def sidecar(document: Path) -> dict[str, Any]:
    """What is written beside a document; nothing where no sidecar lies."""
    beside = document.with_name(f"{document.name}.json")
    return _parsed(beside.read_bytes()) if is_regular(beside) else {}


@lru_cache(maxsize=1000)
def _parsed(content: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(content)
    return parsed


@lru_cache(maxsize=1000)
def meaning(content: bytes) -> str:
    """A document in the one form in which it can be compared with what a server has written anew (C14N 2.0)."""
    return ET.canonicalize(from_file=io.BytesIO(content), strip_text=True)


def _of_documents(world: World) -> Iterator[str]:
    accepted, places = world.accepted(), world.places()
    sent = {message.msg_no: message for message in world.sandbox.store.sent("acme")}
    if accepted["?"]:
        yield f"{accepted['?']} documents were accepted that nobody dropped"
    for name, content in world.dropped.items():
        place = places.get(name)
        if place is None:
            yield f"{name} is lost"
        elif " + " in place:
            yield f"{name} lies in several places: {place}"
        elif accepted[name] > 1:
            yield f"{name} was accepted {accepted[name]} times"
        elif place == "sent" or place.startswith("archive/"):
            said = world.sidecar(name)
            holds = world.sandbox.store.content
            yield from (
                f"{name}: {problem}"
                for problem in of_accepted(holds, said, place, content, sent, posted=world.posted_of)
            )
            yield from (f"{name}: {problem}" for problem in _of_copy(world, place, said, content))
        elif place == "failed" and world.error(name) not in ("no-answer", "not-delivered") and accepted[name]:
            yield f"{name} failed as {world.error(name)}, but was accepted"
        elif place == "not-on-peppol":
            yield from (f"{name}: {problem}" for problem in _of_unreachable(world.sidecar(name), accepted[name]))
        if place is not None and name in world.pdfs:
            yield from (f"{name}: {problem}" for problem in _of_pdf(world, place, name))


def _of_unreachable(said: dict[str, Any], accepted: int) -> Iterator[str]:
    """What is wrong with a document that is to be sent another way: never posted, or with its message's number."""
    yield from wrong("sidecar", said)
    if said.get("state") != "unreachable" or said.get("error", {}).get("code") != "not-on-peppol":
        yield f"it lies in not-on-peppol, but its sidecar says {said.get('state')}, {said.get('error')}"
    elif (said["msg_no"] is not None) != bool(accepted):
        yield f"its message is {said['msg_no']}, and it was accepted {accepted} times"


def of_accepted(
    holds: Callable[[int], bytes],
    said: dict[str, Any],
    place: str,
    content: bytes,
    sent: Mapping[int, Message],
    *,
    posted: Callable[[bytes], bytes] = lambda content: content,
) -> Iterator[str]:
    """What is wrong with the sidecar of a document in `sent/` or `archive/`.

    `sent`: the messages by number; `holds`: the document of each; `posted`: what is posted of a dropped one.
    """
    if problems := list(wrong("sidecar", said)):
        yield from problems
        return
    if said["state"] != ("sent" if place == "sent" else "delivered"):
        yield f"it lies in {place}, but its sidecar says {said['state']}"
    if place != "sent" and not (said["delivered"] and said["delivered"][:7] == place.removeprefix("archive/")):
        yield f"it lies in {place}, but was delivered {said['delivered']}"
    message = sent.get(said["msg_no"])
    if message is None:
        yield f"the access point knows no message {said['msg_no']}"
        return
    if meaning(holds(message.msg_no)) != meaning(posted(content)):
        yield f"message {message.msg_no} is another document"
    for key in ("sender", "receiver", "document_id", "process_id"):
        if getattr(message, key) != said[key]:
            yield f"its {key} was sent as {getattr(message, key)}, but its sidecar says {said[key]}"
    if said["size"] != len(content) or said["history"][0]["event"] != "claimed":
        yield "its sidecar tells of something else"


def _of_copy(world: World, place: str, said: dict[str, Any], content: bytes) -> Iterator[str]:
    """What is wrong with what was posted in a document's place, and with what its sidecar says of that."""
    copy, posted = world.outbound / place / f"{said.get('file')}.posted", world.posted_of(content)
    if (posted == content) == ("posted" in said):
        yield "its sidecar and what was posted differ in whether anything was changed"
    elif "posted" in said and not copy.exists():
        yield "what was posted isn't next to it"
    elif "posted" in said and copy.read_bytes() != posted:
        yield "what is next to it is not what was posted"


def _of_pdf(world: World, place: str, name: str) -> Iterator[str]:
    """What is wrong with the PDF of a document: it is next to it, and nowhere else."""
    here, pdf = world.outbound / place, world.pdfs[name]
    own = next((path for path in here.iterdir() if is_regular(path) and path.read_bytes() == world.dropped[name]), None)
    found = [path for path in world.outbound.rglob("*.pdf") if path.read_bytes() == pdf]
    if own is None or own.with_suffix(".pdf") not in found or len(found) != list(world.pdfs.values()).count(pdf):
        yield f"its PDF lies in {[path.relative_to(world.outbound).as_posix() for path in found]}"


def _of_messages(world: World) -> Iterator[str]:
    unread = {message.msg_no for message in world.sandbox.store.inbox("acme")}
    delivered = Counter(sidecar(path).get("msg_no") for path in world.delivered())
    for msg_no, content in world.received.items():
        if delivered[msg_no] != 1:
            yield f"message {msg_no} was delivered {delivered[msg_no]} times"
        elif next(path for path in world.delivered() if sidecar(path).get("msg_no") == msg_no).read_bytes() != content:
            yield f"message {msg_no} was delivered as something else"
        if msg_no in unread:
            yield f"message {msg_no} isn't marked read"
    if delivered[None]:
        yield f"{delivered[None]} received documents have no sidecar"
    yield from of_attachments(world.inbound)


def of_attachments(inbound: Path) -> Iterator[str]:
    """What is wrong with what was embedded in a folder's documents, where their sidecars speak of that."""
    listed: Counter[str] = Counter()
    for path in inbound.rglob("*.xml"):
        told = sidecar(path).get("attachments")
        if told is None:
            continue
        listed.update(one["file"] for one in told if one["file"])
        wanted = {number: content for number, content in enumerate(embedded(path.read_bytes()), 1) if content}
        for number, one in enumerate(told, 1):
            there = path.with_name(one["file"]) if one["file"] else None
            if (there is not None) != (number in wanted):
                yield f"{path.name}: attachment {number} is told of as {one}"
            elif there is not None and (not there.exists() or there.read_bytes() != wanted[number]):
                yield f"{path.name}: attachment {number} is not what was embedded"
        if len(told) < len(wanted):
            yield f"{path.name}: {len(told)} of {len(wanted)} attachments are told of"
    lying = Counter(
        path.name for path in inbound.rglob("*") if re.search(r"\.xml-|-[0-9]+-[^.]*\.(?!xml)[a-z]+|\.pdf$", path.name)
    )
    for name in lying - listed:
        if not name.endswith((".json", ".html", ".xml")):  # no attachment's name ends in these
            yield f"{name} is nobody's attachment"


def embedded(document: bytes) -> Iterator[bytes | None]:
    """What is embedded in a document, decoded in another way than filedrop does it; None where it can't be."""
    for element in ET.fromstring(document).iter():  # noqa: S314 - the tests' own writing, or the corpus
        if element.tag.endswith(("}EmbeddedDocumentBinaryObject", "}AttachmentBinaryObject")):
            letters = "".join("".join(element.itertext()).split())
            try:
                yield None if len(element) else b64decode(letters, validate=True)
            except ValueError:
                yield None
        elif element.tag.endswith("}BinaryContent"):
            from support.pdfs import xml_in  # noqa: PLC0415 - few tests need the extra

            pdf = b64decode(element.text or "")
            yield from (pdf, xml_in(pdf))
