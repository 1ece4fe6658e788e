"""What a service on Windows may do with which folder: the words for icacls, which no system is needed for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.configuration import BASE

from filedrop import config as configuration
from filedrop.cli.service.access import commands

if TYPE_CHECKING:
    from pathlib import Path

SERVICE = r"NT SERVICE\filedrop"
PRIVATE = ["/inheritance:r", "/grant:r", "*S-1-5-18:(OI)(CI)F", "*S-1-5-32-544:(OI)(CI)F"]
READ = ["/grant:r", f"{SERVICE}:R"]
CHANGE = ["/grant:r", f"{SERVICE}:(OI)(CI)M"]


def given(base: Path, keys: str, folder: str) -> dict[str, list[str]]:
    """The rights by path, in their order, by a configuration in that folder; filedrop's own is `ours`."""
    at = base / folder
    for path in (at, base / "share", base / "elsewhere"):
        path.mkdir(exist_ok=True)
    text = BASE.replace("password_env: SECRET", "password_file: password") + keys + f"state: {at / 'state'}\n"
    for name in ("config.yaml", "password"):
        (at / name).write_text(text)
    config = configuration.parse(text, str(at / "config.yaml"))
    words = commands("filedrop", at / "config.yaml", base / "ours", config)
    return {path.removeprefix(str(base)).strip("\\/").replace("\\", "/"): rest for path, *rest in words}


def test_in_the_usual_place(tmp_path: Path) -> None:
    """It reads its configuration and password, alone has its state, and changes what lies in the root."""
    assert list(given(tmp_path, f"root: {tmp_path / 'share'}\n", "ours").items()) == [
        ("ours", [*PRIVATE, f"{SERVICE}:(OI)(CI)RX"]),
        ("ours/state", [*PRIVATE, f"{SERVICE}:(OI)(CI)M"]),
        ("share", CHANGE),
    ]


def test_the_log(tmp_path: Path) -> None:
    """It may put its log aside: in a folder that only it writes to, as in the example, and never in the password's.

    There it had the right to the file alone, so that nothing could be renamed, and the log grew without an end.
    """
    (tmp_path / "ours" / "log").mkdir(parents=True)
    keys = "root: {base}/share\nlog: {{file: '{base}/ours/{log}'}}\n"
    changes = [*PRIVATE, f"{SERVICE}:(OI)(CI)M"]
    assert given(tmp_path, keys.format(base=tmp_path, log="log/filedrop.log"), "ours")["ours/log"] == changes
    beside = given(tmp_path, keys.format(base=tmp_path, log="filedrop.log"), "ours")
    assert beside["ours"] == [*PRIVATE, f"{SERVICE}:(OI)(CI)RX"]
    assert beside["ours/filedrop.log"] == ["/grant:r", f"{SERVICE}:M"]


def test_in_other_places(tmp_path: Path) -> None:
    """Elsewhere it reads file by file; a folder counts once, and only where it is there; a log it may write."""
    share, outbound, missing, log = (tmp_path / name for name in ("share", "elsewhere", "missing", "log"))
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    keys = f"    outbound: {outbound}\n    inbound: {missing}\nroot: {share}\nlog: {{file: '{log}'}}\n"
    keys += f"metrics: {{textfile: '{metrics / 'filedrop.prom'}'}}\n"
    (tmp_path / "mail password").touch()
    keys += "alerts: {mail: {host: localhost, from: a@b.example, to: a@b.example, security: none, username: a, "
    keys += f"password_file: '{tmp_path / 'mail password'}'}}}}\n"
    assert given(tmp_path, keys, "other") == {
        "other/config.yaml": READ,
        "other/password": READ,
        "other/state": [*PRIVATE, f"{SERVICE}:(OI)(CI)M"],
        "mail password": READ,
        "elsewhere": CHANGE,
        "share": CHANGE,
        "log": ["/grant:r", f"{SERVICE}:M"],
        "metrics": CHANGE,
    }


def test_folders_of_companies_in_filedrops_own(tmp_path: Path) -> None:
    """Then that stays open to those who drop and take files, and only the files in it are the service's to read."""
    (tmp_path / "ours/root").mkdir(parents=True)
    rights = given(tmp_path, f"root: {tmp_path / 'ours/root'}\n", "ours")
    assert "ours" not in rights
    assert rights["ours/password"] == READ
    assert rights["ours/root"] == CHANGE
