"""`codelists`: a folder with the published files of a newer Peppol code list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from support.codelists import CHANGE_LOG, DOCUMENT_TYPES, PROCESSES, SCHEMES, lists, publish
from support.configuration import BASE

from filedrop.config import load
from filedrop.config.codelists import OWN_COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filedrop.config import Config

    Files = dict[str, dict[str, Any]]


def loaded(folder: Path) -> Config:
    """The configuration in the folder above, which names this one; it may have a relative path."""
    file = folder.parent / "config.yaml"
    file.write_text(BASE + f"codelists: {folder.name}\n")
    return load(file)


def test_as_a_whole(tmp_path: Path) -> None:
    """The three lists are read from their published files, with the day of publication by the change log."""
    publish(tmp_path / "lists", published="2026-10-05")
    config = loaded(tmp_path / "lists")
    assert config.codelists == tmp_path / "lists"
    made = config.published_lists
    assert made is not None
    assert {name: (one["version"], one["published"]) for name, one in made.items()} == dict.fromkeys(
        ("documents", "schemes", "processes"), ("10.0", "2026-10-05")
    )
    assert made["schemes"]["entries"]["0192"] == ["NO:ORG", "removed", "0999", None, None]


def test_without_a_change_log(tmp_path: Path) -> None:
    """The lists count without a change log; only their day isn't known then."""
    publish(tmp_path / "lists")
    made = loaded(tmp_path / "lists").published_lists
    assert made is not None
    assert made["documents"]["published"] is None


def test_shared_names(tmp_path: Path) -> None:
    """Files may have other names than OpenPEPPOL's, as long as these say which list each is."""
    names = {DOCUMENT_TYPES: "document-types.json", SCHEMES: "participant-identifier-schemes.json"}
    publish(tmp_path / "lists", {names.get(name, "processes.json"): one for name, one in lists().items()})
    assert loaded(tmp_path / "lists").published_lists is not None


def test_changed_files(tmp_path: Path) -> None:
    """Other files in the same folder are another configuration, so that a reload uses them."""
    publish(tmp_path / "lists")
    before = loaded(tmp_path / "lists")
    assert loaded(tmp_path / "lists").shared_part() == before.shared_part()
    publish(tmp_path / "lists", published="2026-10-05")
    assert loaded(tmp_path / "lists").shared_part() != before.shared_part()


def _lose(files: Files) -> None:
    del files[PROCESSES]


def _double(files: Files) -> None:
    files["Processes v9.9.json"] = files[PROCESSES]


def _mix(files: Files) -> None:
    files[PROCESSES]["version"] = "9.9"


def _shorten(files: Files) -> None:
    files[DOCUMENT_TYPES]["values"].pop()


def _empty(files: Files) -> None:
    files[SCHEMES] |= {"values": [], "entry-count": 0}


def _confuse(files: Files) -> None:
    files[DOCUMENT_TYPES] = files[PROCESSES]


def _misspell(files: Files) -> None:
    files[SCHEMES]["values"][1]["state"] = None


def _misdate(files: Files) -> None:
    files[DOCUMENT_TYPES]["values"][0]["removal-date"] = "soon"


def _misform(files: Files) -> None:
    files[SCHEMES]["values"][1]["validation-rules"] = "RegEx: [0-9"


@pytest.mark.parametrize(
    ("damage", "where", "says"),
    [
        (_lose, "", r"has no \*processes\*\.json; download .*Processes.*"),
        (_double, "", r"has 2 files \*processes\*\.json \(.*\); keep only the newest"),
        (_mix, "", r"has lists of different versions \(10\.0, 9\.9\); download all of one version"),
        (_shorten, DOCUMENT_TYPES, r"it has 1 entries instead of 2; download it again .*"),
        (_empty, SCHEMES, r"values: .*; download it again .*"),
        (_confuse, DOCUMENT_TYPES, r"values 1\.process-ids: .*; download it again .*"),
        (_misspell, SCHEMES, r"values 2\.state: .*; download it again .*"),
        (_misdate, DOCUMENT_TYPES, r"values 1\.removal-date: .*; download it again .*"),
        (_misform, SCHEMES, r"values 2\.validation-rules: .*; download it again .*"),
    ],
)
def test_mistakes(tmp_path: Path, damage: Callable[[Files], None], where: str, says: str) -> None:
    """A mistake in one of the files is reported: the file, what is wrong, and what to do. Then no file counts."""
    folder, files = tmp_path / "lists", lists()
    damage(files)
    publish(folder, files)
    config = loaded(folder)
    line = BASE.count("\n") + 1
    begin = f"{tmp_path / 'config.yaml'}:{line}: codelists: {folder / where if where else folder}"
    assert re.fullmatch(re.escape(begin) + r":? " + says + re.escape(OWN_COUNTS), config.list_trouble)
    assert (config.published_lists, config.warnings) == (None, (config.list_trouble,))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (PROCESSES, b"<html>not found</html>", "it is no JSON; download it again"),
        (PROCESSES, b"\xff", "it is not UTF-8; download it again"),
    ],
)
def test_other_files(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    """A file that is something else is a mistake."""
    publish(tmp_path / "lists")
    (tmp_path / "lists" / name).write_bytes(content)
    assert says in loaded(tmp_path / "lists").list_trouble


def test_older_change_log(tmp_path: Path) -> None:
    """A change log without the version is as good as none."""
    publish(tmp_path / "lists")
    (tmp_path / "lists" / CHANGE_LOG).write_bytes(b"<h3>v9.7 - 2026-07-02</h3>")
    made = loaded(tmp_path / "lists").published_lists
    assert made is not None
    assert made["documents"]["published"] is None


def test_no_folder(tmp_path: Path) -> None:
    """A folder that isn't there stops nothing: filedrop's own list counts."""
    trouble = loaded(tmp_path / "lists").list_trouble
    assert re.search(rf"codelists: .*lists can't be read: .*{re.escape(OWN_COUNTS)}", trouble)


def test_every_mistake_at_once(tmp_path: Path) -> None:
    """What is wrong with several files is said at once."""
    files = lists()
    _misspell(files)
    _shorten(files)
    publish(tmp_path / "lists", files)
    trouble = loaded(tmp_path / "lists").list_trouble
    assert [name in trouble for name in (DOCUMENT_TYPES, SCHEMES, PROCESSES)] == [True, True, False]
