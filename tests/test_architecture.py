"""The house keeps to its own map: arrows, doors and room sizes, read from the source itself.

An import under TYPE_CHECKING counts like any other: to know a room's types is to know the room.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from functools import cache
from pathlib import Path

import pytest

import filedrop

HOUSE = Path(filedrop.__file__).parent
SOURCES = sorted(path for path in HOUSE.rglob("*.py") if path.parent != HOUSE or path.name != "__init__.py")

DOORS = {
    "requests": ("accesspoint/transport/",),
    "urllib3": ("accesspoint/transport/",),
    "tenacity": ("pauses.py",),
    "truststore": ("accesspoint/transport/",),
    "lxml": ("identify/", "readable/", "accesspoint/answers.py", "validation/"),
    "saxonche": ("validation/child.py",),
    "pypdf": ("readable/pdf.py",),
    "watchdog": ("daemon/watcher.py",),
    "yaml": ("config/",),
    "pydantic": ("config/",),
    "regex": ("config/",),
    "pydantic_core": ("config/",),
    "psycopg": ("journal/postgres",),
    "sqlite3": ("journal/", "sandbox/store.py", "cli/manual.py"),
    "flask": ("sandbox/",),
    "waitress": ("sandbox/",),
    "werkzeug": ("sandbox/",),
    "itsdangerous": ("sandbox/",),
    "click": ("cli/",),
    "rich": ("cli/",),
    "markdown_it": ("texts/guide.py",),
    "pywintypes": ("cli/service/",),  # pywin32's modules
    "servicemanager": ("cli/service/hosted.py",),
    "win32evtlog": ("cli/service/eventlog.py",),
    "win32evtlogutil": ("cli/service/eventlog.py",),
    "win32security": ("cli/service/manager.py",),
    "win32service": ("cli/service/",),
    "winerror": ("cli/service/",),
    "apprise": ("alerts/child.py",),
    "prometheus_client": ("alerts/metrics.py",),
    "jinja2": ("status/page.py", "readable/html.py"),
    "markupsafe": ("status/page.py", "readable/html.py"),
    "filelock": ("process/lock.py",),
    "stdnum": ("model/siren.py",),  # and by name in identify/participants, as the code list says
    "structlog": ("",),  # each room is handed a logger and may name its type; its form has one place
    "_typeshed": ("sandbox/",),  # the type of a WSGI application, which no library is needed for
}
LONGEST = 600  # lines
SEARCHES = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "find")
MOST_COMPLEX = 20  # by radon's count


STARTS = re.compile(  # a process
    r"(\w+\.)?Popen|subprocess\.(run|call|check_\w+|get\w+)|os\.(system|popen|startfile|fork\w*|(exec|posix_spawn|spawn)\w*)"
    r"|(asyncio\.)?create_subprocess_\w+|multiprocessing\..*|ProcessPoolExecutor"
)
APART = "sandbox"  # it shares nothing but words with the others
HANDED_OVER = {"journal/engine.py", "files/patience.py"}  # to the thread that waits for the result: it raises the error
LOOSE = 5  # modules at the top at most
BESIDE = {"inbound", "outbound"}  # neither knows the other
BORDERS = {  # how many modules of the core import each feature's
    "responses": 8,
    "answers": 7,
    "hosts": 6,
    "preparation": 12,
    "validation": 7,
    "strays": 3,
    "alerts": 4,
    "pages": 4,
    "service": 4,
    "upkeep": 2,
    "rehearsal": 1,
}


@cache
def packages() -> dict[str, int]:
    """The packages and loose modules by name, each with its level, as the docstring of `filedrop` draws them."""
    lines = (filedrop.__doc__ or "").partition("The packages;")[2].splitlines()
    names = [drawn[1] for line in lines if (drawn := re.match(r" {4}(\w+) +\S", line))]
    return {name: level for level, name in enumerate(names)}


def package_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Each module that a source file imports, wherever in it, with the line."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.module == "filedrop":
                found += [(node.lineno, f"filedrop.{name.name}") for name in node.names]
            else:
                found.append((node.lineno, "." * node.level + (node.module or "")))
    return found


@cache
def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(source(path), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(path)))


def where(path: Path, line: int) -> str:
    return f"filedrop/{path.relative_to(HOUSE).as_posix()}:{line}"


def test_who_owns_what() -> None:
    """What a module owns, no other changes (`.ci/owners`): it has verbs for that, which can keep their promises."""
    found = runpy.run_path(str(HOUSE.parent / ".ci" / "owners"))["foreign_writes"]()
    assert not found, "\n".join(f"{module} changes {field}" for field, module in found)


def test_callables_of_constructors() -> None:
    """Documents and messages go to their owner by `put`, `submit` or `record`, and by nothing else (`.ci/owners`)."""
    found = runpy.run_path(str(HOUSE.parent / ".ci" / "owners"))["foreign_callables"]()
    assert not found, "\n".join(f"{place} takes {name}" for name, place in found)


def test_every_package_is_on_the_map() -> None:
    """Whoever reads the map has heard of every package, and finds every one that it names."""
    lying = {package_of(path) for path in SOURCES} - {"__main__"}  # how Python starts cli/
    assert set(packages()) == lying
    assert sum((HOUSE / f"{name}.py").exists() for name in lying) <= LOOSE


def test_every_module_is_on_its_packages_map() -> None:
    """Each package's docstring names its modules, so that any line of code is found with two looks."""
    folders = [HOUSE / name for name in packages() if (HOUSE / name).is_dir()]
    unnamed = [
        where(path, 1)
        for folder in folders
        for path in sorted(folder.iterdir())
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        and path.stem != "__init__"
        and not re.search(rf"\b{path.stem}\b", ast.get_docstring(parsed(folder / "__init__.py")) or "")
    ]
    assert unnamed == []


@cache
def arrows() -> list[tuple[str, str, str]]:
    """Each import of one package in another: where, the package that imports, the one that is imported."""
    return [
        (where(path, line), package_of(path), imported)
        for path in SOURCES
        for line, name in imports(path)
        if name.startswith("filedrop.")
        and (imported := name.split(".")[1]) in packages()
        and imported != package_of(path)
    ]


def test_imports_point_down() -> None:
    """A package can be understood with what stands below it on the map alone."""
    level = packages()
    upward = [
        f"{place} imports {imported}"
        for place, package, imported in arrows()
        if package in level
        and APART not in (package, imported)
        and (level[imported] < level[package] or {package, imported} == BESIDE)
    ]
    assert not upward


def test_status_and_alerts_read_reports_alone() -> None:
    """What shows and reports the state of things knows nobody's inside: it gets frozen values (model/report)."""
    reaching = [
        f"{place} imports {imported}"
        for place, package, imported in arrows()
        if package in ("status", "alerts") and imported in ("daemon", "outbound", "inbound")
    ]
    assert not reaching


def test_no_circles() -> None:
    """Within a package, too: a module can be understood with those that it imports."""
    known = {module_of(path): set[str]() for path in SOURCES}
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.Import):
                known[module_of(path)].update(name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                # Of a package, its module of that name is imported, or what its own docstring's module says.
                known[module_of(path)].update(
                    within if (within := f"{node.module}.{name.name}") in known else node.module for name in node.names
                )
    circles = sorted(module for module in known if module in _reached(module, known))
    assert not circles


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__")


def _reached(module: str, known: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = list(known[module])
    while left:
        name = left.pop()
        if name not in found and name in known:
            found.add(name)
            left += known[name]
    return found


def test_what_stands_apart_knows_only_words_and_is_known_only_to_commands() -> None:
    """The sandbox can't agree with filedrop's own misreadings: neither has seen the other."""
    crossing = [
        f"{place} imports {imported}"
        for place, package, imported in arrows()
        if (package == APART and imported not in ("model", "times", "text", "errors", "config"))
        or (imported == APART and package != "cli")
    ]
    assert not crossing


def test_one_door_for_each_library() -> None:
    """A library can be replaced by rewriting one package; a new one is let in here first."""
    outside = [
        f"{where(path, line)} imports {name}"
        for path in SOURCES
        for line, name in imports(path)
        if (library := name.partition(".")[0]) not in sys.stdlib_module_names
        and library != "filedrop"
        and not path.relative_to(HOUSE).as_posix().startswith(DOORS.get(library, ()))
    ]
    assert not outside


def test_processes_are_started_in_one_place() -> None:
    """Which environment and which folder a process gets, and where its program is looked for, programs/ decides."""
    starting = {
        path.relative_to(HOUSE).as_posix()
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Call) and STARTS.fullmatch(ast.unparse(node.func))
    }
    assert starting == {"programs/__init__.py"}


def test_connections_to_the_journal_are_opened_in_one_place() -> None:
    """None of them checkpoints by itself (journal/sqlite). The sandbox's file is another, the manual's is none."""
    opening = {
        path.relative_to(HOUSE).as_posix()
        for path in SOURCES
        if package_of(path) != APART
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sqlite3.connect", "sqlite3.Connection")
    }
    assert opening == {"journal/sqlite.py", "cli/manual.py"}


def test_logging_is_configured_in_one_place() -> None:
    """What a log line looks like is decided in logs alone."""
    configuring = {
        package_of(path)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("structlog.configure", "structlog.wrap_logger")
    }
    assert configuring == {"process"}


def test_every_exception_ends_in_one_place() -> None:
    """`except Exception` exists once, in guard: everywhere else it is known what is caught and what it means."""
    catching = [
        where(path, node.lineno)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or "Exception" in names_in(node.type))
    ]
    assert [place.partition(":")[0] for place in catching] == ["filedrop/process/guard.py"]


def test_whoever_catches_everything_raises_it_again() -> None:
    """An interrupt or a power cut in a test passes through each module that cleans up behind it."""
    swallowing = [
        where(path, node.lineno)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and node.type is not None
        and "BaseException" in names_in(node.type)
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
        and path.relative_to(HOUSE).as_posix() not in HANDED_OVER
    ]
    assert not swallowing


def names_in(node: ast.expr) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def test_only_the_commands_print() -> None:
    """Nothing but a command writes to the terminal of whoever uses filedrop."""
    printing = [
        where(path, node.lineno)
        for path in SOURCES
        if package_of(path) != "cli"
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
    ]
    assert not printing


def test_a_module_can_be_read_in_one_sitting() -> None:
    """No module has more than 600 lines, and each module says first what it is."""
    long = [where(path, lines) for path in SOURCES if (lines := len(source(path).splitlines())) > LONGEST]
    undocumented = [where(path, 1) for path in SOURCES if not ast.get_docstring(parsed(path))]
    assert (long, undocumented) == ([], [])


def test_no_sentence_is_read() -> None:
    """What is shown consists of facts: nothing searches a sentence, or compares it with words, to know what it says.

    Whether two sentences are the same is no such question.
    """
    shown = [path for path in SOURCES if path.relative_to(HOUSE).parts[0] in ("status", "alerts", "texts")]
    asks = {
        f"{path.relative_to(HOUSE).as_posix()}: {ast.unparse(node)}"
        for path in shown
        for node in nodes(path)
        if (isinstance(node, ast.Compare) and any(map(_is_sentence, _operands(node))) and _has_words(node))
        or (isinstance(node, ast.Attribute) and node.attr in SEARCHES and _is_sentence(node.value))
        or (isinstance(node, ast.Import) and node.names[0].name == "re")
    }
    assert asks == {
        "status/matters.py: file['why'] in (A_PDF, PDF_WITH_INVOICE)",  # daemon.json has nothing else of a stray
        "status/page.py: import re",  # where a sentence ends, and whether it begins with a name
        "status/survey.py: folder.trouble.removeprefix",  # it may begin with the path, which is shown before it
        "texts/guide.py: import re",  # the blocks of a page in Markdown
        "texts/printable.py: import re",  # what needs quotation marks in YAML, and where no-break spaces are
    }


def _operands(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _is_sentence(node: ast.expr) -> bool:
    """Whether this is a sentence for people, by its name."""
    key = node.slice if isinstance(node, ast.Subscript) else node
    name = (
        getattr(key, "value", None) if isinstance(key, ast.Constant) else getattr(key, "attr", getattr(key, "id", ""))
    )
    return name in ("why", "reason", "title", "advice", "trouble", "warning")


def _has_words(node: ast.Compare) -> bool:
    """Whether something is compared with a text, or with constants."""
    parts = [part for operand in _operands(node) for part in ast.walk(operand)]
    return any(isinstance(part, ast.Name) and part.id.isupper() for part in parts) or any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value for part in parts
    )


def test_no_function_is_too_complex() -> None:
    """No function has a complexity of more than 20."""
    visitors = pytest.importorskip("radon.visitors", reason="pip install -e '.[dev]' brings radon")
    found = {
        f"{path.relative_to(HOUSE).as_posix()} {block.fullname}"
        for path in SOURCES
        for block in visitors.ComplexityVisitor.from_ast(parsed(path)).blocks
        if isinstance(block, visitors.Function) and block.complexity > MOST_COMPLEX
    }
    assert found == set()


def test_names_are_nouns() -> None:
    """A variable or parameter has the noun of what it holds; `at` is a key and a column alone."""
    vague = [
        f"{where(path, node.lineno)} {name}"
        for path in SOURCES
        for node in nodes(path)
        if (name := _bound(node)) in ("one", "told", "those", "it") or (isinstance(node, ast.arg) and name == "at")
        if not any(isinstance(field, ast.AnnAssign) and field.target is node for field in nodes(path))
    ]
    assert vague == []


def _bound(node: ast.AST) -> str:
    """The name that a node binds as a variable or parameter; "" for none."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def test_no_docstring_asks_a_question() -> None:
    """A docstring says what a thing is or returns; `?` stands only in what it quotes."""
    asking = [
        where(path, getattr(node, "lineno", 1))
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and "?" in re.sub(r'`[^`]*`|"[^"]*"', "", ast.get_docstring(node) or "")
    ]
    assert asking == []


def test_no_border_rises() -> None:
    """A feature's border (`.ci/homes`) doesn't grow; one that shrank is written down here, so that it stays small."""
    borders = runpy.run_path(str(HOUSE.parent / ".ci" / "homes"))["borders"]()
    assert {stripe: len(border) for stripe, border in borders.items()} == BORDERS, borders
