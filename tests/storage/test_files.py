from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from support.plug import tapped
from support.strace import missing, strace

from filedrop import files
from filedrop.files import disk
from filedrop.storage.checked import read_object
from filedrop.storage.sidecar import document_id_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

posix = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links, pipes, groups and modes are POSIX")

windows = pytest.mark.skipif(sys.platform != "win32", reason="elsewhere open files are moved and removed")


def at(path: Path) -> files.Entry:
    """What lies there, as filedrop names it."""
    return files.Directory.open(path.parent) / path.name


def ways_to_place() -> list[Callable[[files.Entry, files.Entry], None]]:
    """`place`, and what it falls back on where the file system has no rename without replacing (NFS, CIFS)."""
    return [files.place] if sys.platform == "win32" else [files.place, files.system._place_by_link]


def checked_object(entry: files.Entry) -> dict[str, Any] | None:
    return read_object(entry, 1000)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def no_room() -> Iterator[None]:
    """No file may grow: what a full disk does to whoever writes."""
    resource = pytest.importorskip("resource", reason="a full disk can't be played without POSIX limits")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("place", ways_to_place())
def test_place_moves(tmp_path: Path, place: Callable[[files.Entry, files.Entry], None]) -> None:
    """A file is moved to a name that is free, the same file."""
    (tmp_path / "a").write_bytes(b"invoice")
    inode = (tmp_path / "a").stat().st_ino
    place(at(tmp_path / "a"), at(tmp_path / "b"))
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").read_bytes() == b"invoice"
    assert (tmp_path / "b").stat().st_ino == inode


@pytest.mark.parametrize("place", ways_to_place())
def test_place_never_overwrites(tmp_path: Path, place: Callable[[files.Entry, files.Entry], None]) -> None:
    """No move replaces what is already there, whichever file system it is."""
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        place(at(tmp_path / "new"), at(tmp_path / "old"))
    assert (tmp_path / "old").read_bytes() == b"old"
    assert (tmp_path / "new").read_bytes() == b"new"


@posix
@pytest.mark.parametrize(("call", "done"), [("rename", True), ("link", True), ("link", False), ("unlink", False)])
def test_place_by_a_link_on_a_share_that_errs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, *, done: bool
) -> None:
    """Where one call reports an error, done or not, the file has one name, and what is said of it is true."""
    (tmp_path / "a").write_bytes(b"invoice")
    plain, number = getattr(os, call), [0]

    def failing(*args: Any, **keys: Any) -> None:
        number[0] += 1
        if done or number[0] > 1:
            plain(*args, **keys)
        if number[0] == 1:
            raise OSError(errno.ENOENT if done else errno.EIO, "the share failed")

    monkeypatch.setattr(files.system, "_renameat2", None)
    monkeypatch.setattr(os, call, failing)
    if call == "link" and not done:
        with pytest.raises(OSError, match="the share failed"):
            files.place(at(tmp_path / "a"), at(tmp_path / "b"))
        assert names(tmp_path) == ["a"]
    else:
        files.place(at(tmp_path / "a"), at(tmp_path / "b"))
        assert names(tmp_path) == ["b"]


@posix
@pytest.mark.parametrize("place", ways_to_place())
def test_place_never_replaces_a_link(tmp_path: Path, place: Callable[[files.Entry, files.Entry], None]) -> None:
    """A symbolic link that leads nowhere is a taken name, too."""
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        place(at(tmp_path / "new"), at(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("place", ways_to_place())
def test_place_says_what_is_gone(tmp_path: Path, place: Callable[[files.Entry, files.Entry], None]) -> None:
    """A file that somebody took meanwhile is told apart from a name that is taken."""
    with pytest.raises(FileNotFoundError):
        place(at(tmp_path / "gone"), at(tmp_path / "b"))


def test_create_whole(tmp_path: Path) -> None:
    """A new file lies there whole, and nothing beside it."""
    files.create_whole(at(tmp_path / "a.json"), b"{}")
    assert (tmp_path / "a.json").read_bytes() == b"{}"
    assert names(tmp_path) == ["a.json"]


def test_create_whole_leaves_what_is_there(tmp_path: Path) -> None:
    """A name that is taken stays its owner's."""
    (tmp_path / "a.json").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        files.create_whole(at(tmp_path / "a.json"), b"new")
    assert (tmp_path / "a.json").read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


@pytest.mark.usefixtures("no_room")
def test_create_whole_on_a_full_disk(tmp_path: Path) -> None:
    """When there is no room for all of a file, nothing of it appears."""
    with pytest.raises(OSError, match="too large"):
        files.create_whole(at(tmp_path / "a.json"), b"x" * 1000)
    assert names(tmp_path) == []


def test_a_draft_that_gets_no_name_is_removed(tmp_path: Path) -> None:
    """Of several new files, those whose names are taken leave nothing behind, and hinder no other."""
    (tmp_path / "b").write_bytes(b"old")
    with files.Drafts(files.Directory.open(tmp_path)) as drafts:
        written = {name: drafts.write(name.encode()) for name in "abc"}
        drafts.flush()
        drafts.place(written["a"], at(tmp_path / "a"))
        with pytest.raises(FileExistsError):
            drafts.place(written["b"], at(tmp_path / "b"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"a", "b": b"old"}


@pytest.mark.usefixtures("no_room")
def test_a_draft_that_there_is_no_room_for(tmp_path: Path) -> None:
    """Those that there is room for are written whole; nothing is left of the other."""
    with files.Drafts(files.Directory.open(tmp_path)) as drafts:
        small = drafts.write(b"small")
        with pytest.raises(OSError, match="too large"):
            drafts.write(b"x" * 1000)
        drafts.flush()
        drafts.place(small, at(tmp_path / "small"))
    assert names(tmp_path) == ["small"]
    assert (tmp_path / "small").read_bytes() == b"small"


def test_replace_whole(tmp_path: Path) -> None:
    """A newer file takes the place of the older one."""
    (tmp_path / "note").write_bytes(b"old")
    files.replace_whole(at(tmp_path / "note"), b"new")
    assert (tmp_path / "note").read_bytes() == b"new"
    assert names(tmp_path) == ["note"]


def test_replace_whole_on_a_full_disk(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """When there is no room for the newer one, the older one stays."""
    (tmp_path / "note").write_bytes(b"the older one")
    request.getfixturevalue("no_room")
    with pytest.raises(OSError, match="too large"):
        files.replace_whole(at(tmp_path / "note"), b"x" * 1000)
    assert (tmp_path / "note").read_bytes() == b"the older one"
    assert names(tmp_path) == ["note"]


def test_what_a_crash_left_is_replaced(tmp_path: Path) -> None:
    """The half of a draft that a killed process left doesn't end up in the next file, and is cleared away."""
    here = files.Directory.open(tmp_path)
    here.draft().path.write_bytes(b"half of something much longer")
    files.create_whole(at(tmp_path / "a.json"), b"{}")
    assert (tmp_path / "a.json").read_bytes() == b"{}"
    files.clear_drafts(here)
    assert names(tmp_path) == ["a.json"]


@pytest.mark.skipif(sys.platform == "win32" or bool(missing()), reason="no call can be made to fail without strace")
def test_a_file_that_can_not_be_given_its_rights_is_closed(tmp_path: Path) -> None:
    """A disk that refuses a new file its folder's mode costs one attempt, and not also an open file for each."""
    attempts = """
import os, sys
from pathlib import Path
from filedrop import files
folder = Path(sys.argv[1])
before = len(os.listdir("/proc/self/fd"))
for _ in range(3):
    try:
        files.create_whole(files.Directory.open(folder) / "a.json", b"{}")
    except OSError as error:
        print(error.strerror)
print(len(os.listdir("/proc/self/fd")) - before, os.listdir(folder))
"""
    (tmp_path / "outbound").mkdir()
    (tmp_path / "outbound").chmod(0o700)
    refused = strace(tmp_path / "trace", "-e", "inject=fchmod:error=EOPNOTSUPP")
    done = subprocess.run(
        [*refused, sys.executable, "-c", attempts, str(tmp_path / "outbound")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [*3 * [os.strerror(errno.EOPNOTSUPP)], "0 []"]


@posix
def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write into a shared folder can't make us write elsewhere."""
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / ".draft").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        files.create_temporary(at(tmp_path / ".draft"))
    files.create_whole(at(tmp_path / "a.json"), b"{}")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "a.json").is_symlink()


@posix
@pytest.mark.parametrize("theirs", ["link", "folder"])
def test_another_in_the_place_of_a_folder_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    """What somebody puts into the place of a folder that is just being made gets no rights of us."""
    secret, shared = tmp_path / "secret", tmp_path / "shared"
    secret.mkdir(mode=0o700)
    (secret / "journal").touch()
    shared.mkdir()
    shared.chmod(0o770)
    if theirs == "folder":
        secret = secret.rename(shared / "secret")

    mkdir = os.mkdir

    def made_and_swapped(*arguments: Any, **keys: Any) -> None:
        mkdir(*arguments, **keys)
        (draft,) = shared.glob(".*.tmp")
        draft.rmdir()
        if theirs == "link":
            draft.symlink_to(secret)
        else:
            secret.rename(draft)

    monkeypatch.setattr(os, "mkdir", made_and_swapped)
    with pytest.raises(OSError, match=r"links are not followed|another folder in its place"):
        files.make_folder(at(shared / "sent"))
    (left,) = tmp_path.rglob("journal")
    assert stat.S_IMODE(left.parent.stat().st_mode) == 0o700


@posix
def test_open_regular_refuses_links(tmp_path: Path) -> None:
    """A link in a folder doesn't lead out of it."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "a.xml").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        files.open_regular(tmp_path / "a.xml")


@posix
def test_open_regular_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    """A pipe that nobody writes into holds nobody up."""
    os.mkfifo(tmp_path / "a.xml")
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular(tmp_path / "a.xml")


@posix
def test_open_regular_refuses_folders(tmp_path: Path) -> None:
    """A folder named like a document is no document."""
    (tmp_path / "a.xml").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular(tmp_path / "a.xml")


def test_what_we_read_can_be_moved_and_removed(tmp_path: Path) -> None:
    """Our reading hinders nobody: the file can be renamed and deleted meanwhile, and written to."""
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    with files.open_regular(tmp_path / "a.xml") as file:
        files.place(at(tmp_path / "a.xml"), at(tmp_path / "b.xml"))
        with (tmp_path / "b.xml").open("ab") as writer:
            writer.write(b" ")
        (tmp_path / "b.xml").unlink()
        assert file.read() == b"<a/> "
    assert names(tmp_path) == []


@windows
def test_what_others_have_open_stays(tmp_path: Path) -> None:
    """A file that somebody has open is neither moved, replaced nor removed, and nothing is left of the attempt."""
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    with (tmp_path / "a.xml").open("rb"):
        with pytest.raises(files.InUse):
            files.place(at(tmp_path / "a.xml"), at(tmp_path / "b.xml"))
        with pytest.raises(files.InUse):
            files.replace_whole(at(tmp_path / "a.xml"), b"<b/>")
        files.discard(at(tmp_path / "a.xml"))
    assert names(tmp_path) == ["a.xml"]
    assert (tmp_path / "a.xml").read_bytes() == b"<a/>"


@windows
@pytest.mark.parametrize("write", [files.create_whole, files.replace_whole])
def test_a_reader_who_is_soon_done(tmp_path: Path, write: Callable[[files.Entry, bytes], None]) -> None:
    """A virus scanner that reads what was just written, or another command of ours: nothing fails by it."""
    target, opened, tries = tmp_path / "a.json", list[IO[bytes]](), list[str]()
    if write is files.replace_whole:
        target.write_bytes(b"[]")

    def meanwhile(what: str) -> None:
        if what in ("place", "replace"):
            tries.append(what)
            if len(tries) == 1:
                opened.extend(path.open("rb") for path in tmp_path.iterdir())
            elif len(tries) == 3:
                for reader in opened:
                    reader.close()

    with tapped(meanwhile):
        write(at(target), b"{}")
    assert len(tries) == 3
    assert names(tmp_path) == ["a.json"]
    assert target.read_bytes() == b"{}"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, int], None]:
    """Has Windows refuse all that is asked about a file, by this number of its errors, as it does for a share."""

    def refuse(path: Path, number: int) -> None:
        import _winapi  # noqa: PLC0415 - Windows alone has it

        def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(name: Any, *arguments: Any, **keys: Any) -> Any:
                if str(name).endswith(str(path)):
                    raise OSError(None, "as Windows says it", str(name), number)
                return call(name, *arguments, **keys)

            return called

        monkeypatch.setattr(_winapi, "CreateFile", refusing(_winapi.CreateFile))
        for name in ("stat", "unlink", "scandir"):
            monkeypatch.setattr(os, name, refusing(getattr(os, name)))

    return refuse


@windows
@pytest.mark.parametrize("number", [53, 59, 64, 67, 121, 1231])
def test_a_share_that_is_away_is_no_missing_file(
    tmp_path: Path, refused: Callable[[Path, int], None], number: int
) -> None:
    """What Windows says of a share that it doesn't reach, or no more, says nothing of the files there."""
    sidecar = tmp_path / "invoice.xml.json"
    sidecar.write_bytes(b"{}")
    entry = at(sidecar)
    refused(sidecar, number)
    assert not files.is_missing(entry)
    for look in (files.identity_at, files.stamp, checked_object, document_id_in, files.discard):
        with pytest.raises(OSError, match="as Windows says it") as raised:
            look(entry)
        assert not isinstance(raised.value, FileNotFoundError)
        assert raised.value.filename == str(sidecar)


@windows
@pytest.mark.parametrize("number", [53, 64, 67])
def test_a_folder_of_a_share_that_is_away_is_not_gone(
    tmp_path: Path, refused: Callable[[Path, int], None], number: int
) -> None:
    """It can be neither opened nor listed, and nobody is told that it isn't there."""
    here = files.Directory.open(tmp_path)
    refused(tmp_path, number)
    for look in (here.names, lambda: [files.Directory.open(tmp_path)]):
        with pytest.raises(OSError, match="as Windows says it") as raised:
            list(look())
        assert not isinstance(raised.value, FileNotFoundError)


@windows
def test_a_name_that_is_too_long_for_windows(tmp_path: Path, refused: Callable[[Path, int], None]) -> None:
    """Nothing can have it: a document with the longest name that there is has no sidecar beside it."""
    beside = at(tmp_path / f"{'a' * 255}.json")
    refused(beside.path, 123)
    assert not beside.exists()
    assert document_id_in(beside) is None
    files.discard(beside)


@posix
def test_new_files_belong_to_whoever_owns_the_share(tmp_path: Path) -> None:
    """What is written takes its folder's group and mode, however strict our own umask is; but is never executable."""
    group = 4242 if os.geteuid() == 0 else os.getgroups()[-1]
    os.chown(tmp_path, -1, group)
    tmp_path.chmod(0o2770)
    umask = os.umask(0o077)
    try:
        files.create_whole(at(tmp_path / "a.json"), b"{}")
        files.make_folder(at(tmp_path / "archive"))
    finally:
        os.umask(umask)
    written, made = (tmp_path / "a.json").stat(), (tmp_path / "archive").stat()
    assert (written.st_gid, stat.S_IMODE(written.st_mode)) == (group, 0o660)
    assert (made.st_gid, stat.S_IMODE(made.st_mode)) == (group, 0o2770)


@posix
def test_a_folder_that_was_begun(tmp_path: Path) -> None:
    """A folder that a killed process had begun to make gets its rights, and nothing of the beginning is left."""
    tmp_path.chmod(0o770)
    here = files.Directory.open(tmp_path)
    here.draft().path.mkdir(mode=0o700)
    files.clear_drafts(here)
    files.make_folder(at(tmp_path / "archive"))
    assert names(tmp_path) == ["archive"]
    assert stat.S_IMODE((tmp_path / "archive").stat().st_mode) == 0o770


def test_make_folder_twice(tmp_path: Path) -> None:
    """A folder that is there already stays as it is."""
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "a.xml").write_bytes(b"<a/>")
    files.make_folder(at(tmp_path / "archive"))
    assert (tmp_path / "archive" / "a.xml").exists()


def test_seal(tmp_path: Path) -> None:
    """Another content, or another file with the same content, breaks the stamp; a rename doesn't."""
    path = tmp_path / "a.xml"
    path.write_bytes(b"<a/>")
    sealed = files.stamp(at(path))
    assert sealed is not None
    path.rename(tmp_path / "b.xml")
    assert files.stamp(at(path)) is None
    assert files.stamp(at(tmp_path / "b.xml")) == sealed
    with (tmp_path / "b.xml").open("ab") as file:
        file.write(b" ")
    assert files.stamp(at(tmp_path / "b.xml")) != sealed
    path.write_bytes(b"<a/>")
    os.utime(path, ns=(sealed.modified, sealed.modified))
    assert files.stamp(at(path)) != sealed


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_file_system() -> None:
    """A folder's file system is that of the longest mount point above it."""
    assert disk.file_system(Path("/proc/self")) == disk.FileSystem("proc", network=False)
    assert disk.file_system(Path("/")).kind not in ("", "proc")


def test_a_local_folder_is_no_network(tmp_path: Path) -> None:
    """A local disk is watched by events and trusted for its clock."""
    lies_on = disk.file_system(tmp_path)
    assert lies_on.kind
    assert not lies_on.network


@pytest.mark.parametrize(
    ("root", "share"),
    [("C:\\", False), (r"\\server\share", True), (r"\\?\C:\\", False), (r"\\?\UNC\server\share", True), ("", False),
     ("\\\\?\\Volume{b75e2c83-0000-0000-0000-602f00000000}\\", False)],
)  # fmt: skip
def test_what_a_share_is_called(root: str, *, share: bool) -> None:
    """A path on a disk of this computer is none, however it is spelt: `state` may lie there."""
    assert disk.is_share(root) == share


def test_how_a_mount_point_is_written() -> None:
    """What the kernel and fstab write in octal is meant: blanks, tabs, backslashes; all else is as it stands."""
    assert disk.unescaped(r"/mnt/two\040words\011and\134040\012") == "/mnt/two words\tand\\040\n"
    assert disk.unescaped("/mnt/ærø") == "/mnt/ærø"
