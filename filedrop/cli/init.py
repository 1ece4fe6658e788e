"""`filedrop init`: a first configuration, by questions on a terminal or by options."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from filedrop import config as configuration
from filedrop.cli.check import check
from filedrop.cli.opening import open_access_point
from filedrop.cli.service.account import owner_of_service
from filedrop.cli.service.naming import example
from filedrop.cli.show import say, tell
from filedrop.config import Config
from filedrop.config.shown import as_yaml
from filedrop.config.values import base_url, folder_name, participant, username
from filedrop.errors import FiledropError, Unauthorized
from filedrop.files import Directory, is_missing, make_folder
from filedrop.files.rights import explain
from filedrop.process.systemd import BOOTED
from filedrop.texts.printable import command, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")

MAIN = "main"  # the first account, as in the example
WHO = "an administrator" if sys.platform == "win32" else "root"
_COMPANY = re.compile(r"^  acme:\n(?:    .*\n)+", re.MULTILINE)  # in the example
_END_OF_ACCOUNT = re.compile(r"^    #read_timeout: .*\n", re.MULTILINE)
_ASIDE = {"^  #unreachable: .*": "  unreachable: aside", "^  #prepare: .*": "  prepare: {pdf: beside}"}


class Login(NamedTuple):
    """A login as it is answered. `secret`: the password that was typed; "" for what its file has."""

    account: str
    base_url: str
    username: str
    password_file: Path
    secret: str = ""

    @property
    def answers(self) -> dict[str, str]:
        """Its keys in the configuration."""
        return {"base_url": self.base_url, "username": self.username, "password_file": str(self.password_file)}


class Company(NamedTuple):
    """A company as it is answered."""

    name: str
    participants: Sequence[str]
    account: str = MAIN


def _company(text: str) -> Company:
    """`acme=0192:987654325,0088:7300010000001`; nothing after the `=` where it only sends."""
    name, _, several = text.partition("=")
    return Company(folder_name(name.strip()), _participants(several))


def _participants(text: str) -> list[str]:
    return [participant(text) for text in re.split(r"[,\s]+", text.strip()) if text]


def _checked(read: Callable[[str], T], what: str = "") -> Callable[[str], T]:
    """What a text stands for; click asks again, or refuses the option, with the sentence of the ValueError."""

    def checked(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise click.UsageError(f"{what} {error}".strip()) from error

    return checked


_url, _user = _checked(base_url, "the address"), _checked(username, "that")
_name, _ids, _pair = _checked(folder_name, "that"), _checked(_participants), _checked(_company, "--company:")


@click.command(
    epilog="\b\nExample: filedrop init --base-url https://ap.example.com --username acme --company acme=0192:987654325"
)
@click.option("--base-url", metavar="URL", help="The address of the access point, like https://ap.example.com.")
@click.option("--username", metavar="NAME", help="The user name of the login.")
@click.option(
    "--password-file", metavar="FILE", help="The file for the password. Default: password, next to the configuration."
)
@click.option("--root", metavar="FOLDER", help="The folder that holds a folder for each company.")
@click.option("--state", metavar="FOLDER", help="The folder for filedrop's journal, on a local disk.")
@click.option(
    "--company",
    "companies",
    metavar="NAME=ID,ID",
    multiple=True,
    help="A company and its ParticipantIDs. Can be repeated.",
)
@click.option("--create-folders", is_flag=True, help="Create the folders that don't exist yet.")
@click.pass_context
def init(
    ctx: click.Context,
    *,
    base_url: str | None,
    username: str | None,
    password_file: str | None,
    root: str | None,
    state: str | None,
    companies: Sequence[str],
    create_folders: bool,
) -> None:
    """Write a first configuration with all keys explained, then test it and the login.

    filedrop asks you for what it needs, and whether to create the folders; options can answer all of it. It tries a
    login as soon as you have typed it. An existing configuration is replaced only if it is still the example; without
    such options, filedrop continues with it. At the end, filedrop shows the next command.
    """
    path, text = configuration.find(ctx.obj).absolute(), example()
    if not path.exists() or path.read_text("utf-8", "replace") == text:
        is_asking = bool(_missing({"--base-url": base_url, "--username": username, "--company": companies}))
        logins = [_first_login(path, base_url, username, password_file, is_asking=is_asking)]
        folders = _folders({"root": root, "state": state}, is_asking=is_asking)
        served = list(map(_pair, companies)) or _ask_for_companies(logins)
        text = _filled_in(text, logins, folders, served)
        made = configuration.parse(text, str(path))  # before anything is written: raises what doesn't agree
        _write_files(made, path, text, logins)
        say(f"Wrote {path}")
    elif any((base_url, username, password_file, root, state, companies)):
        raise FiledropError(
            f"{path} already exists and is not the example: change it with an editor, or name another with --config"
        )
    else:
        made, is_asking = configuration.load(path), sys.stdin.isatty()
        say(f"{path} already exists, and is used as it is")
    if create_folders or (is_asking and _shall_create(made)):
        _create_folders(made, owner_of_service(path))
    named = ("filedrop", "--config", str(path)) if ctx.obj else ("filedrop",)
    files = [account.password_file for account in made.accounts.values()]
    if empty := [str(file) for file in files if file and not _has_content(file)]:
        tell(f"Now write the password into {listed(empty)}, and run: {command(*named, 'check')}")
        return
    ctx.obj = str(path)
    try:
        ctx.invoke(check)
    except SystemExit as checked:
        tell(_next_step(named, is_sound=not checked.code))
        raise


def _missing(options: Mapping[str, object]) -> list[str]:
    """The options without a value, which are to be asked for. Raises UsageError where nobody can be asked."""
    missing = [option for option, value in options.items() if not value]
    if missing and not sys.stdin.isatty():
        raise click.UsageError(f"there is no terminal to ask on: write {', '.join(missing)}")
    return missing


def _folders(given: Mapping[str, str | None], *, is_asking: bool) -> dict[str, Path]:
    """The folders that are given, or asked for, by their keys in the configuration."""
    folders = {}
    for key, question in (
        ("root", "Folder that will hold a folder for each company"),
        ("state", "Folder for filedrop's journal, on a local disk"),
    ):
        folder = given[key]
        if is_asking and not folder:
            folder = click.prompt(question, default=str(Path(Config.model_fields[key].default)))
        if folder:
            folders[key] = Path(folder).absolute()
    return folders


def _first_login(
    path: Path, base_url: str | None, username: str | None, password_file: str | None, *, is_asking: bool
) -> Login:
    """The first login of the configuration at `path`, as it is given, or asked for."""
    password = Path(password_file or path.with_name("password")).absolute()
    given = Login(MAIN, _url(base_url) if base_url else "", _user(username) if username else "", password)
    return _ask_for_login(given) if is_asking else given


def _ask_for_login(login: Login) -> Login:
    """The login, with what is "" of it, and a password that isn't in its file, asked for until it works."""
    is_typed = not _has_content(login.password_file)
    while True:
        address = login.base_url or click.prompt("Address of the access point", value_proc=_url)
        user = login.username or click.prompt("User name there", value_proc=_user)
        if is_typed:
            secret = click.prompt(f"Password there (it is written to {login.password_file})", hide_input=True)
            login = login._replace(secret=secret)
        login = login._replace(base_url=address, username=user)
        why = _refusal(login)
        if not why or not click.confirm(f"{why}. Do you want to type it again?", default=True):
            return login
        is_typed = isinstance(why, Unauthorized)
        login = login._replace(username="") if is_typed else login._replace(base_url="")


def _refusal(login: Login) -> FiledropError | None:
    """Why the login doesn't work; None where it does."""
    password = {"password": login.secret} if login.secret else {"password_file": str(login.password_file)}
    account = {"base_url": login.base_url, "username": login.username, **password}
    config = configuration.parse(as_yaml({"accounts": {MAIN: account}, "companies": {"a": {"participants": []}}}))
    try:
        with open_access_point(config.accounts[MAIN]) as access_point:
            access_point.probe()
    except FiledropError as error:
        return error
    return None


def _ask_for_companies(logins: list[Login]) -> list[Company]:
    """The companies; the logins that some of them have besides the first are added."""
    served: list[Company] = []
    while not served or click.confirm("Another company?"):
        name = click.prompt("Name of a company (its folder gets the same name)", value_proc=_name)
        ids = click.prompt(
            "Its ParticipantIDs, like 0192:987654325 (leave empty if it only sends)", "", value_proc=_ids
        )
        login = logins[0]
        if served:
            user = click.prompt("User name of the login that receives for it", login.username, value_proc=_user)
            other = f"{len(logins) + 1}"
            new = Login(f"{MAIN}-{other}", login.base_url, user, login.password_file.with_name(f"password-{other}"))
            login = next((known for known in logins if known.username == user), None) or _ask_for_login(new)
            logins += [login] if login not in logins else []
        served.append(Company(name, ids, login.account))
    return served


def _shall_create(config: Config) -> bool:
    """Whether the folders that don't exist are to be created. A share that isn't mounted is missing, too."""
    missing = _missing_folders(config)
    if not missing:
        return False
    say("These folders don't exist yet:")
    for path in missing:
        say(f"  {path}")
    tell("If one of them is on a share, answer n and mount the share first.")
    return click.confirm("Create them?", default=None)


def _missing_folders(config: Config) -> list[Path]:
    """The state, the root and the folders in it that don't exist, each after the folder that it is in."""
    below = {folder for path in config.folders for folder in (path, *path.parents)}
    wanted = {config.state, config.root, *(path for path in below if path.is_relative_to(config.root))}
    return sorted(path for path in wanted if is_missing(path))


def _create_folders(config: Config, owner: tuple[int, int] | None) -> None:
    """Create the folders that don't exist. `owner`: the user and group that get them. Raises FiledropError.

    The companies' folders have the group and mode of `root`, as those that filedrop creates while it runs.
    """
    for path in _missing_folders(config):
        try:
            if path in (config.state, config.root):
                path.mkdir(parents=True)
                if owner:
                    shutil.chown(path, *owner)
                if path == config.state:
                    path.chmod(0o700)
                elif owner:
                    path.chmod(0o2770)
            else:
                make_folder(Directory.open(path.parent) / path.name)
                if owner:
                    shutil.chown(path, owner[0])
        except OSError as error:
            why = explain(error, path)
            raise FiledropError(f"{path} can't be created: {why}; create it, and run: filedrop check") from error
        say(f"Created {path}")


def _next_step(filedrop: Sequence[str], *, is_sound: bool) -> str:
    """The sentence with the command that comes after the check."""
    if not is_sound:
        return f"Correct what failed, and run: {command(*filedrop, 'check')}"
    runs_services = True if sys.platform == "win32" else BOOTED.is_dir()
    if runs_services:
        return f"Next, set up the service: {command(*filedrop, 'service', 'install')}"
    return f"Next, start filedrop: {command(*filedrop, 'run')}"


def _has_content(password: Path) -> bool:
    """Whether a password stands there, or may: who can't read it can't tell."""
    with suppress(FileNotFoundError, NotADirectoryError):
        try:
            return bool(password.read_bytes().strip())
        except PermissionError:
            return True
    return False


def _write_files(config: Config, path: Path, text: str, logins: Iterable[Login]) -> None:
    """Write the configuration, and the files for the passwords unless they are there. Raises FiledropError."""
    try:
        _write(path, text)
        if config.log.file:  # as the example has it on Windows
            config.log.file.parent.mkdir(exist_ok=True)
        for login in logins:
            if login.secret or not login.password_file.exists():
                _write(login.password_file, f"{login.secret}\n" if login.secret else "", mode=0o600)
    except OSError as error:
        raise FiledropError(
            f"{error.filename or path} can't be written: {error.strerror}; run this as {WHO}, or name another with "
            "--config"
        ) from error


def _filled_in(text: str, logins: Sequence[Login], folders: Mapping[str, Path], served: Sequence[Company]) -> str:
    """The example with these answers in the places of its own."""
    others = {login.account: login.answers for login in logins[1:]}
    block = indent(as_yaml(others), "  ") if others else ""
    text = _END_OF_ACCOUNT.sub(lambda end: f"{end[0]}{block}", text, count=1)
    lines = {f"    {key}: ": _quoted(answer) for key, answer in logins[0].answers.items()}
    lines |= {f"{key}: ": _quoted(str(folder)) for key, folder in folders.items()}
    blocks: list[str] = []
    for company in served:
        other = f"  acme:\n    participants: []\n    account: {company.account}\n"
        block = other if blocks else _COMPANY.findall(text)[0]  # the first: explained
        block = block.replace("  acme:", f"  {_quoted(company.name)}:", 1).replace("/acme/", f"/{company.name}/")
        blocks.append(_set(block, "    participants: ", json.dumps(list(company.participants))))
    for key, answer in lines.items():
        text = _set(text, key, answer)
    for line, own in _ASIDE.items():
        text = re.sub(line, own, text, count=1, flags=re.MULTILINE)
    return _COMPANY.sub(lambda _: "".join(blocks), text)


def _set(text: str, key: str, value: str) -> str:
    """The text with this value behind a key; a # before the key goes."""
    return re.sub(rf"^#?{key}.*$", lambda _: f"{key}{value}", text, count=1, flags=re.MULTILINE)


def _quoted(text: str) -> str:
    """A text as YAML has it: in quotes where it could be taken for something else."""
    return as_yaml({"key": text}).removeprefix("key: ").rstrip("\n")


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file; one that is there (the example, the password's empty file) keeps owner and mode. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
