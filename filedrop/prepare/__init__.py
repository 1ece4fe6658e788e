"""What is posted may differ from what was dropped (contract 1, Preparation). Pure: bytes in, bytes out.

changes = ids_to_write(ids, reading)     which EndpointIDs the network's rules want otherwise
edits = id_edits(pieces, changes, ...)   where they are in the bytes on the wire; or a DocumentError says why they stay
edits += pdf_edits(pieces, reading, pdf, ...)   where the PDF goes, if it isn't there already
applied(pieces, edits)                   the bytes that are posted

ids     which ids are written, and where
pdf     a PDF, put into an invoice
scan    a parse for places, and for what forbids every edit
edits   a place in the bytes, and what is put there instead: all other bytes stay, and the lines, too
"""

from filedrop.prepare.edits import Edit, applied
from filedrop.prepare.ids import IdChange, id_edits, ids_to_write
from filedrop.prepare.pdf import attachments, may_have_attachments, pdf_edits

__all__ = [
    "Edit", "IdChange", "applied", "attachments", "id_edits", "ids_to_write", "may_have_attachments",
    "pdf_edits",
]  # fmt: skip
