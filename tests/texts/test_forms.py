"""What accountants and administrators read about a document: every form, and every note that is made of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from support.drops import accepted, drop
from support.manual import chapter

import filedrop
from filedrop.model.fault import Fault, Finding
from filedrop.outbound.upload import IN_USE
from filedrop.storage import sidecar
from filedrop.texts import FORMS, Code, Text
from filedrop.texts.languages import ENGLISH, LANGUAGES
from filedrop.texts.note import FOR_ADMINISTRATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(filedrop.__file__).parent
NO_FAULT = ("waits", "in-use", "unanswered")  # first part of a form's name: a file that nobody fails for
FAULTS = [form for form in FORMS if form.partition("/")[0] not in NO_FAULT]
WAITS = [form for form in FORMS if form.startswith("waits/")]
UNANSWERED = [form for form in FORMS if form.startswith("unanswered/")]
ADDED = {"ids"}  # forms that only add to those of a code, like those without a message
SAMPLES = {
    "rules": "BR-01, BR-02", "when": "2026-11-20T14:05:00+01:00", "again": "2026-11-20T14:05:00+01:00", "line": "3",
    "column": "7", "number": "2", "times": "10", "limit": "100 MB", "receiver": "0192:123456785", "kind": "Invoice",
    "document": "Invoice 1", "sender": "0192:123456785", "id": "0192:98 76", "example": "0192:123456785",
    "first": "invoice.xml", "company": "acme", "hold": "HOLD", "folder": "/srv/filedrop/acme/outbound",
    "place": "sent", "declared": "latin-none", "wanted": "Peppol BIS Billing UBL Invoice V3",
    "nearest": "Peppol BIS Self-Billing UBL Invoice V3", "finding": "The total is wrong.", "text": "No such receiver",
}  # fmt: skip
FORBIDDEN = {
    "a command": r"filedrop (?:retry|reload|lookup|resolve|status|check|history|messages)\b|\b(?:sudo|chmod)\b|--|`",
    "a key of the configuration": r"\b(?:outbound|inbound|companies|validation|accounts)\.[a-z]|\w_\w|mapping|YAML",
    "an XPath": r"(?:^|[^a-z])//?[A-Z]\w+|XPath|@\w",
    "HTTP": r"HTTP|\bstatus \d|\b[45]\d\d\b|GET |POST |TLS",
    "the inside of filedrop": r"journal|sidecar|daemon|\.json\b",
}
LONGEST = 25  # words of a sentence


def sample(form: str) -> Text:
    return Text.of(form, **{name: SAMPLES.get(name, "something") for name in FORMS[form].placeholders})


def fault_of(form: str) -> Fault:
    findings = (Finding("BR-01", "An invoice has a number.", xpath="/Invoice/cbc:ID", line=3),)
    return Fault.of(sample(form), findings=findings if form.startswith("invalid") else ())


def notes(form: str, language: str = ENGLISH) -> Iterator[str]:
    """The notes that have this form, of a document that was accepted and of one that wasn't."""
    for document in (drop(), accepted(drop())):
        if form in WAITS:
            yield sidecar.waits(document, sample(form), language=language).decode()
        elif form in UNANSWERED:
            yield sidecar.not_answered("invoice-1.xml", sample(form), language=language).decode()
        else:
            fault, ready = fault_of(form), "invoice-1.xml.ready"
            yield sidecar.why(document, fault, "invoice-1.xml", ready, language=language).decode()


def sentences(text: str) -> list[str]:
    return [sentence for line in text.splitlines() for sentence in re.split(r"(?<=[.?!]) |: ", line) if sentence]


@pytest.mark.parametrize("form", FORMS)
def test_accountants_part_of_every_note(form: str) -> None:
    """The part for accountants has no commands, keys, XPaths or words of programmers, and no long sentence."""
    for note in notes(form):
        accountants, _, _ = note.partition(sidecar.RULE)
        assert {what for what, pattern in FORBIDDEN.items() if re.search(pattern, accountants)} == set(), accountants
        for sentence in sentences(accountants):
            assert len(sentence.split()) <= LONGEST, sentence


@pytest.mark.parametrize("form", FORMS)
def test_what_every_note_says(form: str) -> None:
    """A note says what is wrong and what can be done, and its last part is for the administrator, under a line."""
    text = sample(form)
    for note in notes(form):
        accountants, line, administrators = note.partition(f"{sidecar.RULE}\r\n{FOR_ADMINISTRATOR}\r\n")
        assert "\r\nWhat you can do:\r\n" in accountants
        assert text.message in accountants
        assert not line or administrators.strip()
        for part in (text.message, text.hint):
            assert re.fullmatch(r"(?:(?:[A-Z]|filedrop ).*[.])?", part, re.DOTALL), part


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != ENGLISH])
def test_notes_in_every_language(language: str, tmp_path: Path) -> None:
    """In each language, a note has its parts, no administrator's words before the last one, and a head in English."""
    path = tmp_path / "invoice-1.xml.why.txt"
    for form in FORMS:
        for note, english in zip(notes(form, language), notes(form), strict=True):
            accountants, line, administrators = note.partition(sidecar.RULE)
            found = [what for what, pattern in FORBIDDEN.items() if re.search(pattern, accountants)]
            assert not found, accountants
            assert line == english.partition(sidecar.RULE)[1]
            assert administrators.splitlines()[3:] == english.partition(sidecar.RULE)[2].splitlines()[3:]
            assert not re.search(r"[{}]|\\x", accountants)
            assert max(len(sentence.split()) for sentence in sentences(accountants)) <= LONGEST + 5, accountants
            path.write_bytes(note.encode())
            assert sidecar.named_in_note(path) == (None if form in WAITS + UNANSWERED else "invoice-1.xml")


@pytest.mark.parametrize("form", FAULTS)
def test_head_of_every_note(form: str, tmp_path: Path) -> None:
    """The first line of every note of a failed document gives the name that the file was dropped with."""
    for note in notes(form):
        path = tmp_path / "invoice-1.xml.why.txt"
        path.write_bytes(note.encode())
        assert sidecar.named_in_note(path) == "invoice-1.xml"


@pytest.mark.parametrize("form", WAITS)
def test_head_of_a_note_in_sending(form: str, tmp_path: Path) -> None:
    """The first line of a note beside a waiting document isn't taken for that of a failed one."""
    for note in notes(form):
        path = tmp_path / "invoice-1.xml.why.txt"
        path.write_bytes(note.encode())
        assert note.startswith("invoice-1.xml is waiting here. It is not lost.\r\n")
        assert sidecar.named_in_note(path) is None


@pytest.mark.parametrize(
    "note",
    [
        (
            "invoice-1.xml was not sent.\r\n\r\nNothing says who receives it.\r\n\r\nWhat to do:\r\n"
            "Have it written into the document.\r\n\r\nTo try again, move the file back to outbound/, or run:\r\n"
            "  filedrop retry acme invoice-1.xml\r\n\r\nReason: no-receiver\r\n"
        ),
        "invoice-1.xml was not delivered.\r\n\r\nThe access point accepted it as message 7.\r\n",
    ],
)
def test_head_of_an_older_note(note: str, tmp_path: Path) -> None:
    """A note that an earlier version wrote still gives the name that the file was dropped with."""
    path = tmp_path / "invoice-1.xml.why.txt"
    path.write_bytes(note.encode())
    assert sidecar.named_in_note(path) == "invoice-1.xml"


def test_every_error_code_has_its_text() -> None:
    """Each code of docs/reference.md has a form and is known to mypy, and each form of a fault has such a code."""
    page = chapter("docs/reference.md", "Error codes")
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert documented == {form.partition("/")[0] for form in FAULTS} - ADDED
    assert set(get_args(Code)) == documented | {IN_USE}


def used() -> Iterator[tuple[str, set[str]]]:
    """Each form that is named in the package, with the values that it is given there."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Text.of":
                name, values = node.args[0], {keyword.arg for keyword in node.keywords}
                if None not in values:
                    for constant in ast.walk(name):
                        if isinstance(constant, ast.Constant) and constant.value in FORMS:
                            yield constant.value, {str(value) for value in values}


def test_values_of_every_form() -> None:
    """Where a text is made, it gets a value for each placeholder."""
    found = list(used())
    assert len(found) > len(FORMS) / 2
    assert {(form, lacking) for form, values in found for lacking in FORMS[form].placeholders - values} == set()


@pytest.mark.parametrize(
    "value", ["{0}", "{receiver}", "{receiver.__class__}", "{", "%s", "a\nReason: duplicate\r\nb\u202e"]
)
def test_strangers_words(value: str) -> None:
    """What a stranger wrote is quoted as it is, in one line: it is no form, and can't pass for a line of a note."""
    text = Text.of("rejected", text=value, status=400)
    assert text.message == f'The access point refused the document: "{value.encode("unicode_escape").decode()}".'
    assert len(text.message.splitlines()) == 1
    for language in LANGUAGES:
        assert value.encode("unicode_escape").decode() in text.message_in(language)
