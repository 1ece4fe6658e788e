"""What every note says. filedrop itself reads `NOT_DONE`, in English: it is the first line (storage/sidecar)."""

from __future__ import annotations

NOT_DONE = {False: "{file} was not sent.", True: "{file} was not delivered."}  # by: did the access point accept it?
WAITING = "{file} is waiting here. It is not lost."
NOT_ANSWERED = "{file} was not answered."
CAN_DO = "What you can do:"
MOVE_BACK = (
    "If the file itself is right, and the problem elsewhere is solved, move the file from failed/ back to outbound/."
)
READY = "Then create the file {ready} there."
FINDING = "Line {line}: {finding}"
FOR_ADMINISTRATOR = "For your administrator"

NOTE = (*NOT_DONE.values(), WAITING, NOT_ANSWERED, CAN_DO, MOVE_BACK, READY, FINDING, FOR_ADMINISTRATOR)
