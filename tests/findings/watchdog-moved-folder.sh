#!/usr/bin/env bash
# watchdog 7.1.0 (inotify): after a watched folder was moved, its files are reported at the old path.
#
# The kernel's watch goes with the folder, and watchdog keeps the path. A new folder in the old place has no events.
. "$(dirname "$0")/shared.sh"
python watchdog==7.1.0

watch() {
    mkdir outbound
    python3 - <<'END'
import os, time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

class Recorder(FileSystemEventHandler):
    def __init__(self):
        self.seen = []

    def on_created(self, event):
        self.seen.append(event.src_path)

recorder, observer = Recorder(), Observer()
observer.schedule(recorder, "outbound")
observer.start()
os.rename("outbound", "moved")
os.mkdir("outbound")
time.sleep(1)
for path in ("outbound/new.xml", "moved/old.xml"):
    open(path, "w").close()
time.sleep(2)
print("created: outbound/new.xml, moved/old.xml")
print("reported:", recorder.seen, "- exists:", [os.path.exists(path) for path in recorder.seen])
observer.stop()
END
}

expect watch <<'END'
created: outbound/new.xml, moved/old.xml
reported: ['outbound/old.xml'] - exists: [False]
END
