"""The child process that judges documents by rules.

Of its own, because compiled rules take 200 MB and a second, and because what a stranger's rules do to it, or a document
to them, ends it and nothing else.

It also finds where in a document a finding is: by the XPath of a Schematron report, or by the values that an error
quotes.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from filedrop.config.rules import load_rules
from filedrop.errors import ConfigError, NoVerdict
from filedrop.identify.content import business_document
from filedrop.programs.child import answer_questions
from filedrop.texts.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from lxml.etree import _Element

    from filedrop.config.rules import RuleList

FINDINGS_KEPT = 50  # findings of each document
LONGEST_SENTENCE = 1000  # characters of a sentence
STDERR = 2  # the descriptor
_SVRL = "{http://purl.oclc.org/dsdl/svrl}"
_WARNS = frozenset({"warning", "warn", "information", "info", "caution"})  # flags, or roles, that don't forbid
_ALLOWED = "http://saxon.sf.net/feature/allowedProtocols"
_CODE = re.compile(r"^\s+([A-Z]{4}\d{4})\s", re.MULTILINE)
_LINE = re.compile(r"\son line (\d+)\s")
# Errors of types and values, by the codes of XPath and XSLT: what stands in the document isn't what the rules expect.
_OF_CONTENT = ("XPTY", "XPDY0050", "XTTE", "FORG", "FOAR", "FOCA", "FODT", "FOTY", "FOCH")
_INSTALL = "saxonche isn't installed: filedrop manual send shows how to install it"

_URI = re.compile(r"\{[^}]*\}")
_NAMESPACE = re.compile(r"""\[namespace-uri\(\)=(?:'[^']*'|"[^"]*")\]""")
_ANY = re.compile(r"(@?)\*:([\w.-]+)")
_QUOTED = re.compile(r'"(.*?)"')
_LOCAL_NAME = re.compile(r"""\*\[local-name\(\)=(?:'([^']*)'|"([^"]*)")\]""")
LONGEST_XPATH = 300  # characters of an XPath


try:
    import saxonche
except ModuleNotFoundError:
    saxonche = None


class ErrorOutput:
    """What saxonche prints on stderr: an error's code and its line in the rules (tests/findings/saxonche-error.sh).

    A context in which stderr leads there. Else it is the parent's, which reads this process's last words.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the process
        self._parents = os.dup(STDERR)

    def __enter__(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        os.dup2(self._file.fileno(), STDERR)

    def __exit__(self, *_error: object) -> None:
        os.dup2(self._parents, STDERR)

    def code_and_line(self) -> tuple[str, str]:
        """The code of the error that was printed, and its line in the rules; each "" where it isn't known."""
        self._file.seek(0)
        printed = self._file.read(LONGEST_SENTENCE).decode("utf-8", "replace")
        code, line = _CODE.search(printed), _LINE.search(printed)
        return code[1] if code else "", line[1] if line else ""


class RuleResult(NamedTuple):
    """The findings of rules. `passed`: the files that were applied to the end.

    `error` is the error of content at which a file broke off: `rules` (the file), `where` (in it) and `said`.
    """

    findings: list[dict[str, Any]]
    passed: list[str]
    error: dict[str, str] | None = None


class CompiledRules:
    """The rules in a folder, compiled when first needed and again after a change. Raises NoVerdict, ConfigError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Path, tuple[object, Any]] = {}
        self._saxon: Any = None
        self._error_output: ErrorOutput | None = None

    def files(self, root: str, customization: str) -> tuple[str, ...]:
        """The files with rules for such a document, in order."""
        return self._rules().files_for(root, customization)

    def compile_all(self) -> None:
        """Compile every file."""
        for name in sorted({name for rule_set in self._rules().documents for name in rule_set.rules}):
            self._ready(name, self._compile)

    def judge(self, names: Sequence[str], content: bytes, exceptions: Collection[str]) -> RuleResult:
        """What the rules in these files say, but for the rules with these ids.

        Those after a schema that the document doesn't keep aren't asked, nor those after an error of its content.
        """
        tree = etree.parse(BytesIO(content), _parser())
        document = business_document(tree.getroot())
        whole = document is tree.getroot()
        text = content.decode() if whole else etree.tostring(document, encoding="unicode", with_tail=False)
        node, result = None, RuleResult([], [])
        for name in names:
            compiled = self._ready(name, self._compile)
            if isinstance(compiled, etree.XMLSchema):
                breaches = _breaches(compiled, document, whole=whole)
                found = [breach for breach in breaches if breach["rule"] not in exceptions]
                result.findings.extend(found)
                if found:
                    return result
            else:
                try:
                    node = node or self._saxon.parse_xml(xml_text=text)
                    report = self._applied(name, compiled, node)
                except ContentError as error:
                    return result._replace(findings=[*result.findings, _of_content(error, document)], error=error.facts)
                reported = _reported(_report(report, name), document)
                result.findings.extend(finding for finding in reported if finding["rule"] not in exceptions)
            result.passed.append(name)
        return result

    def _applied(self, name: str, compiled: Any, node: Any) -> str:
        """The report that rules make of a document. Raises ContentError, NoVerdict."""
        if self._error_output is None:
            self._error_output = ErrorOutput()
        try:
            with self._error_output:
                return str(compiled.transform_to_string(xdm_node=node))
        except saxonche.PySaxonApiError as error:
            said, (code, line) = one_line(error, LONGEST_SENTENCE), self._error_output.code_and_line()
            if code.startswith(_OF_CONTENT) or not code:
                raise ContentError(name, said, code, line) from None
            raise NoVerdict(f"{name} could not be applied: {said} ({code}, line {line})") from None

    def _rules(self) -> RuleList:
        rules: RuleList = self._ready("rules.yaml", lambda _: load_rules(self._folder))
        return rules

    def _ready(self, name: str, make: Callable[[Path], Any]) -> Any:
        """What was made of a file, as long as that stays as it was."""
        path = self._folder / name
        stamp = _stamp(path)
        if path not in self._made or self._made[path][0] != stamp:
            self._made[path] = stamp, make(path)
        return self._made[path][1]

    def _compile(self, path: Path) -> Any:
        if path.suffix.lower() == ".xsd":
            try:
                return etree.XMLSchema(etree.parse(path, _parser()))
            except (etree.LxmlError, OSError) as error:
                raise NoVerdict(f"{path} is no schema that can be used: {one_line(error, LONGEST_SENTENCE)}") from None
        if saxonche is None:
            raise NoVerdict(_INSTALL)
        try:
            if self._saxon is None:
                self._saxon = saxonche.PySaxonProcessor(license=False)
                self._saxon.set_configuration_property(_ALLOWED, "file")
            return self._saxon.new_xslt30_processor().compile_stylesheet(stylesheet_file=str(path))
        except saxonche.PySaxonApiError as error:
            raise NoVerdict(f"{path} is no stylesheet that can be used: {one_line(error, LONGEST_SENTENCE)}") from None


class ContentError(Exception):
    """The content of a document ends the rules with an error, whose `facts` are those of `RuleResult.error`."""

    def __init__(self, name: str, said: str, code: str, line: str) -> None:
        super().__init__(said)
        where = f"{code} in line {line}" if code else without_values(said)
        self.facts = {"rules": name, "said": said, "where": where}


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as error:
        raise NoVerdict(f"{path} can't be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _parser() -> etree.XMLParser:
    # huge_tree: for attachments of more than 7.5 MB (tests/findings/lxml-attachment.sh).
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)


def _breaches(schema: etree.XMLSchema, document: _Element, *, whole: bool) -> Iterator[dict[str, Any]]:
    """What a schema says of a document. In an envelope, the document is taken out, and lines count from its own."""
    offset = 0 if whole else _line(document) - 1
    alone = document if whole else etree.fromstring(etree.tostring(document, with_tail=False), _parser())
    if schema.validate(alone):
        return
    for entry in iter(schema.error_log):  # type: ignore[call-overload] # the stubs have it as a class without
        yield _finding("XSD", entry.message, is_fatal=True, xpath=readable(entry.path or ""), line=entry.line + offset)


def _line(element: _Element) -> int:
    return int(getattr(element, "sourceline", None) or 1)


def _report(made: str, name: str) -> _Element:
    """The report of a compiled Schematron (SVRL, ISO/IEC 19757-3 annex D). Raises NoVerdict where it has made none."""
    try:
        report = etree.fromstring(made.encode(), _parser())
    except etree.XMLSyntaxError:
        report = None
    if report is None or report.tag != f"{_SVRL}schematron-output":
        raise NoVerdict(f"{name} is no compiled Schematron: what it makes of a document is no report (SVRL)")
    return report


def _reported(report: _Element, document: _Element) -> Iterator[dict[str, Any]]:
    """The failed assertions and the reports in a report."""
    for element in report.iter(f"{_SVRL}failed-assert", f"{_SVRL}successful-report"):
        location, rule = element.get("location") or "", element.get("id") or ""
        said = " ".join(str(element.xpath("string(*[local-name()='text'])")).split())
        flag = (element.get("flag") or element.get("role") or "fatal").lower()
        yield _finding(
            rule,
            said.removeprefix(f"[{rule}]").lstrip(" -"),
            is_fatal=flag not in _WARNS,
            xpath=readable(location),
            line=line_of(location, document),
        )


def _of_content(error: ContentError, document: _Element) -> dict[str, Any]:
    """The finding that something in the document isn't what the rules expect: they break off there."""
    values = quoted(error.facts["said"])
    if len(values) > 1:
        what = "there is more than one value where only one belongs"
    else:
        what = f'"{values[0]}" is not a value that belongs here' if values else "the content has the wrong type"
    xpath, line = location_of(values, document)
    said = f"{what}; {error.facts['rules']} ends with: {error.facts['said']}"
    return _finding("", said, is_fatal=True, xpath=xpath, line=line)


def _finding(rule: str, message: str, *, is_fatal: bool, xpath: str, line: int | None) -> dict[str, Any]:
    return {"rule": rule, "message": message[:LONGEST_SENTENCE], "is_fatal": is_fatal, "xpath": xpath, "line": line}


def _answer(rules: CompiledRules, asked: dict[str, Any], content: bytes) -> dict[str, Any]:
    try:
        if asked["check"]:
            rules.compile_all()
            return {}
        names = rules.files(asked["root"], asked["customization"])
        result = rules.judge(names, content, asked["exceptions"]) if names else RuleResult([], [])
    except NoVerdict as error:
        return {"trouble": str(error)}
    except ConfigError as error:
        return {"trouble": "; ".join(error.complaints)}
    except etree.LxmlError as error:
        return {"trouble": f"it can't be read: {one_line(error, LONGEST_SENTENCE)}"}
    # First what forbids, else in the order of the rules.
    found = sorted(result.findings, key=lambda finding: not finding["is_fatal"])
    answer = {
        "rules": names,
        "findings": found[:FINDINGS_KEPT],
        "more": max(0, len(found) - FINDINGS_KEPT),
        "passed": result.passed,
    }
    digest = hashlib.sha256(content).hexdigest()
    return answer | {"error": result.error and result.error | {"document": digest}}


def readable(location: str) -> str:
    """An XPath without namespaces and `[1]`: /Invoice/InvoiceLine[2]/Price."""
    bare = _LOCAL_NAME.sub(r"\1\2", _NAMESPACE.sub("", location))
    return _ANY.sub(r"\1\2", bare).replace("[1]", "")[:LONGEST_XPATH]


def line_of(location: str, document: _Element) -> int | None:
    """The line of the element that an XPath leads to, or that has the attribute; None where that can't be told.

    `document` is the root of the business document, to which the XPath is absolute.
    """
    # XPath 1.0 has no *:name.
    steps = _ANY.sub(r"\1*[local-name()='\2']", location).lstrip("/")
    above = document.getparent()
    try:
        found = (document.getroottree() if above is None else above).xpath(f"/{steps}" if above is None else steps)
    except etree.XPathError:
        return None
    if not isinstance(found, list) or not found:
        return None
    place: Any = found[0]
    element = place.getparent() if hasattr(place, "is_attribute") else place
    return getattr(element, "sourceline", None)


def quoted(said: str) -> list[str]:
    """The values that an error of Saxon quotes. Long ones are shortened in the middle."""
    return _QUOTED.findall(said)


def without_values(said: str) -> str:
    """The same error without the values that it quotes."""
    return _QUOTED.sub('""', said)


def location_of(values: Sequence[str], document: _Element) -> tuple[str, int | None]:
    """The path and the line of the element with the first of these values; "" and None where there is none.

    Several values are too many: then it is the second of two elements that stand beside each other and contain them.
    """
    found = [element for element in document.iter(etree.Element) if _says(element, values[0])] if values else []
    if not found:
        return "", None
    place = found[0]
    if len(values) > 1:
        repeated = [again for element in found for again in _repetitions(element, values[1], document)]
        place = max(repeated, key=lambda element: sum(1 for _ in element.iterancestors()), default=place)
    path = _URI.sub("", etree.ElementTree(document).getelementpath(place))
    return f"/{etree.QName(document).localname}/{path}".removesuffix("/."), getattr(place, "sourceline", None)


def _says(element: _Element, value: str) -> bool:
    """Whether this is the text of an element without children."""
    begins, _, ends = value.partition(" ... ")
    text = (element.text or "").strip()
    return not len(element) and (text == value if not ends else text.startswith(begins) and text.endswith(ends))


def _repetitions(element: _Element, value: str, document: _Element) -> Iterator[_Element]:
    """The elements after this one, or after one that contains it, that have its name and the other value."""
    above: _Element | None = element
    while above is not None and above is not document:
        for again in above.itersiblings(above.tag):
            if any(_says(inner, value) for inner in again.iter(element.tag)):
                yield again
                break
        above = above.getparent()


def main() -> None:
    """Judge documents until stdin ends. Arguments: the most memory, in bytes (`answer_questions`), and the folder."""
    rules = CompiledRules(Path(sys.argv[2]))
    answer_questions(lambda asked, document: _answer(rules, asked, document.read()))


if __name__ == "__main__":
    main()
