"""Processes of our own, under the limits that a service or a system sets."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest
from support.documents import invoice

from filedrop.programs.children import Child, Ended

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (250_000_000,) * 2)
from filedrop.readable import Renderer
print(Renderer().sheet([sys.stdin.buffer.read()], "en").title)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this limit")
def test_child_with_a_lower_limit() -> None:
    """A service with a lower limit of memory (`LimitDATA=`) than a child's own keeps its children."""
    done = subprocess.run([sys.executable, "-c", LIMITED], input=invoice(), capture_output=True, check=False)
    assert b"Invoice" in done.stdout, done.stderr.decode()


def test_last_words_of_a_child() -> None:
    """If a child ends before it answers, the sentence has the last line that it printed."""
    child = Child("filedrop.missing", memory=10**9, largest=100)
    for _ in range(2):
        with pytest.raises(Ended, match=r"^ended with status 1 \(.*No module named filedrop\.missing\)$"):
            child.ask({}, seconds=60)


def test_child_without_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file can be made for what it prints, a child does its work all the same."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    child = Child("filedrop.missing", memory=10**9, largest=100)
    with pytest.raises(Ended, match=r"^ended with status 1$"):
        child.ask({}, seconds=60)
