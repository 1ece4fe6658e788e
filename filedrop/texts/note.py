"""What every note says. filedrop itself reads `NOT_DONE`, in English: it is the first line (storage/sidecar)."""

from __future__ import annotations

NOT_DONE = {False: "{file} was not sent.", True: "{file} was not delivered."}  # by: did the access point accept it?
WAITING = "{file} is waiting here. It is not lost."
REJECTED = "{file} was rejected."
BY_RECEIVER = "{receiver} rejected the document on {when}."
BY_ACCESS_POINT = "The document did not reach {receiver}. The receiver's access point rejected it on {when}."
REASON = "Reason: {reason}"
CORRECT = "Correct the document in your accounting system. Usually, this takes a credit note and a new invoice."
NOT_AGAIN = "Don't send this file again: the same content counts as a duplicate."
ANSWER = "The answer of the receiver is message {number} in inbound/."
NOT_ANSWERED = "{file} was not answered."
CAN_DO = "What you can do:"
MOVE_BACK = (
    "If the file itself is right, and the problem elsewhere is solved, move the file from failed/ back to outbound/."
)
READY = "Then create the file {ready} there."
FINDING = "Line {line}: {finding}"
FOR_ADMINISTRATOR = "For your administrator"

_REJECTION = (REJECTED, BY_RECEIVER, BY_ACCESS_POINT, REASON, CORRECT, NOT_AGAIN, ANSWER)
NOTE = (*NOT_DONE.values(), WAITING, NOT_ANSWERED, CAN_DO, MOVE_BACK, READY, FINDING, FOR_ADMINISTRATOR, *_REJECTION)
