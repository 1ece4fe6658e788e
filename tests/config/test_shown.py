"""A configuration as `config show` and `config schema` show it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from filedrop.config import Config, parse
from filedrop.config.shown import json_schema, shown
from filedrop.config.values import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator


def here(text: str) -> str:
    """A configuration whose folders have full paths on this system."""
    return re.sub(r"(?<=[ \[])/(?=srv/|var/)", "C:/", text) if sys.platform == "win32" else text


EXAMPLE = (Path(__file__).parents[2] / "config.example.yaml").read_text("utf-8")
FULL = here(r"""
accounts:
  main: {base_url: "https://ap.example.com", username: acme, password_file: /etc/filedrop/password}
  other: {base_url: "https://ap.example.com", username: "NO", password_env: OTHER_PASSWORD, read_timeout: 90s}
root: /srv/filedrop
companies:
  acme: {participants: ["0192:987654321", "9930:12"], account: main, outbound: /srv/a, mail: books@example.com}
  buyer: {participants: [], account: other, outbound: [/srv/one, /srv/two], inbound: /srv/in, channel: "true"}
unassigned: /srv/rest
mapping:
  - {company: acme, file: 'INV-(?P<customer>\d+)-.*\.xml', receiver: {table: customers, key: '{customer}'}}
  - {document: Invoice, customization: 'urn:*', sender: "0192:987654321", document_id: {xpath: '//Note'}, channel: x}
  - {document: Order, receiver: {table: customers, key: {xpath: '//ID'}}}
tables: {customers: /etc/filedrop/customers.csv, items: {file: /etc/filedrop/items.csv, key: Number, value: PeppolID}}
outbound: {settle: 500ms, max_size: 20MiB, retry: {first: 1s}, workers: 2, ready_suffix: .ready, duplicates: number}
inbound: {poll: 1d, min_free: 1234567B}
alerts:
  mail: {host: mail.example.com, from: a@example.com, to: [b@example.com], username: u, password_file: /etc/mailpass}
  quiet: 2h
digest: "07:00"
heartbeat: {every: 90s}
metrics: {textfile: /var/lib/filedrop.prom}
keep: {archive: 400d}
validation: {command: [/srv/validate, --quickly], timeout: 1m}
commands: {after_failed: /srv/tell, timeout: 2m}
log: {level: debug, format: json, file: /var/log/filedrop.log}
""")


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json_schema(EXAMPLE)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


class Editor(yaml.SafeLoader):
    """YAML 1.2, as editors read it: `off` is a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's name and form
        letter: [one for one in resolvers if one[0] != "tag:yaml.org,2002:bool" or letter in "tTfF"]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def complaints(validator: Draft202012Validator, text: str) -> list[str]:
    worst = best_match(validator.iter_errors(yaml.load(text, Editor)))  # noqa: S506 - a SafeLoader
    return [] if worst is None else [worst.json_path]


def keys(config: Config) -> dict[str, Any]:
    return config.model_dump(exclude={"source", "mapping", "warnings"})


def test_what_is_shown_means_the_same() -> None:
    """What is shown is a configuration, which means what the first one means."""
    config = parse(FULL)
    again = parse(yaml.safe_dump(shown(config), allow_unicode=True))
    assert keys(again) == keys(config)
    assert [rule.model_copy(update={"line": 0}) for rule in again.mapping] == [
        rule.model_copy(update={"line": 0}) for rule in config.mapping
    ]
    assert shown(again) == shown(config)


def test_as_it_was_written() -> None:
    """Durations, sizes and a time of day are shown as people write them."""
    told = shown(parse(FULL))
    assert told["digest"] == "07:00"
    assert (told["outbound"]["settle"], told["outbound"]["doubt"], told["inbound"]["poll"]) == ("500ms", "15m", "1d")
    sizes = (told["outbound"]["max_size"], told["inbound"]["max_size"], told["inbound"]["min_free"])
    assert sizes == ("20MiB", "200MB", "1234567B")


def test_secrets_are_hidden() -> None:
    """Neither a password nor a proxy's login is shown, nor an address of an alert or a heartbeat."""
    text = FULL.replace("password_file: /etc/filedrop/password", "password: s3cret, proxy: 'http://me:pr0xy@p.example'")
    text = text.replace("alerts:", "alerts:\n  urls: ['ntfys://n.example/s3cret']")
    text = text.replace("heartbeat: {", "heartbeat: {url: 'https://hc.example.com/s3cret', ")
    told = shown(parse(text))
    main = told["accounts"]["main"]
    assert (main["password"], main["proxy"]) == (HIDDEN, f"http://{HIDDEN}@p.example")
    assert (told["alerts"]["urls"], told["heartbeat"]["url"]) == ([HIDDEN], HIDDEN)
    assert not re.search("s3cret|pr0xy", json.dumps(told))


def lines_of_example() -> Iterator[str]:
    """The example with its defaults written out, as far as a key may be written beside the others."""
    for line in EXAMPLE.splitlines():
        is_default = re.match(r" *#\w+:", line) and not re.match(r" *#(password_\w+|password):", line)
        yield line.replace("#", "", 1) if is_default else line


@pytest.mark.parametrize(
    "text", [EXAMPLE, here("\n".join(lines_of_example())), FULL], ids=["example", "defaults", "full"]
)
def test_the_schema_takes_what_filedrop_takes(validator: Draft202012Validator, text: str) -> None:
    """What filedrop reads without complaint, the schema takes."""
    parse(text)
    assert not complaints(validator, text)


@pytest.mark.parametrize(
    ("right", "wrong", "where"),
    [
        ("settle: 500ms", "settle: 500", "$.outbound.settle"),
        ("settle: 500ms", "setle: 500ms", "$.outbound"),
        ("max_size: 20MiB", "max_size: 20 apples", "$.outbound.max_size"),
        ("duplicates: number", "duplicates: maybe", "$.outbound.duplicates"),
        ("username: acme, ", "", "$.accounts.main"),
        ("account: main, ", "accounts: main, ", "$.companies.acme"),
    ],
)
def test_the_schema_refuses(validator: Draft202012Validator, right: str, wrong: str, where: str) -> None:
    """An editor marks an unknown key, a missing one, and what can't stand behind a key, at its place."""
    assert right in FULL
    assert complaints(validator, FULL.replace(right, wrong)) == [where]


def test_the_schema_explains(validator: Draft202012Validator) -> None:
    """A key that the example explains has the same words in the schema, and its default."""
    schema = validator.schema
    settle = schema["$defs"]["Outbound"]["properties"]["settle"]
    assert "can't notice that the file was closed" in settle["description"]
    assert settle["default"] == "2s"
    for name in ("Account", "Company", "Outbound", "Inbound", "Log"):
        for key, form in schema["$defs"][name]["properties"].items():
            assert form.get("description"), f"{name}.{key}"
