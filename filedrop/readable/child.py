"""The child process that shows documents, as a page or as a sheet, and finds the XML inside a PDF."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from typing import Any, BinaryIO

from filedrop.programs.child import answer_questions
from filedrop.readable.html import page
from filedrop.readable.pdf import xml_in
from filedrop.readable.sheets import sheet
from filedrop.readable.tree import NotReadable


def _answer(asked: dict[str, Any], document: BinaryIO) -> dict[str, Any]:
    try:
        if asked["wanted"] == "xml":
            name, xml = xml_in(document)
            return {"name": name, "xml": b64encode(xml).decode()}
        shown = sheet(document, asked["language"])
        if asked["wanted"] == "sheet":
            return {"sheet": asdict(shown)}
        return {"page": page(shown, asked["file"], dict(asked["beside"]), asked["notices"]).decode()}
    except NotReadable as error:
        return {"trouble": str(error)}


def main() -> None:
    """Answer questions until stdin ends."""
    answer_questions(_answer)


if __name__ == "__main__":
    main()
