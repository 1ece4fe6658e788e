"""The yardsticks: the same requests, fsyncs and renames, and nothing around them.

`python -m benchmarks.bare out URL FOLDER WORKERS` posts each file of the folder: no journal, no fsync, no moves.
With `in` it lists the inbox, downloads each message into the folder and marks it as read. With `disk`, and a count
instead of the URL, it writes and fsyncs a small file, renames it and fsyncs the folder: the least that a document costs
the disk.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import requests

FIELDS = {"SenderID": SELLER, "RecipientID": BUYER, "ChannelID": "", "DocumentID": INVOICE_ID,
          "ProcessID": BILLING_PROCESS}  # fmt: skip
LOGIN = ("bench", "secret")
SIDECAR = b"x" * 1500  # about as much as is written beside a document
_mine = threading.local()


def session() -> requests.Session:
    """This thread's session."""
    import requests  # noqa: PLC0415 - the disk's yardstick needs none

    if not hasattr(_mine, "session"):
        _mine.session = requests.Session()
        _mine.session.auth = LOGIN
    found: requests.Session = _mine.session
    return found


def in_threads(workers: int, work: Callable[[str], None], items: Iterable[str]) -> None:
    """Do this with each item, in so many threads; the first exception ends it."""
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, items):
            pass


def post(url: str, folder: Path, name: str) -> None:
    """Post one file."""
    with (folder / name).open("rb") as file:
        answer = session().post(f"{url}/outbox", data=FIELDS, files={"file": (name, file, "application/xml")})
    if answer.status_code != 201:
        raise ValueError(answer.status_code)


def unread(url: str) -> list[str]:
    """The numbers of all messages of the inbox."""
    numbers: list[str] = []
    page: str | None = f"{url}/inbox"
    while page:
        root = ET.fromstring(session().get(page).content)  # noqa: S314 - our own server's answer
        numbers += [str(number.text) for number in root.iter("msg-no")]
        page = root.findtext("navigation/next")
    return numbers


def receive(url: str, folder: Path, number: str) -> None:
    """Download one message and mark it as read."""
    answer = session().get(f"{url}/messages/{number}/xml-document")
    answer.raise_for_status()
    (folder / f"{number}.xml").write_bytes(answer.content)
    session().post(f"{url}/inbox/{number}/read").raise_for_status()


def to_disk(folder: Path, name: str) -> None:
    """What has to be on the disk before the next thing may happen."""
    draft = folder / f".{name}"
    with draft.open("wb") as file:
        file.write(SIDECAR)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(folder / "sent" / name)
    descriptor = os.open(folder / "sent", os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def main(way: str, at: str, folder: Path, workers: int) -> None:
    """Do one of them to its end."""
    if way == "out":
        in_threads(workers, partial(post, at, folder), sorted(os.listdir(folder)))  # noqa: PTH208 - names are wanted
    elif way == "in":
        in_threads(workers, partial(receive, at, folder), unread(at))
    else:
        (folder / "sent").mkdir()
        in_threads(workers, partial(to_disk, folder), map(str, range(int(at))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
