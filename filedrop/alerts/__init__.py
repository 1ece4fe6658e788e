"""Being told: alerts, the daily digest, the heartbeat, and figures for Prometheus (contract 7).

One thread looks at the status every few seconds, decides what is to be told, remembers it, and only then tells it.
Nothing waits for that thread. Where it is killed, people are told once too often at most, and never not at all.

    teller      the thread, and its turn
    heartbeat   an address that is asked for after each round
    figures     what Prometheus is told; metrics is the file where it stands
    trial       all of it tried once (`filedrop check --alert`)
    digest      how much came and went since the last one
    bundling    which of what needs a person (status/matters) is to be told now, again, or is over
    letters     what is written, as text and HTML
    memory      what has been told, and what is still to be sent: one file in `state`
    unsent      the letters that are still to be sent, tried again with growing pauses
    mail        the mail server
    addresses   Apprise's addresses, in a child process; child is that process
"""
