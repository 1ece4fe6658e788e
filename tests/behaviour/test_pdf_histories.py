"""Random histories of documents with PDFs: whatever people and failures do, no invoice gets another one's PDF."""

from __future__ import annotations

import base64
import random
import re
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import cut_after, instead, reset_before
from support.matrix import draw_seed
from support.prepared import PDF, Steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

STEPS = 60
MOSTLY = 0.8
_NUMBER = re.compile(rb"<cbc:ID>(\d+)</cbc:ID>")
_PDF = re.compile(rb"<cbc:EmbeddedDocumentBinaryObject[^>]*>([^<]*)<")


class History:
    """A random history. Each invoice has a number, and each PDF names the invoice that it was printed for."""

    def __init__(self, steps: Steps, chance: random.Random) -> None:
        self.told: list[object] = []  # for when it fails
        self._steps, self._chance = steps, chance
        self._outbound = steps.world.outbound
        self._documents: list[bytes] = []
        self._pdfs: dict[bytes, int] = {}  # each with the number of its invoice
        self._replaced: set[bytes] = set()
        self._late: dict[str, bytes] = {}  # files in `outbound/` that are still to be written

    def step(self) -> None:
        """Let something happen."""
        actions = {
            self.export: 5, self.write_late: 4, self.pass_on: 5, self.begin_and_stop: 4, self.refuse: 5, self.kill: 2,
            self.hold: 1, self.move_back: 3, self.retry: 1, self.correct: 5, self.replace_pdf: 2, self.take_back: 2,
        }  # fmt: skip
        (action,) = self._chance.choices(list(actions), list(actions.values()))
        action()
        self.check()

    def export(self, name: str = "") -> None:
        """Export an invoice, mostly with a PDF, one of the two a little later. A fixed name is used when it is free."""
        name = name or self._chance.choice(["export", f"d{len(self._documents)}", f"d{len(self._documents)}-2"])
        if self._is_in_use(name):
            return
        number = len(self._documents)
        self._documents.append(invoice(str(number)))
        files = [(f"{name}.xml", self._documents[number])]
        if self._chance.random() < MOSTLY:
            files.insert(self._chance.randrange(2), (f"{name}.pdf", self._printed(number)))
        self.told.append(("export", number, *(file for file, _ in files)))
        self._steps.world.put(self._outbound / files[0][0], files[0][1])
        self._late |= dict(files[1:])

    def write_late(self) -> None:
        """Write what is still to be written."""
        self.told.append(("write", *self._late))
        for name, content in self._late.items():
            self._steps.world.put(self._outbound / name, content)
        self._late.clear()

    def pass_on(self) -> None:
        """Let time pass."""
        seconds = self._chance.choice([3, 8, 30, 130, 300])
        self.told.append(("pass", seconds))
        self._steps.go_on(seconds)

    def begin_and_stop(self) -> None:
        """Let a few jobs be done, in any order."""
        self.told.append("some jobs")
        self._steps.life.touch()
        for _ in range(self._chance.randint(1, 12)):
            self._steps.life.turn()
            if jobs := self._steps.life.jobs:
                self._steps.life.do(self._chance.randrange(len(jobs)))
            else:
                self._steps.clock.pass_on(1.0)

    def refuse(self) -> None:
        """Let a request fail."""
        self.told.append("refuse")
        fault = self._chance.choice([instead(422, "no"), instead(500), instead(413, "large"), reset_before, cut_after])
        self._steps.world.front.next("POST /outbox", fault)

    def kill(self) -> None:
        """Kill filedrop, and start it."""
        self.told.append("kill")
        self._steps.again()

    def hold(self, *, is_end: bool = False) -> None:
        """Begin or end a hold."""
        if (file := self._outbound / "HOLD").exists():
            file.unlink()
        elif not is_end:
            file.touch()
        self.told.append(("hold", file.exists()))

    def move_back(self) -> None:
        """Move a failed document back: alone, with its PDF, or with all that is next to it."""
        if document := self._one_of("failed", "*.xml"):
            alone, pair = [".xml"], [".pdf", ".xml"]
            ends = self._chance.choice([alone, pair, [".xml.posted", ".xml.json", ".xml.why.txt", *pair]])
            self._move(document, ends)

    def take_back(self) -> None:
        """Move a document from `sending/` back, alone or with its PDF; none with a fixed name, which limits allow."""
        if document := self._one_of("sending", "d*.xml"):
            self._move(document, self._chance.choice([[".xml"], [".pdf", ".xml"]]))

    def retry(self) -> None:
        """Have filedrop send a failed document again."""
        if document := self._one_of("failed", "*.xml"):
            self.told.append(("retry", document.name))
            self._steps.world.filedrop("retry", "acme", document.name)

    def correct(self) -> None:
        """Delete a failed document, and export a corrected one under its name."""
        if document := self._one_of("failed", "*.xml"):
            self.told.append(("delete", document.name))
            document.unlink()
            self._steps.go_on(self._chance.choice([1, 30, 300]))
            self.export(document.stem)
            self._steps.go_on(5)

    def replace_pdf(self) -> None:
        """Replace a PDF by another print of the same invoice."""
        file = self._one_of(self._chance.choice(["sending", "failed", "."]), "*.pdf")
        if file and (before := file.read_bytes()) in self._pdfs:
            self.told.append(("replace", file))
            self._replaced.add(before)
            file.write_bytes(self._printed(self._pdfs[before]))

    def check(self) -> None:
        """Each invoice is sent once at most, and with a PDF of its own."""
        sent = self._sent()
        numbers = [number for number, _ in sent]
        assert len(numbers) == len(set(numbers))
        for number, content in sent:
            assert [self._pdfs.get(base64.b64decode(pdf)) for pdf in _PDF.findall(content)] == [number]

    def end(self) -> None:
        """Let all come to its end: no PDF is lost, and what was posted is next to the document that was dropped."""
        self.write_late()
        self.hold(is_end=True)
        self._steps.world.front.heal()
        self._steps.go_on(8000)
        self.check()
        files = {path.relative_to(self._outbound): path.read_bytes() for path in self._outbound.rglob("*.*")
                 if path.is_file()}  # fmt: skip
        assert not self._pdfs.keys() - self._replaced - set(files.values())
        for number, posted in self._sent():
            (document,) = (
                path for path, content in files.items()
                if path.parts[0] == "archive" and content == self._documents[number]
            )  # fmt: skip
            assert files[document.with_name(f"{document.name}.posted")] == posted
            assert self._pdfs[files[document.with_suffix(".pdf")]] == number
        assert not [path for path in files if path.parts[0] == "sending"]

    def _sent(self) -> list[tuple[int, bytes]]:
        return [(int(_NUMBER.findall(content)[0]), content) for content in self._steps.sent()]

    def _printed(self, number: int) -> bytes:
        pdf = PDF + b"%% invoice %d, print %d\n%%%%EOF\n" % (number, len(self._pdfs))
        self._pdfs[pdf] = number
        return pdf

    def _is_in_use(self, name: str) -> bool:
        names = f"{name}.xml", f"{name}.pdf"
        return any((self._outbound / file).exists() or file in self._late for file in names)

    def _one_of(self, place: str, pattern: str) -> Path | None:
        """A file whose name, and for a fixed name the first one, isn't in use in `outbound/`."""
        found = sorted((self._outbound / place).glob(pattern))
        free = [path for path in found if place == "." or not self._is_in_use(path.stem)]
        free = [path for path in free if not path.stem.startswith("export") or not self._is_in_use("export")]
        return self._chance.choice(free) if free else None

    def _move(self, document: Path, ends: list[str]) -> None:
        self.told.append(("move", document, ends))
        for file in (document.with_name(f"{document.stem}{end}") for end in ends):
            if file.exists():
                file.rename(self._outbound / file.name)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_histories_of_pdfs(make_world: Callable[..., World], clock: Clock, number: int) -> None:
    """Retries, kills, corrections and files moved by hand lead no invoice to another PDF, and lose none."""
    chance = random.Random(draw_seed() + number)  # noqa: S311 - it is to be repeated, not secret
    history = History(Steps(make_world, clock, prepare="{pdf: require}"), chance)
    try:
        for _ in range(STEPS):
            history.step()
        history.end()
    except BaseException as error:
        error.add_note("\n".join(map(str, history.told)))
        raise
