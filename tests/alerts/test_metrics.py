"""The metrics' file: what Prometheus is told, as its own tool reads it, and what it makes of the manual's rules."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from alerts.test_alerts import HOUR, MINUTE, fail, take_away
from prometheus_client.parser import text_string_to_metric_families
from support.documents import invoice
from support.faults import reset_before
from support.manual import PROJECT

from filedrop import __version__, files
from filedrop.alerts import figures
from filedrop.alerts.figures import Figure
from filedrop.alerts.teller import Teller
from filedrop.process.share import Share

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from alerts.conftest import Telling
    from support.world import World

PROMTOOL = shutil.which("promtool")
promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian's prometheus) isn't installed")
ALL = [one for one in vars(figures).values() if isinstance(one, Figure)]
LABELS = {one.name: one.labels for one in ALL}
RULES = (PROJECT / "docs" / "alarms.yml").read_text("utf-8")


def textfile(world: World) -> Path:
    return world.base / "textfile" / "filedrop.prom"


@pytest.fixture
def measured(make_telling: Callable[..., Telling]) -> Telling:
    """A filedrop with two companies that writes metrics, and tells nobody anything."""
    telling = make_telling(companies={"fjord": '{participants: ["0192:123456785"]}'})
    textfile(telling.world).parent.mkdir(mode=0o755)
    telling.world.more = f"metrics: {{textfile: {textfile(telling.world)}}}\n"
    telling.restart()
    return telling


def read(telling: Telling) -> dict[tuple[str, ...], float]:
    """What the file says: each number by its name and labels."""
    families = text_string_to_metric_families(textfile(telling.world).read_text(encoding="utf-8"))
    samples = [one for family in families for one in family.samples]
    return {(one.name, *(one.labels[label] for label in LABELS[one.name])): one.value for one in samples}


def total(telling: Telling, *labels: str) -> float | None:
    telling.pass_on(MINUTE)
    return read(telling).get(labels)


def test_what_is_told(measured: Telling) -> None:
    """Each document and message is told of by its state, with its age, and counted."""
    world, clock = measured.world, measured.clock
    measured.pass_on(MINUTE)
    world.receive(invoice("in"))
    world.drop("out.xml", invoice("out"))
    fail(measured, "a", 2)
    measured.pass_on(5 * MINUTE)
    told = read(measured)
    assert told["filedrop_documents", "acme", "failed"] == 2
    assert told["filedrop_documents", "acme", "received"] == 1
    assert told["filedrop_documents", "fjord", "waiting"] == 0
    assert told["filedrop_sent_total", "acme"] == told["filedrop_delivered_total", "acme"] == 1
    assert told["filedrop_received_total", "acme"] == 1
    assert told["filedrop_sent_total", "fjord"] == 0, "from 0 on, so that the first one is seen"
    assert told["filedrop_failed_total", "acme", "no-receiver"] == 2
    for state, place in (("failed", world.outbound / "failed"), ("received", world.inbound)):
        oldest = min(path.stat().st_mtime for path in place.glob("*.xml*"))
        assert told["filedrop_oldest_timestamp_seconds", "acme", state] == pytest.approx(oldest, abs=2)
    now = clock.now().timestamp()
    assert now - 6 * MINUTE < told["filedrop_last_accepted_timestamp_seconds", "acme"] < now
    assert now - 2 * MINUTE < told["filedrop_last_poll_success_timestamp_seconds", "main"] < now
    assert told["filedrop_account_reachable", "main"] == told["filedrop_account_login_ok", "main"] == 1
    assert told["filedrop_folder_available", "acme", "outbound", str(world.outbound)] == 1
    assert told["filedrop_folder_free_bytes", "acme", "inbound", str(world.inbound)] > 0
    assert told["filedrop_journal_writable",] == 1
    assert told["filedrop_build_info", __version__] == 1
    assert {name for name, *_ in told} == {one.name for one in ALL}


def test_totals_go_on(measured: Telling) -> None:
    """A restart, or that somebody takes what has failed, takes nothing from a total."""
    fail(measured, "a", 2)
    assert total(measured, "filedrop_failed_total", "acme", "no-receiver") == 2
    take_away(measured)
    measured.restart()
    fail(measured, "b", 1)
    assert total(measured, "filedrop_failed_total", "acme", "no-receiver") == 3
    assert total(measured, "filedrop_documents", "acme", "failed") == 1


def test_what_waits_and_since_when(measured: Telling) -> None:
    """What can't be sent is told with its age, and the account as away; a figure that isn't known is left out."""
    world = measured.world
    measured.pass_on(MINUTE)
    polled = total(measured, "filedrop_last_poll_success_timestamp_seconds", "main")
    world.front.always("", reset_before)
    world.drop("out.xml", invoice("out"))
    measured.look_now()
    measured.pass_on(MINUTE)
    since = measured.clock.now().timestamp()
    measured.pass_on(30 * MINUTE)
    told = read(measured)
    assert told["filedrop_documents", "acme", "waiting"] == 1
    assert told["filedrop_oldest_timestamp_seconds", "acme", "waiting"] == pytest.approx(since, abs=MINUTE)
    assert told["filedrop_account_reachable", "main"] == 0
    assert ("filedrop_account_login_ok", "main") not in told
    assert told["filedrop_last_poll_success_timestamp_seconds", "main"] == pytest.approx(polled, abs=2 * MINUTE)


def test_overdue(make_telling: Callable[..., Telling]) -> None:
    """What is accepted and not delivered is told with when it was accepted, and so is what is overdue."""
    telling = make_telling(deliver_after=10 * HOUR)
    world = telling.world
    textfile(world).parent.mkdir()
    world.more = f"metrics: {{textfile: {textfile(world)}}}\n"
    telling.restart()
    world.drop("out.xml", invoice("out"))
    telling.look_now()
    telling.pass_on(2 * MINUTE)
    accepted = read(telling)["filedrop_last_accepted_timestamp_seconds", "acme"]
    assert read(telling)["filedrop_oldest_timestamp_seconds", "acme", "sent"] == pytest.approx(accepted, abs=1)
    telling.clock.pass_on(2 * HOUR)
    assert total(telling, "filedrop_documents", "acme", "overdue") == 1
    assert read(telling)["filedrop_oldest_timestamp_seconds", "acme", "overdue"] == pytest.approx(accepted, abs=1)


def test_a_folder_that_is_gone(measured: Telling) -> None:
    """A folder that isn't there isn't told to be empty."""
    fail(measured, "a", 1)
    assert total(measured, "filedrop_documents", "acme", "failed") == 1
    outbound, elsewhere = measured.world.outbound, measured.world.base / "elsewhere"
    outbound.rename(elsewhere)
    measured.pass_on(MINUTE)
    told = read(measured)
    assert told["filedrop_folder_available", "acme", "outbound", str(outbound)] == 0
    assert ("filedrop_documents", "acme", "failed") not in told
    assert told["filedrop_documents", "acme", "received"] == 0
    elsewhere.rename(outbound)


def test_whole_and_readable(measured: Telling) -> None:
    """The file is replaced whole, beside it lies nothing, and whoever may look into its folder may read it."""
    measured.pass_on(MINUTE)
    file = textfile(measured.world)
    before = file.read_text(encoding="utf-8")
    (file.parent / ".0123456789ABCDEFGHJKMNPQRS.tmp").write_text("what a killed process left")
    with files.open_regular(file) as reader:
        measured.restart()
        measured.pass_on(MINUTE)
        assert reader.read().decode() == before, "who has begun to read it reads on"
    assert file.read_text(encoding="utf-8") != before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_it_cannot_be_written(measured: Telling) -> None:
    """Where the file can't be written, `status` says so, and what to do; filedrop goes on."""
    folder = textfile(measured.world).parent
    folder.rmdir()
    measured.world.drop("out.xml", invoice("out"))
    measured.look_now()
    measured.pass_on(5 * MINUTE)
    (said,) = measured.teller.troubles()
    assert said.startswith(f"metrics.textfile: {textfile(measured.world)} can't be written: ")
    assert measured.world.accepted()["out.xml"] == 1
    folder.mkdir()
    measured.pass_on(MINUTE)
    assert measured.teller.troubles() == ()


def tool(*arguments: str, told: str = "", within: Path | None = None) -> str:
    done = subprocess.run(
        [PROMTOOL or "", *arguments], input=told, capture_output=True, text=True, check=False, cwd=within
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@promtool
def test_promtool_reads_it(measured: Telling) -> None:
    """Prometheus' own tool finds nothing to complain of in the file."""
    world = measured.world
    fail(measured, "a", 1)
    world.receive(invoice("in"))
    measured.pass_on(3 * MINUTE)
    assert tool("check", "metrics", told=textfile(world).read_text(encoding="utf-8")) == ""


TESTS = """
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'node_textfile_mtime_seconds{file="/var/lib/node/filedrop.prom"}', values: '0+60x10 600x20'}
      - {series: 'filedrop_documents{company="acme", state="failed"}', values: '0x20 3x40'}
      - {series: 'filedrop_account_reachable{account="main"}', values: '1x5 0x3 1x5 0x60'}
      - {series: 'filedrop_account_login_ok{account="main"}', values: '1x60'}
      - {series: 'filedrop_oldest_timestamp_seconds{company="acme", state="waiting"}', values: '0x90'}
      - {series: 'filedrop_folder_available{company="acme", use="inbound", path="/srv"}', values: '1x5 0x60'}
      - {series: 'filedrop_journal_writable', values: '1x5 0x60'}
      - {series: 'filedrop_problems', values: '0x5 2x60'}
    alert_rule_test:
      - {eval_time: 10m, alertname: FiledropSilent}
      - eval_time: 20m
        alertname: FiledropSilent
        exp_alerts:
          - exp_labels: {severity: critical, file: /var/lib/node/filedrop.prom}
            exp_annotations: {summary: "filedrop doesn't run: /var/lib/node/filedrop.prom is old"}
      - {eval_time: 19m, alertname: FiledropDocuments}
      - eval_time: 30m
        alertname: FiledropDocuments
        exp_alerts:
          - exp_labels: {severity: warning, company: acme, state: failed}
            exp_annotations: {summary: "acme: 3 failed: see filedrop status"}
      - {eval_time: 9m, alertname: FiledropAccount}
      - {eval_time: 20m, alertname: FiledropAccount}
      - eval_time: 40m
        alertname: FiledropAccount
        exp_alerts:
          - exp_labels: {severity: warning, account: main}
            exp_annotations: {summary: "account main: the access point can't be reached, or refuses the login"}
      - {eval_time: 50m, alertname: FiledropOld}
      - eval_time: 70m
        alertname: FiledropOld
        exp_alerts:
          - exp_labels: {severity: warning, company: acme, state: waiting}
            exp_annotations: {summary: "acme: waiting for longer than an hour"}
      - {eval_time: 4m, alertname: FiledropFolder}
      - eval_time: 15m
        alertname: FiledropFolder
        exp_alerts:
          - exp_labels: {severity: warning, company: acme, use: inbound, path: /srv}
            exp_annotations: {summary: "/srv can't be used, or is nearly full"}
      - {eval_time: 4m, alertname: FiledropJournal}
      - eval_time: 15m
        alertname: FiledropProblems
        exp_alerts:
          - exp_labels: {severity: warning}
            exp_annotations: {summary: "something stands still or failed: see filedrop status"}
      - eval_time: 15m
        alertname: FiledropJournal
        exp_alerts:
          - exp_labels: {severity: critical}
            exp_annotations: {summary: "the journal can't be written: nothing is posted"}
"""


@promtool
def test_the_rules(tmp_path: Path) -> None:
    """The manual's rules are seven that Prometheus takes, and each of them fires when it should, and not before."""
    (tmp_path / "rules.yml").write_text(RULES)
    assert "7 rules found" in tool("check", "rules", "rules.yml", within=tmp_path)
    (tmp_path / "tests.yml").write_text(TESTS)
    assert "SUCCESS" in tool("test", "rules", "tests.yml", within=tmp_path)


class Chores(Share):
    """The share of a host that has the chores, while another one serves the accounts."""

    def serves(self, account: str | None) -> bool:
        return account is None


def test_totals_by_the_host_with_the_chores(measured: Telling) -> None:
    """It writes the totals of all companies, and nothing of what it doesn't serve."""
    life = measured.life
    Teller(life.service.config, life.journal, measured.world._log, share=Chores()).turn(life.service.report())
    told = read(measured)
    assert told["filedrop_sent_total", "acme"] == told["filedrop_sent_total", "fjord"] == 0
    assert not {name for name, *_ in told} & {"filedrop_documents", "filedrop_folder_available"}
