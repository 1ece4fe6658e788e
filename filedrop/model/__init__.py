"""The document, the message and the reports on their folders, as pure values.

document       an outbound document, its states, the legal steps
question       asks a person about a document in doubt
fault          why a document failed, and what a validator has found in it
prepared       what was posted in place of a dropped file
message        a message at the access point, and whether it belongs to a document
received_name  the name that a received document gets, by a pattern
response       a received response, and which documents it may be about
invoice_response  the answer to a received invoice or credit note
siren          the number of a French company in its ids
twins          two ids of one company, such as 0208 and 9925
hosts          hosts that share a journal, and what each of them serves
obligations    what is owed, and for how long it may stand still
report         what the daemon knows of a folder, an account and itself, for status and alerts
"""
