"""What is posted may differ from what was dropped (contract 1, Preparation). Pure: bytes in, bytes out.

changes = ids_to_write(ids, reading)     which EndpointIDs the network's rules want otherwise
edits = edits_of(pieces, changes, ...)   where they are in the bytes on the wire; or a DocumentError says why they stay
applied(pieces, edits)                   the bytes that are posted

ids     which ids are written, and where
edits   a place in the bytes, and what is put there instead: all other bytes stay, and the lines, too
"""

from filedrop.prepare.edits import Edit, applied
from filedrop.prepare.ids import IdChange, edits_of, ids_to_write

__all__ = ["Edit", "IdChange", "applied", "edits_of", "ids_to_write"]
