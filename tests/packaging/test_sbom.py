"""The SBOMs of the packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"
LOCKS = sorted(lock.stem for lock in (PACKAGING / "locks").glob("*.txt"))


def sbom(name: str) -> str:
    command = [sys.executable, PACKAGING / "sbom.py", name, "1.2.3"]
    outside = os.environ | {"SOURCE_DATE_EPOCH": "1767225600"}
    return subprocess.run(command, env=outside, capture_output=True, text=True, check=True).stdout


def test_locks_of_one_version() -> None:
    """A library has the same version in each package that contains it: no package is older than another."""
    versions: dict[str, set[str]] = {}
    for name in LOCKS:
        for line in (PACKAGING / "locks" / f"{name}.txt").read_text().splitlines()[1:]:
            library, version = line.split()[0].split("==")
            versions.setdefault(library, set()).add(version)
    assert {library: found for library, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", LOCKS)
def test_sbom_of_a_lock(name: str) -> None:
    """An SBOM has each library of the lock with the checksum of its file; the same lock gives the same bytes."""
    text = sbom(name)
    assert text == sbom(name)
    found = json.loads(text)
    assert found["metadata"]["timestamp"] == "2026-01-01T00:00:00Z"
    listed = {
        f"{component['name']}=={component['version']} --hash=sha256:{component['hashes'][0]['content']}"
        for component in found["components"]
        if component["type"] == "library"
    }
    assert listed == set((PACKAGING / "locks" / f"{name}.txt").read_text().splitlines()[1:])


@pytest.mark.parametrize("name", LOCKS)
def test_sbom_by_the_schema(name: str) -> None:
    """An SBOM is valid by the JSON schema of CycloneDX 1.6."""
    validation = pytest.importorskip("cyclonedx.validation.json", reason="NOT TRIED: THE SBOM: cyclonedx-python-lib")
    schema = pytest.importorskip("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    text = sbom(name)
    assert validator.validate_str(text) is None
    assert validator.validate_str(re.sub('"bomFormat": "CycloneDX"', '"bomFormat": "other"', text)) is not None


def test_a_line_that_is_no_library(tmp_path: Path) -> None:
    """A line of a lock that isn't understood stops the build: no SBOM lacks a library silently."""
    script = tmp_path / "packaging/sbom.py"
    (tmp_path / "packaging/locks").mkdir(parents=True)
    script.write_bytes((PACKAGING / "sbom.py").read_bytes())
    (tmp_path / "packaging/locks/debian-13.txt").write_text("lxml>=6\n")
    done = subprocess.run(
        [sys.executable, script, "debian-13", "1"], capture_output=True, text=True, check=False,
        env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "lxml>=6" in done.stderr
