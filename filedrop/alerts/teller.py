"""The thread that tells people: it looks, decides, remembers, and only then tells.

What it can't send is kept, tried again, and shown in `status`. Where its memory can't be written, it tells all the
same: once too often is better than never. The metrics are written, and the heartbeat is sent, before any letter: a mail
server that hangs may take a minute.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from filedrop.alerts import bundling, digest, letters, memory, unsent
from filedrop.alerts.heartbeat import HeartbeatSender
from filedrop.alerts.metrics import MetricsFile
from filedrop.alerts.unsent import ALERT, ALL, DIGEST
from filedrop.errors import JournalError
from filedrop.files.rights import explain
from filedrop.process.clock import REAL
from filedrop.process.guard import Guard
from filedrop.process.loop import Loop
from filedrop.process.share import Share
from filedrop.status.company import as_seen, in_plain_words
from filedrop.status.matters import unseen
from filedrop.status.survey import Survey, part_of
from filedrop.status.together import of_host, with_others
from filedrop.texts.languages import ENGLISH
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import structlog

    from filedrop.alerts.bundling import Known
    from filedrop.alerts.memory import Letter, Memory
    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.model.report import DaemonReport
    from filedrop.process.clock import Clockwork
    from filedrop.status.matters import Key
    from filedrop.status.model import Matter

    News = tuple[Mapping[Key, Known], list[Letter]]  # what a reader knows, and what is to be sent

EVERY = 15.0  # seconds between two looks
REST = 100  # times as long as a look took before the next: it costs a hundredth at most
LONGEST_TURN = 60.0  # seconds after which no other letter is begun in a turn
LAST_WORDS = 1.0  # seconds at the end: what isn't sent by then is sent after the next start


class Teller:
    """Tells people, where the configuration says whom. `turn` is for one thread; the rest is thread-safe.

    `turns`: how many there have been.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        log: structlog.stdlib.BoundLogger,
        *,
        clockwork: Clockwork = REAL,
        share: Share | None = None,
    ) -> None:
        self._config = config
        self._journal = journal
        self._log = log
        self._clock = clockwork
        self._share = share or Share()
        self._memory_in = memory.InState(config.state) if config.journal is None else memory.InJournal(journal)
        self._survey = Survey(config, journal, ages=config.metrics.textfile is not None)
        self._readers = unsent.readers(config)
        self._guard = Guard(log, self._clock.steady)
        self._heartbeat = HeartbeatSender(config.heartbeat, steady=self._clock.steady, guard=self._guard)
        self._metrics = MetricsFile(config.metrics.textfile, journal, self._guard) if config.metrics.textfile else None
        self._reports: deque[DaemonReport] = deque(maxlen=1)
        self._memory: Memory | None = None
        self._saved: Memory | None = None
        self.turns = 0
        self._stopped = threading.Event()
        self._loop: Loop | None = None
        self._former: Loop | None = None

    def follow(self, former: Teller) -> None:
        """Begin only when this one has ended, which may be amid a letter: both would send what is unsent."""
        self._former = former._loop or former._former

    def report(self, report: DaemonReport) -> None:
        """Tell of this report, from the next turn on; returns at once."""
        self._reports.append(report)
        if self._former and self._former.is_alive():
            return
        self._former = None
        if self._loop is None and self.is_wanted:
            loop = Loop(
                "alerts",
                lambda: self.turn(self._reports[-1]),
                progress=lambda: self.turns,
                stopped=self._stopped,
                guard=self._guard,
            )
            loop.start()
            self._loop = loop  # last: where the system has no thread now, the next report tries again

    def close(self) -> None:
        """Stop."""
        self._stopped.set()
        if self._loop is not None:
            self._loop.wake()
            self._loop.join(LAST_WORDS)

    @property
    def is_wanted(self) -> bool:
        """Whether it is to take turns: it has metrics to write, or the chores and somebody to tell, and goes on."""
        tells = self._share.does_chores and (self._readers or self._config.heartbeat.url)
        return bool(self._metrics or tells) and not self._stopped.is_set()

    @property
    def is_closed(self) -> bool:
        """Whether it is to stop, or has."""
        return self._stopped.is_set()

    def has_ended(self) -> bool:
        """Whether, after `close`, nothing is told or remembered any more: a mail server may hold that up."""
        return not any(loop and loop.is_alive() for loop in (self._loop, self._former))

    def troubles(self) -> tuple[str, ...]:
        """What couldn't be sent or written, each as a sentence."""
        memory = self._memory
        left = unsent.troubles(memory.unsent, self._clock.now()) if memory else ()
        return (*left, *self._guard.troubles.values())

    def reported(self) -> frozenset[Key]:
        """The matters that an alert has reported to those who get all of them, by mail or otherwise."""
        memory = self._memory
        if memory is None or unsent.is_untold(memory.unsent, ALL):
            return frozenset()
        return frozenset(key for key, known in memory.known.get(ALL, {}).items() if known.told is not None)

    def turn(self, report: DaemonReport) -> float:
        """Look, and tell what is to be told. Returns the seconds until the next turn."""
        begun = self._clock.steady()
        self.turns += 1
        now = self._clock.now()
        part, tells = part_of(report), self._share.does_chores
        if tells:
            part = with_others(self._config, self._share, part)
        status = self._survey.look(part, running=True, now=now)
        took = self._clock.steady() - begun
        guard, metrics = self._guard, self._metrics
        if metrics:
            own, companies = of_host(status, self._config, self._share), status["companies"] if tells else ()
            write = partial(metrics.write, own, self._survey.snapshots, companies)
            guard.make("the figures for Prometheus", write, None)
        if not tells:
            return max(EVERY, REST * took)
        guard.make("the heartbeat", lambda: self._heartbeat.turn(report, status), None)
        if self._readers:
            # An alert about an alert would make another one.
            matters = [matter for matter in status["matters"] if matter["kind"] != "alert"]
            self._tell(matters, unseen(status), now)
        return max(EVERY, REST * took)

    def _tell(self, matters: Sequence[Matter], unseen: frozenset[Key], now: datetime) -> None:
        """Decide what is to be told of this, remember it, and tell it."""
        self._decide(matters, unseen, now)
        with suppress(JournalError):  # the status says so; the digest is made when it can be read again
            self._guard.make("the digest", lambda: self._make_digest(now), None)
        self._save()
        self._send()

    def _decide(self, matters: Sequence[Matter], unseen: frozenset[Key], now: datetime) -> None:
        before = self._remembered()
        known, new = {}, []
        for reader in self._readers:
            nothing: News = before.known.get(reader, {}), []
            name = "the administrator" if reader == ALL else reader
            make = partial(self._news_for, reader, matters, unseen, now)
            known[reader], added = self._guard.make(f"the alerts for {name}", make, nothing)
            new += added
        self._memory = replace(before, known=known, unsent=unsent.queued(before.unsent, new, now))

    def _news_for(self, reader: str, matters: Sequence[Matter], unseen: frozenset[Key], now: datetime) -> News:
        """What a reader is told of from now on, and the letters that report what is new of it."""
        before = self._remembered()
        notice, known = bundling.bundle(
            before.known.get(reader, {}),
            self._for_reader(reader, matters),
            unseen,
            now=now.timestamp(),
            quiet=self._config.alerts.quiet.total_seconds(),
        )
        if not notice:
            return known, []
        if notice.news and unsent.is_untold(before.unsent, reader):  # which this one takes the place of
            notice = notice.to_one_who_knows_nothing()
        text = letters.notice(notice, self._language(reader))
        written = unsent.letters(self._config, text, reader=reader, what=ALERT, now=now)
        self._log.info("alert.decided", company=reader, says=text.subject)
        return known, written

    def _language(self, reader: str) -> str:
        return ENGLISH if reader == ALL else self._config.companies[reader].language

    def _for_reader(self, reader: str, matters: Sequence[Matter]) -> list[Matter]:
        """What a reader is told of: everything, or a company's matters in the words of its people."""
        if reader == ALL:
            return list(matters)
        company, reported, place = self._config.companies[reader], self.reported(), self._config.root / reader
        own = (
            in_plain_words(matter, company, self._config, reported) for matter in matters if matter["company"] == reader
        )
        return [
            {**matter, "items": [{**item, "path": as_seen(item["path"], place)} for item in matter["items"]]}
            for matter in own
        ]

    def _make_digest(self, now: datetime) -> None:
        """Make the digest if it is due. Raises JournalError."""
        before, at = self._remembered(), self._config.digest
        if at is None:
            return
        last = now.timestamp() if before.digest is None else min(before.digest, now.timestamp())  # the clock was set
        is_first, is_due = before.digest is None, digest.is_due(at, last, now)
        totals = before.totals
        if is_first or is_due:
            totals = digest.totals(self._journal.totals.events(), self._config.companies)
        new = []
        if is_due:
            now_here = {company: totals[company] for company in self._config.companies}
            failed = {name: self._journal.lately.failed_since(name, from_seconds(last)) for name in now_here}
            figures = digest.figures(now_here, before.totals, failed, self._journal.totals.under_way())
            for reader in self._readers:
                text = letters.digest(
                    figures if reader == ALL else {reader: figures[reader]},
                    failed,
                    since=from_seconds(last),
                    until=now,
                    language=self._language(reader),
                )
                new += unsent.letters(self._config, text, reader=reader, what=DIGEST, now=now)
            last = now.timestamp()
        self._memory = replace(before, digest=last, totals=totals, unsent=unsent.queued(before.unsent, new, now))

    def _send(self) -> None:
        """Send what is due, of each way no more after one has failed: a server that hangs would hold up the rest."""
        failed: set[str] = set()
        begun = self._clock.steady()
        for letter in self._remembered().unsent:
            if not unsent.is_to_be_tried(letter, self._clock.now()):
                continue
            if letter.by in failed or self._stopped.is_set() or self._clock.steady() - begun > LONGEST_TURN:
                continue
            left = unsent.send(self._config, letter, self._clock.now())
            if left is None:
                self._log.info(f"{letter.what}.sent", company=letter.reader, by=letter.by, says=letter.subject)
            else:
                failed.add(letter.by)
                if left.why != letter.why:
                    self._log.warning(f"{letter.what}.not_sent", company=letter.reader, by=letter.by, why=left.why)
            self._put_back(letter, left)
            self._save()

    def _put_back(self, letter: Letter, left: Letter | None) -> None:
        before = self._remembered()
        unsent = [left if other.id == letter.id else other for other in before.unsent]
        self._memory = replace(before, unsent=tuple(other for other in unsent if other is not None))

    def _remembered(self) -> Memory:
        if self._memory is None:
            try:
                self._memory = self._saved = self._memory_in.load()
            except OSError as error:
                self._log.error("alerts.not_kept", why=explain(error, self._config.state))
                self._memory = memory.Memory()
        return self._memory

    def _save(self) -> None:
        """Write what is new in the memory."""
        wanted = self._remembered()
        if wanted == self._saved:
            return
        try:
            self._memory_in.save(wanted)
        except OSError as error:
            said = explain(error, self._config.state)
            why = f"{self._memory_in.path} can't be written: {said}; alerts may be repeated after a restart"
            self._guard.note("memory", why, "alerts.not_kept", why=said)
        else:
            self._saved = wanted
            self._guard.note_success("memory")
