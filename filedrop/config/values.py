"""What may stand behind a key, and what to say when something else does.

Each function takes what was read from YAML and gives the value, or raises `ValueError` with the second half of a
complaint: what is wrong, what to write instead. What might hold a password (addresses do) is never repeated in it.
"""

import ipaddress
import os
import re
from collections.abc import Callable
from datetime import date, time, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import SplitResult, parse_qs, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    SecretStr,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    WrapSerializer,
)

from filedrop.model.document import without_scheme
from filedrop.model.message import UNASSIGNED
from filedrop.model.received_name import DEVICES, name_pattern
from filedrop.times import as_duration

T = TypeVar("T")

HIDDEN = "(hidden)"

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_BYTES = {"GB": 10**9, "GiB": 2**30, "MB": 10**6, "MiB": 2**20, "KB": 10**3, "KiB": 2**10, "B": 1}
_LONGEST_NAME = 100
LONGEST_DURATION = timedelta(days=36500)  # a date so long ago, or ahead, is one that every platform can name
KEPT_AT_LEAST = timedelta(days=31)  # so long, a document in doubt may have to be compared with what was sent
# Our own: the pages in `root`, and markers and probes, which begin like this.
_TAKEN_NAMES = re.compile(rf"{DEVICES}|status\.(html|json)|\.filedrop.*|{UNASSIGNED}", re.IGNORECASE)


def duration(value: str) -> timedelta:
    """`500ms 2s 5m 1h 1d`."""
    match = re.fullmatch(r"(\d{1,9})(ms|s|m|h|d)", value, re.ASCII)
    if match is None:
        raise ValueError(f'"{value}" is not a duration; write a whole number and its unit (ms, s, m, h, d), like 30s')
    length = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if length > LONGEST_DURATION:
        raise ValueError(f'"{value}" is too long; write at most {LONGEST_DURATION.days}d')
    return length


def kept_for(value: Any) -> Any:
    """`400d`, or `forever`."""
    if value == "forever":
        return value
    length = duration(value) if isinstance(value, str) else value
    if not isinstance(length, timedelta):
        raise ValueError('write a duration, like 400d, or "forever"')  # noqa: TRY004 - pydantic wants this one
    if length < KEPT_AT_LEAST:
        raise ValueError(
            f'"{value}" is too short, because filedrop sends a removed document again if it is dropped again; '
            f"write at least {KEPT_AT_LEAST.days}d, or forever"
        )
    return length


def size(value: str) -> int:
    """`100MB`: KB, MB and GB are powers of 1000, KiB, MiB and GiB powers of 1024."""
    match = re.fullmatch(r"(\d{1,15})([KMG]i?B|B)", value, re.ASCII | re.IGNORECASE)
    if match is None:
        raise ValueError(f'"{value}" is not a size; write a whole number and its unit (KB, MB, GB, KiB, MiB, GiB)')
    return int(match[1]) * _BYTES[match[2].upper().replace("I", "i")]


def number(value: str) -> int | str:
    """A whole number, which YAML gives us as text."""
    return int(value) if re.fullmatch(r"\d{1,9}", value, re.ASCII) else value


def participant(value: str) -> str:
    """A ParticipantID `NNNN:value`, without the prefix that PEPPOL puts before it in some places."""
    bare = without_scheme(value)
    if re.fullmatch(r"[0-9]{4}:(?!:)[!-~]{1,130}", bare):
        return bare
    example = f"0192:{bare}" if re.fullmatch(r"\d{9}", bare, re.ASCII) else "0192:987654325"
    if ":" not in bare:
        like = "" if bare in example else "four digits and a colon before it, like "
        raise ValueError(f'"{value}" has no scheme; write {like}"{example}"')
    raise ValueError(f'"{value}" is not a ParticipantID; write four digits, a colon and the number, like "{example}"')


def base_url(value: str) -> str:
    """The address of an access point, without a slash at its end."""
    url = _address(value)
    if url.username is not None or "@" in url.path:  # a password may have a slash in it
        raise ValueError("contains a user name; write that as username, and the password in a file")
    if url.query or url.fragment:
        raise ValueError("contains a ? or #; write only the part before it, like https://ap.example.com/rest")
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.hostname or "")):
        raise ValueError("would send the password unencrypted; write https:// (http:// works only for this computer)")
    return value.rstrip("/")


def proxy(value: str) -> str:
    """The address of a proxy, with user name and password if it wants them."""
    url = _address(value)
    if url.scheme not in ("http", "https") or url.path.strip("/") or url.query or url.fragment:
        raise ValueError("is not the address of a proxy; write one like http://proxy.example.com:3128")
    return value


def journal_address(value: str) -> str:
    """The address of a PostgreSQL database. Host and name are in it, so that no variable of libpq's decides them."""
    found = re.fullmatch(r"postgres(?:ql)?://(?:[^/?#\s]*@)?([^/?#@\s]*)/[^/?#\s]+(?:\?(\S*))?", value)
    if not found or not (found[1] or "host" in parse_qs(found[2] or "")):
        raise ValueError(
            "is not the address of a database; write one like postgresql://filedrop@db.example.com/filedrop"
        )
    if re.search("pass|secret", " ".join(parse_qs(found[2] or "")), re.IGNORECASE):
        raise ValueError("has a password behind the question mark; write journal_password_file instead")
    return value


def _address(value: str) -> SplitResult:
    try:
        url = urlsplit(value)
        whole = bool(url.scheme and url.hostname) and url.port != 0  # reading a port checks it
    except ValueError:
        whole = False
    if not whole or re.search(r"[\s\\\x00-\x1f]", value):
        raise ValueError("is not an address; write one like https://ap.example.com")
    return url


def heartbeat_url(value: SecretStr) -> SecretStr:
    """The address that a heartbeat asks for. It is a secret: whoever knows it can feign one."""
    url = _address(value.get_secret_value())
    if url.scheme not in ("https", "http") or url.username is not None:
        raise ValueError("is not a web address; write one like https://hc.example.com/ping/...")
    return value


def alert_url(value: SecretStr) -> SecretStr:
    """An address of Apprise's, which mostly holds a secret."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f]+", value.get_secret_value()):
        raise ValueError("is not an Apprise address; write one like ntfys://ntfy.example.com/filedrop")
    return value


def port(value: int) -> int:
    """The number of a server's port."""
    if not 0 < value < 2**16:
        raise ValueError("is not a port; write a number from 1 to 65535, like 587")
    return value


def time_of_day(value: str) -> time:
    """`07:00`."""
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", value, re.ASCII)
    if match is None:
        raise ValueError(f'"{value}" is not a time of day; write one like 07:00')
    return time(int(match[1]), int(match[2]))


def day(value: str) -> date:
    """`2026-05-18`."""
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f'"{value}" is not a date; write one like 2026-05-18') from None


def is_loopback(host: str) -> bool:
    """Whether what is sent to this host stays on this computer."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host.lower() == "localhost"


def username(value: str) -> str:
    """A user name for HTTP Basic, which ends it at the first colon (RFC 7617 section 2)."""
    if not value.strip() or re.search(r"[:\x00-\x1f\x7f]", value):
        raise ValueError("is not a user name; write it as you got it from the access point (it has no colon)")
    return value


def folder_name(value: str) -> str:
    """A name that a folder can have on every system, and that isn't one of ours."""
    if (
        not value
        or re.search(r'[<>:"/\\|?*]', value)
        or value[0] == " "
        or value[-1] in " ."
        or len(value) > _LONGEST_NAME
    ):
        rule = f'at most {_LONGEST_NAME} characters, none of <>:"/\\|?*, no dot or space at the end'
        raise ValueError(f"can't be the name of a folder on every system; write another ({rule})")
    if _TAKEN_NAMES.fullmatch(value):
        raise ValueError("is a reserved name, on Windows or in filedrop; write another")
    return value


def absolute(path: Path) -> Path:
    """A place that doesn't depend on where filedrop was started."""
    if not path.is_absolute():
        example = Path("/srv/filedrop").absolute()
        raise ValueError(f'"{path}" is not a full path; write one like {example}')
    return path


def not_empty(several: tuple[Any, ...]) -> tuple[Any, ...]:
    """At least one."""
    if not several:
        raise ValueError("an empty list; write at least one entry, or leave the key out")
    return several


def one_or_several(value: Any) -> Any:
    """A list, where there is only one without its brackets."""
    return [value] if isinstance(value, (str, Path)) else value


def unread_keys(value: Any) -> Any:
    """A text, which YAML takes for keys where it begins with a `{` and isn't in quotes."""
    if isinstance(value, dict):
        raise ValueError('begins with {, so YAML reads it as keys; write it in quotes, like "{number}"')  # noqa: TRY004
    return value


def beside_configuration(path: Path, info: ValidationInfo) -> Path:
    """A file that belongs to the configuration: a relative path begins in its folder."""
    return info.context["folder"] / path if info.context else path


def command_line(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """A program, by its full path or by a name that is looked for in PATH, and its arguments."""
    if os.path.dirname(arguments[0]) and not Path(arguments[0]).is_absolute():  # noqa: PTH120 - of what was written
        raise ValueError(f'"{arguments[0]}" is a relative path; write the full path of the program')
    return arguments


def read_by(read: Callable[[str], Any]) -> BeforeValidator:
    """How a value is made of its text; what is none is left to pydantic."""
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


def _form(pattern: str, otherwise: str) -> AfterValidator:
    """A check that a text has this form; `otherwise` is the complaint, and {} in it the text."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(otherwise.format(value))
        return value

    return AfterValidator(check)


_ONE_NAME = _form(r"[^/\\]+", "is not a single name; write one without slashes")


def _as_size(count: int) -> str:
    unit, factor = next(((unit, factor) for unit, factor in _BYTES.items() if count and count % factor == 0), ("B", 1))
    return f"{count // factor}{unit}"


# How a value is shown as it may be written (`filedrop config show`).
in_words = partial(PlainSerializer, when_used="json-unless-none")
LEFT_OUT = WrapSerializer(lambda several, write: write(several) or None, when_used="json")  # rather than an empty list

# What the JSON Schema says (`filedrop config schema`), where pydantic knows only what becomes of the text.
_DURATION = WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,9}(ms|s|m|h|d)$"})
_ONE_OR_SEVERAL = WithJsonSchema(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
)
_TIME_OF_DAY = WithJsonSchema({"type": "string", "pattern": r"^([01]?[0-9]|2[0-3]):[0-5][0-9]$"})
_SIZE = WithJsonSchema({"type": ["string", "integer"], "pattern": r"^[0-9]{1,15}([KkMmGg][Ii]?)?[Bb]$"})

Several = Annotated[tuple[T, ...], AfterValidator(not_empty)]
OneOrSeveral = Annotated[Several[T], BeforeValidator(one_or_several), _ONE_OR_SEVERAL]
CommandLine = Annotated[OneOrSeveral[str], AfterValidator(command_line)]
Duration = Annotated[timedelta, read_by(duration), Strict(), in_words(as_duration), _DURATION]
Takeover = Annotated[Duration, Field(ge=timedelta(seconds=15), le=timedelta(minutes=5)), _DURATION]
Interval = Annotated[Duration, Field(gt=timedelta(0)), _DURATION]
KeptFor = Annotated[
    timedelta | Literal["forever"],
    BeforeValidator(kept_for),
    in_words(lambda kept: kept if kept == "forever" else as_duration(kept)),
    WithJsonSchema({"type": "string", "pattern": r"^(forever|[0-9]{1,9}(ms|s|m|h|d))$"}),
]
Size = Annotated[int, read_by(size), Strict(), in_words(_as_size), _SIZE]
Count = Annotated[int, read_by(number), Strict(), Field(ge=1)]
MaxSize = Annotated[Size, Field(gt=0), _SIZE]
Participant = Annotated[str, AfterValidator(participant)]
ReceiverPattern = Annotated[
    str, _form(r"[0-9]{4}:\S+", 'is no ParticipantID; write one such as "0208:0403170701", or "9925:*" for many')
]
BaseUrl = Annotated[str, AfterValidator(base_url)]
Proxy = Annotated[str, AfterValidator(proxy), in_words(lambda address: re.sub(r"//[^/]*@", f"//{HIDDEN}@", address))]
JournalAddress = Annotated[
    str,
    AfterValidator(journal_address),
    in_words(lambda address: re.sub(r"//([^/@:]*):[^/]*@", rf"//\1:{HIDDEN}@", address)),
]
Secret = Annotated[SecretStr, in_words(lambda _: HIDDEN)]
HeartbeatUrl = Annotated[Secret, AfterValidator(heartbeat_url)]
SecretUrl = Annotated[Secret, AfterValidator(alert_url)]
HostName = Annotated[
    str,
    _form(r"(?![.-]|[^:]*:[^:]*$)[\w.:-]{1,253}(?<![.-])", "is not a server's name; write one like mail.example.com"),
]
Port = Annotated[int, read_by(number), Strict(), AfterValidator(port)]
MailAddress = Annotated[
    str, _form(r"[^\s@<>,;:()\[\]\\\"]+@[A-Za-z0-9.-]+", "is not a mail address; write one like it@example.com")
]
Addresses = OneOrSeveral[MailAddress]
TimeOfDay = Annotated[time, read_by(time_of_day), Strict(), in_words(lambda value: f"{value:%H:%M}"), _TIME_OF_DAY]
NotBlank = Annotated[str, _form(r".*\S.*", "is empty; write it, or leave the key out")]
Username = Annotated[str, AfterValidator(username)]
FileName = Annotated[str, _ONE_NAME]
RuleFile = Annotated[
    str,
    _form(r"(?i).*\.xs(lt?|d)", '"{}" is neither compiled Schematron (.xslt) nor a schema (.xsd); name one of these'),
]
FolderName = Annotated[str, AfterValidator(folder_name)]
VariableName = Annotated[
    str, _form(r"[A-Za-z_][\w()]*", '"{}" is not the name of an environment variable; write one like JAVA_HOME')
]
Suffix = Annotated[
    str, _form(r"\..+", '"{}" is not a suffix; write one that begins with a dot, like .ready'), _ONE_NAME
]
ReceivedName = Annotated[str, BeforeValidator(unread_keys), AfterValidator(name_pattern)]
FileNames = Several[FileName]
IgnoredNames = tuple[FileName, ...]  # there may be none
FullPath = Annotated[Path, AfterValidator(absolute)]
Folders = OneOrSeveral[FullPath]
BesideConfiguration = Annotated[Path, AfterValidator(beside_configuration)]
