"""What is written to people: a subject, and sections as plain text and as HTML."""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from filedrop.model.report import LISTED
from filedrop.status.matters import heading, line_of, unlisted
from filedrop.texts.languages import ENGLISH, counted, date, translated
from filedrop.texts.printable import printable_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from filedrop.alerts.bundling import News, Notice
    from filedrop.status.model import Item

LONGEST_SUBJECT = 150  # letters: longer ones are cut by those who show them
LONGEST_LINE = 1000  # letters of a line, which a stranger may have written
_PAGE = (
    '<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
    '<body style="font-family: sans-serif; max-width: 50em">{body}</body></html>\n'
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, what to do about it, and lines below it."""

    heading: str
    advice: str = ""
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What a letter says: its subject, and its text twice."""

    subject: str
    plain: str
    html: str


def notice(said: Notice, language: str = ENGLISH) -> Content:
    """The letter about what needs attention, or that nothing does any more."""
    over = [Section(translated("Resolved", language), lines=said.over)] if said.over else []
    if not said.news:
        return _text(translated("everything is working again", language), over, language)
    news = [Section(_headed(news, language), news.matter["advice"], _lines(news, language)) for news in said.news]
    before = translated("Not resolved yet, reported before", language)
    still = [Section(before, lines=[heading(matter) for matter in said.still])] if said.still else []
    headings = "; ".join(_headed(news, language) for news in said.news)
    return _text(headings, [*news, *still, *over], language)


def _headed(news: News, language: str) -> str:
    """Its heading, and how many of it are new to those who know the rest."""
    if news.told is None or not news.matter["items"]:
        return heading(news.matter)
    grown = news.matter["number"] - news.told.number  # more than are listed; less, where others have gone meanwhile
    number = max(grown, sum(_is_new(item, news) for item in news.matter["items"]))
    form = translated("{heading}, {number} of them new", language)
    return form.format(heading=heading(news.matter), number=number)


def _lines(news: News, language: str) -> list[str]:
    new = translated("new: {line}", language)
    lines = [new.format(line=line_of(item)) if _is_new(item, news) else line_of(item) for item in news.matter["items"]]
    return [*lines, *([more] if (more := unlisted(news.matter, language)) else [])]


def _is_new(item: Item, news: News) -> bool:
    return news.told is not None and item["order"] > news.told.newest


def digest(
    figures: Mapping[str, Mapping[str, int]],
    failed: Mapping[str, Sequence[str]],
    *,
    since: datetime,
    until: datetime,
    language: str = ENGLISH,
) -> Content:
    """The letter of a day: by company, each figure with its name, and the names of the documents that have `failed`."""
    sums = Counter[str]()
    for numbers in figures.values():
        sums.update(numbers)
    sections = [
        Section(
            company,
            lines=[
                *(_line(translated(name, language), str(number), language) for name, number in numbers.items()),
                *_failed(failed[company], language),
            ],
        )
        for company, numbers in figures.items()
    ]
    all_of_it = ", ".join(f"{number} {translated(name, language)}" for name, number in sums.items())
    between = translated("Between {since} and {until}", language)
    between = between.format(since=date(since, language), until=date(until, language))
    return _text(all_of_it, [Section(between), *sections], language)


def _failed(names: Sequence[str], language: str) -> list[str]:
    more = len(names) - LISTED
    shown = [
        *names[:LISTED],
        *([counted(more, "and {number} more", "and {number} more", language)] if more > 0 else []),
    ]
    return [_line(translated("failed", language), name, language) for name in shown]


def _line(label: str, value: str, language: str) -> str:
    return translated("{label}: {value}", language).format(label=label, value=value)


def trial() -> Content:
    """The letter by which somebody tries whether letters arrive."""
    return _text("a test", [Section("This is a test, sent by `filedrop check --alert`. Nothing is wrong.")])


def _text(news: str, sections: Sequence[Section], language: str = ENGLISH) -> Content:
    """The letter with this news in its subject, which says first from which computer it comes."""
    begins = translated("filedrop on {host}: {news}", language)
    subject = _cut(begins.format(host=socket.gethostname(), news=news), LONGEST_SUBJECT)
    sections = [
        Section(_cut(section.heading), _cut(section.advice), [_cut(line) for line in section.lines])
        for section in sections
    ]
    return Content(
        subject, _plain(sections), _PAGE.format(language=language, title=escape(subject), body=_html(sections))
    )


def _cut(text: str, longest: int = LONGEST_LINE) -> str:
    text = printable_sentence(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _plain(sections: Sequence[Section]) -> str:
    parts = list[str]()
    for section in sections:
        advice = [f"({section.advice})"] if section.advice else []
        parts += [section.heading, *advice, *(f"- {line}" for line in section.lines), ""]
    return "\n".join(parts)


def _html(sections: Sequence[Section]) -> str:
    parts = []
    for section in sections:
        parts.append(f'<h2 style="font-size: 1.1em">{escape(section.heading)}</h2>')
        if section.advice:
            parts.append(f"<p>{escape(section.advice)}</p>")
        if section.lines:
            parts.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in section.lines)}</ul>")
    return "".join(parts)
