"""The words of a fault; the note of a document that lacks an id, its rule, and what a person does with that."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from filedrop.errors import DocumentError
from filedrop.identify import demand, identify, read
from filedrop.model.fault import Fault

if TYPE_CHECKING:
    from filedrop.identify import Reading


def whole(error: DocumentError) -> str:
    """All that is said of a document with this error, the administrator's part last."""
    fault = Fault.of(*error.texts)
    return f"{fault.message}\n{fault.hint}\n{fault.administrator}"


def hint_of(reading: Reading, company: str | None, file_name: str) -> str:
    """What the note's part for the administrator says, to its end."""
    with pytest.raises(DocumentError) as raised:
        demand(identify(reading, company=company, file_name=file_name), reading)
    return Fault.of(*raised.value.texts).administrator


def rule_for(document: bytes, file_name: str) -> str:
    """The line at the end of the note of one of acme's documents."""
    return hint_of(read(io.BytesIO(document)), "acme", file_name).splitlines()[-1]


def filled_in(rule: str) -> str:
    """The rule with something sound in the place of each of its placeholders."""
    rule = re.sub(r"<ParticipantID of [a-z ]+>", "0192:111111111", rule)  # nobody's: these begin with 8 or 9
    return re.sub(r"<([A-Za-z ]+)>", lambda placeholder: placeholder[1].replace(" ", "-"), rule)
