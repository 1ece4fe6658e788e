"""What is posted is what was read: the body of a request notices every change of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

from filedrop.folders import OutboundFolder
from filedrop.sending import IN_MEMORY, Changing, Opened, Upload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=[0, 2 * IN_MEMORY], ids=["small", "large"])
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """A dropped invoice, opened; a small one is read once, a large one again as it is sent."""
    (tmp_path / "invoice.xml").write_bytes(invoice(size=request.param))
    opened = Opened.open(tmp_path / "invoice.xml")
    yield opened
    opened.close()


def uploaded(opened: Opened) -> Upload:
    folder = OutboundFolder(opened.path.parent, company="acme", below=opened.path.parent, patterns=["*"])
    return Upload(folder, opened, opened.read(10**9))


def write_on(opened: Opened) -> None:
    """The writer isn't done yet."""
    with opened.path.open("ab") as writer:
        writer.write(b"<!-- more -->")


def test_what_is_sent(opened: Opened) -> None:
    """The whole file goes, as often as it is asked for, as long as announced."""
    upload = uploaded(opened)
    for _ in range(2):
        assert b"".join(upload.chunks()) == opened.path.read_bytes()
        assert upload.unchanged()
    assert upload.size == opened.path.stat().st_size


def test_a_change_under_the_request(opened: Opened) -> None:
    """A writer that writes on while the request is under way is noticed before its last bytes leave."""
    upload = uploaded(opened)
    chunks = upload.chunks()
    next(chunks)
    write_on(opened)
    for _ in chunks:
        pass
    assert not upload.unchanged()


def test_a_request_that_was_not_sent_whole(opened: Opened) -> None:
    """Nothing is taken for sent that wasn't read to its end."""
    assert not uploaded(opened).unchanged()


def test_a_change_while_it_is_read(opened: Opened) -> None:
    """A file that changes while it is judged isn't judged by what it was."""
    write_on(opened)
    with pytest.raises(Changing):
        opened.read(10**9)
