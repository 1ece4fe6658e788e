"""Names of files: which ones can be a document's, which are free, and those of received documents."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from filedrop.files import Entry, identity_of
from filedrop.files.refusals import means_no_file
from filedrop.model.document import local_name
from filedrop.model.received_name import received_name, safe
from filedrop.texts.languages import marked
from filedrop.texts.printable import composed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from filedrop.files import Where
    from filedrop.identify import Reading
    from filedrop.model.message import Message

# Why a file isn't sent.
A_PDF = marked("it is a PDF: if it has an invoice in it (Factur-X, ZUGFeRD), export the XML itself")
PDF_WITH_INVOICE = marked("it is a PDF with an invoice in it: export the XML itself")
LONGEST_NAME = 200  # bytes (contract 1)
LONGEST_SUFFIX = 20  # letters of the suffix that a shortened name keeps
BESIDE = (".why.txt", ".json")  # suffixes of a document's note and sidecar
POSTED = ".posted"  # and of what was posted in its place
REJECTED_NOTE = ".rejected.txt"  # and of the note that it was rejected
NEVER_DOCUMENTS = (*BESIDE, POSTED, REJECTED_NOTE)
PDF_SUFFIXES = (".pdf", ".PDF", ".Pdf")  # of a PDF that belongs to a document, which has its stem
_IGNORED_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})  # in lower case
_SYSTEM_NAMES = frozenset(  # what operating systems and storage boxes put into shares, in lower case
    {"lost+found", "$recycle.bin", "recycler", "system volume information", "@eadir", "#recycle", "#snapshot",
     "@recycle", "@recently-snapshot", "~snapshot", "network trash folder", "temporary items", "dfsrprivate", "@tmp",
     "ehthumbs.db"}
)  # fmt: skip
_IGNORED_BEGINNINGS = (".", "~")
_TEMPORARY_ENDINGS = (".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp", ".lock", "~")
_IGNORED_ENDINGS = (*_TEMPORARY_ENDINGS, *NEVER_DOCUMENTS)
# What clients that synchronize folders add to the name of the version that lost: Syncthing, Nextcloud, Seafile,
# ownCloud, Synology, and Dropbox in the person's language, with a date. The name of a person or computer may be in it,
# with brackets of its own.
_CONFLICT = re.compile(
    r"\.sync-conflict-\d{8}-\d{6}(-\w+)?(\.|$)|_conflict(_.+)?-\d{8}-\d{6}(\.|$)"
    r"|_[a-z]{3}-\d\d-\d{6}-\d{4}_conflict(\.|$)|\((SFConflict|conflict) .*\d{4}-\d\d-\d\d.*\)"
    r"|\((.* )?conflicted copy\)"
    r"|\((?=.*(con?flic?t|konflikt|m[od][td]stridende|ristiriit))(?=.*(cop[yi]|kopi)).*\d{4}-\d\d-\d\d( \d+)?\)",
    re.IGNORECASE,
)
_GIVEN = "-([2-9]|[1-9][0-9]{1,8})"  # a number that filedrop has given to a name
_NUMBER = re.compile(rf"{_GIVEN}(?=(\.[^.]*)?$)")
_ATTACHED = re.compile("-(?=[0-9]{1,3}-)")  # behind the name of the document
_STATED_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")


class Names:
    """A set of hashes of very many names, in eight bytes each. Two of 100,000 collide once in 3,000 million cases."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._hashes = array("q", map(hash, names))
        self._is_sorted = False

    def add(self, name: str) -> None:
        """Add a name."""
        self._hashes.append(hash(name))
        self._is_sorted = False

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, name: object) -> bool:
        if not self._is_sorted:
            self._hashes = array("q", sorted(self._hashes))
            self._is_sorted = True
        wanted = hash(name)
        index = bisect_left(self._hashes, wanted)
        return index < len(self._hashes) and self._hashes[index] == wanted


def names_document(name: str) -> bool:
    """Whether a file with this name can be a document at all (contract 1, "Never documents")."""
    lower = name.lower()
    is_ignored = name.startswith(_IGNORED_BEGINNINGS) or lower.endswith(_IGNORED_ENDINGS) or lower in _IGNORED_NAMES
    return not is_ignored and not is_conflict_copy(name)


def is_conflict_copy(name: str) -> bool:
    """Whether a client that synchronizes folders gave this name to the version that lost a conflict."""
    return _CONFLICT.search(name) is not None


def is_temporary(name: str) -> bool:
    """Whether the name is that of a file that a program is still writing, or keeps while it works."""
    return name.startswith(_IGNORED_BEGINNINGS) or name.lower().endswith(_TEMPORARY_ENDINGS)


def is_of_the_system(name: str) -> bool:
    """Whether the name is that of something that operating systems put into shares by themselves."""
    lower = name.lower()
    return lower in _IGNORED_NAMES or lower in _SYSTEM_NAMES or name.startswith("._")


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that returns whether a name matches one of the patterns (`*.xml`), ignoring case.

    Name and patterns are compared as they are written, then with all letters composed: composing can change a pattern.
    """

    def match_any(patterns: Iterable[str]) -> Callable[[str], object]:
        return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns), re.IGNORECASE).match

    as_written, in_composed = match_any(patterns), match_any(map(composed, patterns))
    return lambda name: as_written(name) is not None or in_composed(composed(name)) is not None


def numbered(name: str, number: int) -> str:
    """The n-th name for a file: `invoice.xml`, `invoice-2.xml`, `invoice-3.xml`."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    return name if number == 1 else f"{stem}-{number}{suffix}"


def unnumbered(name: str) -> str:
    """The name without the number that filedrop may have given it: `invoice.xml` of `invoice-2.xml`."""
    return _NUMBER.sub("", name)


def shortened(name: str) -> str:
    """A name of at most 200 bytes with the same suffix."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    while len(os.fsencode(stem + suffix)) > LONGEST_NAME:
        stem, suffix = stem[:-1], suffix[:LONGEST_SUFFIX]
    return stem + suffix


def may_be_given(name: str, dropped_as: str) -> bool:
    """Whether filedrop may have given `name` to a file dropped as `dropped_as`: unchanged, shortened or numbered."""
    wanted = shortened(dropped_as)
    stem, suffix = os.path.splitext(wanted)  # noqa: PTH122 - a name, not a path
    is_numbered = re.fullmatch(f"{re.escape(stem)}{_GIVEN}{re.escape(suffix)}", name)
    return name in (dropped_as, wanted) or is_numbered is not None


def may_be_renamed(name: str) -> bool:
    """Whether filedrop may have given this name to a file with another own name. False for nearly all names."""
    return may_be_shortened(name) or _NUMBER.search(name) is not None


def may_be_shortened(name: str) -> bool:
    """Whether the name may be what filedrop made of a longer one. False for nearly all names."""
    suffix = os.path.splitext(name)[1]  # noqa: PTH122 - a name, not a path
    # A shortened name lacks less than a letter of the limit, unless its suffix was cut, too.
    return len(os.fsencode(name)) > LONGEST_NAME - 4 or len(suffix) >= LONGEST_SUFFIX


def is_taken(entry: Entry, ends: Iterable[str] = BESIDE) -> bool:
    """Whether the file exists, or one with such an ending beside it. Raises OSError."""
    return entry.exists() or any(beside(entry, end).exists() for end in ends)


def beside(document: Entry, end: str) -> Entry:
    """What is beside a document: its name and this ending, or for a PDF, its stem and that."""
    return document.with_name(pdf_name(document.name, end)) if is_pdf_name(end) else document.beside(end)


def pdfs_of(document: Where) -> list[tuple[Where, os.stat_result]]:
    """The PDFs of a document's name, with their status: mostly one. Raises OSError."""
    found: dict[object, tuple[Where, os.stat_result]] = {}  # where case doesn't count, all spellings are one file
    is_upper = document.name.removeprefix(stem(document.name)).isupper()  # so is the PDF's suffix, most likely
    for suffix in sorted(PDF_SUFFIXES, key=lambda suffix: suffix.isupper() != is_upper):
        pdf = document.with_name(pdf_name(document.name, suffix))
        try:
            status = pdf.lstat()
        except OSError as error:
            if means_no_file(error):
                continue
            raise
        if stat.S_ISREG(status.st_mode):
            same = identity_of(status, pdf.directory.abilities) if isinstance(pdf, Entry) else status.st_ino
            found.setdefault(same, (pdf, status))
    return list(found.values())


def pdfs_beside(document: Where, is_document: Callable[[str], bool]) -> list[str]:
    """The names of the PDFs that move with a document; none of those that are documents. Raises OSError."""
    return [pdf.name for pdf, _ in pdfs_of(document) if not is_document(pdf.name)]


def pdf_name(document: str, pdf: str) -> str:
    """The name of the PDF beside a document of this name: with the suffix of `pdf`, which is a name or the suffix."""
    return f"{stem(document)}{pdf[-len(PDF_SUFFIXES[0]) :]}"


def is_pdf_name(name: str) -> bool:
    """Whether a file with this name may be the PDF of a document."""
    return name.endswith(PDF_SUFFIXES)


def stem(name: str) -> str:
    """The name without its suffix."""
    return os.path.splitext(name)[0]  # noqa: PTH122 - a name, not a path


def inbound_name(pattern: str, message: Message, reading: Reading) -> str:
    """The name of a received document by a pattern (`inbound.name`), of safe letters only; `/` leads into folders."""
    values = {
        "date": _received_day(message),
        "number": reading.number or "",
        "msg_no": str(message.msg_no),
        "type": local_name(message.document_id) or reading.root_name,
        "sender": message.sender or "",
        "sender_name": reading.sender_name or "",
    }
    return received_name(pattern, values)


def attachment_name(document: str, number: int, stated: str | None, suffix: str) -> str:
    """`{document}-{number}-{stated name}{suffix}`, of safe letters only, beside a received document of this name."""
    last = re.split(r"[/\\]", stated or "")[-1]
    return f"{_stem(document)}-{number}-{safe(_STATED_SUFFIX.sub('', last) or 'attachment')}{suffix}"


def is_attachment_of(name: str, document: str) -> bool:
    """Whether this may be the name of an attachment of the received document with that name.

    Which ones are, its sidecar says, but others can write into that.
    """
    numbered_one = re.match(rf"{re.escape(_stem(document))}-[0-9]{{1,3}}-", name) is not None
    return numbered_one or name == with_suffix(document, ".pdf")


def page_name(document: str) -> str:
    """The name of the page that shows a received document."""
    return with_suffix(document, ".html")


def with_suffix(document: str, suffix: str) -> str:
    """The name of a received document with another suffix."""
    return f"{_stem(document)}{suffix}"


def is_received(name: str) -> bool:
    """Whether a file with this name may be a received document, rather than an attachment, page or sidecar."""
    return names_document(name) and name.lower().endswith(".xml")


def answer_name(folder: str, number: str) -> str:
    """`{folder}-{number}.xml`, of safe letters only: the answer to a document of this number that a person moved."""
    return f"{folder}-{safe(number)}.xml"


def goes_with(name: str, received: Container[str]) -> bool:
    """Whether a file is the page or an attachment of one of these received documents, given without `.xml`."""
    stem = os.path.splitext(name)[0]  # noqa: PTH122 - a name, not a path
    return stem in received or any(name[: number.start()] in received for number in _ATTACHED.finditer(name))


def _received_day(message: Message) -> str:
    """The day on which the access point received a message, as it wrote that: `20261120`, or zeros."""
    day = (message.received or "")[:10].replace("-", "")
    return day if len(day) == 8 and day.isdecimal() and day.isascii() else "00000000"  # noqa: PLR2004 - as 20261120


def _stem(document: str) -> str:
    return document.removesuffix(".xml")
