"""Threads, clocks, start and stop.

daemon          builds the accounts from the configuration; start and shutdown
control         what the process is asked from outside: to stop, to reload (cli/serving does it)
account         one account: its pipelines, deliveries and pools, its follower, its poller
folder_worker   the threads that touch folders
pool            the threads that make requests
recorder        the thread that writes answers into the journal
commands        runs the administrator's programs after something has happened
copies          a copy of the journal each day
follower        the thread that follows posted documents: probe, doubts, deliveries
watcher         file events
loop            takes turns until stopped; the one place that catches every exception
clock           the clocks
lock            one daemon for each state folder
logs            the form of log lines
systemd         messages to the service manager; journald: log lines with fields for systemd's journal
"""
