"""A running sandbox with two accounts, in each way of speaking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sandbox.client import ACME, DELIVER_AFTER, FJORD, Client, Clock

from filedrop.sandbox import Sandbox, SandboxAccount

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.client import Login, Start


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def start(tmp_path: Path, clock: Clock) -> Iterator[Start]:
    """Starts sandboxes on one state folder; each is stopped at the end."""
    started: list[Sandbox] = []

    def _start(*, quirks: bool = False, **changes: object) -> Sandbox:
        arguments = {"accounts": (ACME, FJORD), "deliver_after": DELIVER_AFTER, "clock": clock} | changes
        sandbox = Sandbox(tmp_path / "state", quirks=quirks, **arguments)  # type: ignore[arg-type] # mixed on purpose
        sandbox.start()
        started.append(sandbox)
        return sandbox

    yield _start
    for sandbox in started:
        sandbox.stop()


@pytest.fixture(params=[False, True], ids=["document", "quirks"])
def quirks(request: pytest.FixtureRequest) -> bool:
    """Both ways of speaking; a test that takes this promises something of both."""
    return bool(request.param)


@pytest.fixture
def sandbox(start: Start) -> Sandbox:
    """A sandbox that follows the interface document."""
    return start()


@pytest.fixture
def either(start: Start, *, quirks: bool) -> Sandbox:
    """A sandbox of each way of speaking, in turn."""
    return start(quirks=quirks)


@pytest.fixture
def quirky(start: Start) -> Sandbox:
    """A sandbox that follows the field notes."""
    return start(quirks=True)


@pytest.fixture
def login() -> Login:
    """`login(sandbox)` is ACME's client, `login(sandbox, FJORD)` the other's; None sends no credentials."""

    def _login(sandbox: Sandbox, account: SandboxAccount | None = ACME) -> Client:
        return Client(sandbox.base_url, (account.name, account.password) if account else None)

    return _login


@pytest.fixture
def acme() -> SandboxAccount:
    return ACME


@pytest.fixture
def fjord() -> SandboxAccount:
    return FJORD
