"""What every long-running process needs: threads, clocks, signals, a lock, a log and the service manager.

control  requests from outside: to stop, to reload (cli/serving answers them)
loop     takes turns until stopped
guard    survives errors, and keeps what failed lately; the one place that catches every exception
pool     the threads that make requests
folder_worker  the threads that touch folders, and which folders hang
clock    the clocks
heap     the memory of malloc, which glibc would keep
lock     one daemon for each state folder
share    what this host serves: all, or its part among several
logs     the form of log lines, with fields for systemd's journal (without_rich: the import of structlog)
systemd  messages to the service manager
"""
