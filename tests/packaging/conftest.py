from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from support.debian import build_both

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Debian package, and the same as a later version: built once for all who test."""
    ours = tmp_path_factory.getbasetemp()
    folder = (ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours) / "packages"  # of this run alone
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            draft = folder.with_name("packages.draft")
            build_both(draft)
            draft.rename(folder)
    return folder
