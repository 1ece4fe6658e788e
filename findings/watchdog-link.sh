#!/usr/bin/env bash
# watchdog 7.1.0 (inotify): a folder that is named by a symbolic link is watched without an error and without an event.
#
# A link further up in the path doesn't matter.
. "$(dirname "$0")/shared.sh"
python watchdog==7.1.0

watch() {
    mkdir -p real/outbound
    ln -s real/outbound link-to-folder
    ln -s real link-above
    python3 - <<'END'
import time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

class Recorder(FileSystemEventHandler):
    def __init__(self):
        self.seen = []

    def on_created(self, event):
        self.seen.append(event.src_path)

recorders = {path: Recorder() for path in ("link-to-folder", "link-above/outbound", "real/outbound")}
observer = Observer()
for path, recorder in recorders.items():
    observer.schedule(recorder, path)
observer.start()
open("real/outbound/1.xml", "w").close()
until = time.monotonic() + 20
while not recorders["real/outbound"].seen and time.monotonic() < until:
    time.sleep(0.05)
time.sleep(1)
observer.stop()
for path, recorder in recorders.items():
    print(f"{path}: {recorder.seen}")
END
}

expect watch <<'END'
link-to-folder: []
link-above/outbound: ['link-above/outbound/1.xml']
real/outbound: ['real/outbound/1.xml']
END
