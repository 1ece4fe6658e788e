"""Texts that are given in the reader's language."""

from __future__ import annotations

import copy
import json

from filedrop.texts.languages import Translatable, translated

RECEIVED = "Between {since} and {until}"


def test_values_in_a_translatable_text() -> None:
    """A value that is translatable is given in the same language; a stranger's word is never translated."""
    text = Translatable.of(RECEIVED, since=Translatable.of("failed"), until="failed")
    assert text == "Between failed and failed"
    assert translated(text, "de") == "Zwischen fehlgeschlagen und failed"


def test_a_stranger_writes_no_form() -> None:
    """Braces in a value, or in a text of strangers, are no placeholders."""
    assert translated(Translatable.of(RECEIVED, since="{until}", until="{0}"), "en") == "Between {until} and {0}"
    assert translated("{since.__class__}", "de") == "{since.__class__}"


def test_a_copy_is_english() -> None:
    """In JSON, and as a copy, a translatable text is its English."""
    text = Translatable.of("failed")
    assert json.dumps([text]) == '["failed"]'
    assert type(copy.deepcopy(text)) is str
