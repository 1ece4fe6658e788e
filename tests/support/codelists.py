"""Makes the JSON files in filedrop/identify/codelists from the Peppol code lists as OpenPEPPOL publishes them.

    python tests/support/codelists.py FOLDER-WITH-THE-PUBLISHED-LISTS

Facts only, one to a line:

- documents.json: `root##customization` -> its versions, the best first: [version, state, processes, name, removal]
- schemes.json: code -> [name, state, the code to use instead, the form of a value as a regular expression, removal]
- processes.json: process id -> state

`state` is `active`, `deprecated` or `removed`; `removal` the day on which the network removes an entry, null where the
list has none. Each file has the list's version and the day of its publication, by its change log (`PUBLISHED`; of a
version that isn't there, today). The CSV files beside them are written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OURS = Path(__file__).parents[2] / "filedrop" / "identify" / "codelists"
PUBLISHED = {"9.7": "2026-07-02"}
_BEST_FIRST = ("active", "deprecated", "removed")
_FORM = re.compile(r"RegEx: (\S+)")
_INSTEAD = re.compile(r"(?:use|replaced by|in favour of) (\d{4})", re.IGNORECASE)


def documents(published: dict[str, Any]) -> dict[str, Any]:
    """Every document type by what a document says of itself: root element and customization."""
    listed: dict[str, list[tuple[str, str, list[str], str, str | None]]] = {}
    for entry in sorted(published["values"], key=lambda entry: _BEST_FIRST.index(entry["state"])):
        name, separator, version = entry["value"].rpartition("::")
        processes = [process["value"] for process in entry["process-ids"]]
        versions = listed.setdefault(name, [])
        if separator and version not in [known for known, *_ in versions]:
            versions.append((version, entry["state"], processes, entry.get("name", ""), entry.get("removal-date")))
    return dict(sorted(listed.items()))


def schemes(published: dict[str, Any]) -> dict[str, Any]:
    """Every participant scheme by its code."""
    listed = {}
    for entry in published["values"]:
        instead = _INSTEAD.search(entry.get("usage", "")) if entry["state"] != "active" else None
        form = "|".join(_FORM.findall(entry.get("validation-rules", ""))) or None
        listed[entry["iso6523"]] = [
            entry["schemeid"],
            entry["state"],
            instead[1] if instead else None,
            form,
            entry.get("removal-date"),
        ]
    return dict(sorted(listed.items()))


def processes(published: dict[str, Any]) -> dict[str, Any]:
    """Every process by its id."""
    return {entry["value"]: entry["state"] for entry in sorted(published["values"], key=lambda entry: entry["value"])}


def _write(path: Path, version: str, entries: dict[str, Any]) -> None:
    today = datetime.now(UTC).date().isoformat()
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
    path.write_text(
        f'{{"version": "{version}", "published": "{PUBLISHED.get(version, today)}", "entries": {{\n{lines}\n}}}}\n',
        encoding="utf-8",
        newline="\n",
    )


def main(source: Path, target: Path = OURS) -> None:
    """Read the published lists in `source` and write ours to `target`."""
    for name, make in (
        ("document-types.json", documents),
        ("participant-identifier-schemes.json", schemes),
        ("processes.json", processes),
    ):
        published = json.loads((source / name).read_text(encoding="utf-8"))
        _write(target / f"{make.__name__}.json", published["version"], make(published))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
