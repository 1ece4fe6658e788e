"""filedrop carries business documents between shared folders and an access point of the PEPPOL network.

**Where a file lies is what has happened to it.** A *sweep* of the way out claims ready files from `outbound/` into
`sending/` and takes every unfinished document one step: send it, look for it, ask after its delivery, put it away. A
*sweep* of the way in lists the inbox, writes each new message into its company's `inbound/` (sidecar first, document
last) and only then marks it read. What will be said to the access point is written in the *journal* before it is said;
what is heard goes into the journal first, and the file moves second. So a start is just a sweep: there is no recovery
code.

The rooms; imports only point down, which tests/test_architecture.py keeps:

    doors       cli/          commands by subject; the only room that prints
    when        statusfile    status.json, for whoever opens the share
                status        what `status` shows
                service       wires configuration to the accounts; startup, main loop, shutdown; signals
                account       the turns of one account's way out and way in
                clockwork     the clocks and threads that drive an account
                notify        what systemd wants to hear
                logs          what a log line looks like and where it goes
                loop          sweep, then sleep until woken, due or stopped
                crew          the threads that take steps; companies take turns, a hung folder holds up only itself
                watcher       turns file events into wake()
    what        outbound      the way out: claim what is ready, take each document one step
                onward        documents in hand are taken as far as they go now
                reconcile     where the folders and the journal differ, the difference is mended
                restoring     a folder that knows more than the journal
                claiming      a dropped file that is ready becomes a document
                looks         one step: looking for what is in doubt, and what follows from it
                sending       one step: the request, and what each answer means
                tracking      one step: has it been delivered?
                doubt         did the access point get it? a table of cases
                putaway       the last move: sidecar, note, file
                inbound       the way in
                receiving     messages of one folder: fetched, named in the journal, placed
                fetching      into temporary files, several together
    with what   desk          what every step of an account works with
                porter/       a second process that reads and posts small documents while very many wait
                turns         where very many wait: how many are taken together, two threads at a time
                upload        a dropped file that was opened, and how it goes to the access point
                glimpse       what lies in a folder; only looks
                lane          what one outbound folder's sweeps remember
                directory     what the access point's directory says of a receiver
                standing      may this account be spoken to now? an outage is one probe
                folders       a company's tree
                journal/      what we have said and heard
                marker        whose folder this is
                names         which names are a document's, which are free, what a received document is called
                sidecar       what is written beside a document
                accesspoint/  client (the interface's verbs), transport, answers
                identify/     document XML -> ids and where each comes from
                readiness     when is a dropped file ready?
                files         write whole or not at all, move without overwriting
                disk          what a folder lies on, and whether it has room
    nouns       config/       YAML -> checked models
                login         one login at an access point; the one place where a password is read
                wording       strangers' words and names, safe to show
                document      Document, State, the legal steps
                moments       what a timestamp says, and when something is to be tried again
                errors        the tree of errors
    apart       sandbox/      an access point of one's own
"""

__version__ = "0.1.0"
