"""The rule that a note proposes, and what a person does with it."""

from __future__ import annotations

import io
import re

from filedrop.errors import DocumentError
from filedrop.identify import demand, identify, read


def rule_for(document: bytes, file_name: str, company: str = "acme") -> str:
    """The line at the end of the note of a document that lacks an id."""
    reading = read(io.BytesIO(document))
    try:
        demand(identify(reading, company=company, file_name=file_name), reading)
    except DocumentError as error:
        return error.hint.splitlines()[-1]
    raise AssertionError("it lacks nothing")


def filled_in(rule: str) -> str:
    """The rule with something sound in the place of each of its placeholders."""
    rule = re.sub(r"<ParticipantID of [a-z ]+>", "0192:111111111", rule)  # nobody's: these begin with 8 or 9
    return re.sub(r"<([A-Za-z ]+)>", lambda placeholder: placeholder[1].replace(" ", "-"), rule)
