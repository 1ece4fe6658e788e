"""What `filedrop check` says of the validator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.matrix import quick
from support.rules import OWN_LIST, own_rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World


@pytest.mark.parametrize(
    ("released", "result", "says"),
    quick(
        [
            ("2026-05-18", "", "has the rules of 2026-05-18"),
            ("2010-05-18", "warning", "newer ones were due in November 2010"),
            ("2999-05-18", "ok", "the next are due in November 2999"),
        ]
    ),
)
def test_check_says_how_old_they_are(
    make_world: Callable[..., World], tmp_path: Path, released: str, result: str, says: str
) -> None:
    """`filedrop check` says whether the rules can be used, how old they are, and when the next are due."""
    rules = own_rules(tmp_path / "rules")
    (rules / "rules.yaml").write_text(OWN_LIST.replace("2026-05-18", released))
    world = make_world(more=f"validation: {{rules: {rules}, timeout: 10m}}", outbound={"validate": "refuse"})
    findings = [json.loads(line) for line in world.filedrop("check", "--json").stdout.splitlines()]
    age, works = [one for one in findings if one["about"] == "validation"]
    assert says in age["says"]
    assert result in ("", age["result"])
    assert works == {
        "about": "validation",
        "result": "ok",
        "says": f"the rules in {rules} can be used; outbound.validate refuses invalid documents",
    }


def test_check_warns_of_a_mistyped_exception(world: World, tmp_path: Path) -> None:
    """A rule in `validation.except` that the rules don't have is a warning, and one that they have is none."""
    rules = own_rules(tmp_path / "rules")
    world.more = f"validation: {{rules: {rules}, timeout: 10m, except: [{{rule: [OWN-1, OWN-l]}}]}}"
    findings = [json.loads(line) for line in world.filedrop("check", "--json").stdout.splitlines()]
    (warning,) = [one["says"] for one in findings if "validation.except" in one["says"]]
    assert warning.endswith(f"no rule in {rules} is named OWN-l; correct the name")


def test_check_says_what_is_wrong(world: World, tmp_path: Path) -> None:
    """A stylesheet that is none, a list with a mistake and a program that is missing are told."""
    rules = own_rules(tmp_path / "rules")
    (rules / "own.xslt").write_text("<nothing/>")
    for validation, says in (
        (f"rules: {rules}", "own.xslt is no stylesheet that can be used"),
        (
            f"rules: {tmp_path}",
            "rules.yaml: can't be read: No such file or directory; filedrop manual send shows",
        ),
        (f"command: [{tmp_path / 'nothing'}]", "isn't there, or filedrop's user may not run it"),
    ):
        world.more = f"validation: {{{validation}, timeout: 10m}}"
        done = world.filedrop("check", "--json")
        failed = [one for one in map(json.loads, done.stdout.splitlines()) if one["result"] == "failed"]
        assert any(says in one["says"] for one in failed), failed
        assert done.returncode in (1, 2)
