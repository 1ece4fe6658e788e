"""Which matters are to be told now, again, or as over. Pure.

Matters wait a little before they are told, so that forty come in one mail and a short outage in none. A told matter is
told again only after `quiet` and only if it grew, or something else is wrong with the account or folder by now; one
that comes back waits a little once more. When none is left, that is told once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from filedrop.status.kinds import A_MOMENT, KINDS
from filedrop.status.matters import heading, key_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from filedrop.status.matters import Key
    from filedrop.status.model import Matter


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a matter: since when it is there, or gone, and when and how it was last told.

    All moments are in seconds since 1970. `told` is None where it hasn't been. `number` and `newest` are those that
    were told; `number` falls when the matter's falls. `what` was told to be wrong; since `changed`, something else
    is.
    """

    title: str
    since: float
    gone: float | None = None
    told: float | None = None
    number: int = 0
    newest: float = 0.0
    what: str = ""
    changed: float | None = None

    def has_ended(self, now: float) -> bool:
        """Whether it has been gone for long enough to be over."""
        return self.gone is not None and now - self.gone >= A_MOMENT


class News(NamedTuple):
    """A matter that is to be told: for the first time, or since it grew after it was `told` like this."""

    matter: Matter
    told: Known | None = None


class Notice(NamedTuple):
    """What is to be told: what is new, what still is as it was told, and what is over. No news: all of it is over."""

    news: tuple[News, ...]
    still: tuple[Matter, ...]
    over: tuple[str, ...]

    def to_one_who_knows_nothing(self) -> Notice:
        """The same, where what was told before has not arrived."""
        return Notice(tuple(map(News, (*(news.matter for news in self.news), *self.still))), (), self.over)


def bundle(
    before: Mapping[Key, Known], matters: Iterable[Matter], unseen: Container[Key], *, now: float, quiet: float
) -> tuple[Notice | None, Mapping[Key, Known]]:
    """What one reader is to be told now, if anything, and what is to be remembered then, by what was before.

    The `matters` need attention now. The `unseen` may still do so: the journal or a folder can't be read.
    """
    present = {key_of(matter): matter for matter in matters}
    known = {key: _seen(before.get(key), matter, now) for key, matter in present.items()}
    due = {key: matter for key, matter in present.items() if _is_due(known[key], matter, now=now, quiet=quiet)}
    news = tuple(News(matter, known[key] if known[key].told is not None else None) for key, matter in due.items())
    kept = {key: known for key, known in before.items() if key in unseen}
    over = _over(before, present, unseen, now)
    known |= kept | over
    still = tuple(matter for key, matter in present.items() if known[key].told is not None and key not in due)
    ended = {key: known.title for key, known in over.items() if known.has_ended(now)}
    left = {key: remembered for key, remembered in known.items() if key not in ended}
    if not news and (left or not ended):
        return None, known
    reported = {key: _told(known[key], matter, now) for key, matter in due.items()}
    return Notice(news, still, tuple(ended.values())), left | reported


def _over(before: Mapping[Key, Known], present: Container[Key], unseen: Container[Key], now: float) -> dict[Key, Known]:
    """What was told and is no longer there."""
    return {
        key: _gone(known, now)
        for key, known in before.items()
        if known.told is not None and key not in present and key not in unseen
    }


def _told(known: Known, matter: Matter, now: float) -> Known:
    number, newest, what = matter["number"], matter["newest"], matter["what"]
    return replace(known, told=now, number=number, newest=newest, what=what, changed=None)


def _seen(known: Known | None, matter: Matter, now: float) -> Known:
    if known is None:
        return Known(heading(matter), now)
    # Moments in the future: the clock was set back.
    last = None if known.told is None else min(known.told, now)
    is_another = known.what not in ("", matter["what"])
    return replace(
        known,
        title=heading(matter),
        since=now if known.has_ended(now) else min(known.since, now),
        gone=None,
        told=last,
        number=min(known.number, matter["number"]),
        changed=min(known.changed or now, now) if is_another else None,
    )


def _gone(known: Known, now: float) -> Known:
    since = now if known.gone is None else min(known.gone, now)
    return replace(known, gone=since, number=0, changed=None)


def _is_due(known: Known, matter: Matter, *, now: float, quiet: float) -> bool:
    patience = KINDS[matter["kind"]].patience
    if known.told is None:
        return now - known.since >= patience
    has_grown = matter["number"] > known.number or matter["newest"] > known.newest
    is_another = known.changed is not None and now - known.changed >= patience
    return (has_grown or is_another) and now - known.told >= quiet and now - known.since >= patience
