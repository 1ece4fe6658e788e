"""The release as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.matrix import is_full

PROJECT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a release is built on Linux")


def release(folder: Path) -> str:
    """Build the release into this folder; what that prints."""
    outside = os.environ | {"PYTHON": sys.executable, "COMPRESSION": "gzip"}
    done = subprocess.run(
        ["packaging/release", folder], cwd=PROJECT, env=outside, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not is_full(), reason="NOT TRIED: TWO WHOLE RELEASES: FILEDROP_MATRIX=full builds them")
def test_a_release_is_built_again(tmp_path: Path) -> None:
    """Built twice, each file has the same bytes, and a file that can't be built is named."""
    printed = release(tmp_path / "first")
    release(tmp_path / "second")
    sums = (tmp_path / "first/SHA256SUMS").read_text()
    assert (tmp_path / "second/SHA256SUMS").read_text() == sums
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "first", check=True)
    names = set(re.findall(r"(?m)^[0-9a-f]{64}  (.+)$", sums))
    assert names == {path.name for path in (tmp_path / "first").iterdir()} - {"SHA256SUMS"}
    packages = {name.removesuffix(".cdx.json") for name in names if name.endswith(".cdx.json")}
    debs = {name.removesuffix(".deb") for name in names if name.endswith(".deb")}
    installers = {name.removesuffix(".exe") for name in names if name.endswith(".exe")}
    assert len(debs) == 2
    assert packages == debs | installers
    assert bool(installers) != ("!! NOT BUILT: the Windows installer" in printed)


def test_a_file_that_is_no_part_of_it(tmp_path: Path) -> None:
    """A strange file in the folder stops the build: nobody releases it by mistake."""
    (tmp_path / "password").touch()
    done = subprocess.run(["packaging/release", tmp_path], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "password isn't part of this release" in done.stderr
    assert not (tmp_path / "SHA256SUMS").exists()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("script", ["release", "debian/build", "windows/build"])
def test_the_time_of_the_commit_in_the_checkout_of_another_account(tmp_path: Path, script: str) -> None:
    """In a container, a checkout often belongs to another account: git refuses it, and files have the same times."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    who = ["-c", "user.name=Anna", "-c", "user.email=anna@example.com", "-c", "commit.gpgsign=false"]
    (tmp_path / "pyproject.toml").touch()
    dated = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    dated |= {"GIT_COMMITTER_DATE": "1767225600 +0000", "HOME": str(tmp_path)}
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "First"], cwd=tmp_path, env=dated, check=True)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 12345, 12345)
    lines = (PROJECT / "packaging" / script).read_text("utf-8").splitlines()
    line = next(line for line in lines if "SOURCE_DATE_EPOCH=" in line)
    shell = ["bash", "-euc", f"{line}; echo $SOURCE_DATE_EPOCH"]
    assert subprocess.check_output(shell, cwd=tmp_path, env=dated, text=True).strip() == "1767225600"
