"""What is wrong with a sidecar or a status.json by its JSON Schema, which names every key there is."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

# jsonschema would compile the grammar of IRIs, two seconds in each process. No schema or SBOM here has an IRI.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment] # "not installed"
from jsonschema import Draft202012Validator  # noqa: E402 - as above

del sys.modules["rfc3987_syntax"]

from filedrop.cli.config import FORMS  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator


def wrong(form: str, content: Any) -> Iterator[str]:
    """Each mistake in a `sidecar` or `status`, also a key that its schema doesn't name, with its place."""
    for error in _validator(form).iter_errors(content):
        yield f"{error.json_path}: {error.message}"


@lru_cache
def _validator(form: str) -> Draft202012Validator:
    schema = json.loads(FORMS[form].read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(_closed(schema), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _closed(schema: Any) -> Any:
    """The schema without room for keys that it doesn't name."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items() if key not in ("if", "const", "enum")}
    kept = {key: part for key, part in schema.items() if key in ("if", "const", "enum")}
    is_object = schema.get("type") == "object" and "properties" in schema
    return ({"additionalProperties": False} if is_object else {}) | closed | kept
