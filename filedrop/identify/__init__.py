"""Document XML -> ids and where each comes from. Streams and values in, values out.

reading = read(file)                       one pass: form, encoding, digests, what the document states
identity = identify(reading, company=...)  each id from the first source that has it
ids = demand(identity, reading)            all of them, in good form, or a DocumentError that says how to mend it
wire(file, reading)                        the document as it is sent: UTF-8
embedded(file, reading.form)               what is embedded in it, in pieces

reading, parsing, encoding, doctype   a document's bytes, and what they say; pdf: what a PDF says without being opened
embedded                              what is embedded in it
content, participants, codelist       where ids stand, and which are good; codelists: Peppol's lists
identity, demand                      who sends what to whom, and where that comes from; what mends what is missing
mapping, table, xpath_tree            mapping rules, what they look up and what they ask
xpath_child                           the process that evaluates their XPaths
"""

from filedrop.identify.demand import demand
from filedrop.identify.embedded import Begun, Ended, embedded, embedded_in
from filedrop.identify.identity import Identity, identify
from filedrop.identify.parsing import WRONG_END_TAG
from filedrop.identify.pdf import PDF_WITHIN, is_pdf, named_invoice
from filedrop.identify.reading import Reading, read, wire

__all__ = [
    "PDF_WITHIN", "WRONG_END_TAG", "Begun", "Ended", "Identity", "Reading", "demand", "embedded", "embedded_in",
    "identify", "is_pdf", "named_invoice", "read", "wire",
]  # fmt: skip
