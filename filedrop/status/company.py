"""A company's part of the status, in the words and the language of its people (contract 10).

They run no commands: nothing here has a command, a key of the configuration or an XPath. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from filedrop.status import rejections, repeated
from filedrop.status.folders import WITHOUT_SIDECAR
from filedrop.status.matters import AWAY, key_of
from filedrop.texts.languages import ENGLISH, counted, lasting, marked, plural, translated
from filedrop.texts.translation import translation

if TYPE_CHECKING:
    from collections.abc import Container

    from filedrop.config import Company, Config
    from filedrop.status.matters import Key
    from filedrop.status.model import AccountStatus, CompanyStatus, Count, DocumentStatus, Item, Kind, Matter, Status

_ASK = marked("Tell your administrator")
_TOLD = marked("Your administrator has been told")
_WAITS = marked("{administrator}; your files wait, nothing is lost")
_TRIES = marked("filedrop tries again by itself. {administrator}; your files wait, nothing is lost")
_FOLDERS = {"full": marked("{folder} is nearly full"), "warning": marked("{folder} has a problem")}  # by what is wrong
_UNUSABLE = marked("{folder} can't be used")  # whatever else is wrong
_ADVICE: dict[Kind, str] = {
    "account": _TRIES,
    "decide": marked(
        "filedrop can't find out whether the access point received it. Nothing is lost, and nothing is sent twice. "
        "{administrator}"
    ),
    "doubt": marked(
        "filedrop doesn't know yet whether the access point received it, and keeps looking. Nothing is lost, and "
        "nothing is sent twice"
    ),
    "failed": marked("read the note of each file, and do what it says"),
    "rejected": marked("read the receiver's response in inbound/, and send a corrected document"),
    "repeated": marked(
        "compare each with the earlier one before you book or pay it. If you move it, it is no longer reported"
    ),
    "owed": marked("answer each sender, for example by an Invoice Response"),
    "unanswered": marked("ask each receiver what became of the document"),
    "stray": marked(
        "only XML documents with names like {names} are sent. If one of these is such a document, rename it, or "
        "move it into outbound/. Otherwise, move it away"
    ),
    "late": _TRIES,
    "overdue": marked(
        "the access point accepted it, but hasn't delivered it yet. filedrop keeps checking. {administrator}"
    ),
    "stuck": marked("filedrop tries again by itself. {administrator}; nothing is lost"),
}
_TITLES: dict[Kind, tuple[str, str]] = {
    "decide": plural("{number} to be decided by your administrator", "{number} to be decided by your administrator"),
    "failed": plural("{number} failed", "{number} failed"),
    "rejected": plural("{number} rejected by the receiver", "{number} rejected by the receiver"),
    "repeated": plural("{number} received that may be a duplicate", "{number} received that may be duplicates"),
    "owed": plural("{number} received to be answered", "{number} received to be answered"),
    "unanswered": plural("{number} not answered by the receiver", "{number} not answered by the receiver"),
    "stray": plural("{number} file that will never be sent", "{number} files that will never be sent"),
    "late": plural("{number} waiting for longer than {time}", "{number} waiting for longer than {time}"),
    "overdue": plural("{number} overdue", "{number} overdue"),
    "stuck": plural("{number} message can't be fetched", "{number} messages can't be fetched"),
    "doubt": plural("{number} in doubt for longer than {time}", "{number} in doubt for longer than {time}"),
}
_SHORT_TITLES: dict[Kind, str] = {
    "stopped": marked("filedrop isn't running"),
    "journal": marked("filedrop can't record what it sends, so it sends nothing"),
    "account": marked("filedrop can't log in to the access point"),
}
# Kinds whose items have reasons for these people.
_WITH_REASONS = ("failed", "rejected", "repeated", "owed", "unanswered", "stray")
_IN_NOTE = marked("its note says what is wrong.")
_MESSAGE, _STUCK = re.compile(r"\(message (\d+)\)"), re.compile(r"message (\d+) from (.*)")


def of_company(status: Status, company: Company, config: Config, reported: Container[Key]) -> Status:
    """The part of a status that is about one company, with nothing of the others.

    `reported`: the matters that an alert has reported to the administrator.
    """
    mine: AccountStatus = {
        **status["accounts"][company.account], "unread": None, "for_nobody": None, "nobodys": [],
        "lists": [], "left_behind": [], "surplus": [], "fetched": "", "why": "",
    }  # fmt: skip
    matters = [
        matter
        for matter in status["matters"]
        if matter["company"] == company.name
        or matter["kind"] in ("stopped", "journal")
        or (matter["kind"] == "account" and matter["about"] == company.account)
    ]
    return {
        **status,
        "companies": {
            company.name: _counts(status["companies"][company.name], company.language, is_running=status["running"])
        },
        "accounts": {company.account: mine},
        "tables": [],
        "alerts": [],
        "troubles": {},
        "journal": "",
        "unassigned": None,
        "matters": [in_plain_words(matter, company, config, reported) for matter in matters],
    }


def in_plain_words(matter: Matter, company: Company, config: Config, reported: Container[Key]) -> Matter:
    """A matter for the company's people, in their language: what is wrong, and what they can do."""
    kind, language = matter["kind"], company.language
    items = [_item(item, kind, language) for item in matter["items"]]
    advice = _ADVICE.get(kind, _WAITS)
    administrator = translated(_TOLD if key_of(matter) in reported else _ASK, language)
    advice = translated(advice, language).format(administrator=administrator, names=", ".join(config.outbound.files))
    return {**matter, "title": _title(matter, config, language), "advice": advice, "items": items}


def _item(item: Item, kind: Kind, language: str) -> Item:
    """An item without what is an administrator's. In another language, the note may have the reason of what failed."""
    why = item["why"] if kind in _WITH_REASONS and item["why"] != WITHOUT_SIDECAR else ""
    if kind == "failed" and language != ENGLISH and why:
        why = translation(why, language) or _IN_NOTE
    known, name = item["known"], item["name"]
    if found := _MESSAGE.fullmatch(known):
        known = translated("(message {number})", language).format(number=found[1])
    if kind == "repeated":
        why = repeated.in_words(why, language)
    if kind == "rejected":
        why = rejections.in_words(why, language)
    if kind == "stuck" and (found := _STUCK.fullmatch(name)):
        name = translated("message {number} from {sender}", language).format(number=found[1], sender=found[2])
    return {**item, "do": [], "why": translated(why, language), "known": known, "name": name}


def _title(matter: Matter, config: Config, language: str) -> str:
    kind, what = matter["kind"], matter["what"]
    if title := _TITLES.get(kind):
        time = lasting(config.outbound.doubt if kind == "doubt" else config.outbound.overdue, language)
        return counted(matter["number"], *title, language, time=time)
    if kind == "folder":
        return translated(_FOLDERS.get(what, _UNUSABLE), language).format(folder=matter["about"])
    if kind == "account" and what in (AWAY, "unknown"):
        return translated("the access point can't be reached", language)
    return translated(_SHORT_TITLES.get(kind, matter["title"]), language)


def _counts(company: CompanyStatus, language: str, *, is_running: bool | None) -> CompanyStatus:
    """The counts with their reasons in plain words."""
    documents = [_document(document, language) for document in company["documents"]]
    reasons: dict[Count, str] = {
        "waiting": _waiting(company, is_running=is_running),
        "sending": marked("filedrop continues with them when it runs again")
        if is_running is False
        else marked("being sent now, or waiting to be moved"),
        "doubt": marked(
            "filedrop doesn't know yet whether the access point received them. It looks for them there. Nothing is "
            "lost, and nothing is sent twice"
        ),
        "sent": marked("accepted by the access point, not delivered yet; filedrop keeps checking"),
    }
    reasons = {count: translated(reason, language) for count, reason in reasons.items()}
    if company["held"]:
        reasons["waiting"] = _held(company, language)
    return {**company, "why": "", "documents": documents, "reasons": company["reasons"] | reasons}


def _held(company: CompanyStatus, language: str) -> str:
    """Why nothing is sent from a folder with a HOLD file; its name and its folder are in the English sentence."""
    if language == ENGLISH:
        return company["why"]
    return translated(
        "Sending is on hold, because of a HOLD file. filedrop sends nothing until you delete it.", language
    )


def _waiting(company: CompanyStatus, *, is_running: bool | None) -> str:
    if is_running is False:
        return marked("filedrop sends them when it runs again")
    if company["why"]:
        return marked("filedrop can't send them now. It sends them as soon as it can; nothing is lost")
    return marked("filedrop sends them when they are ready and it is their turn")


def _document(document: DocumentStatus, language: str) -> DocumentStatus:
    """A document without the reasons that are an administrator's: of a doubt, or of an attempt to send it."""
    is_dropped, why = document["id"] is None, document["why"]
    return {**document, "why": translated(why, language) if is_dropped or document["state"] == "sent" else ""}
