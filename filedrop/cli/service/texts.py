"""What `filedrop service install` writes, and where: each file's text follows from the configuration alone."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop import config as configuration
from filedrop.cli.service.installed import DROP_IN, instance_of, unit_name
from filedrop.cli.service.naming import TOP
from filedrop.errors import FiledropError
from filedrop.files.disk import mount_point, unescaped
from filedrop.process.systemd import ETC, UNITS, VENDOR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filedrop.config import Config

SIGNED = "# Written by `filedrop service install`, which replaces it."
HOMES = (Path("/home"), Path("/root"), Path("/run/user"))  # what ProtectHome= hides
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what PrivateTmp= hides
SHARED = (Path("/etc/sysusers.d/filedrop.conf"), Path("/etc/tmpfiles.d/filedrop.conf"))  # by all units
SYSTEM = tuple(map(Path, ("/etc", "/usr", "/var/lib", "/boot")))
STATE = Path("/var/lib/filedrop")  # the units' StateDirectory
FSTAB = Path("/etc/fstab")
USUAL = "/usr/bin/filedrop"  # as the units have it


@dataclass(frozen=True, slots=True)
class Site:
    """Where the service is to be installed: which unit, below which root, by which configuration.

    Paths are as the service sees them; `at` says where that is from here.
    """

    unit: str
    root: Path
    configuration: Path
    configuration_lies_at: Path

    @classmethod
    def choose(cls, instance: str | None, root: Path, option: str | None) -> Site:
        """For this instance, by the configuration of `--config`, else the usual one."""
        root = root.absolute()
        if option is None and (instance or root != Path("/")):
            option = str(root / ETC.relative_to("/") / f"{instance or 'config'}.yaml")
        lies_at = configuration.find(option).absolute()
        seen = Path("/") / lies_at.relative_to(root) if lies_at.is_relative_to(root) else lies_at
        return cls(unit_name(instance), root, seen, lies_at)

    @property
    def instance(self) -> str:
        """Which of several it is, "" for the only one."""
        return instance_of(self.unit)

    @property
    def usual(self) -> Path:
        """The configuration that the unit itself names."""
        return ETC / f"{self.instance or 'config'}.yaml"

    @property
    def unit_file(self) -> Path:
        """The file of the unit, which all instances have in common."""
        return UNITS / ("filedrop@.service" if self.instance else "filedrop.service")

    @property
    def drop_in(self) -> Path:
        """The file with what the configuration says."""
        return UNITS / f"{self.unit}.d" / DROP_IN

    @property
    def command_prefix(self) -> tuple[str, ...]:
        """How filedrop is called for this configuration."""
        is_default = self.configuration == ETC / "config.yaml"
        return ("filedrop",) if is_default else ("filedrop", "--config", str(self.configuration))

    def at(self, path: Path) -> Path:
        """Where that lies from here."""
        return self.root / path.relative_to("/")


def written(site: Site, config: Config | None) -> dict[Path, str]:
    """Each file that is to be there, and its text. Without a configuration: what doesn't depend on one.

    What the system's package has put in its place already is not among them. Raises FiledropError for what a service
    couldn't use.
    """
    texts = {}
    if not site.at(VENDOR / site.unit_file.name).exists():
        text = (TOP / "systemd" / site.unit_file.name).read_text("utf-8")
        texts[site.unit_file] = text.replace(USUAL, _quoted(str(_program(site))))
        for path in SHARED:
            texts[path] = (TOP / "systemd" / path.relative_to("/etc")).read_text("utf-8")
    if config is not None:
        texts[site.drop_in] = _drop_in(site, config)
    return {path: f"{SIGNED}\n{text}" for path, text in texts.items()}


def _drop_in(site: Site, config: Config) -> str:
    """What the configuration says of the service: where it may write, and which credentials it gets."""
    folders = sorted(writable(site, config))
    seen = sorted({*folders, site.configuration})
    for path in seen:
        if _is_in(path, TEMPORARY):
            raise FiledropError(f"{path} is in a folder for temporary files, where a service can't see it: move it")
    lines = ["[Service]"]
    if site.configuration != site.usual:
        if site.instance:
            raise FiledropError(
                f"the configuration of filedrop {site.instance} is {site.usual}: move {site.configuration} there"
            )
        lines += ["# The configuration.", f"Environment={_quoted(f'FILEDROP_CONFIG={site.configuration}')}"]
    if homes := [path for path in seen if _is_in(path, HOMES)]:
        lines += [f"# So that the service can see {', '.join(map(str, homes))}.", "ProtectHome=read-only"]
    if config.validation.command or config.commands.wanted():
        lines += [
            "# For programs of your own: Java, Node and others create code while they run.",
            "MemoryDenyWriteExecute=no",
        ]
    lines += ["# The configuration's folders, and its state. If one is missing (-), filedrop starts and waits for it."]
    lines += [f"ReadWritePaths={_quoted(f'-{path}')}" for path in folders]
    credentials = sorted({account.password_credential or "" for account in config.accounts.values()} - {""})
    if credentials:
        lines += ["# Passwords, in files that only root can read."]
    lines += [f"LoadCredential={_quoted(f'{name}:{site.configuration.parent / name}')}" for name in credentials]
    return "\n".join([*lines, ""])


def writable(site: Site, config: Config) -> set[Path]:
    """The folders below which the service must be able to write. Raises FiledropError for the system's own.

    Below `root`, filedrop makes all folders of a path that isn't there; elsewhere only the last one (storage/folder).
    """
    files = filter(None, (config.log.file, config.metrics.textfile))
    wanted = {config.root}
    for path in (*config.folders, config.state):
        made = path.is_relative_to(config.root) or path.is_relative_to(STATE) or site.at(path).exists()
        wanted.add(path if made else path.parent)
    if site.root == Path("/"):
        wanted = set(map(_share, wanted))
    wanted |= {path.parent for path in files}
    for path in wanted:
        if any(system.is_relative_to(path) for system in SYSTEM):
            raise FiledropError(
                f"the service would need the right to write in {path}: first create the folder that it needs there"
            )
    return {path for path in wanted if not any(path.is_relative_to(other) for other in wanted - {path})}


def _share(path: Path) -> Path:
    """The share, or the disk of its own, that a folder lies in; the folder where there is none.

    systemd mounts a folder that is named once more for the service alone. In a share, that would keep the share mounted
    there for ever: the service wouldn't see that it is unmounted, nor what is mounted in its place.
    """
    mounts = [mount for mount in (mount_point(path), *_to_be_mounted()) if path.is_relative_to(mount)]
    others = (*SYSTEM, *HOMES, *TEMPORARY)
    own = [mount for mount in mounts if not any(other.is_relative_to(mount) for other in others)]
    return max(own, key=lambda mount: len(mount.parts), default=path)


def _to_be_mounted() -> list[Path]:
    """The mount points of /etc/fstab: a share that is away is named like one that is there (fstab(5))."""
    try:
        lines = [line.split() for line in FSTAB.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return []
    return [Path(unescaped(fields[1])) for fields in lines if len(fields) > 1 and fields[0][0] != "#"]


def _program(site: Site) -> Path:
    """The command `filedrop` of this installation. Raises FiledropError where a service couldn't run it."""
    python = Path(sys.executable)
    program = python.with_name("filedrop")
    if not program.exists():
        raise FiledropError(
            f"{program} doesn't exist, so the unit can't start it: install filedrop with pip, and run that"
        )
    for path in {program, python.resolve()} if site.root == Path("/") else set():
        if _is_in(path, (*HOMES, *TEMPORARY)):
            raise FiledropError(
                f"no service can see {path}, in a home or a folder for temporary files: install filedrop elsewhere, "
                "for example into /opt/filedrop, with the system's Python"
            )
    return program


def _is_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _quoted(word: str) -> str:
    """As one word of a unit's line (systemd.syntax(7)); % begins what systemd replaces."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if any(letter in word for letter in " \t'\"\\;") else escaped
