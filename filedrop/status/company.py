"""A company's part of the status, in the words of the people who drop its files and take them (contract 10).

They run no commands: nothing here has a command, a key of the configuration or an XPath. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.status.matters import AWAY, DELETE, key_of

if TYPE_CHECKING:
    from collections.abc import Container

    from filedrop.config import Company, Config
    from filedrop.status.matters import Key
    from filedrop.status.model import AccountStatus, CompanyStatus, Count, DocumentStatus, Item, Kind, Matter, Status

_ASK = "Tell your administrator"
_TOLD = "Your administrator has been told"
_WAITS = "{administrator}; your files wait, nothing is lost"
_SURE = "Nothing is lost, and nothing is sent twice"
_UNUSABLE = "can't be used"
_FOLDERS = {"full": "is nearly full", "warning": "has a problem"}  # by what is wrong; else it can't be used
_DUPLICATES = "delete each duplicate: it was sent before"
_ADVICE: dict[Kind, str] = {
    "account": f"filedrop tries again by itself. {_WAITS}",
    "decide": f"filedrop can't find out whether the access point received it. {_SURE}. {{administrator}}",
    "doubt": f"filedrop doesn't know yet whether the access point received it, and keeps looking. {_SURE}",
    "failed": "read the note of each file, and do what it says",
    "rejected": "read the receiver's response in inbound/, and send a corrected document",
    "stray": (
        "only XML documents with names like {names} are sent. If one of these is such a document, rename it, or "
        "move it into outbound/. Otherwise, move it away"
    ),
    "late": f"filedrop tries again by itself. {_WAITS}",
    "overdue": "the access point accepted it, but hasn't delivered it yet. filedrop keeps checking. {administrator}",
    "stuck": "filedrop tries again by itself. {administrator}; nothing is lost",
}
_WITH_REASONS = ("failed", "rejected", "stray")  # kinds whose items have reasons for these people


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
        "companies": {company.name: _counts(status["companies"][company.name], is_running=status["running"])},
        "accounts": {company.account: mine},
        "tables": [],
        "alerts": [],
        "troubles": {},
        "journal": "",
        "unassigned": None,
        "matters": [in_plain_words(matter, config, reported) for matter in matters],
    }


def in_plain_words(matter: Matter, config: Config, reported: Container[Key]) -> Matter:
    """A matter for the company's people: what is wrong, and what they can do."""
    kind = matter["kind"]
    advice = _ADVICE.get(kind, _WAITS).format(
        administrator=_TOLD if key_of(matter) in reported else _ASK, names=", ".join(config.outbound.files)
    )
    items: list[Item] = [
        {**item, "do": [], "why": item["why"] if kind in _WITH_REASONS else ""} for item in matter["items"]
    ]
    if kind == "failed" and items and all(item["why"].endswith(DELETE) for item in items):
        advice = _DUPLICATES
    return {**matter, "title": _title(matter), "advice": advice, "items": items}


def _title(matter: Matter) -> str:
    match matter["kind"]:
        case "journal":
            return "filedrop can't record what it sends, so it sends nothing"
        case "account" if matter["what"] in (AWAY, "unknown"):
            return "the access point can't be reached"
        case "account":
            return "filedrop can't log in to the access point"
        case "stuck":
            return f"{matter['number']} {'message' if matter['number'] == 1 else 'messages'} can't be fetched"
        case "folder":
            return f"{matter['about']} {_FOLDERS.get(matter['what'], _UNUSABLE)}"
        case _:
            return matter["title"].removesuffix(" (outbound.overdue)")


def _counts(company: CompanyStatus, *, is_running: bool | None) -> CompanyStatus:
    """The counts with their reasons in plain words."""
    documents = [_document(document) for document in company["documents"]]
    reasons: dict[Count, str] = {
        "waiting": _waiting(company, is_running=is_running),
        "sending": "filedrop continues with them when it runs again"
        if is_running is False
        else "being sent now, or waiting to be moved",
        "doubt": f"filedrop doesn't know yet whether the access point received them. It looks for them there. {_SURE}",
        "sent": "accepted by the access point, not delivered yet; filedrop keeps checking",
    }
    return {**company, "why": "", "documents": documents, "reasons": company["reasons"] | reasons}


def _waiting(company: CompanyStatus, *, is_running: bool | None) -> str:
    if company["held"]:
        return company["why"]
    if is_running is False:
        return "filedrop sends them when it runs again"
    if company["why"]:
        return "filedrop can't send them now. It sends them as soon as it can; nothing is lost"
    return "filedrop sends them when they are ready and it is their turn"


def _document(document: DocumentStatus) -> DocumentStatus:
    """A document without the reasons that are an administrator's: of a doubt, or of an attempt to send it."""
    is_dropped = document["id"] is None
    return {**document, "why": document["why"] if is_dropped or document["state"] == "sent" else ""}
