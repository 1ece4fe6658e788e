"""The XML of an invoice inside a PDF: Factur-X and ZUGFeRD embed it as a file (ISO 19005-3).

It is found by its name, or by its content: software gives it names of its own, and whole paths. pypdf is an extra
(`filedrop[pdf]`), and only the child process loads it.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from filedrop import identify
from filedrop.errors import DocumentError
from filedrop.readable.tree import NotReadable
from filedrop.texts.printable import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pypdf import PdfReader
    from pypdf.generic import EmbeddedFile

NAMES = frozenset(  # in lower case
    # Factur-X 1.0, 6.2.2, ZUGFeRD 1.0 and 2.0, and Order-X 1.0
    {"factur-x.xml", "xrechnung.xml", "zugferd-invoice.xml", "order-x.xml"}
)
ROOTS = frozenset(
    # UBL and CII, ZUGFeRD 1.0, Order-X
    {"Invoice", "CreditNote", "Order", "CrossIndustryInvoice", "CrossIndustryDocument", "SCRDMCCBDACIOMessageStructure"}
)
LARGEST_XML = 10_000_000  # bytes
MOST_NODES = 1000  # nodes of the tree of names, and files, that are looked at
_LIKE_THE_PAGE = ("/Alternative", "/Data", "/Source")  # what an invoice may be of the PDF (Factur-X 1.0, 6.2.3)
_SEPARATORS = re.compile(r"[/\\:]")  # of the folders in a name, by any system
_LONGEST_ERROR = 200  # letters
_DAMAGED = (  # what pypdf raises, besides its own errors; any other error ends the child process
    LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, AssertionError, zlib.error
)  # fmt: skip


class _File(NamedTuple):
    """A file in a PDF, with each of its names."""

    names: tuple[str, ...]
    file: EmbeddedFile


def xml_in(pdf: BinaryIO) -> tuple[str, bytes]:
    """The name and the content of the file with the invoice's XML. Raises NotReadable."""
    try:
        import pypdf  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        missing = "pypdf isn't installed: filedrop manual receive shows how to install it"
        raise NotReadable(f"can't be searched for its XML: {missing}") from None
    try:
        reader = pypdf.PdfReader(BytesIO(pdf.read()))
        if reader.is_encrypted and not reader.decrypt(""):  # tests/findings/pypdf-encrypted.sh
            raise NotReadable("can only be opened with a password: its XML can't be read")
        embedded = list(_embedded(reader))
        found = _by_name(embedded) or _by_content(embedded, (pypdf.errors.PyPdfError, *_DAMAGED))
    except pypdf.errors.DependencyError as error:  # tests/findings/pypdf-owner-password.sh
        raise NotReadable(f"is encrypted, and can't be searched for its XML: {error}") from error
    except (pypdf.errors.PyPdfError, *_DAMAGED) as error:
        why = one_line(f"{type(error).__name__}: {error}", _LONGEST_ERROR)
        raise NotReadable(f"can't be searched for its XML: the PDF is damaged ({why})") from error
    if found is None:
        raise NotReadable("has no XML of an invoice in it")
    if len(found[1]) > LARGEST_XML:
        raise NotReadable(f"has XML in it that is larger than {size(LARGEST_XML)}")
    return found


def _by_name(embedded: Iterable[_File]) -> tuple[str, bytes] | None:
    """The first file with a name of Factur-X, whatever folders are before it."""
    named = ((name, file) for names, file in embedded for name in names if _SEPARATORS.split(name)[-1].lower() in NAMES)
    return next(((name, file.content) for name, file in named), None)


def _by_content(embedded: Sequence[_File], errors: tuple[type[Exception], ...]) -> tuple[str, bytes] | None:
    """The only file that is an invoice or an order; those that are stated to be like the page come first.

    A file that can't be read hides no other. Raises NotReadable where there are several.
    """
    for is_related in (True, False):
        invoices: dict[bytes, str] = {}
        for names, file in embedded:
            if (file.associated_file_relationship in _LIKE_THE_PAGE) is not is_related:
                continue
            with suppress(*errors):
                content = file.content
                if len(content) <= LARGEST_XML and _is_invoice(content):
                    invoices.setdefault(content, names[0])
        if len(invoices) > 1:
            names_of_all = one_line(", ".join(invoices.values()), _LONGEST_ERROR)
            raise NotReadable(f"has several invoices in it ({names_of_all}): filedrop doesn't guess which is meant")
        if invoices:
            ((content, name),) = invoices.items()
            return name, content
    return None


def _is_invoice(content: bytes) -> bool:
    try:
        return identify.read(BytesIO(content), doctype="keep").root_name in ROOTS
    except DocumentError:
        return False


def _embedded(reader: PdfReader) -> Iterator[_File]:
    """The files in a PDF: those of its tree of names, then those that only `AF` lists; MOST_NODES at most.

    pypdf's `attachments` leaves out some of them (tests/findings/pypdf-associated.sh and tests/findings/pypdf-kids.sh).
    """
    from pypdf.generic import DictionaryObject, EmbeddedFile  # noqa: PLC0415 - an extra

    names = _resolved(reader.root_object, "/Names")
    listed = [("", item.get_object()) for item in _list(reader.root_object, "/AF")]
    for key, specification in [*_leaves(_resolved(names, "/EmbeddedFiles")), *listed][:MOST_NODES]:
        if isinstance(specification, DictionaryObject):
            stated = (key, _resolved(specification, "/UF"), _resolved(specification, "/F"))
            yield _File(tuple(str(name) for name in stated if name) or ("",), EmbeddedFile("", specification))


def _leaves(tree: object) -> list[tuple[object, object]]:
    """The names in a tree of names, each with its file specification, in their order. It reads MOST_NODES nodes."""
    nodes, seen, leaves = [tree], dict[int, object](), list[tuple[object, object]]()
    while nodes and len(seen) < MOST_NODES:
        node = nodes.pop()
        if id(node) not in seen:  # it may contain itself
            seen[id(node)] = node
            pairs = [item.get_object() for item in _list(node, "/Names")]
            leaves += zip(pairs[::2], pairs[1::2], strict=False)
            nodes += [kid.get_object() for kid in reversed(_list(node, "/Kids"))]
    return leaves


def _resolved(within: object, key: str) -> object:
    """A value in a dictionary of a PDF; None where this is none, or has no such key."""
    return within[key] if isinstance(within, dict) and key in within else None


def _list(within: object, key: str) -> list[Any]:
    """A list in a dictionary of a PDF; empty where there is none."""
    found = _resolved(within, key)
    return found if isinstance(found, list) else []
