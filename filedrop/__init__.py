"""filedrop carries business documents between shared folders and an access point of the PEPPOL network.

**Documents are moved by one thread, requests are made by others, and the journal stands between them.** The worker in a
folder looks for HOLD (outbound/pipeline), claims what is ready (outbound/claim; outbound/look: whether its writer is
done), then writes the row and hands the document over (both: outbound/handover). A duplicate is refused with that
row (journal/documents). A sender looks for HOLD once more and posts it (outbound/sender); the recorder writes the
answers (daemon/recorder); the worker writes sidecar and note (their form: storage/sidecar) and moves the file
(outbound/filing). outbound/pipeline is the order of these. What other threads have for this worker is a letter in the
folder's mailbox (outbound/mailbox): documents that come back, file events. What one document alone waits for is in its
row (outbound/waiting). A document whose answer was unclear is in doubt: it is looked for at the access point before it
may be sent again (outbound/resolver), and a table decides which message it is (outbound/matching).

A message comes the other way: listed (inbound/poller, as often as daemon/account says), fetched (inbound/fetcher),
named in the journal (inbound/delivery) and placed (inbound/placing), and only then marked as read (inbound/arrival).
inbound/delivery keeps this order. Its page for people is made later, by a child process (inbound/pages). A response is
tied to the document that it is about in the transaction that records the second of the two (journal/tying); the worker
in that document's folder writes it into the sidecar (outbound/responses). What a person moves into a folder of answers
is answered (inbound/answers): the answer is in the journal before it becomes a document (outbound/answers).

Whether a folder is there, storage/folder finds out; while it isn't, outbound/pipeline and inbound/delivery leave its
files alone and try again. That a step in it hangs, process/folder_worker knows; status/folders looks by itself. What is
lost with a thread or a process, the next scan finds in the folder and the journal: a start is a scan.

Several hosts can share a journal in PostgreSQL. Each account is one host's at a time (daemon/hosting), and cli/serving
takes it and gives it up. A host that was replaced can't write any more (journal/postgres_hosts), changes no file from
before that moment on (files/certainty), and ends.

The packages; each names its modules. Imports only point down, which tests/test_architecture.py keeps:

    cli          commands by subject, also the daemon as a process and its reloads; the only package that prints
    alerts       mails and the like about what status/matters finds, the digest, the heartbeat, figures for Prometheus
    status       what `status` and status.json show: folders, counts, reasons, what needs attention
    daemon       threads, start and stop; when the inbox is polled
    inbound      the way in
    outbound     the way out
    process      what a long-running process needs: loop, pool, clock, lock, log lines, signals, the service manager
    validation   whether a document keeps the rules: by compiled Schematron and XSD, or by a program
    storage      folders, markers, the content of sidecars and notes: what lies there, and whose it is
    accesspoint  the client of the interface, its directory, its circuit breaker (an outage, a refused login)
    readable     a document for people: a page, or a text
    journal      what was said and heard, durably
    identify     document XML to ids, and where each comes from
    config       YAML to checked models
    files        written whole, moved without overwriting; what differs between operating systems
    model        what a document and a message are, the legal steps
    children     processes of our own with limits of memory, time and output
    programs     how every process is started: its environment, where its program is looked for, its time limit
    errors       the tree of errors
    texts        sentences for people about a document: forms with placeholders, and their translations
    times        what a timestamp says
    pauses       when something that failed is tried again: one policy for each thing
    text         strangers' words and names, safe to show
    sandbox      apart: an access point of one's own
"""

__version__ = "0.1.0"
