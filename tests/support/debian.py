"""The package for a release of Debian, as it is and as a later version, for tests in a machine and a container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
LATER = "99.0"  # a version that is newer than any


def build(release: int, target: Path) -> Path:
    """Build the package, as the manual says."""
    done = subprocess.run(
        ["packaging/debian/build", str(release), target], cwd=PROJECT, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHON": sys.executable, "SOURCE_DATE_EPOCH": "1767225600", "COMPRESSION": "gzip"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def build_both(release: int, folder: Path) -> None:
    """Build the package into this folder, and the same as a later version."""
    content = folder / "content"
    subprocess.run(["dpkg-deb", "--raw-extract", build(release, folder), content], check=True)
    control = content / "DEBIAN/control"
    control.write_text(re.sub("(?m)^Version:.*", f"Version: {LATER}+deb{release}", control.read_text()))
    later = folder / f"filedrop_{LATER}+deb{release}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", content, later], check=True)
    shutil.rmtree(content)
