from __future__ import annotations

import gc
import os
import runpy
import sys
import threading
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from support import corpus, matrix
from support.memory import folder_in_memory
from support.postgres import Servers, versions
from support.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from support.postgres import Server
    from support.stepping import Clock
    from support.world import World


TESTS = Path(__file__).parent
NO_POSTGRESQL = pytest.mark.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux")
# The tests that have their files on a disk. All others have them in memory, where a file is written in no time.
ON_DISK = (
    "storage",  # the calls of a file system, and what it refuses
    "journal/test_checkpoints.py",  # files of SQLite that several processes map and truncate
    "faults/test_disk.py", "faults/test_mounts.py", "inbound/test_delivery.py",  # they compare with or mount over it
    "faults/test_power_cuts.py", "faults/test_strace.py", "faults/test_kills.py",  # what is written before what
    "hosts",  # a journal's database beside a share
    "packaging", "test_benchmarks.py",  # gigabytes
)  # fmt: skip

# The tests that wait for half a minute and more, for what has such a limit.
LONG = (
    "hosts/test_nemesis.py", "hosts/test_taking_over.py", "hosts/test_sharing.py", "hosts/test_held.py",
    "alerts/test_addresses.py", "faults/test_power_cuts.py",
)  # fmt: skip

# Else each of a thousand processes compiles filedrop once more, and each of pytest's the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # each process looks for some in all that pytest needs
# Nothing here depends on how busy the machine is. Each run draws other examples.
settings.register_profile("filedrop", deadline=None, max_examples=100 if matrix.is_full() else 15)
settings.load_profile("filedrop")


@pytest.fixture
def tmp_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A new folder: in memory, but for the tests `ON_DISK`."""
    test = request.path.relative_to(TESTS).as_posix()
    with nullcontext(tmp_path) if test.startswith(ON_DISK) else folder_in_memory(tmp_path) as folder:
        yield folder


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes a world with these changes; it ends with the test."""
    from support.world import World  # noqa: PLC0415 - tests of single rooms need no sandbox

    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(World(tmp_path, **changes))


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world as it comes."""
    return make_world()


@pytest.fixture
def clock() -> Clock:
    """The clock of a filedrop that is driven step by step."""
    from support.stepping import Clock  # noqa: PLC0415 - as above

    return Clock()


@pytest.fixture(params=matrix.quick(["as documented", "as in the field", "in a namespace"], 2))
def either_world(make_world: Callable[..., World], request: pytest.FixtureRequest) -> World:
    """A world whose access point follows the interface document, one whose follows the field notes, and a third."""
    from filedrop.sandbox import NAMESPACED  # noqa: PLC0415 - as above

    dialect = NAMESPACED if request.param == "in a namespace" else None
    quirks = request.param == "as in the field"
    oddities = ["document-elsewhere", "refusal-encoded", "seconds-rounded", "uuid-prefix"] if quirks else []
    return make_world(quirks=quirks, oddities=oddities, dialect=dialect)


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that answers what a test scripts."""
    server = Scripted()
    yield server
    server.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The PostgreSQL servers of this run, each of which is started for the first test that asks for it."""
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture(params=versions() or [pytest.param("", marks=NO_POSTGRESQL)])
def postgres(request: pytest.FixtureRequest, servers: Servers) -> Server:
    """A PostgreSQL server, of each version that is tried."""
    return servers[request.param]


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AbstractContextManager[None]]:
    """A context in which the system has no new thread whose name begins so; with "", none at all."""
    start = threading.Thread.start

    @contextmanager
    def without(named: str) -> Iterator[None]:
        def fails(thread: threading.Thread) -> None:
            if thread.name.startswith(named):
                raise RuntimeError("can't start new thread")
            start(thread)

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", fails)
            patched.setattr("filedrop.files.patience._free", [])
            yield

    return without


@pytest.fixture
def sample(record_property: Callable[[str, Any], None]) -> matrix.Sample:
    """Draws so many items of a long matrix, or all of them (`support.matrix`), and has the run's summary tell of it."""
    seed = matrix.draw_seed()

    def draw(items: Sequence[Any], count: int) -> list[Any]:
        drawn = matrix.sample(items, count, seed)
        record_property(matrix.PROPERTY, (len(drawn), len(items)))
        return drawn

    return draw


def pytest_configure(config: pytest.Config) -> None:
    """Once a run: draws its seed; compiles the catalogues, as a build does, from what is in the source now."""
    if not hasattr(config, "workerinput"):
        matrix.seed_of_run()
        with suppress(ImportError):  # without the extra `dev`: tests/texts/test_catalogues.py says what is missing
            runpy.run_path(str(TESTS.parent / "packaging" / "hatch_build.py"))["compile_catalogues"](TESTS.parent)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose library draws its sample (`tries`) reports it like those that use the fixture `sample`."""
    item.user_properties += [(matrix.PROPERTY, mark.args) for mark in item.iter_markers("tries")]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the slow tests, when only these are asked for, some cases of each are run."""
    if config.option.markexpr == "slow" and not matrix.is_full():
        drawn = set(matrix.draw_cases(items))
        config.hook.pytest_deselected(items=[item for item in items if item not in drawn])
        items[:] = [item for item in items if item in drawn]
    items[:] = _long_first(items)


def _long_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """The long tests before the others, or all processes wait for the last of them in the end.

    Each process of xdist begins with a part of the list of its own, so each part gets some of them.
    """
    long = [item for item in items if item.path.relative_to(TESTS).as_posix().startswith(LONG)]
    short = [item for item in items if not item.path.relative_to(TESTS).as_posix().startswith(LONG)]
    parts = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    edges = [len(short) * part // parts for part in range(parts + 1)]
    return [item for part in range(parts) for item in (*long[part::parts], *short[edges[part] : edges[part + 1]])]


def pytest_collection_finish() -> None:
    """The tests themselves stay to the end: looking through thousands of them for garbage finds none."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests had no corpus, and how much of each long matrix was run.

    A full run records the matrices in the page of figures.
    """
    if left_out := corpus.told(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(left_out)
    reports = list(chain.from_iterable(terminalreporter.stats.values()))
    if lines := list(matrix.told(reports)):
        how = "full" if matrix.is_full() else f"{matrix.SEED}={matrix.seed_of_run()}; {matrix.MATRIX}=full runs all"
        terminalreporter.section(f"matrices ({how})")
        terminalreporter.write("\n".join([*lines, ""]))
    if lines and matrix.is_full():
        page = matrix.FIGURES.read_text("utf-8")
        matrix.FIGURES.write_text(matrix.record(page, reports, datetime.now().astimezone().date()), "utf-8")
