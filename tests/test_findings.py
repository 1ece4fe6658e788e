"""The folder `tests/findings/`: its table, its scripts and the code that names them. The scripts aren't run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
FOLDER = PROJECT / "tests" / "findings"
SCRIPTS = sorted(path for path in FOLDER.glob("*.sh") if path.name != "shared.sh")
LONGEST = 120  # characters of a line, as in the code
ROWS = re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \|$", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)


def test_table_of_the_findings() -> None:
    """Every script is in the table, and no other; files of filedrop in its last column exist."""
    assert sorted(name for name, _ in ROWS) == sorted(path.stem for path in SCRIPTS)
    named = [file for _, place in ROWS for file in re.findall(r"`([\w/]+(?:\.py|/\w+))`", place)]
    assert named
    assert not [file for file in named if not (PROJECT / "filedrop" / file).exists()]


def test_findings_that_the_code_names() -> None:
    """Every script that a comment of the code names exists."""
    sources = "".join(path.read_text("utf-8") for path in (PROJECT / "filedrop").rglob("*.py"))
    named = set(re.findall(r"tests/findings/([\w-]+)\.sh", sources))
    assert named
    assert named <= {path.stem for path in SCRIPTS}


def test_form_of_a_finding() -> None:
    """A script can be started, begins with a version and a behaviour, pins what it installs, and states its output."""
    for script in SCRIPTS:
        text = script.read_text("utf-8")
        assert os.access(script, os.X_OK), script
        assert re.search(r"\A#!/usr/bin/env bash\n# \S.*\d.*: .*\.\n", text), script
        installed = re.findall(r"^(?:python|debian) ((?:.*\\\n)*.*)$", text, re.MULTILINE)
        packages = " ".join(installed).replace("\\\n", " ").split()
        assert packages, script
        assert not [package for package in packages if "=" not in package], script
        assert re.search(r"^expect .+ <<'END'\n.+\n", text, re.MULTILINE), script
        assert max(map(len, text.splitlines())) <= LONGEST, script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_syntax_of_the_findings() -> None:
    """Bash understands every script."""
    for script in FOLDER.glob("*.sh"):
        subprocess.run(["bash", "-n", script], check=True)
