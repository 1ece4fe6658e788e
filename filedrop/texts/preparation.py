"""Why something can't be put into a document, or must be in it and isn't: forms of faults, as in `faults`."""

from __future__ import annotations

from filedrop.texts.form import Form

CORRECT = "Correct this in your accounting system, and export the document again."
_ADDRESSES = "Correct the address of the sender or receiver in your accounting system, and export the document again."
_AS_IT_IS = (
    "The {role}'s EndpointID should be {id}. To send documents of {company} as they are, set "
    "companies.{company}.prepare.ids to false, and run filedrop reload."
)
_PDF_AWAY = "To send the document without the PDF, move {pdf} to another folder."
_PDF_MAY_GO = "If your administrator allows documents without a PDF, you can also move {pdf} to another folder."
_PDF_AGAIN = f"Export the PDF again. {_PDF_MAY_GO}"
_NO_PDF = (
    "To send documents of {company} without their PDFs, set companies.{company}.prepare.pdf to off, and run filedrop "
    "reload."
)
_EXPORT_PDF = "Export the PDF of the document into outbound/, under the name {pdf}."
_NO_ATTACHMENT = "The receiver {receiver} takes no invoices without an attachment, and this one has none."

PREPARATION: dict[str, Form] = {
    # What can't be written into it
    "not-prepared/signed": Form(
        "The document is signed, so no other address can be written into it.", _ADDRESSES, _AS_IT_IS
    ),
    "not-prepared/envelope": Form(
        "The document is in an envelope, so no other address can be written into it.", _ADDRESSES, _AS_IT_IS
    ),
    "not-prepared/no-party": Form("The document has no element for the sender or the receiver.", CORRECT, _AS_IT_IS),
    "not-prepared/twice": Form("The document names the sender or the receiver twice.", CORRECT, _AS_IT_IS),
    "not-prepared/pdf-signed": Form(
        "The document is signed, and {pdf} can't be put into it without breaking the signature.", _PDF_MAY_GO, _NO_PDF
    ),
    "not-prepared/pdf-envelope": Form(
        "The document is in an envelope, in which filedrop changes nothing, so {pdf} can't be put into it.",
        _PDF_MAY_GO,
        _NO_PDF,
    ),
    "not-prepared/pdf-type": Form(
        "filedrop puts a PDF only into invoices and credit notes, and this document is another one ({type:kind}).",
        _PDF_AWAY,
        _NO_PDF,
    ),
    "not-prepared/pdf-profile": Form(
        "The document's profile ({profile}) has no place for an attachment, so {pdf} can't be put into it.",
        "Export the invoice in a larger profile, such as EN 16931. " + _PDF_MAY_GO,
        _NO_PDF,
    ),
    "not-prepared/pdf-name": Form(
        "The document already has another attachment named {pdf}.",
        "Two attachments must not have the same name. Have your accounting system give one of them another name. "
        + _PDF_MAY_GO,
        _NO_PDF,
    ),
    "not-prepared/pdf-incomplete": Form("The file {pdf} is no complete PDF.", _PDF_AGAIN, _NO_PDF),
    "not-prepared/pdf-unreadable": Form("The file {pdf} can't be read: {reason}.", _PDF_AGAIN, _NO_PDF),
    "not-prepared/pdf-size": Form(
        "The PDF {pdf} has {size}; at most {limit} are put into a document.",
        f"Export a smaller PDF. {_PDF_MAY_GO}",
        f"The limit is prepare.pdf_size. {_NO_PDF}",
    ),
    "not-prepared/pdf-older": Form(
        "The PDF {pdf} was last written on {pdf_written:date}, and {document} on {written:date}. The PDF may belong to "
        "another document.",
        f"Export both again. If the PDF belongs to this document, save it again. {_PDF_MAY_GO}",
        f"The limit is prepare.pdf_older. {_NO_PDF}",
    ),
    "not-prepared/pdf-two": Form(
        "The files {pdf} and {other} both have the document's name.", "Move the wrong one to another folder.", _NO_PDF
    ),
    # What has no attachment
    "no-attachment/pdf": Form(
        "There is no {pdf}, which is to be put into the document.",
        _EXPORT_PDF,
        "With prepare.pdf: require, no invoice or credit note is sent without the PDF of its name. With embed, none is "
        "that had one before: to send it alone, delete its PDF from failed/ and run filedrop retry.",
    ),
    "no-attachment/receiver-pdf": Form(
        _NO_ATTACHMENT,
        _EXPORT_PDF,
        "outbound.attachment_required names the receiver {id}, and prepare.pdf puts the PDF of the same name into the "
        "document.",
    ),
    "no-attachment/receiver": Form(
        _NO_ATTACHMENT,
        "Have your accounting system put the PDF into the invoice, and export the document again.",
        "outbound.attachment_required names the receiver {id}. To have filedrop put the PDF of the same name into the "
        "document, set prepare.pdf.",
    ),
}
