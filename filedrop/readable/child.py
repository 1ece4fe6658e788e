"""The child process that shows documents: as a page, or as a sheet."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, BinaryIO

from filedrop.children.answering import answer_questions
from filedrop.readable.html import page
from filedrop.readable.sheets import sheet
from filedrop.readable.tree import NotReadable


def _answer(asked: dict[str, Any], document: BinaryIO) -> dict[str, Any]:
    try:
        shown = sheet(document, asked["language"])
        if "file" not in asked:
            return {"sheet": asdict(shown)}
        return {"page": page(shown, asked["file"], dict(asked["beside"]), asked["repeats"]).decode()}
    except NotReadable as error:
        return {"trouble": str(error)}


def main() -> None:
    """Show documents until stdin ends."""
    answer_questions(_answer)


if __name__ == "__main__":
    main()
