"""Document XML -> ids and where each comes from. Pure: streams and values in, values out.

    reading = read(file)                       one pass: well-formed? encoding, digests, what the document states
    identity = identify(reading, company=...)  each id from the first source that has it
    ids = demand(identity, reading)            all of them, in good form, or a DocumentError that says how to mend it
    wire(file, reading)                        the document as it is sent: UTF-8

Mapping rules and their tables are in filedrop.identify.mapping.
"""

from filedrop.identify.identity import Identity, demand, identify
from filedrop.identify.reading import Reading, read, wire

__all__ = ["Identity", "Reading", "demand", "identify", "read", "wire"]
