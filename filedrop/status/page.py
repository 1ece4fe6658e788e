"""STATUS.html as bytes: the status and what happened lately, for people. Pure; everything in it is escaped.

It is one file, which needs nothing from the network. Its policy (Content-Security-Policy) lets a browser use the one
style and the one script that are in it, by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from markupsafe import Markup

from filedrop import __version__
from filedrop.config.values import duration
from filedrop.model.document import State
from filedrop.model.response import REJECTED, is_status
from filedrop.readable import in_language, meaning
from filedrop.status.company import as_seen
from filedrop.status.folders import ForAdministrators
from filedrop.status.matters import by_cause, unlisted, verdict
from filedrop.status.model import COUNTS, folders_of
from filedrop.status.reasons import shared_reasons
from filedrop.storage.names import REJECTED_NOTE
from filedrop.texts import guide
from filedrop.texts.form import kind
from filedrop.texts.languages import ENGLISH, SEPARATORS, counted, date, lasting, marked, translated
from filedrop.texts.printable import printable_sentence, size
from filedrop.times import moment

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from jinja2.runtime import Context, Macro

    from filedrop.process.guard import Guard
    from filedrop.status.lately import Lately
    from filedrop.status.model import Count, FolderStatus, Item, Matter, Status

OLD, COMPANY_OLD = 5, 20  # minutes after which the page, or a company's, warns: it is written more often (page_file)
LONGEST_REASON = 300  # letters of a reason; the note has all of it
_COUNTS: dict[Count, str] = {
    "waiting": marked("Waiting"), "sending": marked("Sending"), "doubt": marked("Doubt"), "sent": marked("Sent"),
    "overdue": marked("Overdue"), "failed": marked("Failed"),
    "unreachable": marked("To send another way"), "received": marked("Received"), "stuck": marked("Stuck"),
}  # fmt: skip
_UNDER_WAY: tuple[Count, ...] = ("waiting", "sending", "doubt", "sent", "unreachable")
_STATES = {  # of a document that the access point accepted
    State.SENT: marked("sent"), State.DELIVERED: marked("delivered"), State.FAILED: marked("failed"),
    State.DOUBT: marked("doubt"), State.SENDING: marked("sending"), State.WAITING: marked("waiting"),
    State.UNREACHABLE: marked("to be sent another way"), State.TAKEN: marked("taken"),
}  # fmt: skip
_NOTES = {"failed": ".why.txt", "unreachable": ".why.txt", "rejected": REJECTED_NOTE}  # by the kinds of matters
NOT_SHOWN = marked("filedrop can't show this now.")
_NOT_SHOWN = {  # in place of what a macro makes, by the end of its name: the thing's name, and the sentence
    "tr": '<tr><th scope="row">{}</th><td colspan="9">{}</td></tr>', "li": "<li>{}: {}</li>",
    "article": "<article><h3>{}</h3><p>{}</p></article>", "div": "<div><dt>{}</dt><dd>{}</dd></div>",
}  # fmt: skip
_TEMPLATES = Path(__file__).parent / "templates"
_LEVELS = {"well": "#1a7f4b", "person": "#b26a00", "away": "#c0362c"}  # the dot in the browser's tab
_STYLE = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
_SCRIPT = (_TEMPLATES / "page.js").read_text(encoding="utf-8")


def render(
    status: Status,
    lately: Lately,
    *,
    guard: Guard,
    place: Path,
    host: str,
    company: str,
    pages: Collection[str],
    readable: Mapping[tuple[str, str], Path],
    language: str = ENGLISH,
) -> bytes:
    """The page for all, or of this `company`, to lie in `place`; `pages`: companies with a page of their own below.

    What only the page for all shows has no other `language` than English.
    `readable` are the pages of received documents, by company and name of the document. A row that can't be shown says
    so, and `guard` has its trouble.
    """
    level = _level(status)
    kinds = lately.days._fields
    html = _PAGE.render(
        status=status,
        company=company,
        host=host,
        pages=pages,
        level=level,
        old=COMPANY_OLD if company else OLD,
        language=language,
        _=partial(translated, language=language),
        counted=partial(counted, language=language),
        unlisted=partial(unlisted, language=language),
        document=lambda happened: kind(f"{happened.type or ''} {happened.number or ''}", language),
        names=_COUNTS,
        states=_STATES,
        verdict=verdict(status, language),
        written=moment(status["written"]),
        needed=status["matters"] if company else by_cause(status),
        under_way=[reason for reason in shared_reasons(status["companies"], _UNDER_WAY) if reason.number],
        counts=[count for count in COUNTS if any(company[count] for company in status["companies"].values())],
        lately=lately,
        not_shown=translated(NOT_SHOWN, language),
        days=[dict(zip(kinds, numbers, strict=True)) for numbers in zip(*lately.days, strict=True)],
        highest=max(map(max, lately.days)),
        totals=dict(zip(kinds, map(sum, lately.days), strict=True)),
        disks=_disks(status, place, language),
        archives=_archives(status, language),
        rejections=REJECTED,
        row=partial(_row, guard, place / "STATUS.html", language),
        answer=lambda sent: _answer(sent.answer, language),
        page=lambda received: _link(readable.get((received.company, received.file)), place),
        note=lambda item, matter: _address_of_note(item, matter, place),
        guide=guide.in_html(language) if company else None,
        version=__version__,
        color=_LEVELS[level],
        style=Markup(_STYLE),  # noqa: S704 - ours
        script=Markup(_SCRIPT),  # noqa: S704 - ours
        policy=f"default-src 'none'; style-src '{_digest(_STYLE)}'; script-src '{_digest(_SCRIPT)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
    )
    return html.encode()


def without_content(company: str, now: datetime, language: str) -> bytes:
    """The page while nothing else can be shown."""
    return (
        Markup(
            '<!DOCTYPE html>\n<html lang="{}"><head><meta charset="utf-8"><meta http-equiv="refresh" content="60">'
            "<title>filedrop</title></head><body><h1>filedrop {}</h1><p>{}</p><p>{}</p></body></html>\n"
        )
        .format(language, company, translated(NOT_SHOWN, language), date(now, language))
        .encode()
    )


def _row(guard: Guard, page: Path, language: str, name: str, macro: Macro, *facts: object) -> Markup:
    """What a macro makes of facts about a thing with this `name`; an element that says so if it can't be shown."""
    element = _NOT_SHOWN[macro.name.rpartition("_")[2]]
    otherwise = Markup(element).format(name, translated(NOT_SHOWN, language))  # noqa: S704 - ours
    return guard.make(f"{page}: {name}", lambda: Markup(macro(*facts)), otherwise)  # noqa: S704 - the template escapes


def _archives(status: Status, language: str) -> dict[str, list[str]]:
    """For how long archives are kept, each with its companies; without those that are kept for ever."""
    archives: dict[str, list[str]] = {}
    for name, company in status["companies"].items():
        if company["keep_archive"] != "forever":
            archives.setdefault(lasting(duration(company["keep_archive"]), language), []).append(name)
    return archives


def _answer(code: str, language: str) -> str:
    """What a receiver's answer means, in a language; a code without a meaning as it is."""
    words = "process_condition" if is_status(code) else "response"
    return in_language(words, meaning(words, code) or code, language)


def _level(status: Status) -> str:
    kinds = {matter["kind"] for matter in status["matters"]}
    return "away" if kinds & {"account", "stopped", "journal"} else "person" if kinds else "well"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _address_of_note(item: Item, matter: Matter, place: Path) -> str:
    """The relative address of the note beside a document of a matter, "" where there is none."""
    end, has_failed = _NOTES.get(matter["kind"]), matter["kind"] == "failed"
    if not (end and item["path"]) or (has_failed and (not item["why"] or isinstance(item["why"], ForAdministrators))):
        return ""
    return _link(PurePath(f"{item['path']}{end}"), place)


def _link(path: PurePath | None, place: Path) -> str:
    """The relative address of a file, "" where it isn't below the page's folder: a browser may not find it there."""
    if path is None or not path.is_relative_to(place):
        return ""
    return "/".join(quote(os.fsencode(part), safe="") for part in path.relative_to(place).parts)


def _brief(why: str) -> str:
    """The first sentence of a reason, and not too much of that."""
    first = _sentence(re.split(r"(?<=[.!?])\s+(?=[A-Z])", why, maxsplit=1)[0])
    return first if len(first) <= LONGEST_REASON else f"{first[:LONGEST_REASON]}…"


def _sentence(text: str) -> str:
    """A text that begins as a sentence does, unless it begins with a name or a number."""
    return text[:1].upper() + text[1:] if re.match(r"(?!filedrop )[a-z]+('[a-z]+)?( |$)", text) else text


def _disks(status: Status, place: Path, language: str) -> list[tuple[str, list[str]]]:
    """How much room there is on each disk, and the folders there."""
    disks: dict[int, list[FolderStatus]] = {}
    for _, folder in folders_of(status):
        if folder["disk"] is not None:
            disks.setdefault(folder["disk"], []).append(folder)
    decimal = SEPARATORS[language][1]
    found = []
    for there in disks.values():
        free = there[0]["free"]
        shown = [as_seen(folder["path"], place) for folder in there]
        found.append(
            (
                translated("{size} free", language).format(size=size(free).replace(".", decimal))
                if free is not None
                else translated("Unknown", language),
                shown,
            )
        )
    return found


def _stop(text: str) -> str:
    """A text with a full stop, unless it ends with a command to be copied."""
    before, _, last = text.rpartition(": ")
    is_command = bool(before) and re.match(r"(sudo )?filedrop ", last)
    return text if text.endswith((".", ":")) or is_command else f"{text}."


@pass_context
def _time(context: Context, value: datetime | str | None, form: Literal["long", "short"] = "long") -> Markup | str:
    """A moment as people write it, here; the exact one is its title."""
    found = moment(value) if isinstance(value, str) else value
    if found is None:
        return ""
    exact = found.isoformat(timespec="seconds")
    shown = date(found, context["language"], "moment in a table" if form == "short" else "moment")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, shown)


@pass_context
def _day(context: Context, when: datetime) -> str:
    return date(when, context["language"], "day")


def _safe(value: Any) -> Any:
    """Texts of strangers without what isn't printable."""
    return printable_sentence(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_safe,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "brief": _brief, "time": _time, "sentence": _sentence, "stop": _stop, "day": _day,
}  # fmt: skip
_PAGE = _ENVIRONMENT.get_template("STATUS.html")
