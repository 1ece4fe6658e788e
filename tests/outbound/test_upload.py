"""What is posted is what was read: the body of a request notices every change of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

from filedrop.outbound.upload import IN_MEMORY, Changing, OpenedDocument, Upload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=[0, 2 * IN_MEMORY], ids=["small", "large"])
def dropped(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A dropped invoice; a small one is read once, a large one again as it is sent."""
    path = tmp_path / "invoice.xml"
    path.write_bytes(invoice(size=request.param))
    return path


@pytest.fixture
def opened(dropped: Path) -> Iterator[OpenedDocument]:
    opened = OpenedDocument.open(dropped)
    yield opened
    opened.close()


@pytest.fixture
def upload(opened: OpenedDocument) -> Upload:
    opened.read(10**9)
    return opened.upload(local=True)


def write_on(dropped: Path) -> None:
    """The writer isn't done yet."""
    with dropped.open("ab") as writer:
        writer.write(b"<!-- more -->")


def test_what_is_sent(dropped: Path, upload: Upload) -> None:
    """The whole file goes, as often as it is asked for, as long as announced."""
    for _ in range(2):
        assert b"".join(upload.chunks()) == dropped.read_bytes()
        assert upload.unchanged()
    assert upload.size == dropped.stat().st_size


def test_a_change_under_the_request(dropped: Path, upload: Upload) -> None:
    """A writer that writes on while the request is under way is noticed before its last bytes leave."""
    chunks = upload.chunks()
    next(chunks)
    write_on(dropped)
    for _ in chunks:
        pass
    assert not upload.unchanged()


def test_a_request_that_was_not_sent_whole(upload: Upload) -> None:
    """Nothing is taken for sent that wasn't read to its end."""
    assert not upload.unchanged()


def test_a_change_while_it_is_read(dropped: Path, opened: OpenedDocument) -> None:
    """A file that changes while it is judged isn't judged by what it was."""
    write_on(dropped)
    with pytest.raises(Changing):
        opened.read(10**9)
