"""`filedrop rehearse`: who can be reached and what would fail, before anything is sent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from filedrop.cli import FAILED
from filedrop.cli.dryrun import ASIDE, FAILS, NOT_READY, SENDS
from filedrop.cli.identify import company_of
from filedrop.cli.opening import open_config
from filedrop.cli.proposing import propose
from filedrop.cli.rehearsal import REACHABLE, UNKNOWN, UNREACHABLE, Rehearsal
from filedrop.cli.show import say, show_json, tell
from filedrop.errors import FiledropError
from filedrop.storage.names import matcher, names_document, pdfs_of
from filedrop.texts.printable import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from filedrop.cli.proposing import Proposal
    from filedrop.cli.rehearsal import Receiver, Rehearsed
    from filedrop.config import Company, Config

SHOWN = 5  # names after which a list ends with "and 7 more"
IDS = ("sender", "receiver", "document_id", "process_id")
_CONTRADICTING = "of these go by other ids than they state (BR-SBDH): an access point may refuse them"
_VERDICTS = {  # what is said of a verdict and, where the document would be sent, of its receiver
    (SENDS, REACHABLE): "would be sent; the receiver can be reached",
    (SENDS, UNKNOWN): "would be sent; the directory doesn't say whether the receiver can be reached",
    (SENDS, UNREACHABLE): "would be sent, but the receiver can't be reached",
    (SENDS, "contradicts"): _CONTRADICTING,
    (ASIDE, ""): "would be put into not-on-peppol/ (the directory was asked once; a run asks it twice)",
    (NOT_READY, ""): "would wait",
    (FAILS, ""): "would fail",
}
_REACHES = {REACHABLE: "can be reached", UNREACHABLE: "can't be reached", UNKNOWN: "unknown"}


class Cause(NamedTuple):
    """The documents that would fail with the same code, and the rule that corrects most of them."""

    code: str
    documents: Sequence[Rehearsed]
    proposal: Proposal | None


@click.command(epilog="\b\nExample: filedrop rehearse --company acme export/")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--company", metavar="NAME", help="Treat the files as files of this company.")
@click.option("--document", metavar="TYPE", default="Invoice", help="What receivers in a CSV file are to accept.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def rehearse(
    config_option: str | None, files: Sequence[Path], *, company: str | None, document: str, as_json: bool
) -> None:
    """Show which receivers can be reached, and which documents would fail and why. Nothing is sent.

    A FILE is a document, a folder of documents, or a CSV file with a receiver's ParticipantID in each row. If your
    companies have several accounts, each row also has the sender's. In a folder, files that filedrop would never send
    are left out. filedrop asks the access point's directory at most five times a second. For documents that fail for
    the same reason, it proposes the mapping rule that corrects most of them, if the directory confirms it.

    The exit status is 0 if every document would be sent or put into not-on-peppol/, and every other receiver can be
    reached.
    """
    config = open_config(config_option)
    documents: list[Rehearsed] = []
    receivers: list[Receiver] = []
    never_sent: list[Path] = []
    pdfs: set[Path] = set()  # that go into the documents
    is_named = matcher(config.outbound.files)
    with Rehearsal(config) as rehearsal:
        for file in _each(files):
            if file.suffix.lower() == ".csv":
                receivers += rehearsal.look_for(file, company_of(file, company, config.companies), document)
            elif file not in files and not (names_document(file.name) and is_named(file.name)):
                never_sent.append(file)
            else:
                whose = _company(file, company, config)
                documents.append(rehearsal.judge(file, whose))
                if whose.prepare.has_pdfs:
                    pdfs |= {file.with_name(pdf.name) for pdf, _ in pdfs_of(file)}
        causes = list(_causes(rehearsal, documents))
        troubles = rehearsal.directories.troubles
    never_sent = [file for file in never_sent if file not in pdfs]
    if as_json:
        show_json(_as_json(documents, receivers, causes, troubles) | {"never_sent": [str(file) for file in never_sent]})
    else:
        _show(documents, receivers, causes, troubles)
        if never_sent:
            names = _cut([file.name for file in never_sent])
            tell(f"Never sent, because of their names (outbound.files): {names}")
    well = ((SENDS, REACHABLE), (ASIDE, UNREACHABLE))
    is_well = all((rehearsed.verdict, rehearsed.reach) in well for rehearsed in documents)
    raise SystemExit(0 if is_well and all(receiver.reach == REACHABLE for receiver in receivers) else FAILED)


def _each(files: Iterable[Path]) -> Iterator[Path]:
    """The files, and those directly in each folder, by name. Raises FiledropError."""
    for file in files:
        if file.is_dir():
            yield from sorted(path for path in file.iterdir() if path.is_file() and not path.name.startswith("."))
        elif file.exists():
            yield file
        else:
            raise FiledropError(f"there is no file {file}; name documents, folders, or CSV files")


def _company(file: Path, name: str | None, config: Config) -> Company:
    """The company of this name, that in whose outbound folder the file is, or the only one. Raises UsageError."""
    whose = company_of(file, name, config.companies)
    if whose is None and len(config.companies) == 1:
        (whose,) = config.companies.values()
    if whose is None:
        names = listed(sorted(config.companies))
        raise click.UsageError(f"{file} is in no company's outbound folder; write --company and one of {names}")
    return whose


def _causes(rehearsal: Rehearsal, documents: Sequence[Rehearsed]) -> Iterator[Cause]:
    """What would fail, by its code, the most frequent first."""
    codes = Counter(rehearsed.fault.code for rehearsed in documents if rehearsed.fault)
    for code, _ in codes.most_common():
        alike = [rehearsed for rehearsed in documents if rehearsed.fault and rehearsed.fault.code == code]
        others = [rehearsed for rehearsed in documents if not rehearsed.fault or rehearsed.fault.code != code]
        yield Cause(code, alike, propose(rehearsal, alike, others))


def _show(
    documents: Sequence[Rehearsed], receivers: Sequence[Receiver], causes: Iterable[Cause], troubles: dict[str, str]
) -> None:
    if documents:
        say(f"{_counted(len(documents), 'document')}; nothing was sent.")
    for words, count in _counts(documents).items():
        say(f"  {count:>6}  {words}")
    _show_receivers_of(documents)
    _show_advice({rehearsed.document.receiver for rehearsed in documents if rehearsed.advises_aside})
    for cause in causes:
        _show_cause(cause)
    for rehearsed in documents:
        if rehearsed.verdict == NOT_READY:
            tell(f"{rehearsed.file} would wait: {rehearsed.why}")
    if receivers:
        _show_receivers(receivers)
    for account, why in troubles.items():
        tell(f"The directory of account {account} can't be asked: {why}")


def _show_receivers_of(documents: Sequence[Rehearsed]) -> None:
    sent = [rehearsed for rehearsed in documents if rehearsed.verdict == SENDS]
    for title, named in (
        ("not on Peppol", [rehearsed for rehearsed in documents if rehearsed.verdict == ASIDE]),
        ("receiver can't be reached", [rehearsed for rehearsed in sent if rehearsed.reach == UNREACHABLE]),
        ("receiver unknown", [rehearsed for rehearsed in sent if rehearsed.reach == UNKNOWN]),
        ("other ids than stated (BR-SBDH)", [rehearsed for rehearsed in sent if rehearsed.contradicts]),
    ):
        if named:
            _show_named(title, named)


def _show_advice(absent: Collection[str | None]) -> None:
    if absent:
        them = _counted(len(absent), "receiver")
        tell(f"The directory doesn't have {them}: to send their documents another way, set unreachable: aside")


def _show_receivers(receivers: Sequence[Receiver]) -> None:
    say(f"{_counted(len(receivers), 'receiver')}:")
    counts = Counter(receiver.reach for receiver in receivers)
    for reach, words in _REACHES.items():
        if counts[reach]:
            say(f"  {counts[reach]:>6}  {words}")
    for receiver in receivers:
        if receiver.why:
            say(f"  row {receiver.row}: {receiver.participant or '-'}: {receiver.why}")


def _counts(documents: Sequence[Rehearsed]) -> dict[str, int]:
    """How many documents these words are true of."""
    sent = [rehearsed for rehearsed in documents if rehearsed.verdict == SENDS]
    counts = Counter((rehearsed.verdict, "") for rehearsed in documents if rehearsed.verdict != SENDS)
    counts.update((SENDS, rehearsed.reach) for rehearsed in sent)
    counts[SENDS, "contradicts"] = sum(bool(rehearsed.contradicts) for rehearsed in sent)
    return {words: counts[key] for key, words in _VERDICTS.items() if counts[key]}


def _show_cause(cause: Cause) -> None:
    first, count = cause.documents[0], len(cause.documents)
    _show_named(cause.code, cause.documents)
    if cause.proposal is None:
        for line in (first.fault.hint if first.fault else "").splitlines():
            tell(f"  {line}")
    else:
        confirmed = _counted(cause.proposal.receivers, "receiver")
        tell(f"  This rule corrects {cause.proposal.corrects} of {count}. The directory confirms {confirmed}:")
        for line in cause.proposal.lines:
            say(f"    {line}")
        if cause.proposal.contradicts:
            tell(f"  {cause.proposal.contradicts} {_CONTRADICTING}.")


def _show_named(title: str, documents: Sequence[Rehearsed]) -> None:
    first = documents[0]
    say()
    say(f"{title}: {_counted(len(documents), 'document')}: {_cut([rehearsed.file.name for rehearsed in documents])}")
    if first.why:
        tell(f"  {first.file.name}: {first.why}")


def _cut(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:SHOWN])} and {more} more"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _as_json(
    documents: Iterable[Rehearsed], receivers: Iterable[Receiver], causes: Iterable[Cause], troubles: dict[str, str]
) -> dict[str, Any]:
    return {
        "documents": [
            {
                "file": str(rehearsed.file),
                "company": rehearsed.document.company,
                "verdict": rehearsed.verdict,
                "reach": rehearsed.reach,
                **{name: getattr(rehearsed.document, name) for name in IDS},
                "code": rehearsed.fault.code if rehearsed.fault else None,
                "why": rehearsed.why or None,
                "contradicts": list(rehearsed.contradicts),
            }
            for rehearsed in documents
        ],
        "causes": [
            {
                "code": cause.code,
                "documents": len(cause.documents),
                "rule": None if cause.proposal is None else "\n".join(cause.proposal.lines),
                "corrects": 0 if cause.proposal is None else cause.proposal.corrects,
            }
            for cause in causes
        ],
        "receivers": [{name: value or None for name, value in receiver._asdict().items()} for receiver in receivers],
        "unasked": troubles,
    }
