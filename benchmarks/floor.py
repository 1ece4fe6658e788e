"""The durable floor: the least program that posts a folder's documents with filedrop's order of safety.

`python -m benchmarks.floor URL FOLDER WORKERS`: the row is on the disk before the request leaves, the answer before the
file moves, and the sidecar before its document. Documents are claimed, recorded, moved and flushed in batches.

It expects no failure, and it would not survive one: a restart, a refusal, a file that is still being written, a taken
name, or an answer that isn't clear. What it costs is the price of the order alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import requests
from lxml import etree

from benchmarks.bare import LOGIN

BATCH = 32  # documents, also the most that are on their way
CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
CAC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"
COLUMNS = "id, file, size, sha256, meaning, sender, receiver, document, process, msg_no, place"
INSERT = """
    INSERT INTO documents (id, file, size, sha256, meaning, sender, receiver, document, process)
    VALUES (:id, :file, :size, :sha256, :meaning, :sender, :receiver, :document, :process)
"""
FIELDS = {"SenderID": "sender", "RecipientID": "receiver", "DocumentID": "document", "ProcessID": "process"}

Row = dict[str, Any]


def read(content: bytes) -> Row:
    """The ids of an invoice, and the digests of its bytes and of its text."""
    root = etree.fromstring(content)
    ends = [root.find(f"{CAC}Accounting{party}Party/{CAC}Party/{CBC}EndpointID") for party in ("Supplier", "Customer")]
    sender, receiver = (f"{end.get('schemeID')}:{end.text}" for end in ends)
    name, customization = etree.QName(root), root.findtext(f"{CBC}CustomizationID")
    return {
        "sender": sender,
        "receiver": receiver,
        "document": f"{name.namespace}::{name.localname}##{customization}::2.1",
        "process": root.findtext(f"{CBC}ProfileID"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "meaning": hashlib.sha256("".join(root.itertext()).encode()).hexdigest(),
    }


def now() -> str:
    """The time, as it is written into sidecars."""
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")


class Floor:
    """One folder's documents on their way to `url`, by so many threads."""

    def __init__(self, url: str, folder: Path, workers: int) -> None:
        self._url = url
        self._tasks: SimpleQueue[Row] = SimpleQueue()
        self._back: SimpleQueue[Row] = SimpleQueue()
        for place in ("sending", "sent"):
            (folder / place).mkdir()
        places = (folder, folder / "sending", folder / "sent")
        self._out, self._sending, self._sent = (os.open(place, os.O_RDONLY) for place in places)
        self._journal = sqlite3.connect(folder / "journal.sqlite", isolation_level=None)
        for line in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            f"CREATE TABLE documents ({COLUMNS}, PRIMARY KEY (id))",
            "CREATE INDEX meanings ON documents (meaning)",
        ):
            self._journal.execute(line)
        for _ in range(workers):
            threading.Thread(target=self._post, daemon=True).start()

    def send(self, names: list[str]) -> None:
        """Send all of them."""
        under_way = 0
        while names or under_way:
            if names and under_way <= BATCH // 2:
                claimed = [self._claim(names.pop()) for _ in range(min(BATCH - under_way, len(names)))]
                self._record(claimed)
                under_way += len(claimed)
            else:
                posted = [self._back.get()]
                while len(posted) < BATCH and not self._back.empty():
                    posted.append(self._back.get())
                self._put_away(posted)
                under_way -= len(posted)

    def _claim(self, name: str) -> Row:
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._out), "rb") as file:
            content = file.read()
        os.rename(name, name, src_dir_fd=self._out, dst_dir_fd=self._sending)
        known = {"id": secrets.token_hex(13), "file": name, "size": len(content), "history": [[now(), "claimed"]]}
        return known | read(content) | {"content": content}

    def _record(self, claimed: list[Row]) -> None:
        self._journal.execute("BEGIN IMMEDIATE")
        for row in claimed:
            if self._journal.execute("SELECT 1 FROM documents WHERE meaning = :meaning", row).fetchone():
                raise ValueError(f"{row['file']} is a duplicate")
            self._journal.execute(INSERT, row)
        self._journal.execute("COMMIT")
        for row in claimed:
            self._tasks.put(row)

    def _post(self) -> None:
        with requests.Session() as session:
            session.auth = LOGIN
            while True:
                row = self._tasks.get()
                fields = {field: row[name] for field, name in FIELDS.items()}
                files = {"file": ("document.xml", row.pop("content"), "application/xml")}
                answer = session.post(f"{self._url}/outbox", data=fields | {"ChannelID": ""}, files=files, timeout=60)
                row["msg_no"] = int(etree.fromstring(answer.content).findtext(".//msg-no"))
                self._back.put(row)

    def _put_away(self, posted: list[Row]) -> None:
        self._write("UPDATE documents SET msg_no = :msg_no WHERE id = :id", posted)
        drafts = []
        for row in posted:
            draft = f".{row['id']}.tmp"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640, dir_fd=self._sending)
            os.write(descriptor, json.dumps(row).encode())
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # begins to write: the flushes wait only once
            drafts.append((row["file"], draft, descriptor))
        for _, _, descriptor in drafts:
            os.fsync(descriptor)
            os.close(descriptor)
        for name, draft, _ in drafts:
            os.rename(draft, f"{name}.json", src_dir_fd=self._sending, dst_dir_fd=self._sent)
            os.rename(name, name, src_dir_fd=self._sending, dst_dir_fd=self._sent)
            sys.stderr.write(json.dumps({"event": "document.put_away", "file": name, "timestamp": now()}) + "\n")
        os.fsync(self._sent)
        os.fsync(self._sending)
        self._write("UPDATE documents SET place = 'sent' WHERE id = :id", posted)

    def _write(self, statement: str, rows: list[Row]) -> None:
        self._journal.execute("BEGIN IMMEDIATE")
        self._journal.executemany(statement, [{"id": row["id"], "msg_no": row["msg_no"]} for row in rows])
        self._journal.execute("COMMIT")


if __name__ == "__main__":
    there = Path(sys.argv[2])
    names_there = sorted((name for name in os.listdir(there) if name.endswith(".xml")), reverse=True)  # noqa: PTH208 - names are enough
    Floor(sys.argv[1], there, int(sys.argv[3])).send(names_there)
