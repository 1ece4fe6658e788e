"""What the engine on PostgreSQL promises beyond what both do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


def test_psycopg_is_an_extra() -> None:
    """Who has the journal in a file needs no library for another one, and doesn't wait for its import."""
    code = "import sys, filedrop.cli, filedrop.daemon.daemon, filedrop.journal; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE, check=False).returncode == 0
