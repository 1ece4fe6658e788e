"""One login at an access point, and the one place where a password is read.

A password is read afresh whenever it is asked for, so that it can be changed under a running daemon, and is shown by
nothing here: not by `repr`, not by an error.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filedrop.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta


def identity(username: str, base_url: str) -> str:
    """`username@host`: what an account *is*, whatever it is called here (contract 6); the host in lower case."""
    return f"{username}@{urlsplit(base_url).hostname or ''}"


@dataclass(frozen=True, slots=True)
class Login:
    """What is asked where, as whom and how, as the configuration has it: see `config.Account`."""

    name: str
    base_url: str
    username: str
    password_file: Path | None
    password_env: str | None
    password_credential: str | None
    password: str | None = field(repr=False)
    ca_file: Path | None
    proxy: str | None = field(repr=False)
    connect_timeout: timedelta
    read_timeout: timedelta

    @property
    def identity(self) -> str:
        """What an account *is* (contract 6)."""
        return identity(self.username, self.base_url)

    def read_password(self, environ: Mapping[str, str] = os.environ) -> str:
        """The password as it is now.

        Raises `ConfigError` where there is none to be read.
        """
        if self.password_file is not None:
            return self._read("password_file", self.password_file)
        if self.password_env is not None:
            if not environ.get(self.password_env):
                # Not its name: where somebody wrote the password itself, that is the password.
                raise self._error("password_env", "the environment variable that it names is not set; set it")
            return environ[self.password_env]
        if self.password_credential is not None:
            folder = environ.get("CREDENTIALS_DIRECTORY")
            if not folder:
                advice = f"write LoadCredential={self.password_credential}:... into the unit, or use password_file"
                raise self._error("password_credential", f"systemd has handed over no credentials; {advice}")
            return self._read("password_credential", Path(folder, self.password_credential))
        return self.password or ""  # never "": one of the four is there

    def _read(self, key: str, path: Path) -> str:
        try:
            text = path.read_text("utf-8-sig")  # Notepad begins UTF-8 with a byte order mark
        except OSError as error:
            raise self._error(key, f"cannot read {path}: {error.strerror}; filedrop's user must be able to") from error
        except UnicodeDecodeError:
            # `from None`: that error carries the password.
            raise self._error(key, f"{path} is not UTF-8; save it as UTF-8") from None
        password = text.rstrip("\r\n")
        if not password or "\n" in password:
            raise self._error(key, f"{path} must hold the password and nothing else, in one line; write it so")
        return password

    def _error(self, key: str, sentence: str) -> ConfigError:
        return ConfigError([f"accounts.{self.name}.{key}: {sentence}"])
