"""A Debian of one's own, booted with systemd as process 1: in namespaces, from a system that is made once and kept.

    with booted(tmp_path, 13) as machine:
        machine.run("systemctl", "start", "filedrop")

What happens in it stays in it: its files are a layer above the system's. It shares the network, so that a test's access
point is at the same address. It needs root, debootstrap, a file system for layers and control groups of the second
kind; `missing` says what isn't there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSTEMS = Path("/var/cache/filedrop-tests")
RELEASES = {12: "bookworm", 13: "trixie"}  # of Debian
PACKAGES = "systemd-sysv,dbus,python3,ca-certificates,tzdata"
TOOLS = ("debootstrap", "unshare", "nsenter", "dpkg-deb", "mount")
DEADLINE = 120.0  # seconds for a condition: the machine may be busy
BOOT = r"""
set -e
mount --make-rprivate /
cd "$1"
mount --bind . . && cd "$1"
mount -t proc proc proc && mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for place in dev/shm run tmp; do mount -t tmpfs tmpfs $place; done
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . mnt
umount -l /mnt
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other /lib/systemd/systemd --system
"""


def missing() -> str:
    """What isn't there that a machine needs, "" where all is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "root on Linux"
    if gone := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(gone)} (apt install debootstrap)"
    return "" if _control_groups() else "control groups of the second kind (cgroup2)"


def _control_groups() -> Path | None:
    """Where the control groups of the second kind are mounted."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)


class Machine:
    """A booted system: `root` is where its files are seen from here, `process` its process 1."""

    def __init__(self, root: Path, process: int) -> None:
        self.root = root
        self.process = process

    def run(self, *words: object, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command there, as root. What it printed, both streams together, is its `stdout`."""
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            self.command(*words), env=environment | more, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE * 2, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{self.journal()}")
        return done

    def command(self, *words: object) -> list[str]:
        """The command that runs this there."""
        namespaces = ("--mount", "--uts", "--ipc", "--pid", "--cgroup", "--wd=/")
        return ["nsenter", f"--target={self.process}", *namespaces, *map(str, words)]

    def journal(self) -> str:
        """The last of what the service has logged."""
        return self.run("journalctl", "--no-pager", "-n", "40", "-u", "filedrop", check=False).stdout

    def unit(self, key: str) -> str:
        """What systemd says of filedrop's unit."""
        return self.run("systemctl", "show", "--value", "-p", key, "filedrop").stdout.strip()

    def until(self, state: str) -> None:
        """Wait until filedrop's unit is in this state: active, failed."""
        deadline = time.monotonic() + DEADLINE
        while (is_now := self.unit("ActiveState")) != state:
            assert time.monotonic() < deadline, f"filedrop is {is_now}, not {state}\n{self.journal()}"
            time.sleep(0.1)

    def write(self, path: str, text: str) -> None:
        """Write a file there; its rights stay, where it is there already."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@contextmanager
def booted(base: Path, release: int) -> Iterator[Machine]:
    """A machine with this release of Debian, whose files are below `base`; it ends with this."""
    layer = system(release)
    root = base / "machine"
    layers = [base / name for name in ("changes", "work")]
    for folder in (root, *layers):
        folder.mkdir()
    groups = _control_groups()
    assert groups is not None
    group = groups / f"filedrop-{os.getpid()}-{base.name[-40:]}"
    options = f"lowerdir={layer},upperdir={layers[0]},workdir={layers[1]}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, root], check=True)
    try:
        group.mkdir()
        # The group before the namespaces: it becomes the machine's root of all groups.
        unshare = 'exec unshare --pid --mount --cgroup --ipc --uts --fork bash -c "$1" boot "$2"'
        enter = f'echo $$ >"$0"/cgroup.procs && {unshare}'
        with (
            (base / "console").open("w") as console,
            subprocess.Popen(
                ["bash", "-c", enter, group, BOOT, root], stdin=subprocess.DEVNULL, stdout=console, stderr=console
            ) as outside,
        ):
            process = 0
            try:
                process = _first_child(outside)
                machine = Machine(root, process)
                _wait_for_boot(machine, base / "console")
                yield machine
            finally:
                if process:
                    with suppress(ProcessLookupError):
                        os.kill(process, 9)  # and with the first process all others of its namespace
                outside.wait()
    finally:
        subprocess.run(["umount", "-l", root], check=True)
        with suppress(OSError):
            for inner in sorted(group.rglob("*/"), reverse=True):
                inner.rmdir()
            group.rmdir()


def _first_child(outside: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + DEADLINE
    children = Path(f"/proc/{outside.pid}/task/{outside.pid}/children")
    while True:
        assert outside.poll() is None, "the namespaces can't be made"
        comm = Path(f"/proc/{outside.pid}/comm").read_text().strip()
        if comm == "unshare" and (found := children.read_text().split()):
            return int(found[0])
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _wait_for_boot(machine: Machine, console: Path) -> None:
    deadline = time.monotonic() + DEADLINE
    state = ""
    while state not in ("running", "degraded"):
        if Path(f"/proc/{machine.process}/comm").read_text().strip() == "systemd":
            state = machine.run("systemctl", "is-system-running", check=False).stdout.strip()
        assert time.monotonic() < deadline, console.read_text()
        time.sleep(0.1)


def system(release: int) -> Path:
    """The system that all machines with this release begin with: made once, and kept."""
    name = RELEASES[release]
    made = SYSTEMS / name
    SYSTEMS.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{made}.lock"):
        if not made.is_dir():
            draft = made.with_name(f"{name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            make = ("debootstrap", "--variant=minbase", f"--include={PACKAGES}", name, draft)
            done = subprocess.run(make, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            draft.rename(made)
    return made
