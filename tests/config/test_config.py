"""What a configuration comes to."""

import os
import re
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.configuration import BASE, local
from support.rights import as_anyone

from filedrop.config import Lookup, TableFile, Template, XPath, agreement, find, load, named_folder, parse
from filedrop.config.agreement import resolved
from filedrop.errors import ConfigError

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights and links")


def test_what_follows_from_what() -> None:
    """A company that says little gets its folders below root, the only account, and outbound's way of watching."""
    acme = parse(local(BASE + "root: /srv/x\noutbound: {watch: scan}")).companies["acme"]
    root = Path(local("/srv/x"))
    assert (acme.name, acme.account, acme.watch, acme.channel) == ("acme", "main", "scan", "")
    assert (acme.outbound, acme.inbound) == ((root / "acme" / "outbound",), root / "acme" / "inbound")


def test_what_a_company_says_holds() -> None:
    """A company's own folders and way of watching win; one path does for a list of one."""
    text = BASE + "    outbound: /srv/o\n    inbound: /srv/i\n    watch: events\n"
    acme = parse(local(text)).companies["acme"]
    assert (acme.outbound, acme.inbound) == ((Path(local("/srv/o")),), Path(local("/srv/i")))
    assert acme.watch == "events"


def test_settings_of_a_company() -> None:
    """A company has the settings that are written below it, and else the common ones."""
    common = """
outbound: {validate: warn, directory: refuse, duplicates: number}
inbound: {attachments: beside, readable: html}
keep: {archive: 400d}
validation: {rules: /srv/rules}
companies:
  acme: {participants: [], validate: null, keep: {archive: null}}
  fjord: {participants: [], validate: off, directory: warn, duplicates: allow, keep: {}}
  tind: {participants: [], attachments: leave, readable: off, keep: {archive: forever}}
"""
    config = parse(local(BASE[: BASE.index("companies:")] + common.lstrip()))
    names = ("validate_", "directory", "duplicates", "attachments", "readable")
    written = {
        company.name: (*(getattr(company, name) for name in names), company.keep.archive_for())
        for company in config.companies.values()
    }
    assert written == {
        "acme": ("warn", "refuse", "number", "beside", "html", timedelta(days=400)),
        "fjord": ("off", "warn", "allow", "beside", "html", timedelta(days=400)),
        "tind": ("warn", "refuse", "number", "leave", "off", None),
    }


@pytest.mark.parametrize("nothing", ["", " null", " ~"])
def test_a_section_with_nothing_in_it(nothing: str) -> None:
    """A section whose keys are all commented out is a section of defaults."""
    sections = ("outbound", "inbound", "log", "mapping", "tables", "root", "state", "unassigned")
    assert parse(BASE + "".join(f"{name}:{nothing}\n" for name in sections)) == parse(BASE)


@pytest.mark.parametrize(
    "text", ["NO", "yes", "on", "9930:12", "0755", "2026-11-20", "1.10", "1e3", "0x1F", "nullify", "~a"]
)
def test_text_stays_text(text: str) -> None:
    """What YAML 1.1 takes for booleans, dates, octals and sexagesimals is the text that was written."""
    assert parse(f"{BASE}    channel: {text}").companies["acme"].channel == text


@pytest.mark.parametrize(("company", "number"), [("NO", 1), ("123", 2), ("null", 3), ("true", 4)])
def test_keys_are_text(company: str, number: int) -> None:
    """A company may be called NO."""
    config = parse(f"{BASE}  {company}: {{participants: ['0192:{number}']}}")
    assert config.companies[company].name == company


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("2s", 2), ("5m", 300), ("1h", 3600), ("1d", 86400), ("0s", 0)]
)
def test_durations(text: str, seconds: float) -> None:
    """Durations are whole numbers with a unit."""
    assert parse(f"{BASE}outbound: {{settle: {text}}}").outbound.settle == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "size"), [("100MB", 10**8), ("1kb", 1000), ("2GB", 2 * 10**9), ("1MiB", 2**20), ("1GiB", 2**30), ("9B", 9)]
)
def test_sizes(text: str, size: int) -> None:
    """Sizes are powers of 1000, or of 1024 where they say so."""
    assert parse(f"{BASE}inbound: {{max_size: {text}}}").inbound.max_size == size


def test_participants_lose_their_prefix() -> None:
    """A ParticipantID may be written with PEPPOL's prefix, which isn't part of it."""
    config = parse(BASE.replace("0192:", "iso6523-actorid-upis::0192:"))
    assert config.companies["acme"].participants == ("0192:987654321",)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://localhost/", "http://[::1]:80/x/", "https://10.0.0.1"]
)
def test_loopback_needs_no_tls(url: str) -> None:
    """Http is for this computer; the slash at the end goes."""
    assert parse(BASE.replace("https://ap.example.com", url)).accounts["main"].base_url == url.rstrip("/")


def test_an_account_is_its_user_and_host() -> None:
    """The identity has the host in lower case, without port and path."""
    config = parse(BASE.replace("https://ap.example.com", "https://AP.Example.com:8443/rest"))
    assert config.accounts["main"].identity == "acme@ap.example.com"


def test_rules() -> None:
    """A rule knows its number and line, what must hold, and what it sets, in three forms."""
    text = r"""mapping:
  - {company: acme, sender: "0192:1"}
  - file: 'INV-(?P<customer>\d+)\.xml'
    receiver: {table: customers, key: '{customer}'}
    channel: {xpath: //Note}
    document_id: {table: customers, key: {xpath: //ID}}
    process_id: 'p-{customer}'
tables: {customers: lists/customers.csv}
"""
    config = parse(BASE + text, str(Path(local("/srv/etc/config.yaml"))))
    first, second = config.mapping
    assert (first.number, first.line, first.values) == (1, 10, {"sender": Template("0192:1")})
    assert (second.number, second.line) == (2, 11)
    assert second.file is not None
    assert second.file.fullmatch("inv-17.XML")
    assert second.values == {
        "receiver": Lookup("customers", Template("{customer}")),
        "process_id": Template("p-{customer}"),
        "channel": XPath("//Note"),
        "document_id": Lookup("customers", XPath("//ID")),
    }
    assert config.tables == {"customers": TableFile(file=Path(local("/srv/etc/lists/customers.csv")))}


def test_a_configuration_never_changes() -> None:
    """What was read stays as it was read."""
    config = parse(BASE)
    with pytest.raises(ValidationError, match="frozen"):
        config.outbound.workers = 9  # type: ignore[misc] -- that is what is tried


# Secrets


@given(
    st.text("abcdefghijkXYZ0123456789*&!@%{}[]|>'\"#:,?- ", min_size=6),
    st.sampled_from(["password", "pasword", "proxy"]),
)
def test_no_complaint_shows_a_password(rest: str, key: str) -> None:
    """However a password is miswritten, no complaint and no model repeats it."""
    secret = f"s3cr3t{rest}"
    for written in (
        secret,
        f"*{secret}",
        f"&{secret}",
        f"!{secret} x",
        f"[{secret}]",
        f"'{secret}",
        f"http://u:{secret}@h",
    ):
        text = BASE.replace("    password_env: SECRET\n", f"    {key}: {written}\n") + "outbound: {workers: none}"
        with pytest.raises(ConfigError) as raised:
            parse(text)
        assert "s3cr3t" not in str(raised.value)
        assert raised.value.__context__ is None  # no traceback shows it either


def test_no_model_shows_a_password() -> None:
    """A password, and that of a proxy, are in no repr and no str."""
    config = parse(BASE.replace("password_env: SECRET", "password: s3cr3t\n    proxy: http://u:s3cr3t@p:3128"))
    assert "s3cr3t" not in f"{config}{config!r}{config.accounts}{config.accounts['main']}"
    assert config.accounts["main"].proxy == "http://u:s3cr3t@p:3128"
    assert config.accounts["main"].read_password() == "s3cr3t"


def test_a_password_in_the_configuration_is_warned_about() -> None:
    """A password that stands in the configuration works, with a warning that says where it should be."""
    (warning,) = parse(BASE.replace("password_env: SECRET", "password: s3cr3t")).warnings
    assert warning.startswith("config.yaml:5: accounts.main.password: ")
    assert "password_file" in warning
    assert "s3cr3t" not in warning


@pytest.mark.parametrize("content", [b"s3cr3t", b"s3cr3t\n", b"s3cr3t\r\n", b"\xef\xbb\xbfs3cr3t\r\n"])
def test_a_password_file_is_read_afresh(tmp_path: Path, content: bytes) -> None:
    """The password is what the file holds now, whichever editor wrote it. Its path begins beside the configuration."""
    text = BASE.replace("password_env: SECRET", "password_file: secret")
    account = parse(text, str(tmp_path / "config.yaml")).accounts["main"]
    (tmp_path / "secret").write_bytes(b"old")
    assert account.read_password() == "old"
    (tmp_path / "secret").write_bytes(content)
    assert account.read_password() == "s3cr3t"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"s3cr3t\nmore\n", b"\xff\xfes\x003\x00"])
def test_a_password_file_without_a_password(tmp_path: Path, content: bytes | None) -> None:
    """A password file that isn't there, is empty, or isn't one line of UTF-8 is named, and its content is not."""
    text = BASE.replace("password_env: SECRET", "password_file: secret")
    account = parse(text, str(tmp_path / "config.yaml")).accounts["main"]
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(
        ConfigError, match=f"accounts.main.password_file: .*{re.escape(str(tmp_path / 'secret'))}"
    ) as raised:
        account.read_password()
    assert "s3cr3t" not in str(raised.value)


def test_a_password_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is read when the password is asked for; the name isn't repeated, lest it be the password itself."""
    account = parse(BASE).accounts["main"]
    monkeypatch.setenv("SECRET", "s3cr3t")
    assert account.read_password() == "s3cr3t"
    monkeypatch.delenv("SECRET")
    with pytest.raises(ConfigError, match=r"accounts\.main\.password_env: ") as raised:
        account.read_password()
    assert "SECRET" not in str(raised.value)


def test_a_variable_that_is_not_set() -> None:
    """A variable with the name of one is named; whatever else stands there may be the password itself."""
    for name, said in (("FILEDROP_PASSWORD", "variable FILEDROP_PASSWORD is not set"), ("Hunter_2", "that it names")):
        account = parse(BASE.replace("SECRET", name)).accounts["main"]
        with pytest.raises(ConfigError, match=said) as raised:
            account.read_password()
        assert "Hunter" not in str(raised.value)


def test_a_password_from_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential is read from where systemd puts it, and missed where there is no systemd."""
    (tmp_path / "ap").write_text("s3cr3t\n")
    account = parse(BASE.replace("password_env: SECRET", "password_credential: ap")).accounts["main"]
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert account.read_password() == "s3cr3t"
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    with pytest.raises(ConfigError, match="LoadCredential=ap:"):
        account.read_password()


@posix
def test_a_password_that_everybody_can_read(tmp_path: Path) -> None:
    """A password file that is readable for all is warned about, until it isn't any more."""
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    text = BASE.replace("password_env: SECRET", f"password_file: {secret}")
    secret.chmod(0o644)
    assert parse(text).warnings == (
        f"config.yaml:5: accounts.main.password_file: everybody can read {secret}; chmod o-r {secret}",
    )
    secret.chmod(0o640)
    assert parse(text).warnings == ()


def test_a_password_with_a_blank_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that begins or ends with a blank counts as it is, with a warning that doesn't show it."""
    secret = tmp_path / "secret"
    text = BASE.replace("password_env: SECRET", f"password_file: {secret}")
    says = "the password begins or ends with a blank; remove it, unless it is part of the password"
    for written, warnings in (("s3cr3t \n", [says]), ("\ts3cr3t", [says]), ("s3cr 3t\r\n", [])):
        secret.write_text(written)
        secret.chmod(0o600)
        config = parse(text)
        assert config.warnings == tuple(f"config.yaml:5: accounts.main.password_file: {why}" for why in warnings)
        assert config.accounts["main"].read_password() == written.rstrip("\r\n")
    monkeypatch.setenv("SECRET", " s3cr3t")
    assert parse(BASE).warnings == (f"config.yaml:5: accounts.main.password_env: {says}",)
    secret.write_text("s3cr3t ")
    login = f"{{host: localhost, username: u, password_file: {secret}, from: a@b.com, to: [a@b.com]}}"
    database = f"journal: postgresql://u@localhost/j\njournal_password_file: {secret}\n"
    monkeypatch.setenv("SECRET", "s3cr3t")
    found = parse(f"{BASE}alerts:\n  mail: {login}\n{database}").warnings
    assert [warning.partition(": ")[2] for warning in found] == [
        f"alerts.mail.password_file: {says}", f"journal_password_file: {says}",
    ]  # fmt: skip


# Folders


@posix
def test_a_link_is_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    """Two names for one folder are one folder."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = f"{BASE}    outbound: {tmp_path}/real/sub\n    inbound: {tmp_path}/link\n"
    with pytest.raises(ConfigError, match=r"companies\.acme\.outbound: \S+ is inside companies\.acme\.inbound"):
        parse(text)


def test_a_share_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where links can't be followed in time, folders are compared by their names."""
    answered = threading.Event()

    def hanging(path: Path) -> str:
        answered.wait()
        return str(path)

    paths = [Path(local("/srv/x/../y"))]
    monkeypatch.setattr(agreement, "PATIENCE", 0.01)
    monkeypatch.setattr(os.path, "realpath", hanging)
    try:
        assert resolved(paths) == [Path(os.path.normcase(local("/srv/y")))]
    finally:
        answered.set()


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere case tells folders apart")
def test_case_tells_no_folders_apart() -> None:
    """On Windows, Out and out are one folder."""
    with pytest.raises(ConfigError, match="the same folder"):
        parse(local(BASE + "    outbound: /srv/Out\n    inbound: /srv/out\n"))


# Files


def test_which_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """--config wins over $FILEDROP_CONFIG, which wins over the system's place."""
    monkeypatch.setenv("FILEDROP_CONFIG", "b.yaml")
    assert find("a.yaml") == Path("a.yaml")
    assert find(None) == Path("b.yaml")
    monkeypatch.setenv("FILEDROP_CONFIG", "")
    usual = r"C:\ProgramData\filedrop\config.yaml" if sys.platform == "win32" else "/etc/filedrop/config.yaml"
    assert find(None) == Path(usual)


def test_a_file_is_read_whoever_wrote_it(tmp_path: Path) -> None:
    """A byte order mark and Windows line ends do no harm; complaints begin with the path."""
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode() + b"    channel: caf\xc3\xa9\r\n")
    assert load(path).companies["acme"].channel == "café"
    assert load(path).source == str(path)
    path.write_text(BASE + "x: 1")
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))}:9: x: unknown key"):
        load(path)


@posix
def test_a_file_of_somebody_else(tmp_path: Path) -> None:
    """Who may not read the file isn't told to write another."""
    (tmp_path / "c.yaml").touch(0)
    with as_anyone(), pytest.raises(ConfigError, match=r"Permission denied.*; or run this as a user who may read it"):
        load(tmp_path / "c.yaml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that isn't there, or isn't UTF-8, is an error of the configuration."""
    with pytest.raises(ConfigError, match=f"^{re.escape(str(tmp_path / 'no.yaml'))}: can't be read: .* filedrop init"):
        load(tmp_path / "no.yaml")
    (tmp_path / "latin.yaml").write_bytes(BASE.encode() + b"    channel: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:9: not UTF-8; save the file as UTF-8$"):
        load(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "root: /srv/x\n",
        '"root": /srv/x\n',
        "root : /srv/x\nmapping: [\n",
        "root:\n  /srv/x\n",
        "{root: /srv/x, y: 1}\n",
    ],
)
def test_the_root_of_a_file_full_of_mistakes(tmp_path: Path, text: str) -> None:
    """It is read however it is written; where the rest is no YAML, from its line."""
    file = tmp_path / "config.yaml"
    file.write_text(text.replace("/srv/x", tmp_path.as_posix()))
    assert named_folder("root", file) == tmp_path
