"""Every real document there is, received with its attachments and its page beside it.

What lies there is judged by Python's own libraries alone: nothing here is read or decoded as filedrop does it.
"""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from support.corpus import DOCUMENTS, needs_corpus
from support.documents import BILLING, BILLING_PROCESS, BUYER, SELLER
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERYTHING = {"attachments": "beside", "readable": "html"}
CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
EMBEDDING = f"{CBC}EmbeddedDocumentBinaryObject", "AttachmentBinaryObject"  # CII's namespace has many versions
XML_SPACE = dict.fromkeys(map(ord, " \t\r\n"))
MOST, LARGEST = 100, 100_000_000  # attachments of one document, bytes of one (docs/receive.md)
SCHEMES = "http:", "https:", "//", "javascript:", "data:", "file:"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    needs_corpus,
]


def test_the_whole_corpus_with_everything(tmp_path: Path) -> None:
    """Each of 827 real documents lies there once, byte for byte, with what is embedded in it, its sidecar and its page.

    Nothing else does, and all messages are marked as read.
    """
    contents = [path.read_bytes() for path in sorted(DOCUMENTS.rglob("*")) if path.is_file()]
    assert len(contents) == 827
    with World(tmp_path, inbound=EVERYTHING, read_timeout="30s") as world:
        world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
        messages = {receive(world, content): content for content in contents}
        with world.daemon() as daemon:
            world.until(lambda: settled(world, len(contents)), 500, what="all have arrived, with their pages")
            world.stop(daemon)
        problems = list(broken(world.inbound, messages))
        assert not problems, "\n".join(problems)
        assert not world.sandbox.store.inbox("acme")
        assert not world.files()
        assert sum(isinstance(data, bytes) for content in contents for _, data in embedded(content)) == 161


def receive(world: World, content: bytes) -> int:
    """Put a message into the inbox, listed as what it is: the access point knows what is inside an envelope."""
    root = ET.fromstring(content)  # noqa: S314 - the corpus
    if root.tag.endswith("StandardBusinessDocument") and len(root) > 1:
        root = root[1]  # behind the header
    namespace, _, name = root.tag.rpartition("}")
    return world.sandbox.store.receive(
        sender=BUYER,
        receiver=SELLER,
        document_id=f"{namespace[1:] or 'urn:none'}::{name}##{BILLING}::2.1",
        process_id=BILLING_PROCESS,
        content=content,
    )


def settled(world: World, count: int) -> bool:
    """Is every message marked as read, and has the folder so many pages? Those come a moment after their documents."""
    return not world.sandbox.store.inbox("acme") and len(list(world.inbound.glob("*.html"))) >= count


def broken(inbound: Path, messages: dict[int, bytes]) -> Iterator[str]:
    """What is wrong in the folder, a sentence each; `messages`: the documents by number."""
    there = {path.name: path.read_bytes() for path in inbound.iterdir() if path.name != ".filedrop"}
    sidecars = {name: told(content) for name, content in there.items() if name.endswith(".json")}
    for number, count in Counter(sidecar.get("msg_no") for sidecar in sidecars.values()).items():
        if count > 1 or number not in messages:
            yield f"message {number} lies there {count} times"
    belonging: list[str] = []
    by_number = {sidecar.get("msg_no"): (name, sidecar) for name, sidecar in sidecars.items()}
    for number, content in messages.items():
        if number not in by_number:
            yield f"message {number} is not there"
            continue
        name, sidecar = by_number[number]
        document, page = name.removesuffix(".json"), str(sidecar.get("page"))
        attachments = [one for one in sidecar.get("attachments", [{"error": "the sidecar has none"}]) if one]
        files = [one["file"] for one in attachments if one.get("file")]
        belonging += [document, name, page, *files]
        wrong = [
            *of_document(sidecar, document, content, there),
            *of_attachments(attachments, content, there),
            *of_page(page, document, files, there),
        ]
        yield from (f"{document}: {sentence}" for sentence in wrong)
    belongs = Counter(belonging)
    yield from (f"{name} belongs to several" for name, count in belongs.items() if count > 1)
    yield from (f"{name} belongs to nothing" for name in there.keys() - belongs.keys())


def told(content: bytes) -> dict[str, Any]:
    sidecar: dict[str, Any] = json.loads(content.decode("utf-8"))
    return sidecar


def of_document(sidecar: dict[str, Any], document: str, content: bytes, there: dict[str, bytes]) -> Iterator[str]:
    if there.get(document) != content:
        yield "it is something else"
    if sidecar["file"] != document:
        yield f"its sidecar speaks of {sidecar['file']}"
    if (sidecar["size"], sidecar["sha256"]) != (len(content), hashlib.sha256(content).hexdigest()):
        yield "its sidecar has another size or hash"
    if not document.endswith(".xml") or f"-{sidecar['msg_no']}-" not in document:
        yield "its name isn't that of its message"


def of_attachments(listed: list[dict[str, Any]], content: bytes, there: dict[str, bytes]) -> Iterator[str]:
    """What is wrong with what is listed, in the order of the document, as what is embedded in it."""
    wanted = list(embedded(content))
    if len(listed) != min(len(wanted), MOST + 1):
        yield f"{len(listed)} attachments are told of, {len(wanted)} are embedded"
    for number, (one, (name, data)) in enumerate(zip(listed, wanted, strict=False), 1):
        if number > MOST or isinstance(data, str) or len(data) > LARGEST:
            why = data if isinstance(data, str) else "are in the document" if number > MOST else "larger than"
            if one["file"] or why not in one["error"]:
                yield f"attachment {number} is told of as {one}, but {why}"
            continue
        if one["file"] is None or there.get(one["file"]) != data:
            yield f"attachment {number} is not what is embedded: {one}"
            continue
        if (one["size"], one["sha256"]) != (len(data), hashlib.sha256(data).hexdigest()):
            yield f"attachment {number} has another size or hash"
        if one["stated_name"] != name:
            yield f"attachment {number} is called {one['stated_name']!r}, not {name!r}"
        if suffix(data) not in (Path(one["file"]).suffix, None):
            yield f"attachment {number} is no {Path(one['file']).suffix}, but {suffix(data)}"


def embedded(document: bytes) -> Iterator[tuple[str | None, bytes | str]]:
    """The stated name and the content of each object in a document, or why there is no content."""
    for element in ET.fromstring(document).iter():  # noqa: S314 - the corpus
        if element.tag.endswith(EMBEDDING):
            letters = "".join(element.itertext()).translate(XML_SPACE)
            try:
                data: bytes | str = b64decode(letters, validate=True) or "it is empty"
            except ValueError:
                data = "it is not base64"
            yield element.get("filename") or None, data


def suffix(data: bytes) -> str | None:
    """The suffix of what begins like this; None where these few bytes don't tell."""
    begins = {b"%PDF-": ".pdf", b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif"}
    return next((ending for bytes_, ending in begins.items() if data.startswith(bytes_)), None)


def of_page(page: str, document: str, attachments: list[str], there: dict[str, bytes]) -> Iterator[str]:
    """A page is there under the document's name; it runs and loads nothing, and links to each attachment."""
    if page != f"{document.removesuffix('.xml')}.html":
        yield f"its page is called {page}"
    if page not in there:
        yield "it has no page"
        return
    found = Page()
    found.feed(there[page].decode("utf-8"))
    if "h1" not in found.tags or not found.text.strip():
        yield "its page says nothing"
    if bad := found.tags & {"script", "iframe", "object", "embed", "form", "link", "base", "svg"}:
        yield f"its page has {bad}"
    if bad := {name for name in found.attributes if name.startswith("on") or name in {"src", "srcset", "action"}}:
        yield f"its page has {bad}"
    if bad := {link for link in found.links if link.lower().startswith(SCHEMES)}:
        yield f"its page links to {bad}"
    if missing := set(attachments) - {unquote(link).removeprefix("./") for link in found.links}:
        yield f"its page doesn't link to {missing}"
    if other := {link for link in found.links if unquote(link).removeprefix("./") not in attachments}:
        yield f"its page links to {other}"


class Page(HTMLParser):
    """What is on a page: its elements, their attributes, its links and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.text += data
