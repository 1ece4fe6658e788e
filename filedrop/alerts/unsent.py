"""Letters that are still to be sent: to whom each has to go, tried again with growing pauses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

from filedrop.alerts.memory import Letter, NotSent
from filedrop.errors import ConfigError
from filedrop.pauses import LETTER
from filedrop.times import from_seconds, local, next_attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from filedrop.alerts.letters import Content
    from filedrop.config import Config

DIGEST_GIVEN_UP_AFTER = timedelta(days=7)  # after which a digest is given up: it tells nobody anything new
ALL = ""  # the reader of everything
ALERT, DIGEST = "alert", "digest"
MAIL, URLS = "mail", "urls"


def readers(config: Config) -> Mapping[str, Sequence[str]]:
    """The mail addresses of each reader: of a company's by its name, of those who are told of everything by ALL."""
    if config.alerts.mail is None:
        return {ALL: ()} if config.alerts.urls else {}
    own = {company.name: company.mail for company in config.companies.values() if company.mail}
    return {ALL: config.alerts.mail.to, **own}


def letters(config: Config, text: Content, *, reader: str, what: str, now: datetime) -> list[Letter]:
    """A text as letters to a reader, one for each way that leads there; a digest goes by mail alone."""
    made = partial(
        Letter, reader=reader, what=what, subject=text.subject, plain=text.plain, html=text.html, made=now.timestamp()
    )
    ways = []
    if config.alerts.mail and readers(config)[reader]:
        from filedrop.alerts import mail  # noqa: PLC0415 - 15 ms and 1 MB, and many send no alerts

        ways.append(made(id=mail.new_id(config.alerts.mail), by=MAIL))
    if config.alerts.urls and reader == ALL and what == ALERT:
        ways.append(made(id=token_hex(), by=URLS))
    return ways


def queued(unsent: Iterable[Letter], new: Sequence[Letter], now: datetime) -> tuple[Letter, ...]:
    """The unsent letters with new ones: a later alert says all that an unsent one said, and takes its place."""
    replaced = {(letter.reader, letter.by) for letter in new if letter.what == ALERT}
    kept = [letter for letter in unsent if not (letter.what == ALERT and (letter.reader, letter.by) in replaced)]
    kept = [
        letter for letter in kept if letter.what == ALERT or now - from_seconds(letter.made) < DIGEST_GIVEN_UP_AFTER
    ]
    return (*kept, *new)


def is_untold(unsent: Iterable[Letter], reader: str) -> bool:
    """Whether the last alert to this reader has reached nobody."""
    return any(letter.what == ALERT and letter.reader == reader and not letter.had for letter in unsent)


def is_to_be_tried(letter: Letter, now: datetime) -> bool:
    """Whether it is time to try this letter."""
    return LETTER.is_due(from_seconds(letter.due), now)


def send(config: Config, letter: Letter, now: datetime) -> Letter | None:
    """Send a letter to those who haven't had it; what is left of it, None where nothing is."""
    from filedrop.alerts import addresses, mail  # noqa: PLC0415 - 15 ms and 1 MB, and many send no alerts

    try:
        if letter.by == MAIL:
            to = [address for address in readers(config).get(letter.reader, ()) if address not in letter.had]
            if config.alerts.mail and to:
                mail.send(config.alerts.mail, letter, to)
        else:
            urls = {addresses.name_of(url): url for url in (secret.get_secret_value() for secret in config.alerts.urls)}
            if left := {name: url for name, url in urls.items() if name not in letter.had}:
                addresses.send(letter, left)
    except (NotSent, ConfigError) as error:
        attempts, had = letter.attempts + 1, error.had if isinstance(error, NotSent) else ()
        due = LETTER.due(now, attempts)
        had = (*letter.had, *had)
        return replace(letter, had=had, attempts=attempts, due=due.timestamp(), why=str(error))
    return None


def troubles(unsent: Iterable[Letter], now: datetime) -> tuple[str, ...]:
    """What couldn't be sent, each as a sentence."""
    return tuple(
        f"{'an alert' if letter.what == ALERT else 'a digest'} of {local(from_seconds(letter.made))} can't be sent: "
        f"{letter.why}; {next_attempt(from_seconds(letter.due), now)}"
        for letter in unsent
        if letter.why
    )
