"""The readers of /proc, with what the service's hardening hides of it (`ProcSubset=pid`, read-only)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
HARDENED = 'mount -t proc -o subset=pid,ro proc /proc && exec "$@"'
READ = """
from pathlib import Path
from filedrop.files.disk import file_system
from filedrop.process.lock import boot_id
from filedrop.programs.child import limit_this_process
print(boot_id() or "unknown", file_system(Path("/proc")))
limit_this_process(10**9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_readers_of_a_hidden_proc() -> None:
    """The service knows when its machine was started by what systemd says, and finds its disks; its children work."""
    inside = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", HARDENED, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here: run the tests as root")
    command = [*inside, sys.executable, "-c", READ]
    known = {key: value for key, value in os.environ.items() if key != "FILEDROP_BOOT"}
    for given, found in ({}, "unknown"), ({"FILEDROP_BOOT": "0af2"}, "0af2"):
        done = subprocess.run(command, env=known | given, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(found), done.stderr
        assert "proc" in done.stdout
    for unit in (TOP / "systemd").glob("*.service"):
        assert re.search(r"^Environment=FILEDROP_BOOT=%b$", unit.read_text("utf-8"), re.MULTILINE)
