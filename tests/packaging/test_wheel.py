"""The wheel and the archive of the source, as somebody gets them who has nothing else."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from support.manual import PAGES

from filedrop.cli.manual import for_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).parents[2]
NEEDED = [
    name
    for name in ("babel", "hatchling", "hatch_fancy_pypi_readme", "twine")
    if importlib.util.find_spec(name) is None
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(NEEDED), reason=f"NOT TRIED: THE WHEEL: {NEEDED} missing (pip install -e '.[dev]')"),
]


def run(*words: object, cwd: Path) -> str:
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("FILEDROP", "PYTHONPATH"))}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=outside, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def wheel(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The wheel of this checkout."""
    (made,) = made_once("wheel", lambda draft: build("wheel", PROJECT, draft)).iterdir()
    return made


def build(kind: str, source: Path, target: Path) -> Path:
    """Build the wheel or the archive of the source, which is sound; where it lies."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target, cwd=source)
    (made,) = target.iterdir()
    run(sys.executable, "-m", "twine", "check", "--strict", made, cwd=target)
    return made


def test_installed_from_it_alone(tmp_path: Path, wheel: Path) -> None:
    """In an empty environment the wheel is the whole filedrop: manual, demo and service, too."""
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", f"{wheel}[sandbox]", cwd=tmp_path)
    filedrop = programs / "filedrop"
    assert run(filedrop, "--version", cwd=tmp_path).startswith("filedrop, version ")
    page = run(filedrop, "manual", "install", cwd=tmp_path)
    assert page == for_terminal(PAGES["docs/install.md"], "install")
    assert "delivered" in run(filedrop, "demo", cwd=tmp_path)
    if sys.platform == "linux":
        root = tmp_path / "root"
        (root / "etc/filedrop").mkdir(parents=True)
        (root / "etc/filedrop/config.yaml").write_text(
            (PROJECT / "config.example.yaml").read_text("utf-8") + "# mine\n"
        )
        run(filedrop, "service", "install", "--root", root, cwd=tmp_path)
        unit = (root / "etc/systemd/system/filedrop.service").read_text()
        assert f"ExecStart={filedrop} run" in unit


def test_the_command_that_the_demo_asks_for(tmp_path: Path, wheel: Path) -> None:
    """Installed without the extra, `filedrop demo` shows a command, after which it works."""
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    refused = subprocess.run([programs / "filedrop", "demo"], capture_output=True, text=True, cwd=tmp_path, check=False)
    shown = re.search(r"filedrop's source, run: pip (install \S+)", refused.stderr)
    assert shown
    run(programs / "python", "-m", "pip", "-q", *shlex.split(shown[1]), cwd=PROJECT)
    assert "delivered" in run(programs / "filedrop", "demo", cwd=tmp_path)


def test_the_page_on_a_package_index(wheel: Path) -> None:
    """The description that an index shows has no link or picture that leads nowhere there."""
    with ZipFile(wheel) as files:
        (metadata,) = (files.read(name).decode() for name in files.namelist() if name.endswith(".dist-info/METADATA"))
    _, _, description = metadata.partition("\n\n")
    assert "filedrop manual start" in description
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert not [link for link in links if not link.startswith("https://")]


def test_catalogues_of_the_wheel(wheel: Path) -> None:
    """The wheel has each catalogue compiled, as gettext reads it."""
    sources = PROJECT.glob("filedrop/texts/locale/*/LC_MESSAGES/*.po")
    wanted = {source.relative_to(PROJECT).with_suffix(".mo").as_posix() for source in sources}
    assert wanted
    assert wanted <= set(ZipFile(wheel).namelist())


def test_types_of_the_installed_wheel(tmp_path: Path, wheel: Path) -> None:
    """Code that uses an installed filedrop is checked against filedrop's types."""
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(python, "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=tmp_path)
    (tmp_path / "user.py").write_text("from filedrop.times import moment\n\nanswer: int = moment('')\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "user.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 'expression has type "datetime | None", variable has type "int"' in done.stdout


def test_the_source_makes_the_same_wheel(tmp_path: Path, wheel: Path) -> None:
    """The archive of the source lacks nothing: the wheel that is built from it is the same, byte for byte."""
    with tarfile.open(build("sdist", PROJECT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("filedrop-*")
    assert build("wheel", unpacked, tmp_path / "again").read_bytes() == wheel.read_bytes()
