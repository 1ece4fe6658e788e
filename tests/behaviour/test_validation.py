"""Documents are validated before their first post, and nothing is lost, sent twice or left without a word by that."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.documents import invoice, order
from support.faults import reset_before
from support.rules import own_rules
from support.stepping import RULES, Life, touch, under_way

from filedrop.texts.note import FOR_ADMINISTRATOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

    from filedrop.daemon.daemon import Daemon

LONG = "600s"  # the machine may be busy


@pytest.fixture
def by_rules(make_world: Callable[..., World], tmp_path: Path) -> Callable[..., World]:
    """Makes a world with the tests' own rules."""

    def make(
        rule: str = "refuse", *, timeout: str = LONG, memory: str = "1GB", excepted: str = "[]", **changes: Any
    ) -> World:
        rules = own_rules(tmp_path / "rules")
        more = f"validation: {{rules: {rules}, timeout: {timeout}, memory: {memory}, except: {excepted}}}"
        return make_world(
            outbound={"validate": rule, "rescan": "200ms"} | changes.pop("outbound", {}), more=more, **changes
        )

    return make


def by_program(
    make_world: Callable[..., World], base: Path, script: str, rule: str = "refuse", **changes: Any
) -> World:
    """A world with a program that validates; `path` is the document's."""
    program = base / "program.py"
    program.write_text(f"import sys, os, time\npath = sys.argv[-1]\n{script}")
    timeout = changes.pop("timeout", LONG)
    more = f"validation: {{command: [{sys.executable}, {program}], timeout: {timeout}}}"
    outbound = {"validate": rule, "rescan": "200ms"} | changes.pop("outbound", {})
    return make_world(outbound=outbound, more=more, **changes)


def note(world: World, name: str) -> str:
    """What the note beside a failed document says."""
    return (world.outbound / "failed" / f"{name}.why.txt").read_text("utf-8")


def events(world: World, name: str) -> list[str]:
    return [event["event"] for event in world.sidecar(name)["history"]]


def status(world: World) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(world.filedrop("status", "--json").stdout)
    return told


def child(service: Daemon) -> int:
    """The number of the process that applies the rules; 0 while there is none."""
    validator: Any = service.validating._validator
    process = validator._children[0]._process
    return process.pid if process is not None and process.poll() is None else 0


def test_refused(by_rules: Callable[..., World]) -> None:
    """What breaks a rule fails and is never posted; the note says which, in which line, and the rest is sent."""
    world = by_rules()
    world.drop("broken.xml", invoice("1", note="it is broken"))
    world.drop("odd.xml", invoice("2", note="it is odd"))
    world.drop("order.xml", order("3", sender=None))
    world.run_once()
    assert world.error("broken.xml") == "invalid"
    said = note(world, "broken.xml")
    head, tail = said.split(FOR_ADMINISTRATOR)
    assert "1. Line 11: A note must not say that it is broken.\n" in head
    assert "1. OWN-1 at /Invoice/Note\n" in tail
    rules = yaml.safe_load(tail[tail.index("  validation:") : tail.index("1. OWN-1")])["validation"]["except"]
    assert rules == [{"rule": ["OWN-1"], "company": "acme"}]
    error = world.sidecar("broken.xml")["error"]
    assert error["message"] == "The document breaks the rule OWN-1 of the network."
    sentence = "A note must not say that it is broken."
    assert error["findings"] == [{"rule": "OWN-1", "message": sentence, "xpath": "/Invoice/Note", "line": 11}]
    assert world.accepted()["odd.xml"] == 1
    assert world.sidecar("odd.xml")["warnings"] == [
        "a rule warns: line 11: A note should not say that it is odd. (OWN-2)"
    ]
    assert events(world, "odd.xml")[:3] == ["claimed", "validated", "sending"]
    assert b"broken" not in b"".join(request.body for request in world.front.asked("POST /outbox"))


def test_excepted_rules(by_rules: Callable[..., World]) -> None:
    """A rule that isn't applied to a company's documents stops none of them, and still those of others."""
    world = by_rules(
        companies={"fjord": '{participants: ["0192:991825894"]}'},
        outbound={"foreign_sender": "allow"},
        excepted="[{rule: OWN-1, company: acme}, {rule: [OWN-2, OWN-3]}]",
    )
    (fjord := world.root / "fjord" / "outbound").mkdir(parents=True)
    for folder, name in ((world.outbound, "acme.xml"), (fjord, "fjord.xml")):
        world.put(folder / name, invoice(name, note="it is broken and odd"))
    for arguments, verdict in (
        ((str(world.outbound / "acme.xml"),), ("would send", None)),
        ((str(fjord / "fjord.xml"),), ("would fail", "The document breaks the rule OWN-1 of the network.")),
        (("--company", "acme", str(fjord / "fjord.xml")), ("would send", None)),
    ):
        (told,) = json.loads(world.filedrop("check", "--offline", "--json", *arguments).stdout)["documents"]
        assert (told["verdict"], told["why"]) == verdict
    world.run_once()
    assert len(world.front.asked("POST /outbox")) == 1
    error = json.loads((fjord / "failed" / "fjord.xml.json").read_text("utf-8"))["error"]
    assert [one["rule"] for one in error["findings"]] == ["OWN-1"]


def test_content_that_ends_the_rules(by_rules: Callable[..., World]) -> None:
    """A document at whose content the rules end is refused, with what stands there; it doesn't wait for ever."""
    world = by_rules()
    world.drop("invoice.xml", invoice(note="1 of 2"))
    world.run_once()
    assert world.error("invoice.xml") == "invalid"
    said = '"1 of 2" is not a value that belongs here; own.xslt ends with: '
    assert f"1. Line 11: {said}" in note(world, "invoice.xml")
    (finding,) = world.sidecar("invoice.xml")["error"]["findings"]
    assert (finding["rule"], finding["xpath"], finding["line"]) == ("", "/Invoice/Note", 11)
    assert finding["message"].startswith(said)


def test_warned(by_rules: Callable[..., World]) -> None:
    """With `warn` it goes, and its sidecar says what it breaks."""
    world = by_rules("warn")
    world.drop("broken.xml", invoice(note="it is broken"))
    world.run_once()
    assert world.accepted() == {"broken.xml": 1}
    (warning,) = world.sidecar("broken.xml")["warnings"]
    assert warning == "breaks a rule: line 11: A note must not say that it is broken. (OWN-1)"


def test_off(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Where it is off nobody is asked, though there is a validator."""
    world = by_program(make_world, tmp_path, "sys.exit(1)", '"off"')
    world.drop("invoice.xml", invoice())
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what a process has is looked up in /proc")
@pytest.mark.parametrize(("rule", "children"), [('"off"', 0), ("refuse", 1)])
def test_off_costs_nothing(by_rules: Callable[..., World], rule: str, children: int) -> None:
    """Where it is off, though there are rules, the daemon has no child, and neither rules nor their library in it."""
    world = by_rules(rule)
    world.drop("invoice.xml", invoice())
    with world.daemon() as daemon:
        world.until(world.settled, 300)
        of = Path("/proc", str(daemon.pid))
        begun = " ".join(path.read_text() for path in of.glob("task/*/children")).split()
        assert len(begun) == children
        assert "saxon" not in (of / "maps").read_text()
        world.stop(daemon)


def test_mended_and_dropped_again(by_rules: Callable[..., World]) -> None:
    """Moved back as it is, it fails again; corrected, it goes."""
    world = by_rules()
    world.drop("invoice.xml", invoice(note="it is broken"))
    world.run_once()
    failed = world.outbound / "failed" / "invoice.xml"
    failed.rename(world.outbound / "invoice.xml")
    world.run_once()
    assert world.error("invoice.xml") == "invalid"
    failed.unlink()
    world.put(world.outbound / "invoice.xml", invoice(note="it is mended"))
    world.run_once()
    assert (world.outbound / "archive").rglob("invoice.xml")
    assert len(world.front.asked("POST /outbox")) == 1


def test_a_program_says_why(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The words of a program stand in the note; it was given what would be sent."""
    script = "text = open(path, encoding='utf-8').read()\nsys.exit(print('No: ' + text[:38]) or 1)"
    world = by_program(make_world, tmp_path, script)
    world.drop("invoice.xml", invoice().decode().replace('"UTF-8"', '"ISO-8859-1"').encode("iso-8859-1"))
    world.run_once()
    assert world.error("invoice.xml") == "invalid"
    assert 'The check of the document found: No: <?xml version="1.0" encoding="UTF-8"?>' in note(world, "invoice.xml")


def test_no_verdict_warned(make_world: Callable[..., World], tmp_path: Path) -> None:
    """With `warn`, a validator that fails stops nothing, and the sidecar says that it failed."""
    world = by_program(make_world, tmp_path, "sys.exit(7)", "warn")
    world.drop("invoice.xml", invoice())
    world.run_once()
    assert world.accepted() == {"invoice.xml": 1}
    (warning,) = world.sidecar("invoice.xml")["warnings"]
    assert "could not be validated" in warning
    assert "status 7" in warning


def test_no_verdict_waits(make_world: Callable[..., World], tmp_path: Path) -> None:
    """With `refuse` it waits, without filling its history, and status says why; it goes when there is a verdict."""
    world = by_program(make_world, tmp_path, f"sys.exit(0 if os.path.exists({str(tmp_path / 'well')!r}) else 7)")
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(lambda: _tries(service) >= 3)
        assert not world.front.asked("POST /outbox")
        told = service.report().troubles["validation"]
        assert "can't be validated, and wait: acme: invoice.xml: " in told
        assert "status 7" in told
        (document,) = service.journal.documents.by_ids([_only(service)])
        assert [event.event for event in document.history] == ["claimed", "not validated"]
        (tmp_path / "well").touch()
        world.until(world.settled, 300)
        assert service.report().troubles == {}
    assert world.accepted() == {"invoice.xml": 1}
    world.invariants()


def _only(service: Daemon) -> str:
    (id_,) = _kept(service)
    return id_


def _tries(service: Daemon) -> int:
    return max((document.attempts for document in service.journal.documents.by_ids(_kept(service))), default=0)


def _kept(service: Daemon) -> list[str]:
    folder, now = service.accounts[0].pipelines[0].folder, service.accounts[0].context.now()
    return [id_ for id_, _, _ in service.journal.documents.kept_in_sending(folder.id, now, now)]


def test_status_says_why_it_waits(make_world: Callable[..., World], tmp_path: Path) -> None:
    """`run --once` doesn't wait for a validator that is missing, and `status` names document and reason."""
    world = by_program(make_world, tmp_path, "sys.exit(7)")
    world.drop("invoice.xml", invoice())
    done = world.filedrop("run", "--once")
    assert done.returncode == 1
    assert "could not be validated" in done.stdout
    told = status(world)
    assert "status 7" in told["troubles"]["validation"]
    (document,) = told["companies"]["acme"]["documents"]
    assert document["state"] == "waiting"
    assert "status 7" in document["why"]


def test_the_rules_process_is_killed(by_rules: Callable[..., World]) -> None:
    """Killed amid its work, it is started again, and nothing is lost or sent twice."""
    world = by_rules()
    with world.service() as service:
        for nth in range(12):
            world.drop(f"{nth}.xml", invoice(str(nth)))
        for _ in range(3):
            world.until(lambda: child(service), what="there is a process")
            os.kill(child(service), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        world.until(world.settled, 300)
    assert sum(world.accepted().values()) == 12
    world.invariants()


@pytest.mark.slow
def test_it_hangs(by_rules: Callable[..., World]) -> None:
    """A document that the rules never come to an end with waits, and keeps no other from being sent."""
    world = by_rules(timeout="3s")  # of a whole processor
    world.drop("endless.xml", invoice("1", note="endless"))
    with world.service() as service:
        world.until(lambda: _tries(service) >= 1, 300, what="it has been broken off")
        assert "longer than 3 seconds" in service.report().troubles["validation"]
        world.drop("invoice.xml", invoice("2"))
        world.until(lambda: world.accepted()["invoice.xml"], 300)
        assert "acme: endless.xml: " in service.report().troubles["validation"], "it still waits"
    assert "endless.xml" not in world.accepted()
    assert (world.outbound / "sending" / "endless.xml").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory is known here")
def test_out_of_memory(by_rules: Callable[..., World]) -> None:
    """A document that needs more memory than the rules may take waits, and keeps no other from being sent."""
    world = by_rules(memory="200MB")
    world.drop("huge.xml", invoice("1", note="huge"))
    with world.service() as service:
        world.until(lambda: _tries(service) >= 1, 300, what="it has been broken off")
        assert "validation.memory" in service.report().troubles["validation"]
        world.drop("invoice.xml", invoice("2"))
        world.until(lambda: world.accepted()["invoice.xml"], 300)
    assert (world.outbound / "sending" / "huge.xml").exists()


def test_rules_that_vanish(by_rules: Callable[..., World]) -> None:
    """Where the rules go away while there is work, documents wait, status says why, and they go when those are back."""
    world = by_rules()
    rules = world.base / "rules"
    world.drop("first.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: world.accepted()["first.xml"], 300)
        for lost in [rules / "own.xslt", rules / "rules.yaml", rules]:
            away = world.base / "away"
            lost.rename(away)
            world.drop(f"{lost.name}.xml", invoice(lost.name))
            world.until(lambda: service.report().troubles.get("validation"), 300)
            assert str(rules) in service.report().troubles["validation"]
            assert f"{lost.name}.xml" not in world.accepted()
            away.rename(lost)
            world.until(world.settled, 300)
            assert service.report().troubles == {}
    assert sum(world.accepted().values()) == len(world.dropped)
    world.invariants()


def test_stopped_and_killed_meanwhile(by_rules: Callable[..., World]) -> None:
    """Stopped while a document is validated, filedrop ends and takes the process with it; nothing is in doubt."""
    world = by_rules()
    world.drop("endless.xml", invoice("1", note="endless"))
    with world.service() as service:
        world.until(lambda: child(service) and under_way(service.accounts[0].pipelines[0]), what="it is validated")
        validator: Any = service.validating._validator
        process = validator._children[0]._process
    assert process.poll() is not None
    with world.service() as service:
        world.until(lambda: child(service) and under_way(service.accounts[0].pipelines[0]), what="it is again")
        (document,) = service.journal.documents.by_ids([_only(service)])
        assert [event.event for event in document.history] == ["claimed"]
    assert not world.front.asked("POST /outbox")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="how a daemon is killed there is tried elsewhere")
def test_killed_meanwhile(by_rules: Callable[..., World]) -> None:
    """Killed while a document is validated, it waits as before: nothing is in doubt, and it is validated again."""
    world = by_rules(timeout="2s")
    world.drop("endless.xml", invoice("1", note="endless"))
    with world.daemon() as daemon:
        world.until((world.outbound / "sending" / "endless.xml").exists)
        daemon.kill()
        daemon.wait()
    with world.service() as service:
        world.until(lambda: _tries(service) >= 1, 300)
        (document,) = service.journal.documents.by_ids([_only(service)])
        assert [event.event for event in document.history] == ["claimed", "not validated"]


def test_held_meanwhile(make_world: Callable[..., World], tmp_path: Path) -> None:
    """HOLD that comes while a document is validated holds it back, and it goes afterwards."""
    waits = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
    script = f"open({str(tmp_path / 'begun')!r}, 'w').close()\n{waits}"
    world = by_program(make_world, tmp_path, script)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until((tmp_path / "begun").exists)
        (world.outbound / "HOLD").touch()
        (tmp_path / "go").touch()
        world.until(lambda: not under_way(service.accounts[0].pipelines[0]))
        assert not world.front.asked("POST /outbox")
        (world.outbound / "HOLD").unlink()
        world.until(world.settled, 300)
    assert world.accepted() == {"invoice.xml": 1}
    world.invariants()


def test_never_again_once_it_may_have_arrived(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A document in doubt that is to be sent again is sent, whatever the validator says by then."""
    seen = tmp_path / "seen"
    script = (
        f"first = not os.path.exists({str(seen)!r})\nopen({str(seen)!r}, 'a').write('x')\nsys.exit(0 if first else 1)"
    )
    world = by_program(make_world, tmp_path, script)
    world.front.next("POST /outbox", reset_before)
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(world.settled, 300)
    assert world.accepted() == {"invoice.xml": 1}
    assert seen.read_text() == "x"


@pytest.mark.slow
def test_a_company_with_slow_validation(make_world: Callable[..., World], tmp_path: Path) -> None:
    """However slowly one company's documents are validated, another's is sent at once; files open stay bounded."""
    go = str(tmp_path / "go")
    slow = f"while b'slow' in open(path, 'rb').read() and not os.path.exists({go!r}): time.sleep(0.05)"
    fjord = {"fjord": '{participants: ["0192:991825894"]}'}
    world = by_program(make_world, tmp_path, slow, outbound={"foreign_sender": "allow"}, companies=fjord)
    for nth in range(40):
        world.drop(f"{nth}.xml", invoice(str(nth), note="it is slow"))
    with world.service() as service:
        acme, fjord = service.accounts[0].pipelines
        window = acme.desk.shared.window
        world.until(lambda: len(under_way(acme)) == window.size, what="acme has as much under way as it may")
        assert window.room == window.size
        world.put(fjord.folder.path / "other.xml", invoice("other"))
        world.until(lambda: len(world.front.asked("POST /outbox")) == 1, what="fjord's is sent")
        assert len(under_way(acme)) == window.size
        (tmp_path / "go").touch()
        world.until(lambda: len(world.front.asked("POST /outbox")) == 41, 300, what="all are sent")


def test_a_company_whose_documents_the_rules_never_end_with(by_rules: Callable[..., World]) -> None:
    """While the rules are busy with one company's documents, another's is validated and sent."""
    world = by_rules(companies={"fjord": '{participants: ["0192:991825894"]}'}, outbound={"foreign_sender": "allow"})
    for nth in range(3):
        world.drop(f"{nth}.xml", invoice(str(nth), note="endless"))
    with world.service() as service:
        acme, fjord = service.accounts[0].pipelines
        world.until(lambda: len(under_way(acme)) == 3 and child(service), what="acme's are being validated")
        world.put(fjord.folder.path / "other.xml", invoice("other"))
        world.until(lambda: len(world.front.asked("POST /outbox")) == 1, 300, what="fjord's is sent")
        assert len(under_way(acme)) == 3


def test_a_verdict_is_kept(make_world: Callable[..., World], clock: Clock, tmp_path: Path) -> None:
    """A document that finds no room to be sent after its validation is sent later, and isn't validated again."""
    seen = tmp_path / "seen"
    world = make_world(
        companies={"fjord": '{participants: ["0192:991825894"]}'},
        outbound=RULES | {"workers": "1", "validate": "refuse", "foreign_sender": "allow"},
        inbound={"poll": "5m"},
        clock=clock.true,
        more=f"validation: {{command: [/bin/sh, -c, 'echo x >> {seen}']}}\n",
    )
    life = Life(world, clock)
    life.go_on(10)
    pipelines = life.service.accounts[0].pipelines
    for pipeline in pipelines:
        for nth in range(20):
            world.put(pipeline.folder.path / f"{nth}.xml", invoice(f"{pipeline.folder.company} {nth}"))
        touch(pipeline)
    for _ in range(20):
        life.turn()
        life.do_all(but="send")
        clock.pass_on(10)
    assert life.jobs == ["send"] * life.service.accounts[0].context.window.size
    assert seen.read_text().count("x") == 40
    assert all(len(under_way(pipeline)) == 20 for pipeline in pipelines)
    life.go_on(60)
    assert len(world.front.asked("POST /outbox")) == 40
    assert seen.read_text().count("x") == 40
    assert not any(under_way(pipeline) for pipeline in pipelines)
    life.stop()


def test_check(by_rules: Callable[..., World]) -> None:
    """`check` says what would fail, and by which rule."""
    world = by_rules()
    world.drop("broken.xml", invoice("1", note="broken"))
    world.drop("invoice.xml", invoice("2"))
    done = world.filedrop("check", "--json", str(world.outbound))
    broken, good = json.loads(done.stdout)["documents"]
    assert (broken["verdict"], broken["why"]) == ("would fail", "The document breaks the rule OWN-1 of the network.")
    assert good["verdict"] == "would send"
    assert {path.name for path in world.outbound.iterdir()} == {"broken.xml", "invoice.xml"}
