"""What people and programs are shown in each of many situations, in each language, is what was recorded.

A refactoring changes none of it. `golden/SITUATION.txt` has what the English company's people and the administrator
read, and of all else a digest. To see what differs, write everything into two folders, and compare these:

    FILEDROP_GOLDEN=/tmp/before .venv/bin/pytest tests/status/test_golden.py     at the commit before
    FILEDROP_GOLDEN=/tmp/after .venv/bin/pytest tests/status/test_golden.py      at this commit
    diff -r /tmp/before /tmp/after

If the difference is meant, record it: FILEDROP_GOLDEN=record .venv/bin/pytest tests/status/test_golden.py
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import socket
import time
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.situations import NOW, SITUATIONS, scene
from support.systems import WINDOWS

from filedrop import __version__
from filedrop.alerts import digest, letters
from filedrop.alerts.bundling import Known, News, Notice
from filedrop.cli import status as command
from filedrop.process.guard import Guard
from filedrop.status import lately, page, survey
from filedrop.status.company import of_company
from filedrop.status.matters import heading, key_of
from filedrop.status.survey import Survey
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.situations import Scene

    from filedrop.status.model import Matter

pytestmark = pytest.mark.skipif(WINDOWS, reason="paths and reasons of the system are written as on Linux")
GOLDEN = Path(__file__).parent / "golden"
WANTED = os.environ.get("FILEDROP_GOLDEN", "")  # `record`, or the folder for everything
READ = ("all.status", "all.check", "en.letter")  # are recorded in full, all else by its digest
OTHERS = re.compile(  # what is different elsewhere, or no text
    r'(<section aria-labelledby="disk">).*?</section>|("disk": |"free": )\d+|(only )[\d.]+ \wB'
    "|<style>.*?</style>|<script>.*?</script>|<meta http-equiv=.*?>"
    '|<details class="guide">.*?</details>\n',  # the manual's (test_guide)
    re.DOTALL,
)
LONGEST = 150  # lines of a text that is recorded in full


class Now(datetime):
    """The moment of the situations, whenever that is."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # noqa: ARG003 - as datetime's
        return NOW


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same time zone and host for everybody."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        monkeypatch.setattr(socket, "gethostname", lambda: "golden")
        monkeypatch.setattr(command, "datetime", Now)
        monkeypatch.setattr(survey, "start_command", lambda _path: "filedrop run")  # as where no service is installed
        yield
    time.tzset()


@pytest.mark.parametrize("name", SITUATIONS)
def test_golden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, page, alerts and digest are as they were recorded, in each language."""
    with scene(tmp_path) as here:
        SITUATIONS[name](here, monkeypatch)
        try:
            shown = {kind: _same(text, tmp_path) for kind, text in outcomes(here)}
        finally:
            getattr(here, "end", lambda: None)()
    said = recorded(shown)
    file = GOLDEN / f"{name}.txt"
    if WANTED == "record":
        file.write_text(said, encoding="utf-8")
    elif WANTED:
        for kind, text in shown.items():
            (Path(WANTED) / name).mkdir(parents=True, exist_ok=True)
            (Path(WANTED) / name / kind).write_text(text, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8"), "see this module's docstring"


def outcomes(here: Scene) -> Iterator[tuple[str, str]]:
    """Everything that is shown in a situation, each with its name."""
    looked = Survey(here.config, here.journal if here.has_journal else None)
    status = looked.look(here.daemon_part, running=here.is_running, now=here.now)
    yield "all.json", json.dumps(status, indent=1)
    with redirect_stdout(io.StringIO()) as printed:
        command._show(status)
    yield "all.status", printed.getvalue()
    yield "all.check", " -> ".join(map(str, command.checked(status, NOW)))
    yield "all.letter", "\n".join(letters_about(status["matters"], "en"))
    reported = {key_of(matter) for matter in status["matters"][::2]}
    happened = {name: lately.gather(here.journal, name, NOW) for name in here.config.companies}
    for name in ("", *here.config.companies):
        company = here.config.companies.get(name)
        said = of_company(status, company, here.config, reported) if company else status
        language = company.language if company else "en"
        yield f"{name or 'all'}.page", page.render(
            said, happened[name] if name else lately.of_all(list(happened.values())), guard=Guard(),
            place=here.root / name, host="golden", company=name, pages=[] if name else ["en"], readable={},
            language=language,
        ).decode()  # fmt: skip
        if company:
            first, later = letters_about([matter for matter in said["matters"] if matter["company"] == name], language)
            yield f"{name}.letter", first
            yield f"{name}.later", later
            yield f"{name}.digest", daily(here, name, language)


def letters_about(matters: list[Matter], language: str) -> tuple[str, str]:
    """The letter that reports these first; and those that report what is new of them, and that all is over."""
    grown = [
        News(matter, Known(heading(matter), 0.0, told=1.0, number=1, newest=matter["newest"] - 0.5))
        for matter in matters
    ]
    over = tuple(map(heading, matters[:1]))
    notices = (
        Notice(tuple(map(News, matters)), (), ()),
        Notice(tuple(grown), tuple(matters[:1]), over),
        Notice((), (), over),
    )
    first, *later = (letters.notice(notice, language) for notice in notices)
    return f"{first.subject}\n{first.plain}", "\n".join(f"{text.subject}\n{text.html}" for text in later)


def daily(here: Scene, company: str, language: str) -> str:
    """The digest of a company."""
    since = NOW - timedelta(days=4)
    totals = digest.totals(here.journal.totals.events(), [company])
    failed = {company: here.journal.lately.failed_since(company, since)}
    figures = digest.figures({company: totals[company]}, {}, failed, here.journal.totals.under_way())
    text = letters.digest(figures, failed, since=since, until=NOW, language=language)
    return f"{text.subject}\n{text.plain}\n{text.html}"


def _same(text: str, base: Path) -> str:
    """The text without what differs between two runs: the folder, the disk and the version."""
    return OTHERS.sub(r"\1\2\3", text.replace(str(base), "")).replace(f"filedrop {__version__}", "filedrop")


def recorded(shown: dict[str, str]) -> str:
    """What is recorded of a situation: what a person reads of the English company, and digests of all else."""
    digests: dict[str, list[str]] = {}
    for kind, text in shown.items():
        whose, _, what = kind.rpartition(".")
        digests.setdefault(whose, []).append(f"{what} {hashlib.sha256(text.encode()).hexdigest()[:10]}")
    lines = [" ".join([whose, *said]) for whose, said in digests.items()]
    others = tuple(f"{language}{end}" for language in LANGUAGES if language != "en" for end in (":", " "))
    for kind in READ:
        read = [line for line in shown.get(kind, "").splitlines() if not line.startswith(others)]
        lines += ["", f"--- {kind}", *read] if 0 < len(read) <= LONGEST else []
    return "\n".join([*lines, ""])
