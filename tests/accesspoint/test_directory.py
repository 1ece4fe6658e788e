"""Which document ids a directory's answer covers, and in which order they are named."""

from __future__ import annotations

import pytest
from support.documents import BILLING, BILLING_PROCESS, CREDIT_NOTE_ID, INVOICE_ID

from filedrop.accesspoint.directory import nearest, takes

PINT = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1@jp-1{}::2.1"


@pytest.mark.parametrize(
    ("accepted", "document_id", "taken"),
    [
        (INVOICE_ID, INVOICE_ID, True),
        (INVOICE_ID, CREDIT_NOTE_ID, False),
        (INVOICE_ID, INVOICE_ID.removesuffix("1") + "0", False),
        (f"busdox-docid-qns::{INVOICE_ID}", INVOICE_ID, True),
        (PINT.format("*"), PINT.format(""), True),
        (PINT.format("*"), PINT.format("@local"), True),
        (PINT.format("*"), PINT.format("").replace("@jp-1", "@sg-1"), False),
        (f"peppol-doctype-wildcard::{PINT.format('*')}", PINT.format(""), True),
        (PINT.format(""), PINT.format("@local"), False),
    ],
)
def test_takes(accepted: str, document_id: str, taken: object) -> None:
    """An id covers itself, with or without its scheme; one with a wildcard all that begin like it."""
    assert takes((accepted, BILLING_PROCESS), document_id, BILLING_PROCESS) is taken
    assert not takes((accepted, BILLING_PROCESS), document_id, "another process")


@pytest.mark.parametrize("document_id", [INVOICE_ID, f"busdox-docid-qns::{INVOICE_ID}"])
@pytest.mark.parametrize("process_id", [BILLING_PROCESS, f"cenbii-procid-ubl::{BILLING_PROCESS}"])
def test_takes_whoever_writes_the_scheme(document_id: str, process_id: str) -> None:
    """Whether the directory writes an id with its scheme, the document does or both do: it is the same id."""
    for accepted in (INVOICE_ID, f"busdox-docid-qns::{INVOICE_ID}"):
        for process in (BILLING_PROCESS, f"cenbii-procid-ubl::{BILLING_PROCESS}"):
            assert takes((accepted, process), document_id, process_id)


def test_nearest() -> None:
    """First the same document with another process, then the same process, then what reads most alike; each once."""
    extended = INVOICE_ID.replace(BILLING, BILLING + "#extended")
    foreign = INVOICE_ID.replace(BILLING, "urn:something:else")
    accepts = [(foreign, "p"), (extended, BILLING_PROCESS), (INVOICE_ID, "other"), (extended, "p"), (foreign, "p")]
    assert nearest(accepts, INVOICE_ID, BILLING_PROCESS) == [
        (INVOICE_ID, "other"), (extended, BILLING_PROCESS), (extended, "p"), (foreign, "p")
    ]  # fmt: skip
