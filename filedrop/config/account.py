"""One login at an access point, and the one place where a password is read.

A password is read afresh whenever it is asked for, so that it can be changed under a running daemon, and is shown by
nothing here: not by `repr`, not by an error.
"""

import os
import stat
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from filedrop.config.section import Section
from filedrop.config.values import BaseUrl, BesideConfiguration, FileName, Interval, Proxy, Username
from filedrop.errors import ConfigError

_PASSWORDS = ("password_file", "password_env", "password_credential", "password")


class Account(Section):
    """One login at an access point."""

    told: ClassVar = frozenset({"name"})

    name: str
    base_url: Annotated[BaseUrl, Field(examples=["https://ap.example.com"])]
    username: Annotated[Username, Field(examples=["acme"])]
    password_file: BesideConfiguration | None = None
    password_env: str | None = None
    password_credential: FileName | None = None
    password: Annotated[SecretStr | None, Field(validate_default=True)] = None
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
    def host(self) -> str:
        """The host of `base_url`, in lower case."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def identity(self) -> str:
        """`username@host`: what an account *is* (contract 6), whatever it is called here."""
        return f"{self.username}@{self.host}"

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
        return self.password.get_secret_value() if self.password else ""  # else: never, one of the four is there

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

    def exposed(self) -> tuple[str, str] | None:
        """Which key lets others see the password, and what to do about it; None where nothing does."""
        if self.password is not None:
            return "password", "stands here for all who may read this file; move it to a file of its own, password_file"
        if self.password_file is None or os.name == "nt":
            return None
        try:
            mode = self.password_file.stat().st_mode
        except OSError:  # said by read_password, when somebody needs the password
            return None
        if mode & stat.S_IROTH:
            return "password_file", f"everybody can read {self.password_file}; chmod o-r {self.password_file}"
        return None
