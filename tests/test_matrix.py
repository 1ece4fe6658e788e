"""support.matrix: which cases are fast, and which of the others a sample tries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from support import matrix

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Any]]:
    """The cases that a run with this seed draws of a test with forty, of a test with two, and of one without any."""
    names = [
        *(f"tests/a.py::test_many[{case}]" for case in range(40)),
        "tests/a.py::test_two[x]",
        "tests/a.py::test_two[y]",
    ]
    monkeypatch.delenv(matrix.MATRIX, raising=False)

    def draw(seed: int) -> list[Any]:
        monkeypatch.setenv(matrix.SEED, str(seed))
        items = [SimpleNamespace(nodeid=name, user_properties=[]) for name in [*names, "tests/b.py::test_alone"]]
        return matrix.draw_cases(cast("list[pytest.Item]", items))

    return draw


def test_quick_cases() -> None:
    """The first cases of a table are fast and the others slow; what else they have stays."""
    third = pytest.param(3, "c", id="the third", marks=pytest.mark.timeout(1))
    first, *others = matrix.quick([(1, "a"), (2, "b"), third])
    assert first == (1, "a")
    assert [case.values for case in others] == [(2, "b"), (3, "c")]
    assert [[mark.name for mark in case.marks] for case in others] == [["slow"], ["timeout", "slow"]]
    assert others[1].id == "the third"


def test_sample_of_cases(drawn: Callable[[int], list[Any]]) -> None:
    """Of each test some cases are drawn, other ones in each run, and the report says how many of how many."""
    cases = drawn(1)
    tests = [case.nodeid.partition("[")[0] for case in cases]
    assert tests.count("tests/a.py::test_many") == 6
    assert tests.count("tests/a.py::test_two") == tests.count("tests/b.py::test_alone") == 1
    assert [case.user_properties for case in cases if case.user_properties] == [
        [(matrix.PROPERTY, (6, 40))], [(matrix.PROPERTY, (1, 2))],
    ]  # fmt: skip
    assert {case.nodeid for seed in range(100) for case in drawn(seed)} > {case.nodeid for case in cases}


def test_sample_of_a_seed(drawn: Callable[[int], list[Any]]) -> None:
    """The seed of a run draws the same cases again."""
    assert [case.nodeid for case in drawn(7)] == [case.nodeid for case in drawn(7)]
