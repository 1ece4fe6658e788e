"""What an error says is still there when another process of ours has heard it."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from filedrop import errors
from filedrop.accesspoint import BrokenOff

if TYPE_CHECKING:
    from filedrop.errors import FiledropError

ONE_OF_EACH = [
    errors.ConfigError(["config.yaml:1: accounts: missing", "config.yaml:2: root: missing"]),
    errors.DocumentError("doctype", "Line 1: the document has a DOCTYPE.", "Have it written without."),
    errors.Rejected("refused", status=422, text="Invalid"),
    errors.Unauthorized("refused the login"),
    errors.WrongAddress("no access point is there"),
    errors.Unavailable("cannot reach it", retry_after=timedelta(seconds=7)),
    errors.NoClearAnswer("it may have received it"),
    errors.Unexplained("answered 400", text="?"),
    errors.Interrupted("the process has ended"),
    BrokenOff("the document changed"),
]


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda error: type(error).__name__)
def test_from_process_to_process(error: FiledropError) -> None:
    """It is of the same kind, says the same, and knows the same."""
    same = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own
    assert type(same) is type(error)
    assert str(same) == str(error)
    assert vars(same) == vars(error)
