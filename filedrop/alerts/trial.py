"""A trial of all that is configured to tell people (`filedrop check --alert`)."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from filedrop.alerts import addresses, heartbeat, letters, mail, metrics
from filedrop.alerts.memory import Letter
from filedrop.alerts.unsent import ALERT, ALL, MAIL, URLS, readers
from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filedrop.config import Config


class Attempt(NamedTuple):
    """What was tried, what came of it, and why it failed, "" where it didn't."""

    about: str
    says: str
    why: str


def attempts(config: Config) -> Iterator[Attempt]:
    """Try each way, one after the other."""
    alerts, text = config.alerts, letters.trial()

    def letter(by: str, id_: str) -> Letter:
        made = datetime.now().astimezone().timestamp()
        return Letter(id_, ALL, by, ALERT, text.subject, text.plain, text.html, made)

    if server := alerts.mail:
        for reader, to in readers(config).items():
            about = f"companies.{reader}.mail" if reader else "alerts.mail"
            said = f"a test mail to {', '.join(to)} was accepted by {server.host}; check that it arrives"
            yield _tried(about, said, partial(mail.send, server, letter(MAIL, mail.new_id(server)), to))
    for number, url in enumerate((secret.get_secret_value() for secret in alerts.urls), 1):
        said = f"{url.partition(':')[0]}://... accepted a test message; check that it arrives"
        send = partial(addresses.send, letter(URLS, token_hex()), {addresses.name_of(url): url})
        yield _tried(f"alerts.urls, number {number}", said, send)
    if (beat := config.heartbeat.url) is not None:
        said = "its address responds"
        yield _tried("heartbeat.url", said, partial(heartbeat.ask, beat.get_secret_value()))
    if (file := config.metrics.textfile) is not None:
        yield _tried("metrics.textfile", f"{file} can be written", partial(metrics.check, file))
    if not (alerts.mail or alerts.urls or beat or file):
        yield Attempt("alerts", "", "no alert is configured: set alerts.mail, for example")


def _tried(about: str, said: str, attempt: Callable[[], object]) -> Attempt:
    try:
        attempt()
    except FiledropError as error:
        key = about.partition(",")[0]  # which the sentence may begin with
        return Attempt(about, said, str(error).removeprefix(f"{key}: "))
    return Attempt(about, said, "")
