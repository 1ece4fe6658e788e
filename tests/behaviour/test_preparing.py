"""What is posted gets the ids of the request, and the dropped file stays; nothing is lost or sent twice by that."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER, invoice
from support.faults import cut_after, instead, reset_before
from support.prepared import STATED, Steps, posted, stated
from support.sharing import on_a_share
from support.stepping import Life

from filedrop.files import patience
from filedrop.outbound.preparing import prepare
from filedrop.outbound.strays import COPY_ALONE
from filedrop.outbound.upload import OpenedDocument

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World


@pytest.fixture
def steps(make_world: Callable[..., World], clock: Clock) -> Steps:
    return Steps(make_world, clock)


def test_ids_that_a_rule_sets(steps: Steps) -> None:
    """The posted document has the ids of the request, and is next to the dropped one, which stays as it was."""
    steps.drop("invoice.xml", stated("1"))
    steps.settle()
    assert steps.world.places() == {"invoice.xml": "archive/2020-06"}
    assert steps.sent() == [posted(stated("1"))]
    said = steps.world.sidecar("invoice.xml")
    assert said["posted"]["changed"] == {"receiver": [STATED, BUYER]}
    assert said["size"] == len(stated("1"))
    assert not said["warnings"]
    assert steps.events("invoice.xml")[:3] == ["claimed", "prepared", "sending"]
    assert steps.lying() == {f"archive/2020-06/invoice.xml{end}" for end in ("", ".json", ".posted")}
    told = steps.world.filedrop("history", "invoice.xml").stdout
    assert f"posted as invoice.xml.posted: the receiver's EndpointID {STATED} becomes {BUYER}" in told
    assert "prepared: receiver\n" in told


def test_nothing_to_change(steps: Steps) -> None:
    """A document that states the ids of the request is posted as it is."""
    steps.drop("invoice.xml", invoice("1"))
    steps.settle()
    assert steps.sent() == [invoice("1")]
    assert "posted" not in steps.world.sidecar("invoice.xml")
    assert steps.lying() == {"archive/2020-06/invoice.xml", "archive/2020-06/invoice.xml.json"}


def test_signed(steps: Steps) -> None:
    """A document in which nothing can be changed fails in words, and nothing is posted."""
    signature = b'<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/><cbc:Note>'
    steps.drop("invoice.xml", stated("1").replace(b"<cbc:Note>", signature))
    steps.settle()
    assert steps.world.error("invoice.xml") == "not-prepared"
    assert not steps.sent()
    assert steps.lying() == {f"failed/invoice.xml{end}" for end in ("", ".json", ".why.txt")}


def test_rejected_and_moved_back(steps: Steps) -> None:
    """What was refused lies in failed/ with what was posted; moved back as a whole or alone, it is sent once."""
    for name in ("whole.xml", "alone.xml"):
        steps.drop(name, stated(name), instead(422, "no"))
        assert f"failed/{name}.posted" in steps.lying()
    failed = steps.world.outbound / "failed"
    for path in failed.glob("whole.xml*"):
        path.rename(steps.world.outbound / path.name)
    (failed / "alone.xml").rename(steps.world.outbound / "alone.xml")
    steps.settle()
    assert sorted(steps.sent()) == sorted(posted(stated(name)) for name in ("whole.xml", "alone.xml"))
    assert not [name for name in steps.lying() if not name.startswith("archive/")]


def test_retry_after_a_change_of_settings(steps: Steps) -> None:
    """What has failed and is moved back is prepared by the settings of then; what was posted before is gone."""
    steps.drop("invoice.xml", stated("1"), instead(422, "no"))
    steps.again(prepare="{ids: false}")
    for path in (steps.world.outbound / "failed").glob("invoice.xml*"):
        path.rename(steps.world.outbound / path.name)
    steps.go_on(3600)
    assert steps.sent() == [stated("1")]
    assert steps.lying() == {"archive/2020-06/invoice.xml", "archive/2020-06/invoice.xml.json"}


def test_lost_answer(steps: Steps) -> None:
    """A document whose answer was lost is found by what was posted, also if it has no number."""
    content = stated("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.drop("invoice.xml", content, cut_after)
    steps.settle()
    assert steps.events("invoice.xml").count("sending") == 1
    assert "found" in steps.events("invoice.xml")
    assert steps.sent() == [posted(content)]


UNCLEAR = [(reset_before, 2), (instead(503), 2), (instead(429), 2), (cut_after, 1)]  # with the attempts in all


@pytest.mark.parametrize(("fault", "attempts"), UNCLEAR)
def test_same_bytes_again(steps: Steps, fault: Any, attempts: int) -> None:
    """Each retry posts what was posted first, also after the setting was turned off; what arrived is found."""
    steps.world.front.always("GET /messages", instead(500))
    content = stated("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.drop("invoice.xml", content, fault, seconds=3)
    steps.again(prepare="{ids: false}")
    assert "sending/invoice.xml.posted" in steps.lying()
    steps.world.front.heal()
    steps.settle()
    assert steps.sent() == [posted(content)]
    assert [steps.events("invoice.xml").count(event) for event in ("prepared", "sending")] == [1, attempts]


@pytest.mark.parametrize("content", [None, b"", b"<Invoice/>", posted(invoice("other"))])
def test_copy_that_is_gone_or_another(steps: Steps, content: bytes | None) -> None:
    """A copy that somebody has removed, cut or replaced is made again for a document that never arrived."""
    steps.drop("invoice.xml", stated("1"), instead(503, ""), seconds=6)
    copy = steps.world.outbound / "sending" / "invoice.xml.posted"
    assert copy.read_bytes() == posted(stated("1"))
    copy.unlink()
    if content is not None:
        copy.write_bytes(content)
    steps.settle()
    assert steps.sent() == [posted(stated("1"))]


@pytest.mark.parametrize("content", [b"", posted(invoice("other"))])
def test_copy_that_is_another_and_no_longer_wanted(steps: Steps, content: bytes) -> None:
    """A document that is sent as it is, since its copy was replaced and the setting turned off, keeps no copy."""
    steps.drop("invoice.xml", stated("1"), instead(503, ""), seconds=6)
    (steps.world.outbound / "sending" / "invoice.xml.posted").write_bytes(content)
    steps.again(prepare="{ids: false}")
    steps.go_on(3600)
    assert steps.sent() == [stated("1")]
    assert steps.lying() == {"archive/2020-06/invoice.xml", "archive/2020-06/invoice.xml.json"}


def test_copy_that_is_gone_in_doubt(steps: Steps) -> None:
    """Without the copy, a document in doubt is found nevertheless: the journal knows what was posted.

    Sidecar and history say that there is no copy.
    """
    content = stated("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.world.front.always("GET /messages", instead(500))
    steps.drop("invoice.xml", content, cut_after)
    (steps.world.outbound / "sending" / "invoice.xml.posted").unlink()
    steps.world.front.heal()
    steps.go_on(3600)
    assert steps.sent() == [posted(content)]
    assert steps.world.places() == {"invoice.xml": "archive/2020-06"}
    assert steps.world.sidecar("invoice.xml")["posted"]["file"] is None
    assert "posted as a file that isn't there any more: the" in steps.world.filedrop("history", "invoice.xml").stdout


def test_duplicates(steps: Steps) -> None:
    """What was dropped before is a duplicate, and so is what was posted for it."""
    steps.drop("first.xml", stated("1"))
    steps.drop("again.xml", stated("1").replace(b"  <cbc:Note>", b" <cbc:Note>"))
    steps.drop("posted.xml", posted(stated("1")))
    steps.go_on(3600)
    assert len(steps.sent()) == 1
    assert [steps.world.error(name) for name in ("again.xml", "posted.xml")] == ["duplicate", "duplicate"]
    assert not [name for name in steps.lying() if name.endswith(".posted") and "archive" not in name]


def test_journal_that_is_lost(steps: Steps) -> None:
    """With a new journal, what was posted is known: nothing is sent again, and a duplicate is refused."""
    steps.drop("done.xml", stated("1"))
    content = stated("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.world.front.always("GET /messages", instead(500))
    steps.drop("doubtful.xml", content, cut_after)
    assert steps.world.places()["doubtful.xml"] == "sending"
    steps.life.drop()
    steps.world.front.heal()
    for path in steps.world.state.glob("journal*"):
        path.unlink()
    for marker in steps.world.root.rglob(".filedrop"):
        marker.unlink()
    steps.life = Life(steps.world, steps.clock)
    steps.begin()
    steps.settle()
    assert len(steps.sent()) == 2
    steps.drop("posted.xml", posted(stated("1")))
    steps.go_on(3600)
    assert steps.world.error("posted.xml") == "duplicate"


def test_copy_that_somebody_has_planted(steps: Steps) -> None:
    """A copy of which no journal knows is never posted."""
    steps.drop("invoice.xml", stated("1"), instead(503, ""), seconds=6)
    steps.life.drop()
    for path in (*steps.world.state.glob("journal*"), *steps.world.root.rglob(".filedrop")):
        path.unlink()
    (steps.world.outbound / "sending" / "invoice.xml.posted").write_bytes(posted(stated("2")))
    steps.life = Life(steps.world, steps.clock)
    steps.begin()
    steps.settle()
    assert steps.sent() == [posted(stated("1"))]


def test_older_journal(steps: Steps) -> None:
    """With an older copy of the journal, which knows nothing of the request, what was posted is found."""
    content = stated("x").replace(b"<cbc:ID>x</cbc:ID>", b"")
    steps.drop("first.xml", stated("1"))
    (steps.world.outbound / "HOLD").touch()
    steps.drop("doubtful.xml", content)
    steps.life.stop()
    before = steps.world.copy_of_journal()
    steps.life = Life(steps.world, steps.clock)
    steps.world.front.always("GET /messages", instead(500))
    steps.world.front.next("POST /outbox", cut_after)
    (steps.world.outbound / "HOLD").unlink()
    steps.go_on(60)
    assert steps.world.places()["doubtful.xml"] == "sending"
    assert len(steps.sent()) == 2
    steps.life.drop()
    steps.world.put_back(before)
    steps.world.front.heal()
    steps.life = Life(steps.world, steps.clock)
    steps.begin()
    steps.settle()
    assert len(steps.sent()) == 2


def test_sender_without_an_id(make_world: Callable[..., World], clock: Clock) -> None:
    """The company's own id is written into a document that states no sender."""
    steps = Steps(make_world, clock)
    steps.world.posted = lambda content: content
    steps.world.put(steps.world.outbound / "invoice.xml", invoice("1", sender=None))
    steps.go_on(3600)
    (sent,) = steps.sent()
    assert f'schemeID="0192">{SELLER[5:]}<'.encode() in sent


def test_commands(steps: Steps, tmp_path: Path) -> None:
    """What would be posted is printed, validated and shown, and each command says why something can't be."""
    world, file, signed = steps.world, tmp_path / "invoice.xml", tmp_path / "signed.xml"
    file.write_bytes(stated("1"))
    signed.write_bytes(
        stated("2").replace(b"<cbc:Note>", b'<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/><cbc:Note>')
    )
    done = world.filedrop("check", str(file), "-o", str(tmp_path / "posted.xml"))
    assert done.returncode == 0
    assert (tmp_path / "posted.xml").read_bytes() == posted(stated("1"))
    assert f"posted       the receiver's EndpointID {STATED} becomes {BUYER}" in done.stdout
    done = world.filedrop("check", str(signed), "-o", str(tmp_path / "none.xml"))
    assert done.returncode == 1
    assert "is signed" in done.stdout
    assert not (tmp_path / "none.xml").exists()
    assert "what is posted differs from what is dropped (ids)" in world.filedrop("check").stdout
    world.put(world.outbound / "invoice.xml", stated("1"))
    world.put(world.outbound / "signed.xml", signed.read_bytes())
    documents = json.loads(world.filedrop("check", "--json", str(world.outbound)).stdout)["documents"]
    assert [(document["verdict"], document["posted"], document["contradicts"]) for document in documents] == [
        ("would send", {"receiver": [STATED, BUYER]}, []),
        ("would fail", {}, []),
    ]


def test_copy_that_cannot_be_written(steps: Steps) -> None:
    """Where the copy can't be written, nothing is posted; a note says why after five minutes, and then it is sent."""
    hindrance = steps.world.outbound / "sending" / "invoice.xml.posted"
    (steps.world.outbound / "HOLD").touch()
    steps.drop("invoice.xml", stated("1"))
    hindrance.mkdir()
    (hindrance / "file").touch()  # no rename replaces a folder that isn't empty
    (steps.world.outbound / "HOLD").unlink()
    steps.go_on(900)
    assert not steps.sent()
    assert steps.world.places() == {"invoice.xml": "sending"}
    note = (steps.world.outbound / "sending" / "invoice.xml.why.txt").read_text("utf-8")
    assert "What is to be sent can't be written at the moment." in note
    assert "invoice.xml.posted" in note
    (hindrance / "file").unlink()
    hindrance.rmdir()
    steps.settle()
    assert steps.sent() == [posted(stated("1"))]


def test_copy_on_a_share_that_hangs(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a share that doesn't bring a copy to its disk: the document waits, and is sent later."""
    (steps.world.outbound / "HOLD").touch()
    steps.drop("invoice.xml", stated("1"))
    pipeline = steps.life.service.accounts[0].pipelines[0]
    (document,) = steps.life.journal.documents.lying_in(pipeline.folder.id, "sending")
    may_end, flush = threading.Event(), os.fsync

    def hang(descriptor: int) -> None:
        if threading.current_thread().name == "patience":
            may_end.wait()
        flush(descriptor)

    with monkeypatch.context() as changed, pipeline.folder.in_use():
        changed.setattr(patience, "UNAVAILABLE_AFTER", 0.2)
        changed.setattr(os, "fsync", hang)
        on_a_share(pipeline.folder)
        opened = OpenedDocument.open(pipeline.folder.at("sending") / "invoice.xml")
        with closing(opened):
            opened.read(None)
            judgement = prepare(pipeline._shared, pipeline.folder, document, opened)
    may_end.set()
    assert not judgement.passes
    assert "has not answered" in judgement.document.needs_why
    (steps.world.outbound / "HOLD").unlink()
    steps.settle()
    assert steps.sent() == [posted(stated("1"))]


def test_setting_that_is_turned_on_later(steps: Steps) -> None:
    """A document that was posted as it is stays as it is; one that was never posted gets the ids."""
    steps.again(prepare="{ids: false}")
    steps.world.front.always("POST /outbox", instead(503))
    steps.world.put(steps.world.outbound / "tried.xml", stated("1"))
    steps.go_on(60)
    steps.again(prepare="{ids: true}")
    steps.world.put(steps.world.outbound / "new.xml", stated("2"))
    steps.go_on(60)
    steps.world.front.heal()
    steps.go_on(3600)
    assert sorted(steps.sent()) == sorted([stated("1"), posted(stated("2"))])


def test_setting_that_is_turned_off_before_the_request(steps: Steps) -> None:
    """A document that was prepared, and whose turn didn't come before the setting was off, is sent without a copy."""
    steps.world.put(steps.world.outbound / "invoice.xml", stated("1"))
    steps.life.touch()
    for _ in range(10):
        steps.life.turn()
        steps.life.do_all(but="judge")
        steps.clock.pass_on(1)
    steps.life.do_each("judge")
    assert "sending/invoice.xml.posted" in steps.lying()
    steps.again(prepare="{ids: false}")
    steps.go_on(3600)
    assert steps.sent() == [stated("1")]
    assert steps.lying() == {"archive/2020-06/invoice.xml", "archive/2020-06/invoice.xml.json"}


def prepare_without_sending(steps: Steps) -> Path:
    """Drop a document, and let all happen but its request; its copy."""
    steps.world.drop("invoice.xml", stated("1"))
    steps.life.touch()
    for _ in range(4):
        steps.life.turn()
        steps.life.do_all(but="send")
        steps.clock.pass_on(3)
    assert "send" in steps.life.jobs
    return steps.world.outbound / "sending" / "invoice.xml.posted"


@pytest.mark.parametrize("content", [b"", b"<Invoice/>", None])
def test_copy_that_changes_before_the_request(steps: Steps, content: bytes | None) -> None:
    """A copy that is cut, changed or removed just before its request is never posted as that; it is sent once."""
    copy = prepare_without_sending(steps)
    if content is None:
        copy.unlink()
    else:
        copy.write_bytes(content)
    steps.go_on(3600)
    assert steps.sent() == [posted(stated("1"))]
    assert steps.world.places() == {"invoice.xml": "archive/2020-06"}
    assert "archive/2020-06/invoice.xml.posted" in steps.lying() or content is None


def test_hold_after_the_preparation(steps: Steps) -> None:
    """A document that is held after it was prepared, and then let go, is sent once, with its copy."""
    prepare_without_sending(steps)
    (steps.world.outbound / "HOLD").touch()
    steps.go_on(900)
    assert not steps.sent()
    (steps.world.outbound / "HOLD").unlink()
    steps.settle()
    assert steps.sent() == [posted(stated("1"))]


def test_copy_without_its_document(steps: Steps) -> None:
    """What was posted stays when a person takes the document from sent/, and is reported."""
    steps.world._keys["outbound"]["track"] = "1h"
    steps.world._sandbox_keys["deliver_after"] = timedelta(days=9)
    steps.world.set_up_anew(deliver_after=9 * 24 * 3600)
    steps.again()
    steps.drop("invoice.xml", stated("1"))
    assert steps.world.places() == {"invoice.xml": "sent"}
    (steps.world.outbound / "sent" / "invoice.xml").unlink()
    steps.go_on(1200)
    found = steps.life.pipeline.reconciliation.strays.found or ()
    assert [(stray.place, stray.name, stray.why) for stray in found] == [("sent", "invoice.xml.posted", COPY_ALONE)]


def test_archive_that_is_removed(make_world: Callable[..., World], clock: Clock) -> None:
    """Old months are removed with what was posted."""
    steps = Steps(make_world, clock, "keep: {archive: 60d}")
    steps.drop("invoice.xml", stated("1"), seconds=600)
    assert len([name for name in steps.lying() if name.startswith("archive/")]) == 3
    clock.pass_on(120 * 24 * 3600)
    steps.again()
    steps.go_on(3 * 3600)
    assert not steps.lying()


def test_refused_before_the_request(make_world: Callable[..., World], clock: Clock) -> None:
    """What the directory refuses lies in failed/ without a copy, since nothing was sent."""
    steps = Steps(make_world, clock, directory="refuse")
    steps.world.more = "mapping: [{receiver: '0192:974760673'}]"
    steps.again()
    steps.drop("invoice.xml", stated("1"))
    assert steps.world.error("invoice.xml") == "receiver-unknown"
    assert steps.lying() == {f"failed/invoice.xml{end}" for end in ("", ".json", ".why.txt")}
    assert "posted" not in steps.world.sidecar("invoice.xml")


def test_forged_sidecar(steps: Steps) -> None:
    """A sidecar that names another file as what was posted leads nowhere."""
    others = steps.world.base / "others.posted"
    others.write_text("mine")
    steps.drop("invoice.xml", stated("1"), instead(422, "no"))
    failed = steps.world.outbound / "failed"
    said = json.loads((failed / "invoice.xml.json").read_text("utf-8"))
    said["posted"]["file"] = f"../../../../{others.name}"
    (failed / "invoice.xml.json").write_text(json.dumps(said))
    for path in failed.glob("invoice.xml*"):
        path.rename(steps.world.outbound / path.name)
    steps.settle()
    assert others.read_text() == "mine"
    assert steps.sent() == [posted(stated("1"))]


def test_validation_of_what_is_posted(make_world: Callable[..., World], clock: Clock, tmp_path: Path) -> None:
    """The validator gets what would be posted; what it refuses has no copy in failed/, since nothing was sent."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\ncontent = open(sys.argv[-1], 'rb').read()\n"
        "print('R-1: it is bad')\nsys.exit(b'7300010000001' in content or b'>bad<' in content)"
    )
    more = f"validation: {{command: ['{sys.executable}', '{program}'], timeout: 60s}}"
    steps = Steps(make_world, clock, more, validate="refuse")
    steps.drop("good.xml", stated("good"))
    steps.drop("bad.xml", stated("bad"))
    steps.settle()
    assert steps.sent() == [posted(stated("good"))]
    assert steps.world.error("bad.xml") == "invalid"
    assert not [name for name in steps.lying() if name.endswith(".posted") and "good" not in name]
