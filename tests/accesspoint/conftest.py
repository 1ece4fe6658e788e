from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.backoffs import AT_ONCE

from filedrop.accesspoint import AccessPoint
from filedrop.config import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.scripted import Scripted

    from filedrop.pauses import Backoff

PASSWORD = "pæss:wörd-Zq7"


@pytest.fixture
def connect() -> Iterator[Callable[..., AccessPoint]]:
    """Make an access point for a base_url; what isn't said is as a test likes it: no pauses, short silences."""
    made: list[AccessPoint] = []

    def connect(
        base_url: str,
        *,
        stopped: threading.Event | None = None,
        retry: Backoff = AT_ONCE,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        **keys: Any,
    ) -> AccessPoint:
        if not keys.keys() & {"password", "password_file"}:
            keys["password"] = PASSWORD
        login = Account(name="main", base_url=base_url, username="acmé", **keys)
        stopped = stopped or threading.Event()
        made.append(AccessPoint(login, stopped=stopped, retry=retry, monotonic=monotonic, wall=wall))
        return made[-1]

    yield connect
    for access_point in made:
        access_point.close()


@pytest.fixture
def access_point(server: Scripted, connect: Callable[..., AccessPoint]) -> AccessPoint:
    return connect(server.url)


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("old", "utf-8")
    path.chmod(0o600)
    return path
