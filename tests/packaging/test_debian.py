"""The packages for Debian 12 and 13, each in its booted Debian: installed as the manual says, and the service at work.

A usual run tries Debian 13 only, and a third of the longer stories, by lot; a full run tries all on both.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.debian import LATER, build
from support.documents import invoice
from support.faults import answered
from support.machine import RELEASES, booted, missing
from support.manual import PAGES, fenced
from support.matrix import draw_seed, is_full
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.faults import Exchange
    from support.machine import Machine

PROJECT = Path(__file__).parents[2]
CONFIG, PASSWORD, STATE = "/etc/filedrop/config.yaml", "/etc/filedrop/password", "/var/lib/filedrop"
FOLDERS = ("", "/outbound", "/inbound")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(missing() != "", reason=f"NOT TRIED: THE DEBIAN PACKAGE: it takes {missing()}"),
]


@pytest.fixture(params=sorted(RELEASES) if is_full() else [13])
def release(request: pytest.FixtureRequest) -> int:
    """The release of Debian: for each that is drawn, a test runs once."""
    return int(request.param)


@pytest.fixture
def drawn() -> None:
    """Skips two of three tests, by lot, unless the run is a full one."""
    if not is_full() and random.Random(draw_seed()).randrange(3):  # noqa: S311 - it is to be repeated, not secret
        pytest.skip("not drawn: FILEDROP_MATRIX=full runs it")


@pytest.fixture
def machine(tmp_path: Path, release: int, packages: Path) -> Iterator[Machine]:
    with booted(tmp_path, release) as machine:
        for package in packages.iterdir():  # by one name for both releases
            (machine.root / "root" / package.name.replace(f"+deb{release}", "")).write_bytes(package.read_bytes())
        yield machine


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An access point, and the folders of the machine."""
    with World(tmp_path / "world", outbound={"doubt": "2s"}, read_timeout="30s") as world:
        yield world


def install(machine: Machine, version: str = "0.1.0") -> str:
    return machine.run("apt-get", "install", "-qy", f"/root/filedrop_{version}_amd64.deb").stdout


def configure(machine: Machine, world: World) -> None:
    """Fill in the configuration, for the world's access point; the folders are the world's from now on."""
    text = world.config_text()
    for here, there in ((world.root, "/srv/filedrop"), (world.state, STATE), (world.password_file, PASSWORD)):
        text = text.replace(str(here), there)
    machine.write(CONFIG, text)
    machine.write(PASSWORD, "secret\n")
    world.root, world.state = machine.root / "srv/filedrop", machine.root / STATE.lstrip("/")
    world.outbound, world.inbound = world.root / "acme/outbound", world.root / "acme/inbound"


def start(machine: Machine, world: World) -> None:
    """From nothing to a running service."""
    install(machine)
    configure(machine, world)
    machine.run("filedrop", "service", "install", "--now")
    world.until((world.outbound / ".filedrop").exists)


def send(world: World, number: str) -> None:
    """Drop a document, and wait until it has been delivered."""
    world.drop(f"{number}.xml", invoice(number))
    world.until(world.settled)
    assert world.places()[f"{number}.xml"].startswith("archive"), world.places()


@pytest.mark.usefixtures("drawn")
def test_the_same_bytes(release: int, packages: Path, tmp_path: Path) -> None:
    """Built twice, the package has the same bytes, whatever the umask and the place."""
    umask = os.umask(0o077)
    try:
        again = build(release, tmp_path / "again")
    finally:
        os.umask(umask)
    assert again.read_bytes() == (packages / again.name).read_bytes()


def test_as_the_manual_says(machine: Machine, world: World) -> None:
    """The commands of the manual, one by one, lead to a document that is sent; nothing is started before."""
    chapter = PAGES["docs/install.md"].partition("\n## Debian 12 and 13\n")[2].partition("\n## ")[0]
    (_, commands), *_ = fenced(chapter)
    first, *others = commands.splitlines()
    assert first == "packaging/debian/build 13"
    assert "0.1.0+deb13_amd64.deb" in others[0]
    assert len(others) < 15
    for line in others:
        program, *words = line.removeprefix("sudo ").split()
        if program == "sudoedit":
            assert machine.unit("ActiveState") == "inactive"
            assert machine.run("stat", "-c", "%a %U", PASSWORD).stdout == "400 filedrop\n"
            configure(machine, world)
            assert words == [CONFIG, PASSWORD]
        else:
            machine.run(program, *(word.replace("./dist/", "/root/").replace("+deb13", "") for word in words))
    machine.until("active")
    world.until((world.outbound / ".filedrop").exists)
    send(world, "1")
    assert machine.unit("StatusText")  # how it stands, which changes while it sends
    found = machine.run("journalctl", "-qu", "filedrop", "FILEDROP_EVENT=document.put_away", "FILEDROP_COMPANY=acme")
    assert "1.xml" in found.stdout
    for page in ("man1/filedrop.1.gz", "man5/filedrop.5.gz"):
        assert (machine.root / "usr/share/man" / page).exists()
    completes = ". /usr/share/bash-completion/completions/filedrop && complete -p filedrop"
    assert machine.run("bash", "-c", completes).stdout.endswith(" filedrop\n")
    assert machine.run("filedrop", "service", "status").returncode == 0
    world.invariants()


@pytest.mark.usefixtures("drawn")
def test_what_stays(machine: Machine, world: World) -> None:
    """An upgrade restarts it; removed, it leaves all but itself; installed again, it goes on; purged, folders stay."""
    start(machine, world)
    send(world, "1")
    machine.write(CONFIG, (machine.root / CONFIG.lstrip("/")).read_text() + "# mine\n")
    before = machine.unit("MainPID")
    install(machine, LATER)
    machine.until("active")
    assert machine.unit("MainPID") != before
    assert LATER in machine.run("dpkg-query", "-W", "filedrop").stdout
    send(world, "2")
    machine.run("apt-get", "remove", "-qy", "filedrop")
    assert machine.unit("ActiveState") == "inactive"
    assert not (machine.root / "usr/lib/filedrop").exists()
    assert (machine.root / CONFIG.lstrip("/")).read_text().endswith("# mine\n")
    assert (world.state / "journal.sqlite").exists()
    install(machine)
    machine.until("active")
    send(world, "3")
    machine.run("apt-get", "purge", "-qy", "filedrop")
    assert not world.state.exists()
    assert not (machine.root / "etc/filedrop").exists()
    assert not list((machine.root / "etc/systemd/system").rglob("*filedrop*"))
    world.state.mkdir()  # nothing of it is looked at below
    assert {name: place[:7] for name, place in world.places().items()} == {f"{n}.xml": "archive" for n in (1, 2, 3)}
    assert set(world.accepted().values()) == {1}


@pytest.mark.usefixtures("drawn")
def test_upgraded_while_it_sends(machine: Machine, world: World) -> None:
    """However much is being sent while a newer package is installed, none of it is lost, and none sent twice."""
    start(machine, world)
    numbers = count(1)

    def load() -> None:
        """Ten documents are always under way."""
        if len(world.dropped) - world.accepted().total() < 10:
            number = next(numbers)
            world.drop(f"{number}.xml", invoice(str(number)))

    while world.accepted().total() < 10:
        load()
    before = machine.unit("MainPID")
    with ThreadPoolExecutor(1) as aside:
        upgrade = aside.submit(install, machine, LATER)
        while not upgrade.done():
            load()
    upgrade.result()
    machine.until("active")
    assert machine.unit("MainPID") != before
    world.until(world.settled, 120)
    world.invariants()
    assert set(world.accepted().values()) == {1}


@pytest.mark.usefixtures("drawn")
def test_it_is_always_there(machine: Machine, world: World) -> None:
    """Killed or hung, it is started again; stopped with a document on the wire, it ends in time, and sends it once."""
    start(machine, world)
    first = int(machine.unit("MainPID"))
    machine.run("systemctl", "kill", "--signal=KILL", "--kill-who=main", "filedrop")
    world.until(lambda: machine.unit("ActiveState") == "active" and int(machine.unit("MainPID")) != first)
    send(world, "1")

    # The unit's 90 s would only be long: what they are for is the same.
    machine.write("/etc/systemd/system/filedrop.service.d/short.conf", "[Service]\nWatchdogSec=4s\n")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "filedrop")
    hung = int(machine.unit("MainPID"))
    machine.run("systemctl", "kill", "--signal=STOP", "--kill-who=main", "filedrop")
    world.until(lambda: machine.unit("ActiveState") == "active" and int(machine.unit("MainPID")) != hung)
    assert "watchdog" in machine.journal().lower()
    send(world, "2")

    arrived, may_answer = threading.Event(), threading.Event()

    def held(exchange: Exchange) -> None:
        arrived.set()
        may_answer.wait(60)
        answered(exchange)

    world.front.next("POST /outbox", held)
    world.drop("3.xml", invoice("3"))
    assert arrived.wait(60)
    with ExitStack() as stack:
        stopping = stack.enter_context(subprocess.Popen(machine.command("systemctl", "stop", "filedrop")))
        machine.until("deactivating")
        may_answer.set()
        assert stopping.wait(60) == 0
    assert (machine.unit("ActiveState"), machine.unit("Result")) == ("inactive", "success")
    assert world.places()["3.xml"].startswith("sent"), "what was answered within the time was put away"
    machine.run("systemctl", "start", "filedrop")
    world.until(world.settled)
    world.invariants()
    assert set(world.accepted().values()) == {1}


@pytest.mark.usefixtures("drawn")
def test_what_it_may_not(machine: Machine, world: World) -> None:
    """`check --as-service` finds what the account or the unit keeps from filedrop, before the service does."""
    start(machine, world)
    check = ("filedrop", "check", "--as-service")
    assert machine.run(*check).returncode == 0
    machine.run("chown", "root:", PASSWORD)
    done = machine.run(*check, check=False)
    assert (done.returncode, "Permission denied" in done.stdout) == (2, True)
    machine.run("chown", "filedrop:", PASSWORD)
    machine.run("chmod", "700", "/srv/filedrop/acme/inbound")
    machine.run("chown", "root:", "/srv/filedrop/acme/inbound")
    done = machine.run(*check, check=False)
    assert (done.returncode, "/srv/filedrop/acme/inbound" in done.stdout) == (1, True)
    machine.run("chown", "filedrop:", "/srv/filedrop/acme/inbound")

    # A folder that is the account's, and that the unit doesn't name yet.
    machine.run("install", "-d", "-o", "filedrop", "-m", "770", "/mnt/in here")
    text = (machine.root / CONFIG.lstrip("/")).read_text()
    machine.write(CONFIG, text.replace('participants: ["', 'inbound: "/mnt/in here", participants: ["'))
    done = machine.run(*check, check=False)
    assert (done.returncode, "run filedrop service install" in done.stdout) == (1, True)
    machine.run("filedrop", "service", "install", "--now")
    assert machine.run(*check).returncode == 0
    world.inbound = machine.root / "mnt/in here"
    world.receive(invoice("4", sender="0192:987654325", receiver="0192:987654321"))
    world.until(lambda: list(world.inbound.glob("*.xml")))

    # What is mounted while it runs, it sees.
    machine.run("mount", "-t", "tmpfs", "tmpfs", "/srv/filedrop/acme/outbound")
    world.until(lambda: "acme/outbound" in machine.run("filedrop", "status").stdout)


@pytest.mark.usefixtures("drawn")
def test_another_share_in_its_place(machine: Machine, world: World) -> None:
    """Where its folders lie in a share that is unmounted while it runs, it sees that, and what is mounted instead."""
    install(machine)
    configure(machine, world)
    text = (machine.root / CONFIG.lstrip("/")).read_text()
    machine.write(CONFIG, text.replace("root: /srv/filedrop", "root: /mnt/filedrop"))

    def mount() -> None:
        machine.run("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        machine.run("install", "-d", "-o", "filedrop", "-g", "filedrop", "-m", "2770", "/mnt/filedrop")

    def there(path: str) -> bool:
        return machine.run("test", "-e", f"/mnt/filedrop/acme/{path}", check=False).returncode == 0

    machine.run("mount", "--make-rshared", "/")  # as each system has it that isn't ours
    mount()
    machine.run("filedrop", "service", "install", "--now")
    world.until(lambda: there("outbound/.filedrop"))
    machine.run("umount", "--lazy", "/mnt")  # whoever works there just now
    mount()
    told = ("journalctl", "-qu", "filedrop", "FILEDROP_EVENT=folder.unavailable")
    world.until(lambda: "acme/outbound" in machine.run(*told).stdout)
    machine.run("install", "-d", "-o", "filedrop", "-m", "2770", *(f"/mnt/filedrop/acme{it}" for it in FOLDERS))
    machine.run("filedrop", "check", "--take-over")
    world.until(lambda: there("outbound/sending"))


@pytest.mark.usefixtures("drawn")
def test_removed_while_it_runs(machine: Machine, world: World) -> None:
    """What runs is stopped before its unit is taken away, also where it wouldn't start with the system."""
    start(machine, world)
    machine.run("systemctl", "disable", "filedrop")
    assert "Stopped" in machine.run("filedrop", "service", "remove").stdout
    assert machine.run("systemctl", "is-active", "filedrop", check=False).stdout == "inactive\n"


@pytest.mark.usefixtures("drawn")
def test_started_too_early(machine: Machine, world: World) -> None:
    """Started before the unit knows the folders, it says what is missing; then it works."""
    install(machine)
    configure(machine, world)
    (machine.root / "srv/elsewhere").mkdir()
    machine.run("chown", "filedrop:", "/srv/elsewhere")
    text = (machine.root / CONFIG.lstrip("/")).read_text()
    machine.write(CONFIG, text.replace("root: /srv/filedrop", "root: /srv/elsewhere"))
    assert "run filedrop service install" in machine.run("filedrop", "service", "start").stdout
    world.until(lambda: "run filedrop service install" in machine.journal())
    machine.run("filedrop", "service", "install", "--now")
    world.root = machine.root / "srv/elsewhere"
    world.outbound, world.inbound = world.root / "acme/outbound", world.root / "acme/inbound"
    world.until((world.outbound / ".filedrop").exists)
    send(world, "1")


@pytest.mark.usefixtures("drawn")
def test_a_configuration_with_mistakes(machine: Machine, world: World) -> None:
    """A service whose configuration must be mended isn't tried again and again; mended, it starts."""
    start(machine, world)
    text = (machine.root / CONFIG.lstrip("/")).read_text()
    machine.write(CONFIG, "rot: /srv\n" + text)
    machine.run("systemctl", "kill", "--signal=KILL", "--kill-who=main", "filedrop")
    machine.until("failed")
    assert machine.unit("ExecMainStatus") == "2"
    assert "rot" in machine.journal()
    machine.write(CONFIG, text)
    machine.run("systemctl", "start", "filedrop")
    send(world, "1")
