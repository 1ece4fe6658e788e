"""One login at an access point, and the one place where passwords are read.

A password is read afresh whenever it is asked for, so that it can be changed under a running daemon, and is shown by
nothing here: not by `repr`, not by an error.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator

from filedrop.config.section import TOLD, Section
from filedrop.config.values import BaseUrl, BesideConfiguration, FileName, Interval, Proxy, Secret, Username
from filedrop.errors import ConfigError
from filedrop.files.patience import within
from filedrop.files.rights import explain, how_to_hide

_PASSWORDS = ("password_file", "password_env", "password_credential", "password")
PATIENCE = 2.0  # seconds for a password's file to tell its rights: it may be on a share that hangs
READABLE_BY_ALL = "everybody who may read this file can read it; move it to a file"
_A_VARIABLE = re.compile(r"[A-Z]+(_[A-Z]+)+")


class Account(Section):
    """One login at an access point: what is asked where, as whom and how."""

    name: Annotated[str, TOLD]
    base_url: Annotated[BaseUrl, Field(examples=["https://ap.example.com"])]
    username: Annotated[Username, Field(examples=["acme"])]
    password_file: BesideConfiguration | None = None
    password_env: str | None = None
    password_credential: FileName | None = None
    password: Annotated[Secret | None, Field(validate_default=True)] = None
    ca_file: BesideConfiguration | None = None
    proxy: Annotated[Proxy | None, Field(repr=False)] = None
    connect_timeout: Interval = timedelta(seconds=10)
    read_timeout: Interval = timedelta(seconds=60)

    @field_validator("password", mode="before")
    @classmethod
    def _given_in_one_way(cls, value: Any, info: ValidationInfo) -> Any:
        # A check of this field rather than of the whole account: it runs even when other keys are wrong.
        given = [
            key for key in _PASSWORDS if (value if key == "password" else info.data.get(key, ...)) not in (None, "")
        ]
        if not given:
            raise ValueError(f"missing; write password_file: and a path (or {', '.join(_PASSWORDS[1:3])})")
        if len(given) > 1:
            raise ValueError(f"given in {len(given)} ways ({', '.join(given)}); keep one")
        return value

    @property
    def identity(self) -> str:
        """`username@host`: what it *is*, whatever it is called here (contract 6); the host in lower case."""
        return f"{self.username}@{urlsplit(self.base_url).hostname or ''}"

    @property
    def login_keys(self) -> str:
        """Where the login stands, for people. A password is not even shown where its key is another's."""
        key = next(key for key in _PASSWORDS if getattr(self, key))
        file = f" ({self.password_file})" if self.password_file else ""
        return f"accounts.{self.name}.username and accounts.{self.name}.{key}{file}"

    def doubts(self) -> tuple[str, list[str]]:
        """The key of the password, with what may be wrong with this, and what to do."""
        shown = [f"{READABLE_BY_ALL}, with password_file"] if self.password is not None else []
        key = next(key for key in _PASSWORDS if getattr(self, key))
        return key, [*shown, *doubts(self.password_file, self.read_password)]

    def read_password(self) -> str:
        """The password as it is now. Raises `ConfigError` where there is none to be read."""
        if self.password_file is not None:
            return read_secret(self.password_file, partial(self._error, "password_file"))
        if self.password_env is not None:
            password = os.environ.get(self.password_env)
            if not password:
                # Only a name that nobody takes for a password: where somebody wrote that itself, it isn't repeated.
                name = self.password_env if _A_VARIABLE.fullmatch(self.password_env) else "that it names"
                raise self._error(
                    "password_env",
                    f"the environment variable {name} is not set, or empty; set it for filedrop (in the unit: "
                    "Environment=), or use password_file",
                )
            return password
        if self.password_credential is not None:
            folder = os.environ.get("CREDENTIALS_DIRECTORY")
            if not folder:
                advice = f"write LoadCredential={self.password_credential}:... into the unit, or use password_file"
                raise self._error("password_credential", f"systemd passed no credentials to filedrop; {advice}")
            return read_secret(Path(folder, self.password_credential), partial(self._error, "password_credential"))
        return self.password.get_secret_value() if self.password else ""  # never "": one of the four is there

    def _error(self, key: str, sentence: str) -> ConfigError:
        return ConfigError([f"accounts.{self.name}.{key}: {sentence}"])


def doubts(path: Path | None, read: Callable[[], str]) -> list[str]:
    """What may be wrong with a password and its file, and what to do; [] if these don't answer within `PATIENCE`.

    That it can't be read is said where it is needed.
    """

    def look() -> None:
        if remedy := how_to_hide(path) if path is not None else "":
            found.append(f"everybody can read {path}; {remedy}")
        password = read()
        if password != password.strip():
            found.append("the password begins or ends with a blank; remove it, unless it is part of the password")

    found: list[str] = []
    with suppress(OSError, ConfigError):
        within(PATIENCE, look)
    return found


def read_secret(path: Path, error: Callable[[str], ConfigError]) -> str:
    """The password in a file. Raises what `error` makes of a sentence where there is none to be read."""
    try:
        text = path.read_text("utf-8-sig")  # Notepad begins UTF-8 with a byte order mark
    except OSError as failure:
        raise error(f"can't read {path}: {explain(failure, path)}") from failure
    except UnicodeDecodeError:
        # `from None`: that error carries the password.
        raise error(f"{path} is not UTF-8; save it as UTF-8") from None
    password = text.rstrip("\r\n")
    if not password or "\n" in password:
        raise error(f"{path} must contain one line with the password, and nothing else")
    return password
