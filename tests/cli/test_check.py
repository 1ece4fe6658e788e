"""`filedrop check`."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest
from cli.conftest import PROJECT, everything_below
from support.codelists import lists, publish
from support.commands import ask
from support.documents import BUYER, SELLER, invoice
from support.faults import instead
from support.rights import as_anyone
from support.sharing import SHARE
from support.systems import modes

from filedrop.cli.checking import code_list_found
from filedrop.config.codelists import load_lists
from filedrop.files import trial
from filedrop.identify import codelist
from filedrop.process.lock import JOURNAL
from filedrop.status.lately import unproven
from filedrop.texts.printable import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


def findings(output: str) -> list[tuple[str, str, str]]:
    return [(one["about"], one["result"], one["says"]) for one in map(json.loads, output.splitlines())]


def test_all_is_well(filedrop: Filedrop, world: World) -> None:
    """Check says what it found of configuration, state, folders, login and clock, and leaves nothing behind."""
    world.run_once()
    before = everything_below(world.base)
    done = filedrop("check", "--json")
    assert everything_below(world.base) == before
    found = findings(done.stdout)
    assert {result for _, result, _ in found} == {"ok"}
    about = {name for name, _, _ in found}
    assert about == {"configuration", "state", str(world.outbound), str(world.inbound), "account main"}
    assert done.returncode == 0
    assert "accepts the login of acme" in filedrop("check").stdout


def test_before_the_first_start(filedrop: Filedrop, world: World) -> None:
    """Check makes neither folders nor a state."""
    before = everything_below(world.base)
    assert filedrop("check").returncode == 0
    assert everything_below(world.base) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows renames without replacing on each file system")
def test_folders_that_could_not_be_used(filedrop: Filedrop, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that doesn't exist yet is tried at its nearest parent, before the first start."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(trial, "file_system", lambda _: SHARE)
    monkeypatch.setattr(os, "link", refuse)
    before = sorted(world.root.rglob("*"))
    done = filedrop("check", "--json")
    said = {row["about"]: row for row in map(json.loads, done.stdout.splitlines())}[str(world.inbound)]
    assert said["result"] == "failed"
    assert f"it doesn't exist yet, and couldn't be used: in {world.inbound.parent}" in said["says"]
    assert "neither links nor an exclusive rename" in said["says"]
    assert done.returncode == 1
    assert sorted(world.root.rglob("*")) == before


def test_fewer_threads_than_folders(
    filedrop: Filedrop, world: World, without_threads: Callable[[str], AbstractContextManager[None]]
) -> None:
    """Check counts the folders that would have no thread, and says which limit to raise."""
    world.run_once()
    assert "threads" not in filedrop("check").stdout
    with without_threads("spare"):
        done = filedrop("check")
    assert "there are threads to watch 0 of 1 folders; the others are scanned, every `rescan`: raise" in done.stdout
    assert done.returncode == 0


def test_company_that_has_received_nothing(filedrop: Filedrop, world: World) -> None:
    """Until its first message, check says that nothing shows yet whether its account receives for it."""
    says = f"nothing has been received for acme through main yet. Whether main receives for {SELLER} shows"
    assert says in filedrop("check", "--json").stdout
    world.run_once()
    done = filedrop("check", "--json")
    assert says in done.stdout
    assert done.returncode == 0
    config = world.configuration()
    silent = config.companies["acme"].model_copy(update={"participants": ()})
    assert unproven(None, silent, config.accounts["main"]) == ""
    world.receive(invoice("1", sender=BUYER, receiver=SELLER))
    world.run_once()
    assert "has been received for" not in filedrop("check", "--json").stdout


@pytest.mark.parametrize(
    "why",
    [
        "below a file",
        "a file itself",
        pytest.param("no right", marks=modes),
        pytest.param("no right to look", marks=modes),
    ],
)
def test_a_state_that_cannot_be_made(filedrop: Filedrop, world: World, why: str) -> None:
    """A state folder that can't be made is found before the first start, with status 1, and nothing is left behind."""
    within = world.base / "within"
    if why in ("below a file", "a file itself"):
        within.touch()
    else:
        within.mkdir(mode=0o500 if why == "no right" else 0o600)
    world.state = within if why == "a file itself" else within / "a" / "state"
    (world.base / "config.yaml").write_text(world.config_text())
    before = everything_below(world.base)
    with as_anyone():
        for options in ((), ("--take-over",)):
            done = filedrop("check", "--json", *options)
            assert done.returncode == 1
            ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "failed"]
            assert (about, str(within) in says) == ("state", True)
    assert everything_below(world.base) == before


def test_take_over_without_the_right(filedrop: Filedrop, world: World) -> None:
    """Who may not use the journal is told so, nothing is called broken, and no folder is taken over."""
    world.run_once()
    marker = world.outbound / ".filedrop"
    marker.write_text('{"folder": "f1", "journal": "another"}\n')
    closed = [(world.state / JOURNAL, 0o400)]
    if sys.platform != "win32":  # where a folder's mode says nothing
        closed.append((world.state, 0o500))
    for path, mode in closed:
        path.chmod(mode)
        with as_anyone():
            done = filedrop("check", "--json", "--take-over")
        path.chmod(0o700)
        said = [says for about, result, says in findings(done.stdout) if (about, result) == ("state", "failed")]
        who = "an administrator" if sys.platform == "win32" else "filedrop's user, or as root"
        assert said == [f"you may not use {path}: run this as {who}"]
        assert done.returncode == 1
        assert json.loads(marker.read_text())["journal"] == "another"


@pytest.mark.parametrize(
    ("participant", "says"),
    [
        ("9999:1", "failed: 9999:1: the scheme 9999 is not in the Peppol code list"),
        ("0192:987654321", "warning: 0192:987654321: the check digit does not fit"),
        ("9908:987654325", "warning: 9908:987654325: the Peppol code list has removed the scheme 9908"),
    ],
)
def test_a_participant_that_is_none(filedrop: Filedrop, world: World, participant: str, says: str) -> None:
    """A participant of a scheme that the network doesn't know is found, with status 2; a doubtful one is a warning."""
    config = world.base / "participants.yaml"
    companies = f"companies:\n  fjord: {{participants: ['{participant}']}}"
    config.write_text(world.config_text().replace("companies:", companies))
    done = filedrop("check", "--json", config=config)
    (said,) = [
        f"{result}: {says}" for _, result, says in findings(done.stdout) if f"participants: {participant}" in says
    ]
    assert said.startswith(says.replace(": ", f": {config}: companies.fjord.participants: ", 1))
    assert done.returncode == (2 if says.startswith("failed") else 0)


def test_a_folder_that_is_gone(filedrop: Filedrop, world: World) -> None:
    """A folder that filedrop has worked in and that is gone is found, with status 1; no run makes it up."""
    world.run_once()
    world.inbound.joinpath(".filedrop").unlink()
    world.inbound.rmdir()
    done = filedrop("check", "--json")
    assert done.returncode == 1
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "failed"]
    assert about == str(world.inbound)
    assert "it is missing" in says
    assert f"{world.inbound}: unavailable: it is missing" in filedrop("status").stdout
    world.run_once()
    assert not world.inbound.exists()


@pytest.mark.parametrize("password", ["", None], ids=["empty", "missing"])
def test_no_password(filedrop: Filedrop, world: World, password: str | None) -> None:
    """A password that can't be read is a fault of the configuration: it is found with status 2, beside what else is."""
    world.password_file.unlink()
    if password is not None:
        world.password_file.write_text(password)
    done = filedrop("check", "--json")
    assert done.returncode == 2
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "failed"]
    assert about == "configuration"
    assert says.startswith("accounts.main.password_file: ")


def test_a_refused_login(filedrop: Filedrop, world: World) -> None:
    """A refused login is found, with status 3."""
    world.password_file.write_text("wrong")
    done = filedrop("check", "--json")
    assert done.returncode == 3
    assert [name for name, result, _ in findings(done.stdout) if result == "failed"] == ["account main"]


def test_a_rule_that_does_not_load(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """An XPath that is none and a table that isn't there are found, with status 2, as the daemon would find them."""
    config = tmp_path / "rules.yaml"
    rules = "mapping:\n  - {receiver: {xpath: '//['}}\n  - {sender: {table: gone, key: {xpath: '//ID'}}}\n"
    config.write_text(world.config_text() + rules + "tables: {gone: gone.csv}\n")
    done = filedrop("check", "--json", config=config)
    assert done.returncode == 2
    failed = [says for _, result, says in findings(done.stdout) if result == "failed"]
    assert [("XPath" in says, "gone.csv" in says) for says in failed] == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("least", "says"),
    [
        ("1KB", "ok: {} free; below 1 KB (inbound.min_free), nothing is fetched"),
        ("0MB", "ok: {} free"),
        ("99999GB", "failed: only {} free; below 99.9 TB (inbound.min_free), nothing is fetched: make room"),
    ],
)
def test_free_space(filedrop: Filedrop, make_world: Callable[..., World], least: str, says: str) -> None:
    """How much room there is, and how much there must be, is said in units that leave something of both."""
    world = make_world(inbound={"min_free": least})
    world.run_once()
    config = world.base / "config.yaml"
    config.write_text(world.config_text())
    found = findings(filedrop("check", "--json", config=config).stdout)
    (said,) = [f"{result}: {said}" for about, result, said in found if about == str(world.inbound) and "free" in said]
    assert re.sub(r"[1-9][0-9.]* [A-Z]B(?= free)", "{}", said) == says


@pytest.mark.parametrize(
    ("rows", "doubtful"),
    [
        ("1041,0192:987654325\n1042,0192:987654325\n", True),
        ("PO-1,orders\nPO-2,orders\n", True),
        ("invoice,urn:fdc:peppol.eu:2017:poacc:billing:01:1.0\n", True),
        ("customer,participant\n1041,0192:987654325\n", False),
        ("number,channel (as of 2026)\nPO-1,orders\n", False),
        ("customer\n1041,0192:987654325\n", False),
    ],
)
def test_a_table_without_a_header(
    filedrop: Filedrop, world: World, tmp_path: Path, rows: str, *, doubtful: bool
) -> None:
    """A first row that looks like an entry is warned of: it is taken for the header, and its customer has no entry."""
    table, config, file = tmp_path / "customers.csv", tmp_path / "tables.yaml", tmp_path / "T-1041.xml"
    table.write_text(rows)
    rule = r"{file: 'T-(?P<n>.*)\.xml', receiver: {table: customers, key: '{n}'}}"
    config.write_text(f"{world.config_text()}mapping: [{rule}]\ntables: {{customers: {table}}}\n")
    done = filedrop("check", "--json", config=config)
    said = [says for _, result, says in findings(done.stdout) if result == "warning"]
    assert (done.returncode, len(said)) == (0, int(doubtful))
    assert all(f"tables.customers: {table}: line 1 (" in says and "taken for the header" in says for says in said)
    file.write_bytes(invoice(receiver=None))
    told = filedrop("check", "--offline", file, config=config).stdout
    assert ("taken for the header" in told) == rows.startswith("1041")


def test_a_table_without_entries(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A table that has lost all but its header is warned of: each of its documents would go to whom it names."""
    table, config = tmp_path / "customers.csv", tmp_path / "tables.yaml"
    rule = r"{file: 'T-(?P<n>.*)\.xml', receiver: {table: customers, key: '{n}'}}"
    config.write_text(f"{world.config_text()}mapping: [{rule}]\ntables: {{customers: {table}}}\n")
    for below, warnings in (("", 1), ("1041,0192:987654325\n", 0)):
        table.write_text(f"customer,participant\n{below}")
        done = filedrop("check", "--json", config=config)
        said = [says for _, result, says in findings(done.stdout) if result == "warning"]
        assert len([says for says in said if f"{table} has no entries below its header" in says]) == warnings


def test_no_directory(filedrop: Filedrop, world: World) -> None:
    """That there is no directory to be asked is worth a warning, and is no failure."""
    world.front.always("GET /directory", instead(404))
    done = filedrop("check", "--json")
    assert done.returncode == 0
    ((about, says),) = [(about, says) for about, result, says in findings(done.stdout) if result == "warning"]
    assert about == "account main"
    assert says.endswith("gives no answer: this access point has no directory; write directory: off")


def test_settings_of_a_company(make_world: Callable[..., World]) -> None:
    """Check lists the settings that a company has of its own, and `config show` prints all that apply to it."""
    own = "participants: [], directory: refuse, duplicates: refuse, prepare: {ids: true}, keep: {archive: 400d}"
    world = make_world(companies={"fjord": f"{{{own}}}"}, outbound={"directory": '"off"'})
    world.front.always("GET /directory", instead(404))
    done = world.filedrop("check", "--json")
    assert done.returncode == 0
    found = findings(done.stdout)
    says = "companies.fjord has settings of its own: prepare: {ids: true}, directory: refuse, keep.archive: 400d"
    assert ("configuration", "ok", says) in found
    assert not [says for _, _, says in found if says.startswith("companies.acme")]
    (warning,) = [says for _, result, says in found if result == "warning"]
    assert warning.startswith("companies.fjord.directory is refuse, but the directory gives no answer")
    shown = json.loads(world.filedrop("config", "show", "--json").stdout)["companies"]
    keys = ("directory", "duplicates", "keep")
    assert [shown["acme"][key] for key in keys] == ["off", "refuse", {"archive": "forever"}]
    assert [shown["fjord"][key] for key in keys] == ["refuse", "refuse", {"archive": "400d"}]


def test_many_companies(make_world: Callable[..., World]) -> None:
    """Of many results, check shows those that aren't ok, and counts the others; `--all` shows all."""
    world = make_world(companies={f"c{number}": "{participants: []}" for number in range(12)})
    world.run_once()
    (world.root / "c3" / "outbound" / ".filedrop").unlink()
    few, all_of_them = ask(world, "check").says, ask(world, "check", "--all").says
    (count,) = re.findall(r"(\d+) results are ok. To see them, run: filedrop check --all", few)
    assert (few.count("ok "), all_of_them.count("ok ")) == (0, int(count))
    assert "its .filedrop is missing" in few


def test_a_folder_of_another(filedrop: Filedrop, world: World) -> None:
    """A folder of another filedrop is found, with status 1, and ours after --take-over."""
    world.run_once()
    marker = world.outbound / ".filedrop"
    marker.write_text('{"folder": "f1", "journal": "another"}\n')
    done = filedrop("check", "--json")
    assert done.returncode == 1
    assert any("another filedrop serves this folder" in says for _, _, says in findings(done.stdout))
    assert filedrop("check", "--take-over").returncode == 0
    assert json.loads(marker.read_text())["folder"] == "f1"
    assert filedrop("check").returncode == 0


def test_folders_that_a_lost_journal_knew(filedrop: Filedrop, world: World) -> None:
    """Where there is no journal, folders with a marker are another's: what `run` says, check says before."""
    world.run_once()
    shutil.rmtree(world.state)
    done = filedrop("check", "--json")
    assert done.returncode == 1
    anothers = {about for about, _, says in findings(done.stdout) if "another filedrop serves this folder" in says}
    assert anothers == {str(world.outbound), str(world.inbound)}
    assert not world.state.exists()
    assert filedrop("check", "--take-over").returncode == 0
    assert filedrop("check").returncode == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root acts as another")
def test_take_over_makes_no_state_of_roots(world: World) -> None:
    """Where root takes over and there is no state yet, it becomes that of the folders' owner."""
    world.run_once()
    shutil.rmtree(world.state)
    for path in (world.base, world.root, *world.root.rglob("*")):
        os.chown(path, 12345, 54321)
    # Loaded while we are root: Python may lie in root's own folder.
    modules = "filedrop.cli.check, filedrop.cli.set_up, filedrop.accesspoint.transport, stdnum.no.orgnr"
    load = f"import {modules}; from filedrop.cli import main; main()"
    words = ["--config", str(world.config_file()), "check", "--take-over"]
    done = subprocess.run(
        [sys.executable, "-c", load, *words], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert "from now on, this filedrop serves this folder" in done.stdout, done.stdout + done.stderr
    made = {path: path.stat().st_uid for path in (world.state, *world.state.iterdir(), world.outbound / ".filedrop")}
    assert set(made.values()) == {12345}


def test_a_program_that_is_not_there(filedrop: Filedrop, world: World) -> None:
    """A command of one's own whose program is missing is found before a document needs it."""
    world.more = "commands: {after_failed: [/opt/gone/tell, it]}"
    (world.base / "config.yaml").write_text(world.config_text())
    done = filedrop("check", "--json")
    assert done.returncode == 1
    assert [(about, says) for about, result, says in findings(done.stdout) if result == "failed"] == [
        (
            "commands.after_failed",
            "/opt/gone/tell doesn't exist, or filedrop may not run it: write the full path of a program",
        )
    ]


def test_one_folder_is_taken_over_alone(filedrop: Filedrop, world: World) -> None:
    """With --folder, the mount point of another folder that is away is left alone: nothing is delivered below it."""
    world.run_once()
    shutil.rmtree(world.outbound)  # by mistake; and made again, as is said
    world.outbound.mkdir()
    world.inbound.rename(world.base / "share")
    world.inbound.mkdir()
    taken = command("filedrop", "check", "--take-over", "--folder", str(world.outbound))
    assert any(taken in says for _, _, says in findings(filedrop("check", "--json").stdout))
    done = filedrop("check", "--take-over", "--folder", str(world.outbound), "--json")
    assert [about for about, _, says in findings(done.stdout) if says.startswith("from now on")] == [
        str(world.outbound)
    ]
    world.receive(invoice("1"))
    world.run_once()
    assert not list(world.inbound.iterdir())
    world.inbound.rmdir()
    (world.base / "share").rename(world.inbound)
    world.run_once()
    assert len(world.delivered()) == 1
    for words in (("--folder", str(world.outbound)), ("--take-over", "--folder", "/elsewhere")):
        assert filedrop("check", *words).returncode == 2


def test_a_folder_without_its_marker(filedrop: Filedrop, world: World) -> None:
    """A folder that has lost its marker is found, and ours after --take-over, with the same id as before."""
    world.run_once()
    marker = world.outbound / ".filedrop"
    before = json.loads(marker.read_bytes())
    marker.unlink()
    assert filedrop("check").returncode == 1
    assert filedrop("check", "--take-over").returncode == 0
    assert {key: json.loads(marker.read_bytes())[key] for key in before} == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root acts as another")
def test_python_in_a_folder_of_roots(world: World, tmp_path: Path) -> None:
    """Where the state's owner can't read filedrop itself, that is a sentence with what to do, and no traceback."""
    world.run_once()
    for path in (world.base, world.state, *world.state.iterdir()):
        os.chown(path, 12345, 54321)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "filedrop").symlink_to(PROJECT / "filedrop")
    load = f"import sys; sys.path.insert(0, {str(home)!r}); import filedrop.cli; filedrop.cli.main()"
    words = ["--config", str(world.config_file()), "check"]
    done = subprocess.run(
        [sys.executable, "-c", load, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert ", mode 0700; filedrop runs as 12345. Install filedrop where every user can read it" in done.stderr


@pytest.mark.parametrize(("today", "result"), [(date(2026, 11, 27), "ok"), (date(2027, 6, 1), "warning")])
def test_code_list(today: date, result: str) -> None:
    """The code list's version is shown, and that newer ones exist after nine months."""
    found = code_list_found(None, today)
    assert (found.result, "version 9.7 of 2 July 2026" in found.says) == (result, True)


@pytest.mark.parametrize(
    ("version", "published", "today", "says"),
    [
        ("10.0", "2026-10-05", date(2026, 11, 27), "10.0 of 5 October 2026, from {}"),
        ("10.0", "2026-10-05", date(2027, 8, 1), "10.0 of 5 October 2026, from {}, and newer ones exist by now: "),
        ("10.0", None, date(2027, 8, 1), "10.0, from {}, whose age isn't known: "),
        ("9.6", None, date(2026, 11, 27), "9.6, from {}, and filedrop contains version 9.7 of 2 July 2026: "),
    ],
)
def test_named_code_list(tmp_path: Path, version: str, published: str | None, today: date, says: str) -> None:
    """The version that counts is shown with its folder, and a list that is old, or may be, is a warning."""
    folder = tmp_path / "lists"
    publish(folder, {name: content | {"version": version} for name, content in lists().items()}, published=published)
    codelist.use(load_lists(folder))
    try:
        found = code_list_found(folder, today)
    finally:
        codelist.use(None)
    whole = f"the Peppol code list is version {says.format(folder)}"
    assert found.says.startswith(whole)
    assert found.result == ("ok" if found.says == whole else "warning")
    assert (found.result == "ok") == (not says.endswith(" "))
