"""The daemon as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.world import World


def test_stages_of_a_stop(world: World) -> None:
    """Each stage of a stop has a line in the log: if a stop takes long, the last line says what it waits for."""
    with world.service():
        assert not stages(world)
    assert stages(world) == [
        "validations",
        "requests",
        "answers to be recorded",
        "folders",
        "pages and backup",
        "commands",
    ]
    assert {line["level"] for line in world.log() if line["event"] == "service.stopping"} == {"debug"}


def stages(world: World) -> list[str]:
    return [line["waits_for"] for line in world.log() if line["event"] == "service.stopping"]
