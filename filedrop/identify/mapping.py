"""Mapping rules applied to a document, and the tables they look things up in (contract 3).

Each field is settled by the first rule that matches and has a value for it: a template whose group matched, a key that
the table has, an XPath that finds something (a scheme with nothing behind it is nothing). The rules themselves are the
configuration's (filedrop.config).
"""

from __future__ import annotations

import re
import time
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from filedrop.config import Lookup, Template, Value, XPath, groups_in, xpath_in
from filedrop.errors import ConfigError, DocumentError, Unanswered
from filedrop.identify import participants
from filedrop.identify.table import PATIENCE, Table
from filedrop.identify.xpath_tree import Unfit, compiled
from filedrop.model.document import without_scheme
from filedrop.texts import Text
from filedrop.texts.printable import composed, looks_like

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from filedrop.config import Rule, TableFile
    from filedrop.identify.reading import Reading

NO_TIME = timedelta(0)
OFTEN = 0.1  # seconds between two looks at tables that were written just now
_SCHEME_ALONE = re.compile(r"([0-9]{4})?:")  # what concat('0192:', //Nothing) gives; in a document it is nothing either


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

    def __init__(
        self,
        rules: Sequence[Rule],
        tables: Mapping[str, TableFile],
        *,
        source: str = "mapping",
        settle: timedelta = NO_TIME,
        former: Rules | None = None,
    ) -> None:
        """`source` names the configuration. Raises ConfigError for an XPath that is none.

        A table that can't be read is a trouble: only documents that need it wait. `settle`: for how long a file must
        not have changed before it is first used. `former`: the rules before a change, whose tables have been read
        already. A table that they don't have is a part of the change: ConfigError where it can't be read.
        """
        self._rules = tuple(rules)
        known = {(table.path, table.columns): table for table in former.tables.values()} if former else {}
        self.tables: dict[str, Table] = {}
        for name, described in tables.items():
            new = Table(described.file, described.columns)
            self.tables[name] = table = known.get((new.path, new.columns), new)
            table.settle = settle.total_seconds()
        self._refresh()
        complaints = [
            f"{source}: tables.{name}: {table.fault}"
            for name, table in self.tables.items()
            if former and table.fault and not table.silent and table not in known.values()
        ]
        asked = [
            (rule, field, xpath)
            for rule in rules
            for field, value in rule.values.items()
            if (xpath := xpath_in(value)) is not None
        ]
        for rule, field, xpath in asked:
            try:
                compiled(xpath)
            except ValueError as error:
                where = f"{source}:{rule.line}: mapping {rule.number}.{field}"
                complaints.append(f'{where}: "{xpath}" is no XPath ({error})')
        if complaints:
            raise ConfigError(complaints)
        self._xpaths = [(rule.company, xpath) for rule, _, xpath in asked]
        self.xpaths = tuple(dict.fromkeys(xpath for _, xpath in self._xpaths))
        """Every XPath in the rules, for `read`."""

    def xpaths_of(self, company: str) -> tuple[str, ...]:
        """The XPaths in the rules that are for this company's documents, for `read`."""
        return tuple(dict.fromkeys(xpath for whose, xpath in self._xpaths if whose in (None, company)))

    @property
    def troubles(self) -> list[str]:
        """What is wrong with tables now: sentences. What was read before is in use, but not of one that is silent."""
        self._refresh()
        return [f"table {name}: {table.trouble}" for name, table in self.tables.items() if table.trouble]

    @property
    def doubts(self) -> list[str]:
        """What a person should look at in tables that can be read: sentences."""
        return [f"tables.{name}: {table.doubt}" for name, table in self.tables.items() if table.doubt]

    def await_tables(self, stopped: threading.Event) -> None:
        """Wait until the tables that were written just now are used, as far as they are left alone for so long."""
        longest = max((table.settle for table in self.tables.values()), default=0.0)
        until = time.monotonic() + longest + OFTEN
        while any(table.is_settling for table in self.tables.values()) and time.monotonic() < until:
            if stopped.wait(OFTEN):
                return
            self._refresh()

    def _refresh(self) -> None:
        """Read the tables that have changed; all at once, for several may lie on one share that hangs."""
        until = time.monotonic() + PATIENCE
        for table, asked in [(table, table.ask()) for table in self.tables.values()]:
            table.await_answer(asked, max(0.0, until - time.monotonic()))

    def tries(self, reading: Reading, *, company: str | None, file_name: str) -> Iterable[Try]:
        """Every rule tried on a document, in order.

        Raises DocumentError where a rule takes too long that may settle something, and Unanswered where it can't be
        asked now.
        """
        settled: set[str] = set()
        for rule in self._rules:
            tried = self._try(rule, reading, company, file_name, settled)
            settled |= tried.values.keys()
            yield tried

    def _try(self, rule: Rule, reading: Reading, company: str | None, file_name: str, settled: Collection[str]) -> Try:
        values: dict[str, str] = {}
        unset: dict[str, str] = {}
        groups: Mapping[str, str | None] | None = {}
        refusal = "; ".join(_refusals(rule, reading, company))
        if rule.file is not None and not refusal:  # asked last, and of its own documents only: it may take a second
            try:
                groups = rule.file.fullmatch(file_name)
            except TimeoutError:
                if any(field not in settled for field in rule.values):
                    slow = Text.of("unreadable/rule-file", rule=rule, name=file_name)
                    raise DocumentError(slow) from None
                groups = None
            if groups is None:
                refusal = f'the file name doesn\'t match "{rule.file.pattern}"'
        if not refusal:
            for field, value in rule.values.items():
                try:
                    text, why = self._resolve(rule, value, groups or {}, reading)
                except (DocumentError, Unanswered):
                    if field not in settled:
                        raise
                    text, why = "", "it is unknown at the moment what it sets"
                if text := _id_in(field, text):
                    values[field] = text
                else:
                    unset[field] = why
        return Try(rule.number, rule.line, tuple(rule.values), refusal, values, unset)

    def _resolve(self, rule: Rule, value: Value, groups: Mapping[str, str | None], reading: Reading) -> tuple[str, str]:
        """The text of a rule's value, or "" and why there is none. Raises DocumentError, Unanswered."""
        match value:
            case XPath(text):
                found = reading.xpaths[text]
                if found is None:
                    raise DocumentError(Text.of("unreadable/rule-xpath", rule=rule, xpath=text))
                if isinstance(found, Unfit):
                    if not found.is_lasting:
                        raise Unanswered(found.why)
                    unfit = Text.of("unreadable/rule", rule=rule, xpath=text, why=found.why)
                    raise DocumentError(unfit)
                is_scheme_alone = _SCHEME_ALONE.fullmatch(participants.spelled_out(found)) is not None
                return "" if is_scheme_alone else found, f"{text} finds nothing"
            case Template(text):
                are_there = all(groups.get(name) for name in groups_in(value))
                return text.format_map(groups) if are_there else "", f"the file name has nothing for {text}"
            case Lookup(table, key):
                wanted, why = self._resolve(rule, key, groups, reading)
                if not wanted:
                    return "", why
                found = self.tables[table].get(wanted)
                return found, f"the table {table} {self.tables[table].why_not(wanted)}"


def _refusals(rule: Rule, reading: Reading, company: str | None) -> Iterator[str]:
    """Each condition but `file` that doesn't hold, as half a sentence."""
    if rule.company is not None and rule.company != company:
        yield f"it is for the company {rule.company}, not {company}"
    if rule.document is not None and not looks_like(rule.document, reading.root_name):
        yield f"it is for documents of type {rule.document}, not {reading.root_name}"
    if rule.customization is not None and not _fits(reading.customization, rule.customization):
        yield f'the CustomizationID "{reading.customization}" doesn\'t match "{rule.customization}"'


def _fits(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern) or fnmatchcase(composed(text), composed(pattern))


def _id_in(field: str, text: str) -> str:
    """What a rule sets, as it is posted: ids without the names of their schemes."""
    match field:
        case "sender" | "receiver":
            return participants.spelled_out(text)
        case "document_id" | "process_id":
            return without_scheme(text)
        case _:
            return text
