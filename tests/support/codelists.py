"""Makes the JSON files in filedrop/identify/codelists from the Peppol code lists as OpenPEPPOL publishes them.

    PYTHONPATH=tests python -m support.codelists FOLDER-WITH-THE-PUBLISHED-FILES

They are what a folder of the key `codelists` comes to (filedrop.config.codelists), one entry to a line. The folder
needs the change log, too. The CSV files beside them are written by hand. `publish` writes such a folder for a test.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.documents import BILLING

from filedrop.config.codelists import load_lists

OURS = Path(__file__).parents[2] / "filedrop" / "identify" / "codelists"
BILLING_TYPE = f"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##{BILLING}"
_PROCESS = {"scheme": "cenbii-procid-ubl", "value": "urn:ours:billing:2"}
DOCUMENT_TYPES = "Peppol Code Lists - Document types v10.0.json"
SCHEMES = "Peppol Code Lists - Participant identifier schemes v10.0.json"
PROCESSES = "Peppol Code Lists - Processes v10.0.json"
CHANGE_LOG = "changelog.html"


def lists() -> dict[str, dict[str, Any]]:
    """A small code list of version 10.0, by the names of its published files, to be changed."""
    values: dict[str, list[dict[str, Any]]] = {
        DOCUMENT_TYPES: [
            {"value": f"{BILLING_TYPE}::2.1", "state": "deprecated", "process-ids": [_PROCESS]},
            {"value": f"{BILLING_TYPE}::2.5", "state": "active", "process-ids": [_PROCESS]},
        ],
        SCHEMES: [
            {"iso6523": "0192", "schemeid": "NO:ORG", "state": "removed", "usage": "Use 0999 instead"},
            {"iso6523": "0999", "schemeid": "NO:NEW", "state": "active", "validation-rules": "RegEx: [0-9]{9}"},
        ],
        PROCESSES: [_PROCESS | {"state": "deprecated"}],
    }
    return {
        name: {"version": "10.0", "entry-count": len(entries), "values": entries} for name, entries in values.items()
    }


def publish(folder: Path, files: dict[str, dict[str, Any]] | None = None, *, published: str | None = None) -> None:
    """Write a code list in the form of the published files; `published`: its day in the change log, None for no log."""
    folder.mkdir(exist_ok=True)
    for name, content in (lists() if files is None else files).items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    if published:
        heads = "".join(f"<h3>v{version}</h3>\n" for version in (f"10.0 - {published}", "9.7 - 2026-07-02"))
        (folder / CHANGE_LOG).write_text(heads, encoding="utf-8")


def main(source: Path, target: Path = OURS) -> None:
    """Read the published lists in `source` and write ours to `target`."""
    for name, made in load_lists(source).items():
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made["entries"].items())
        head = ", ".join(f'"{key}": {json.dumps(made[key])}' for key in ("version", "published"))
        text = f'{{{head}, "entries": {{\n{lines}\n}}}}\n'
        (target / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
