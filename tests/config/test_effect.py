"""Mapping rules that can have no effect: refused with their line, and only where that is certain."""

import io
import itertools
import re
from contextlib import suppress

import pytest
from support.configuration import BASE
from support.documents import invoice, order
from support.matrix import Sample

from filedrop.config import Rule, Template, XPath, parse
from filedrop.config.agreement import check_effect
from filedrop.config.complaints import Complaints
from filedrop.config.reading import Written
from filedrop.errors import ConfigError
from filedrop.identify import identify, read
from filedrop.identify.mapping import Rules

NO_NAME = r"10: mapping 1.file: matches no file name, and it is compared only with names; write one like INV-.*\.xml"

# Rules, the first in line 10, and what is said of them.
REFUSED = {
    "- {document: 'ubl:Invoice', channel: x}": (
        '10: mapping 1.document: "ubl:Invoice" is not the name of an element; write "Invoice"'
    ),
    "- {document: '{urn:x}Invoice', channel: x}": (
        '10: mapping 1.document: "{urn:x}Invoice" is not the name of an element; write "Invoice"'
    ),
    "- {document: /Invoice, channel: x}": (
        '10: mapping 1.document: "/Invoice" is not the name of an element; write "Invoice"'
    ),
    "- {document: 'Invoice ', channel: x}": (
        '10: mapping 1.document: "Invoice " is not the name of an element; write "Invoice"'
    ),
    "- {document: '', channel: x}": (
        '10: mapping 1.document: "" is not the name of an element; write one like Invoice, without a prefix'
    ),
    "- {document: 380, channel: x}": (
        '10: mapping 1.document: "380" is not the name of an element; write one like Invoice, without a prefix'
    ),
    "- {file: '', channel: x}": NO_NAME,
    "- {file: '^$', channel: x}": NO_NAME,
    "- {file: 'acme/.*', channel: x}": NO_NAME,
    r"- {file: '/srv/filedrop/(?P<company>\w+)/\d*\.xml', channel: x}": NO_NAME,
    r"- {file: '.*/INV-\d+(-\d+)?\.xml', channel: x}": NO_NAME,
    r"- {file: '^\w+\.in\/[^/]*$', channel: x}": NO_NAME,
    "- {customization: ' urn:x', channel: x}": (
        "10: mapping 1.customization: begins or ends with a blank, which no CustomizationID does; write it without"
    ),
    "- {company: acme, channel: ''}": "10: mapping 1.channel: an empty text sets nothing; write one, or delete the key",
    "- {channel: x}\n  - {channel: x}": (
        "11: mapping 2: has no effect: mapping 1 (line 10) sets channel for all of its documents;"
        " delete it, or move it up"
    ),
    "- {document: Invoice, channel: x}\n  - {document: Invoice, file: 'a.*', channel: '{{xpath: //Note}}'}".replace(
        "'{{xpath: //Note}}'", "{xpath: //Note}"
    ): (
        "11: mapping 2: has no effect: mapping 1 (line 10) sets channel for all of its documents;"
        " delete it, or move it up"
    ),
    "- {customization: '*', channel: x}\n  - {receiver: '0192:1', sender: '0192:2'}\n"
    "  - {company: acme, channel: y, receiver: '0192:1'}": (
        "12: mapping 3: has no effect: mapping 2 (line 11) sets receiver, mapping 1 (line 10) sets channel"
        " for all of its documents; delete it, or move it up"
    ),
    "- {file: 'a.*', channel: x}\n  - file: 'a.*'\n    receiver: '0192:1'\n    channel: y": (
        "13: mapping 2.channel: has no effect: mapping 1 (line 10) sets it for all of the rule's documents;"
        " delete one of them"
    ),
}

# Rules that may count, however odd.
TAKEN = [
    "- {document: Größe, channel: x}",
    "- {document: invoice, channel: x}",
    "- {file: 'INV-*.xml', channel: x}",
    "- {file: '(acme/)?INV.*', channel: x}",
    "- {file: 'acme/?INV.*', channel: x}",
    "- {file: 'acme/{0}INV.*', channel: x}",
    "- {file: 'acme/.*|INV.*', channel: x}",
    r"- {file: '(in/|\d)INV', channel: x}",
    "- {file: '[^/]+', channel: x}",
    "- {file: '[]/]+', channel: x}",
    "- {file: '(?!.*/)INV.*', channel: x}",
    "- {file: '(?x) INV # with or without a/', channel: x}",
    r"- {file: '^INV-.*\.xml$', channel: x}",
    r"- {file: '\AINV.*\Z', channel: x}",
    r"- {file: '\^\$\/?INV', channel: x}",
    "- {customization: '', channel: x}",
    "- {channel: x}\n  - {company: acme, receiver: '0192:1'}",
    "- {company: acme, channel: x}\n  - {channel: y}",
    "- {file: 'a.*', channel: x}\n  - {file: 'A.*', channel: y}",
    "- {document: Invoice, channel: x}\n  - {file: 'a.*', channel: y}",
    "- {channel: {xpath: //Note}}\n  - {channel: y}",
    "- {file: '(?P<a>.*)', channel: '{a}'}\n  - {file: '(?P<a>.*)', channel: y}",
]


@pytest.mark.parametrize(("rules", "complaint"), REFUSED.items())
def test_refused(rules: str, complaint: str) -> None:
    """A rule that can't apply, or can't win, is an error that names its line and the rule that comes before it."""
    with pytest.raises(ConfigError) as raised:
        parse(f"{BASE}mapping:\n  {rules}\n")
    assert raised.value.complaints == (f"config.yaml:{complaint}",)


@pytest.mark.parametrize("rules", TAKEN)
def test_taken(rules: str) -> None:
    """A rule that may apply to something, some day, is taken."""
    assert parse(f"{BASE}mapping:\n  {rules}\n").mapping


@pytest.mark.parametrize("flaw", ["file: '('", "foo: bar", "file: 'a.*', file: 'b.*'", "document: [x]"])
def test_a_flawed_rule_wins_nothing(flaw: str) -> None:
    """What is wrong in a rule may be the condition that leaves something to the next: nothing follows from it."""
    with pytest.raises(ConfigError) as raised:
        parse(f"{BASE}mapping:\n  - {{{flaw}, channel: x}}\n  - {{channel: y}}\n")
    (complaint,) = raised.value.complaints
    assert complaint.startswith("config.yaml:10: mapping 1.")


PIECES = (
    "a", ".", "/", "^", "$", "*", "+", "?", "|", "{0}", r"\.", r"\/", r"\s", r"\b", r"\Z", r"\1",
    "[a/]", "[^/]", "(/)", "(a|/)", "(?:/)?", "(?!/)", "(?#[)",
)  # fmt: skip
NAMES = ["".join(letters) for length in range(1, 4) for letters in itertools.product("a-\n", repeat=length)]


def test_no_pattern_is_refused_that_matches_a_name(sample: Sample) -> None:
    """Of all short patterns, none that is refused matches one of all short names."""
    refused = []
    patterns = [pieces for length in range(1, 4) for pieces in itertools.product(PIECES, repeat=length)]
    drawn = sample(patterns, len(patterns) // 4)
    for pieces in drawn:
        with suppress(re.error):
            pattern = re.compile("".join(pieces), re.IGNORECASE)
            if complaints_about(rule(1, file=pattern.pattern, channel=Template("x"))):
                refused.append(pattern)
    assert len(refused) > len(drawn) // 12
    assert not [pattern.pattern for pattern in refused if any(map(pattern.fullmatch, NAMES))]


def test_no_value_is_refused_that_wins() -> None:
    """Of all pairs of rules in which the second is refused, it sets nothing, or nothing where the first doesn't."""
    readings = [
        read(io.BytesIO(content), xpaths=["//Nothing"])
        for content in (invoice(), invoice(customization="urn:x"), order())
    ]
    conditions = itertools.product(
        (None, "acme"), (None, "(?P<g>a?).*"), (None, "Invoice"), (None, "*", "urn:cen*"),
        (Template("x"), Template(""), Template("{g}"), XPath("//Nothing")),
    )  # fmt: skip
    keys = [
        dict(zip(("company", "file", "document", "customization", "channel"), one, strict=True)) for one in conditions
    ]
    firsts, seconds = [rule(1, **one) for one in keys], [rule(2, **one) for one in keys]
    sets = [
        {
            (number, company, name)
            for (number, reading), company, name in itertools.product(
                enumerate(readings), (None, "acme", "fjord"), ("a.xml", "b.xml")
            )
            if identify(reading, company=company, file_name=name, mapping=Rules([first], {})).channel
        }
        for first in firsts
    ]
    refused = 0
    for (first, before), (second, then) in itertools.product(
        zip(firsts, sets, strict=True), zip(seconds, sets, strict=True)
    ):
        if any("mapping 2" in complaint.split(": ")[1] for complaint in complaints_about(first, second)):
            refused += 1
            assert then <= before, (first, second)
    assert refused > 1000


def rule(number: int, **keys: object) -> Rule:
    return Rule(number=number, line=number, **keys)  # type: ignore[arg-type] -- as YAML has them


def complaints_about(*rules: Rule) -> tuple[str, ...]:
    complaints = Complaints("config.yaml", Written())
    check_effect(rules, complaints)
    try:
        complaints.raise_any()
    except ConfigError as error:
        return error.complaints
    return ()
