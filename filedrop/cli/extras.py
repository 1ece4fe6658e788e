"""The command that gives this filedrop the libraries of an extra, by the program that installed it: pipx, uv or pip."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filedrop.text import command


def install_command(extra: str, name: str) -> str:
    """The command line after which `filedrop NAME` works; uvx runs it at once."""
    origin = json.loads(_recorded("direct_url.json") or "{}")
    requirement = _requirement(extra, origin)
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        words = ["pipx", "install", "--force", requirement]
    elif _recorded("INSTALLER") == "uv":
        words = ["uvx", "--from", requirement, "filedrop", name]
    elif origin.get("dir_info", {}).get("editable"):
        folder = url2pathname(urlsplit(origin["url"]).path)
        words = [sys.executable, "-m", "pip", "install", "-e", f"{folder}[{extra}]"]
    else:
        words = [sys.executable, "-m", "pip", "install", requirement]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else command(*words)


def _requirement(extra: str, origin: dict[str, Any]) -> str:
    """The requirement: filedrop with this extra, from where it was installed (PEP 610)."""
    if not origin:
        return f"filedrop[{extra}]"  # from a package index
    url = origin["url"]
    if version := origin.get("vcs_info"):
        url = f"{version['vcs']}+{url}@{version['commit_id']}"
    return f"filedrop[{extra}] @ {url}"


def _recorded(name: str) -> str:
    """What the installer wrote into this file of filedrop's metadata; "" where there is none."""
    try:
        return (metadata.distribution("filedrop").read_text(name) or "").strip()
    except metadata.PackageNotFoundError:
        return ""
