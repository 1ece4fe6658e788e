"""Alerts, the daily digest, the heartbeat, and figures for Prometheus (contract 7).

One thread looks at the status every few seconds, decides what to report, records that, and only then sends it. Nothing
waits for that thread. After a crash, one alert may be sent twice; none is lost.

    teller      the thread, and its turn
    heartbeat   an address that is requested after each round
    figures     figures for Prometheus; metrics writes their file
    trial       all of it tried once (`filedrop check --alert`)
    digest      how much came and went since the last one
    bundling    which of what needs attention (status/matters) is reported now, again, or as resolved
    letters     what is written, as text and HTML
    memory      what was reported, and what is still to be sent: one file in `state`
    unsent      the letters that are still to be sent, tried again with growing pauses
    mail        the mail server
    addresses   Apprise's addresses, in a child process; child is that process
"""
