"""The way in: each message of the inbox is placed once, whole, in its company's folder, and only then marked as read.

poller      polls one account's inbox, hands each message to its folder's delivery, and hears how it ended: what
            can't be taken becomes `stuck`, and waits
inbox       the unread messages, and what the journal knows of them
statuses    those that are for an access point, and so for none of the companies
fetcher     downloads a document into a temporary file
    temporary       the temporary files of a message
    attachments     what is embedded in its document, as files of its own, by their types
delivery    the steps of one folder: name in the journal, write the sidecar, place
    reserving       a document's sidecar reserves its name
    placing         gives a whole document its name, and first what was embedded in it
pages       the page beside a document, for people: owed from its placing on, made by a child process
arrival     a message on this way, and its last request: that it is marked as read
answers     what a person moves into `accepted/`, `rejected/` or `queried/` is answered
    moved           what lies in these folders, the reasons that people write, and the note beside a document that
                    says what becomes of its answer
context     dependencies that these share
"""
