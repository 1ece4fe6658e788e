"""A company's part of the status, in the words and the language of its people (contract 10).

They run no commands: nothing here has a command, a key of the configuration or an XPath. Pure.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from filedrop.status.folders import ForAdministrators
from filedrop.status.kinds import ANOTHER_WAY, KINDS
from filedrop.status.matters import AWAY, key_of
from filedrop.texts.languages import Translatable, counted, lasting, marked, translated

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from filedrop.config import Company, Config
    from filedrop.status.kinds import Kind
    from filedrop.status.matters import Key
    from filedrop.status.model import AccountStatus, CompanyStatus, Count, DocumentStatus, Item, Matter, Status

_ASK = marked("Tell your administrator")
_TOLD = marked("Your administrator has been told")
_FOLDERS = {"full": marked("{folder} is nearly full"), "warning": marked("{folder} has a problem")}  # by what is wrong
_UNUSABLE = marked("{folder} can't be used")  # whatever else is wrong


def of_company(status: Status, company: Company, config: Config, reported: Container[Key]) -> Status:
    """The part of a status that is about one company, with nothing of the others.

    `reported`: the matters that an alert has reported to the administrator.
    """
    mine: AccountStatus = {
        **status["accounts"][company.account], "unread": None, "for_nobody": None, "statuses": None,
        "nobodys": [], "lists": [], "left_behind": [], "surplus": [], "fetched": "", "why": "",
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
    administrator = translated(_TOLD if key_of(matter) in reported else _ASK, language)
    advice = translated(KINDS[kind].advice, language).format(
        administrator=administrator, names=", ".join(config.outbound.files)
    )
    return {**matter, "title": _title(matter, config, language), "advice": advice, "items": items}


def as_seen(path: str, place: Path) -> str:
    """A path as somebody sees it who has opened the folder `place`, which is mounted at another place there."""
    return PurePath(path).relative_to(place).as_posix() if PurePath(path).is_relative_to(place) else path


def _item(item: Item, kind: Kind, language: str) -> Item:
    """An item without what is an administrator's."""
    is_shown = KINDS[kind].has_reasons and not isinstance(item["why"], ForAdministrators)
    return {
        **item,
        "do": [],
        "why": translated(item["why"], language) if is_shown else "",
        "known": translated(item["known"], language),
        "name": translated(item["name"], language) if isinstance(item["name"], Translatable) else item["name"],
    }


def _title(matter: Matter, config: Config, language: str) -> str:
    kind, what = matter["kind"], matter["what"]
    if title := KINDS[kind].title:
        time = lasting(config.outbound.doubt if kind == "doubt" else config.outbound.overdue, language)
        return counted(matter["number"], *title, language, time=time)
    if kind == "folder":
        return translated(_FOLDERS.get(what, _UNUSABLE), language).format(folder=matter["about"])
    if kind == "account" and what in (AWAY, "unknown"):
        return translated("the access point can't be reached", language)
    return translated(KINDS[kind].short or matter["title"], language)


def _counts(company: CompanyStatus, language: str, *, is_running: bool | None) -> CompanyStatus:
    """The counts with their reasons in plain words."""
    documents = [_document(document, language) for document in company["documents"]]
    reasons: dict[Count, str] = {
        "waiting": company["why"] if company["held"] else _waiting(company, is_running=is_running),
        "sending": marked("filedrop continues with them when it runs again")
        if is_running is False
        else marked("being sent now, or waiting to be moved"),
        "doubt": marked(
            "filedrop doesn't know yet whether the access point received them. It looks for them there. Nothing is "
            "lost, and nothing is sent twice"
        ),
        "unreachable": ANOTHER_WAY,
        "sent": marked("accepted by the access point, not delivered yet; filedrop keeps checking"),
    }
    reasons = {count: translated(reason, language) for count, reason in reasons.items()}
    return {**company, "why": "", "documents": documents, "reasons": company["reasons"] | reasons}


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
