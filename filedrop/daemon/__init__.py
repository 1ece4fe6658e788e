"""Threads, start and stop.

daemon          builds the accounts from the configuration; start and shutdown
account         one account: its pipelines, deliveries and pools, follower and poller; who is woken when it may post
hosting         this host among those that share the journal: signs of life, what it serves, and whether it has the same
                share as another
balance         how the hosts that share a journal share the accounts
evidence        what is owed now, and since when nothing has happened with it
change          which accounts a changed configuration gives up and takes, where it changes nothing else
recorder        the thread that writes answers into the journal
commands        runs the administrator's programs after something has happened
copies          a copy of the journal each day
follower        the thread that follows posted documents: probe, doubts, deliveries
watcher         file events
"""
