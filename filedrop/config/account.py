"""One login at an access point, as the configuration has it."""

import os
import stat
from dataclasses import fields
from datetime import timedelta
from typing import Annotated, Any, ClassVar

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from filedrop.config.section import Section
from filedrop.config.values import BaseUrl, BesideConfiguration, FileName, Interval, Proxy, Username
from filedrop.login import Login, identity

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
    def login(self) -> Login:
        """It, as the access point's client takes it."""
        plain = {field.name: getattr(self, field.name) for field in fields(Login)}
        return Login(**plain | {"password": self.password.get_secret_value() if self.password else None})

    @property
    def identity(self) -> str:
        """What the account *is* (contract 6)."""
        return identity(self.username, self.base_url)

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
