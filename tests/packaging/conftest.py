from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from support.debian import build_both

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """The folder of this name, which the first worker that asks for it fills."""
    ours = tmp_path_factory.getbasetemp()
    of_this_run = ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours

    def folder(name: str, fill: Callable[[Path], object]) -> Path:
        made = of_this_run / name
        with FileLock(f"{made}.lock"):
            if not made.is_dir():
                draft = made.with_name(f"{name}.draft")
                fill(draft)
                draft.rename(made)
        return made

    return folder


@pytest.fixture
def release() -> int:
    """The release of Debian that a test takes if it names none."""
    return 13


@pytest.fixture
def packages(release: int, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A folder with the package for this release, and the same as a later version."""
    return made_once(f"packages-{release}", lambda draft: build_both(release, draft))
