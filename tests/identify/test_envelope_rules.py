"""The network's rules for envelopes: sender and receiver are the EndpointIDs of the document (BR-SBDH-1 to -4)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from support.configuration import BASE
from support.documents import BILLING_PROCESS, BUYER, SELLER, credit_note, invoice

from filedrop.config import parse
from filedrop.identify import identify, read
from filedrop.identify.mapping import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

SELF_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0"
SELF_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0"


def _of_envelopes(document: bytes, **ids: str) -> list[str]:
    """The warnings about rules for envelopes, of a document that a rule of the configuration gives these ids."""
    rule = ", ".join(["company: acme", *(f"{name}: '{id_}'" for name, id_ in ids.items())])
    config = parse(f"{BASE}\nmapping: [{{{rule}}}]\n" if ids else BASE)
    mapping = Rules(config.mapping, config.tables)
    identity = identify(read(io.BytesIO(document), xpaths=mapping.xpaths), company="acme", mapping=mapping)
    return [warning for warning in identity.warnings if "BR-SBDH" in warning]


@pytest.mark.parametrize("make", [invoice, credit_note])
def test_ids_that_the_document_states(make: Callable[[], bytes]) -> None:
    """A document that goes by its own EndpointIDs breaks no rule for envelopes, nor does one of another process."""
    assert _of_envelopes(make()) == []
    assert _of_envelopes(make(), sender=SELLER, receiver=BUYER) == []
    regulated = make().replace(BILLING_PROCESS.encode(), b"urn:peppol:france:billing:regulated")
    assert _of_envelopes(regulated, receiver="0225:100000009") == []
    assert _of_envelopes(invoice(customization="urn:ours"), receiver="0088:7300010000001") == []


@pytest.mark.parametrize("process", [BILLING_PROCESS, "urn:peppol:bis:billing_with_response"])
def test_ids_that_the_document_contradicts(process: str) -> None:
    """Where sender or receiver isn't the EndpointID as it is written, the warning names both ids and the rule."""
    document = invoice(process=process)
    (warning,) = _of_envelopes(document, receiver="9908:810418052")
    assert warning.startswith(
        f"receiver 9908:810418052: the document's EndpointID is {BUYER}. The network's rule BR-SBDH-1 "
    )
    (warning,) = _of_envelopes(invoice(sender=None, process=process), sender=SELLER)
    assert warning.startswith(f"sender {SELLER}: the document has no EndpointID. The network's rule BR-SBDH-2 ")
    (warning,) = _of_envelopes(document.replace(b'schemeID="0192">810418052', b'schemeID="NO:ORGNR">810418052'))
    assert "EndpointID is NO:ORGNR:810418052. The network's rule BR-SBDH-1 " in warning
    (warning,) = _of_envelopes(document.replace(b' schemeID="0192">810418052', b">0192:810418052"))
    assert "EndpointID is 0192:810418052 without a schemeID. " in warning


def test_ids_that_a_self_billed_document_contradicts() -> None:
    """In self-billing, the customer sends, and the supplier receives."""
    document = invoice(customization=SELF_BILLING, process=SELF_BILLING_PROCESS)
    assert _of_envelopes(document) == []
    said = " ".join(_of_envelopes(document, sender=SELLER, receiver=BUYER))
    assert f"receiver {BUYER}: the document's EndpointID is {SELLER}. The network's rule BR-SBDH-3 " in said
    assert f"sender {SELLER}: the document's EndpointID is {BUYER}. The network's rule BR-SBDH-4 " in said
