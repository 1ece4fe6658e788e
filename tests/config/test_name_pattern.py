"""Regular expressions for file names: they mean what they mean in Python, and none runs away."""

import contextlib
import re
import string
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filedrop.config.mapping import NamePattern

PIECES = (
    "a", "A", "b", "1", "-", "_", ".", "^", "$", "*", "+", "?", "|", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!",
    "(?>", "(?P<n>", "(?P<m>", "(?P=n)", "(?(n)", "(?i)", "(?-i:", "(?s:", "(?x)", "(?a)", "(?#a)", "[", "[^", "]",
    "[a-c]", "[]", "[:alpha:]", "--", "&&", "||", "{0}", "{2}", "{,2}", "{1,}", "{,}", "{}", "{e}", "{e<=1}", "\\{",
    "\\.", "\\d", "\\w", "\\W", "\\s", "\\b", "\\B", "\\A", "\\Z", "\\1", "\\N{DIGIT ONE}", "\\x41", "\\u00e5",
    "å", "ß", " ", "#",
)  # fmt: skip
NAMES = st.text("aAbB1-_. {}e[]:åÅß" + string.printable[:5], min_size=1, max_size=8)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join), st.lists(NAMES, max_size=10))
def test_what_python_says(pattern: str, names: list[str]) -> None:
    """What is taken for an expression matches the names that Python's own engine matches, with the same groups."""
    with contextlib.suppress(ValueError):
        ours = NamePattern(pattern)
        theirs = re.compile(pattern, re.IGNORECASE)
        for name in ("a", "ab", "a1-b", *names):
            found = theirs.fullmatch(name)
            assert ours.fullmatch(name) == (found.groupdict() if found else None), name


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_what_python_refuses(pattern: str) -> None:
    """What is no expression in Python is none here."""
    with warnings.catch_warnings(action="ignore"):
        try:
            re.compile(pattern, re.IGNORECASE)
        except re.error:
            with pytest.raises(ValueError, match=r"write|correct"):
                NamePattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        (r"(\w+-?)+\.pdf", "a" * 40 + ".xml", False),
        (r"(\w+-?)+", "a" * 40 + "!", False),
        (r"(\w+-?)+", "a" * 40, True),
        (r"(.*)*b", "a" * 250, False),
        (r"((a+)+)+$", "a" * 250 + "!", False),
        (r"(x+x+)+y", "x" * 250, False),
        (r"(?P<number>(\d+ ?)*)\.xml", "1" * 250, False),
        (r".*_.*_.*_.*_.*\.pdf", "_" * 250, False),
    ],
)
def test_what_would_run_for_years(pattern: str, name: str, *, matches: bool) -> None:
    """What Python's own engine would try in thousands of millions of ways has its right answer at once."""
    assert (NamePattern(pattern).fullmatch(name) is not None) == matches


@pytest.mark.slow
def test_what_does_run_for_years() -> None:
    """Where there is no telling, it is said that there is none."""
    with pytest.raises(TimeoutError):
        NamePattern("(a|aa)+b").fullmatch("a" * 200)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("Mu\u0308+ller", "Mu\u0308\u0308ller", True),  # as written: one u and dots
        ("Mu\u0308+ller", "M\u00fc\u00fcller", True),  # composed: several \u00fc
        ("M[u\u0308]{2}ller", "Mu\u0308ller", True),
        ("M.ller", "Mu\u0308ller", True),
        ("M..ller", "Mu\u0308ller", True),
        ("M..ller", "M\u00fcller", False),
        ("[^\u0308]*", "Mu\u0308ller", True),  # composed, the name has none
    ],
)
def test_letters_in_two_forms(pattern: str, name: str, *, matches: bool) -> None:
    """A name is compared as it is written, and then with all letters composed, in the name and in the expression."""
    assert (NamePattern(pattern).fullmatch(name) is not None) is matches


def test_groups_of_a_composed_name() -> None:
    """A group has what it matched in the name as that was compared; its own name stays as it is written."""
    pattern = NamePattern("M\u00fcller-(?P<gro\u0308\u00dfe>.*)")
    assert pattern.fullmatch("Mu\u0308ller-7") == {"gro\u0308\u00dfe": "7"}
