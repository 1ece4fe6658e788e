"""The validator that goes by rules, in child processes (programs)."""

from __future__ import annotations

import threading
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.errors import NoVerdict
from filedrop.model.fault import Finding
from filedrop.programs.children import Child, Ended, Late, NoAnswer
from filedrop.validation.validator import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from filedrop.validation.validator import Kind

LARGEST = 1_000_000  # bytes of an answer
DOCUMENTS_AT_ONCE = 2  # documents: the second is another company's, which a slow document of the first must not hold up
SAME = 3  # different documents in a row that end with the same error: it is the rules' own


class _Error(NamedTuple):
    """An error of content at which a file of the rules has ended, and the digests of the documents."""

    where: str
    documents: set[str]


class ByRules:
    """Judges by the rules in a folder, in processes of its own. The second starts when the first is busy.

    `exceptions`: the ids of the rules that aren't applied to a company's documents.
    """

    def __init__(
        self, folder: Path, *, seconds: float, memory: int, exceptions: Callable[[str], Sequence[str]] = lambda _: ()
    ) -> None:
        self._folder = folder
        self._seconds = seconds
        self._exceptions = exceptions
        arguments = ("filedrop.validation.child", str(folder.absolute()))
        self._children = [Child(*arguments, memory=memory, largest=LARGEST) for _ in range(DOCUMENTS_AT_ONCE)]
        self._errors: dict[str, _Error] = {}  # by file of the rules: how the last documents have ended it
        self._change = threading.Lock()
        self._free: LifoQueue[Child] = LifoQueue()  # first the one that was used last: it is warm
        for child in reversed(self._children):
            self._free.put(child)

    def judge(self, kind: Kind, content: Iterable[bytes]) -> Verdict:
        """As `Validator.judge`."""
        question = {"check": False, "root": kind.root, "customization": kind.customization}
        question["exceptions"] = list(self._exceptions(kind.company))
        answer = self._ask(self._seconds, question, content)
        self._find_rules_own_error(answer)
        findings = tuple(Finding(**found) for found in answer["findings"])
        return Verdict(findings, tuple(answer["rules"]), int(answer["more"]))

    def check(self) -> str:
        """As `Validator.check`: each file of the rules is compiled, which may take some time for each."""
        self._ask(self._seconds * 10, {"check": True})
        return f"the rules in {self._folder}"

    def end_if_idle(self) -> None:
        """As `Validator.end_if_idle`: a process ends if it has not been asked for a while."""
        for child in self._children:
            child.end_if_idle()

    def close(self) -> None:
        """As `Validator.close`: the processes end, whatever they do."""
        for child in self._children:
            child.close()

    def _find_rules_own_error(self, answer: dict[str, Any]) -> None:
        """Raises NoVerdict where a file of the rules ends with the same error for several documents in a row."""
        error = answer["error"]
        with self._change:
            for name in answer["passed"]:
                self._errors.pop(name, None)
            if error is None:
                return
            same = self._errors.get(error["rules"])
            if same is None or same.where != error["where"]:
                same = self._errors[error["rules"]] = _Error(error["where"], set())
            if len(same.documents) < SAME:
                same.documents.add(error["document"])
            if len(same.documents) < SAME:
                return
        raise NoVerdict(
            f"{error['rules']} ended with the same error for {SAME} different documents in a row, which is taken for "
            f"an error of the rules: {error['said']} ({error['where']}); correct the rules, and retry the documents "
            "that failed by this error"
        )

    def _ask(self, seconds: float, question: dict[str, Any], content: Iterable[bytes] = ()) -> dict[str, Any]:
        """A process's answer. Raises NoVerdict, and whatever `content` raises."""
        child = self._free.get()
        try:
            answer = child.ask(question, content, seconds=seconds)
        except Late as error:
            raise NoVerdict(f"the rules {error} (validation.timeout)") from None
        except Ended as error:
            why = f"the process that applies the rules {error}; it may have needed more than validation.memory"
            raise NoVerdict(why) from None
        except NoAnswer as error:
            raise NoVerdict(str(error)) from None
        finally:
            self._free.put(child)
        if trouble := answer.get("trouble"):
            raise NoVerdict(str(trouble))
        return answer
