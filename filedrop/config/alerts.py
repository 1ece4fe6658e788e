"""How people are told: the mail server, other addresses, the heartbeat and the metrics' file (contract 7).

As in `account`, a password is read afresh whenever it is asked for, and nothing here shows one.
"""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from filedrop.config.account import read_secret
from filedrop.config.section import Section
from filedrop.config.values import (
    LEFT_OUT,
    Addresses,
    BesideConfiguration,
    FullPath,
    HeartbeatUrl,
    HostName,
    Interval,
    MailAddress,
    NotBlank,
    Port,
    SecretUrl,
    is_loopback,
)
from filedrop.errors import ConfigError

_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class Mail(Section):
    """The mail server, and from whom to whom mails go. `port` is the one that goes with `security`, unless given."""

    host: Annotated[HostName, Field(examples=["mail.example.com"])]
    port: Port | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: NotBlank | None = None
    password_file: BesideConfiguration | None = None
    ca_file: BesideConfiguration | None = None
    from_: Annotated[MailAddress, Field(alias="from", examples=["filedrop@example.com"])]
    to: Annotated[Addresses, Field(examples=['["it@example.com"]'])]

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            missing = "password_file" if self.password_file is None else "username"
            raise ValueError(f"half a login; write {missing} too, or neither")
        if self.username is not None and self.security == "none" and not is_loopback(self.host):
            raise ValueError("would send the password unencrypted; write security: starttls, or tls")
        return self

    @property
    def server(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port or _PORTS[self.security]

    def read_password(self) -> str:
        """The password as it is now. Raises `ConfigError` where it can't be read."""
        return read_secret(self.password_file, _error) if self.password_file else ""


def _error(sentence: str) -> ConfigError:
    return ConfigError([f"alerts.mail.password_file: {sentence}"])


class Alerts(Section):
    """Who is told of what needs a person: by mail, and at addresses of Apprise's. `quiet`: not again before that."""

    mail: Mail | None = None
    urls: Annotated[tuple[SecretUrl, ...], LEFT_OUT] = ()
    quiet: Interval = timedelta(hours=1)


class Heartbeat(Section):
    """What is asked for after each round, at most `every`, so that its silence is an alarm."""

    url: HeartbeatUrl | None = None
    every: Interval = timedelta(minutes=5)


class Metrics(Section):
    """Where figures for Prometheus are written."""

    textfile: FullPath | None = None
