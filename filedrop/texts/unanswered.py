"""Why a received document is not answered although a person has moved it (`inbound.answers: move`)."""

from __future__ import annotations

from filedrop.texts.form import Form

UNANSWERED: dict[str, Form] = {
    "unanswered/unknown": Form(
        "Your company has not received a document with exactly this content.",
        "Move the received XML file here as it is. Don't open and save it before.",
    ),
    "unanswered/kind": Form("Only invoices and credit notes can be answered.", "Move the file back to inbound/."),
    "unanswered/incomplete": Form(
        "The document has no number, or its sender is not known.", "Answer the sender in another way."
    ),
    "unanswered/before": Form(
        "Your company has answered this document before.",
        "If your answer has changed, tell the sender in another way.",
    ),
}
