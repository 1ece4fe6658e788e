"""The kinds of what needs attention, a row for each: its words for people, and how long an alert waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from filedrop.texts.languages import marked, plural

Kind = Literal[
    "stopped", "journal", "account", "folder", "trouble", "table", "decide", "failed", "rejected", "repeated", "owed",
    "unanswered", "unreachable", "stray", "incomplete", "late", "overdue", "stuck", "doubt", "alert",
]  # fmt: skip
Plural: TypeAlias = tuple[str, str]

_MINUTE = 60.0
A_MOMENT = _MINUTE  # for which an alert waits at least, since failures rarely come alone
_DOCUMENTS = plural("{number} document", "{number} documents")
_PROBLEMS = plural("{number} problem", "{number} problems")
_WAITS = marked("{administrator}; your files wait, nothing is lost")
_TRIES = marked("filedrop tries again by itself. {administrator}; your files wait, nothing is lost")
_COMPARE = marked(
    "compare each with the earlier one before you book or pay it. If you move it, it is no longer reported"
)
ANOTHER_WAY = marked("send each another way, as its note in not-on-peppol/ says, and then move the files away")
_ASK = marked("ask each receiver what became of the document")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOf:
    """What there is to say about a kind of matter, in English.

    `noun` counts its things in the verdict; None where only the verdict's own sentences mention it. `title` and
    `advice` are for a company's people, who run no commands: the title with a `{number}` of things and perhaps a
    `{time}`, or `short` for a matter without things, "" where the matter's own title is shown. `has_reasons`: why each
    document is one is for these people, too. `lately`: the title, behind a number, and the advice for an administrator,
    if it is something of the last days or months. `by_the_journal`: only the journal knows of it. `patience`: the
    seconds that an alert waits.
    """

    noun: Plural | None = None
    title: Plural | None = None
    short: str = ""
    advice: str = _WAITS
    patience: float = A_MOMENT
    has_reasons: bool = False
    lately: tuple[str, str] = ("", "")
    by_the_journal: bool = False


KINDS: dict[Kind, KindOf] = {
    "stopped": KindOf(short=marked("filedrop isn't running")),
    "journal": KindOf(
        short=marked("filedrop can't record what it sends, so it sends nothing"),
        patience=5 * _MINUTE,
    ),
    "account": KindOf(
        short=marked("filedrop can't log in to the access point"),
        advice=_TRIES,
        patience=15 * _MINUTE,
    ),
    "folder": KindOf(noun=plural("{number} folder", "{number} folders"), patience=5 * _MINUTE),
    "trouble": KindOf(noun=_PROBLEMS, patience=5 * _MINUTE),
    "table": KindOf(noun=plural("{number} table", "{number} tables")),
    "decide": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} to be decided by your administrator", "{number} to be decided by your administrator"),
        advice=marked(
            "filedrop can't find out whether the access point received it. Nothing is lost, and nothing is sent twice. "
            "{administrator}"
        ),
        by_the_journal=True,
    ),
    "failed": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} failed", "{number} failed"),
        advice=marked("read the note of each file, and do what it says"),
        has_reasons=True,
    ),
    "rejected": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} rejected by the receiver", "{number} rejected by the receiver"),
        advice=marked("read the note next to the document (.rejected.txt), and send a corrected document"),
        has_reasons=True,
        lately=(
            "rejected by the receiver",
            "read the note next to each document (.rejected.txt), and send a corrected document",
        ),
        by_the_journal=True,
    ),
    "repeated": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} received that may be a duplicate", "{number} received that may be duplicates"),
        advice=_COMPARE,
        has_reasons=True,
        lately=("received that may be a duplicate", _COMPARE),
        by_the_journal=True,
    ),
    "owed": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} received to be answered", "{number} received to be answered"),
        advice=marked("answer each sender, for example by an Invoice Response"),
        has_reasons=True,
        lately=(
            "received to be answered",
            "send each sender an Invoice Response, for example by moving (filedrop manual receive)",
        ),
        by_the_journal=True,
    ),
    "unanswered": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} not answered by the receiver", "{number} not answered by the receiver"),
        advice=_ASK,
        has_reasons=True,
        lately=("sent that the receiver hasn't answered", _ASK),
        by_the_journal=True,
    ),
    "unreachable": KindOf(
        noun=_DOCUMENTS,
        title=plural(
            "{number} to be sent another way for more than 7 days",
            "{number} to be sent another way for more than 7 days",
        ),
        advice=ANOTHER_WAY,
    ),
    "stray": KindOf(
        noun=plural("{number} file", "{number} files"),
        title=plural("{number} file that will never be sent", "{number} files that will never be sent"),
        advice=marked(
            "only XML documents with names like {names} are sent. If one of these is such a document, rename it, or "
            "move it into outbound/. Otherwise, move it away"
        ),
        has_reasons=True,
    ),
    "incomplete": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} waiting for a file that is missing", "{number} waiting for files that are missing"),
        advice=marked("write the file that each one waits for, or move the document out of outbound/"),
        has_reasons=True,
    ),
    "late": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} waiting for longer than {time}", "{number} waiting for longer than {time}"),
        advice=_TRIES,
        by_the_journal=True,
    ),
    "overdue": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} overdue", "{number} overdue"),
        advice=marked(
            "the access point accepted it, but hasn't delivered it yet. filedrop keeps checking. {administrator}"
        ),
        by_the_journal=True,
    ),
    "stuck": KindOf(
        noun=plural("{number} message", "{number} messages"),
        title=plural("{number} message can't be fetched", "{number} messages can't be fetched"),
        advice=marked("filedrop tries again by itself. {administrator}; nothing is lost"),
        by_the_journal=True,
    ),
    "doubt": KindOf(
        noun=_DOCUMENTS,
        title=plural("{number} in doubt for longer than {time}", "{number} in doubt for longer than {time}"),
        advice=marked(
            "filedrop doesn't know yet whether the access point received it, and keeps looking. Nothing is lost, and "
            "nothing is sent twice"
        ),
        by_the_journal=True,
    ),
    "alert": KindOf(noun=_PROBLEMS),
}
"""Each kind, the most urgent first."""
