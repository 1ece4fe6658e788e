"""support.corpus: what a run says of the tests that need other people's data."""

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def test_run_without_the_corpus(tmp_path: Path) -> None:
    """A run without other people's data leaves out the tests that need it, and says how many."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/identify/test_corpus.py"], cwd=PROJECT,
        env=os.environ | {"FILEDROP_CORPUS": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "\nLeft out: 6 tests that need FILEDROP_CORPUS" in done.stdout
