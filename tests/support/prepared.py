"""Documents that are prepared: a rule gives them another receiver than they state, which is posted in its place."""

from __future__ import annotations

from typing import Any

from support.documents import BUYER, invoice

STATED = "0088:7300010000001"  # the receiver that the documents state, in place of BUYER
PREPARE = {"prepare": "{ids: true}"}  # of `outbound`
BY_RULE = f"mapping: [{{receiver: '{BUYER}'}}]"


def stated(number: str, **changes: Any) -> bytes:
    """An invoice that states another receiver than the one that it goes to."""
    return invoice(number, receiver=STATED, **changes)


def posted(content: bytes) -> bytes:
    """What is posted of a document."""
    return content.replace(b'schemeID="0088">7300010000001<', b'schemeID="0192">810418052<')
