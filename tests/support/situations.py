"""Situations of filedrop for the golden test: what lies in the folders, in the journal and in the daemon's report.

Each company of a `Scene` reads another language and is named by it, so one status shows a situation in all of them.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from support.documents import BUYER
from support.drops import drop
from support.systems import WINDOWS

from filedrop import config as configuration
from filedrop.model.document import BILLING_WITH_RESPONSE, Event, Need, State
from filedrop.model.fault import Fault, Finding
from filedrop.model.message import Message
from filedrop.model.question import asked
from filedrop.model.report import (
    AccessReport,
    AccountReport,
    DaemonReport,
    FileReport,
    FolderReport,
    InboxReport,
    StrayReport,
)
from filedrop.model.response import Response
from filedrop.outbound.strays import NO_DOCUMENT
from filedrop.process.lock import locked_state
from filedrop.status import daemon_file, folders
from filedrop.status.survey import DaemonPart, part_of
from filedrop.status.together import together
from filedrop.storage import sidecar
from filedrop.storage.names import A_PDF, PDF_WITH_INVOICE
from filedrop.texts import FORMS, Text
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from filedrop.journal import Journal
    from filedrop.journal.messages import MessageRow
    from filedrop.model.document import Document

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
BEFORE = NOW - timedelta(days=3)
SENDERS = {language: f"0192:98765432{nth}" for nth, language in enumerate(LANGUAGES)}
SIREN = "0225:732829320"
NOT_FAULTS = ("waits", "in-use", "unanswered", "ids")  # the first part of a form's name
VALUES = {
    "rules": "BR-01, BR-02", "when": "2026-11-20T14:05:00+00:00", "line": "3", "column": "7", "number": "2",
    "times": "10", "limit": "100 MB", "kind": "Invoice", "document": "Invoice 1", "first": "invoice.xml",
    "text": "No such receiver. Not here", "finding": "The total is wrong.",
}  # fmt: skip


class Scene:
    """A filedrop at a fixed moment: its folders and its journal; `report` is the daemon's, `part` replaces it."""

    def __init__(self, base: Path, journal: Journal, settings: configuration.Config) -> None:
        self.root, self.journal, self.config = base / "root", journal, settings
        self.now = NOW
        self.is_running: bool | None = True
        self.part: DaemonPart | None = None
        self.has_journal = True
        self._number = 0
        for folder in folders.folders(settings):
            folder.take_up(journal)
        self.report = DaemonReport(
            made=NOW,
            accounts=(
                AccountReport(
                    "main",
                    AccessReport("ok"),
                    InboxReport(last_poll=NOW),
                    {},
                    tuple(map(self._outbound, LANGUAGES)),
                    (),
                ),
            ),
            configured=(NOW - timedelta(days=1)).isoformat(),
        )

    @property
    def daemon_part(self) -> DaemonPart:
        """The daemon's part of the status."""
        return self.part or part_of(self.report)

    def _outbound(self, company: str) -> FolderReport:
        return FolderReport(self.outbound(company), company, strays=StrayReport())

    def outbound(self, company: str) -> Path:
        return self.root / company / "outbound"

    def change_account(self, **changes: Any) -> None:
        """Change the report on the account."""
        (account,) = self.report.accounts
        self.report = replace(self.report, accounts=(replace(account, **changes),))

    def change_folders(self, changes: Callable[[str], dict[str, Any]]) -> None:
        """Change the report on each company's outbound folder."""
        self.change_account(
            outbound=tuple(replace(self._outbound(company), **changes(company)) for company in LANGUAGES)
        )

    def document(self, company: str, **changes: Any) -> Document:
        """A new document of this company, not yet recorded."""
        self._number += 1
        folder = self.journal.folders.at(self.outbound(company))
        values = {"company": company, "folder": folder, "sender": SENDERS[company], "claimed": BEFORE}
        return drop(self._number, **values | changes)

    def record(self, *documents: Document) -> list[Document]:
        return self.journal.documents.record_all(documents)

    def sent(self, company: str, **changes: Any) -> Document:
        """A document that the access point accepted three days ago."""
        document = self.document(company, identity=self.config.accounts["main"].identity, state=State.SENT)
        numbers = {"msg_no": self._number, "uuid": f"uuid-{self._number}"}
        return document.but(**{"accepted": BEFORE, "received": BEFORE.isoformat(), **numbers, **changes})

    def doubt(self, company: str) -> Document:
        document = self.document(company, identity=self.config.accounts["main"].identity)
        event = Event(BEFORE, "in doubt", {"why": "the access point gave no answer within 30 seconds"})
        return document.but(state=State.DOUBT, unclear=1, history=(*document.history, event))

    def fail(self, company: str, fault: Fault, *, is_old: bool = False) -> None:
        """Put a failed document into `failed/`; `is_old`: as a filedrop wrote it that kept no texts in sidecars."""
        document = self.document(company).failed(BEFORE, fault)
        place = self.outbound(company) / "failed"
        (place / document.file).write_bytes(b"<Invoice/>")
        when = BEFORE.timestamp() + self._number
        os.utime(place / document.file, (when, when))
        beside = place / f"{document.file}.json"
        content = sidecar.outbound(document, document.file)
        if is_old:
            said = json.loads(content)
            said["error"].pop("texts", None)
            content = json.dumps(said).encode()
        beside.write_bytes(content)
        os.utime(beside, (when, when))

    def message(self, company: str, state: str, **changes: Any) -> MessageRow:
        """A message of this company's inbox, recorded."""
        from filedrop.journal.messages import MessageRow  # noqa: PLC0415 - pytest rewrites asserts only

        self._number += 1
        number = self._number
        values: dict[str, Any] = {
            "identity": self.config.accounts["main"].identity, "msg_no": number, "received": BEFORE.isoformat(),
            "sender": BUYER, "receiver": SENDERS.get(company, ""), "state": state, "company": company,
            "folder": str(self.root / company / "inbound"), "file": f"{number}-Invoice.xml",
            "placed": BEFORE + timedelta(seconds=number), "type": "Invoice", "number": str(number),
            "issue_date": "2026-11-20", "meaning": f"received-{number}", "sha256": f"received-{number}",
            "sender_name": "Kjøper Kommune",
        }  # fmt: skip
        return self.journal.messages.record(MessageRow(**values | changes))

    def respond(self, company: str, document: Document | None = None, **changes: Any) -> None:
        """Record a response to a document."""
        self._number += 1
        values: dict[str, Any] = {
            "identity": self.config.accounts["main"].identity, "msg_no": self._number, "received": BEFORE.isoformat(),
            "nth": 0, "company": company, "sender": BUYER, "receiver": SENDERS[company],
            "number": (document.number or "") if document else "", "type_code": "", "issue_date": "", "code": "RE",
            "words": "response", "reason": "", "at": NOW - timedelta(hours=2, seconds=self._number),
        }  # fmt: skip
        self.journal.responses.record([Response(**values | changes)])


@contextmanager
def scene(base: Path) -> Iterator[Scene]:
    """A scene below `base`, with a company for each language."""
    companies = "".join(
        f"\n  {language}: {{participants: ['{SENDERS[language]}'], language: {language}, mail: [it@example.com]}}"
        for language in LANGUAGES
    )
    (base / "password").write_text("secret")
    (base / "password").chmod(0o600)
    settings = configuration.parse(
        f"""
accounts: {{main: {{base_url: 'https://ap.example.com', username: acme, password_file: '{base / "password"}'}}}}
root: {base / "root"}
state: {base / "state"}
unassigned: {base / "root" / "unassigned"}
inbound: {{min_free: 1KB}}
alerts: {{mail: {{host: 127.0.0.1, security: none, from: it@example.com, to: [it@example.com]}}}}
companies: {companies}
""",
        str(base / "config.yaml"),
    )
    (base / "root").mkdir()
    for language in LANGUAGES:
        (base / "root" / language).mkdir()
    with locked_state(settings.state) as journal:
        yield Scene(base, journal, settings)


SITUATIONS: dict[str, Callable[[Scene, pytest.MonkeyPatch], None]] = {}


def situation(make: Callable[[Scene, pytest.MonkeyPatch], None]) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    SITUATIONS[make.__name__] = make
    return make


@situation
def nothing(_scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    pass


@situation
def stopped(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    scene.is_running = False
    for company in LANGUAGES:
        scene.record(scene.document(company))
        (scene.outbound(company) / "sending" / "invoice.xml").touch()
        (scene.outbound(company) / "dropped.xml").touch()


@situation
def never_started(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    scene.is_running = False
    scene.has_journal = False
    scene.part = DaemonPart()
    shutil.rmtree(scene.root / "en" / "outbound")
    shutil.rmtree(scene.root / "nb" / "inbound")


@situation
def journal_that_cannot_be_used(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    scene.has_journal = False
    scene.part = replace(scene.daemon_part, journal="the journal can't be written: No space left on device")
    every_kind(scene, 1)


def _account(**access: Any) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    def make(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
        scene.change_account(access=AccessReport(**access))
        for company in LANGUAGES:
            (scene.outbound(company) / "dropped.xml").touch()

    return make


_LATER = NOW + timedelta(minutes=3)
SITUATIONS |= {
    "account_without_password": _account(condition="no password", why="password_file: it is missing"),
    "account_refused": _account(condition="refused", why="the access point refuses the login", next_attempt=_LATER),
    "account_with_wrong_address": _account(condition="wrong address", why="base_url: HTTP 404"),
    "account_away": _account(condition="away", why="cannot reach https://ap.example.com", next_attempt=_LATER),
    "account_unknown": _account(),
    "account_unknown_with_reason": _account(why="the certificate isn't valid yet"),
}


@situation
def account_with_much_to_say(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    nobodys = ((Message(8, sender=BUYER, receiver="0192:111"), None), (Message(9, receiver="9957:1"), "en"))
    inbox = InboxReport(NOW, 7, 5, 2, nobodys, unmarked=2, why_unmarked="HTTP 500")
    scene.change_account(inbox=inbox, cut_short={"outbox": "HTTP 500"})
    for company in LANGUAGES:
        for nth in range(2):
            document = scene.sent(company, msg_no=100 + nth)
            scene.record(document)
            scene.journal.numbers.record_surplus(document.identity, 900 + nth, None, document)
        scene.record(scene.sent(company, identity="acme@old.example.com"))


@situation
def root_that_hangs(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    opened, until = os.open, threading.Event()

    def hang(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).startswith(str(scene.root)):
            until.wait(60)
            raise OSError("the test is over")
        return opened(path, *arguments, **more)

    patch.setattr(folders, "PATIENCE", 0.05)
    patch.setattr(os, "open", hang)
    patch.setattr(scene, "end", until.set, raising=False)


@situation
def root_with_errors(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    """As a disk that breaks."""
    opened = os.open

    def fail(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).startswith(str(scene.root)):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(path, *arguments, **more)

    patch.setattr(os, "open", fail)


@situation
def folders_of_another(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for marker in scene.root.rglob(".filedrop"):
        marker.write_text(marker.read_text().replace(scene.journal.id, "0123456789abcdef"))


@situation
def root_that_is_gone(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    scene.root.rename(scene.root.with_name("elsewhere"))


@situation
def folders_that_are_gone(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(scene.outbound("en"))
    (scene.outbound("nb") / ".filedrop").unlink()
    (scene.root / "de" / "inbound" / ".filedrop").write_text("nothing")
    shutil.rmtree(scene.root / "unassigned")
    (scene.root / "unassigned").touch()


@situation
def folders_that_refuse(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    refused = "files can't be moved or written in it: Permission denied"
    scene.change_folders(
        lambda company: {
            "warnings": ("slow" if company == "nb" else refused,), "refused": "" if company == "nb" else refused,
            "file_system": "a share (SMB)", "trouble": "/x: its worker hangs" if company == "de" else "",
            "progress": "old documents are being removed: 3 of 9 in archive/2020-06" if company == "nb" else "",
        }
    )  # fmt: skip
    for company in LANGUAGES:
        (scene.outbound(company) / "dropped.xml").touch()


@situation
def folders_that_are_full(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    if not WINDOWS:  # 24.9 GB are free: another number of digits moves the place where a subject is cut
        disk = os.statvfs_result((4096, 1000, 10**8, 10**8, 249 * 10**5, 10**6, 10**6, 10**6, 0, 255))
        patch.setattr(os, "statvfs", lambda _path: disk)
    inbound = scene.config.inbound.model_copy(update={"min_free": 10**18})
    scene.config = scene.config.model_copy(update={"inbound": inbound})
    scene.change_account(inbox=InboxReport(NOW, 7, 3))


@situation
def troubles(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    scene.part = replace(
        scene.daemon_part,
        troubles={"configuration": "the configuration has a mistake", "status.json": "status.json can't be written"},
        tables=["the table customers.csv has no column key"],
        alerts=["an alert of 11:00 can't be sent: the mail server refuses it"],
    )


@situation
def several_hosts(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    every_kind(scene, 1)
    (account,) = scene.report.accounts
    mine = replace(scene.report, accounts=(), troubles={"copies": "no copy of the journal can be made"})
    part = part_of(replace(mine, accounts=(replace(account, outbound=account.outbound[:1]),)))
    others = replace(
        part_of(replace(mine, accounts=(replace(account, outbound=account.outbound[1:]),))),
        journal="the journal can't be reached", tables=["the table customers.csv is missing"],
    )  # fmt: skip
    reports = {"mine": daemon_file.encoded(part), "other": daemon_file.encoded(others)}
    scene.part = together(part, "mine", reports, {})


@situation
def folders_without_company(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    companies = {name: company for name, company in scene.config.companies.items() if name not in ("de", "fi")}
    for name in ("de", "fi"):
        (scene.outbound(name) / "dropped.xml").touch()
        os.utime(scene.outbound(name) / "dropped.xml", (BEFORE.timestamp(),) * 2)
    scene.fail("fi", Fault.of(Text.of("no-sender", where="nowhere")))
    scene.record(scene.document("de"))
    (scene.outbound("de") / "sending" / "waiting.xml").touch()
    for document in (scene.sent("de"), scene.sent("fi"), scene.sent("en")):
        scene.record(document)
        scene.respond(document.company, document)
    scene.config = scene.config.model_copy(update={"companies": companies})


@situation
def under_way(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    waiting = {}
    for company in LANGUAGES:
        place = scene.outbound(company)
        if company in ("nb", "de"):
            (place / "HOLD").touch()
        for name in ("half.xml", "locked.xml"):
            (place / name).touch()
        whys = ("another program is writing it", "filedrop is not allowed to read the file; it fails on 1 December")
        waiting[company] = tuple(
            FileReport(place / name, why, BEFORE.timestamp())
            for name, why in zip(("half.xml", "locked.xml"), whys, strict=True)
        )
        scene.record(
            scene.document(company).waits_for(NOW, Need.VERDICT, "the validator ended with status 7", due=_LATER),
            scene.document(company).waits_for(NOW, Need.IDS, "the table can't be read", due=_LATER),
            scene.sent(company, warnings=("validation: BR-01", "directory: not asked"), accepted=NOW),
            scene.document(company, state=State.SENDING),
        )
        for place_in, names in (("sending", "abc"), ("sent", "de")):
            for name in names:
                (place / place_in / f"{name}.xml").touch()
        (scene.root / company / "inbound" / "received.xml").touch()
    scene.change_folders(lambda company: {"waiting": waiting[company]})


@situation
def stuck_for_nobody(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        scene.message(
            "", "stuck", folder=str(scene.root / "unassigned"), why="the document is too large", due=_LATER
        )  # fmt: skip


@situation
def only_duplicates(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for company in LANGUAGES:
        for _ in range(2):
            scene.fail(company, fault_of("duplicate"))


@situation
def only_what_comes_back(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for company in LANGUAGES:
        for form in ("duplicate/together", "no-answer"):
            scene.fail(company, fault_of(form))


@situation
def without_sidecars(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for company in LANGUAGES:
        scene.fail(company, fault_of("no-sender"))
        scene.fail(company, Fault("rejected", "What no form says."))
        for beside in (scene.outbound(company) / "failed").glob("*1.xml.json"):
            beside.unlink()


@situation
def sidecars_without_texts(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for company in LANGUAGES:
        for form in ("no-sender", "duplicate", "receiver-unknown"):
            scene.fail(company, fault_of(form), is_old=True)


@situation
def strays_that_are_pdfs(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    _strays(scene, (A_PDF, PDF_WITH_INVOICE))


@situation
def restored_documents(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    for company in LANGUAGES:
        documents = [
            scene.document(company).failed(BEFORE, fault_of("invalid")),
            scene.doubt(company),
            _to_decide(scene.doubt(company)),
            scene.sent(company, warnings=("validation: BR-01",)),
        ]
        for document in documents:
            content = json.loads(sidecar.outbound(document, document.file))
            restored = sidecar.restore(content, folder=document.folder, company=company, place=document.home)
            assert restored
            scene.journal.documents.restore([restored])


@situation
def rejections(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
    """By a receiver, by an access point, by a French platform, and about one of several documents."""
    by_platform = {"sender": "", "receiver": SIREN, "words": "process_condition", "issue_date": "2026-11-20"}
    with_reason = by_platform | {"reason": "VAT rate incorrect; Fehlt: hier"}
    for company in LANGUAGES:
        for changes in (
            {"reason": "Too: late; no"},
            {},
            {"words": "response_mls", "sender": "0242:1", "reason": "x"},
            {"code": "213", **with_reason},
            {"code": "210", **by_platform},
            {"code": "501", **with_reason},
        ):
            document = scene.sent(company, sender=changes.get("receiver", SENDERS[company]))
            document = document.but(receiver_name=None if changes else "Kjøper Kommune")
            scene.record(document)
            is_level = changes.get("words") == "response_mls"
            scene.respond(company, document, **changes | {"number": document.uuid if is_level else document.number})
        document = scene.sent(company)
        scene.record(document, scene.sent(company, number=document.number))
        scene.respond(company, document, reason="Which one?")


FAULTS = {  # by the beginnings of their codes; each group has fewer forms than are listed
    "not_xml": ("not-xml",),
    "not_read": ("doctype", "too-large", "unreadable"),
    "without_ids": ("no-sender", "no-receiver", "no-document-id", "no-process-id"),
    "wrong_ids": ("bad-participant", "foreign-sender"),
    "repeated_or_invalid": ("duplicate", "invalid"),
    "of_the_directory": ("receiver-unknown", "not-accepted"),
}


def _faults(*codes: str) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    """A failed document for each form of a fault with one of these codes."""
    forms = [form for form in FORMS if form.partition("/")[0] in codes]

    def make(scene: Scene, _patch: pytest.MonkeyPatch) -> None:
        for company in LANGUAGES:
            for form in forms:
                scene.fail(company, fault_of(form))

    return make


_OTHERS = {form.partition("/")[0] for form in FORMS} - {*NOT_FAULTS, *chain(*FAULTS.values())}
SITUATIONS |= {f"faults_{name}": _faults(*codes) for name, codes in (FAULTS | {"later": tuple(_OTHERS)}).items()}


def _of_each_kind(number: int) -> Callable[[Scene, pytest.MonkeyPatch], None]:
    return lambda scene, _patch: every_kind(scene, number)


SITUATIONS |= {f"{number}_of_each_kind": _of_each_kind(number) for number in (1, 2, 25)}


def every_kind(scene: Scene, number: int) -> None:
    """So many documents or messages of each kind of matter, for each company."""
    failed = ("not-xml", "no-sender", "duplicate", "receiver-unknown", "rejected")
    for company in LANGUAGES:
        for nth in range(number):
            scene.fail(company, fault_of(failed[nth % len(failed)], *(["no-receiver"] if nth % 2 else [])))
            rejected = scene.sent(company, state=State.DELIVERED)
            scene.record(
                scene.doubt(company),
                _to_decide(scene.doubt(company)),
                scene.sent(company),
                rejected,
                _delivered(scene.sent(company, process_id=BILLING_WITH_RESPONSE)),
                scene.document(company).waits_for(
                    BEFORE, Need.VERDICT, "the validator ended with status 7", due=_LATER
                ),
            )
            scene.respond(company, rejected, reason="Too late")
            scene.message(company, "stuck", why="the access point lists it, but has no document", due=_LATER)
            earlier = scene.message(company, "read", number="R-1", meaning="same")
            again = scene.message(company, "read", number="R-1", meaning="same", repeats=earlier.msg_no)
            for row in (earlier, again):
                (scene.root / company / "inbound" / row.file).touch()
            scene.message(company, "read", due=NOW - timedelta(days=10, seconds=scene._number))
    _strays(scene, (NO_DOCUMENT,) * number)


def _strays(scene: Scene, whys: tuple[str, ...]) -> None:
    reports = {}
    for company in LANGUAGES:
        files = []
        for nth, why in enumerate(whys):
            path = scene.outbound(company) / f"stray-{nth}.txt"
            path.touch()
            files.append(FileReport(path, why, BEFORE.timestamp() + nth))
        reports[company] = StrayReport(len(files), tuple(files[:20]))
    scene.change_folders(lambda company: {"strays": reports[company]})


def _to_decide(document: Document) -> Document:
    evidence = {7: "has its parties, but another time", 8: "has its time"}
    return asked(document, BEFORE, evidence)


def _delivered(document: Document) -> Document:
    return document.delivered_at(NOW - timedelta(days=9), (NOW - timedelta(days=9)).isoformat(), None)


def fault_of(*forms: str) -> Fault:
    """The fault that consists of these forms."""
    texts = []
    for form in forms:
        values = {name: VALUES.get(name, f"some {name}") for name in FORMS[form].placeholders}
        texts.append(Text.of(form, **values))
    findings = (Finding("BR-01", "An invoice has a number.", xpath="/Invoice/cbc:ID", line=3),)
    return Fault.of(*texts, findings=findings if forms[0].startswith("invalid") else ())
