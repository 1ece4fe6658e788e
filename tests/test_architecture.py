"""The house keeps to its own map: arrows, doors and room sizes, read from the source itself.

An import under TYPE_CHECKING counts like any other: to know a room's types is to know the room.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import filedrop

HOUSE = Path(filedrop.__file__).parent
SOURCES = sorted(path for path in HOUSE.rglob("*.py") if path.parent != HOUSE or path.name != "__init__.py")

DOORS = {
    "requests": ("accesspoint/transport/",),
    "urllib3": ("accesspoint/transport/",),
    "tenacity": ("accesspoint/transport/",),
    "truststore": ("accesspoint/transport/",),
    "lxml": ("identify/", "accesspoint/answers.py"),
    "watchdog": ("watcher.py",),
    "yaml": ("config/",),
    "pydantic": ("config/",),
    "pydantic_core": ("config/",),
    "sqlite3": ("journal/",),
    "sqlalchemy": ("sandbox/store.py",),
    "flask": ("sandbox/",),
    "waitress": ("sandbox/",),
    "werkzeug": ("sandbox/",),
    "itsdangerous": ("sandbox/",),
    "click": ("cli/",),
    "rich": ("cli/",),
    "filelock": ("service.py",),
    "structlog": ("",),  # each room is handed a logger and may name its type; `configure` has one place
    "_typeshed": ("sandbox/",),  # the type of a WSGI application, which no library is needed for
}
LONGEST_ROOM = 300  # lines


@dataclass(frozen=True)
class Room:
    """A line of the map: `floor` is the group it stands in, `level` counts from the top."""

    floor: str
    level: int


@cache
def rooms() -> dict[str, Room]:
    """The rooms by name, as the docstring of `filedrop` draws them."""
    floor, found = "", {}
    for line in (filedrop.__doc__ or "").partition("The rooms;")[2].splitlines()[1:]:
        floor = line[4:16].strip() or floor
        drawn = re.match(r"(\w+)/? +\S", line[16:])
        if drawn:
            found[drawn[1]] = Room(floor, len(found))
    return found


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    """Each module that a source file imports, wherever in it, with the line."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.module == "filedrop":
                found += [(node.lineno, f"filedrop.{name.name}") for name in node.names]
            else:
                found.append((node.lineno, "." * node.level + (node.module or "")))
    return found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def where(path: Path, line: int) -> str:
    return f"filedrop/{path.relative_to(HOUSE).as_posix()}:{line}"


def test_every_room_is_on_the_map() -> None:
    """Whoever reads the map has heard of every module, and finds every one that it names."""
    lying = {room_of(path) for path in SOURCES} - {"__main__"}  # how Python starts cli/, not a room
    assert set(rooms()) == lying


def arrows() -> list[tuple[str, str, str]]:
    """Each import of one room in another: where, the room that imports, the room that is imported."""
    return [
        (where(path, line), room_of(path), imported)
        for path in SOURCES
        for line, name in imports(path)
        if name.startswith("filedrop.") and (imported := name.split(".")[1]) in rooms() and imported != room_of(path)
    ]


def test_imports_point_down() -> None:
    """A room can be understood with what stands below it on the map alone."""
    drawn = rooms()
    upward = [
        f"{place} imports {imported}"
        for place, room, imported in arrows()
        if room in drawn
        and "apart" not in (drawn[room].floor, drawn[imported].floor)
        and drawn[imported].level < drawn[room].level
    ]
    assert not upward


def test_what_stands_apart_knows_only_nouns_and_is_known_only_at_the_doors() -> None:
    """The sandbox can't agree with filedrop's own misreadings: neither has seen the other."""
    drawn = rooms()
    crossing = [
        f"{place} imports {imported}"
        for place, room, imported in arrows()
        if room in drawn
        and (
            (drawn[room].floor == "apart" and drawn[imported].floor != "nouns")
            or (drawn[imported].floor == "apart" and drawn[room].floor != "doors")
        )
    ]
    assert not crossing


def test_one_door_for_each_library() -> None:
    """A library can be replaced by rewriting one room; a new one is let in here first."""
    outside = [
        f"{where(path, line)} imports {name}"
        for path in SOURCES
        for line, name in imports(path)
        if (library := name.partition(".")[0]) not in sys.stdlib_module_names
        and library != "filedrop"
        and not path.relative_to(HOUSE).as_posix().startswith(DOORS.get(library, ()))
    ]
    assert not outside


def test_logging_is_configured_in_one_place() -> None:
    """What a log line looks like is decided in logs alone."""
    configuring = {
        room_of(path)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "structlog.configure"
    }
    assert configuring == {"logs"}


def test_every_exception_ends_in_one_place() -> None:
    """`except Exception` exists once, in loop: everywhere else it is known what is caught and what it means."""
    catching = [
        where(path, node.lineno)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or "Exception" in names_in(node.type))
    ]
    assert [place.partition(":")[0] for place in catching] == ["filedrop/loop.py"]


def test_whoever_catches_everything_raises_it_again() -> None:
    """An interrupt or a power cut in a test passes through each room that cleans up behind it."""
    swallowing = [
        where(path, node.lineno)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ExceptHandler)
        and node.type is not None
        and "BaseException" in names_in(node.type)
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
        and room_of(path) != "journal"  # the writing thread hands it to the thread that asked, which raises it
    ]
    assert not swallowing


def names_in(node: ast.expr) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def test_only_the_commands_print() -> None:
    """Nothing but a command writes to the terminal of whoever uses filedrop."""
    printing = [
        where(path, node.lineno)
        for path in SOURCES
        if room_of(path) != "cli"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
    ]
    assert not printing


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(HOUSE).as_posix())
def test_a_room_can_be_read_in_one_sitting(path: Path) -> None:
    """No module has more than 300 lines, and each says first what it is."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_ROOM
    assert ast.get_docstring(parsed(path))
