"""A received document as a page."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from benchmarks.frame import Bench, Figure, Must, case
from filedrop import readable
from tests.support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 20_000  # bytes, without what is embedded


def lines(size: int) -> bytes:
    """An invoice with as many lines as make it so large."""
    document = invoice()
    start, end = document.index(b"<cac:InvoiceLine>"), document.index(b"</Invoice>")
    line = document[start:end]
    return document[:start] + line * ((size - len(document)) // len(line) + 1) + document[end:]


@case("show")
def show(bench: Bench) -> Iterator[Figure]:
    """The page of an invoice of 20 KB, by the process that has made one already; and of one of 200 KB."""
    with closing(readable.Renderer()) as renderer:
        for size, most in ((SIZE, 100), (10 * SIZE, 1000)):
            document = lines(size)

            def made(document: bytes = document) -> float:
                begun = time.perf_counter()
                renderer.page([document], "invoice.xml", "en", {})
                return (time.perf_counter() - begun) * 1000

            made()
            (ours,) = bench.in_turn(made)
            yield Figure(f"{size // 1000} KB", "ms", ours.each(lambda taken: taken), Must(most=most))
