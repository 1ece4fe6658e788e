"""What needs attention, the most urgent first, in the words of page, `status` and alerts. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from filedrop.errors import Cause
from filedrop.model.obligations import COMPLETED
from filedrop.model.question import commands, question
from filedrop.model.report import LISTED
from filedrop.status.kinds import ANOTHER_WAY, KINDS, Kind
from filedrop.status.model import Item, Matter, folders_of, message_label
from filedrop.status.reasons import INCOMPLETE, asked_again, stuck, stuck_messages
from filedrop.storage.names import A_PDF, PDF_WITH_INVOICE
from filedrop.storage.sidecar import DUPLICATE, retry
from filedrop.texts.languages import ENGLISH, Translatable, counted, marked, translated
from filedrop.texts.printable import command
from filedrop.times import as_duration, from_seconds, moment, stated

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from filedrop.config import Company, Config
    from filedrop.journal import MessageRow
    from filedrop.model.document import Document
    from filedrop.status.kinds import Plural
    from filedrop.status.model import (
        CompanyStatus,
        DocumentStatus,
        FolderStatus,
        MessageStatus,
        RemovedFolder,
        Status,
        StrayStatus,
    )

AWAY = "away"  # what is wrong with a root, or an access point
SEVERAL = 2  # folders that are away at once, for which their root speaks
UNTIL_ASKED = timedelta(minutes=1)  # after a start or a reload: until then, nothing is amiss with an account
_CONDITIONS = {  # of an account: what is said of it, and of the whole
    "no password": ("the password can't be read", marked("The password of an account can't be read.")),
    "refused": ("the login is refused", marked("The access point refuses the login.")),
    "wrong address": ("base_url is wrong", marked("The address of the access point is wrong.")),
    AWAY: ("the access point can't be reached", marked("The access point can't be reached.")),
    "unknown": ("no answer from the access point yet", marked("The access point hasn't answered yet.")),
}
_ORDER = {kind: place for place, kind in enumerate(KINDS)}
_DECIDE = "check at the access point which case it is, then run the command for it"
_DOUBT = (
    "filedrop keeps looking for them while their folder is available. To end it yourself, run: filedrop resolve ID "
    "--sent MSG_NO, or: filedrop resolve ID --send-again"
)
_INCOMPLETE = "write the file that each one waits for, or move the document out of outbound/"
_LONG = timedelta(days=7)  # in `not-on-peppol/`
_LATE = "filedrop tries again by itself. Resolve the cause in each line, or ask the operator of the access point"


class Key(NamedTuple):
    """What makes a matter the same one."""

    kind: Kind
    company: str = ""
    about: str = ""


def key_of(matter: Matter) -> Key:
    """What this matter is known by."""
    return Key(matter["kind"], matter["company"], matter["about"])


def heading(matter: Matter) -> str:
    """Whose a matter is, and what."""
    return f"{matter['company']}: {matter['title']}" if matter["company"] else matter["title"]


def by_cause(status: Status) -> list[Matter]:
    """What needs attention, with one matter for folders of several companies in which the same is wrong.

    Where a command names each of these folders, it has the word FOLDER.
    """
    causes = {
        folder["path"]: _why(folder).replace(command(folder["path"]), "FOLDER") for _, folder in folders_of(status)
    }
    found: dict[object, list[Matter]] = {}
    for matter in status["matters"]:
        why = causes.get(matter["about"]) if matter["kind"] == "folder" else None
        found.setdefault(why or key_of(matter), []).append(matter)
    return [
        matter
        for why, same in found.items()
        for matter in (same if len({matter["company"] for matter in same}) == 1 else [_together(why, same)])
    ]


def _together(why: object, matters: Sequence[Matter]) -> Matter:
    """One matter in the place of those of several folders."""
    items = [_make_item(matter["about"], None, path=matter["about"], why="") for matter in matters]
    return {**_matter("folder", title=f"{len(items)} folders: {why}"), "items": items[:LISTED], "number": len(items)}


def _why(folder: FolderStatus) -> str:
    """What is wrong with a folder; "" for nothing."""
    return f"unavailable: {folder['why']}" if folder["why"] else "; ".join(folder["warnings"])


def line_of(item: Item, *, in_full: bool = True) -> str:
    """A document or message in a line; `in_full`: with its path."""
    known, why = f" {item['known']}" if item["known"] else "", f": {item['why']}" if item["why"] else ""
    return f"{(in_full and item['path']) or item['name']}{known}{why}"


def unlisted(matter: Matter, language: str = ENGLISH) -> str:
    """How many aren't named, "" where all are."""
    more = matter["number"] - len(matter["items"])
    return counted(more, "and {number} more", "and {number} more", language) if matter["items"] and more > 0 else ""


def of_company(
    status: Status,
    name: str,
    doubts: Sequence[Document],
    config: Config,
    now: datetime,
    *,
    aside: Iterable[tuple[float, Path]],
) -> list[Matter]:
    """What needs attention of a company's files.

    `doubts` are all documents in doubt, `aside` the files in `not-on-peppol/`, each since when.
    """
    company, configured = status["companies"][name], config.companies[name]
    found = [*_in_doubt(doubts, company, configured, config, now), *_late(company, name, config, now)]
    return [*found, *_counted(company, configured, config), *_aside(name, aside, now), *_strays(company, name, config)]


def find(
    status: Status,
    of_companies: Mapping[str, Sequence[Matter]],
    lately: Mapping[Kind, Sequence[tuple[str, Item]]],
    config: Config,
    now: datetime,
    *,
    for_nobody: Mapping[str, Sequence[MessageRow]],
    removed: Sequence[RemovedFolder],
    causes: Mapping[str, Cause],
    start: str,
) -> list[Matter]:
    """What needs attention now. `of_companies`: what `of_company` has found, by company.

    `lately`: what was rejected, repeated or not answered, each with its company, "" for none of the configuration's.
    `for_nobody`: by account, what is stuck of the messages for none of the companies. `removed`: folders with files
    that have no company any more. `causes`: why folders are unavailable, by their paths. `start`: the command that
    starts filedrop, where it isn't running.
    """
    found = [*_stopped(status, start), *_accounts(status, now)]
    away = _away(status, causes, config)
    is_stopped = status["running"] is False
    waits_for_start = {path for path, cause in causes.items() if is_stopped and cause is Cause.NEW}
    found += away
    if status["journal"]:
        found.append(_matter("journal", title=f"the journal can't be used: {status['journal']}"))
    for name, company in status["companies"].items():
        found += _folders(_beside(away, company["folders"]), name, waits_for_start, config)
        found += of_companies[name]
    for kind, items in lately.items():
        what, advice = KINDS[kind].lately
        for name in (*status["companies"], ""):
            own = [item for owner, item in items if owner == name]
            found += _several(kind, name, len(own), what, advice=advice, items=own[:LISTED])
    unassigned = [status["unassigned"]] if status["unassigned"] else []
    found += _folders(_beside(away, unassigned), "", waits_for_start, config)
    for account, rows in for_nobody.items():
        found += _stuck_for_nobody(rows, account, config)
    found += [matter for folder in removed for matter in _removed_folder(folder)]
    found += [trouble(about, why) for about, why in {**_left_behind(status), **status["troubles"]}.items()]
    found += [_matter("table", about=why, title=why) for why in status["tables"]]
    found += [_matter("alert", about=why, title=why) for why in status["alerts"]]
    return sorted(found, key=lambda matter: _ORDER[matter["kind"]])


def trouble(about: str, why: str) -> Matter:
    """What else keeps work from being done, as a matter."""
    return _matter("trouble", about=about, title=why)


def unseen(status: Status) -> frozenset[Key]:
    """The matters that may still be there and aren't named, since the journal or a folder can't be read.

    Among them are folders that the whole root speaks for.
    """
    by_the_journal = [kind for kind, row in KINDS.items() if row.by_the_journal and status["journal"]]
    keys = {Key(kind, name) for name in status["companies"] for kind in by_the_journal}
    keys |= {Key("rejected")} if status["journal"] else set()
    keys |= {Key("stuck", about=name) for name in status["accounts"] if status["journal"]}
    for name, company in status["companies"].items():
        away = [Key("folder", name, folder["path"]) for folder in company["folders"] if not folder["available"]]
        keys |= {Key("failed", name), Key("unreachable", name), Key("stray", name), *away} if away else set()
        if company["strays"] is None:  # the daemon has just begun to look
            keys.add(Key("stray", name))
    return frozenset(keys - set(map(key_of, status["matters"])))


def verdict(status: Status, language: str = ENGLISH) -> str:
    """The status in a sentence or two."""
    kinds = {matter["kind"] for matter in status["matters"]}
    sentences = [marked("filedrop isn't running.")] if "stopped" in kinds else []
    if "account" in kinds:
        conditions = {matter["what"] for matter in status["matters"] if matter["kind"] == "account"}
        sentences += [sentence for condition, (_, sentence) in _CONDITIONS.items() if condition in conditions]
    if "journal" in kinds:
        sentences.append(marked("The journal can't be used, so nothing is sent."))
    said = [*(translated(sentence, language) for sentence in sentences), _needed(status["matters"], language)]
    return " ".join(filter(None, said)) or translated("Everything is working.", language)


def in_a_line(status: Status) -> str:
    """The verdict and what needs attention, in a line: for monitoring, and for `systemctl status`."""
    headings = [heading(matter) for matter in status["matters"] if matter["kind"] != "stopped"]
    cut = [*headings[:LISTED], *([f"and {len(headings) - LISTED} more"] if len(headings) > LISTED else [])]
    return f"{verdict(status)} ({'; '.join(cut)})" if cut else verdict(status)


def _needed(matters: Sequence[Matter], language: str) -> str:
    """How many documents, messages, folders and tables need attention, as a sentence; "" for none."""
    counts: Counter[Plural] = Counter()
    for matter in matters:
        if noun := KINDS[matter["kind"]].noun:
            counts[noun] += matter["number"]
    if not counts:
        return ""
    *others, last = (counted(number, *noun, language) for noun, number in counts.items())
    both = translated("{first} and {last}", language)
    things = both.format(first=", ".join(others), last=last) if others else last
    return counted(counts.total(), "{things} needs attention.", "{things} need attention.", language, things=things)


def _matter(kind: Kind, company: str = "", about: str = "", *, what: str = "", title: str, advice: str = "") -> Matter:
    return Matter(
        kind=kind, company=company, about=about, what=what, title=title, advice=advice, items=[], number=1, newest=0.0
    )


def _several(
    kind: Kind, company: str, number: int, what: str, *, about: str = "", advice: str, items: Sequence[Item]
) -> Iterator[Matter]:
    """So many documents or messages, of which `items` are the newest; nothing where there are none."""
    if number:
        matter = _matter(kind, company, about, title=f"{number} {what}", advice=advice)
        yield {
            **matter,
            "items": list(items),
            "number": number,
            "newest": max((item["order"] for item in items), default=0.0),
        }


def _left_behind(status: Status) -> dict[str, str]:
    """The sentence about what nobody tracks any more of an account that was another one, by what it is about."""
    lines = {name: "; ".join(account["left_behind"]) for name, account in status["accounts"].items()}
    return {f"account {name}": f"account {name}: {line}" for name, line in lines.items() if line}


def _stopped(status: Status, start: str) -> Iterator[Matter]:
    if status["running"] is False:
        advice = f"nothing is sent or fetched. Start it: {start}"
        yield _matter("stopped", title="filedrop isn't running", advice=advice)


def _accounts(status: Status, now: datetime) -> Iterator[Matter]:
    """The accounts that can't be used. How they stood before filedrop stopped is no news, nor that nobody has told."""
    begun = moment(status["configured"])
    is_new = begun is not None and abs(now - begun) < UNTIL_ASKED
    is_told = status["running"] is not False and status["heard"] is not None
    for name, account in status["accounts"].items() if is_told else ():
        if (account["reachable"] and account["login"] == "ok") or (is_new and account["condition"] == "unknown"):
            continue
        what, why = account["condition"], account["why"]
        if what == "unknown":
            what, why = (AWAY, why) if why else (what, "see the log if this doesn't change within minutes")
        elif what not in _CONDITIONS:
            what = AWAY
        says, _ = _CONDITIONS.get(what, _CONDITIONS[AWAY])
        advice = f"{why}{asked_again(account, now)}"
        yield _matter("account", about=name, what=what, title=f"account {name}: {says}", advice=advice)


def _away(status: Status, causes: Mapping[str, Cause], config: Config) -> list[Matter]:
    """The root, where all folders in it are unavailable for the same reason: its share is not mounted, say."""
    every = [folder for _, folder in folders_of(status)]
    ours = [folder for folder in every if Path(folder["path"]).is_relative_to(config.root)]
    found = {causes.get(folder["path"]) for folder in ours}
    if len(ours) < SEVERAL or any(folder["available"] for folder in ours) or Cause.NEW in found:
        return []
    reasons = {folder["why"] for folder in ours}
    why, advice = "", "filedrop continues by itself when it is back"
    if len(reasons) == 1 and found <= {Cause.HUNG, Cause.OUTSIDE}:
        (why,) = reasons
    elif found == {Cause.MISSING}:
        why = "check that it is mounted"
        advice += "; where a folder was deleted, filedrop check says what to do"
    title = f"{config.root}: unavailable, with all {len(ours)} folders in it: {why}"
    return [_matter("folder", about=str(config.root), what=AWAY, title=title, advice=advice)] if why else []


def _beside(away: Sequence[Matter], folders: Sequence[FolderStatus]) -> list[FolderStatus]:
    """The folders that no root which is `away` speaks for."""
    return [
        folder for folder in folders if not any(Path(folder["path"]).is_relative_to(root["about"]) for root in away)
    ]


def _folders(
    folders: Sequence[FolderStatus], company: str, ignored: Container[str], config: Config
) -> Iterator[Matter]:
    """What is wrong with folders, but for those at the `ignored` paths."""
    for folder in folders:
        if (why := _why(folder)) and folder["path"] not in ignored:
            what, title = _what_is_wrong(folder, config), f"{folder['path']}: {why}"
            yield _matter("folder", company, folder["path"], what=what, title=title)


def _what_is_wrong(folder: FolderStatus, config: Config) -> str:
    """The worst that is wrong with a folder, in a word."""
    if not folder["available"]:
        return "unavailable"
    if folder["refused"]:
        return "refused"
    is_full = folder["use"] != "outbound" and folder["free"] is not None and folder["free"] < config.inbound.min_free
    return "full" if is_full else "warning"


def _counted(status: CompanyStatus, company: Company, config: Config) -> Iterator[Matter]:
    """What has failed, is overdue or stuck: `status` counts it, and has the reason of each count."""
    kinds: tuple[Literal["failed", "overdue", "stuck"], ...] = ("failed", "overdue", "stuck")
    for kind in kinds:
        items = [_item(document, company) for document in status["documents"] if document["state"] == kind]
        if kind == "stuck":
            items = [_message(message, company.account, config) for message in status["messages"]]
        yield from _several(kind, company.name, status[kind], kind, advice=status["reasons"].get(kind, ""), items=items)


def _stuck_for_nobody(rows: Sequence[MessageRow], account: str, config: Config) -> Iterator[Matter]:
    items = [_message(message, account, config) for message in stuck_messages(rows)]
    what = "stuck, for none of the companies"
    return _several("stuck", "", len(rows), what, about=account, advice=stuck(account, config), items=items)


def _strays(status: CompanyStatus, company: str, config: Config) -> Iterator[Matter]:
    """The files that nobody will ever send."""
    files = status["strays"] or []
    number = len(files) + status["unlisted"].get("strays", 0)
    what = "file that will never be sent" if number == 1 else "files that will never be sent"
    advice = (
        f"only XML documents with names like {', '.join(config.outbound.files)} are sent. Rename such a document, or "
        "move it into outbound/. Move other files away. If their names are expected, list them in outbound.ignore"
    )
    if all(file["why"] in (A_PDF, PDF_WITH_INVOICE) for file in files):
        advice = 'only XML is sent: export the XML itself. If PDFs are expected there, list "*.pdf" in outbound.ignore'
    return _several("stray", company, number, what, advice=advice, items=[_stray(file) for file in files])


def _removed_folder(folder: RemovedFolder) -> Iterator[Matter]:
    """The files in a folder that has no company any more."""
    number, path = folder.files.number, folder.path
    files = "unsent file is" if number == 1 else "unsent files are"
    what = f"{files} in {path}, which the configuration no longer names"
    advice = (
        "filedrop doesn't send them. Name the folder in the configuration again, or move the files to another "
        f"outbound/. To give them up, delete .filedrop in {path}"
    )
    items = [_stray(file) for file in folder.files.listed]
    return _several("stray", "", number, what, about=str(path), advice=advice, items=items)


def _stray(stray: StrayStatus) -> Item:
    return _make_item(stray["file"], stray["since"] or None, path=stray["path"], why=stray["why"])


def _in_doubt(
    doubts: Sequence[Document], status: CompanyStatus, company: Company, config: Config, now: datetime
) -> Iterator[Matter]:
    """The documents that a person must decide about, and the others that have been in doubt for too long."""
    paths = {document["id"]: document["path"] for document in status["documents"]}
    doubts = sorted((doubt for doubt in doubts if doubt.company == company.name), key=_since, reverse=True)
    asked = [doubt for doubt in doubts if question(doubt)]
    for_long = [doubt for doubt in doubts if not question(doubt) and now - _since(doubt) > config.outbound.doubt]
    found: tuple[tuple[Kind, list[Document], str, str], ...] = (
        ("decide", asked, "to be decided by you", _DECIDE),
        ("doubt", for_long, f"in doubt for longer than {as_duration(config.outbound.doubt)}", _DOUBT),
    )
    for kind, documents, what, advice in found:
        items = [_doubtful(document, paths.get(document.id, "")) for document in documents[:LISTED]]
        yield from _several(kind, company.name, len(documents), what, advice=advice, items=items)


def _late(status: CompanyStatus, company: str, config: Config, now: datetime) -> Iterator[Matter]:
    """The documents that are waiting for too long, and not for what keeps all of the company's from being sent."""
    overdue = config.outbound.overdue
    found: dict[Kind, list[Item]] = {"incomplete": [], "late": []}
    for document in status["documents"]:
        kind: Kind = "incomplete" if document["code"] == INCOMPLETE else "late"
        known, since = f"[{document['id']}]" if document["id"] else "", moment(document["since"])
        if document["state"] == "waiting" and since and now - since > (COMPLETED if kind == "incomplete" else overdue):
            items, path, why = found[kind], document["path"], document["why"]
            items.append(_make_item(document["file"], document["since"], known=known, path=path, why=why))
    what = "waiting for a file that is missing"
    yield from _several(
        "incomplete", company, len(found["incomplete"]), what, advice=_INCOMPLETE, items=found["incomplete"]
    )
    if not status["why"]:
        what = f"waiting for longer than {as_duration(overdue)} (outbound.overdue)"
        yield from _several("late", company, len(found["late"]), what, advice=_LATE, items=found["late"][:LISTED])


def _aside(company: str, aside: Iterable[tuple[float, Path]], now: datetime) -> Iterator[Matter]:
    """The documents that nobody has sent another way for long, the oldest first."""
    long = sorted((since, path) for since, path in aside if since < (now - _LONG).timestamp())
    named = ((path, stated(from_seconds(since))) for since, path in long[:LISTED])
    items = [_make_item(path.name, since, path=str(path), why="") for path, since in named]
    what = "to be sent another way for more than 7 days"
    yield from _several("unreachable", company, len(long), what, advice=ANOTHER_WAY, items=items)


def _since(document: Document) -> datetime:
    return document.in_doubt_since or document.claimed


def _item(document: DocumentStatus, company: Company) -> Item:
    file, code, number = document["file"], document["code"], message_label(document["msg_no"])
    known = Translatable.of("({known})", known=document["known"]) if document["known"] else number
    is_again = code == DUPLICATE  # the command would send it again: only the note names it
    do = [retry(company.name, file, code)] if document["state"] == "failed" and not is_again else []
    return _make_item(file, document["since"], known=known, path=document["path"], why=document["why"], do=do)


def _doubtful(document: Document, path: str) -> Item:
    why, since = question(document) or document.why_in_doubt, _since(document).isoformat(timespec="seconds")
    return _make_item(document.file, since, known=f"[{document.id}]", path=path, why=why, do=commands(document))


def _make_item(name: str, since: str | None, *, known: str = "", path: str, why: str, do: Sequence[str] = ()) -> Item:
    """A document or file in the order of its moment."""
    order = parsed.timestamp() if (parsed := moment(since)) else 0.0
    return Item(name=name, known=known, path=path, why=why, do=list(do), since=since, order=order)


def _message(message: MessageStatus, account: str, config: Config) -> Item:
    do = [command("filedrop", "read", *config.account_option(account), str(message["msg_no"]))]
    name = Translatable.of(marked("message {number} from {sender}"), number=message["msg_no"], sender=message["sender"])
    return Item(name=name, known="", path="", why=message["why"], do=do, since=None, order=float(message["msg_no"]))
