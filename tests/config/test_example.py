"""config.example.yaml, which is how an administrator learns the keys."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.documents import invoice
from support.notes import filled_in, rule_for

from filedrop.config import (
    Account,
    Alerts,
    Commands,
    Company,
    Config,
    Heartbeat,
    Hosts,
    Inbound,
    Keep,
    Log,
    Mail,
    Metrics,
    Outbound,
    Retry,
    Validation,
    load,
    parse,
)
from filedrop.config.mapping import Rule

EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"
SECTIONS = (Hosts, Outbound, Validation, Keep, Inbound, Commands, Log, Alerts, Heartbeat, Metrics)
REQUIRED = ("base_url", "username", "password_file")


def _with_defaults() -> str:
    """The example with its commented keys as keys: `#` and a word, without a blank between."""
    return re.sub(r"^( *)#(?=\w)", r"\1", EXAMPLE.read_text("utf-8"), flags=re.MULTILINE)


def _keys() -> Iterator[tuple[str, str]]:
    """Every key there is, with the section that it stands in."""
    for model in (*SECTIONS, Config, Account, Company, Retry, Mail, Rule):
        yield from ((model.__name__, key) for key in model.known())


def _settings() -> list[str]:
    return [key for model in (Account, *SECTIONS) for key in model.known() if key not in REQUIRED]


def test_it_loads() -> None:
    """The example is a configuration as it stands, and one that nothing is to be warned about."""
    config = load(EXAMPLE)
    assert config.companies["acme"].participants == ("0192:987654325",)
    assert config.warnings == ()


def test_it_names_every_key() -> None:
    """Whatever may be written is in the example, in its section."""
    text = _with_defaults()
    before = {model.__name__: "^  " for model in SECTIONS}
    before |= {"Account": "^    ", "Company": "^    ", "Config": "^"}
    before |= {"Retry": r"retry: \{.*", "Rule": r"#   [ -] ", "Mail": r"#   [{ ]?.*\b"}
    missing = [
        (section, key) for section, key in _keys() if not re.search(rf"{before[section]}{key}:", text, re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.skipif(sys.platform == "win32", reason="root and state have other defaults there")
def test_what_is_commented_out_is_the_default() -> None:
    """To take away the # before a key changes nothing."""
    assert parse(_with_defaults(), str(EXAMPLE)) == load(EXAMPLE)


def test_the_rule_of_a_note_can_be_put_at_its_end() -> None:
    """The example ends in `mapping:`, and the lines of a note that are put below it are its first rules."""
    lines = [rule_for(invoice("1", receiver=None), "a.xml"), rule_for(invoice("2", process="a b"), "b.xml")]
    config = parse(EXAMPLE.read_text("utf-8") + filled_in("\n".join(lines)), str(EXAMPLE))
    assert [set(rule.values) for rule in config.mapping] == [{"receiver"}, {"process_id"}]


def test_each_default_is_a_line() -> None:
    """Each default is there to be uncommented: it is not only told of."""
    text = EXAMPLE.read_text("utf-8")
    keys = ("root", "state", *_settings())
    assert [key for key in keys if not re.search(rf"^ *#{key}: ", text, re.MULTILINE)] == []
