"""`filedrop init`: a first configuration."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.notes import filled_in, rule_for

from filedrop import config
from filedrop.cli.init import _create_folders
from filedrop.cli.service.naming import put_example
from filedrop.config import parse
from filedrop.config.prepare import Prepare

if TYPE_CHECKING:
    from cli.conftest import Filedrop
    from support.world import World

EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"


def options(world: World, *companies: str) -> list[str]:
    account = world.configuration().accounts["main"]
    return [
        "init", "--base-url", account.base_url, "--username", account.username, "--root", str(world.root),
        *(word for company in companies for word in ("--company", company)),
    ]  # fmt: skip


def test_by_options(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A commented configuration that means what was said; it is checked, the login is tried."""
    path = tmp_path / "etc" / "config.yaml"
    folder = secret(world, path).parent
    done = filedrop(
        *options(world, "acme=0192:987654325", "no=0088:7300010000001,0192:123456785", "quiet="), config=path
    )
    made = config.load(path)
    assert {name: company.participants for name, company in made.companies.items()} == {
        "acme": ("0192:987654325",), "no": ("0088:7300010000001", "0192:123456785"), "quiet": (),
    }  # fmt: skip
    assert (made.root, made.accounts["main"].password_file) == (world.root, folder / "password")
    ours = {"unreachable": "aside", "prepare": Prepare(pdf="beside")}
    assert made.outbound == config.load(EXAMPLE).outbound.model_copy(update=ours)
    explained = [line for line in path.read_text("utf-8").splitlines() if line.strip().startswith("#")]
    assert len(explained) > 100
    assert f"Wrote {path}" in done.stdout
    assert "account main" in done.stdout
    assert "failed" not in "\n".join(line for line in done.stdout.splitlines() if line.startswith("account"))


def test_the_rule_of_a_note_is_put_at_its_end(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """The last line of a note, put as it stands below all that was written, is a rule; what it leaves open is told."""
    path = tmp_path / "first.yaml"
    filedrop(*options(world, "acme=0192:987654325"), config=path)
    written, rule = path.read_text("utf-8"), rule_for(invoice("1", receiver=None), "invoice.xml")
    path.write_text(f"{written}{rule}\n", "utf-8")
    done = filedrop("check", config=path)
    assert done.returncode == 2
    assert "mapping 1.receiver: still contains <ParticipantID of the receiver>; replace" in done.stderr
    path.write_text(f"{written}{filled_in(rule)}\n", "utf-8")
    (made,) = config.load(path).mapping
    assert set(made.values) == {"receiver"}


def test_no_password_yet(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Where nobody can be asked for the password, its file is made, for its owner alone, and named."""
    path = tmp_path / "etc" / "config.yaml"
    done = filedrop(*options(world, "acme=0192:987654325"), config=path)
    then = f"filedrop --config {path} check"
    assert f"Now write the password into {path.with_name('password')}, and run: {then}" in done.stdout
    assert path.with_name("password").read_bytes() == b""
    if sys.platform != "win32":
        assert stat.S_IMODE(path.with_name("password").stat().st_mode) == 0o600
        assert stat.S_IMODE(path.stat().st_mode) & 0o044  # the service may be another user


def test_what_is_there_stays(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A configuration is never replaced, but the example is, which packages put there."""
    path = tmp_path / "first.yaml"
    put_example(path, path)
    assert "Wrote" in filedrop(*options(world, "acme=0192:987654325"), config=path).stdout
    before = path.read_bytes()
    done = filedrop(*options(world, "buyer=0192:987654325"), config=path)
    assert done.returncode == 1
    assert "already exists and is not the example" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("acme=0192:987654325", "acme=987654325", 'write "0192:987654325"'),
        ("acme=0192:987654325", "a/b=0192:987654325", "can't be the name of a folder"),
        ("acme", "a:b", "has no colon"),
    ],
)
def test_a_wrong_answer(filedrop: Filedrop, world: World, tmp_path: Path, *, right: str, wrong: str, why: str) -> None:
    """What can't be right is refused with what to write instead, and nothing is written."""
    path = tmp_path / "first.yaml"
    words = [wrong if word == right else word for word in options(world, "acme=0192:987654325")]
    done = filedrop(*words, config=path)
    assert done.returncode == 2
    assert why in done.stderr
    assert not path.exists()


def test_nobody_to_ask(filedrop: Filedrop, tmp_path: Path) -> None:
    """Without a terminal, what is missing is named."""
    done = filedrop("init", "--username", "acme", config=tmp_path / "first.yaml")
    assert done.returncode == 2
    assert "there is no terminal to ask on: write --base-url, --company" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_by_questions(world: World, tmp_path: Path) -> None:
    """On a terminal each question is asked, a wrong answer again, and the password is not shown."""
    account = world.configuration().accounts["main"]
    password = account.read_password()
    path = tmp_path / "etc" / "config.yaml"
    root, state = tmp_path / "companies", tmp_path / "lib" / "state"
    answers = [
        account.base_url, account.username, password, str(root), str(state), "acme", "12345", "0192:987654325", "n",
        "y",
    ]  # fmt: skip
    said = answered([sys.executable, "-m", "filedrop", "--config", str(path), "init"], answers)
    assert password not in said
    assert '"12345" has no scheme' in said
    assert path.with_name("password").read_text() == f"{password}\n"
    made = config.load(path)
    assert made.companies["acme"].participants == ("0192:987654325",)
    assert (made.root, made.state) == (root, state)
    assert "account main" in said
    assert {path.relative_to(root).as_posix() for path in root.rglob("*")} == {"acme", "acme/inbound", "acme/outbound"}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_login_is_tried_at_once(world: World, tmp_path: Path) -> None:
    """What the access point refuses is asked again; each company names its login; a second `init` continues."""
    account = world.configuration().accounts["main"]
    path, root, state = tmp_path / "etc" / "config.yaml", tmp_path / "root", tmp_path / "state"
    answers = [
        account.base_url, account.username, "wrong", "y", account.username, account.read_password(), str(root),
        str(state), "acme", "0192:987654325", "y", "fjord", "0192:123456785", "fjord", "wrong", "n", "y", "quiet", "",
        "", "n", "n",
    ]  # fmt: skip
    init = [sys.executable, "-m", "filedrop", "--config", str(path), "init"]
    said = answered(init, answers)
    assert said.count("Do you want to type it again?") == 2
    made = config.load(path)
    assert [company.account for company in made.companies.values()] == ["main", "main-2", "main"]
    assert made.accounts["main-2"].username == "fjord"
    assert (made.accounts["main"].read_password(), made.accounts["main-2"].read_password()) == (
        account.read_password(), "wrong",
    )  # fmt: skip
    before = path.read_bytes()
    said = answered(init, ["y"])
    assert f"Created {root}" in said
    assert "account main-2" in said
    assert path.read_bytes() == before


def test_folders_by_an_option(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """Without a terminal, folders are created only if an option says so: one may be on a share that isn't mounted."""
    path, root, state = tmp_path / "etc" / "config.yaml", tmp_path / "new", tmp_path / "state"
    words = [*options(world, "acme=0192:987654325"), "--root", str(root), "--state", str(state)]
    filedrop(*words, config=path)
    assert not root.exists()
    path.unlink()
    done = filedrop(*words, "--create-folders", config=path)
    assert f"Created {root / 'acme' / 'outbound'}" in done.stdout
    assert (root / "acme" / "inbound").is_dir()
    assert state.is_dir()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives folders to an account")
def test_folders_of_the_service(tmp_path: Path) -> None:
    """What root creates belongs to the service's account; the group and mode of a root that was there are kept."""
    config = parse(
        f"accounts: {{main: {{base_url: 'https://ap.example.com', username: a, password: x}}}}\n"
        f"root: {tmp_path / 'root'}\nstate: {tmp_path / 'state'}\n"
        "companies: {acme: {participants: ['0192:987654325']}}\n"
    )
    _create_folders(config, (1234, 5678))
    for folder, mode in (("state", 0o700), ("root", 0o2770), ("root/acme", 0o2770), ("root/acme/inbound", 0o2770)):
        created = (tmp_path / folder).stat()
        assert (created.st_uid, created.st_gid, stat.S_IMODE(created.st_mode)) == (1234, 5678, mode), folder
    shutil.rmtree(tmp_path / "root" / "acme")
    os.chown(tmp_path / "root", 1234, 42)
    (tmp_path / "root").chmod(0o2775)
    _create_folders(config, (1234, 5678))
    created = (tmp_path / "root" / "acme" / "outbound").stat()
    assert (created.st_uid, created.st_gid, stat.S_IMODE(created.st_mode)) == (1234, 42, 0o2775)


def test_the_next_command(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """It ends with the command to run next: the check again while something failed, then the service."""
    path = tmp_path / "etc" / "config.yaml"
    words = [*options(world, "acme=0192:987654325"), "--state", str(tmp_path / "state")]
    wrong = filedrop(
        *words, "--root", str(tmp_path / "missing"), "--password-file", str(secret(world, path)), config=path
    )
    assert wrong.returncode == 1
    assert wrong.stdout.splitlines()[-1] == f"Correct what failed, and run: filedrop --config {path} check"
    path.unlink()
    right = filedrop(*words, config=path)
    assert right.returncode == 0
    assert right.stdout.splitlines()[-1].startswith("Next, ")
    assert f"filedrop --config {path} " in right.stdout.splitlines()[-1]


def secret(world: World, path: Path) -> Path:
    """The file with the password of a configuration, written."""
    path.parent.mkdir()
    file = path.with_name("password")
    file.write_text(world.configuration().accounts["main"].read_password())
    return file


def answered(command: list[str], answers: list[str]) -> str:
    """What a command says on a terminal on which these lines are typed, each when a question stands there."""
    import pty  # noqa: PLC0415 - Windows has none
    import subprocess  # noqa: PLC0415

    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        said, left = b"", list(answers)
        while True:
            try:
                chunk = os.read(ours, 1 << 16)
            except OSError:  # EIO: nobody has it open any more
                break
            said += chunk
            if left and said.endswith(b": "):
                os.write(ours, left.pop(0).encode() + b"\n")
        process.wait()
    os.close(ours)
    return said.decode()


@pytest.mark.skipif(sys.platform != "win32", reason="these are Windows' places")
def test_the_example_on_windows(tmp_path: Path) -> None:
    """Its places are those of Windows, and it logs into a file: a service has no screen."""
    path = tmp_path / "config.yaml"
    put_example(path, path)
    made = config.load(path)
    assert made.accounts["main"].password_file == tmp_path / "password"
    assert made.log.file == config.default_folder() / "log" / "filedrop.log"
    lines = path.read_text("utf-8").splitlines()
    assert {f"#root: {made.root}", f"#state: {made.state}"} <= set(lines)
