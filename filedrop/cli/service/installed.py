"""What lies there as the service's unit, and what systemd makes of it: which account, and where that may write.

The files are read as systemd.unit(5) says, without asking systemd: the unit of the first folder that has it, then its
drop-ins by name, where a line without a value forgets those before it.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from filedrop.process.systemd import FOLDERS

DROP_IN = "50-filedrop.conf"


def unit_name(instance: str | None) -> str:
    """The unit of the only filedrop, or of one of several."""
    return f"filedrop@{instance}.service" if instance else "filedrop.service"


def instance_of(unit: str) -> str:
    """Which of several filedrops a unit is for, "" for the only one."""
    return unit.removesuffix(".service").partition("@")[2]


@dataclass(slots=True)
class Unit:
    """A unit that is installed: its file, and what stands in it and in its drop-ins, by key."""

    name: str
    path: Path
    values: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, name: str, root: Path = Path("/")) -> Unit | None:
        """The unit of this name, None where there is none. Raises OSError where it can't be read."""
        instance = instance_of(name)
        names = (name, "filedrop@.service") if instance else (name,)
        folders = [root / folder.relative_to("/") for folder in FOLDERS]
        files = [folder / unit_name for unit_name in names for folder in folders if (folder / unit_name).is_file()]
        if not files:
            return None
        unit = cls(name, files[0])
        drop_ins: dict[str, Path] = {}  # by name: the first folder's counts
        for unit_name in names:
            for folder in folders:
                for path in (folder / f"{unit_name}.d").glob("*.conf"):
                    drop_ins.setdefault(path.name, path)
        for path in (files[0], *(drop_ins[key] for key in sorted(drop_ins))):
            unit._read_lines(path.read_text("utf-8"))
        return unit

    def _read_lines(self, text: str) -> None:
        for line in text.splitlines():
            key, is_set, value = line.partition("=")
            if not is_set or line.startswith(("#", ";")):
                continue
            if value.strip():
                self.values[key.strip()].append(value.strip().replace("%i", instance_of(self.name)))
            else:
                self.values.pop(key.strip(), None)

    def last(self, key: str) -> str:
        """The value that counts of a key that has one, "" where it isn't set."""
        return self.values[key][-1] if key in self.values else ""

    def words(self, key: str) -> list[str]:
        """All values of a key that has many."""
        return [word.replace("%%", "%") for line in self.values.get(key, ()) for word in shlex.split(line)]

    @property
    def user(self) -> str:
        """The account that it runs as."""
        return self.last("User") or "root"

    @property
    def writable(self) -> list[Path]:
        """Where it may write; anywhere, where that isn't restricted."""
        if self.last("ProtectSystem") != "strict":
            return [Path("/")]
        paths = [Path(word.lstrip("-+")) for word in self.words("ReadWritePaths")]
        return [*paths, *(Path("/var/lib") / name for name in self.words("StateDirectory"))]
