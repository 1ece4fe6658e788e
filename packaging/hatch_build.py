"""What a build of filedrop adds to its source: the catalogues of other languages, compiled (hatchling's build hook)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CATALOGUES = Path("filedrop", "texts", "locale")


def compile_catalogues(root: Path) -> None:
    """Compile each catalogue below this folder (`.po`) into the file beside it that gettext reads (`.mo`)."""
    for source in root.joinpath(CATALOGUES).rglob("*.po"):
        with source.open("rb") as file:
            catalogue = read_po(file)
        catalogue.creation_date = datetime(1970, 1, 1, tzinfo=UTC)  # else it is now: two builds would differ
        draft = source.with_suffix(f".{os.getpid()}")  # another build may run beside this one
        with draft.open("wb") as file:
            write_mo(file, catalogue)
        draft.replace(source.with_suffix(".mo"))


class CatalogueHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the catalogues before a wheel, or an editable install, is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's
        """Compile them."""
        compile_catalogues(Path(self.root))
        build_data["artifacts"].append(f"{CATALOGUES.as_posix()}/**/*.mo")
