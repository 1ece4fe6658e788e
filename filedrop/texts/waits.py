"""Why a document waits in `sending/`."""

from __future__ import annotations

from filedrop.texts.form import Form

_NOTHING = "You don't have to do anything."
_LATER = "You don't have to do anything. If this lasts, tell your administrator."
_RESOLVE = (
    "To end this, run: {resolve} --sent MSG_NO (if it is there as this message), or: {resolve} --send-again (if it "
    "certainly isn't there)."
)

WAITS: dict[str, Form] = {
    "waits/sending": Form("It is being sent at this moment, or comes next.", _NOTHING),
    "waits/turn": Form("It is waiting for its turn to be sent.", _NOTHING),
    "waits/turn-to-be-validated": Form("It is waiting for its turn to be checked and sent.", _NOTHING),
    "waits/held": Form(
        "Sending is on hold: there is a file {hold} in {folder}.",
        "To send everything that waits, delete the file {hold}.",
    ),
    "waits/account": Form(
        "The access point can't be used at the moment. The document is sent as soon as that is possible again.",
        _LATER,
        "{why}",
    ),
    "waits/not-taken": Form(
        "The last attempt to send it failed. filedrop tries again on {again:date}.", _LATER, "{why}"
    ),
    "waits/not-identified": Form(
        "filedrop can't find out at the moment to whom it is to be sent. It tries again by itself.", _LATER, "{why}"
    ),
    "waits/not-validated": Form(
        "The document can't be checked at the moment. filedrop tries again by itself.", _LATER, "{why}"
    ),
    "waits/not-read": Form("The file can't be read at the moment. filedrop tries again by itself.", _LATER, "{why}"),
    "waits/not-prepared": Form(
        "What is to be sent can't be written at the moment. filedrop tries again by itself.", _LATER, "{why}"
    ),
    "waits/not-in-directory": Form(
        "The directory doesn't have the receiver. filedrop asks it once more on {again:date}, and only then sends the "
        "document or puts it into not-on-peppol/.",
        _NOTHING,
        "{why}",
    ),
    "waits/absent": Form(
        "The directory doesn't have the receiver {receiver}. filedrop sent the document all the same. If it can't be "
        "delivered, it moves from here, and gets a note that says what to do.",
        _NOTHING,
    ),
    "waits/doubt": Form(
        "filedrop doesn't know yet whether the access point received the document. It looks there, and sends the "
        "document again only if it isn't there.",
        "You don't have to do anything. Don't send the document again yourself: it may arrive twice.",
        f"In doubt because: {{why}}. {_RESOLVE}",
    ),
    "waits/decision": Form(
        "filedrop doesn't know whether the access point received the document, and can't find out.",
        "Send this note to your administrator, who has to decide. Your file waits, and nothing is sent twice.",
        "{question}",
    ),
    "waits/former-account": Form(
        "filedrop doesn't know whether the access point received the document, and can't ask there any more.",
        "Send this note to your administrator. Your file waits, and nothing is sent twice.",
        "The document was posted to {identity}, which the configuration no longer names, and there was no "
        f"clear answer. Put that account back into the configuration. {_RESOLVE}",
    ),
}
