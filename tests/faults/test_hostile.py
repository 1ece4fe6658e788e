"""Hostile input is harmless: documents, names, links and what lies in a share, the access point's words.

Nothing that filedrop writes opens in a spreadsheet or a browser: sidecars and status.json are JSON, notes plain text.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING, BUYER, INVOICE_ID, SELLER, invoice
from support.faults import instead
from support.matrix import is_full, quick

if TYPE_CHECKING:
    from pathlib import Path

    from support.world import World

ESCAPES = "\x1b[31mred\x1b[2J\nacme: forged\r\x07\u202etxt.exe\u200b"
BOMB = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 100) for n in range(1, 8))


def inside(before: bytes, within: bytes = b"") -> bytes:
    """An invoice with this before its root element, and that in its note."""
    document = invoice().replace(b"<Invoice", before + b"<Invoice", 1)
    return document.replace(b"Thank you", within + b"Thank you", 1)


def hostile() -> dict[str, tuple[bytes, str]]:
    """Documents of some megabytes, each with the error that it fails with."""
    return {
        "external entity": (inside(b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>', b"&x;"), "doctype"),
        "external subset": (inside(b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd">'), "doctype"),
        "parameter entity": (inside(b'<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>'), "doctype"),
        "billion laughs": (inside(b'<!DOCTYPE a [<!ENTITY l0 "lol">%s]>' % BOMB, b"&l7;"), "doctype"),
        "depth": (inside(b"", b"<a>" * 50_000 + b"</a>" * 50_000), "unreadable"),
        "endless tag": (inside(b"", b"<a %s/>" % b" ".join(b"a%d='1'" % n for n in range(500_000))), "unreadable"),
        "endless name": (inside(b"", b"<%s/>" % (b"a" * 5_000_000)), "unreadable"),
    }


def test_documents(world: World) -> None:
    """A document that wants to read, fetch, expand or pile up something fails with a note; the next one goes."""
    documents = hostile()
    for name, (content, _) in documents.items():
        world.put(world.outbound / f"{name}.xml", content)  # not dropped: the invariants would read it, and suffer
    world.drop("invoice.xml", invoice("2"))
    world.run_once()
    failed = {path.name: json.loads(path.read_bytes()) for path in world.outbound.glob("failed/*.xml.json")}
    codes = {name.removesuffix(".xml.json"): beside["error"]["code"] for name, beside in failed.items()}
    assert codes == {name: code for name, (_, code) in documents.items()}
    assert not [path for path in world.outbound.glob("failed/*.why.txt") if b"root:" in path.read_bytes()]
    assert world.accepted() == {"invoice.xml": 1}


def test_an_encoding_for_no_text(world: World) -> None:
    """A document that names Python's encoding for no text at all holds up no other."""
    world.put(world.outbound / "a.xml", b'<?xml version="1.0" encoding="undefined"?><Invoice/>')
    world.drop("invoice.xml", invoice("2"))
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}
    assert not [line for line in world.log() if line["event"] == "work.failed"]


READ = """
import resource, sys
from filedrop.identify import identify, read
with open(sys.argv[1], "rb") as file:
    read(file)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 24_000_000,) * 2)
with open(sys.argv[2], "rb") as file:
    reading = read(file)
    identify(reading)
print(reading.size)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process's memory is limited the POSIX way")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "each",
    [b"<a %s/>" % b" ".join(b"a%d='%s'" % (n, b"x" * 100) for n in range(1000)), b"<a b='%s'/>" % (b"x" * 2_000_000)],
    ids=["many", "long"],
)
def test_a_hundred_megabytes_of_attributes(tmp_path: Path, each: bytes) -> None:
    """A document of 100 MB of attributes is read with no more than 24 MB above what any other takes."""
    before, after = invoice().split(b"Thank you", 1)
    small, large = tmp_path / "small.xml", tmp_path / "large.xml"
    small.write_bytes(invoice())
    with large.open("wb") as file:
        file.write(before)
        for _ in range(100_000_000 // len(each)):
            file.write(each)
        file.write(after)
    done = subprocess.run([sys.executable, "-c", READ, small, large], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(large.stat().st_size), "")


FIND = """
import re, sys
from filedrop.identify import read
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        assert read(file, xpaths=["//Invoice/ID"]).xpaths == {"//Invoice/ID": "1001"}
    print(*re.findall("VmHWM: *(.*) kB", open("/proc/self/status").read().expandtabs()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory is read from /proc")
def test_what_xpaths_look_through(tmp_path: Path) -> None:
    """A document of 30 MB of attributes takes 30 MB more than any other, where a rule has an XPath."""
    tag = b"<a %s/>" % b" ".join(b"a%d='%s'" % (n, b"x" * 100) for n in range(1000))
    small, large = tmp_path / "small.xml", tmp_path / "large.xml"
    small.write_bytes(invoice())
    large.write_bytes(invoice().replace(b"Thank you", tag * (30_000_000 // len(tag)), 1))
    done = subprocess.run([sys.executable, "-c", FIND, small, large], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after - before < 30_000  # kilobytes


SWAP = """
import os, sys
folder, secret, draft, step = sys.argv[1:]
there = os.path.join(folder, "invoice.xml")
for number in range(0, 500, int(step)):
    with open(draft, "wb") as file:
        file.write(open(secret + ".own", "rb").read().replace(b"@number@", b"own %d" % number))
    os.rename(draft, there)
    for _ in range(number * 10):  # so that it is listed, opened, read or claimed by now
        os.path.lexists(there)
    os.symlink(secret, draft)
    os.rename(draft, there)
os.path.islink(there) and os.unlink(there)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links by everybody are POSIX")
def test_a_link_in_a_files_place(world: World) -> None:
    """A file that is replaced by a link again and again, at any moment: what the link leads to is never sent."""
    secret = world.base / "secret.xml"
    secret.write_bytes(invoice("secret"))
    (world.base / "secret.xml.own").write_bytes(invoice("@number@"))
    step = "1" if is_full() else "5"
    child = [sys.executable, "-c", SWAP, world.outbound, secret, world.base / "draft.xml", step]
    with world.service(watch=True), subprocess.Popen(child) as process:
        while process.poll() is None:
            (world.outbound / "HOLD").touch()  # wakes it
            (world.outbound / "HOLD").unlink()
        assert process.returncode == 0
        world.drop("last.xml", invoice("last"))
        world.until(lambda: world.places().get("last.xml", "").startswith("archive"))
    sent = [world.sandbox.store.content(message.msg_no) for message in world.sandbox.store.sent("acme")]
    assert not [content for content in sent if b">secret<" in content]
    assert len(sent) == len(set(sent))
    assert secret.read_bytes() == invoice("secret")


@pytest.mark.skipif(sys.platform == "win32", reason="sockets, devices and pipes are POSIX")
def test_what_is_no_file(world: World) -> None:
    """Sockets and devices that are called like documents are left alone, and nobody waits for them."""
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()  # noqa: PTH109 - a socket's path has at most 107 bytes
        os.chdir(world.outbound)
        try:
            listener.bind("socket.xml")
        finally:
            os.chdir(here)
        strange = {"socket.xml"}
        if os.geteuid() == 0:
            os.mknod(world.outbound / "device.xml", 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero: endless
            strange.add("device.xml")
        world.drop("invoice.xml", invoice())
        world.run_once()
        assert world.accepted() == {"invoice.xml": 1}
        assert strange <= {path.name for path in world.outbound.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX")
def test_a_pipe_in_a_sidecars_place(world: World) -> None:
    """A pipe that is called like a sidecar holds up nobody: no sweep, no status, no retry."""
    world.drop("failing.xml", invoice("1", receiver=None))
    world.run_once()
    beside = world.outbound / "failed" / "failing.xml.json"
    beside.unlink()
    os.mkfifo(beside)
    os.mkfifo(world.outbound / "failed" / "pipe.xml")
    os.mkfifo(world.outbound / "invoice.xml.json")
    world.drop("invoice.xml", invoice("2"))
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}
    assert "failing.xml: its sidecar is missing" in world.filedrop("status").stdout
    assert world.filedrop("retry", "--anyway", "acme", "pipe.xml").returncode == 1
    assert world.filedrop("retry", "--anyway", "acme", "failing.xml").returncode == 0


def test_a_sidecar_that_leads_elsewhere(world: World) -> None:
    """A link that is called like a sidecar is not followed: what it leads to is neither believed nor removed."""
    elsewhere = world.base / "elsewhere.json"
    elsewhere.write_text(json.dumps({"filedrop": 1, "id": "x", "error": {"message": "root:x:0:0"}}))
    failed = world.outbound / "failed"
    failed.mkdir()
    (failed / "theirs.xml").write_bytes(invoice())
    (failed / "theirs.xml.json").symlink_to(elsewhere)
    assert "root:x" not in world.filedrop("status").stdout
    assert elsewhere.exists()


def test_a_marker_without_end(world: World) -> None:
    """A marker that is no more than brackets makes its folder unavailable, and the daemon says so."""
    world.run_once()
    (world.outbound / ".filedrop").write_text("[" * 1_000_000)
    told = world.filedrop("status").stdout
    assert f"{world.outbound}: unavailable: its .filedrop can't be read as a marker" in told
    with world.service() as service:
        world.until(lambda: "can't be read as a marker" in service.accounts[0].pipelines[0].health.trouble)


@pytest.mark.parametrize(
    "word",
    [
        "../../etc/passwd",
        "CON",
        "AUX.xml",
        "a\nb\r\nacme: forged",
        "\u202egnp.exe\u200f",
        "9" * 10_000,
        "\u0085\u009b2J",
    ],
    ids=["a path", "CON", "AUX", "lines", "right to left", "10 kB", "C1"],
)
def test_ids_from_elsewhere(world: World, word: str) -> None:
    """Whatever ids a message has, its file has a safe and short name, and its sidecar one line for each."""
    world.sandbox.store.receive(
        sender=word,
        receiver=SELLER,
        document_id=INVOICE_ID.replace(BILLING, word),
        process_id=word,
        content=invoice(),
    )
    world.run_once()
    (document,) = world.delivered()
    assert document.name.isascii()
    assert document.name.isprintable()
    assert len(document.name) < 200
    assert not set(document.name) & set('<>:"/\\|?* ')
    beside = json.loads(document.with_name(f"{document.name}.json").read_bytes())
    for text in (beside[key] for key in ("sender", "document_id", "process_id")):
        assert text.isprintable()
        assert len(text) <= 2000
    assert {path.name for path in world.root.iterdir()} <= {"acme", "status.json"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
@pytest.mark.parametrize("form", quick(["console", "json"]))
def test_a_name_in_the_log(world: World, form: str) -> None:
    """A name can neither forge a line of the log nor drive the terminal of whoever reads it."""
    text = world.config_text() + f"log: {{format: {form}}}\n"
    world.config_text = lambda: text  # type: ignore[method-assign] # of this world
    world.drop(f"{ESCAPES}.xml", invoice("1", receiver=None))
    done = world.filedrop("run", "--once")
    said = done.stdout + done.stderr
    assert "red" in said
    for word in ("\x1b[31mred", "\x1b[2J", "\x07", "\u202e", "\u200b", "\r"):
        assert word not in said
    assert not [line for line in said.splitlines() if line.startswith("acme: forged")]
    if form == "json":
        assert all(json.loads(line) for line in done.stderr.splitlines())


def test_what_commands_show_of_the_access_point(world: World) -> None:
    """The access point's words drive no terminal, in whichever command they are shown."""
    word = "\u009b31mred\u202e\u0085acme: forged"
    message = f"""<message><message-meta-data><msg-no>1</msg-no><direction>{word}</direction><received>{word}</received>
      <peppol-header><sender>{word}</sender><receiver>{word}</receiver><document-id>u::{word}##{word}::1</document-id>
      </peppol-header></message-meta-data></message>"""
    archive = f"<messages-query-response><navigation/><messages>{message}</messages></messages-query-response>"
    pair = f"<DocumentID>u::Invoice##{word}::2.1</DocumentID><ProcessID>{word}</ProcessID>"
    accepts = (
        f"<directory-response><accepted-document-transfer>{pair}</accepted-document-transfer></directory-response>"
    )
    figures = f'<statistics><account name="{word}" contact_email="{word}"><messages total="1"/></account></statistics>'
    world.front.always("GET /messages", instead(200, archive))
    world.front.always("GET /directory", instead(200, accepts))
    world.front.always("GET /statistics", instead(200, figures))
    for command in (["messages"], ["lookup", BUYER, "Invoice"], ["statistics"], ["check"]):
        done = world.filedrop(*command)
        assert "31mred" in done.stdout or command == ["check"]
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))
        assert "\nacme: forged" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_what_check_shows(world: World) -> None:
    """Nor do a file's name and ids in `check`."""
    path = world.base / f"{ESCAPES}.xml"
    path.write_bytes(invoice("\u009b31m", f"0192:\u009b{SELLER[5:]}", process="\u009b\u202e", customization="\u009b2J"))
    for options in ([], ["--explain"]):
        done = world.filedrop("check", *options, str(path))
        assert "red" in done.stdout
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))
