"""Why a document failed. A form's name begins with its error code; behind a `/` is which of several it is.

A form without a `message` only adds to another one.
"""

from __future__ import annotations

from filedrop.texts.form import Form
from filedrop.texts.preparation import CORRECT, PREPARATION

_EXPORT = "Export the document again from your accounting system."
_TELL = "Send this note to your administrator."
_EXPORT_OR_TELL = f"{_EXPORT} If that doesn't help, send this note to your administrator."
_FILL_IN = "Write the right {ids} into it. Then run filedrop reload."
_WEB_PAGE = Form(
    "The file is a web page, not a business document.",
    "Open the file in a browser to see what the page says. Then export the document again from your accounting system.",
    "The program that wrote the file got a login page or an error page, and saved it as the document.",
)
_ASK_OPERATOR = (
    "Ask the access point's operator whether it has the document. If it certainly doesn't, send the file again with "
    "the command below."
)
_RULE_REFUSED = (
    "To see whether newer rules are due: filedrop check. If the documents of {company} can't keep a rule, name the "
    "rule under validation.except in the configuration, and run filedrop reload:\n"
    "  validation:\n"
    "    except:\n"
    "      - {exception}"
)
_STRANGE = "The document is not built like a business document."
_SECOND = (
    "Is it really a second document? Then give it a number of its own in your accounting system, and export it again."
)
_AGAIN = f"Is this the same document again? Then delete the file: nothing is missing.\n{_SECOND}"
_PERHAPS = (
    "Is this the same document again? See what became of {first}. If it was sent, delete this file: nothing is "
    f"missing.\n{_SECOND}"
)
_FIRST = (
    "The first one, {first}{message_number}, was dropped on {when:date}, from {sender} to {receiver}. To see what "
    "became of it: {history}"
)
_FOREIGN = Form(
    "The sender {sender} is not an address of {company}.",
    "Was the file meant for another company? Then move it, together with this note, to that company's outbound "
    "folder. Otherwise send this note to your administrator.",
    "The participants of {company} are {participants}. If {company} may send as {sender}, add that to "
    "companies.{company}.participants, or set the sender by a mapping rule, and run filedrop reload. If the "
    "file moves to another company, its note must move with it: it has the name that the file was dropped with.",
)
_TWIN = Form(
    "The directory has the same company under another address: {twin}.",
    "Perhaps the receiver takes its documents at {twin}. If it says so, use that address.",
    "filedrop uses {twin} only if the document names it, or if a table or a mapping rule sets it: receiver: {twin}",
)
_IS_BY_NOW = "The directory doesn't have the receiver. To see whether it is registered by now: {lookup}"
_THEN = "When you have, move the files away. If the customer is on Peppol by now, move {file} back to outbound/."
_COMPARE_NUMBER = (
    "Compare the number with the customer's. If it is wrong, correct it in your accounting system, and export the "
    "document again."
)
_REFUSED_BY_RECEIVER = "The receiver may refuse the document as it is. " + CORRECT

FAULTS: dict[str, Form] = PREPARATION | {
    # The file as such
    "not-xml": Form(
        "Line {line}, column {column}: the file can't be read from here on.",
        f"Perhaps the file is not complete. {_EXPORT}",
        "The XML is not well-formed there ({why}). Check whether the file is complete, and whether it is in the "
        "encoding that its first line names (UTF-8 if it names none).",
    ),
    "not-xml/empty": Form("The file is empty.", _EXPORT),
    "not-xml/other": Form(
        "This is not an XML file.",
        f"Only XML documents can be sent. {_EXPORT}",
        "An XML file begins with <, and this file begins with something else.",
    ),
    "not-xml/pdf": Form(
        "This is a PDF, not an XML file.",
        "Only XML documents can be sent. If your accounting system creates invoices as Factur-X or ZUGFeRD, have it "
        "export the XML itself.",
        "The file begins as a PDF, whatever its name. filedrop show FILE says whether there is an invoice in it.",
    ),
    "not-xml/pdf-with-invoice": Form(
        "This is a PDF with an invoice in it ({name}).",
        "Only XML documents can be sent. Have your accounting system export the XML itself.",
        "The file begins as a PDF, whatever its name. Its metadata names {name} (Factur-X, ZUGFeRD).",
    ),
    "not-xml/foreign-byte": Form(
        "Line {line}, column {column}: the file has a wrong character here.",
        "Export the document again from your accounting system, in UTF-8 if you can choose.",
        "There, {why}. Have the file written in UTF-8, or have its first line name the encoding "
        "in which it is written.",
    ),
    "not-xml/web-page": Form(
        _WEB_PAGE.message,
        _WEB_PAGE.hint,
        "Line {line}, column {column}: this is not well-formed XML ({why}). " + _WEB_PAGE.administrator,
    ),
    "not-xml/web-page-received": Form(
        "It is a web page, not a business document.",
        administrator="Another server answers in place of the access point: check the proxy and the network.",
    ),
    "not-xml/unknown-encoding": Form(
        'Line {line}, column {column}: the file names an encoding that doesn\'t exist, "{declared}".',
        "Export the document again from your accounting system, in UTF-8 if you can choose.",
        "The XML declaration names the encoding in line {line}, column {column}. Have the file written in UTF-8.",
    ),
    "not-xml/other-encoding": Form(
        "Line {line}, column {column}: the file names the encoding {declared}, but it isn't written in it.",
        "Export the document again from your accounting system, in UTF-8 if you can choose.",
        "The XML declaration names the encoding in line {line}, column {column}. Have the file written in this "
        "encoding, or better in UTF-8.",
    ),
    "not-xml/changed": Form("Line {line}: this is not well-formed XML."),
    "doctype": Form(
        "Line {line}: the file has a document type declaration (DOCTYPE), and business documents may have none.",
        "Ask the vendor of your accounting system for an export without it.",
        "Have the document written without <!DOCTYPE ...>.",
    ),
    "doctype/web-page": _WEB_PAGE,
    "too-large": Form(
        "The file is larger than {limit}.",
        "Send less in one document: for example, leave out attachments or make them smaller.",
        "The limit is {bytes} bytes. To raise it, change outbound.max_size in the configuration, and run filedrop "
        "reload.",
    ),
    "unreadable/web-page": _WEB_PAGE,
    "unreadable/long-tag": Form(
        _STRANGE, _EXPORT_OR_TELL, "Line {line}: a tag or comment is longer than {most} bytes."
    ),
    "unreadable/long-name": Form(
        _STRANGE, _EXPORT_OR_TELL, "Line {line}: an element's name is longer than {most} characters."
    ),
    "unreadable/deep": Form(_STRANGE, _EXPORT_OR_TELL, "Line {line}: the elements are nested more than {most} deep."),
    "unreadable/prolog": Form(_STRANGE, _EXPORT_OR_TELL, "Line {line}: the part before the first element has no end."),
    "unreadable/other-message": Form("This is not the document of message {msg_no}."),
    "unreadable/right": Form(
        "filedrop is not allowed to read the file.",
        _TELL,
        "The file can't be read: {why}. See who owns it, and give the service the right to read {folder} and the "
        "files in it.",
    ),
    "unreadable/denied": Form(
        "filedrop is not allowed to read the file.",
        _TELL,
        "The file can't be read: {why} ({facts}). Give filedrop the right to read {folder} and the files in it, and "
        "have files dropped there with that right. For the files that are there now, also in failed/, {remedy}",
    ),
    "unreadable/disk": Form(
        "The file can't be read.",
        "Try to open it with another program. If that fails, too, export the document again from your accounting "
        "system.",
        "The file can't be read: {why}. If no other program can read it either, the disk is damaged.",
    ),
    "in-use": Form(
        "Another program has the file open, so it can't be read.",
        "Close the file in that program.",
        "The file can't be read: {why}.",
    ),
    "in-use/right": Form(
        "Another program has the file open, or filedrop is not allowed to read it.",
        "Close the file in that program. If that doesn't help, tell your administrator.",
        "The file can't be read: {why}. See who owns it, and give the service the right to read {folder} and the "
        "files in it.",
    ),
    "unreadable/rule-file": Form(
        "A rule of the configuration takes too long for this document.",
        _TELL,
        "It takes too long to compare `file` of {rule} with the name {name}, so it is unknown what the rule sets. "
        "Write `file` so that no part that repeats can match the same letters in two ways, as (a|aa)+ can. Then run "
        "filedrop reload.",
    ),
    "unreadable/rule-xpath": Form(
        "A rule of the configuration takes too long for this document.",
        _TELL,
        "It takes too long to find {xpath} in the document, so it is unknown what {rule} sets. Write an XPath that "
        "doesn't search the whole document again for each element that it finds, as //a[//b] does. Then run filedrop "
        "reload.",
    ),
    "unreadable/rule": Form(
        "A rule of the configuration can't be applied to this document.",
        _TELL,
        "It is unknown what {rule} sets: {xpath} can't be evaluated ({why}). Write it as an XPath 1.0, and run "
        "filedrop reload.",
    ),
    # Who sends what to whom
    "no-sender": Form(
        "The sender's PEPPOL address (ParticipantID) is missing or not valid.",
        "Add the sender's PEPPOL address, such as 0192:123456785, in your accounting system. Then export the document "
        "again.",
        "sender: {where}.",
    ),
    "no-receiver": Form(
        "The receiver's PEPPOL address (ParticipantID) is missing or not valid.",
        "Add the receiver's PEPPOL address, such as 0192:123456785, in your accounting system. Then export the "
        "document again. If the receiver has none, send the document another way, for example by mail.",
        "receiver: {where}.",
    ),
    "no-document-id": Form(
        "The document doesn't say by which specification it is written.",
        "In your accounting system, choose PEPPOL as the format. Then export the document again.",
        "document id: {where}.",
    ),
    "no-document-id/form": Form(
        "The document's kind (document id) is written wrongly.",
        "In your accounting system, choose PEPPOL as the format. Then export the document again.",
        'The document id "{id}" {wrong}: {where}.',
    ),
    "no-process-id": Form(
        "The document doesn't say to which business process it belongs.",
        "In your accounting system, choose PEPPOL as the format. Then export the document again.",
        "process id: {where}.",
    ),
    "no-process-id/form": Form(
        "The document's business process (process id) is written wrongly.",
        "In your accounting system, choose PEPPOL as the format. Then export the document again.",
        'The process id "{id}" {wrong}: {where}.',
    ),
    "bad-participant/sender": Form(
        'The sender\'s PEPPOL address (ParticipantID) is wrong: "{id}".',
        "Correct the sender's address in your accounting system: it must look like {example}. Then export the "
        "document again.",
        'The sender "{id}" {wrong}: {where}.',
    ),
    "bad-participant/receiver": Form(
        'The receiver\'s PEPPOL address (ParticipantID) is wrong: "{id}".',
        "Correct the receiver's address in your accounting system: it must look like {example}. Then export the "
        "document again.",
        'The receiver "{id}" {wrong}: {where}.',
    ),
    "bad-participant/sender-by-rule": Form(
        'A rule of the configuration sets a wrong PEPPOL address for the sender: "{id}".',
        _TELL,
        'The sender "{id}" {wrong}: {where}.',
    ),
    "bad-participant/receiver-by-rule": Form(
        'A rule of the configuration sets a wrong PEPPOL address for the receiver: "{id}".',
        _TELL,
        'The receiver "{id}" {wrong}: {where}.',
    ),
    "ids/correct-rules": Form(
        administrator="Correct what is set by {rules}, or put the mapping rule below above {first}. " + _FILL_IN
    ),
    "ids/complete-rule": Form(
        administrator="Make sure that {rule} finds the {ids}, or add the mapping rule below at the end of `mapping:` "
        "in the configuration. " + _FILL_IN
    ),
    "ids/add-rule": Form(
        administrator="If the document can't be corrected, add the mapping rule below at the end of `mapping:` in the "
        "configuration. " + _FILL_IN
    ),
    "ids/rule-for-all": Form(
        administrator="The rule applies to {documents}, even if the document itself says something "
        "else:\n  - {{{rule}}}"
    ),
    "ids/rule-for-file": Form(
        administrator="The rule applies only to this file. Without `file:`, it would apply to {documents}, even if the "
        "document itself says something else:\n  - {{{rule}}}"
    ),
    "bad-participant/unprintable": Form(
        "The address of the sender or the receiver has an impossible character.",
        CORRECT,
        "{field} has a line break or another character that no id has.",
    ),
    "no-document-id/unprintable": Form(
        "The document's kind (document id) has an impossible character.",
        _TELL,
        "{field} has a line break or another character that no id has.",
    ),
    "no-process-id/unprintable": Form(
        "The document's business process (process id) has an impossible character.",
        _TELL,
        "{field} has a line break or another character that no id has.",
    ),
    "rejected/unprintable": Form(
        "The document's channel has an impossible character.",
        _TELL,
        "{field} has a line break or another character that no id has. Correct it in the configuration.",
    ),
    "foreign-sender": _FOREIGN,
    "foreign-sender/no-scheme": Form(
        _FOREIGN.message,
        _FOREIGN.hint,
        "The sender's EndpointID has no schemeID, and not exactly one participant of {company} has this value. The "
        "participants are {participants}. Have the schemeID written, or set the sender by a mapping rule, "
        "and run filedrop reload.",
    ),
    "duplicate": Form("The same {document:kind} was sent before, as {first}, on {when:date}.", _AGAIN, _FIRST),
    "duplicate/together": Form(
        "The same {document:kind} was dropped before, as {first}, on {when:date}, and filedrop had begun to send it.",
        _PERHAPS,
        _FIRST,
    ),
    "duplicate/perhaps": Form(
        "The same {document:kind} may have been sent before, as {first}, on {when:date}.", _PERHAPS, _FIRST
    ),
    "duplicate/rehearsed": Form("The same document is among these files as {first}.", _AGAIN),
    "invalid": Form("The document breaks {number} rules of the network: {rules}.", _REFUSED_BY_RECEIVER, _RULE_REFUSED),
    "invalid/rule": Form("The document breaks the rule {rules} of the network.", _REFUSED_BY_RECEIVER, _RULE_REFUSED),
    "invalid/many": Form(
        "The document breaks {number} rules of the network, among them {rules}.", _REFUSED_BY_RECEIVER, _RULE_REFUSED
    ),
    "invalid/refused": Form(
        "The check of the document found: {finding}",
        _REFUSED_BY_RECEIVER,
        "If that seems wrong, see whether newer rules are due: filedrop check",
    ),
    # What the directory says
    "receiver-unknown": Form(
        "The receiver {receiver} is not in the access point's directory, so nothing can be delivered to it.",
        "Ask the receiver for its PEPPOL address (ParticipantID). Correct it in your accounting system, and export the "
        "document again.",
        "If a table or a mapping rule sets the receiver, correct it there. To see whether the receiver is registered "
        "by now: {lookup}",
    ),
    "receiver-unknown/twin": _TWIN,
    "not-on-peppol": Form(
        "The receiver {receiver} can't be reached over Peppol. filedrop has not sent the document.",
        administrator=_IS_BY_NOW,
    ),
    "not-on-peppol/sent": Form(
        "The receiver {receiver} can't be reached over Peppol. filedrop sent the document on {when:date} through your "
        "access point (message {msg_no}), and it could not be delivered.",
        "Keep this note with the document.",
        _IS_BY_NOW,
    ),
    "not-on-peppol/mail": Form(
        "The receiver {receiver} can't be reached over Peppol: the document names only the mail address {address}. "
        "filedrop has not sent the document.",
        "If the customer has a PEPPOL address, add it in your accounting system, and export the document again.",
        "receiver: {where}. If the customer is on Peppol by now, put its ParticipantID into that table "
        "or rule before the file is moved back. Otherwise it is put aside again.",
    ),
    "not-on-peppol/check-digit": Form(
        "The number {number} can't be right: its check digit is wrong.",
        _COMPARE_NUMBER,
    ),
    "not-on-peppol/form": Form(
        "The number {number} can't be right: such numbers have another form.",
        _COMPARE_NUMBER,
    ),
    "not-on-peppol/twin": _TWIN,
    "not-on-peppol/other-way": Form(hint=f"Send the document another way, for example by mail. {_THEN}"),
    "not-on-peppol/with-pdf": Form(hint=f"Send the document another way, for example by mail with {{pdf}}. {_THEN}"),
    "not-accepted": Form(
        "By the directory, the receiver {receiver} doesn't accept {wanted}. The most similar that it accepts is "
        "{nearest}.",
        "Export the document in a form that the receiver accepts, or ask the receiver what it wants.",
        "If only the document's ids are wrong, set them by a mapping rule. The receiver accepts:",
    ),
    "not-accepted/process": Form(
        "By the directory, the receiver {receiver} accepts {wanted}, but only in another business process.",
        "Export the document in a form that the receiver accepts, or ask the receiver what it wants.",
        "If only the process id is wrong, set it by a mapping rule. The receiver accepts:",
    ),
    "not-accepted/kind": Form(
        "By the directory, the receiver {receiver} doesn't accept any {kind:kind}.",
        "Send it another way, or ask the receiver to register for such documents.",
    ),
    "not-accepted/answer": Form(
        "By the directory, {receiver} can't receive answers to invoices.",
        "Tell the sender of the invoice in another way, for example by mail.",
        "{why}",
    ),
    "not-accepted/pair": Form(administrator="  {document_id} with the process {process_id}"),
    "not-accepted/named-pair": Form(administrator="  {name}: {document_id} with the process {process_id}"),
    "not-accepted/more": Form(administrator="  and {number} more: {lookup}"),
    # What the access point says
    "rejected": Form(
        'The access point refused the document: "{text}".',
        CORRECT,
        "HTTP status {status}. If one of the document's ids is wrong, correct it in the document or in the mapping.",
    ),
    "rejected/silent": Form(
        "The access point refused the document, and gave no reason.",
        _TELL,
        "HTTP status {status}. Ask the access point's operator why.",
    ),
    "rejected/too-large": Form(
        "The document is larger than the access point allows.",
        "Leave out attachments or make them smaller, and export the document again.",
        'HTTP status {status}: "{text}". Ask the access point\'s operator for the limit.',
    ),
    "rejected/too-large-pdf": Form("It has {pdf} ({size}) in it.", "Export a smaller PDF."),
    "no-answer": Form(
        "The access point may have the document: it gave no clear answer {times} times.",
        f"{_TELL} Don't send the document again yourself: it may arrive twice.",
        f"After none of the attempts was the document found at the access point. The last answer: {{why}}. "
        f"{_ASK_OPERATOR}",
    ),
    "not-delivered": Form(
        "The access point accepted the document, but could not deliver it to the receiver.",
        _TELL,
        "Message {msg_no} has left the access point's outbox undelivered: the transfer to the receiver's access point "
        "failed. Ask the access point's operator why, and check the receiver. Then the document may be sent again.",
    ),
    "not-delivered/objection": Form(
        "The access point accepted the document, but could not deliver it to the receiver.",
        administrator="Message {msg_no} has left the access point's outbox undelivered, and is no longer tried. When "
        "the cause is corrected, the document may be sent again.",
    ),
    "not-delivered/other-message": Form(
        "The access point accepted the document, but filedrop can't find out whether it was delivered.",
        f"{_TELL} Don't send the document again yourself: it may arrive twice.",
        "Message {msg_no} at the access point is another message now: {why}. Ask the access point's operator whether "
        "the document was delivered. It may have been, for example if the access point was reinstalled since. Only if "
        "it wasn't, send it again.",
    ),
    "changed/delivered": Form(
        "The file was changed or replaced while it was in {place}/. What was sent before was delivered.",
        "Delete the file. Only if it is to be sent as it is now, move it back to outbound/.",
        "The message number of what was sent is {msg_no}.",
    ),
    "changed/not-delivered": Form(
        "The file was changed or replaced while it was in {place}/. What was sent before was not delivered.",
        "Delete the file. Only if it is to be sent as it is now, move it back to outbound/.",
        "The message number of what was sent is {msg_no}. Not delivered: {why}",
    ),
}
