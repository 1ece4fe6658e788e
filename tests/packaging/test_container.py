"""The container, on Debian 13: built as its file says, and the example of compose.yaml by its words.

What is built is run with its own user and command, in a mount namespace instead of a container: those need more of a
machine's control groups than a test may take.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support import machine
from support.debian import LATER
from support.documents import SELLER, invoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "packaging" / "container"
OWNER = 4711  # the uid and gid of who owns the folders
LONGEST = 300  # seconds for a step: the machine may be busy
ENTER = r"""
set -e
for folder in proc dev; do mount --rbind /$folder "$0/$folder"; done
mkdir -p "$0/etc/filedrop"
mount --bind "$1" "$0/etc/filedrop"
mount --bind "$2" "$0/srv/filedrop"
user=$3; root=$0
shift 3
exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/var/lib/filedrop \
    /usr/sbin/chroot --userspec="$user" --groups= "$root" "$@"
"""

lacks = "podman (apt install podman)" if shutil.which("podman") is None else machine.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(lacks != "", reason=f"NOT TRIED: THE CONTAINER: it takes {lacks}"),
]


@pytest.fixture
def podman(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """`podman`, with images of its own, and one `debian` among them, made of what the package is tested in."""
    run_root = mkdtemp(prefix="filedrop-")  # it takes no long name
    base = ["podman", f"--root={tmp_path / 'storage'}", f"--runroot={run_root}", "--storage-driver=overlay"]

    def podman(*words: object, **more: Any) -> str:
        command = [*base, "--cgroup-manager=cgroupfs", "--events-backend=file", *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False, **more)
        assert done.returncode == 0, f"{words}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        return done.stdout.decode().strip()

    system = machine.system(13)
    with subprocess.Popen(["tar", "-C", system, "-c", "."], stdout=subprocess.PIPE) as files:
        podman("import", "-q", "-", "localhost/debian", stdin=files.stdout)
    yield podman
    podman("umount", "--all", "--force")
    podman("rm", "--all", "--force")
    podman("rmi", "--all", "--force")
    shutil.rmtree(run_root, ignore_errors=True)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_the_example(tmp_path: Path, packages: Path, podman: Callable[..., str]) -> None:
    """A document dropped in the mounted folder arrives; it and what is made belong to the given uid and gid."""
    shutil.copytree(packages, tmp_path / "dist", ignore=shutil.ignore_patterns(f"*_{LATER}+*"))
    podman(
        "build", "-q", "--isolation=chroot", "-t", "filedrop", "--build-arg=BASE=localhost/debian",
        f"--build-arg=UID={OWNER}", f"--build-arg=GID={OWNER}", "--format=docker", "-f", EXAMPLE / "Containerfile",
        tmp_path / "dist",
    )  # fmt: skip
    (image,) = json.loads(podman("image", "inspect", "filedrop"))
    root = podman("mount", podman("create", "--no-healthcheck", "filedrop"))
    share, settings = tmp_path / "share", tmp_path / "settings"
    share.mkdir()
    os.chown(share, OWNER, OWNER)
    settings.mkdir()
    shutil.copy(EXAMPLE / "config.yaml", settings)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)

    def command(words: Sequence[str]) -> list[object]:
        return ["unshare", "--mount", "bash", "-c", ENTER, root, settings, share, image["Config"]["User"], *words]

    services = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())["services"]
    with ExitStack() as stack:
        for words in (services["sandbox"]["command"], image["Config"]["Cmd"]):
            running = stack.enter_context(subprocess.Popen(command(words), stdin=subprocess.DEVNULL))
            stack.callback(running.terminate)
        outbound, inbound = share / "acme/outbound", share / "fjord/inbound"
        until((outbound / ".filedrop").exists, "the folders are there")
        (share / "1.xml").write_bytes(invoice("1", sender=SELLER, receiver="0192:123456785"))
        os.chown(share / "1.xml", OWNER, OWNER)
        (share / "1.xml").rename(outbound / "1.xml")
        until(lambda: any(outbound.glob("archive/*/1.xml")), "it is delivered")
        until(lambda: any(inbound.glob("*.xml")), "it is received")
        until((share / "status.json").exists, "it reports")
        how, health = image["Healthcheck"]["Test"]
        assert how == "CMD-SHELL"
        subprocess.run(command(["sh", "-c", health]), check=True)
        owners = {(path.stat().st_uid, path.stat().st_gid) for path in share.rglob("*")}
        assert owners == {(OWNER, OWNER)}
