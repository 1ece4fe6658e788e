"""The document and the message, as pure values.

document   an outbound document, its states, the legal steps
fault      why a document failed, and what a validator has found in it
message    a message at the access point, and whether it belongs to a document
response   a received response, and which documents it may be about
"""
