"""The Peppol code list in a folder, in the files that OpenPEPPOL publishes, and the facts that filedrop takes from it.

The folder is named by the key `codelists`. The files in identify/codelists are such facts, too:

- documents: `root##customization` -> its versions, the best first: [version, state, processes, name, removal]
- schemes: code -> [name, state, the code to use instead, the form of a value as a regular expression, removal]
- processes: process id -> state

`state` is `active`, `deprecated` or `removed`, and `active` for every other word: a new one says nothing of the entry's
use, and its day of removal counts. `removal`: the day on which the network removes an entry, null where the
list has none. Each has the list's version, with a minor number (10.0 for 10), and the day of its publication, by the
change log; null where no change log has it.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from filedrop.config.complaints import shown
from filedrop.errors import ConfigError
from filedrop.files.rights import explain

CodeLists = Mapping[str, Mapping[str, Any]]
"""`documents`, `schemes` and `processes`, each with `version`, `published` (ISO 8601 or None) and `entries`."""

OWN_COUNTS = ". Until then, the code list in filedrop counts"
FORMER_COUNTS = ". Until then, the code list that was read before counts, or after a restart the one in filedrop"
PATIENCE = 10.0  # seconds for the folder to answer
_BEST_FIRST = ("active", "deprecated", "removed")
_FORM = re.compile(r"RegEx: (\S+)")
_INSTEAD = re.compile(r"(?:use|replaced by|in favour of) (\d{4})", re.IGNORECASE)
_CHANGE_LOG = "*change*log*.htm*"
_SOURCE = "from docs.peppol.eu/edelivery/codelists"


def _with_forms(rules: str) -> str:
    for form in _FORM.findall(rules):
        try:
            re.compile(form)
        except re.error as error:
            raise ValueError("a regular expression is expected") from error
    return rules


class _Entry(BaseModel):
    state: Annotated[str, AfterValidator(lambda state: state if state in _BEST_FIRST else "active")]
    removal: Annotated[date | None, Field(alias="removal-date")] = None

    @property
    def removed_on(self) -> str | None:
        return self.removal.isoformat() if self.removal else None


class _Process(BaseModel):
    value: str


class _ListedProcess(_Entry, _Process):
    pass


class _DocumentType(_Entry):
    value: str
    name: str = ""
    processes: Annotated[list[_Process], Field(alias="process-ids")]


class _Scheme(_Entry):
    code: Annotated[str, Field(alias="iso6523", pattern=r"^[0-9]{4}$")]
    name: Annotated[str, Field(alias="schemeid")]
    usage: str = ""
    rules: Annotated[str, Field(alias="validation-rules"), AfterValidator(_with_forms)] = ""


class _Published(BaseModel):
    version: Annotated[
        str,
        Field(pattern=r"^[0-9]+(\.[0-9]+)*$"),
        AfterValidator(lambda version: version if "." in version else f"{version}.0"),
    ]
    count: Annotated[int | None, Field(alias="entry-count")] = None


class _Documents(_Published):
    values: Annotated[list[_DocumentType], Field(min_length=1)]

    def facts(self) -> dict[str, Any]:
        listed: dict[str, list[tuple[str, str, list[str], str, str | None]]] = {}
        for entry in sorted(self.values, key=lambda entry: _BEST_FIRST.index(entry.state)):
            name, separator, version = entry.value.rpartition("::")
            processes = [process.value for process in entry.processes]
            versions = listed.setdefault(name, [])
            if separator and version not in [known for known, *_ in versions]:
                versions.append((version, entry.state, processes, entry.name, entry.removed_on))
        return dict(sorted(listed.items()))


class _Schemes(_Published):
    values: Annotated[list[_Scheme], Field(min_length=1)]

    def facts(self) -> dict[str, Any]:
        listed = {}
        for entry in self.values:
            instead = _INSTEAD.search(entry.usage) if entry.state != "active" else None
            form = "|".join(_FORM.findall(entry.rules)) or None
            listed[entry.code] = [entry.name, entry.state, instead[1] if instead else None, form, entry.removed_on]
        return dict(sorted(listed.items()))


class _Processes(_Published):
    values: Annotated[list[_ListedProcess], Field(min_length=1)]

    def facts(self) -> dict[str, Any]:
        return {entry.value: entry.state for entry in sorted(self.values, key=lambda entry: entry.value)}


_List = _Documents | _Schemes | _Processes


class _File(NamedTuple):
    """A published file: what its name looks like, and what is in it."""

    pattern: str
    title: str
    model: type[_List]


_FILES = {
    "documents": _File("*document?types*.json", "Document types", _Documents),
    "schemes": _File("*participant?identifier?schemes*.json", "Participant identifier schemes", _Schemes),
    "processes": _File("*processes*.json", "Processes", _Processes),
}


def load_lists(folder: Path) -> CodeLists:
    """Read and check the code list in a folder as a whole. Raises ConfigError with every complaint."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ConfigError([f"{folder} can't be read: {explain(error, folder)}"]) from error
    read: dict[str, _List] = {}
    complaints: list[str] = []
    for name, file in _FILES.items():
        try:
            read[name] = _read(folder / _only(folder, names, file), file.model)
        except ConfigError as error:
            complaints += error.complaints
    if complaints:
        raise ConfigError(complaints)
    versions = dict.fromkeys(found.version for found in read.values())
    if len(versions) > 1:
        several = f"{folder} has lists of different versions ({', '.join(versions)}); download all of one version"
        raise ConfigError([several])
    published = _published(folder, names, *versions)
    return {
        name: {"version": found.version, "published": published, "entries": found.facts()}
        for name, found in read.items()
    }


def _only(folder: Path, names: Sequence[str], file: _File) -> str:
    """The name of a published file in its folder. Raises ConfigError."""
    found = [name for name in names if fnmatchcase(name.lower(), file.pattern)]
    if not found:
        wanted = f'download "Peppol Code Lists - {file.title}" as JSON {_SOURCE}'
        raise ConfigError([f"{folder} has no {file.pattern}; {wanted}"])
    if len(found) > 1:
        several = f"{folder} has {len(found)} files {file.pattern} ({', '.join(found)}); keep only the newest"
        raise ConfigError([several])
    return found[0]


def _text(path: Path) -> str:
    """The text of a file. Raises ConfigError."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError([f"{path}: it can't be read: {explain(error, path)}; correct it"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: it is not UTF-8; download it again {_SOURCE}"]) from error


def _read(path: Path, model: type[_List]) -> _List:
    """A published list. Raises ConfigError with what is wrong first."""
    text = _text(path)
    try:
        found = model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = f"{shown(first['loc'])}: this" if first["loc"] else "it"
        what = "is no JSON" if first["type"] == "json_invalid" else "is missing, or isn't what the list has there"
        raise ConfigError([f"{path}: {place} {what}; download it again {_SOURCE}"]) from error
    if found.count not in (None, len(found.values)):
        what = f"it has {len(found.values)} entries instead of {found.count}"
        raise ConfigError([f"{path}: {what}; download it again {_SOURCE}"])
    return found


def _published(folder: Path, names: Sequence[str], version: str) -> str | None:
    """The day of a version's publication; None where no change log has it. Raises ConfigError."""
    written = re.escape(version.removesuffix(".0")) + (r"(?:\.0)?" if version.endswith(".0") else "")
    for name in names:
        log = _text(folder / name) if fnmatchcase(name.lower(), _CHANGE_LOG) else ""
        if found := re.search(rf"\bv{written} - ([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})\b", log):
            with suppress(ValueError):
                return date.fromisoformat(found[1]).isoformat()
    return None
