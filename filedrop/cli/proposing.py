"""The mapping rule that a rehearsal proposes for many documents that fail for the same reason.

It was tried on all documents of the rehearsal: it sets nothing that the directory doesn't confirm, and it changes no
document that has its ids already.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.cli.dropped import as_dropped
from filedrop.cli.rehearsal import REACHABLE, contradicts
from filedrop.config import Rule
from filedrop.errors import DocumentError
from filedrop.identify.mapping import Rules
from filedrop.outbound.context import identification_of
from filedrop.outbound.identified import identified
from filedrop.outbound.upload import Changing
from filedrop.texts.printable import in_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from filedrop.accesspoint import Pair
    from filedrop.cli.rehearsal import Rehearsal, Rehearsed
    from filedrop.identify import Reading
    from filedrop.model.document import Document
    from filedrop.outbound.context import Identification

MOST_EXCLUDED = 10  # values that a rule leaves out because the directory doesn't confirm them
_LEGAL, _TAX = "legal", "tax"
_ENDPOINT, _URI = "/EndpointID", "/URIUniversalCommunication/URIID"
_NUMBERS = {  # of a party whose id stands there: its country, its organisation number, its tax number, and any number
    _ENDPOINT: (
        "PostalAddress/Country/IdentificationCode",
        {_LEGAL: "PartyLegalEntity/CompanyID", _TAX: "PartyTaxScheme/CompanyID"},
        ("PartyLegalEntity/CompanyID", "PartyIdentification/ID"),
    ),
    _URI: (
        "PostalTradeAddress/CountryID",
        {_LEGAL: "SpecifiedLegalOrganization/ID", _TAX: "SpecifiedTaxRegistration/ID"},
        ("SpecifiedLegalOrganization/ID", "GlobalID"),
    ),
}
_COUNTRIES = (  # country, scheme, which number, and letters that its id doesn't have; the directory confirms it or not
    ("NO", "0192", _LEGAL, "NOMVA"),
    ("NO", "0192", _TAX, "NOMVA"),
    ("SE", "0007", _LEGAL, ""),
    ("DK", "0184", _LEGAL, "DK"),
    ("BE", "0208", _LEGAL, "BE"),
    ("BE", "0208", _TAX, "BE"),
    ("NL", "0106", _LEGAL, ""),
    ("DE", "9930", _TAX, ""),
    ("IT", "0211", _TAX, ""),
)


class Proposal(NamedTuple):
    """A rule as lines of YAML, how many documents it corrects, and how many receivers the directory confirmed.

    `contradicts` is the number of documents that would go by other ids than they state, against the network's rules.
    """

    lines: list[str]
    corrects: int
    receivers: int
    contradicts: int


@dataclass(frozen=True, slots=True)
class CandidateRule:
    """A rule that may correct documents: its values by field, in which `{0}` stands for the XPath `source`.

    `excluded` are the texts at `source` for which the rule sets nothing.
    """

    values: dict[str, str]
    source: str = ""
    excluded: tuple[str, ...] = ()

    @property
    def xpaths(self) -> list[str]:
        """What is to be evaluated for the rule."""
        return [self.source, *(value["xpath"] for value in self.written().values())] if self.source else []

    def written(self) -> dict[str, Any]:
        """The values as `mapping` has them."""
        if not self.source:
            return dict(self.values)
        texts = " or ".join(f". = '{text}'" for text in self.excluded)
        source = f"{self.source}[not({texts})]" if texts else self.source
        return {name: {"xpath": value.replace("{0}", source)} for name, value in self.values.items()}


def propose(rehearsal: Rehearsal, failing: Sequence[Rehearsed], others: Iterable[Rehearsed]) -> Proposal | None:
    """The rule that corrects the most of these documents, which fail for the same reason; None where there is none.

    `others` are the other documents of the rehearsal: the rule sets nothing in them. Raises ConfigError.
    """
    most, _ = Counter(map(_kind, failing)).most_common(1)[0]
    group = [rehearsed for rehearsed in failing if _kind(rehearsed) == most]
    candidates = list(_candidates(rehearsal, group))
    trial = _Trial(rehearsal, *most, candidates)
    best, fewest = None, 0
    for candidate in candidates:
        corrected, unconfirmed = trial.outcome(candidate, group)
        if len(corrected) > fewest and len(unconfirmed) <= MOST_EXCLUDED and (candidate.source or not unconfirmed):
            best, fewest = replace(candidate, excluded=tuple(sorted(unconfirmed))), len(corrected)
    if best is None:
        return None
    corrected, unconfirmed = trial.outcome(best, group)
    rest = [rehearsed for rehearsed in (*failing, *others) if rehearsed.file not in corrected]
    if unconfirmed or trial.sets_something(best, rest):
        return None
    receivers = {document.receiver for document in corrected.values()}
    contradicted = sum(trial.contradicts(file, document) for file, document in corrected.items())
    return Proposal(trial.lines(best), len(corrected), len(receivers), contradicted)


class _Trial:
    """Rules tried on documents of one company and kind."""

    def __init__(self, rehearsal: Rehearsal, company: str, kind: str, candidates: Iterable[CandidateRule]) -> None:
        """`candidates`: the rules that will be tried; each file is read once for all of them."""
        self._xpaths = {xpath for candidate in candidates for xpath in candidate.xpaths}
        self._readings: dict[Path, Reading] = {}
        self._rehearsal = rehearsal
        self._company = rehearsal.config.companies[company]
        self._kind = kind
        self._number = len(rehearsal.config.mapping) + 1

    def outcome(self, candidate: CandidateRule, group: Iterable[Rehearsed]) -> tuple[dict[Path, Document], set[str]]:
        """By file, the documents that a rule corrects; and the texts that make a receiver that nobody confirms."""
        corrected: dict[Path, Document] = {}
        unconfirmed: set[str] = set()
        by = self._identification(candidate)
        for rehearsed in group:
            document, text = self._apply(candidate, by, rehearsed)
            if document is None or not self._is_set(document):
                continue
            if document.error is None and self._rehearsal.reach(document) == REACHABLE:
                corrected[rehearsed.file] = document
            else:
                unconfirmed.add(text)
        return corrected, unconfirmed

    def sets_something(self, candidate: CandidateRule, documents: Iterable[Rehearsed]) -> bool:
        """Whether a rule sets an id of one of these documents."""
        by = self._identification(candidate)
        own = (rehearsed for rehearsed in documents if rehearsed.document.company == self._company.name)
        applied = (self._apply(candidate, by, rehearsed)[0] for rehearsed in own)
        return any(document is not None and self._is_set(document) for document in applied)

    def contradicts(self, file: Path, document: Document) -> bool:
        """Whether a corrected document goes by other ids than it states, against a rule of the network."""
        return bool(contradicts(document, self._readings[file], self._company))

    def lines(self, candidate: CandidateRule) -> list[str]:
        """The rule, as it stands in the configuration."""
        lines = ["mapping:", f"  - company: {in_yaml(self._company.name)}", f"    document: {in_yaml(self._kind)}"]
        for name, value in candidate.written().items():
            shown = f'{{xpath: "{value["xpath"]}"}}' if isinstance(value, dict) else in_yaml(value)
            lines.append(f"    {name}: {shown}")
        return lines

    def _identification(self, candidate: CandidateRule) -> Identification:
        """The identification of the company's documents with this rule after all others."""
        config, values = self._rehearsal.config, candidate.written()
        fixed = {"number": self._number, "line": 0, "company": self._company.name, "document": self._kind}
        rules = Rules((*config.mapping, Rule.model_validate(fixed | values)), config.tables, source=config.source)
        return identification_of(self._company, rules)

    def _apply(self, candidate: CandidateRule, by: Identification, rehearsed: Rehearsed) -> tuple[Document | None, str]:
        """A document identified so, and the text at the candidate's source; None where it can't be read now."""
        with suppress(DocumentError, Changing, OSError):
            reading = self._read(rehearsed.file, {*by.xpaths, *candidate.xpaths})
            text = reading.xpaths.get(candidate.source, "")
            if isinstance(text, str) and text.isprintable() and not {"'", '"'} & set(text):
                dropped = as_dropped(self._company, rehearsed.document.file, rehearsed.document.dropped_as)
                rules = self._company.apply_to(self._rehearsal.config.outbound)
                return identified(by, dropped, reading, rules, dropped.claimed), text
        return None, ""

    def _read(self, file: Path, xpaths: set[str]) -> Reading:
        """A file with what these XPaths find. Raises DocumentError, Changing, OSError."""
        known = self._readings.get(file)
        if known is None or not xpaths <= known.xpaths.keys():
            self._readings[file] = known = self._rehearsal.read(file, xpaths | self._xpaths)
        return known

    def _is_set(self, document: Document) -> bool:
        return f"mapping {self._number}" in document.sources.values()


def _kind(rehearsed: Rehearsed) -> tuple[str, str]:
    return rehearsed.document.company, rehearsed.document.type or ""


def _candidates(rehearsal: Rehearsal, group: Sequence[Rehearsed]) -> Iterator[CandidateRule]:
    """Rules that may correct these documents, the plainest first."""
    first = group[0]
    code = first.fault.code if first.fault else ""
    if code in ("no-receiver", "receiver-unknown"):
        with suppress(DocumentError, Changing, OSError):
            reading = rehearsal.read(first.file, ())
            place = (reading.found.get("receiver") or reading.missing["receiver"]).place
            yield from _other_numbers(place, first.document.receiver if code == "receiver-unknown" else None)
    elif code in ("no-document-id", "no-process-id", "not-accepted"):
        yield from _accepted_pairs(rehearsal, group)


def _other_numbers(place: str, unknown: str | None) -> Iterator[CandidateRule]:
    """The receiver from another number of the party whose id should stand in this place, or can't be reached by it."""
    end = next((end for end in _NUMBERS if place.endswith(end)), "")
    if not end:
        return
    country, numbers, any_numbers = _NUMBERS[end]
    id_at = end.removeprefix("/")
    scheme = (unknown or "").partition(":")[0]
    party = place.removesuffix(end) + (f"[{id_at}/@schemeID = '{scheme}']" if unknown else f"[not({id_at}/@schemeID)]")
    for number in any_numbers:
        yield CandidateRule({"receiver": "concat({0}/@schemeID, ':', {0})"}, f"{party}/{number}[@schemeID]")
    for code, new, which, letters in _COUNTRIES:
        there = f"{party}[{country} = '{code}']"
        for number in (id_at, numbers[which]):
            if new != scheme:
                form = f"concat('{new}:', translate({{0}}, '{letters} .-', ''))"
                yield CandidateRule({"receiver": form}, f"{there}/{number}")


def _accepted_pairs(rehearsal: Rehearsal, group: Sequence[Rehearsed]) -> Iterator[CandidateRule]:
    """The document ids and process ids that all these receivers accept for what the documents are."""
    accepted: list[set[Pair]] = []
    for receiver, document in {rehearsed.document.receiver: rehearsed.document for rehearsed in group}.items():
        known = rehearsal.known(document.account, receiver or "", document.type or "")
        accepted.append(set(known.accepts or ()))
    known_id = group[0].document.document_id
    for document_id, process_id in sorted(set.intersection(*accepted)) if accepted else ():
        if "*" in document_id or known_id not in (None, document_id):
            continue
        values = {"process_id": process_id}
        yield CandidateRule(values if known_id else {"document_id": document_id} | values)
