"""Whether a document keeps the rules, as far as somebody can tell (contract 8, `outbound.validate`).

A validator has findings, or no verdict, where it is missing, crashed or took too long; that says nothing of a document.

validator   what a validator is; the one that is a program
process     the one that goes by rules, in a child process (programs)
child       that process: compiles the rules once, applies them, and finds where in a document a finding is
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from filedrop.validation.process import ByRules
from filedrop.validation.validator import ByProgram, Kind, Validator, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from filedrop.config import Validation

FOLDER = "validating"  # in `state`
__all__ = ["ByRules", "Kind", "Validator", "Verdict", "clear_copies", "validator_of"]


def validator_of(validation: Validation, state: Path | None = None, *, passed: Sequence[str] = ()) -> Validator | None:
    """The validator that a configuration names, if it does. `state`: the folder where copies may lie for a moment.

    `passed` names the variables that a program gets (the configuration's `pass_environment`).
    """
    seconds = validation.timeout.total_seconds()
    if validation.rules is not None:
        memory, exceptions = validation.memory, validation.exceptions
        return ByRules(validation.rules, seconds=seconds, memory=memory, exceptions=exceptions)
    if validation.command is not None:
        folder = state / FOLDER if state is not None else None
        return ByProgram(validation.command, seconds=seconds, folder=folder, passed=passed)
    return None


def clear_copies(state: Path) -> None:
    """Remove the copies that a filedrop which was killed has left in `state`, while no validator uses them."""
    shutil.rmtree(state / FOLDER, ignore_errors=True)
