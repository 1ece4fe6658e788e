"""The kinds of what needs attention."""

from __future__ import annotations

from typing import get_args

from filedrop.status.kinds import KINDS, Kind


def test_each_kind_has_a_row() -> None:
    """Each kind has its row, and the rows are in the order of urgency that the type gives."""
    assert tuple(KINDS) == get_args(Kind)
