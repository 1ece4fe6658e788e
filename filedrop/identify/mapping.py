"""Mapping rules applied to a document, and the tables they look things up in (contract 3).

Each field is settled by the first rule that matches and has a value for it: a template whose group matched, a key that
the table has, an XPath that finds something (a scheme with nothing behind it is nothing). The rules themselves are the
configuration's (filedrop.config).
"""

from __future__ import annotations

import csv
import io
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from filedrop.config import Lookup, Template, Value, XPath, xpath_in
from filedrop.errors import ConfigError
from filedrop.identify.outline import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from filedrop.config import Rule
    from filedrop.identify.reading import Reading

_GROUP = re.compile(r"\{(\w+)\}")
_SCHEME_ALONE = re.compile(r"[0-9]{4}:")  # what concat('0192:', //Nothing) gives; in a document it is nothing either
_COLUMNS = 2


class Try(NamedTuple):
    """One rule tried on one document: why it does not apply ("" if it does), what it sets, and why not the rest.

    `fields` are all that it would set. It may have lost a field in `values` to an earlier rule.
    """

    rule: int
    line: int
    fields: tuple[str, ...]
    refusal: str
    values: dict[str, str]
    unset: dict[str, str]

    def __str__(self) -> str:
        return f"mapping {self.rule} (line {self.line})"


class Rules:
    """All mapping rules with their tables. Safe to use from several threads."""

    def __init__(self, rules: Sequence[Rule], tables: Mapping[str, Path], *, source: str = "mapping") -> None:
        """`source` names the configuration. Raises ConfigError: an XPath that is none, a table that can't be read."""
        complaints = []
        self._rules = tuple(rules)
        self._tables = {name: Table(path) for name, path in tables.items()}
        for name, table in self._tables.items():
            table.refresh()
            if table.trouble:
                complaints.append(f"{source}: tables.{name}: {table.trouble}")
        for rule in rules:
            for field, value in rule.values.items():
                if (xpath := xpath_in(value)) is not None:
                    try:
                        compiled(xpath)
                    except ValueError as error:
                        complaints.append(
                            f'{source}:{rule.line}: mapping {rule.number}.{field}: "{xpath}" is no XPath ({error})'
                        )
        if complaints:
            raise ConfigError(complaints)
        xpaths = [xpath_in(value) for rule in rules for value in rule.values.values()]
        self.xpaths = tuple(dict.fromkeys(filter(None, xpaths)))
        """Every XPath in the rules, for `read`."""

    @property
    def troubles(self) -> list[str]:
        """What is wrong with tables now: sentences. Their former contents are still in use."""
        for table in self._tables.values():
            table.refresh()
        return [f"table {name}: {table.trouble}" for name, table in self._tables.items() if table.trouble]

    def tries(self, reading: Reading, *, company: str | None, file_name: str) -> Iterable[Try]:
        """Every rule tried on a document, in order."""
        for rule in self._rules:
            named = rule.file.fullmatch(file_name) if rule.file else None
            refusal = "; ".join(_refusals(rule, named, reading, company))
            values: dict[str, str] = {}
            unset: dict[str, str] = {}
            if not refusal:
                groups = named.groupdict() if named else {}
                for field, value in rule.values.items():
                    text, why = self._resolve(value, groups, reading)
                    if text:
                        values[field] = text
                    else:
                        unset[field] = why
            yield Try(rule.number, rule.line, tuple(rule.values), refusal, values, unset)

    def _resolve(self, value: Value, groups: Mapping[str, str | None], reading: Reading) -> tuple[str, str]:
        """The text of a value, or "" and why there is none."""
        match value:
            case XPath(text):
                found = reading.xpaths[text]
                return "" if _SCHEME_ALONE.fullmatch(found) else found, f"{text} finds nothing"
            case Template(text):
                return _filled(text, groups), f"the file name has nothing for {text}"
            case Lookup(table, key):
                wanted, why = self._resolve(key, groups, reading)
                if not wanted:
                    return "", why
                found, trouble = self._tables[table].get(wanted), self._tables[table].trouble
                why = f", as it was last read: {trouble}" if trouble else ""
                return found, f'the table {table} has no "{wanted}"{why}'


class Table:
    """A CSV file of keys and values, read again when it changes.

    Two columns below a header row; UTF-8; separated by comma, semicolon or tab, whichever the header has. `trouble`
    says what is wrong with the file as it is now, "" for nothing; then what was read before is still in use.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._entries: dict[str, str] = {}
        self.trouble = ""

    def get(self, key: str) -> str:
        """The value for a key, "" if there is none."""
        self.refresh()
        return self._entries.get(key.strip(), "")

    def refresh(self) -> None:
        """Read the file if it has changed."""
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp == self._stamp:
                return
            entries = _entries(self._path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            self.trouble = f"{self._path} can't be read ({error.strerror}); the daemon must be able to read it"
            self._stamp = None
        except UnicodeDecodeError:
            self.trouble = f"{self._path} is not in UTF-8; save it as CSV UTF-8"
            self._stamp = stamp
        except (ValueError, csv.Error) as error:
            self.trouble = f"{self._path}: {error}"
            self._stamp = stamp
        else:
            self._entries, self._stamp, self.trouble = entries, stamp, ""


def _entries(text: str) -> dict[str, str]:
    header = text.partition("\n")[0]
    if not header.strip():  # as a file is that somebody has just begun to write
        raise ValueError("line 1 is empty; write a header row, and two columns below it: a key and a value")
    delimiter = max(",;\t", key=header.count)
    entries: dict[str, str] = {}
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    next(rows, None)
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != _COLUMNS:
            raise ValueError(f"line {rows.line_num} has {len(row)} columns; write two, a key and a value")
        key, value = (cell.strip() for cell in row)
        if entries.setdefault(key, value) != value:
            raise ValueError(f'line {rows.line_num}: "{key}" is there twice, with different values; keep one')
    return entries


def _refusals(rule: Rule, named: re.Match[str] | None, reading: Reading, company: str | None) -> Iterator[str]:
    """Each condition that doesn't hold, as half a sentence."""
    if rule.company is not None and rule.company != company:
        whose = "and the file lies in no company's folder" if company is None else f"not {company}"
        yield f"it is for the company {rule.company}, {whose}"
    if rule.file is not None and named is None:
        yield f'the file name doesn\'t match "{rule.file.pattern}"'
    if rule.document is not None and rule.document != reading.root_name:
        yield f"it is for documents of type {rule.document}, not {reading.root_name}"
    if rule.customization is not None and not fnmatchcase(reading.customization, rule.customization):
        yield f'the CustomizationID "{reading.customization}" doesn\'t match "{rule.customization}"'


def _filled(template: str, groups: Mapping[str, str | None]) -> str:
    """A template with its groups; "" where one of them matched nothing."""
    if any(not groups.get(name) for name in _GROUP.findall(template)):
        return ""
    return _GROUP.sub(lambda found: groups[found[1]] or "", template)
