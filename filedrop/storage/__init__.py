"""Folders, and the files that filedrop writes in them.

folder      whether a folder is there and ours; marker: whose folder it is
branching   which database's filedrop serves a folder, if a journal has two
company_folders  a company's outbound and inbound folders
former      open documents at accounts, and in folders, that are no longer configured
answer_folders  the folders of an `inbound/` by which received documents are answered
entry_times  the times of a folder, which show whether its entries are still the same
hold        the files that hold an outbound folder
names       names that can be a document's, free names, names of received documents
own_name    the name that a file was dropped with, where its present name is another; a document's move with its PDFs
ready_files  the files that signal that a dropped file is whole
sidecar     the content of the files beside a document, JSON and .why.txt, and what an outbound one restores
withdrawal  a received document's name given up again, and its attachments removed
checked     values from files that others may have written: their size and types
"""
