"""The question to a person about a document in doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.drops import NOON, drop, posted

from filedrop.model.document import Event
from filedrop.model.question import ASKED, asked, commands, question

DOUBT = posted(drop()).doubted(NOON, "no answer")


def test_commands_of_a_question() -> None:
    """The question names the two commands that answer it; without a question, or after a new doubt, there are none."""
    document = asked(DOUBT, NOON, {7: "has its time", 9: "has its parties"})
    sent, again = commands(document)
    assert (sent, again) == (
        f"filedrop resolve {DOUBT.id} --sent 7",
        f"filedrop resolve {DOUBT.id} --send-again",
    )
    assert sent in question(document)
    assert again in question(document)
    doubted = replace(document, history=(*document.history, Event(NOON, "in doubt", {"why": "no answer"})))
    assert commands(DOUBT) == commands(doubted) == []


@pytest.mark.parametrize("facts", [{}, {"message": "7"}], ids=["none", "no number"])
def test_commands_without_a_number(facts: dict[str, str]) -> None:
    """If the history doesn't give the message's number, the person writes it."""
    history = (*DOUBT.history, Event(NOON, ASKED, {"why": "it may have arrived", **facts}))
    assert commands(replace(DOUBT, history=history))[0] == f"filedrop resolve {DOUBT.id} --sent MSG_NO"
