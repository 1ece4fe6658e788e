"""What people, a neighbour, the wire and the clocks do to a filedrop that is a story's."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from support.documents import invoice
from support.known import document, number_of
from support.misfortunes import ASKED, QUESTIONS, TAKING, UPLOADS
from support.neighbour import PLACES
from support.responses import response
from support.story import Story, dates, lengths, nths
from support.world import PASSWORD

if TYPE_CHECKING:
    from support.faults import Exchange, Fault

DOUBT = 900.0  # seconds, by RULES
NAMES = ("invoice.xml", "other.xml")
PLANTED = ("invoice-2.xml", *(f"{name}{suffix}" for name in NAMES for suffix in (".why.txt", ".json")))

numbers = st.integers(0, 3)
some = st.integers(0, 7)
names = st.sampled_from(NAMES)
places = st.sampled_from(["", "sending", "sent", "failed", "desk"])
uploads = st.runner().flatmap(lambda story: st.sampled_from(story.uploads))
questions = st.runner().flatmap(lambda story: st.sampled_from(story.questions))


class Surroundings(Story):
    """All that isn't filedrop."""

    # People

    @rule(name=names, number=numbers, told=st.booleans())
    def drop(self, name: str, number: int, *, told: bool) -> None:
        self.people.drop(name, number, document(number))
        self.tell(name, told=told)

    @rule(name=names, number=numbers, at=st.sampled_from([0, 700, -3]))
    def begin_writing(self, name: str, number: int, at: int) -> None:
        content = document(number)
        self.people.begin(name, number, content, at % len(content))

    @precondition(lambda self: self.people.writers)
    @rule()
    def write_on(self) -> None:
        self.people.write_on()

    @precondition(lambda self: self.people.papers)
    @rule(which=some, where=places, name=st.sampled_from(["", *NAMES]), beside=st.booleans(), told=st.booleans())
    def move(self, which: int, where: str, name: str, *, beside: bool, told: bool) -> None:
        moved = self.people.move(which, where, name, beside=beside)
        if moved and where == "":
            self.tell(moved, told=told)

    @precondition(lambda self: self.people.papers)
    @rule(which=some)
    def remove(self, which: int) -> None:
        self.people.remove(which)

    @precondition(lambda self: self.people.papers)
    @rule(which=some, where=st.sampled_from([None, "", "sent"]))
    def meddle(self, which: int, where: str | None) -> None:
        self.people.meddle(which, where)

    @precondition(lambda self: self.people.papers)
    @rule(which=some, readable=st.booleans())
    def rights(self, which: int, *, readable: bool) -> None:
        self.people.rights(which, readable=readable)

    @precondition(lambda self: self.world.delivered())
    @rule(which=some)
    def take(self, which: int) -> None:
        self.people.take(which)

    @rule(on=st.booleans())
    def hold(self, *, on: bool) -> None:
        self.people.hold(on=on)

    def tell(self, name: str, *, told: bool) -> None:
        """What the system may tell of a file in `outbound/`: that it was closed, or moved in."""
        if self.life is not None and told:
            self.life.report_closed(name)

    # A neighbour

    @rule(place=st.sampled_from(PLACES))
    def a_link_in_a_folders_place(self, place: str) -> None:
        self.neighbour.link_place(place)

    @rule(
        kind=st.sampled_from(["folder", "pipe", "link", "zero"]),
        place=st.sampled_from(["", *PLACES]),
        name=st.sampled_from(PLANTED),
    )
    def something_is_planted(self, kind: str, place: str, name: str) -> None:
        self.neighbour.plant(kind, place, name)

    @rule(kind=st.sampled_from(["zero", "pipe", "list", "changes"]))
    def the_marker_is_forged(self, kind: str) -> None:
        self.neighbour.mark(kind)
        self.ledger.ended += kind == "changes"  # puts all that waits in doubt, as an end does what is on the wire

    @precondition(lambda self: self.people.papers)
    @rule(which=some, lie=some)
    def a_sidecar_is_forged(self, which: int, lie: int) -> None:
        document = self.neighbour.forge(which, lie)
        paper = self.people.papers.get(document.stat().st_ino) if document and document.exists() else None
        if paper is not None:
            paper.meddled = document

    @rule(nth=nths, seconds=lengths, place=st.sampled_from(PLACES))
    def a_link_in_between(self, nth: int, seconds: float, place: str) -> None:
        self.in_between(nth, seconds, lambda: self.neighbour.link_place(place))

    @rule()
    def the_neighbour_withdraws(self) -> None:
        self.neighbour.withdraw()

    # The wire

    @rule()
    def the_access_point_is_set_up_anew(self) -> None:
        self.clock.pass_on(5.0)
        self.late.clear()  # it reaches nobody
        self.ledger.set_up_anew()

    @rule(date=dates)
    def the_date_is_set(self, date: int | None) -> None:
        self.date_is(date)

    @rule(number=some)
    def receive(self, number: int) -> None:
        self.world.receive(invoice(f"in-{len(self.world.received)}-{number}"))

    @rule(number=numbers, code=st.sampled_from(["AP", "RE"]))
    def respond(self, number: int, code: str) -> None:
        """The receiver answers a document, which may not have been dropped yet."""
        self.ledger.answers[self.world.receive(response(f"out-{number}", code))] = number

    @rule(kinds=st.lists(uploads, min_size=1, max_size=3))
    def uploads_go_wrong(self, kinds: list[str]) -> None:
        self.world.front.next("POST /outbox", *[self.upload(kind) for kind in kinds])

    @rule(name=names, number=numbers, kinds=st.lists(uploads, max_size=2), seconds=lengths)
    def a_document_goes(self, name: str, number: int, kinds: list[str], seconds: float) -> None:
        self.uploads_go_wrong(kinds)
        self.alive()
        self.drop(name, number, told=True)
        self.driven(lambda: self.alive().go_on(seconds))

    @rule(name=names, number=numbers, code=st.sampled_from(["AP", "RE"]), seconds=lengths)
    def a_document_goes_that_is_answered_already(self, name: str, number: int, code: str, seconds: float) -> None:
        self.respond(number, code)
        self.driven(lambda: self.alive().go_on(400.0))
        self.a_document_goes(name, number, [], seconds)

    @rule(faults=st.lists(questions, max_size=2), line=st.sampled_from(TAKING), seconds=lengths)
    def a_message_comes(self, faults: list[str], line: str, seconds: float) -> None:
        self.receive(0)
        self.world.front.next(line, *[QUESTIONS[kind] for kind in faults])
        self.driven(lambda: self.alive().go_on(seconds))

    @rule(kind=questions, line=st.sampled_from(ASKED), times=st.integers(1, 3))
    def questions_go_wrong(self, kind: str, line: str, times: int) -> None:
        fault = QUESTIONS[kind]
        self.world.front.next(
            lambda request: request.line.startswith(line) and request.line != "POST /outbox", *[fault] * times
        )

    @rule(kind=questions)
    def everything_goes_wrong(self, kind: str) -> None:
        self.world.front.always(lambda request: request.line != "POST /outbox", QUESTIONS[kind])
        self.world.front.always("POST /outbox", self.upload("404"))

    @rule()
    def the_wire_is_well(self) -> None:
        self.world.front.heal()

    @rule(right=st.booleans())
    def password(self, *, right: bool) -> None:
        self.world.password_file.write_text(PASSWORD if right else "wrong")

    def upload(self, kind: str) -> Fault:
        """An upload goes wrong like this, and the ledger hears of it."""
        means, fault = UPLOADS[kind]

        def heard(exchange: Exchange) -> None:
            self.ledger.heard[number_of(exchange.request.body)][means] += 1
            if fault is None:
                self.late.append(exchange.request)
                self.clock.later(DOUBT - 60, self.what_was_late_arrives)  # at the latest: the one limit (contract 6)
                exchange.cut()
            else:
                fault(exchange)

        return heard

    # Time

    @rule(seconds=st.sampled_from([0.5, 1.5, 2.5]))
    def a_moment_passes(self, seconds: float) -> None:
        self.clock.pass_on(seconds)

    @rule(seconds=st.sampled_from([30.0, 130.0, 950.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        if self.life is not None:
            self.driven(self.life.do_all)  # no job takes so long
        self.clock.pass_on(seconds)

    @rule(hours=st.sampled_from([0, -72, -1, 1, 720, 175_000]))
    def the_clock_is_set(self, hours: int) -> None:
        self.ledger.loses_answers = True
        self.clock.skew = timedelta(hours=hours)
