"""`filedrop show`."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from cli.conftest import COMMAND, PROJECT
from support.disks import mounted
from support.documents import invoice, with_attachments

from filedrop.readable import rendering

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from cli.conftest import Filedrop
    from support.world import World


def test_a_file(filedrop: Filedrop, tmp_path: Path) -> None:
    """A document is shown for reading without any configuration, in the language that is asked for."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    shown = filedrop("show", file)
    assert shown.returncode == 0
    assert shown.stdout.startswith("Invoice 1001\n")
    assert "To be paid         1,250.00 NOK" in shown.stdout
    assert "Att betala" in filedrop("show", file, "--language", "sv").stdout
    told = json.loads(filedrop("show", file, "--json").stdout)
    assert (told["title"], told["number"]) == ("Invoice", "1001")


def test_one_that_takes_too_long(filedrop: Filedrop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of pages hold here, too: whoever shows a stranger's document gets a sentence."""
    monkeypatch.setattr(rendering, "SECONDS", 0.01)
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice())
    shown = filedrop("show", file)
    assert shown.returncode == 1
    assert f"{file} can't be shown: it took longer than 0.01 seconds" in shown.stderr


def test_the_standard_input() -> None:
    """What another program writes can be shown, too."""
    command = [*COMMAND, "show", "-"]
    done = subprocess.run(command, cwd=PROJECT, input=invoice(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Invoice 1001\n")


def test_as_a_page(filedrop: Filedrop, tmp_path: Path) -> None:
    """`--html` writes a page, and overwrites nothing."""
    file, page = tmp_path / "invoice.xml", tmp_path / "page.html"
    file.write_bytes(invoice())
    assert filedrop("show", file, "--html", page).returncode == 0
    assert "Blueberry jam" in page.read_text()
    page.write_text("mine")
    again = filedrop("show", file, "--html", page)
    assert again.returncode == 1
    assert "name another with --html" in again.stderr
    assert page.read_text() == "mine"


def test_its_attachments(filedrop: Filedrop, tmp_path: Path) -> None:
    """A page links to the attachments that lie beside it, and to nothing that a sidecar makes up."""
    file = tmp_path / "in.xml"
    file.write_bytes(
        with_attachments(invoice(), ("a.pdf", "", b"%PDF-"), ("b.pdf", "", b"%PDF-"), ("c.pdf", "", b"%PDF-"))
    )
    names = ["in-1-a.pdf", "../secret", "javascript:alert(1)"]
    (tmp_path / "in.xml.json").write_text(
        json.dumps({"filedrop": 1, "attachments": [{"file": name} for name in names]})
    )
    (tmp_path / "in-1-a.pdf").write_bytes(b"%PDF-")
    assert filedrop("show", file, "--html", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("href=") == 1
    assert 'href="./in-1-a.pdf"' in page


def test_a_disk_that_is_full(filedrop: Filedrop, tmp_path: Path) -> None:
    """Nothing is left of a page that a disk has no room for."""
    (tmp_path / "invoice.xml").write_bytes(invoice())
    with mounted(tmp_path / "disk", size="4k") as disk:
        shown = filedrop("show", tmp_path / "invoice.xml", "--html", disk.path / "page.html")
        assert shown.returncode == 1
        assert "name another with --html" in shown.stderr
        assert list(disk.path.iterdir()) == []


def test_a_message(filedrop: Filedrop, world: World) -> None:
    """A message number has its document fetched from the access point, whether or not it was delivered."""
    number = world.receive(invoice("77"))
    assert filedrop("show", number).stdout.startswith("Invoice 77\n")
    assert filedrop("show", 999).returncode == 1


def test_what_cannot_be_shown(filedrop: Filedrop, tmp_path: Path) -> None:
    """A file that isn't there, or is no XML, is named in a sentence."""
    text = tmp_path / "text.xml"
    text.write_text("Dear Sirs,")
    assert "is not well-formed XML (line 1" in filedrop("show", text).stderr
    missing = filedrop("show", tmp_path / "none.xml")
    assert missing.returncode == 1
    assert "can't be read" in missing.stderr


def test_what_drives_a_terminal(filedrop: Filedrop, tmp_path: Path) -> None:
    """Nothing in a document drives the terminal, or turns the words around it."""
    file = tmp_path / "invoice.xml"
    file.write_bytes(invoice(note="\u009b31m \u202eevil", number="\u200b\u2066x"))
    shown = filedrop("show", file).stdout
    assert all(line.isprintable() or not line for line in shown.splitlines())
