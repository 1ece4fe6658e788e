#!/usr/bin/env bash
# watchdog 7.1.0 (inotify): after a file left the folder, all later events wait for half a second.
#
# It holds the event back to see whether the file appears elsewhere in the folder, and the queue behind it, too.
. "$(dirname "$0")/shared.sh"
python watchdog==7.1.0

watch() {
    mkdir outbound sent
    touch outbound/1.xml
    python3 - <<'END'
import os, queue, time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

class Recorder(FileSystemEventHandler):
    def __init__(self):
        self.created = queue.Queue()

    def on_created(self, event):
        self.created.put(time.monotonic())

def latency(name):
    begun = time.monotonic()
    open(f"outbound/{name}", "w").close()
    return recorder.created.get(timeout=20) - begun

recorder = Recorder()
observer = Observer()
observer.schedule(recorder, "outbound")
observer.start()
print("InotifyMoveEventGrouper.delay:", InotifyMoveEventGrouper.delay)
print("a new file alone: at least 0.4 s later:", latency("2.xml") > 0.4)
os.rename("outbound/1.xml", "sent/1.xml")
print("after a move out: at least 0.4 s later:", latency("3.xml") > 0.4)
observer.stop()
END
}

expect watch <<'END'
InotifyMoveEventGrouper.delay: 0.5
a new file alone: at least 0.4 s later: False
after a move out: at least 0.4 s later: True
END
