"""What validators say, and that one which can't is broken off, ended and told of, whatever it does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.disks import foreign
from support.documents import invoice
from support.environment import without_extras
from support.matrix import quick
from support.rules import OWN, OWN_LIST, own_rules

from filedrop.config import Validation
from filedrop.config.rules import load_rules
from filedrop.errors import ConfigError, NoVerdict
from filedrop.files.patience import within
from filedrop.process.lock import locked_state
from filedrop.programs import children
from filedrop.validation import ByRules, Kind, Validator, validator_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 300.0  # seconds: the machine may be busy
INVOICE = "Invoice"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return own_rules(tmp_path / "rules")


@pytest.fixture
def validator(rules: Path) -> Iterator[ByRules]:
    validator = ByRules(rules, seconds=PATIENCE, memory=10**9)
    yield validator
    validator.close()


def said(validator: Validator, content: bytes, root: str = INVOICE) -> list[str]:
    """The findings in a line each; what isn't fatal is in brackets."""
    verdict = validator.judge(Kind(root, ""), [content])
    return [f"{one}" if one.is_fatal else f"({one})" for one in verdict.findings]


def process_of(validator: ByRules) -> subprocess.Popen[bytes]:
    process = validator._children[0]._process
    assert process is not None
    return process


def test_findings(validator: ByRules) -> None:
    """Each has its rule, its sentence, its line and its place; a warning forbids nothing, and comes last."""
    content = invoice(note="odd").replace(b"</cbc:Note>", b"</cbc:Note>\n<cbc:Note>broken</cbc:Note>")
    assert said(validator, content) == [
        "line 12: A note must not say that it is broken. (OWN-1)",
        "(line 11: A note should not say that it is odd. (OWN-2))",
    ]
    verdict = validator.judge(Kind(INVOICE, ""), [content])
    assert [one.xpath for one in verdict.findings] == ["/Invoice/Note[2]", "/Invoice/Note"]
    assert verdict.rules == ("own.xslt",)


@pytest.mark.parametrize(
    "namespace",
    quick(["http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader", ""]),
    ids=["named", "bare"],
)
def test_in_an_envelope(validator: ByRules, namespace: str) -> None:
    """The business document is judged, and its lines are those of the whole file; some envelopes lack a namespace."""
    body = invoice(note="broken").partition(b"?>")[2].strip()
    header = (
        f'<?xml version="1.0"?>\n<StandardBusinessDocument xmlns="{namespace}">\n<StandardBusinessDocumentHeader/>\n'
    )
    content = header.encode() + body + b"</StandardBusinessDocument>"
    assert said(validator, content) == ["line 13: A note must not say that it is broken. (OWN-1)"]


def test_a_schema(validator: ByRules) -> None:
    """What a schema says has its line, too."""
    assert said(validator, b'<Thing xmlns="urn:thing">\n<Count>1</Count></Thing>', "Thing") == []
    (found,) = said(validator, b'<Thing xmlns="urn:thing">\n<Count>one</Count></Thing>', "Thing")
    assert found.startswith("line 2: ")
    assert "'one' is not a valid value" in found


def test_no_rules_for_it(validator: ByRules) -> None:
    """A document that no rules are for breaks none, and the verdict says that none were applied."""
    verdict = validator.judge(Kind("Order", ""), [b"<a/>"])
    assert (verdict.is_valid, verdict.rules) == (True, ())


def test_new_rules_count_at_once(validator: ByRules, rules: Path) -> None:
    """Rules that are replaced hold for the next document, without a restart."""
    broken = invoice(note="broken")
    assert said(validator, broken)
    first = process_of(validator).pid
    (rules / "own.xslt").write_text(OWN.replace("'broken'", "'never so'"))
    assert said(validator, broken) == []
    assert process_of(validator).pid == first


@pytest.mark.slow
def test_too_late(rules: Path) -> None:
    """A document that keeps the rules busy has no verdict; the next one has."""
    validator = ByRules(rules, seconds=PATIENCE, memory=10**9)
    assert said(validator, invoice()) == []
    hung = process_of(validator)
    validator._seconds = 0.5
    with pytest.raises(NoVerdict, match=r"longer than 0\.5 seconds"):
        said(validator, invoice(note="endless"))
    assert hung.poll() is not None
    validator._seconds = PATIENCE
    assert said(validator, invoice(note="broken"))
    validator.close()


@pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory is known here")
def test_out_of_memory(rules: Path) -> None:
    """A document that needs more than `validation.memory` has no verdict; the next one has."""
    validator = ByRules(rules, seconds=PATIENCE, memory=200 * 10**6)
    with pytest.raises(NoVerdict, match=r"more than validation\.memory"):
        said(validator, invoice(note="huge"))
    assert said(validator, invoice(note="broken"))
    validator.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_killed(validator: ByRules) -> None:
    """Killed between two documents, it is started again; killed amid one, that one has no verdict."""
    assert said(validator, invoice()) == []
    process_of(validator).kill()
    process_of(validator).wait()
    assert said(validator, invoice(note="broken"))
    process = process_of(validator)

    def content() -> Iterator[bytes]:
        yield invoice()[:100]
        process.kill()
        process.wait()
        yield invoice()[100:]

    with pytest.raises(NoVerdict, match="ended by signal 9"):
        validator.judge(Kind(INVOICE, ""), content())
    assert said(validator, invoice(note="broken"))


@pytest.mark.parametrize("made", quick(["<Schematron><Error>wrong</Error></Schematron>", "wrong", ""]))
def test_another_stylesheet(validator: ByRules, rules: Path, made: str) -> None:
    """A stylesheet that makes no report of Schematron has no verdict: nothing is valid because nobody can read it."""
    opening = '<xsl:stylesheet version="2.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    template = f'<xsl:template match="/">{made}</xsl:template>'
    (rules / "own.xslt").write_text(f"{opening}{template}</xsl:stylesheet>")
    with pytest.raises(NoVerdict, match=r"own\.xslt is no compiled Schematron"):
        said(validator, invoice())


def test_an_excepted_schema(rules: Path) -> None:
    """Where what a schema says is excepted, the rules after it are still asked."""
    (rules / "rules.yaml").write_text("documents: [{document: Invoice, rules: [own.xsd, own.xslt]}]\n")
    validator = ByRules(rules, seconds=PATIENCE, memory=10**9, exceptions=lambda company: [company])
    for company, rule in (("XSD", "OWN-1"), ("OWN-1", "XSD")):
        verdict = validator.judge(Kind(INVOICE, "", company), [invoice(note="broken")])
        assert {finding.rule for finding in verdict.findings} == {rule}
    validator.close()


def test_an_error_of_content(validator: ByRules) -> None:
    """A value that ends the rules with an error makes the document invalid."""
    (found,) = said(validator, invoice(note="1 of 2"))
    assert found.startswith('line 11: "1 of 2" is not a value that belongs here; own.xslt ends with: Cannot convert')


def test_an_error_of_the_rules(validator: ByRules) -> None:
    """An error that no content causes has no verdict: here, a file that the rules lack."""
    with pytest.raises(NoVerdict, match=r"own\.xslt could not be applied: .*FODC0002, line \d+"):
        said(validator, invoice(note="missing"))


def test_the_same_error_in_a_row(validator: ByRules) -> None:
    """The same error for three documents in a row is the rules' own; a document that passes shows that it isn't."""
    first, second, third, passes = (invoice(note=note) for note in ("1 of 2", "2 of 2", "3 of 2", "4"))
    for content in (first, first, first, second, second):
        assert said(validator, content), "the same document again proves nothing"
    for content in (third, second):
        with pytest.raises(NoVerdict, match=r"own\.xslt ended with the same error for 3 different documents"):
            said(validator, content)
    assert said(validator, passes) == []
    assert said(validator, third)


def test_a_file_that_fails(validator: ByRules) -> None:
    """Where the document can't be read to its end, that is said, and half a document is never judged."""
    assert said(validator, invoice()) == []

    def content() -> Iterator[bytes]:
        yield invoice()[:100]
        raise OSError(5, "the share is away")

    with pytest.raises(OSError, match="the share is away"):
        validator.judge(Kind(INVOICE, ""), content())
    assert said(validator, invoice(note="broken"))


def test_it_ends_when_idle(validator: ByRules, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process, which takes 200 MB, ends when it has nothing to do, and comes back when it has."""
    assert said(validator, invoice()) == []
    process = process_of(validator)
    validator.end_if_idle()
    assert process.poll() is None
    monkeypatch.setattr(children, "IDLE", -1.0)
    validator.end_if_idle()
    assert process.poll() is not None
    assert said(validator, invoice(note="broken"))


@pytest.mark.skipif(sys.platform == "win32", reason="the processes are looked for in /proc")
@pytest.mark.parametrize("note", ["fine", "endless"])
def test_it_ends_with_its_parent(rules: Path, note: str) -> None:
    """Whatever it does when its parent is killed, it ends: at once when idle, else when the document's time is over."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom filedrop.validation import ByRules, Kind\n"
        f"content = sys.stdin.buffer.read()\nvalidator = ByRules(Path({str(rules)!r}), seconds=3, memory=10**9)\n"
        "validator._children[0]._running()\nprint(validator._children[0]._process.pid, flush=True)\n"
        "try:\n    validator.judge(Kind('Invoice', ''), [content])\nfinally:\n    input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin
        assert parent.stdout
        parent.stdin.write(invoice(note=note))
        parent.stdin.close()
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + PATIENCE
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_saxonche_is_missing(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says what to install."""
    monkeypatch.setattr(sys, "executable", str(without_extras(tmp_path)))
    validator = ByRules(rules, seconds=PATIENCE, memory=10**9)
    with pytest.raises(NoVerdict, match="saxonche isn't installed: filedrop manual send"):
        said(validator, invoice())
    validator.close()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("documents: []", "an empty list"),
        ("documents:\n  - {document: Invoice, rules: [own.sch]}", "neither compiled Schematron"),
        ("documents:\n  - {document: Invoice}", "rules.yaml:2: documents 1.rules: missing"),
        ("documents:\n  - {dokument: Invoice, rules: [a.xsd]}", 'did you mean "document"'),
        ("released: May\ndocuments:\n  - {document: Invoice, rules: [a.xsd]}", "is not a date; write one like"),
        ("documents", "rules.yaml:1"),
    ],
)
def test_mistakes_in_the_list(tmp_path: Path, text: str, complaint: str) -> None:
    """Each is told with its line, and what to write instead."""
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_rules(tmp_path)
    assert complaint in str(raised.value)


def test_the_first_that_fits(tmp_path: Path) -> None:
    """Of several sets of rules the first one counts whose root element and CustomizationID fit."""
    (tmp_path / "rules.yaml").write_text(
        'documents:\n  - {document: Invoice, customization: "urn:a*", rules: [one.xslt, two.xsd]}\n'
        "  - {document: [Invoice, Order], rules: three.xslt}\n"
    )
    found = load_rules(tmp_path)
    assert found.files_for("Invoice", "urn:abc") == ("one.xslt", "two.xsd")
    assert found.files_for("Invoice", "urn:b") == ("three.xslt",)
    assert found.files_for("Catalogue", "urn:a") == ()


@pytest.mark.parametrize(
    ("released", "due"),
    [("2026-05-18", (2026, 11)), ("2026-11-16", (2027, 5)), ("2026-02-01", (2026, 5)), ("2026-12-31", (2027, 5))],
)
def test_when_the_next_are_due(tmp_path: Path, released: str, due: tuple[int, int]) -> None:
    """Rules are published in May and November."""
    (tmp_path / "rules.yaml").write_text(OWN_LIST.replace("2026-05-18", released))
    assert load_rules(tmp_path).next_due == date(*due, 1)


def by_program(tmp_path: Path, script: str, *, seconds: float = PATIENCE) -> Validator:
    """A program as a validator, which runs this in Python; `path` is that of the document."""
    program = tmp_path / "program.py"
    program.write_text(f"import sys, os, time, subprocess\npath = sys.argv[-1]\n{script}")
    setting = Validation.model_validate(
        {"command": (sys.executable, str(program)), "timeout": f"{int(seconds * 1000)}ms"}
    )
    validator = validator_of(setting, tmp_path)
    assert validator is not None
    return validator


def test_a_program(tmp_path: Path) -> None:
    """It is given the document as its last argument; 0 is valid, 1 invalid, with its words."""
    validator = by_program(tmp_path, "if b'broken' in open(path, 'rb').read(): sys.exit(print('It is\\nbroken.') or 1)")
    assert said(validator, invoice()) == []
    assert said(validator, invoice(note="broken")) == ["It is broken."]
    assert list((tmp_path / "validating").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sys.exit(2)", "ended with status 2, which is neither 0 nor 1"),
        ("sys.exit(print('no licence') or 7)", "status 7, which is neither 0 nor 1: no licence"),
        pytest.param(
            "os.kill(os.getpid(), 9)",
            "was ended by signal 9",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals"),
        ),
    ],
)
def test_a_program_that_fails(tmp_path: Path, script: str, why: str) -> None:
    """Whatever else it ends with is no verdict."""
    with pytest.raises(NoVerdict, match=why):
        said(by_program(tmp_path, script), invoice())


def test_a_program_that_is_missing(tmp_path: Path) -> None:
    """Neither is a program that isn't there."""
    validator = validator_of(Validation(command=(str(tmp_path / "nothing"),)), tmp_path)
    assert validator is not None
    with pytest.raises(NoVerdict, match="can't be started"):
        said(validator, invoice())
    with pytest.raises(NoVerdict, match="isn't there"):
        validator.check()


@pytest.mark.skipif(sys.platform == "win32", reason="the processes are looked for in /proc")
def test_a_program_that_hangs(tmp_path: Path) -> None:
    """It is killed with all that it has started."""
    script = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\nchild.wait()"
    )
    begun = time.monotonic()
    said(by_program(tmp_path, ""), invoice())
    seconds = round(1 + 10 * (time.monotonic() - begun))  # in which it starts the other, on a busy machine, too
    with pytest.raises(NoVerdict, match=f"longer than {seconds} seconds"):
        said(by_program(tmp_path, script, seconds=seconds), invoice())
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + PATIENCE
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_on_a_share_that_hangs(tmp_path: Path) -> None:
    """While it can't be started because its share hangs, filedrop stops and reloads."""
    away = tmp_path / "away"
    validator = validator_of(Validation(command=(str(away / "program"),)), tmp_path)
    assert validator is not None
    with ThreadPoolExecutor() as pool:
        with foreign(away, "fuse", answers=False):
            findings = pool.submit(said, validator, invoice())
            while not any(thread.name == "program" for thread in threading.enumerate()):  # it is about to be started
                time.sleep(0.01)
            within(5, validator.close)
        with pytest.raises(NoVerdict):
            findings.result()


def wait_for(file: Path) -> None:
    """Wait until a program has made this file."""
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_that_a_stop_ends(tmp_path: Path) -> None:
    """What a stop or reload ends has no verdict; Windows says of it what a program says of an invalid document."""
    validator = by_program(tmp_path, f"open({str(tmp_path / 'begun')!r}, 'w').close()\ntime.sleep(1000)")
    with ThreadPoolExecutor() as pool:
        findings = pool.submit(said, validator, invoice())
        wait_for(tmp_path / "begun")
        validator.close()
        with pytest.raises(NoVerdict):
            findings.result(PATIENCE)


def test_what_a_kill_has_left(tmp_path: Path) -> None:
    """Copies of documents that a filedrop which was killed has left are cleared away at the start."""
    left = tmp_path / "validating" / "tmp123"
    left.mkdir(parents=True)
    (left / "document.xml").write_text("secret")
    with locked_state(tmp_path):
        assert not left.exists()


def test_a_changed_configuration(tmp_path: Path) -> None:
    """The validator of a changed configuration takes no copy from a program of the one before it."""
    wait = "while not os.path.exists('go'): time.sleep(0.01)"
    script = f"os.chdir({str(tmp_path)!r})\nopen('begun', 'w').close()\n{wait}\nopen(path).close()"
    validator = by_program(tmp_path, script)
    with ThreadPoolExecutor() as pool:
        findings = pool.submit(said, validator, invoice())
        wait_for(tmp_path / "begun")
        by_program(tmp_path, "")
        (tmp_path / "go").touch()
        assert findings.result(PATIENCE) == []
