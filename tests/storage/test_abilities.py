"""What is found out about a folder's file system before the folder is used, and what is refused."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from support.sharing import ABILITIES, SHARE, copied

from filedrop import files
from filedrop.errors import FolderUnavailable
from filedrop.files import Directory, disk, system, trial
from filedrop.files.disk import FileSystem
from filedrop.journal import Journal
from filedrop.storage.company_folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows renames without replacing on each file system")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """All folders are on a share."""
    monkeypatch.setattr(trial, "file_system", lambda _: SHARE)
    return monkeypatch


def refused(code: int) -> Callable[..., None]:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def test_a_disk_of_this_computer(tmp_path: Path) -> None:
    """On a local disk, files are moved by exclusive renames and keep their inodes; the trial leaves nothing behind."""
    before = time.monotonic()
    found = files.try_folder(Directory.open(tmp_path))
    took = time.monotonic() - before
    assert (found.local, found.renames, found.inodes, found.refusal) == (True, True, True, "")
    assert found.kind == disk.file_system(tmp_path).kind
    assert not list(tmp_path.iterdir())
    assert took < 1.0  # 1 ms, on a busy machine more


@posix
@pytest.mark.usefixtures("shared")
def test_a_share(tmp_path: Path) -> None:
    """On a share, no rename counts as exclusive and no inode as stable, whatever a trial with one computer shows."""
    assert files.try_folder(Directory.open(tmp_path)) == ABILITIES


@posix
@pytest.mark.parametrize("code", [errno.EIO, errno.EPERM, errno.ENOTSUP])
def test_neither_links_nor_renames(tmp_path: Path, shared: pytest.MonkeyPatch, code: int) -> None:
    """A folder where a file could replace another is refused in a sentence before anything in it is touched."""
    shared.setattr(os, "link", refused(code))
    folder = OutboundFolder(tmp_path / "outbound", company="acme", below=tmp_path, patterns=["*.xml"])
    folder.path.mkdir()
    (folder.path / "a.xml").touch()
    with (
        closing(Journal.at(tmp_path / "journal.sqlite")) as journal,
        pytest.raises(FolderUnavailable, match=r"exclusive rename.*: use"),
    ):
        folder.take_up(journal)
    assert [path.name for path in folder.path.iterdir()] == ["a.xml"]


@posix
def test_advice_for_sshfs(tmp_path: Path, shared: pytest.MonkeyPatch) -> None:
    """Nobody whose sshfs has no links is advised to use sshfs: its server isn't OpenSSH's."""
    shared.setattr(trial, "file_system", lambda _: FileSystem("fuse.sshfs", network=True))
    shared.setattr(os, "link", refused(errno.ENOENT))
    assert "let the server be OpenSSH's" in files.try_folder(Directory.open(tmp_path)).refusal


@posix
def test_a_disk_without_exclusive_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local file system that can't rename without replacing is served by links."""
    monkeypatch.setattr(system, "_renameat2", None)
    found = files.try_folder(Directory.open(tmp_path))
    assert (found.renames, found.links, found.refusal) == (False, True, "")


def test_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file can be made now, the first file that is to be made reports it, and not the trial."""
    monkeypatch.setattr(trial, "create_temporary", refused(errno.ENOSPC))
    folder = OutboundFolder(tmp_path / "outbound", company="acme", below=tmp_path, patterns=["*.xml"])
    with closing(Journal.at(tmp_path / "journal.sqlite")) as journal:
        folder.take_up(journal)
        monkeypatch.undo()
        folder.take_up(journal)
    assert folder.abilities.renames


@posix
@pytest.mark.parametrize("link", [copied, system.link] if sys.platform != "win32" else [])
def test_a_move_that_was_cut_off(tmp_path: Path, link: Callable[..., None]) -> None:
    """A file whose second name looks like another file is still that file: it gets no second document `-2`."""
    here = Directory.open(tmp_path, lambda: ABILITIES)
    moving = here.moving("a.xml")
    moving.path.write_bytes(b"<a/>")
    link(moving, here / "a.xml")
    files.finish_move(moving, iter(["a.xml", "a-2.xml"]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]


@posix
def test_another_file_took_the_name(tmp_path: Path) -> None:
    """A file that was on its way gets the next name where another file has its own: no content is lost."""
    here = Directory.open(tmp_path, lambda: ABILITIES)
    moving = here.moving("a.xml")
    moving.path.write_bytes(b"<a/>")
    (tmp_path / "a.xml").write_bytes(b"<b/>")
    files.finish_move(moving, iter(["a.xml", "a-2.xml"]))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.xml": b"<b/>", "a-2.xml": b"<a/>"}


@posix
@pytest.mark.parametrize("codes", [(errno.EIO,), (errno.EIO, errno.EIO)], ids=["once", "twice"])
def test_no_hidden_name_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...]) -> None:
    """A file whose move fails has its former name again, where everybody sees it."""
    failures, link = list(codes), system.link
    monkeypatch.setattr(system, "link", lambda *names: refused(failures.pop())() if failures else link(*names))
    here = Directory.open(tmp_path, lambda: ABILITIES)
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        files.place(here / "a.xml", here / "b.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]


@posix
def test_move_that_cuts_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was moved in spite of an error is recognized where each rename cuts its time to whole seconds."""
    replace = os.replace

    def replace_with_error(*names: str, **folders: int) -> None:
        replace(*names, **folders)
        os.utime(tmp_path / names[1], (0, int((tmp_path / names[1]).stat().st_mtime)))  # tests/findings/encfs-rename.sh
        refused(errno.EIO)()

    monkeypatch.setattr(os, "replace", replace_with_error)
    here = Directory.open(tmp_path, lambda: ABILITIES)
    files.replace_whole(here / "a.xml", b"<a/>")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]


@posix
def test_taken_by_a_file_alike(tmp_path: Path) -> None:
    """A file with another content is no moved file, although its size and time are the same."""
    here = Directory.open(tmp_path, lambda: ABILITIES)
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text(f"<{name}/>")
        os.utime(tmp_path / name, (0, 0))
    with pytest.raises(FileExistsError):
        files.place(here / "a.xml", here / "b.xml")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.xml": "<a.xml/>", "b.xml": "<b.xml/>"}


@posix
def test_names_that_nobody_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That there are no names left for files is believed of a disk of this computer alone."""
    counts = list(os.statvfs(tmp_path))
    counts[5], counts[7] = 10**9, 0
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(counts))
    assert "no names left" in disk.shortage(tmp_path)
    monkeypatch.setattr(disk, "file_system", lambda _: SHARE)
    assert disk.shortage(tmp_path) == ""


@posix
@pytest.mark.parametrize("code", [errno.EINVAL, errno.ESTALE])
@pytest.mark.parametrize("call", ["stat", "open", "rename", "link", "unlink"])
def test_a_state_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    """What a share answers while another computer changes a name is waited for: a file is moved, and never missing."""
    here = Directory.open(tmp_path, lambda: ABILITIES)
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    plain, failures = getattr(os, call), [code, code]
    monkeypatch.setattr(os, call, lambda *args, **keys: refused(failures.pop())() if failures else plain(*args, **keys))
    files.place(here / "a.xml", here / "b.xml")
    with files.open_regular(here / "b.xml") as file:
        assert file.read() == b"<a/>"
    assert not failures
    assert [path.name for path in tmp_path.iterdir()] == ["b.xml"]


@posix
def test_a_name_that_a_share_never_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that doesn't pass is believed in the end; on a disk of this computer at once."""
    monkeypatch.setattr("filedrop.files.refusals.PASSES_WITHIN", 0.1)
    monkeypatch.setattr(os, "open", refused(errno.EINVAL))
    for abilities, least in ((ABILITIES, 0.1), (files.Abilities("ext4", local=True, renames=True), 0.0)):
        before = time.monotonic()
        with pytest.raises(OSError, match=os.strerror(errno.EINVAL)) as caught:
            files.open_regular(files.Entry(Directory(tmp_path, None, (0, 0), abilities), "a:b.xml"))
        assert caught.value.errno in files.NO_FILE
        assert time.monotonic() - before >= least


@posix
def test_what_clients_leave_of_open_files(tmp_path: Path) -> None:
    """The names that NFS and FUSE give to removed files that are open are removed, and no others."""
    silly = [".nfs00000000000a1b2c0000001f", ".fuse_hidden0000002d00000001"]
    others = [".nfs", ".nfs-notes", ".fuse_hidden", "nfs00000000000a1b2c0000001f", "a.xml"]
    for name in (*silly, *others):
        (tmp_path / name).touch()
    files.clear_silly(Directory.open(tmp_path), [*silly, *others])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
