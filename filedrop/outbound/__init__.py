"""The way out: a dropped file becomes a document, is posted, followed and put away.

    pipeline      the steps of one folder: claim, hand over, file
    mailbox       what other threads have for the worker in the folder: documents that come back, file events
    scanner       which names in outbound/ may be ready
    readiness     whether a file's writer is done
    look          whether a dropped file is ready: its writer, its content, its PDF
    pdf_look      which PDF goes with it, and how long it waits for that; pdfs: whether that may go into the document
    claim         moves a ready file into sending/, where it becomes a document
    identified    a document's ids, or why it can't be sent
    waiting       what a document of its own waits for: the log, and the next try after a start
    leftovers     continues documents that already lie in sending/
    handover      to the senders and back, and before that to the validator
    unreachable   receivers who aren't in the directory: their documents are put aside
    preparing     what is posted in place of a dropped file
    validating    whether a document keeps the rules, before it may have been posted
    sender        the request, and what each answer means
    upload        the file on the wire
    filing        the move to the place of its state: sidecar, note, file
    moves         such moves of a batch, brought to the disk together
    reconcile     repairs differences between folder and journal
    strays        files that nobody will ever send
    stillness     whether a rescan would find nothing, because nothing has changed
    renamed       what a person has renamed in sent/, or put back there, is followed on
    versions      copies of a document with other content, which aren't sent
    retention     removes old months of archive/, if the configuration says so
    notes         say why a document is still in sending/
    recovery      restores rows that the journal has lost
    resolver      documents in doubt: when the archive is looked through for them, and what follows
    matching      which of its messages are such documents: a table of cases
    tracking      whether accepted documents have been delivered
    responses     receivers' responses, written into the rows and sidecars of the documents that they answer
    answers       answers to received documents become documents
    health        what is wrong with a folder, and when that is logged
    reporting     the folder's report, for status and alerts
    desk          the parts of one folder: each changes only itself
    context       shared dependencies, the window: how many documents a kill leaves in doubt

The row is written before the request, and the answer before the file moves: `handover` sees to both.
"""
