"""Which mapping rules apply to a document, and where each id comes from (`filedrop check --explain`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from filedrop.cli.show import say
from filedrop.identify.identity import explained, rule_of

if TYPE_CHECKING:
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Try

FIELDS = ("sender", "receiver", "document_id", "process_id", "channel")


def tries_as_json(identity: Identity) -> list[dict[str, Any]]:
    """Each rule as `--json` has it; `why` is null where a rule applies and where a field wins."""
    return [
        {
            "rule": tried.rule,
            "line": tried.line,
            "applies": not tried.refusal,
            "why": tried.refusal or None,
            "fields": {name: _field_as_json(name, tried, identity) for name in tried.fields},
        }
        for tried in identity.tries
    ]


def _field_as_json(name: str, tried: Try, identity: Identity) -> dict[str, Any]:
    winner = rule_of(name, identity)
    value = tried.values.get(name)
    if value is None:
        why = tried.unset.get(name, "the rule doesn't apply")
    else:
        why = "" if winner is tried else f"{winner} comes first"
    return {"value": value, "wins": not why, "why": why or None}


def show_tries(source: str, identity: Identity, reading: Reading) -> None:
    """Show the rules of the configuration `source` ("" for none), and where the rest comes from."""
    _show_rules(source, identity)
    rest = [name for name in FIELDS if rule_of(name, identity) is None]
    if rest:
        say("  Set by no rule:")
    for name in rest:
        say(f"    {name:<12} {explained(name, identity, reading)}")


def _show_rules(source: str, identity: Identity) -> None:
    if not source:
        say("  There is no configuration, so there are no mapping rules.")
    elif not identity.tries:
        say(f"  {source} has no mapping rules.")
    else:
        say(f"  The mapping rules of {source}, for a file of {identity.company}:")
    for tried in identity.tries:
        if tried.refusal:
            say(f"  {tried} doesn't apply: {tried.refusal}")
            say(f"    it would set {', '.join(tried.fields)}")
            continue
        say(f"  {tried} applies")
        for name in tried.fields:
            field = _field_as_json(name, tried, identity)
            said = "sets nothing" if field["value"] is None else field["value"]
            say(f"    {name:<12} {said}" + (f": {field['why']}" if field["why"] else ""))
