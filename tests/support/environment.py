"""An environment that has what `pip install .` brings, and none of the extras: made of what is installed here."""

from __future__ import annotations

import re
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def without_extras(base: Path) -> Path:
    """A new environment below `base`, without pip; returns its Python."""
    home = base / "environment"
    venv.create(home, symlinks=sys.platform != "win32")
    packages = next(home.rglob("site-packages"))
    for name in _needed("filedrop"):
        for file in distribution(name).files or ():
            top = Path(file.parts[0])
            if top.name not in ("..", "__pycache__") and not (packages / top).exists():
                (packages / top).symlink_to(distribution(name).locate_file(top))
    (packages / "filedrop.pth").write_text(f"{PROJECT}\n")
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _needed(name: str, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """The distributions that this one can't do without, and those that they can't, and so on."""
    for requirement in distribution(name).requires or ():
        needed = re.match(r"[\w.-]+", requirement)
        if needed and ";" not in requirement and needed[0] not in known:
            known = _needed(needed[0], known | {needed[0]})
    return known
