"""A Debian with a kernel of its own, in qemu: for file systems of the kernel that this machine's doesn't have.

    done = run_tests(tmp_path, "tests/shares", settings={}, seconds=600)

It runs this checkout's tests, with the packages of this environment, as root, on two processors. It has no network but
its own. What is made of Debian's packages is made once, and kept: the system, with smbd, nfsd and the kernel's clients,
and a disk with this environment's packages. `missing` says what isn't there. The processors are emulated, because a
/dev/kvm inside a virtual machine may hang: it boots in five seconds, and is some five times as slow as this machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from support.machine import SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = Path(__file__).parents[2]
RELEASES = {(3, 11): "bookworm", (3, 13): "trixie"}  # of Debian, by its Python, whose version must be ours
PACKAGES = "python3,samba,cifs-utils,nfs-kernel-server,kmod,iproute2,procps,strace,ca-certificates"
TOOLS = ("debootstrap", "qemu-system-x86_64", "mke2fs", "dpkg-deb", "tar")
INSIDE = "FILEDROP_TEST_GUEST"  # set where the tests run in the guest
SECONDS = 60  # for the boot, besides what the tests may take
SYSTEM, KERNEL, SITE, SOURCE = "system.img", "vmlinuz", "/site", "/project"
PASSWORD = "secret"
SAMBA = """
[global]
server role = standalone server
interfaces = lo
bind interfaces only = yes
disable netbios = yes
smb ports = 445
load printers = no
[share]
path = /exports/smb
read only = no
"""
# Process 1. The disks: the system, the packages, the tests.
INIT = f"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TZ=UTC
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts; mount -t devpts devpts /dev/pts
for place in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $place; done
ip link set lo up; hostname guest
mkdir -p /run/lock /run/samba {SITE} {SOURCE}
mount -o ro /dev/nvme1n1 {SITE}
tar -xf /dev/nvme2n1 -C {SOURCE}
(cd {SOURCE} && sh main) </dev/null >/dev/ttyS1 2>&1
echo "exit status $?" >/dev/ttyS1
sync; echo o >/proc/sysrq-trigger; sleep 30
"""


@cache
def missing() -> str:
    """What isn't there that a guest needs, "" where all is."""
    if sys.platform != "linux" or os.geteuid() != 0 or os.uname().machine != "x86_64":
        return "root on Linux, on an x86-64"
    if gone := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(gone)} (apt install debootstrap qemu-system-x86)"
    if sys.version_info[:2] not in RELEASES:
        return f"Python {' or '.join('.'.join(map(str, version)) for version in RELEASES)}, as a Debian has it"
    return ""


def run_tests(
    base: Path, *arguments: str, settings: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run pytest with these arguments in a guest, whose files are below `base`. `settings` are of its environment.

    `stdout` is what it printed, and what the guest's kernel had to say at its end. AssertionError: the guest didn't
    come to the end within these seconds.
    """
    words = " ".join(f"'{argument}'" for argument in ("-v", "-s", "-p", "no:cacheprovider", *arguments))
    ours = {name: value for name, value in os.environ.items() if name.startswith("FILEDROP_")}
    exported = "".join(f"export {name}='{value}'\n" for name, value in (ours | settings | {INSIDE: "1"}).items())
    (base / "main").write_text(
        f"{exported}export PYTHONPATH={SOURCE}:{SITE} PYTHONDONTWRITEBYTECODE=1\n"
        f"python3 -u -m pytest {words}\nresult=$?\ndmesg | tail -n 15\nexit $result\n"
    )
    tests = base / "tests.tar"
    content = ["filedrop", "tests", "docs", "systemd", "packaging", "pyproject.toml", "config.example.yaml"]
    subprocess.run(["tar", "-cf", tests, "-C", PROJECT, *content, "-C", base, "main"], check=True)
    _pad(tests)
    made, printed, console = _system(), base / "printed", base / "console"
    append = "root=/dev/nvme0n1 rw init=/init.sh console=ttyS0 quiet mitigations=off tsc=reliable panic=1"
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-smp", "2", "-m", "2048",
        "-nodefaults", "-no-reboot", "-display", "none",
        "-kernel", made / KERNEL, "-append", append,
        *_disk("system", made / SYSTEM, "cache=unsafe,snapshot=on"),
        *_disk("site", _site(), "readonly=on"), *_disk("tests", tests, "readonly=on"),
        "-serial", f"file:{console}", "-serial", f"file:{printed}",
    ]  # fmt: skip
    with subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL) as machine:
        try:
            machine.wait(SECONDS + seconds)
        except subprocess.TimeoutExpired:
            machine.kill()
    said = printed.read_text(errors="replace").replace("\r", "") if printed.exists() else ""
    assert "exit status " in said, f"{said[-6000:]}\n{console.read_text(errors='replace')[-3000:]}"
    output, _, status = said.rpartition("exit status ")
    return subprocess.CompletedProcess(arguments, int(status), output)


def _disk(name: str, image: Path, options: str) -> list[str]:
    return [
        "-drive",
        f"file={image},if=none,id={name},format=raw,{options}",
        "-device",
        f"nvme,drive={name},serial={name}",
    ]


def _pad(file: Path) -> None:
    subprocess.run(["truncate", "-s", "%1M", file], check=True)


def _system() -> Path:
    """The folder with the system and its kernel: made once, and kept."""
    release = RELEASES[sys.version_info[:2]]
    recipe = hashlib.sha256(f"{PACKAGES}{SAMBA}{INIT}".encode()).hexdigest()[:8]
    made = SYSTEMS / f"guest-{release}-{recipe}"
    SYSTEMS.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{made}.lock"):
        if not made.is_dir():
            draft = made.with_name(f"{made.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            _make_system(release, draft)
            draft.rename(made)
    return made


def _make_system(release: str, folder: Path) -> None:
    """Make a system of this release's packages, and its kernel, here. AssertionError: they can't be had."""
    root = folder / "root"
    _run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, root)
    _run("chroot", root, "apt-get", "-qq", "update")
    named = _run("chroot", root, "apt-cache", "depends", "linux-image-cloud-amd64").split("Depends: ")[1].split()[0]
    _run("chroot", root, "sh", "-c", f"cd /tmp && apt-get -qq -o APT::Sandbox::User=root download {named}")
    (package,) = (root / "tmp").glob("linux-image-*.deb")
    _run("dpkg-deb", "-x", package, folder / "kernel")
    (kernel,) = (folder / "kernel" / "boot").glob("vmlinuz-*")
    kernel.rename(folder / KERNEL)
    modules = next(path for path in (folder / "kernel" / "lib", folder / "kernel/usr/lib") if path.is_dir()) / "modules"
    shutil.copytree(modules, root / "usr/lib/modules", symlinks=True, dirs_exist_ok=True)
    _run("chroot", root, "depmod", named.removeprefix("linux-image-"))
    (root / "etc/samba/smb.conf").write_text(SAMBA)
    _run("chroot", root, "useradd", "-M", "-u", "990", "people")
    _run("chroot", root, "smbpasswd", "-s", "-a", "people", given=f"{PASSWORD}\n{PASSWORD}\n")
    (root / "init.sh").write_text(INIT)
    (root / "init.sh").chmod(0o755)
    for leftover in (root / "var/cache/apt", root / "var/lib/apt/lists", root / "tmp"):
        shutil.rmtree(leftover, ignore_errors=True)
        leftover.mkdir(mode=0o1777 if leftover.name == "tmp" else 0o755)
    options = ("-O", "^has_journal", "-E", "root_owner=0:0")
    _run("mke2fs", "-q", "-t", "ext4", *options, "-d", root, folder / SYSTEM, "3000M")
    shutil.rmtree(root)
    shutil.rmtree(folder / "kernel")


def _site() -> Path:
    """A disk with the packages of this environment: made once for what is installed now, and kept."""
    site = Path(sysconfig.get_paths()["purelib"])
    names = sorted(path.name for path in site.iterdir() if path.name != "__pycache__")
    made = SYSTEMS / f"site-{hashlib.sha256(repr(names).encode()).hexdigest()[:12]}.img"
    with FileLock(f"{made}.lock"):
        if not made.exists():
            for former in SYSTEMS.glob("site-*.img"):
                former.unlink()
            draft = made.with_suffix(".draft")
            _run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", site, draft, "2000M")
            draft.rename(made)
    return made


def _run(*words: object, given: str = "") -> str:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    command = [*map(str, words)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
