"""Faults, and the very complaint about each."""

# ruff: noqa: E501 -- a complaint stands here in one line, as it is read

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.configuration import BASE, local

from filedrop.config import Template, parse
from filedrop.errors import ConfigError

# What is written (lines 9 and on, below BASE), and what is said about it.
APPENDED = {
    "inbound: {poll: 30}": '9: inbound.poll: "30" is not a duration; write a whole number and its unit (ms, s, m, h, d), like 30s',
    "keep: {archive: 30d}": (
        '9: keep.archive: "30d" is too short, because filedrop sends a removed document again if it is dropped again; '
        "write at least 31d, or forever"
    ),
    "keep: {archive: always}": (
        '9: keep.archive: "always" is not a duration; write a whole number and its unit (ms, s, m, h, d), like 30s'
    ),
    "keep: {archive: [1]}": '9: keep.archive: write a duration, like 400d, or "forever"',
    "inbound: {poll: 36501d}": '9: inbound.poll: "36501d" is too long; write at most 36500d',
    "inbound: {poll: 5M}": '9: inbound.poll: "5M" is not a duration; write a whole number and its unit (ms, s, m, h, d), like 30s',
    "inbound: {poll: 0s}": "9: inbound.poll: too small; write a larger one",
    "inbound: {poll: [1m]}": "9: inbound.poll: a list where a duration is expected; write one like 30s",
    "inbound: {max_size: 100}": '9: inbound.max_size: "100" is not a size; write a whole number and its unit (KB, MB, GB, KiB, MiB, GiB)',
    "inbound: {max_size: 0MB}": "9: inbound.max_size: too small; write a larger one",
    "inbound:\n  polll: 1m": '10: inbound.polll: unknown key; did you mean "poll"?',
    "inbound:\n  colour: red": "10: inbound.colour: unknown key; the keys here are poll, min_free, max_size, attachments, "
    "readable, answers, answer_after, name",
    "inbound: {name: '{invoice}'}": (
        '9: inbound.name: "{invoice}" is not a placeholder; write one of {date}, {number}, {msg_no}, {type}, {sender}, '
        "{sender_name}"
    ),
    "inbound: {name: number}": (
        "9: inbound.name: contains no placeholder, so all documents would have one name; write at least one of {date}, "
        "{number}, {msg_no}, {type}, {sender}, {sender_name}"
    ),
    "inbound:\n  name: {number}": (
        '10: inbound.name: begins with {, so YAML reads it as keys; write it in quotes, like "{number}"'
    ),
    "inbound: {name: 'Eingänge/{number}'}": (
        '9: inbound.name: contains "ä"; besides placeholders, write only letters from A to Z, digits, and . _ - /'
    ),
    "inbound: {name: '{number}}'}": (
        '9: inbound.name: contains "}"; besides placeholders, write only letters from A to Z, digits, and . _ - /'
    ),
    "inbound: {name: '../{number}'}": (
        "9: inbound.name: has a folder or a name that is empty, or begins or ends with a dot; write one like "
        '"{sender}/{number}"'
    ),
    "inbound: {name: '/in/{number}'}": (
        "9: inbound.name: has a folder or a name that is empty, or begins or ends with a dot; write one like "
        '"{sender}/{number}"'
    ),
    "inbound: {name: 'Accepted/{number}'}": (
        "9: inbound.name: contains the name of a Windows device, or its first folder is accepted, rejected, queried or "
        "hold, which have a meaning of their own; write another name"
    ),
    "inbound: {name: '{sender}/con/{number}'}": (
        "9: inbound.name: contains the name of a Windows device, or its first folder is accepted, rejected, queried or "
        "hold, which have a meaning of their own; write another name"
    ),
    "inbound: {name: '{number}-%s'}" % ("x" * 100): (
        "9: inbound.name: is longer than 100 characters; write a shorter one"
    ),
    "journal: postgresql://u@db/j?password=geheim": "9: journal: has a password behind the question mark; write journal_password_file instead",
    "journal: postgresql://u@db/j?sslmode=require&sslpassword=geheim": "9: journal: has a password behind the question mark; write journal_password_file instead",
    "journal: postgresql://u@db/j?p%61ssfile=geheim": "9: journal: has a password behind the question mark; write journal_password_file instead",
    "inbound: [poll]": "9: inbound: a list where keys are expected; write them below it, indented, one in each line",
    "LOG: {level: info}": '9: LOG: unknown key; did you mean "log"?',
    "mapping:\n  channel: x": '9: mapping: keys with values where a list is expected; write "- " before the first key of each entry',
    'root: "C:\\filedrop"': (
        "9: root: text of several lines, or with an invisible character; write it in one line, and a path with \\ in "
        "single quotes"
    ),
    "alerts:\n  mail: {host: 'm.example:587', from: a@b.example, to: a@b.example}": "10: alerts.mail.host: is not a server's name; write one like mail.example.com",
    "log: {level:info}": "9: log.level: a space is missing after the colon; add one",
    "alerts: {mail: {host: m.example, from: a@b.example, to: a@b.example, password:secret}}": (
        "9: alerts.mail.password: a space is missing after the colon; add one"
    ),
    "warnings: x": "9: warnings: unknown key; delete it",
    "log: {level: loud}": "9: log.level: is not one of the possible values; write 'debug', 'info', 'warning' or 'error'",
    "log: {file: here.log}": '9: log.file: "here.log" is not a full path; write one like /srv/filedrop',
    "root: filedrop": '9: root: "filedrop" is not a full path; write one like /srv/filedrop',
    "state: [/srv/x]": "9: state: a list where a path is expected; write one like /srv/filedrop",
    "outbound: {doubt: 0s}": "9: outbound.doubt: too small; write a larger one",
    "outbound: {workers: 0}": "9: outbound.workers: too small; write a larger one",
    "outbound: {workers: many}": "9: outbound.workers: text where a whole number is expected; write one like 4",
    "outbound: {workers: true}": "9: outbound.workers: true where a whole number is expected; write one like 4",
    "outbound: {files: []}": "9: outbound.files: an empty list; write at least one entry, or leave the key out",
    "outbound: {files: '*.xml'}": '9: outbound.files: text where a list is expected; write one like ["one", "two"]',
    "outbound: {files: [in/*.xml]}": "9: outbound.files: is not a single name; write one without slashes",
    "outbound: {files: [[x]]}": "9: outbound.files: a list where text is expected; write text, in quotes if necessary",
    "outbound: {ready_suffix: ready}": '9: outbound.ready_suffix: "ready" is not a suffix; write one that begins with a dot, like .ready',
    "outbound:\n  retry:\n    first: 2s\n    longest: 1s": "12: outbound.retry.longest: shorter than first; write a longer one",
    'digest: "7"': '9: digest: "7" is not a time of day; write one like 07:00',
    "digest: 07:00": "9: digest: needs a mail server; write alerts.mail, too",
    "heartbeat: {url: ping}": "9: heartbeat.url: is not an address; write one like https://ap.example.com",
    "heartbeat: {url: 'ftp://x.example/'}": "9: heartbeat.url: is not a web address; write one like https://hc.example.com/ping/...",
    "alerts: {urls: [token]}": "9: alerts.urls: is not an Apprise address; write one like ntfys://ntfy.example.com/filedrop",
    "alerts:\n  mail:\n    host: m.example\n    from: a@b.example\n    to: it": "13: alerts.mail.to: is not a mail address; write one like it@example.com",
    "alerts:\n  mail: {host: m.example, from: a@b.example, to: 'mailto://u:secret@m.example'}": "10: alerts.mail.to: is not a mail address; write one like it@example.com",
    "alerts:\n  mail:\n    fro: a@b.example\n    host: m.example\n    to: a@b.example": '11: alerts.mail.fro: unknown key; did you mean "from"?',
    "alerts:\n  mail: {host: m.example, from: a@b.example, to: a@b.example, username: x}": "10: alerts.mail: half a login; write password_file too, or neither",
    "alerts:\n  mail: {host: m.example, from: a@b.example, to: a@b.example, username: x, password_file: y, security: none}": "10: alerts.mail: would send the password unencrypted; write security: starttls, or tls",
    "alerts:\n  mail: {host: m.example, port: 0, from: a@b.example, to: a@b.example}": "10: alerts.mail.port: is not a port; write a number from 1 to 65535, like 587",
    "alerts:\n  mail: {host: -, from: a@b.example, to: a@b.example}": "10: alerts.mail.host: is not a server's name; write one like mail.example.com",
    "alerts:\n  mail: {host: 'smtp://u:secret@m.example', from: a@b.example, to: a@b.example}": "10: alerts.mail.host: is not a server's name; write one like mail.example.com",
    "metrics: {textfile: x.prom}": '9: metrics.textfile: "x.prom" is not a full path; write one like /srv/filedrop',
    "unassigned: keep": '9: unassigned: "keep" is not a full path; write one like /srv/filedrop',
    "outbound: {}\ninbound: {}\noutbound: {}": "11: outbound: written twice, first in line 9; keep one",
    "outbound:\n  settle: 1s\n  settle: 1s": "11: outbound.settle: written twice, first in line 10; keep one",
    "? [a]\n: b": "9: ?: a key that is not text; write a word and a colon",
    "mapping: &a [*a]": "9: mapping 1: nested too deep, or in itself; write the values out",
    "tables: {a: !x y}": "9: tables.a: an unknown tag; put text that begins with ! in quotes",
    "tables: !!map secret": "9: tables: an unknown tag; put text that begins with ! in quotes",
    "mapping: !!seq secret": "9: mapping: an unknown tag; put text that begins with ! in quotes",
    "digest: !!bool [secret]": "9: digest: an unknown tag; put text that begins with ! in quotes",
    'tables: {a: "x\\ny"}': (
        "9: tables.a: text of several lines, or with an invisible character; write it in one line, and a path with \\ in "
        "single quotes"
    ),
    "tables: {a: {file: x.csv, keys: n, value: id}}": '9: tables.a.keys: unknown key; did you mean "key"?',
    "tables: {a: {file: x.csv, value: id}}": (
        "9: tables.a: names only one column; write key too, or neither if the file has two columns"
    ),
    "tables: {a: {key: n, value: id}}": "9: tables.a.file: missing; write file: customers.csv",
    "tables: {a: [x.csv]}": "9: tables.a: a list where a path is expected; write one like /srv/filedrop",
    "tables: {a: true}": "9: tables.a: true where a path is expected; write one like /srv/filedrop",
    "validation:\n  rules: r\n  except:\n    - {rule: X, company: acmee}": (
        '12: validation.except 1.company: there is no company "acmee"; did you mean "acme"?'
    ),
    "validation:\n  command: v\n  except:\n    - {rule: X}": (
        "12: validation.except: works only with validation.rules, not with a program; delete it"
    ),
    "validation:\n  except:\n    - {company: acme}": "11: validation.except 1.rule: missing; write rule: PEPPOL-EN16931-R010",
    "mapping:\n  - {company: acmee, channel: x}": '10: mapping 1.company: there is no company "acmee"; did you mean "acme"?',
    "mapping:\n  - {channel: x}\n  - {file: '(', channel: x}": (
        "11: mapping 2.file: is not a regular expression: missing ), unterminated subpattern at character 1; correct it there"
    ),
    "mapping:\n  - {file: '[[:alpha:]]+', channel: x}": (
        "10: mapping 1.file: can be read in two ways: Possible nested set at position 1;"
        " write a backslash before each character that stands for itself"
    ),
    "mapping:\n  - {file: 'INV{e}', channel: x}": (
        "10: mapping 1.file: can be read in two ways: { at character 4;"
        " write a backslash before each character that stands for itself"
    ),
    "mapping:\n  - {file: [x], channel: x}": "10: mapping 1.file: a list where text is expected; write text, in quotes if necessary",
    "mapping:\n  - {receiver: {table: t, key: x}}": '10: mapping 1.receiver: there is no table "t"; add it, or write another',
    "tables: {names: n.csv}\nmapping:\n  - receiver: {table: name, key: x}": (
        '11: mapping 1.receiver: there is no table "name"; did you mean "names"?'
    ),
    "mapping:\n  - {file: '(?P<a>.)', channel: '{a}{b}'}": (
        "10: mapping 1.channel: {b} is not a group of this rule's file; write it there as (?P<b>...)"
    ),
    "mapping:\n  - {channel: '{a'}": (
        "10: mapping 1.channel: contains a brace that is not a {group}; write a group of this rule's file in braces"
    ),
    "mapping:\n  - {sender: '123456789'}": '10: mapping 1.sender: "123456789" has no scheme; write "0192:123456789"',
    "mapping:\n  - {channel: {xpath: //Note, table: t}}": (
        "10: mapping 1.channel: is none of the three forms; "
        "write text, {table: customers, key: '{customer}'} or {xpath: '//Note'}"
    ),
    "mapping:\n  - {channel: {table: t, key: {table: t, key: x}}}": (
        "10: mapping 1.channel: is none of the three forms; "
        "write text, {table: customers, key: '{customer}'} or {xpath: '//Note'}"
    ),
    "mapping:\n  - {company: acme}": "10: mapping 1: sets nothing; write what it sets, like receiver:",
    "mapping:\n  - x": "10: mapping 1: text where keys are expected; write them below it, indented, one in each line",
    "mapping:\n  - {channel: x, number: 3}": "10: mapping 1.number: unknown key; delete it",
}

# The same, for a key of the file that is misspelt.
MISSPELT = {
    "mappings:\n  - {channel: x}": ['9: mappings: unknown key; did you mean "mapping"?'],
    "mappings:\n  - {document: Order, channel: x}\n  - {chanel: x}": [
        '9: mappings: unknown key; did you mean "mapping"?',
        '11: mapping 2.chanel: unknown key; did you mean "channel"?',
    ],
}

# The same, for what stands below `accounts.main` in place of its three keys (lines 3 to 5).
ACCOUNT = {
    "base_url: https://x\nusername: u": (
        "2: accounts.main.password: missing; write password_file: and a path (or password_env, password_credential)"
    ),
    "base_url: https://x\nusername: u\npasword_env: E": '5: accounts.main.pasword_env: unknown key; did you mean "password_env"?',
    "base_url: https://x\nusername: u\npassword: E\npassword_file: E": (
        "5: accounts.main.password: given in 2 ways (password_file, password); keep one"
    ),
    "base_url: https://x\nusername: u\npassword: ''": (
        "5: accounts.main.password: missing; write password_file: and a path (or password_env, password_credential)"
    ),
    "username: u\npassword_env: E": "2: accounts.main.base_url: missing; write base_url: https://ap.example.com",
    "base_url: http://ap.example.com\nusername: u\npassword_env: E": (
        "3: accounts.main.base_url: would send the password unencrypted; write https:// (http:// works only for this computer)"
    ),
    "base_url: https://u:secret@x\nusername: u\npassword_env: E": (
        "3: accounts.main.base_url: contains a user name; write that as username, and the password in a file"
    ),
    "base_url: ap.example.com\nusername: u\npassword_env: E": (
        "3: accounts.main.base_url: is not an address; write one like https://ap.example.com"
    ),
    "base_url: https://x/?a=b\nusername: u\npassword_env: E": (
        "3: accounts.main.base_url: contains a ? or #; write only the part before it, like https://ap.example.com/rest"
    ),
    "base_url: https://x\nusername: u:v\npassword_env: E": (
        "4: accounts.main.username: is not a user name; write it as you got it from the access point (it has no colon)"
    ),
    "base_url: https://x\nusername: true\npassword_env: E": (
        "4: accounts.main.username: true where text is expected; write text, in quotes if necessary"
    ),
    "base_url: https://x\nusername: u\npassword_env: E\nproxy: socks5://u:secret@x": (
        "6: accounts.main.proxy: is not the address of a proxy; write one like http://proxy.example.com:3128"
    ),
    "base_url: https://x\nusername: u\npassword_env: E\nproxy: http://u:12/secret@x:3128": (
        "6: accounts.main.proxy: is not the address of a proxy; write one like http://proxy.example.com:3128"
    ),
    "base_url: https://u:12/secret@x\nusername: u\npassword_env: E": (
        "3: accounts.main.base_url: contains a user name; write that as username, and the password in a file"
    ),
    "base_url: https://x\nusername: u\npassword_env: E\nname: x": "6: accounts.main.name: unknown key; delete it",
}

# The same, for what stands below `companies` in place of acme (lines 7 and on).
COMPANIES = {
    "acme: {participants: []}\nmail:\n  host: x\n  port: 25\n  to: [a@b.example]": (
        "8: companies.mail: host, port, to: write this below alerts.mail, not here"
    ),
    'acme: {participants: ["987654321"]}': '7: companies.acme.participants: "987654321" has no scheme; write "0192:987654321"',
    "acme: {participants: [987654321]}": '7: companies.acme.participants: "987654321" has no scheme; write "0192:987654321"',
    "acme:\n  participants:\n    - 0192:1\n    - 987654321": (
        '10: companies.acme.participants: "987654321" has no scheme; write "0192:987654321"'
    ),
    "acme: {participants: [x]}": (
        '7: companies.acme.participants: "x" has no scheme; write four digits and a colon before it, like "0192:987654325"'
    ),
    "acme: {participants: [NO:ORGNR:987654321]}": (
        '7: companies.acme.participants: "NO:ORGNR:987654321" is not a ParticipantID; '
        'write four digits, a colon and the number, like "0192:987654325"'
    ),
    "acme: {participants: [0192:blåbær]}": (
        '7: companies.acme.participants: "0192:blåbær" is not a ParticipantID; '
        'write four digits, a colon and the number, like "0192:987654325"'
    ),
    "acme: {participants: 0192:1}": '7: companies.acme.participants: text where a list is expected; write one like ["one", "two"]',
    "acme:": '7: companies.acme.participants: missing; write participants: ["0192:987654325"], or [] if it only sends',
    "acme: {participants: [], account: mian}": '7: companies.acme.account: there is no account "mian"; did you mean "main"?',
    "acme: {participants: [], watch: always}": (
        "7: companies.acme.watch: is not one of the possible values; write 'auto', 'events' or 'scan'"
    ),
    "acme: {participants: [], duplicates: maybe}": (
        "7: companies.acme.duplicates: is not one of the possible values; write 'refuse', 'number' or 'allow'"
    ),
    "acme: {participants: [], duplicate: allow}": '7: companies.acme.duplicate: unknown key; did you mean "duplicates"?',
    "acme:\n  participants: []\n  keep: {archiv: 400d}": (
        '9: companies.acme.keep.archiv: unknown key; did you mean "archive"?'
    ),
    "acme: {participants: [], keep: 400d}": (
        "7: companies.acme.keep: text where keys are expected; write them below it, indented, one in each line"
    ),
    "acme: {participants: []}\nb: {participants: [], validate: warn}": (
        "8: companies.b.validate: needs rules or a program; write validation.rules or validation.command, too"
    ),
    "acme: {participants: [], outbound: []}": (
        "7: companies.acme.outbound: an empty list; write at least one entry, or leave the key out"
    ),
    "acme: {participants: [0192:1]}\nb: {participants: [iso6523-actorid-upis::0192:1]}": (
        '8: companies.b.participants: "0192:1" also belongs to companies.acme; remove it from one of them'
    ),
    "acme: {participants: [9930:de1]}\nb: {participants: [9930:DE1]}": (
        '8: companies.b.participants: "9930:DE1" also belongs to companies.acme; remove it from one of them'
    ),
    "acme: {participants: []}\nAcme: {participants: [], outbound: /srv/x, inbound: /srv/y}": (
        "8: companies.Acme: differs from companies.acme only in upper and lower case; write another name"
    ),
    "acme: {participants: [], outbound: /srv/x, inbound: /srv/x/in}": (
        "7: companies.acme.inbound: /srv/x/in is inside companies.acme.outbound (/srv/x); write separate folders"
    ),
    "acme: {participants: [], outbound: [/srv/x, /srv/y/../x]}": (
        "7: companies.acme.outbound: /srv/y/../x is the same folder as companies.acme.outbound (/srv/x); "
        "write separate folders"
    ),
    "acme: {participants: [], outbound: /srv/y/x}\nb: {participants: [], inbound: /srv/y}": (
        "7: companies.acme.outbound: /srv/y/x is inside companies.b.inbound (/srv/y); write separate folders"
    ),
}


def _complaints(text: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        parse(local(text))
    return list(raised.value.complaints)


def _below(text: str, spaces: int) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(("written", "complaint"), APPENDED.items())
def test_whatever_is_wrong_is_said_with_its_line_and_key(written: str, complaint: str) -> None:
    """A fault is answered by one sentence: file, line, key, what is wrong, what to write instead."""
    assert _complaints(BASE + written) == [local(f"config.yaml:{complaint}")]


@pytest.mark.parametrize(("written", "complaints"), MISSPELT.items())
def test_a_misspelt_list(written: str, complaints: list[str]) -> None:
    """A list of rules under a misspelt name is told as that alone, and what is wrong in it by its own line."""
    assert _complaints(BASE + written) == [f"config.yaml:{complaint}" for complaint in complaints]


def test_misspelt_sections() -> None:
    """Accounts and companies under a misspelt name are told as that alone."""
    assert _complaints(BASE.replace("accounts", "account").replace("companies", "company")) == [
        'config.yaml:1: account: unknown key; did you mean "accounts"?',
        'config.yaml:6: company: unknown key; did you mean "companies"?',
    ]


@pytest.mark.parametrize(("written", "complaint"), ACCOUNT.items())
def test_accounts(written: str, complaint: str) -> None:
    """What is wrong with a login is said, and what might be a password isn't repeated."""
    said = _complaints("accounts:\n  main:\n" + _below(written, 4) + "companies: {acme: {participants: []}}")
    assert said == [f"config.yaml:{complaint}"]


@pytest.mark.parametrize(("written", "complaint"), COMPANIES.items())
def test_companies(written: str, complaint: str) -> None:
    """What is wrong with a company, or between two of them, is said."""
    said = _complaints(BASE[: BASE.index("  acme:")] + _below(written, 2))
    assert said == [local(f"config.yaml:{complaint}")]


@pytest.mark.parametrize(
    "name",
    [
        "CON",
        "con.txt",
        "NUL",
        "lpt1",
        "COM¹",
        "a:b",
        "a/b",
        "a\\b",
        "a?",
        "a.",
        "a ",
        " a",
        "..",
        "",
        "x" * 101,
        "Status.json",
    ],
)
def test_a_company_is_named_like_a_folder(name: str) -> None:
    """A company name that can't be a folder's name on Windows, or that is one of our own files', is refused."""
    (said,) = _complaints(BASE.replace("acme:", f"'{name}':"))
    assert said.startswith(f"config.yaml:7: companies.{name}: ")
    assert "write another" in said


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "---\n", "accounts:\ncompanies:\n", "accounts: {}\ncompanies: {}"]
)
def test_an_empty_file_says_what_it_lacks(text: str) -> None:
    """Without accounts and companies there is nothing to do, and that is said of both."""
    said = [complaint.split(": ", 1)[1] for complaint in _complaints(text)]
    assert said == [
        "accounts: missing; write accounts: and an account below it",
        "companies: missing; write companies: and a company below it",
    ]


def test_no_keys_at_all() -> None:
    """A file that is a list or a text says what it should be."""
    assert _complaints("\n- a") == [
        "config.yaml:2: the file has no keys; write accounts: and companies: with their keys"
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: b: c", "1: not YAML at character 5: a colon too many, or a wrong indentation; put text that contains ': ' in quotes"),
        ("a:\n\tb: c", "2: not YAML at character 1: a tab; indent with spaces"),
        ("a:\n  b: c\n\td: e", "3: not YAML at character 1: a tab; indent with spaces"),
        ("a:\n  b: c\n d: e", "3: not YAML at character 2: a colon is missing here or above, or the line is indented wrongly; correct it"),
        ("a: 1\nb: 'x\nc: d", "2: not YAML at character 4: a quote that is not closed, or text after it; close it, or put the other quotes around the text"),
        (r'a: "C:\Users\acme"', r"1: not YAML at character 4: a \ in double quotes has a special meaning; write the path in single quotes or without quotes"),
        (r'a: "D:\share"', r"1: not YAML at character 4: a \ in double quotes has a special meaning; write the path in single quotes or without quotes"),
        ("a: [b\nc: d", "1: not YAML at character 4: a bracket that is not closed, or a missing comma in it; correct it"),
        ("a: @b", "1: not YAML at character 4: text can't begin with this character; put it in quotes"),
        ("a: *secret", "1: not YAML at character 4: an alias that has no anchor; put text that begins with * in quotes"),
        ("a: !x!secret", "1: not YAML at character 4: an unknown tag; put text that begins with ! in quotes"),
        ("a: b\n---\nc: d", "2: not YAML at character 1: a second document begins; keep one, without --- between"),
        ("a: b\nc: \x07", "2: a character that can't be printed (U+0007); delete it"),
        ("a: \ud800", "1: a character that can't be printed (U+D800); delete it"),
    ],
)  # fmt: skip
def test_what_is_no_yaml(text: str, complaint: str) -> None:
    """A slip in the YAML is answered by its place and the usual remedy, never by the text."""
    assert _complaints(text) == [f"config.yaml:{complaint}"]


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(before + 1)}: &{chr(before + 1)} [{', '.join(10 * ['*' + chr(before)])}]\n" for before in range(97, 122)
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LAUGHS, "4: aliases stand for more than 10000 values; write the values out"),
        (f"{BASE}tables:\n  a: {'[' * 100_000}", "10: nested too deep; write the values out"),
        ("".join(f"{' ' * depth}a:\n" for depth in range(1000)), "21: nested too deep; write the values out"),
    ],
)
def test_what_is_too_much(text: str, complaint: str) -> None:
    """Aliases that stand for aliases that stand for aliases, and endless depth, are answered by their line, at once."""
    assert _complaints(text) == [f"config.yaml:{complaint}"]


def test_aliases() -> None:
    """What stands for a few values may be used as often as one likes."""
    rules = "mapping:\n" + "".join(
        f"  - {{company: acme, document: D{number}, {'channel: &c x' if not number else 'channel: *c'}}}\n"
        for number in range(1000)
    )
    assert {rule.values["channel"] for rule in parse(BASE + rules).mapping} == {Template("x")}


def test_what_stands_after_a_mended_entry() -> None:
    """An entry that is wrong leaves the others with their own lines and numbers, also in what is found after it."""
    text = """accounts:
  main: {base_url: https://ap.example.com, username: acme, password_env: X}
companies:
  one:
    participants: ["0192:1"]
  two:
    participants:
      - "wrong"
      - "0192:2"
      - "0192:1"
    outbound:
      - wrong
      - /srv/elsewhere
      - /srv/filedrop/one/inbound
mapping:
  - wrong
  - {channel: x, colour: red, receiver: {table: none, key: y, colour: red}}
root: /srv/filedrop
"""
    with pytest.raises(ConfigError) as caught:
        parse(local(text), "c.yaml")
    assert [said.split(": ")[:2] for said in caught.value.complaints] == [
        ["c.yaml:8", "companies.two.participants"],
        ["c.yaml:10", "companies.two.participants"],
        ["c.yaml:12", "companies.two.outbound"],
        ["c.yaml:14", "companies.two.outbound"],
        ["c.yaml:16", "mapping 1"],
        ["c.yaml:17", "mapping 2.colour"],
        ["c.yaml:17", "mapping 2.receiver"],
    ]


def test_two_logins_that_are_one() -> None:
    """The same user at the same host is one account, whatever the ports, the paths and the case of the host."""
    again = "  again: {base_url: https://AP.example.com:8443/rest, username: acme, password_env: E}\n"
    text = BASE.replace("companies:\n", again + "companies:\n").replace("  acme:\n", "  acme:\n    account: main\n")
    assert _complaints(text) == [
        "config.yaml:6: accounts.again: the same host and user name as accounts.main; keep one of them"
    ]


def test_a_company_says_which_account() -> None:
    """With two accounts, each company must say which is its own."""
    other = "  other: {base_url: https://ap.example.com, username: other, password_env: E}\n"
    assert _complaints(BASE.replace("companies:\n", other + "companies:\n")) == [
        "config.yaml:8: companies.acme.account: missing; write one of main, other"
    ]


def test_an_account_that_is_empty() -> None:
    """An empty name is none of the accounts, also where there is only one."""
    assert _complaints(BASE.replace("  acme:\n", '  acme:\n    account: ""\n')) == [
        "config.yaml:8: companies.acme.account: missing; write one of main"
    ]


def test_everything_at_once() -> None:
    """Faults of every kind are all said in one go, in the order of the file, and none that only follows from another."""
    text = """\
accounts:
  main:
    base_url: http://ap.example.com
    usernam: acme
companies:
  acme:
    participants: ["987654321", "0192:1"]
    account: main
    outbound: /srv/x
  CON:
    participants: [x]
    account: man
  b:
    participants: ["0192:1"]
    inbound: /srv/x/y
mapping:
  - file: '('
    receiver: '{customer}'
  - {company: c, chanel: x}
inboud: {poll: 1}
"""
    assert [complaint.split(";")[0].removeprefix("config.yaml:") for complaint in _complaints(text)] == [
        "2: accounts.main.password: missing",
        "3: accounts.main.base_url: would send the password unencrypted",
        "4: accounts.main.usernam: unknown key",
        '7: companies.acme.participants: "987654321" has no scheme',
        "10: companies.CON: is a reserved name, on Windows or in filedrop",
        '11: companies.CON.participants: "x" has no scheme',
        '14: companies.b.participants: "0192:1" also belongs to companies.acme',
        local("15: companies.b.inbound: /srv/x/y is inside companies.acme.outbound (/srv/x)"),
        "17: mapping 1.file: is not a regular expression: missing ), unterminated subpattern at character 1",
        "19: mapping 2.chanel: unknown key",
        '19: mapping 2.company: there is no company "c"',
        "20: inboud: unknown key",
        '20: inbound.poll: "1" is not a duration',
    ]  # fmt: skip


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["acme", "1m", "https://x"])
)
_KEYS = st.sampled_from(
    [
        *("accounts", "companies", "outbound", "inbound", "mapping", "tables", "log", "state", "retry", "source"),
        *("base_url", "username", "password", "name", "participants", "account", "first", "files"),
        *("number", "line", "file", "receiver", "table", "key"),
    ]
) | st.text(max_size=4)
_TREES = st.recursive(
    _SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS, below, max_size=4), max_leaves=25
)


def _flow(tree: object) -> str:
    match tree:
        case dict():
            return "{" + ", ".join(f"{_flow(key)}: {_flow(value)}" for key, value in tree.items()) + "}"
        case list():
            return "[" + ", ".join(_flow(item) for item in tree) + "]"
        case str():
            return "'" + tree.replace("'", "''") + "'"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[tree]
        case _:
            return str(tree)


@given(st.dictionaries(_KEYS, _TREES, max_size=5))
def test_nothing_is_so_wrong_that_it_cannot_be_said(tree: dict[str, object]) -> None:
    """Whatever nonsense is written, the answer is complaints with lines, never a crash."""
    text = "".join(f"{_flow(key)}: {_flow(value)}\n" for key, value in tree.items())
    with pytest.raises(ConfigError, match=r"^config\.yaml:\d+: "):
        parse(text)


@pytest.mark.parametrize("name", ["unassigned", "Unassigned", "STATUS.html", "status.json", ".filedrop", ".filedrop-x"])
def test_names_that_are_filedrops_own(name: str) -> None:
    """No company has a name by which filedrop calls something of its own, in any case."""
    text = BASE.replace("  acme:", f"  {name}:")
    assert any("is a reserved name" in complaint for complaint in _complaints(text))
