#!/usr/bin/env python3
"""The locks: the latest libraries that pyproject.toml allows, each with the checksum of its file.

packaging/lock.py writes all locks again, into packaging/locks: all at once, so that they have the same versions.

It needs Python 3.11 or later with pip, on Linux. An installed package can't be given libraries afterwards, so each has
those of all extras but `validation`, too, whose library is large.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

PACKAGING = Path(__file__).parent
LINUX = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")
TARGETS = {  # name: version of Python, platforms
    "debian-12": ("3.11", LINUX),
    "debian-13": ("3.13", LINUX),
    "windows": ("3.11", ("win_amd64",)),
}
EXTRAS = ("alerts", "metrics", "pdf", "postgres", "sandbox")


def wanted(name: str) -> list[str]:
    """What pyproject.toml requires on this system."""
    project = tomllib.loads((PACKAGING.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    if name != "windows":
        return [line for line in required if ";" not in line]
    # pip judges "; sys_platform == 'win32'" by the system that it runs on: here the markers are cut off.
    return [line.partition(";")[0].strip() for line in [*required, "colorama"]]


def lock(name: str) -> str:
    """The text of this lock."""
    version, platforms = TARGETS[name]
    abis = (f"cp{version.replace('.', '')}", "abi3", "none")
    options = [f"--python-version={version}", *(f"--abi={abi}" for abi in abis)]
    options += [f"--platform={platform}" for platform in platforms]
    report = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report=-"),
            *("--target=none", "--only-binary=:all:", "--implementation=cp", *options, *wanted(name)),
        ],
        check=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    lines = [f"# The libraries in filedrop's package for {name}, byte for byte; made by packaging/lock.py."]
    for library in sorted(json.loads(report)["install"], key=lambda library: library["metadata"]["name"].lower()):
        metadata, checksums = library["metadata"], library["download_info"]["archive_info"]["hashes"]
        lines.append(f"{metadata['name'].lower()}=={metadata['version']} --hash=sha256:{checksums['sha256']}")
    return "".join(f"{line}\n" for line in lines)


for name in TARGETS:
    (PACKAGING / "locks" / f"{name}.txt").write_text(lock(name), "utf-8")
