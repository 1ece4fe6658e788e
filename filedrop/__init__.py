"""filedrop carries business documents between shared folders and an access point of the PEPPOL network.

**Documents are moved by one thread, requests are made by others, and the journal stands between them.** What is lost
with a thread or a process, the next scan finds in the folder and the journal: a start is a scan. docs/design/tour.md
follows a document and a message through the modules.

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
    prepare      what a document gets before it is posted, if the configuration wants that
    identify     document XML to ids, and where each comes from
    config       YAML to checked models
    files        written whole, moved without overwriting; what differs between operating systems
    model        what a document and a message are, the legal steps
    programs     how every process is started: its environment, where its program is looked for, its limits
    errors       the tree of errors
    texts        sentences for people about a document, and their translations; strangers' words, safe to show
    times        what a timestamp says
    pauses       when something that failed is tried again: one policy for each thing
    sandbox      apart: an access point of one's own
"""

__version__ = "0.1.0"
