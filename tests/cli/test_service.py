"""`filedrop service`, below a folder in the place of /. On a booted system: tests/packaging."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.configuration import BASE
from support.disks import mounted

from filedrop import config as configuration
from filedrop.cli.service import texts
from filedrop.cli.service.installed import Unit

if TYPE_CHECKING:
    from cli.conftest import Done, Filedrop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")

UNITS = Path("etc/systemd/system")
DROP_IN = UNITS / "filedrop.service.d" / "50-filedrop.conf"


class Machine:
    """A root of our own, and what is asked of it."""

    def __init__(self, root: Path, filedrop: Filedrop) -> None:
        self.root = root
        self._filedrop = filedrop

    def ask(self, *words: str) -> Done:
        return self._filedrop("service", *words, "--root", self.root)

    def configure(self, more: str = "", name: str = "config") -> None:
        path = self.root / "etc/filedrop" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BASE + more)

    def files(self) -> dict[str, str]:
        """Each file that lies there, and its text."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_text() for path in found}

    def settings(self, key: str) -> list[str]:
        """What the drop-in says of this."""
        lines = (self.root / DROP_IN).read_text().splitlines()
        return [value for name, _, value in (line.partition("=") for line in lines) if name == key]


@pytest.fixture
def machine(tmp_path: Path, filedrop: Filedrop) -> Machine:
    return Machine(tmp_path, filedrop)


def test_installing(machine: Machine) -> None:
    """Unit, account, folders and what the configuration says are written and named; a second time, nothing is."""
    machine.configure()
    done = machine.ask("install")
    assert done.returncode == 0, done.stderr
    written = machine.files()
    told = {line.removeprefix("Wrote /").removesuffix(".") for line in done.stdout.splitlines() if "Wrote" in line}
    assert told == written.keys() - {"etc/filedrop/config.yaml"}
    assert told == {
        str(UNITS / "filedrop.service"), str(DROP_IN), "etc/sysusers.d/filedrop.conf", "etc/tmpfiles.d/filedrop.conf",
    }  # fmt: skip
    assert f"ExecStart={Path(sys.executable).with_name('filedrop')} run" in written[str(UNITS / "filedrop.service")]
    again = machine.ask("install")
    assert (again.returncode, "Wrote" in again.stdout) == (0, False)
    assert machine.files() == written
    assert machine.ask("status").returncode == 0


def test_without_a_configuration(machine: Machine) -> None:
    """Where there is none, the example is put in its place, once, and what is to be done is said, with status 2."""
    done = machine.ask("install")
    assert done.returncode == 2
    assert "fill in accounts and companies" in done.stderr
    assert "base_url" in machine.files()["etc/filedrop/config.yaml"]
    again = machine.ask("install")
    assert (again.returncode, "config.yaml is still the example" in again.stderr) == (2, True)
    machine.configure()
    assert machine.ask("install").returncode == 0
    assert machine.files()["etc/filedrop/config.yaml"] == BASE


def test_a_configuration_with_mistakes(machine: Machine) -> None:
    """Each mistake is named with its line, with status 2, and nothing is written."""
    machine.configure("rot: /srv/other\n")
    before = machine.files()
    done = machine.ask("install")
    assert (done.returncode, "config.yaml:9: rot: unknown key" in done.stderr) == (2, True)
    assert machine.files() == before


def test_where_it_may_write(machine: Machine) -> None:
    """The folders of the configuration and the state, each once, however they are called; the last folder is made."""
    (machine.root / "srv/with space/100%").mkdir(parents=True)
    machine.configure(
        "    outbound: ['/srv/with space/100%', /mnt/share/new]\n    inbound: /srv/root/acme/in\nroot: /srv/root\n"
        "log: {file: /var/log/filedrop/log}\nmetrics: {textfile: /var/lib/node/filedrop.prom}\n"
    )
    machine.ask("install").check_returncode()
    assert machine.settings("ReadWritePaths") == [
        "-/mnt/share", "-/srv/root", '"-/srv/with space/100%%"', "-/var/lib/filedrop", "-/var/lib/node",
        "-/var/log/filedrop",
    ]  # fmt: skip
    unit = Unit.read("filedrop.service", machine.root)
    assert unit is not None
    assert Path("/srv/with space/100%") in unit.writable
    assert unit.user == "filedrop"


def share_is_named(folder: Path) -> bool:
    """Is the share that the folder's parent is named as a whole, where the folder is a configuration's root?"""
    file = folder.parents[1] / "config.yaml"
    file.write_text(f"{BASE}root: {folder}\nstate: /var/lib/filedrop/acme\n")
    site = texts.Site.choose(None, Path("/"), str(file))
    return folder.parent in texts.writable(site, configuration.load(file))


def test_folders_in_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share is named as a whole, so that the service sees it unmounted; by /etc/fstab also while it is away."""
    share = tmp_path / "share"
    assert not share_is_named(share / "filedrop")
    with mounted(share):
        assert share_is_named(share / "filedrop")
    monkeypatch.setattr(texts, "FSTAB", tmp_path / "fstab")
    texts.FSTAB.write_text(f"# <file system> <mount point>\n\nserver:/x {share} nfs nofail 0 0\n/dev/x none swap\n")
    assert share_is_named(share / "filedrop")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("state: /filedrop-state\n", "write in /:"),
        ("root: /tmp/share\n", "a folder for temporary files"),
        ("    inbound: /var/lib/inbound\n", "write in /var/lib:"),
    ],
)
def test_what_a_service_cannot_use(machine: Machine, more: str, why: str) -> None:
    """A folder that the unit hides, or that would open the system to it, is refused, and nothing is written."""
    machine.configure(more)
    done = machine.ask("install")
    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert machine.files().keys() == {"etc/filedrop/config.yaml"}


def test_homes_and_credentials(machine: Machine) -> None:
    """A folder in a home is seen; a credential is handed over from beside the configuration."""
    machine.configure("root: /home/share\n")
    config = machine.root / "etc/filedrop/config.yaml"
    config.write_text(config.read_text().replace("password_env: SECRET", "password_credential: access-point"))
    machine.ask("install").check_returncode()
    assert machine.settings("ProtectHome") == ["read-only"]
    assert machine.settings("LoadCredential") == ["access-point:/etc/filedrop/access-point"]


@pytest.mark.parametrize(
    ("more", "lets"),
    [("", []), ("validation: {command: [/bin/v]}\n", ["no"]), ("commands: {after_failed: [/bin/c]}\n", ["no"])],
)
def test_programs_of_ones_own(machine: Machine, more: str, lets: list[str]) -> None:
    """Only where the configuration names a program, which may be Java's, may what runs make code of what it writes."""
    machine.configure(more)
    machine.ask("install").check_returncode()
    assert machine.settings("MemoryDenyWriteExecute") == lets


def test_a_changed_configuration(machine: Machine) -> None:
    """`status` says what the configuration wants otherwise since, and `install` writes that alone."""
    machine.configure()
    machine.ask("install").check_returncode()
    machine.configure("root: /srv/other\n")
    done = machine.ask("status", "--json")
    assert (done.returncode, json.loads(done.stdout)["stale"]) == (1, [f"/{DROP_IN}"])
    assert f"/{DROP_IN} doesn't match the configuration" in machine.ask("status").stdout
    assert [line for line in machine.ask("install").stdout.splitlines() if "Wrote" in line] == [f"Wrote /{DROP_IN}."]


def test_what_somebody_else_has_written(machine: Machine) -> None:
    """A unit that isn't ours stays as it is, and is named; drop-ins of the administrator's count and stay."""
    machine.configure()
    unit = machine.root / UNITS / "filedrop.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    done = machine.ask("install")
    assert (done.returncode, "move it away" in done.stderr) == (1, True)
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"
    unit.unlink()
    machine.ask("install").check_returncode()
    (machine.root / DROP_IN).with_name("override.conf").write_text("[Service]\nUser=\nUser=other\n")
    assert json.loads(machine.ask("status", "--json").stdout)["account"] == "other"
    machine.ask("remove").check_returncode()
    assert machine.files().keys() == {"etc/filedrop/config.yaml", str(DROP_IN.with_name("override.conf"))}


def test_beside_the_systems_package(machine: Machine) -> None:
    """Where the system's package has brought the unit, only what the configuration says is written."""
    vendor = machine.root / "usr/lib/systemd/system/filedrop.service"
    vendor.parent.mkdir(parents=True)
    vendor.write_text("[Service]\nUser=filedrop\n")
    machine.configure()
    machine.ask("install").check_returncode()
    assert machine.files().keys() - {"etc/filedrop/config.yaml", "usr/lib/systemd/system/filedrop.service"} == {
        str(DROP_IN)
    }
    machine.ask("remove").check_returncode()
    assert vendor.exists()


def test_several(machine: Machine) -> None:
    """Each instance goes by its own configuration, also one named like a part of `filedrop`.

    What they have in common goes with the last one.
    """
    for name in ("acme", "drop"):
        machine.configure(f"state: /var/lib/filedrop/{name}\nroot: /srv/{name}\n", name)
        machine.ask("install", name).check_returncode()
    unit = Unit.read("filedrop@drop.service", machine.root)
    assert unit is not None
    assert Path("/srv/drop") in unit.writable
    assert Path("/srv/acme") not in unit.writable
    machine.ask("remove", "acme").check_returncode()
    assert machine.ask("status", "drop").returncode == 0
    assert machine.ask("status", "acme").returncode == 1
    machine.ask("remove", "drop").check_returncode()
    assert machine.files().keys() == {"etc/filedrop/acme.yaml", "etc/filedrop/drop.yaml"}
    assert "nothing to do" in machine.ask("remove", "drop").stdout
    assert machine.ask("install", "a/b").returncode == 2


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="this would change the machine")
@pytest.mark.parametrize("command", ["install", "remove"])
def test_without_systemd(filedrop: Filedrop, command: str) -> None:
    """Where nobody runs services, or somebody isn't root, it is said what to do, with status 1."""
    done = filedrop("service", command)
    assert done.returncode == 1
    assert any(why in done.stderr for why in ("wasn't started by systemd", "only root", "has no systemd"))


def test_check_without_a_service(filedrop: Filedrop, tmp_path: Path) -> None:
    """`check --as-service` needs a service whose account it can try."""
    config = tmp_path / "config.yaml"
    config.write_text(BASE)
    done = filedrop("check", "--as-service", config=config)
    assert (done.returncode, "filedrop service install" in done.stderr) == (1, True)


AS_ANOTHER = """
import os, sys
from filedrop.cli.service.account import become
from filedrop.cli.service.installed import Unit
ends = []
become(Unit("filedrop.service", None, {"User": ["nobody"], "LoadCredential": [sys.argv[1]]}), ends.append)
folder = os.environ["CREDENTIALS_DIRECTORY"]
print(os.getresuid(), os.getresgid(), os.getgroups(), open(f"{folder}/secret").read(), os.access(sys.argv[2], os.R_OK))
[end() for end in ends]
print(os.path.exists(folder))
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another")
def test_becoming_the_account(tmp_path: Path) -> None:
    """Nothing is left of root's rights but the credentials that systemd would hand over, and in the end not these."""
    secret = tmp_path / "secret"
    secret.write_text("acme-secret")
    secret.chmod(0o400)
    words = [sys.executable, "-c", AS_ANOTHER, f"secret:{secret}", secret]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    nobody, nogroup = 65534, 65534
    assert done.stdout.splitlines() == [f"{(nobody,) * 3} {(nogroup,) * 3} [{nogroup}] acme-secret False", "False"]
