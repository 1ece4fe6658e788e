"""Whether a mapping rule can have an effect: can its conditions hold, and can its values win?

Only what is certain is complained about: a rule that might count for one document, under one name, is left alone.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from filedrop.config.complaints import Complaints
from filedrop.config.mapping import Rule, Template, groups_in
from filedrop.config.reading import Keys

_LOCAL_NAME = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w.\x80-\U0010ffff-]*", re.ASCII)  # Namespaces in XML, NCName
# A `/` before any group or class, which isn't repeated and has no alternative.
_NEEDS_SLASH = re.compile(r"(?:[^\\/(\[|]|\\[^/])*\\?/(?![*?{])[^|]*")


def check_effect(rules: Sequence[Rule], complaints: Complaints) -> None:
    """Complain about each rule that can never apply, and each value that an earlier rule always comes before."""
    sound = [rule for rule in rules if not complaints.flawed(_place(rule))]  # the flaw may be a condition
    for number, rule in enumerate(sound):
        _check_conditions(rule, complaints)
        _check_values(rule, sound[:number], complaints)


def _place(rule: Rule) -> Keys:
    return ("mapping", rule.number - 1)


def _check_conditions(rule: Rule, complaints: Complaints) -> None:
    if rule.document is not None and not _LOCAL_NAME.fullmatch(rule.document):
        bare = re.split(r"[:/}]", rule.document.strip())[-1]
        advice = f'"{bare}"' if _LOCAL_NAME.fullmatch(bare) else "one like Invoice, without a prefix"
        sentence = f'"{rule.document}" is the local name of no element; write {advice}'
        complaints.add(sentence, (*_place(rule), "document"))
    if rule.file is not None and _matches_no_name(rule.file):
        sentence = r"can match no file's name, which is all that it is compared with; write one like INV-.*\.xml"
        complaints.add(sentence, (*_place(rule), "file"))
    if rule.customization is not None and rule.customization != rule.customization.strip():
        sentence = "begins or ends with a blank, which no CustomizationID does; write it without"
        complaints.add(sentence, (*_place(rule), "customization"))


def _matches_no_name(pattern: re.Pattern[str]) -> bool:
    """Whether surely no file's name can match: the pattern is empty, or wants a `/`, which no name has."""
    return not pattern.pattern.strip("^$") or _NEEDS_SLASH.fullmatch(pattern.pattern) is not None


def _check_values(rule: Rule, earlier: Sequence[Rule], complaints: Complaints) -> None:
    values = rule.values
    for field, value in values.items():
        if value == Template(""):
            complaints.add("an empty text sets nothing; write one, or delete the key", (*_place(rule), field))
    lost: dict[str, Rule] = {}
    for other in reversed(earlier):
        if _includes(other, rule):
            lost |= {field: other for field, value in other.values.items() if field in values and _always(value)}
    if lost and lost.keys() == values.keys():
        fields = defaultdict(list)
        for field in values:
            fields[_named(lost[field])].append(field)
        sets = ", ".join(f"{winner} sets {' and '.join(won)}" for winner, won in fields.items())
        sentence = f"can never win: {sets} for all of its documents; delete it, or put it before"
        complaints.add(sentence, _place(rule))
        return
    for field, other in lost.items():
        sentence = f"can never win: {_named(other)} sets it for all of the rule's documents; delete one of them"
        complaints.add(sentence, (*_place(rule), field))


def _named(rule: Rule) -> str:
    return f"mapping {rule.number} (line {rule.line})"


def _includes(other: Rule, rule: Rule) -> bool:
    """Whether each document that a rule is for is certainly one that the other is for."""
    return (
        other.company in (None, rule.company)
        and other.file in (None, rule.file)
        and other.document in (None, rule.document)
        and other.customization in (None, "*", rule.customization)
    )


def _always(value: object) -> bool:
    return isinstance(value, Template) and bool(value.text) and not groups_in(value)
